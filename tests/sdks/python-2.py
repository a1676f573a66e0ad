"""The Python SDK, version 2: asks once, and prints what the model reads."""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

how, where, *rest = sys.argv[1:]


async def ask(target):
    async with Client(target) as client:
        result = await client.call_tool("AskUserQuestion", json.loads(os.environ["QUESTION"]))
        print(result.content[0].text)


async def main():
    if how == "stdio":
        return await ask(StdioServerParameters(command=where, args=rest, env=dict(os.environ)))
    headers = {"Authorization": f"Bearer {rest[0]}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        await ask(streamable_http_client(where, http_client=http))


asyncio.run(main())
