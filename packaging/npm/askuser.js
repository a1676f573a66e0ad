#!/usr/bin/env node
// Runs the executable that npm installed for this system, with the same terminal, streams and exit code.
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `askuser-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/askuser${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`askuser: there is no executable for ${process.platform} on ${process.arch} (${name} is not installed)`);
  console.error("hint: npm leaves it out with --omit=optional; otherwise build it with cargo");
  process.exit(2);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// Ctrl-C reaches the prompt without us: it decides what becomes of the question. What ends us is meant for it.
for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`askuser: cannot start ${program}: ${error.message}`);
  process.exit(2);
});
child.on("exit", (status, signal) => process.exit(status ?? 128 + (constants.signals[signal] ?? 0)));
