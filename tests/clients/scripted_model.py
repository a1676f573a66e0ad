"""A model on loopback that follows a script, in the dialects that released agents speak.

What it says next follows from the conversation alone: it calls a tool, goes on waiting where it is told to, and repeats what
the tool returned. `results` holds every result that an agent has sent back to it.
"""

import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Call:
    """What the model wants done: the first tool whose name ends like this, after anything but a letter."""

    tool: str
    input: dict
    # Words of a result after which it asks the same again, once it may.
    again: str = None
    # Words before the call, in the same message. Only in the dialect of Anthropic.
    says: str = None


@dataclass
class Turn:
    """What an agent has sent, whatever its dialect."""

    tools: dict = field(default_factory=dict)  # name as the model has to write it: namespace, where there is one
    results: list = field(default_factory=list)

    def find(self, tool):
        """The name under which a tool is listed: clients put the server's before it, each in its own way."""
        return next((name for name in self.tools if re.search(rf"(^|[^A-Za-z]){tool}$", name)), None)


class ScriptedModel:
    def __init__(self, *calls):
        self.calls = calls
        self.results = []
        # When it called each tool.
        self.called_at = []
        self.may_ask_again = threading.Event()
        self.seen = []
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def next(self, turn):
        """The next thing to say: words, or a tool with its input."""
        call = self.calls[0]
        tool = turn.find(call.tool)
        if tool is None:
            return "A title"  # asked for beside the conversation
        if not turn.results:
            return tool, call.input, call.says
        last = turn.results[-1]
        with self.lock:
            if last not in self.results:
                self.results.append(last)
        waits_on = turn.find("AskUserQuestionResult")
        ticket = re.search(r'ticket\W+([\w-]{6,})', last)
        if waits_on and ticket and "not answered yet" in last:
            return waits_on, {"ticket": ticket[1]}, None
        if call.again and call.again in last:
            self.may_ask_again.wait()
            return tool, call.input, None
        if len(turn.results) < len(self.calls):
            call = self.calls[len(turn.results)]
            return turn.find(call.tool) or tool, call.input, call.says
        return f"The tool returned: {last}"

    def _handler(model):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
                path = self.path.split("?")[0]
                model.seen.append((path, body))
                for ending, dialect in DIALECTS.items():
                    if path.endswith(ending):
                        read, streamed, whole = dialect
                        said = model.next(read(body))
                        if not isinstance(said, str):
                            model.called_at.append(time.time())
                        if whole and not (body.get("stream") or "stream" in path):
                            return self.reply("application/json", json.dumps(whole(said)))
                        return self.reply("text/event-stream", streamed(said, self.turn(body)))
                self.reply("application/json", json.dumps({"input_tokens": 10, "totalTokens": 10}))

            def do_GET(self):
                listed = [{"id": "scripted", "object": "model", "type": "model", "display_name": "scripted"}]
                self.reply("application/json", json.dumps({"object": "list", "data": listed, "models": []}))

            do_HEAD = do_GET

            def turn(self, body):
                """Names a reply: tools called twice must not share an id."""
                return f"{len(model.seen)}"

            def reply(self, kind, text):
                data = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        return Handler


