// The TypeScript SDK, version 2: asks once beside a dialog, which closes when the answer comes from elsewhere, and prints what the model
// reads.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [, , how, where, ...rest] = process.argv;
const headers = { Authorization: `Bearer ${rest[0]}` };
const transport =
  how === "stdio"
    ? new StdioClientTransport({ command: where, args: rest, env: process.env })
    : new StreamableHTTPClientTransport(new URL(where), { requestInit: { headers } });
const client = new Client({ name: "typescript-2", version: "1" }, { capabilities: { elicitation: { form: {} } } });
const closed = new Promise((close) =>
  client.setRequestHandler("elicitation/create", (_, { mcpReq }) => {
    mcpReq.signal.addEventListener("abort", close);
    return new Promise(() => {});
  }),
);
await client.connect(transport);
const question = JSON.parse(process.env.QUESTION);
const result = await client.callTool({ name: "AskUserQuestion", arguments: question });
await closed;
console.log(result.content[0].text);
await client.close();
