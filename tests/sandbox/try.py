"""Tries the ways out of the sandbox, then real work in it, then what it costs. Called by `run`."""

import atexit, fcntl, hashlib, json, os, re, shutil, socket, subprocess, sys, tempfile, threading, time
from pathlib import Path

STAGE, SHORT = Path(sys.argv[1]), "--short" in sys.argv
SECRET = "planted-secret-" + os.urandom(6).hex()
WHO = "root" if os.getuid() == 0 else "an ordinary user"
ASKUSER = STAGE / "askuser"
SECRETS = [
    ".ssh/id_rsa", ".aws/credentials", ".netrc", ".git-credentials", ".config/gh/hosts.yml", ".npmrc", ".docker/config.json",
    ".kube/config", ".gnupg/private", ".bash_history", ".cargo/credentials.toml", ".local/share/uv/credentials/credentials.toml", ".keys/_/key",
]


def sh(command, **options):
    return subprocess.run(command, shell=isinstance(command, str), check=True, capture_output=True, text=True, **options)


class Place:
    """A home with secrets, a project in it, a folder beside it, listeners."""

    def __init__(self):
        atexit.register(self.remove)
        self.sockets, self.temporary = [], []
        self.root = Path(tempfile.mkdtemp(dir=STAGE / str(os.getuid())))
        self.home, self.out = self.root / "home", self.root / "out"
        self.project = self.home / "project"
        for folder in [self.project / "sub", self.out / "empty", self.home / ".cargo/bin", self.home / ".local/bin"]:
            folder.mkdir(parents=True)
        for name in SECRETS:
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text(f'secret = "{SECRET}"\n')
        (self.home / ".config/askuser").mkdir()
        (self.home / ".config/askuser/askuser.toml").write_text(f"# {SECRET}\n")
        (self.home / ".cargo/credentials").symlink_to("credentials.toml")
        for folder in ["cargo/bin", "added"]:
            (self.out / folder).mkdir(parents=True)
        (self.out / "cargo/credentials.toml").write_text(f'secret = "{SECRET}"\n')
        (self.out / "file").write_text("a\n")
        (self.home / ".bashrc").write_text("\n")
        (self.project / "sub").rmdir()
        (self.project / "README").write_text("a\n")
        env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        git = dict(env, GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b")
        sh("git init -q . && git config user.name a && git config user.email a@b && git add . && git commit -qm a", cwd=self.project, env=git)
        (self.project / ".git/hooks").mkdir(exist_ok=True)
        (self.project / ".git/info").mkdir(exist_ok=True)
        (self.project / ".git/hooks/pre-commit").write_text("a\n")
        (self.project / ".git/hooks/post-merge").symlink_to("../../tools/post-merge")
        (self.project / "tools").mkdir()
        for name in ["tools/post-merge", "tools/clean", "team.gitconfig"]:
            (self.project / name).write_text("")
        sh("git config include.path ../team.gitconfig && git config filter.x.clean ./tools/clean", cwd=self.project, env=git)
        self.tcp = self.listen(socket.AF_INET, ("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.udp.setblocking(False)
        atexit.register(self.udp.close)
        self.abstract = "askuser-" + os.urandom(6).hex()
        self.listen(socket.AF_UNIX, "\0" + self.abstract)
        names = {"SSH": self.out / "ssh.sock", "DBUS": self.out / "bus.sock", "HOME": self.home / "agent.sock",
                 "TMP": Path(tempfile.mkdtemp(dir="/tmp")) / "default"}
        self.temporary.append(names["TMP"].parent)
        for path in names.values():
            self.listen(socket.AF_UNIX, str(path))
        self.env = env | {
            "OUT": str(self.out), "HOME_OUTSIDE": str(self.home), "DRIVER": str(os.getpid()), "ASKUSER": str(ASKUSER),
            "PORT": str(self.tcp.getsockname()[1]), "UDP": str(self.udp.getsockname()[1]), "ABSTRACT": self.abstract,
            "SSH_AUTH_SOCK": str(names["SSH"]), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={names['DBUS']},guid=0",
            "TMUX": f"{names['TMP']},1,0", "XDG_RUNTIME_DIR": str(self.out), "ANTHROPIC_API_KEY": SECRET, "PGPASSWORD": SECRET,
            "ANY_NAME": f"postgres://me:{SECRET}@localhost/a", "CARGO_HOME": str(self.out / "cargo"),
        }
        # Not as a path: a socket that a variable names is hidden for that alone.
        self.env["TMP_NAME"] = names["TMP"].parent.name
        words = [str(ASKUSER), "ask", "--via", "inbox", "--detach", "-q", "Really?", "-o", "Yes: a", "-o", "No: b"]
        # 75 says that it waits.
        asked = subprocess.run(words, env=self.plain(), cwd=self.project, capture_output=True, text=True)
        self.env["QUESTION"] = asked.stdout.strip()
        (self.home / ".local/state/askuser/allowed.json").write_text(json.dumps({"x": {SECRET: []}}))
        os.chmod(self.home / ".local/state/askuser/allowed.json", 0o600)

    def plain(self):
        return {name: self.env[name] for name in ("HOME", "PATH", "LANG")}

    def listen(self, family, address):
        listener = socket.socket(family)
        listener.bind(address)
        listener.listen(64)
        listener.setblocking(False)
        self.sockets.append(listener)
        return listener

    def reached(self):
        count = 0
        for listener in self.sockets:
            while True:
                try:
                    listener.accept()[0].close()
                    count += 1
                except BlockingIOError:
                    break
        try:
            self.udp.recv(10)
            count += 1
        except BlockingIOError:
            pass
        return count

    def state(self):
        """All that is outside of the folder, and what tells git what to do in it."""
        seen = {}
        git = [self.project / name for name in (".git", "tools", "team.gitconfig")]
        folders = [self.out, self.home] + git
        state = self.home / ".local/state/askuser"
        skip = (self.home / ".cache", state / "sessions", state / "inbox", state / "writable-folders")
        for folder in folders:
            paths = [folder] if folder.is_file() else list(folder.rglob("*"))
            for path in paths:
                inside = self.project in path.parents and not any(g == path or g in path.parents for g in git)
                if inside or any(s == path or s in path.parents for s in skip):
                    continue
                status = path.lstat()
                content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else ""
                seen[str(path)] = (status.st_mode, content, int(status.st_mtime) if path.is_file() else 0)
        for name in ("/tmp/way-out", "/var/tmp/way-out", "/dev/shm/way-out", "/etc/way-out", "/usr/bin/way-out", "/opt/way-out"):
            seen[name] = os.path.lexists(name)
        pending = sh([str(ASKUSER), "inbox", "--json"], env=self.plain(), cwd=self.project).stdout
        seen["pending"] = "Really?" in pending
        return seen

    def remove(self):
        for listener in self.sockets:
            listener.close()
        for folder in [self.root] + self.temporary:
            shutil.rmtree(folder, ignore_errors=True)

    def agent(self, commands, *arguments, env=None):
        """What came of these commands, each a call of the agent."""
        turns = [{"calls": [{"name": "Bash", "input": dict({"timeout_ms": 60000}, **(c if isinstance(c, dict) else {"command": c}))}]} for c in commands]
        script = self.root / "script.json"
        script.write_text(json.dumps({"turns": turns + [{"text": "done"}]}))
        words = [str(ASKUSER), "agent", "--script", str(script), "-p", "go", "--output", "stream-json", *arguments]
        ran = subprocess.run(words, cwd=self.project, env=env or self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.said = ran.stderr
        events = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
        results = [event["result"] for event in events if event.get("type") == "tool_result"]
        if len(results) != len(commands):
            sys.exit(f"{len(results)} of {len(commands)} commands ran: {ran.stderr[-2000:]}{ran.stdout[-2000:]}")
        return results


def ways():
    for line in Path(STAGE / "ways.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            mark = line[0] if line[:2] in ("! ", "~ ") else ""
            yield mark, line[2:] if mark else line


def control(command):
    """Whether a way leads out where there is no sandbox: otherwise it says nothing."""
    place = Place()
    try:
        before = place.state()
        ran = subprocess.run(["bash", "-c", command], cwd=place.project, env=place.env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        changed = not place.project.exists() or place.state() != before
        return ran.returncode == 0 or SECRET in ran.stdout or changed or place.reached() > 0
    finally:
        place.remove()
        for name in ("/tmp/way-out", "/var/tmp/way-out", "/dev/shm/way-out"):
            Path(name).unlink(missing_ok=True)


def try_ways():
    all_ways = list(ways())
    place = Place()
    before = place.state()
    results = place.agent([command for _, command in all_ways], "--permissions", "sandbox")
    failed, idle = [], []
    for number, ((mark, command), result) in enumerate(zip(all_ways, results), 1):
        led_out = SECRET in result["output"] or (mark != "~" and result["success"])
        print(f"{number:>4}  {'LED OUT' if led_out else 'held   '}  {command}")
        if led_out:
            failed.append(f"{command}\n        {result['output'][:300]}")
    after = place.state()
    failed += [f"changed outside: {name}" for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    if count := place.reached():
        failed.append(f"listeners were reached {count} times")
    for name in sorted(place.project.glob("held*")):
        with open(name) as held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                failed.append(f"{name.name} is still held: something outlives its command")
    place.remove()
    if not SHORT:
        # What outlives its command would outlive this, too.
        idle = [command for mark, command in all_ways if not mark and not control(command)]
    for command in idle:
        failed.append(f"leads nowhere without the sandbox either, so it proves nothing: {command}")
    print(f"\nas {WHO}: {len(all_ways)} ways, {len(failed)} failures")
    if failed:
        sys.exit("\n".join(failed))
    return len(all_ways)


WORK = {
    "git, looking": ("git", "echo b >> README && git status --short && git diff && git log --oneline"),
    "make": ("make", "printf 'all:\\n\\tcc -o a a.c && ./a\\n' > Makefile; echo 'int main(void){return 0;}' > a.c; make"),
    "cargo test, offline": ("cargo", "cargo init --quiet --lib --name a rust && cd rust && cargo test --offline --quiet"),
    "npm test": ("npm", "mkdir -p js && cd js && echo '{\"scripts\": {\"test\": \"node -e 0\"}}' > package.json && npm test"),
    "pytest": ("pytest", "echo 'def test_a(): pass' > test_a.py && pytest -q test_a.py"),
    "go build": ("go", "mkdir -p g && cd g && printf 'module a\\n' > go.mod && printf 'package main\\nfunc main() {}\\n' > a.go && go build"),
    "a compiler cache": ("ccache", "echo 'int main(void){return 0;}' > b.c; ccache cc -c b.c && ccache cc -c b.c && ccache -s | grep -i hit"),
    "files in /tmp from one command to the next": ("sh", "echo x > /tmp/kept"),
    "the same": ("sh", "cat /tmp/kept"),
}


def work():
    place = Place()
    # The toolchains of whoever runs this, at the place of theirs.
    env = dict(place.env, HOME=os.environ["HOME"], XDG_STATE_HOME=str(place.root / "state"), XDG_CONFIG_HOME=str(place.root / "config"),
               XDG_CACHE_HOME=str(place.root / "cache"))
    del env["CARGO_HOME"]
    place.project = place.root / "project"
    shutil.copytree(place.home / "project", place.project, symlinks=True)
    (place.project / ".git/hooks/pre-commit").unlink()
    there = {name: command for name, (program, command) in WORK.items() if shutil.which(program)}
    results = place.agent(list(there.values()), "--permissions", "sandbox", env=env)
    bad = [f"{name}: {result['output'][-600:]}" for name, result in zip(there, results) if not result["success"]]
    for name in WORK:
        print(f"      {'not here' if name not in there else 'works'}  {name}")
    # A commit leaves the sandbox, and asks once.
    answers = place.root / "answers.json"
    answers.write_text('{"Bash": "Allow once"}')
    commit = {"command": "git add README && git -c user.name=a -c user.email=a@b commit -qm b", "outside": True, "reason": "It commits."}
    inside, outside = place.agent([commit["command"], commit], "--permissions", "sandbox", "--answers", str(answers), env=env)
    if inside["success"] or not outside["success"]:
        bad.append(f"a commit: {inside['output']} {outside['output']}")
    # In a further working tree git reads, and asks to commit.
    sh(["git", "worktree", "add", "-q", str(place.root / "tree")], cwd=place.project)
    place.project = place.root / "tree"
    status, commit = place.agent(["git status --short && git log --oneline", "echo c > c; git add c && git commit -qm c"], "--permissions", "sandbox", env=env)
    if not status["success"] or commit["success"]:
        bad.append(f"a worktree: {status['output']} {commit['output']}")
    place.remove()
    if bad:
        sys.exit("\n".join(bad))


def plants():
    """A command plants programs in a folder of PATH. askuser starts none of them, neither here nor elsewhere, now or later."""
    place, ran = Place(), None
    names = ["bash", "git", "notify-send", "setsid", "sh", "tmux"]
    path = f"{place.project}/bin:{place.out}/added:" + place.env["PATH"]
    env = dict(place.env, PATH=path, ASKUSER_ON_QUESTION="true; notify-send x")
    planted = place.out / "planted"
    program = f'#!/bin/sh\\necho $0 >> "{planted}"\\n'
    plant = " && ".join(f"printf '{program}' > {folder}/{name} && chmod +x {folder}/{name}" for name in names for folder in ("bin", '"$OUT/added"'))
    added = ["--permissions", "sandbox", "--add-dir", str(place.out / "added")]
    [result] = place.agent([f"mkdir -p bin && {plant}"], *added, env=env)
    if not result["success"]:
        sys.exit(f"nothing could be planted: {result['output']}")
    sh(["git", "--version"], env=env)
    if not planted.exists():
        sys.exit("what was planted is not started by its name either, so this proves nothing")
    planted.unlink()
    place.agent(["true", "git status"], *added, env=env)
    place.agent(["true"], "--permissions", "allow", env=env)
    place.agent(["true"], "--permissions", "sandbox", env=env)
    for folder in (place.project, place.out, Path("/")):
        for more in ({}, {"TMUX": ""}, {"ZELLIJ": "0"}):
            words = [str(ASKUSER), "ask", "--via", "inbox", "--detach", "-q", f"In {folder} {more}?", "-o", "Yes: a", "-o", "No: b"]
            subprocess.run(words, env=dict(env, **more), cwd=folder, capture_output=True, timeout=60)
        subprocess.run([str(ASKUSER), "doctor"], env=dict(env, TMUX=""), cwd=folder, capture_output=True, timeout=60)
    time.sleep(0.5)
    ran = planted.read_text() if planted.exists() else ""
    place.remove()
    return [f"a planted program was started: {ran}"] if ran else []


def swaps():
    """Another session swaps a folder and a link while commands start; and the private /tmp lies where commands can write."""
    place, failed, stop = Place(), [], threading.Event()
    (place.project / ".husky/_").mkdir(parents=True)
    (place.project / "link").symlink_to(place.home / ".keys")
    sh(["git", "config", "core.hooksPath", ".husky/_"], cwd=place.project, env=place.plain())

    def swap():
        while not (place.project / "began").exists() and not stop.is_set():
            time.sleep(0.01)
        while not stop.is_set():
            for one, other in ((".husky", "folder"), ("link", ".husky"), (".husky", "link"), ("folder", ".husky")):
                try:
                    os.rename(place.project / one, place.project / other)
                except OSError:
                    pass
    swapper = threading.Thread(target=swap, daemon=True)
    swapper.start()
    results = place.agent(["touch began"] + [f"cat .husky/_/key; echo {i}" for i in range(50)], "--permissions", "sandbox")
    stop.set()
    swapper.join()
    read = sum(SECRET in result["output"] for result in results)
    ran = sum(result["success"] for result in results)
    print(f"      {ran} of {len(results)} commands ran while a folder was swapped, {read} read what the link led to")
    failed += [f"{read} commands read what a swapped link led to"] if read else []
    place.remove()

    place = Place()
    env = dict(place.env, XDG_CACHE_HOME=str(place.project / ".cache"))
    lead = 'for d in .cache/askuser/sandbox/*; do rm -rf "$d/tmp"; mkdir -p "$d"; ln -sfn "$HOME_OUTSIDE/.ssh" "$d/tmp"; done'
    place.agent(["true", lead, "cat /tmp/id_rsa"], "--permissions", "sandbox", env=env)
    said = place.said
    [result] = place.agent(["cat /tmp/id_rsa"], "--permissions", "sandbox", env=env)
    if SECRET in result["output"]:
        failed.append("the private /tmp was replaced by a link")
    if "each gets an empty /tmp" not in said:
        failed.append(f"it does not say that /tmp is empty: {said}")
    place.remove()
    return failed


def access():
    """Outside a command has the user's access, and no folder with what askuser keeps is given to commands."""
    place, failed = Place(), []
    [result] = place.agent(['"$ASKUSER" inbox --json | grep -q Really && cat ~/.config/askuser/askuser.toml'], "--permissions", "allow")
    if not result["success"] or "with your access" not in place.said:
        failed.append(f"mode allow: {result['output']} {place.said}")
    (place.out / "linked").symlink_to(place.home / ".local")
    for option in ("--add-dir", "--sandbox-read", "--sandbox-write"):
        for folder in (".local", ".local/state/askuser", ".config", str(place.out / "linked")):
            words = [str(ASKUSER), "agent", "--script", "/dev/null", "-p", "go", option, str(place.home / folder)]
            words[3] = str(place.root / "script.json")
            ran = subprocess.run(words, cwd=place.project, env=place.env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if ran.returncode != 2 or "which commands must not reach" not in ran.stderr:
                failed.append(f"{option} {folder}: {ran.returncode} {ran.stderr}")
    place.remove()
    return failed


def cost():
    place, count = Place(), 100
    try:
        def measure(mode, env):
            start = time.monotonic()
            place.agent([f"true {i}" for i in range(count)], "--permissions", mode, env=env)
            return (time.monotonic() - start) / count * 1000
        # In the home there is no sandbox.
        without = dict(place.env, HOME=str(place.project), XDG_STATE_HOME=str(place.root / "state"))
        figures = {"without": [], "sandbox": [], "allow": []}
        for _ in range(5):
            figures["without"].append(measure("allow", without))
            figures["sandbox"].append(measure("sandbox", place.env))
            figures["allow"].append(measure("allow", place.env))
        for name, values in figures.items():
            print(f"      {sorted(values)[2]:6.1f} ms a command, {name} (median of 5 runs of {count}, with the agent's own work)")
    finally:
        place.remove()


print(f"\n== as {WHO}", flush=True)
try_ways()
if failures := plants() + swaps() + access():
    sys.exit("\n".join(failures))
if not SHORT:
    work()
    cost()
