"""OpenAI's agent framework with a model that asks: prints what the model reads."""

import asyncio
import json
import os
import sys

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

how, where, *rest = sys.argv[1:]


class Asking(Model):
    """Asks, and repeats what it was told."""

    async def get_response(self, system_instructions, input, *_, **__):
        told = [item["output"] for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        if told:
            text = ResponseOutputText(text=json.dumps(told[-1]), type="output_text", annotations=[])
            said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        else:
            said = ResponseFunctionToolCall(
                arguments=os.environ["QUESTION"], call_id="c", name="AskUserQuestion", type="function_call"
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def main():
    # Five seconds are its default, and no person's.
    patience = {"client_session_timeout_seconds": 60}
    if how == "stdio":
        server = MCPServerStdio({"command": where, "args": rest, "env": dict(os.environ)}, **patience)
    else:
        headers = {"Authorization": f"Bearer {rest[0]}"}
        server = MCPServerStreamableHttp({"url": where, "headers": headers}, **patience)
    async with server:
        agent = Agent(name="asks", model=Asking(), mcp_servers=[server])
        result = await Runner.run(agent, "Ask.", run_config=RunConfig(tracing_disabled=True))
        print(result.final_output)


asyncio.run(main())
