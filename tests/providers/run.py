"""A conversation with two tool calls and a question to each provider: every request fits its SDK's types, and what the agent tells of
each stream is what the SDK makes of the same bytes."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anthropic
import openai
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google import genai
from google.genai import types
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter

ROOT = Path(__file__).resolve().parents[2]
ASKUSER = os.environ.get("ASKUSER", str(ROOT / "target/debug/askuser"))
GLOB = {"pattern": "*.txt", "path": "."}
READ = {"path": "größe 🦀.txt"}


class Failed(Exception):
    pass


def check(fact, words):
    if not fact:
        raise Failed(words)


def events(*values, named=False):
    lines = [(f"event: {value['type']}\n" if named else "") + f"data: {json.dumps(value, ensure_ascii=False)}\n\n" for value in values]
    return "".join(lines)


def anthropic_streams():
    def stream(stop, *blocks):
        usage = {"input_tokens": 12, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
                   "stop_sequence": None, "usage": usage}
        out = [{"type": "message_start", "message": message}]
        for index, (start, *deltas) in enumerate(blocks):
            out.append({"type": "content_block_start", "index": index, "content_block": start})
            out += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
            out.append({"type": "content_block_stop", "index": index})
        out.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 40}})
        return events(*out, {"type": "message_stop"}, named=True)

    def text(*parts):
        return ({"type": "text", "text": ""}, *({"type": "text_delta", "text": part} for part in parts))

    def call(id, name, value):
        written = json.dumps(value)
        parts = [written[:7], written[7:]]
        start = {"type": "tool_use", "id": id, "name": name, "input": {}}
        return (start, *({"type": "input_json_delta", "partial_json": part} for part in parts))

    thinking = ({"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "Hm."},
                {"type": "signature_delta", "signature": "c2ln"})
    return [
        stream("tool_use", thinking, text("I ", "look 🦀."), call("toolu_1", "Glob", GLOB), call("toolu_2", "Read", READ)),
        stream("end_turn", text("Done: ", "größe.")),
    ]


def chat_streams():
    def stream(reason, *deltas):
        def chunk(delta, reason=None, **more):
            choices = [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}]
            return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}

        last = {**chunk({}), "choices": [], "usage": {"prompt_tokens": 17, "completion_tokens": 40, "total_tokens": 57}}
        return events(*(chunk(delta) for delta in deltas), chunk({}, reason), last) + "data: [DONE]\n\n"

    def call(index, id, name, value):
        written = json.dumps(value)
        yield {"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]}
        for part in [written[:7], written[7:]]:
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}

    start = {"role": "assistant", "content": "I ", "reasoning_content": "Hm."}
    return [
        stream("tool_calls", start, {"content": "look 🦀."}, *call(0, "call_1", "Glob", GLOB), *call(1, "call_2", "Read", READ)),
        stream("stop", {"role": "assistant", "content": "Done: "}, {"content": "größe."}),
    ]


def responses_streams():
    def stream(*items):
        whole = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "in_progress", "output": [],
                 "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "incomplete_details": None}
        out = [{"type": "response.created", "response": whole}]
        for index, item in enumerate(items):
            place = {"output_index": index, "item_id": item["id"]}
            empty = {**item, "content": [], "summary": []} if item["type"] == "message" else {**item, "arguments": ""}
            out.append({"type": "response.output_item.added", "output_index": index, "item": {**empty, "status": "in_progress"}})
            if item["type"] == "message":
                text = item["content"][0]["text"]
                part = {"type": "output_text", "text": "", "annotations": []}
                out.append({"type": "response.content_part.added", **place, "content_index": 0, "part": part})
                for delta in [text[:3], text[3:]]:
                    out.append({"type": "response.output_text.delta", **place, "content_index": 0, "delta": delta, "logprobs": []})
                out.append({"type": "response.output_text.done", **place, "content_index": 0, "text": text, "logprobs": []})
            if item["type"] == "function_call":
                out.append({"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]})
                done = {"arguments": item["arguments"], "name": item["name"]}
                out.append({"type": "response.function_call_arguments.done", **place, **done})
            out.append({"type": "response.output_item.done", "output_index": index, "item": item})
        usage = {"input_tokens": 17, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 40,
                 "output_tokens_details": {"reasoning_tokens": 9}, "total_tokens": 57}
        whole = {**whole, "status": "completed", "output": list(items), "usage": usage}
        out.append({"type": "response.completed", "response": whole})
        return events(*({**event, "sequence_number": n} for n, event in enumerate(out)), named=True)

    def message(id, text, phase):
        content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
        return {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": content, "phase": phase}

    def call(id, name, value):
        arguments = json.dumps(value)
        return {"id": f"fc_{id}", "type": "function_call", "status": "completed", "call_id": id, "name": name, "arguments": arguments}

    reasoning = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "Z0FB", "status": "completed"}
    return [
        stream(reasoning, message("msg_1", "I look 🦀.", "commentary"), call("call_1", "Glob", GLOB), call("call_2", "Read", READ)),
        stream(message("msg_2", "Done: größe.", "final_answer")),
    ]


def gemini_streams():
    def stream(*parts):
        usage = {"promptTokenCount": 17, "candidatesTokenCount": 31, "thoughtsTokenCount": 9, "totalTokenCount": 57}
        chunks = [{"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}], "usageMetadata": usage} for part in parts]
        chunks[-1]["candidates"][0]["finishReason"] = "STOP"
        return events(*chunks)

    return [
        stream({"text": "Hm.", "thought": True}, {"text": "I "}, {"text": "look 🦀.", "thoughtSignature": "dGV4dA=="},
               {"functionCall": {"name": "Glob", "args": GLOB, "id": "a"}, "thoughtSignature": "c2ln"},
               {"functionCall": {"name": "Read", "args": READ, "id": "b"}}),
        stream({"text": "Done: "}, {"text": "größe."}),
    ]


def walked(value):
    """Types of the SDKs validate iterables only when these are walked."""
    if isinstance(value, dict):
        return {key: walked(item) for key, item in value.items()}
    if isinstance(value, str) or value is None or not hasattr(value, "__iter__"):
        return value
    return [walked(item) for item in value]


def fits(kind):
    adapter = TypeAdapter(kind)
    return lambda body: walked(adapter.validate_python(body))


def fits_responses(body):
    # Their type wants the id of a thought back. Nothing is stored under it here, and the API refuses one that it cannot find.
    items = [{"id": "rs", **item} if item.get("type") == "reasoning" else item for item in body["input"]]
    fits(ResponseCreateParamsStreaming)({**body, "input": items})


def fits_gemini(body):
    # Their models forbid what they do not know.
    for content in body["contents"] + [body["systemInstruction"]]:
        types.Content.model_validate(content)
    for tool in body["tools"]:
        types.Tool.model_validate(tool)
    if "generationConfig" in body:
        types.GenerationConfig.model_validate(body["generationConfig"])
    check(set(body) <= {"contents", "systemInstruction", "tools", "generationConfig"}, f"unknown fields: {set(body)}")


def by_anthropic(url, body):
    client = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
    with client.messages.stream(**{key: value for key, value in body.items() if key != "stream"}) as stream:
        message = stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    usage = message.usage
    read = usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens
    return text, calls, (read, usage.output_tokens)


def by_chat(url, body):
    client = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
    with client.chat.completions.stream(**{key: value for key, value in body.items() if key != "stream"}) as stream:
        completion = stream.get_final_completion()
    message = completion.choices[0].message
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
    return message.content, calls, (completion.usage.prompt_tokens, completion.usage.completion_tokens)


def by_responses(url, body):
    client = openai.OpenAI(base_url=url, api_key="k", max_retries=0)
    with client.responses.stream(**{key: value for key, value in body.items() if key != "stream"}) as stream:
        response = stream.get_final_response()
    calls = [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]
    return response.output_text, calls, (response.usage.input_tokens, response.usage.output_tokens)


def by_gemini(url, body):
    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=url))
    contents = [types.Content.model_validate(content) for content in body["contents"]]
    text, calls, usage = "", [], None
    for chunk in client.models.generate_content_stream(model="gemini-3-test", contents=contents):
        for part in chunk.candidates[0].content.parts:
            text += part.text if part.text and not part.thought else ""
            calls += [(part.function_call.name, part.function_call.args)] if part.function_call else []
        usage = chunk.usage_metadata
    return text, calls, (usage.prompt_token_count, usage.candidates_token_count + usage.thoughts_token_count)


PROVIDERS = {
    "anthropic": ("anthropic/claude-opus-4-7", anthropic_streams, fits(MessageCreateParamsStreaming), by_anthropic),
    "openai": ("openai/gpt-5.2", responses_streams, fits_responses, by_responses),
    "openai-chat": ("openai-chat/gpt-5.2", chat_streams, fits(CompletionCreateParamsStreaming), by_chat),
    "gemini": ("gemini/gemini-3-test", gemini_streams, fits_gemini, by_gemini),
}


class Server:
    """Gives the streams in their order, and keeps what it was asked."""

    def __init__(self, streams):
        self.requests = []
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                served.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                body = streams[min(len(served.requests), len(streams)) - 1].encode()
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"


def by_agent(model, server, folder):
    """What the agent tells of each of its requests."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "LC_ALL": "C.UTF-8"}
    env |= {name: "k" for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"]}
    work = folder / "work"
    work.mkdir()
    (work / READ["path"]).write_text("x\n")
    command = [ASKUSER, "agent", "--model", model, "--base-url", server.url, "--effort", "high", "-p", "Look", "--output", "stream-json"]
    ran = subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    told = [json.loads(line) for line in ran.stdout.splitlines()]
    check(ran.returncode == 0, f"exit {ran.returncode}: {ran.stderr}{ran.stdout[-500:]}")
    answers, text, calls = [], "", []
    for event in told:
        match event["type"]:
            case "text":
                text += event["text"]
            case "usage":
                answers.append([text, calls, (event["input_tokens"], event["output_tokens"])])
                text, calls = "", []
            case "tool_start":
                # It is told once the answer is complete.
                answers[-1][1].append((event["name"], event["input"]))
    return [tuple(answer) for answer in answers]


def run(name):
    model, streams, fits_types, by_sdk = PROVIDERS[name]
    streams = streams()
    server = Server(streams)
    with tempfile.TemporaryDirectory() as folder:
        answers = by_agent(model, server, Path(folder))
    requests = list(server.requests)
    check(len(requests) == len(streams), f"{len(requests)} requests for {len(streams)} streams")
    for request in requests:
        fits_types(request)
    for stream, request, answer in zip(streams, requests, answers, strict=True):
        oracle = by_sdk(Server([stream]).url, request)
        check(answer == oracle, f"the agent tells {answer}, the SDK {oracle}")
    print(f"ok  {name}: {len(requests)} requests fit the types, {len(answers)} streams read the same")


failed = 0
for name in sys.argv[1:] or PROVIDERS:
    try:
        run(name)
    except Exception as error:
        failed += 1
        print(f"FAILED  {name}: {type(error).__name__}: {str(error)[:1000]}", file=sys.stderr)
sys.exit(failed > 0)