def text_of(content):
    """The words of a result, however they are wrapped."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part.get("text", part) if isinstance(part, dict) else part) for part in content)
    return json.dumps(content, ensure_ascii=False)


def events(*pairs):
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in pairs)


# Anthropic: /v1/messages


def read_messages(body):
    blocks = [
        block
        for message in body.get("messages", [])
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    results = [text_of(block.get("content", "")) for block in blocks if block.get("type") == "tool_result"]
    return Turn({tool["name"]: None for tool in body.get("tools") or []}, results)


def message(said, content, stop):
    usage = {"input_tokens": 10, "output_tokens": 10}
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": content,
        "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }


def whole_message(said):
    if isinstance(said, str):
        return message(said, [{"type": "text", "text": said}], "end_turn")
    name, input, says = said
    words = [{"type": "text", "text": says}] if says else []
    return message(said, [*words, {"type": "tool_use", "id": "toolu_0", "name": name, "input": input}], "tool_use")


def stream_message(said, turn):
    words, call = (said, None) if isinstance(said, str) else (said[2], said)
    blocks = []
    if words:
        blocks.append(({"type": "text", "text": ""}, {"type": "text_delta", "text": words}))
    if call:
        block = {"type": "tool_use", "id": f"toolu_{turn}", "name": call[0], "input": {}}
        blocks.append((block, {"type": "input_json_delta", "partial_json": json.dumps(call[1])}))
    stop = "tool_use" if call else "end_turn"
    usage = {"output_tokens": 10}
    parts = []
    for i, (block, delta) in enumerate(blocks):
        parts += [
            ("content_block_start", {"type": "content_block_start", "index": i, "content_block": block}),
            ("content_block_delta", {"type": "content_block_delta", "index": i, "delta": delta}),
            ("content_block_stop", {"type": "content_block_stop", "index": i}),
        ]
    return events(
        ("message_start", {"type": "message_start", "message": message(said, [], None)}),
        *parts,
        ("message_delta", {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage}),
        ("message_stop", {"type": "message_stop"}),
    )


# OpenAI: /v1/responses


def read_responses(body):
    tools = {}
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            tools.update({inner["name"]: tool["name"] for inner in tool["tools"]})
        elif "name" in tool:
            tools[tool["name"]] = None
    outputs = [item["output"] for item in body.get("input", []) if item.get("type") == "function_call_output"]
    NAMESPACES.update(tools)
    return Turn(tools, [text_of(output) for output in outputs])


# Which namespace a tool was listed in: a call has to name it again.
NAMESPACES = {}


def stream_responses(said, turn):
    if isinstance(said, str):
        content = [{"type": "output_text", "text": said, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": f"msg_{turn}", "status": "completed", "content": content}
    else:
        item = {
            "type": "function_call", "id": f"fc_{turn}", "call_id": f"call_{turn}", "status": "completed",
            "name": said[0], "arguments": json.dumps(said[1]),
        }
        if NAMESPACES.get(said[0]):
            item["namespace"] = NAMESPACES[said[0]]
    usage = {
        "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20,
    }
    response = {
        "id": f"resp_{turn}", "object": "response", "created_at": 0, "model": "scripted", "status": "completed",
        "output": [item], "usage": usage,
    }
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    return events(
        ("response.created", {"type": "response.created", "sequence_number": 0, "response": begun}),
        ("response.output_item.added", {
            "type": "response.output_item.added", "sequence_number": 1, "output_index": 0,
            "item": {**item, "status": "in_progress"},
        }),
        ("response.output_item.done", {
            "type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item,
        }),
        ("response.completed", {"type": "response.completed", "sequence_number": 3, "response": response}),
    )


# OpenAI: /v1/chat/completions


def read_chat(body):
    tools = {tool["function"]["name"]: None for tool in body.get("tools") or []}
    return Turn(tools, [text_of(said["content"]) for said in body.get("messages", []) if said["role"] == "tool"])


def chat(said, turn):
    if isinstance(said, str):
        return {"role": "assistant", "content": said}, "stop"
    function = {"name": said[0], "arguments": json.dumps(said[1])}
    call = {"index": 0, "id": f"call_{turn}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"


CHAT_USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def completion(kind, choice):
    choice = {"index": 0, **choice}
    return {"id": "chatcmpl_1", "object": kind, "created": 0, "model": "scripted", "choices": [choice]}


def whole_chat(said):
    words, stop = chat(said, "0")
    return {**completion("chat.completion", {"message": words, "finish_reason": stop}), "usage": CHAT_USAGE}


def stream_chat(said, turn):
    words, stop = chat(said, turn)
    kind = "chat.completion.chunk"
    chunks = [
        completion(kind, {"delta": words, "finish_reason": None}),
        # Only with the last: some take whatever has it for the end.
        {**completion(kind, {"delta": {}, "finish_reason": stop}), "usage": CHAT_USAGE},
    ]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


# Gemini: /v1beta/models/NAME:streamGenerateContent


def read_gemini(body):
    tools = [tool for group in body.get("tools") or [] for tool in group.get("functionDeclarations", [])]
    parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
    results = [text_of(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]
    return Turn({tool["name"]: None for tool in tools}, results)


def whole_gemini(said):
    part = {"text": said} if isinstance(said, str) else {"functionCall": {"name": said[0], "args": said[1]}}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


def stream_gemini(said, _):
    return f"data: {json.dumps(whole_gemini(said))}\n\n"


DIALECTS = {
    "/v1/messages": (read_messages, stream_message, whole_message),
    "/responses": (read_responses, stream_responses, None),
    "/chat/completions": (read_chat, stream_chat, whole_chat),
    ":streamGenerateContent": (read_gemini, stream_gemini, None),
    ":generateContent": (read_gemini, stream_gemini, whole_gemini),
}
