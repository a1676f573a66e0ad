// Claude asks in your terminal while your own program runs it with the Agent SDK.
//
//     npm install @anthropic-ai/claude-agent-sdk tsx
//     npx tsx ask.mts "Set up a database for this project. Ask me which."

import { spawn } from "node:child_process";
import { query, type CanUseTool, type SDKUserMessage } from "@anthropic-ai/claude-agent-sdk";

type Ended = { code: number | null; answered: string; whyNot: string };

/** Standard input and output are pipes; the prompt is drawn on the terminal itself. */
function ask(input: unknown, signal: AbortSignal): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const asking = spawn("askuser", ["ask", "--format", "claude"], { signal });
    let answered = "";
    let whyNot = "";
    asking.stdout.setEncoding("utf8").on("data", (text) => (answered += text));
    asking.stderr.setEncoding("utf8").on("data", (text) => (whyNot += text));
    asking.on("error", reject);
    asking.on("close", (code) => resolve({ code, answered, whyNot }));
    asking.stdin.end(JSON.stringify(input));
  });
}

const canUseTool: CanUseTool = async (toolName, input, { signal }) => {
  if (toolName !== "AskUserQuestion") {
    // What else may run is yours to decide; nothing is allowed here that you did not allow.
    return { behavior: "deny", message: `${toolName} is not allowed in this example` };
  }
  const { code, answered, whyNot } = await ask(input, signal);
  return code === 0
    ? { behavior: "allow", updatedInput: JSON.parse(answered) }
    : { behavior: "deny", message: `The user has not answered. ${whyNot.trim()}` };
};

/** `canUseTool` needs a stream for a prompt. */
async function* prompt(text: string): AsyncGenerator<SDKUserMessage> {
  yield { type: "user", session_id: "", parent_tool_use_id: null, message: { role: "user", content: text } };
}

for await (const message of query({ prompt: prompt(process.argv[2] ?? ""), options: { canUseTool } })) {
  if (message.type === "result" && message.subtype === "success") {
    console.log(message.result);
  }
}
