"""Each SDK asks and gets the answer that was given; fifty clients at once get theirs, and how fast."""

import json
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "clients"))

from stage import ASKUSER, PATIENCE, PLACE, ROOT, Failed, Stage, until

SDKS = PLACE.parent / "sdks"
QUESTION = json.loads((ROOT / "examples/database.json").read_text())
# The program, and what it needs.
PYTHON = {
    "python-1": ("python-1.py", "mcp==1.30.0"),
    "python-2": ("python-2.py", "mcp==2.3.0"),
    "fastmcp": ("with_fastmcp.py", "fastmcp-slim[client]==4.1.4"),
    "openai-agents": ("with_openai_agents.py", "openai-agents==0.24.0"),
    "pydantic-ai": ("with_pydantic_ai.py", "pydantic-ai-slim[mcp]==2.66.0"),
}
NODE = {
    "typescript-1": ("typescript-1.mjs", "@modelcontextprotocol/sdk@1.32.2"),
    "typescript-2": ("typescript-2.mjs", "@modelcontextprotocol/client@2.4.0"),
    "typescript-2-forms": ("typescript-2-forms.mjs", "@modelcontextprotocol/client@2.4.0"),
}
# What clients print first that would give up after five seconds, or whose forms come back wrong.
FIRST = {
    "openai-agents": "not answered yet",
    "typescript-2-forms": '[3,"SQLite","DuckDB"] The user has not answered yet',
}
FIFTY = 50


def once(folder, what, install):
    """Installs into a folder what is not there yet."""
    note = folder / "installed"
    if not note.exists() or note.read_text() != what:
        folder.mkdir(parents=True, exist_ok=True)
        install()
        note.write_text(what)


def python(name):
    program, package = PYTHON[name]
    folder = SDKS / name

    def install():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        quiet = ["--quiet", "--disable-pip-version-check"]
        subprocess.run([folder / "bin/pip", "install", *quiet, package], check=True)

    once(folder, package, install)
    return [str(folder / "bin/python"), "-B", str(HERE / program)]


def node(name):
    program, package = NODE[name]
    folder = SDKS / name
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel", "error"]
    once(folder, package, lambda: subprocess.run(["npm", "install", "--prefix", folder, *quiet, package], check=True))
    # A module is looked for beside the program.
    copy = folder / program
    copy.write_text((HERE / program).read_text())
    return ["node", str(copy)]


@contextmanager
def over_stdio(_, *words):
    yield ["stdio", str(ASKUSER), "mcp", *words]


@contextmanager
def over_http(stage, *words):
    yield ["http", *stage.serve(*words)]
    stage.server.terminate()
    stage.server.wait()


