"""Another MCP server, with a tool that asks by a form, and one that permits nothing. Protocol 2025-06-18, on standard input and output."""

import json
import sys


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main():
    call = None
    for line in sys.stdin:
        message = json.loads(line)
        method, id = message.get("method"), message.get("id")
        if method == "initialize":
            info = {"name": "shop", "version": "1"}
            send({"id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}})
        elif method == "tools/list":
            meta = {"anthropic/alwaysLoad": True}
            tool = {"description": "A tool", "inputSchema": {"type": "object"}, "_meta": meta}
            send({"id": id, "result": {"tools": [{"name": name, **tool} for name in ["order", "wish", "refuse"]]}})
        elif method == "tools/call" and message["params"]["name"] == "refuse":
            words = json.dumps({"behavior": "deny", "message": "refused by another server"})
            send({"id": id, "result": {"content": [{"type": "text", "text": words}]}})
        elif method == "tools/call":
            call = id
            size = {"type": "string", "title": "Size", "enum": ["s", "l"], "enumNames": ["Small", "Large"]}
            schema = {"type": "object", "properties": {"size": size}, "required": ["size"]}
            if message["params"]["name"] == "wish":
                schema = {"type": "object", "properties": {"size": size, "comment": {"type": "string"}}}
            params = {"message": "Which size?", "requestedSchema": schema}
            send({"id": "form", "method": "elicitation/create", "params": params})
        elif id == "form":
            content = message.get("result", {}).get("content") or {}
            words = ", ".join([f"ordered: {content.get('size', 'nothing')}", *filter(None, [content.get("comment")])])
            send({"id": call, "result": {"content": [{"type": "text", "text": words}]}})
        elif id is not None:
            send({"id": id, "error": {"code": -32601, "message": "no such method"}})


main()
