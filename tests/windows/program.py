"""Drives the Windows program under Wine: without a console, in a console that is a tmux pane, across processes, as a server.

Each case is a function; what it prints is its name and how long it took. Wine's console takes the mode in which Windows obeys escape
sequences, but counts each of their characters as a letter and hands them on to the tmux pane: rows are broken where they would not be on
Windows. So these cases look for words and parts of the frame, and say nothing about where they stand.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

PROGRAM = sys.argv[1]
ROOT = Path(__file__).resolve().parents[2]
TMUX = ["tmux", "-L", f"askuser-windows-{os.getpid()}"]
QUESTIONS = json.dumps(
    {
        "questions": [
            {
                "question": "Which database should we use?",
                "header": "Database",
                "multiSelect": False,
                "options": [
                    {"label": "PostgreSQL", "description": "Rich features – größer"},
                    {"label": "SQLite", "description": "Embedded"},
                ],
            }
        ]
    }
)


# What was in the profile before the first case.
MADE_BY_WINE: set[Path] = set()


class Place:
    """A folder, and a profile as Wine has made it: Wine sets the variables that name it, so that it cannot be elsewhere."""

    def __init__(self, folder: Path):
        self.folder = folder
        (folder / "questions.json").write_text(QUESTIONS, encoding="utf-8")
        names = ("HOME", "PATH", "WINEPREFIX", "WINEDEBUG", "WINEDLLOVERRIDES")
        # Wine spells the names of files by the locale.
        self.environment = {name: os.environ[name] for name in names} | {"LC_ALL": "C.UTF-8"}
        self.home = next(path for path in (Path(os.environ["WINEPREFIX"]) / "drive_c/users").iterdir() if path.name != "Public")
        for added in set(files_below(self.home)) - MADE_BY_WINE:
            added.unlink()

    def start(self, *words: str, **more) -> subprocess.Popen:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
        return subprocess.Popen(["wine", PROGRAM, *words], cwd=self.folder, env=self.environment, **pipes)

    def run(self, *words: str, input: str = "", code: int | None = 0) -> subprocess.CompletedProcess:
        process = self.start(*words)
        out, err = process.communicate(input.encode(), timeout=120)
        ended = subprocess.CompletedProcess(words, process.returncode, out.decode(), err.decode())
        assert code is None or ended.returncode == code, f"{words}: {ended.returncode}, {ended.stdout} {ended.stderr}"
        return ended


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() or path.is_symlink()]


class Console:
    """The program in a console."""

    def __init__(self, place: Place, *words: str, columns: int = 80, rows: int = 24):
        exports = " ".join(f"{name}='{value}'" for name, value in place.environment.items())
        quoted = " ".join(f"'{word}'" for word in words)
        command = f"cd '{place.folder}'; stty -g > before; {exports} wine '{PROGRAM}' {quoted} > out; code=$?; stty -g > after; echo code $code > ended; sleep 600"
        subprocess.run([*TMUX, "new-session", "-d", "-s", "w", "-x", str(columns), "-y", str(rows), command], check=True)
        self.place = place

    def screen(self) -> str:
        shown = subprocess.run([*TMUX, "capture-pane", "-p", "-t", "w"], capture_output=True, check=True)
        return shown.stdout.decode()

    def wait_for(self, text: str) -> str:
        return wait_until(f"{text!r} on the screen", self.screen, lambda screen: text in screen)

    def keys(self, *keys: str) -> None:
        subprocess.run([*TMUX, "send-keys", "-t", "w", *keys], check=True)

    def end(self) -> tuple[int, str]:
        ended = self.place.folder / "ended"
        wait_until("the end", lambda: ended.read_text() if ended.exists() else self.screen(), lambda text: text.startswith("code "))
        subprocess.run([*TMUX, "kill-session", "-t", "w"], check=True)
        assert (self.place.folder / "before").read_text() == (self.place.folder / "after").read_text(), "modes"
        return int(ended.read_text().split()[1]), (self.place.folder / "out").read_text(encoding="utf-8")


def wait_until(what: str, look, holds):
    deadline = time.monotonic() + 60
    seen = None
    while time.monotonic() < deadline:
        seen = look()
        if holds(seen):
            return seen
        time.sleep(0.1)
    raise AssertionError(f"never {what}; last:\n{seen}")


def without_a_console(place: Place) -> None:
    assert "questions" in json.loads(place.run("schema").stdout)["properties"]
    place.run("check", "questions.json")
    (place.folder / "answers.json").write_text('{"Database": "SQLite"}')
    asked = place.run("ask", "questions.json", "--answers", "answers.json")
    assert json.loads(asked.stdout)["status"] == "answered", asked.stdout
    bad = place.run("check", "-", input='{"questions": []}', code=2)
    assert "questions" in bad.stderr, bad.stderr
    seen = place.run("doctor", code=None).stdout
    assert all(words in seen for words in ("notepad", "none here: bubblewrap is for Linux only", "no popups here")), seen
    unseen = place.run("ask", "questions.json", code=3)
    assert "no person can be asked" in unseen.stderr, unseen.stderr


def a_file_with_a_mark_and_windows_line_ends(place: Place) -> None:
    (place.folder / "crlf.json").write_bytes(b"\xef\xbb\xbf" + QUESTIONS.replace(",", ",\r\n").encode())
    place.run("check", "crlf.json")


def the_prompt_is_drawn_and_answered(place: Place) -> None:
    console = Console(place, "ask", "questions.json", "--key-delay", "0")
    screen = console.wait_for("enter select")
    assert "Which database should we use?" in screen and "größer" in screen and "╭─" in screen, screen
    console.keys("Down")
    wait_until("the second option has the focus", console.screen, lambda s: any(">" in l and "SQLite" in l for l in s.splitlines()))
    console.keys("Enter")
    code, out = console.end()
    assert (code, json.loads(out)["answers"][0]["selectedOptions"]) == (0, ["SQLite"]), out


def other_takes_text_of_any_kind(place: Place) -> None:
    console = Console(place, "ask", "questions.json", "--key-delay", "0")
    console.wait_for("enter select")
    console.keys("3")
    console.keys("-l", "MariaDB größer")
    console.wait_for("MariaDB größer")
    console.keys("Enter")
    code, out = console.end()
    assert code == 0 and "MariaDB größer" in json.dumps(json.loads(out)["answers"], ensure_ascii=False), out


def esc_leaves_without_an_answer(place: Place) -> None:
    console = Console(place, "ask", "questions.json", "--key-delay", "0")
    console.wait_for("enter select")
    console.keys("Escape")
    assert console.end()[0] == 1


def ctrl_c_ends_it_and_leaves_the_terminal_as_it_was(place: Place) -> None:
    # Wine takes it for a signal to its own process, which ends before the program reads a key: no code of ours.
    console = Console(place, "ask", "questions.json", "--key-delay", "0")
    console.wait_for("enter select")
    console.keys("C-c")
    assert "answered" not in console.end()[1]


def a_narrow_console_and_a_resize(place: Place) -> None:
    console = Console(place, "ask", "questions.json", "--key-delay", "0", columns=40, rows=12)
    console.wait_for("PostgreSQL")
    subprocess.run([*TMUX, "resize-window", "-t", "w", "-x", "100", "-y", "30"], check=True)
    console.wait_for("PostgreSQL")
    console.keys("1")
    assert console.end()[0] == 0


def lines_in_a_console(place: Place) -> None:
    console = Console(place, "ask", "questions.json", "--plain")
    console.wait_for("PostgreSQL")
    console.keys("2", "Enter")
    code, out = console.end()
    assert (code, json.loads(out)["answers"][0]["selectedOptions"]) == (0, ["SQLite"]), out


def the_inbox_across_three_processes_and_kills(place: Place) -> None:
    for round in range(3):
        put = place.run("ask", "questions.json", "--via", "inbox", "--detach", "--key", f"round {round}", code=75)
        id = put.stdout.strip()
        waiting = place.start("wait", id)
        time.sleep(1)
        # Wine's own process, not the program: it ends with it.
        waiting.kill()
        waiting.communicate()
        waiting = place.start("wait", id)
        place.run("answer", id, "--select", "Database=SQLite")
        out, err = waiting.communicate(timeout=60)
        assert json.loads(out)["answers"][0]["selectedOptions"] == ["SQLite"], (out, err)
        late = place.run("answer", id, "--select", "Database=PostgreSQL", code=None)
        assert late.returncode != 0 and "SQLite" in late.stderr, late


def mcp_with_the_python_sdk(place: Place) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def ask() -> None:
        server = StdioServerParameters(command="wine", args=[PROGRAM, "mcp"], env=place.environment, cwd=place.folder)
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = {tool.name for tool in (await session.list_tools()).tools}
            assert "AskUserQuestion" in tools, tools
            call = asyncio.create_task(session.call_tool("AskUserQuestion", json.loads(QUESTIONS)))
            for _ in range(100):
                listed = await asyncio.to_thread(place.run, "inbox", "--json", code=None)
                lines = listed.stdout.splitlines()
                if lines:
                    break
                await asyncio.sleep(0.2)
            await asyncio.to_thread(place.run, "answer", json.loads(lines[0])["id"], "--select", "Database=SQLite")
            result = await asyncio.wait_for(call, 60)
            assert "SQLite" in result.content[0].text, result

    asyncio.run(ask())


def every_client_is_set_up_and_undone_to_the_byte(place: Place) -> None:
    help = place.run("init", "--help").stdout
    names = " ".join(help.split("[possible values: ")[1].split("]")[0].split()).split(", ")
    before = b'\xef\xbb\xbf{\r\n  // mine\r\n  "mcpServers": {}\r\n}\r\n'
    gemini = place.home / ".gemini" / "settings.json"
    gemini.parent.mkdir(exist_ok=True)
    gemini.write_bytes(before)

    def left() -> set[Path]:
        return {path for path in set(files_below(place.home)) - MADE_BY_WINE if "askuser" not in path.parts}

    for name in names:
        already = left()
        place.run("init", name, "--yes")
        assert gemini.read_bytes() != before if name == "gemini" else left() > already, name
        place.run("init", name, "--remove", "--yes")
        assert (left(), gemini.read_bytes()) == ({gemini}, before), (name, left(), gemini.read_bytes())
    for name in names:
        place.run("init", name, "--yes")
    place.run("uninstall", "--yes")
    assert (left(), gemini.read_bytes()) == ({gemini}, before), (left(), gemini.read_bytes())


def the_agent_with_a_scripted_model(place: Place) -> None:
    script = [
        {"calls": [{"name": "Write", "input": {"path": "made/größer.txt", "content": "one\ntwo\n"}}]},
        {"calls": [{"name": "Bash", "input": {"command": "echo ran>ran.txt", "description": "Leave a mark"}}]},
        {"calls": [{"name": "AskUserQuestion", "input": json.loads(QUESTIONS)}]},
        {"text": "All done."},
    ]
    (place.folder / "script.json").write_text(json.dumps({"turns": script}))
    (place.folder / "answers.json").write_text('{"Database": "SQLite"}')
    words = ("agent", "--script", "script.json", "-p", "Set up storage", "--answers", "answers.json", "--output", "json")
    ended = json.loads(place.run(*words, "--permissions", "allow").stdout)
    assert ended["text"] == "All done.", ended
    [asked] = [question["outcome"] for question in ended["questions"]]
    assert asked["answers"][0]["selectedOptions"] == ["SQLite"], asked
    assert (place.folder / "made/größer.txt").read_bytes() == b"one\ntwo\n"
    assert (place.folder / "ran.txt").read_text().strip() == "ran"
    [session] = [json.loads(line) for line in place.run("agent", "sessions", "--json").stdout.splitlines()]
    assert session["id"] == ended["session"], session


def serve_answers_a_request(place: Place) -> None:
    server = place.start("serve", "--listen", "127.0.0.1:7497", stderr=subprocess.STDOUT)
    try:
        token = place.run("token", "new", "ci", "--ask").stdout.strip()

        def asked():
            body = json.dumps({"input": json.loads(QUESTIONS)}).encode()
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "X-Askuser": "1"}
            request = urllib.request.Request("http://127.0.0.1:7497/api/v1/questions", body, headers)
            try:
                return urllib.request.urlopen(request, timeout=5).status
            except OSError as error:
                return error

        wait_until("201", asked, lambda status: status in (200, 201))
    finally:
        server.kill()
        server.communicate()


def main() -> None:
    failed = 0
    # Wine's own processes must not hold the pipes of the program.
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(["wineserver", "-p"], **quiet)
    subprocess.run(["wine", "wineboot"], **quiet)
    users = Path(os.environ["WINEPREFIX"]) / "drive_c/users"
    shutil.rmtree(next(users.glob("*/AppData/Local/askuser"), "/nonexistent"), ignore_errors=True)
    MADE_BY_WINE.update(files_below(users))
    for case in CASES:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="askuser-windows-", ignore_cleanup_errors=True) as folder:
            try:
                case(Place(Path(folder)))
                how = "passed"
            except Exception as error:  # noqa: BLE001 one case must not keep the others from running
                failed += 1
                how = f"FAILED: {type(error).__name__}: {error}"
            finally:
                subprocess.run([*TMUX, "kill-server"], capture_output=True)
        print(f"{case.__name__}: {how} ({time.monotonic() - start:.1f} s)", flush=True)
    subprocess.run(["wineserver", "-k"], capture_output=True)
    print(f"{len(CASES) - failed} of {len(CASES)} cases passed under Wine")
    sys.exit(1 if failed else 0)


CASES = [
    without_a_console,
    a_file_with_a_mark_and_windows_line_ends,
    the_prompt_is_drawn_and_answered,
    other_takes_text_of_any_kind,
    esc_leaves_without_an_answer,
    ctrl_c_ends_it_and_leaves_the_terminal_as_it_was,
    a_narrow_console_and_a_resize,
    lines_in_a_console,
    the_inbox_across_three_processes_and_kills,
    mcp_with_the_python_sdk,
    every_client_is_set_up_and_undone_to_the_byte,
    the_agent_with_a_scripted_model,
    serve_answers_a_request,
]

if __name__ == "__main__":
    main()
