"""Claude asks in your terminal while your own program runs it with the Agent SDK.

    pip install claude-agent-sdk
    python ask.py "Set up a database for this project. Ask me which."
"""

import asyncio
import json
import sys

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    TextBlock,
)


async def can_use_tool(tool_name, tool_input, context):
    if tool_name != "AskUserQuestion":
        # What else may run is yours to decide; nothing is allowed here that you did not allow.
        return PermissionResultDeny(message=f"{tool_name} is not allowed in this example")
    # Standard input and output are pipes; the prompt is drawn on the terminal itself.
    asking = await asyncio.create_subprocess_exec(
        "askuser", "ask", "--format", "claude",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )
    answered, why_not = await asking.communicate(json.dumps(tool_input).encode())
    if asking.returncode == 0:
        return PermissionResultAllow(updated_input=json.loads(answered))
    return PermissionResultDeny(message=f"The user has not answered. {why_not.decode().strip()}")


async def main():
    options = ClaudeAgentOptions(can_use_tool=can_use_tool)
    async with ClaudeSDKClient(options) as client:
        await client.query(sys.argv[1])
        async for message in client.receive_response():
            if isinstance(message, AssistantMessage):
                for block in message.content:
                    if isinstance(block, TextBlock):
                        print(block.text)


if __name__ == "__main__":
    asyncio.run(main())
