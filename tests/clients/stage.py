"""A throw-away home for one run of an agent: its files, our inbox, and a terminal if it wants one."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "clients"
PROGRAMS = PLACE / "node_modules" / ".bin"
ASKUSER = Path(os.environ.get("ASKUSER", PLACE.parent / "debug" / "askuser")).resolve()

# Agents start slowly on a busy machine, and nothing here is about speed.
PATIENCE = 120


class Failed(Exception):
    """What went wrong, for the table."""


def until(what, look, patience=PATIENCE):
    """Waits until `look` finds something."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.2)
    raise Failed(f"no {what} after {patience} s")


class Stage:
    def __init__(self, name, **variables):
        PLACE.mkdir(parents=True, exist_ok=True)
        self.home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=PLACE))
        self.project = self.home / "project"
        # Or agents would look for their files in the repository around it.
        subprocess.run(["git", "init", "--quiet", self.project], check=True)
        # Nothing of the user who runs this: neither their keys nor their settings.
        self.env = {
            "HOME": str(self.home),
            "PATH": f"{ASKUSER.parent}:{PROGRAMS}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "USER": "ada",
            "NO_PROXY": "127.0.0.1,localhost",
            "ASKUSER_POPUP": "none",
            **variables,
        }
        self.terminal = None
        self.processes = []

    def file(self, path, text):
        path = self.home / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if isinstance(text, str) else json.dumps(text, indent=2))
        return path

    def add(self, path, text):
        """At the end of what the file has, if there is one."""
        file = self.home / path
        return self.file(path, (file.read_text() if file.exists() else "") + text)

    def askuser(self, *words, check=True):
        done = subprocess.run(
            [ASKUSER, *words], env=self.env, cwd=self.project, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if check and done.returncode != 0:
            raise Failed(f"askuser {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def set_up(self, client, *words):
        """As the documentation says: nothing is written by hand."""
        self.askuser("init", client, "--yes", *words)

    def files_of_the_user(self):
        """What is outside of the project, except for our own notes."""
        ours = [self.project, self.home / ".local/state/askuser"]
        files = [file for file in self.home.rglob("*") if file.is_file() and not any(map(file.is_relative_to, ours))]
        return {file: file.read_bytes() for file in files}

    def start(self, *words):
        """A program without a terminal."""
        path = self.home / "output"
        with open(path, "w") as output:
            process = subprocess.Popen(
                words, env=self.env, cwd=self.project, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        process.output = path
        self.processes.append(process)
        return process

    def serve(self, *words):
        """`askuser serve`: the address for clients of the Model Context Protocol, and a token that asks."""
        token = self.askuser("token", "new", "clients", "--ask").strip()
        self.server = self.start(ASKUSER, "serve", "--listen", "127.0.0.1:0", *words)
        output = self.server.output
        link = until("server", lambda: re.search(r"(http://\S+)/#pair=", output.read_text()))
        return f"{link.group(1)}/mcp", token

    def ended(self, process):
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed("the agent has not ended")
        return process.output.read_text()

    # The inbox

    def questions(self, *words):
        return [json.loads(line) for line in self.askuser(*words).splitlines()]

    def pending(self):
        """The question that waits."""
        return until("question in the inbox", lambda: self.questions("inbox", "--json"))[0]

    def asked(self):
        """Everything that was asked, whatever became of it. `askuser init` has asked, too, to see that it works."""
        asked = [one for one in self.questions("log", "--json") if one["origin"]["agent"] != "askuser doctor"]
        # One that ends while the log is read stands in both of its parts.
        return list({one["id"]: one for one in asked}.values())

    def answer(self, question, *words):
        self.askuser("answer", question["id"], *words)

    # A terminal

    def show(self, *words):
        """An agent in a terminal of 100 columns and 40 rows."""
        self.terminal = f"askuser-clients-{os.getpid()}"
        self.tmux("kill-server", check=False)
        env = [f"{name}={value}" for name, value in self.env.items()]
        # In a shell of our own, so that what it says last stays to be read.
        line = ["env", "-i", *env, *words]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40", "-c", str(self.project), *line)
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def tmux(self, *words, check=True):
        done = subprocess.run(["tmux", "-L", self.terminal, *words], capture_output=True, text=True)
        if check and done.returncode != 0:
            raise Failed(f"tmux {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def screen(self):
        return self.tmux("capture-pane", "-p", check=False)

    def sees(self, text):
        """Waits for a text on the screen."""
        try:
            until(f"{text!r} on the screen", lambda: text in self.screen())
        except Failed as failed:
            raise Failed(f"{failed}; it shows:\n{self.screen().rstrip()}")

    def settles(self):
        """Waits until the screen has not changed for a while."""
        shown, since = self.screen(), time.monotonic()

        def is_still():
            nonlocal shown, since
            now = self.screen()
            if now != shown:
                shown, since = now, time.monotonic()
            return time.monotonic() - since > 3

        until("rest on the screen", is_still)

    def keys(self, *keys):
        for key in keys:
            time.sleep(0.5)
            self.tmux("send-keys", key)

    def kill(self, spare=()):
        """Ends what agents have started, and some leave behind, as kill -9 does. It is known by this home, which no other
        process has; programs that are spared have to notice it by themselves."""
        home = f"HOME={self.home}\0".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if home in (process / "environ").read_bytes() and (process / "exe").resolve() not in spare:
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass  # Gone meanwhile, or another user's.

    def close(self, keep):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
        if self.terminal:
            (self.home / "screen").write_text(self.screen())
            self.tmux("kill-server", check=False)
        self.kill()
        if not keep:
            shutil.rmtree(self.home, ignore_errors=True)
