"""OpenAI's agent framework, which gives up on a call after five seconds, with a model that asks: prints each thing that the model reads."""

import asyncio
import json
import os
import re
import sys

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

how, where, *rest = sys.argv[1:]


class Asking(Model):
    """Asks, and goes on waiting while it has a ticket."""

    async def get_response(self, system_instructions, input, *_, **__):
        told = [item["output"] for item in input if isinstance(item, dict) and item.get("type") == "function_call_output"]
        last = json.dumps(told[-1]) if told else ""
        if told:
            print(last, flush=True)
        ticket = "not answered yet" in last and re.search(r"ticket\W+([\w-]{6,})", last)
        if told and not ticket:
            text = ResponseOutputText(text="Done.", type="output_text", annotations=[])
            said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        else:
            name, arguments = "AskUserQuestion", os.environ["QUESTION"]
            if ticket:
                name, arguments = "AskUserQuestionResult", json.dumps({"ticket": ticket[1]})
            said = ResponseFunctionToolCall(
                arguments=arguments, call_id=f"c{len(told)}", name=name, type="function_call"
            )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def main():
    if how == "stdio":
        server = MCPServerStdio({"command": where, "args": rest, "env": dict(os.environ)})
    else:
        headers = {"Authorization": f"Bearer {rest[0]}"}
        server = MCPServerStreamableHttp({"url": where, "headers": headers})
    async with server:
        agent = Agent(name="asks", model=Asking(), mcp_servers=[server])
        # It may wait for as many turns as a busy machine takes.
        await Runner.run(agent, "Ask.", max_turns=50, run_config=RunConfig(tracing_disabled=True))


asyncio.run(main())
