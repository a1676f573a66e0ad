"""Pydantic's agent framework with a model that asks: prints what the model reads."""

import asyncio
import json
import os
import sys

from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

how, where, *rest = sys.argv[1:]


def asking(messages, _):
    """Asks, and repeats what it was told."""
    told = [part.model_response_str() for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if told:
        return ModelResponse(parts=[TextPart(told[-1])])
    return ModelResponse(parts=[ToolCallPart("AskUserQuestion", json.loads(os.environ["QUESTION"]))])


async def main():
    if how == "stdio":
        transport = StdioTransport(command=where, args=rest, env=dict(os.environ))
    else:
        transport = StreamableHttpTransport(where, headers={"Authorization": f"Bearer {rest[0]}"})
    agent = Agent(FunctionModel(asking), toolsets=[MCPToolset(transport)])
    async with agent:
        print((await agent.run("Ask.")).output)


asyncio.run(main())