def asks(name, transport, *words, first=""):
    """One client asks; the answer that is given in the inbox is what it reads, and counts as delivered. Some read something else first."""
    program = (python if name in PYTHON else node)(name)
    stage = Stage(name)
    try:
        with transport(stage, *words) as target:
            env = {**stage.env, "QUESTION": json.dumps(QUESTION)}
            client = subprocess.Popen(
                [*program, *target], env=env, cwd=stage.project, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            try:
                question = waiting(stage, client)
                if first and first not in (line := client.stdout.readline()):
                    raise Failed(f"reads first: {line.strip()}")
                stage.answer(question, "--select", "Database=SQLite")
                said, complained = client.communicate(timeout=PATIENCE)
            finally:
                client.kill()
            # Some show their model the words, some the structured content.
            if client.returncode != 0 or "SQLite" not in said or "PostgreSQL" in said:
                raise Failed(f"ended with {client.returncode}: {said.strip()} {complained.strip()[-2000:]}")
            if "Session termination failed" in complained:
                raise Failed(f"complains: {complained.strip()}")
            until("delivery", lambda: stage.asked()[0].get("delivered_ms"))
            if len(stage.asked()) != 1:
                raise Failed(f"asked {len(stage.asked())} times")
    finally:
        stage.close(keep=False)


def waiting(stage, client):
    """The question, unless the client ends before it has asked."""

    def look():
        if client.poll() is not None:
            raise Failed(f"ended before it asked: {client.communicate()[1].strip()[-2000:]}")
        return stage.questions("inbox", "--json")

    return until("question", look)[0]


class Asker(threading.Thread):
    """One of many clients, which speaks the protocol by hand so that nothing but the server takes time."""

    def __init__(self, number, target, stage):
        super().__init__(daemon=True)
        self.number, self.target, self.stage = number, target, stage
        self.read = self.took = None

    def call(self):
        question = json.loads(json.dumps(QUESTION))
        question["questions"][0]["question"] = f"Which database for client {self.number}?"
        return {"name": "AskUserQuestion", "arguments": question}

    def received(self, result):
        self.took = time.time() * 1000 - result["structuredContent"]["at_ms"]
        self.read = result["structuredContent"]["answers"][0]["customInput"]


class HttpAsker(Asker):
    def post(self, message, **headers):
        _, url, token = self.target
        connection = HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE)
        accept = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        body = json.dumps({"jsonrpc": "2.0", **message})
        connection.request("POST", "/mcp", body, {"Authorization": f"Bearer {token}", **accept, **headers})
        return connection.getresponse()

    def run(self):
        info = {"name": "one-of-fifty", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        opened = self.post({"id": 0, "method": "initialize", "params": params})
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        self.post({"method": "notifications/initialized"}, **session)
        reply = self.post({"id": 1, "method": "tools/call", "params": self.call()}, **session)
        for line in iter(reply.readline, b""):
            if line.startswith(b"data:") and b'"id":1' in line:
                return self.received(json.loads(line[5:])["result"])


class StdioAsker(Asker):
    def run(self):
        server = subprocess.Popen(
            self.target[1:], env=self.stage.env, cwd=self.stage.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

        def say(message):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()

        info = {"name": "one-of-fifty", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        say({"id": 0, "method": "initialize", "params": params})
        say({"method": "notifications/initialized"})
        say({"id": 1, "method": "tools/call", "params": self.call()})
        for line in server.stdout:
            message = json.loads(line)
            if message.get("id") == 1:
                self.received(message["result"])
                server.stdin.close()
                return server.wait()


def fifty(kind, transport):
    """Fifty ask at once and are answered one after the other: each reads its own answer."""
    stage = Stage("fifty")
    try:
        with transport(stage) as target:
            askers = [kind(number, target, stage) for number in range(FIFTY)]
            for asker in askers:
                asker.start()
            pending = lambda: [found for found in [stage.questions("inbox", "--json")] if len(found) == FIFTY]
            for question in until(f"{FIFTY} questions", pending)[0]:
                number = question["questions"][0]["question"].split()[-1].rstrip("?")
                stage.answer(question, "--other", f"Database=for {number}")
            for asker in askers:
                asker.join(PATIENCE)
        wrong = [asker.number for asker in askers if asker.read != f"for {asker.number}"]
        if wrong:
            raise Failed(f"no answer or another's: {wrong}")
        took = sorted(asker.took for asker in askers)
        print(f"        from recorded to received: median {statistics.median(took):.1f} ms, longest {took[-1]:.1f} ms")
    finally:
        stage.close(keep=False)


def in_depth():
    """Every mode of the newest Python SDK, dialogs and tickets."""
    words = [*python("python-2")[:2], str(HERE / "python_2_in_depth.py")]
    if subprocess.run(words).returncode != 0:
        raise Failed("see above")


def cases():
    for name in [*NODE, *PYTHON]:
        first = FIRST.get(name, "")
        words = ["--limit", "4s"] if first else []
        yield name, "over stdio", partial(asks, name, over_stdio, *words, first=first)
        yield name, "over HTTP", partial(asks, name, over_http, *words, first=first)
    yield "python-2", "in depth", in_depth
    yield "fifty", "over stdio", lambda: fifty(StdioAsker, over_stdio)
    yield "fifty", "over HTTP", lambda: fifty(HttpAsker, over_http)


def main():
    chosen, failed = sys.argv[1:], 0
    for name, how, trying in cases():
        if chosen and name not in chosen:
            continue
        try:
            trying()
            print(f"passed  {name:18} {how}", flush=True)
        except (Failed, subprocess.SubprocessError) as error:
            failed += 1
            print(f"FAILED  {name:18} {how}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
