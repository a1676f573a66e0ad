// The TypeScript SDK, version 2, in protocol 2026-07-28, whose user cannot decide: prints how often the form was shown, what was filled
// in the last time, and what the model reads.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [, , how, where, ...rest] = process.argv;
const headers = { Authorization: `Bearer ${rest[0]}` };
const transport = () =>
  how === "stdio"
    ? new StdioClientTransport({ command: where, args: rest, env: process.env })
    : new StreamableHTTPClientTransport(new URL(where), { requestInit: { headers } });
const identity = { name: "typescript-2", version: "1" };

// A client that has forms is not offered this protocol: it speaks it where it knows of it from elsewhere.
const plain = new Client(identity, { versionNegotiation: { mode: "auto" } });
await plain.connect(transport());
const discover = await plain.discover();
await plain.close();

const client = new Client(identity, { capabilities: { elicitation: { form: {} } } });
const shown = [];
client.setRequestHandler("elicitation/create", async ({ params }) => {
  shown.push(params.requestedSchema.properties);
  return { action: "accept", content: { answer: "SQLite", other: "DuckDB" } };
});
await client.connect(transport(), { prior: { kind: "modern", discover } });
const question = JSON.parse(process.env.QUESTION);
let result = await client.callTool({ name: "AskUserQuestion", arguments: question });
console.log(JSON.stringify([shown.length, shown.at(-1).answer.default, shown.at(-1).other.default]), result.content[0].text);
while (result.structuredContent.ticket) {
  const { ticket } = result.structuredContent;
  result = await client.callTool({ name: "AskUserQuestionResult", arguments: { ticket } });
}
console.log(result.content[0].text);
await client.close();
