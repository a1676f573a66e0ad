"""FastMCP's client: asks once, and prints what the model reads."""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

how, where, *rest = sys.argv[1:]


async def main():
    if how == "stdio":
        transport = StdioTransport(command=where, args=rest, env=dict(os.environ))
    else:
        transport = StreamableHttpTransport(where, headers={"Authorization": f"Bearer {rest[0]}"})
    async with Client(transport) as client:
        result = await client.call_tool("AskUserQuestion", json.loads(os.environ["QUESTION"]))
        print(result.content[0].text)


asyncio.run(main())
