"""The Python SDK, version 1: asks once, and prints what the model reads."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

how, where, *rest = sys.argv[1:]


def connect():
    if how == "stdio":
        return stdio_client(StdioServerParameters(command=where, args=rest, env=dict(os.environ)))
    return streamablehttp_client(where, headers={"Authorization": f"Bearer {rest[0]}"})


async def main():
    async with connect() as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        result = await session.call_tool("AskUserQuestion", json.loads(os.environ["QUESTION"]))
        print(result.content[0].text)


asyncio.run(main())
