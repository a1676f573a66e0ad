"""What the MCP Inspector finds when it lists our tools, calls them, and calls them wrongly."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "clients"))

from npm import install
from stage import ASKUSER, PATIENCE, ROOT, Failed, Stage

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
# How a client begins: by a handshake, by asking what there is, or by whichever of the two works.
ERAS = ["legacy", "modern", "auto"]
QUESTION = json.loads((ROOT / "examples/database.json").read_text())


class Inspector:
    def __init__(self, stage, era, target):
        self.stage, self.words = stage, ["mcp-inspector", "--cli", *target, "--protocol-era", era, "--format", "json"]

    def start(self, *words):
        return subprocess.Popen(
            [*self.words, *words], env=self.stage.env, cwd=self.stage.project, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def ended(self, process, code=0):
        out, err = process.communicate(timeout=PATIENCE)
        if process.returncode != code:
            raise Failed(f"ended with {process.returncode} instead of {code}: {(err or out).strip()}")
        return json.loads(out or err)

    def run(self, *words, code=0):
        return self.ended(self.start(*words), code)

    def call(self, tool, arguments):
        return self.start("--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))


def result(reply):
    """The result itself, with or without an envelope."""
    return reply.get("result", reply)


def lists_its_tools(inspector):
    """The tools are listed, and their schemas are found portable."""
    tools = result(inspector.run("--method", "tools/list", "--strict"))["tools"]
    names = [tool["name"] for tool in tools]
    if names != ["AskUserQuestion", "AskUserQuestionResult"]:
        raise Failed(f"lists {names}")


def asks(inspector):
    """A question is answered in the inbox."""
    process = inspector.call("AskUserQuestion", QUESTION)
    inspector.stage.answer(inspector.stage.pending(), "--select", "Database=SQLite")
    answered = result(inspector.ended(process))
    if answered["structuredContent"]["answers"][0]["selectedOptions"] != ["SQLite"]:
        raise Failed(f"answers {answered}")


def refuses(inspector):
    """A bad input and a foreign ticket are errors that the model can read."""
    for tool, arguments in [("AskUserQuestion", {"questions": []}), ("AskUserQuestionResult", {"ticket": "none"})]:
        out, err = inspector.call(tool, arguments).communicate(timeout=PATIENCE)
        if '"isError":true' not in (out + err).replace(" ", ""):
            raise Failed(f"says {out or err}")


CASES = [lists_its_tools, asks, refuses]


def over_http(stage):
    """The address of a server, and the token to show."""
    url, token = stage.serve()
    return ["--server-url", url, "--transport", "http", "--header", f"Authorization: Bearer {token}"]


def main():
    install(INSPECTOR)
    failed = 0
    for transport in ["stdio", "http"]:
        stage = Stage("inspector")
        target = over_http(stage) if transport == "http" else [str(ASKUSER), "mcp"]
        for era in ERAS:
            for case in CASES:
                try:
                    case(Inspector(stage, era, target))
                    state = "passed"
                except (Failed, ValueError, KeyError) as failure:
                    state, failed = "FAILED", failed + 1
                    print(f"        {failure!r}")
                print(f"{state}  {transport:5} {era:6} {case.__name__}", flush=True)
        stage.close(keep=False)
    sys.exit(1 if failed else 0)


main()
