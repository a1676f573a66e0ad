// The TypeScript SDK, version 1: asks once beside a dialog, which closes when the answer comes from elsewhere, and prints what the model
// reads.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [, , how, where, ...rest] = process.argv;
const headers = { Authorization: `Bearer ${rest[0]}` };
const transport =
  how === "stdio"
    ? new StdioClientTransport({ command: where, args: rest, env: process.env })
    : new StreamableHTTPClientTransport(new URL(where), { requestInit: { headers } });
const client = new Client({ name: "typescript-1", version: "1" }, { capabilities: { elicitation: { form: {} } } });
const closed = new Promise((close) =>
  client.setRequestHandler(ElicitRequestSchema, (_, { signal }) => {
    signal.addEventListener("abort", close);
    return new Promise(() => {});
  }),
);
await client.connect(transport);
const question = JSON.parse(process.env.QUESTION);
const result = await client.callTool({ name: "AskUserQuestion", arguments: question });
await closed;
console.log(result.content[0].text);
if (transport.terminateSession) await transport.terminateSession();
await client.close();
