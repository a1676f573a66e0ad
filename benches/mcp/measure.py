"""Starts MCP servers and measures what they cost, interleaved, so that a busy machine is busy for both.

usage: measure.py ROUNDS NAME=COMMAND …    (a command is split at spaces)
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

IDLE_SECONDS = 10
MANY = 100


class Server:
    def __init__(self, command):
        state = tempfile.mkdtemp()
        env = dict(os.environ, XDG_STATE_HOME=state, XDG_CONFIG_HOME=state)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, bufsize=0
        )

    def request(self, id, method, params):
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.process.stdin.write((json.dumps(message) + "\n").encode())
        while True:
            reply = json.loads(self.process.stdout.readline())
            if reply.get("id") == id:
                return reply["result"]

    def tools(self):
        info = {"name": "bench", "version": "1"}
        self.request(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        return self.request(1, "tools/list", {})["tools"]

    def status(self, field):
        total = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/status") as status:
                total += next((int(line.split()[1]) for line in status if line.startswith(field)), 0)
        return total

    def memory_kib(self):
        with open(f"/proc/{self.process.pid}/smaps_rollup") as rollup:
            return {line.split()[0]: int(line.split()[1]) for line in rollup if line.split()[0] in ("Rss:", "Pss:")}

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def main():
    rounds = int(sys.argv[1])
    commands = {name: command.split() for name, command in (word.split("=", 1) for word in sys.argv[2:])}
    starts = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            begun = time.perf_counter()
            server = Server(command)
            server.tools()
            starts[name].append((time.perf_counter() - begun) * 1000)
            server.end()
    for name, command in commands.items():
        server = Server(command)
        tools = server.tools()
        characters = len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False))
        time.sleep(1)
        # Threads that were only needed to start have ended after this.
        time.sleep(IDLE_SECONDS)
        before = server.status("voluntary_ctxt_switches:")
        time.sleep(IDLE_SECONDS)
        wakeups = server.status("voluntary_ctxt_switches:") - before
        memory = server.memory_kib()
        server.end()
        print(f"{name}: start to tools/list {statistics.median(starts[name]):.1f} ms (median of {rounds})")
        print(f"{name}: idle memory {memory['Rss:']} KiB resident, {memory['Pss:']} KiB proportional")
        print(f"{name}: tool definitions {characters} characters")
        print(f"{name}: wake-ups in {IDLE_SECONDS} s idle: {wakeups}")
    many(*next(iter(commands.items())))


def many(name, command):
    """Only of the first: a hundred of the others do not fit into most machines."""
    servers = [Server(command) for _ in range(MANY)]
    for server in servers:
        server.tools()
    time.sleep(IDLE_SECONDS)
    total = sum(server.memory_kib()["Pss:"] for server in servers)
    for server in servers:
        server.end()
    print(f"{name}: {MANY} idle servers {total} KiB in all")


main()
