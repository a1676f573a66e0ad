"""Faults, counted: what was acknowledged is there, once; every loser names the winner; every reader sees numbers without holes."""

import contextlib
import glob
import http.client
import json
import multiprocessing
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASKUSER = os.environ.get("ASKUSER", str(ROOT / "target/debug/askuser"))
PROGRAMS = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
SHORT = "--short" in sys.argv
ONLY = [word for word in sys.argv[1:] if not word.startswith("--")]
QUESTION = {"questions": [{"question": "Which one?", "header": "Pick", "multiSelect": False, "options": [
    {"label": "A", "description": "The first"}, {"label": "B", "description": "The second"}]}]}


def as_user(*words):
    """PostgreSQL refuses to be root's."""
    user = ["--reuid", "postgres", "--regid", "postgres", "--clear-groups"] if os.getuid() == 0 else []
    return ["setpriv", *user, "--pdeathsig", "KILL", "--", *map(str, words)]


def own(path):
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", "postgres:postgres", str(path)], check=True)


class Postgres:
    """A server in a folder of its own, reached through a socket alone."""

    def __init__(self, folder, settings=()):
        self.folder, self.settings = pathlib.Path(folder), list(settings)
        self.folder.mkdir(parents=True)
        self.data, self.process = self.folder / "data", None

    def make(self):
        own(self.folder)
        subprocess.run(as_user(f"{PROGRAMS}/initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "-U", "postgres",
                               "-D", self.data), check=True, stdout=subprocess.DEVNULL)
        return self

    def copy_of(self, primary, name):
        own(self.folder)
        subprocess.run(as_user(f"{PROGRAMS}/pg_basebackup", "-h", primary.folder, "-U", "postgres", "-D", self.data, "-R", "-X", "stream",
                               "-d", f"host={primary.folder} user=postgres application_name={name}"), check=True)
        return self

    def start(self):
        log = open(self.folder / "log", "ab")
        words = [f"{PROGRAMS}/postgres", "-D", self.data, "-c", "listen_addresses=", "-c", "max_connections=300",
                 "-c", f"unix_socket_directories={self.folder}"]
        for setting in self.settings:
            words += ["-c", setting]
        self.process = subprocess.Popen(as_user(*words), stdout=log, stderr=log, cwd="/")
        self.wait_ready()
        return self

    def wait_ready(self):
        began = time.time()
        while subprocess.run([f"{PROGRAMS}/pg_isready", "-q", "-h", str(self.folder), "-U", "postgres"]).returncode != 0:
            assert time.time() - began < 60, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.02)

    def stop(self, mode="immediate"):
        if self.process and self.process.poll() is None:
            subprocess.run(as_user(f"{PROGRAMS}/pg_ctl", "stop", "-m", mode, "-D", self.data), check=True, stdout=subprocess.DEVNULL)
            self.process.wait()

    def processes(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [self.process.pid, *map(int, children)]

    def sql(self, text, timeout=60):
        got = subprocess.run([f"{PROGRAMS}/psql", "-h", str(self.folder), "-U", "postgres", "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", text],
                             capture_output=True, text=True, timeout=timeout)
        if got.returncode:
            raise RuntimeError(got.stderr)
        return [line.split("\t") for line in got.stdout.splitlines()]

    def address(self):
        return f"postgres://postgres@/postgres?host={self.folder}"


class Serve:
    """An `askuser serve`."""

    def __init__(self, address, home, before=()):
        self.address, self.home, self.before, self.process = address, home, list(before), None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def environment(self):
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "USER": "ada", "ASKUSER_STORE": self.address, "ASKUSER_POPUP": "none",
                "ASKUSER_NOTIFY": "false"}

    def start(self):
        self.process = subprocess.Popen([*self.before, ASKUSER, "serve", "--listen", f"127.0.0.1:{self.port}"], env=self.environment(),
                                        stdout=subprocess.PIPE, stderr=open(self.home / "serve.log", "ab"), cwd=self.home, start_new_session=True)
        line = self.process.stdout.readline()
        assert line, (self.home / "serve.log").read_text()[-2000:]
        return self

    def run(self, *words):
        return subprocess.run([ASKUSER, *words], env=self.environment(), capture_output=True, text=True, cwd=self.home)

    def token(self, name, *words):
        made = self.run("token", "new", name, *words)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def kill(self):
        # What stands before it (faketime) is another process, which would leave it running.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Client:
    """Repeats a request with the same key until it is replied to; whoever it is sent to."""

    def __init__(self, ports, token, patience=180):
        self.ports, self.token, self.patience, self.repeated, self.connection = list(ports), token, patience, 0, None

    def send(self, method, path, body=None, key=None):
        began, pause = time.time(), 0.02
        while True:
            try:
                if self.connection is None:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.ports[0], timeout=60)
                headers = {"Authorization": f"Bearer {self.token}", "X-Askuser": "1", "Content-Type": "application/json", "Accept": "application/json"}
                if key:
                    headers["Idempotency-Key"] = key
                self.connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
                reply = self.connection.getresponse()
                text = reply.read()
                if reply.status < 500:
                    return reply.status, json.loads(text)
                why = text
            except (OSError, http.client.HTTPException) as error:
                why = error
                self.connection = None
            assert time.time() - began < self.patience, f"{method} {path}: {why}"
            self.repeated += 1
            self.ports.append(self.ports.pop(0))
            self.connection = None
            time.sleep(pause)
            pause = min(pause * 2, 1)


def work(name, ports, tokens, count, deadline, log):
    """Asks, and has two people answer at once through two servers. Writes down what each was told, before anything else."""
    ask, ada, bob = (Client(random.sample(ports, len(ports)), token) for token in tokens)
    with open(log, "w") as out:
        def note(**what):
            out.write(json.dumps(what) + "\n")
            out.flush()
        i = 0
        while (count is None or i < count) and (deadline is None or time.time() < deadline):
            status, question = ask.send("POST", "/questions", {"input": QUESTION}, key=f"{name}-{i}")
            assert status in (200, 201), question
            note(kept=question["id"])
            results = {}

            def answer(client, who, option):
                key = f"{who}-{question['id']}-{uuid.uuid4()}"
                body = {"status": "answered", "answers": [{"selectedOptions": [option]}]}
                results[who] = (key, *client.send("POST", f"/questions/{question['id']}/answer", body, key=key))
            threads = [threading.Thread(target=answer, args=one) for one in ((ada, "ada", "A"), (bob, "bob", "B"))]
            [thread.start() for thread in threads]
            [thread.join() for thread in threads]
            for who in ("ada", "bob"):
                key, status, body = results[who]
                if status == 200:
                    note(won=question["id"], who=who)
                else:
                    assert status == 409, (status, body)
                    note(lost=question["id"], who=who, named=body["error"]["question"]["resolution"]["by"])
            i += 1
        note(repeated=ask.repeated + ada.repeated + bob.repeated)


def follow(ports, token, ended, log):
    """Follows the events, and writes down every number."""
    client, after = Client(ports, token), 0
    with open(log, "w") as out:
        while True:
            is_last = ended.is_set()
            _, body = client.send("GET", f"/events?after={after}&limit=500")
            assert not body["gap"], f"a gap after {after}"
            for event in body["events"]:
                out.write(json.dumps([event["seq"], event["id"], event["state"]]) + "\n")
                after = event["seq"]
            out.flush()
            if not body["events"]:
                if is_last:
                    return
                time.sleep(0.01)


class Trial:
    """A database, two servers, workers, readers; and what was seen."""

    def __init__(self, name, address=None, database=None, before=((), ())):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="askuser-trial-"))
        self.folder.chmod(0o755)
        self.database = database(self.folder) if database else Postgres(self.folder / "one").make().start()
        self.home = self.folder / "home"
        self.home.mkdir()
        self.address = address(self) if address else self.database.address()
        self.serves = [Serve(self.address, self.home, words) for words in before]
        people = [self.serves[0].run("people", "add", name) for name in ("ada", "bob")]
        assert not any(one.returncode for one in people), people
        self.tokens = [self.serves[0].token("ci", "--ask"), *(self.serves[0].token(f"{name}'s", "--answer", "--person", name) for name in ("ada", "bob"))]
        [serve.start() for serve in self.serves]
        self.ports, self.name, self.began = [serve.port for serve in self.serves], name, time.time()
        self.ended, self.running, self.logs, self.follows = multiprocessing.Event(), [], [], []

    def work(self, workers, count=None, seconds=None):
        for i in range(workers):
            log = self.folder / f"work-{len(self.logs)}"
            deadline = None if seconds is None else time.time() + seconds
            name = f"{self.name}-{len(self.logs)}"
            self.running.append(multiprocessing.Process(target=work, args=(name, self.ports, self.tokens, count, deadline, log)))
            self.running[-1].start()
            self.logs.append(log)

    def follow(self, readers=2):
        for i in range(readers):
            log = self.folder / f"follow-{i}"
            process = multiprocessing.Process(target=follow, args=(self.ports[i % len(self.ports):] + self.ports, self.tokens[1], self.ended, log))
            process.start()
            self.follows.append((process, log))

    def finish(self, database=None):
        """Waits for all, reads the tables, and compares."""
        for process in self.running:
            process.join()
            assert process.exitcode == 0, "a worker failed"
        self.ended.set()
        for process, _ in self.follows:
            process.join()
            assert process.exitcode == 0, "a reader failed"
        database = database or self.database
        rows = {id: (state, by) for id, state, by in database.sql("SELECT id, state, ending::json -> 'resolved' ->> 'by' FROM askuser.question")}
        kept, won, lost, repeated = [], {}, [], 0
        for log in self.logs:
            for line in log.read_text().splitlines():
                told = json.loads(line)
                if "kept" in told:
                    kept.append(told["kept"])
                elif "won" in told:
                    won.setdefault(told["won"], []).append(told["who"])
                elif "lost" in told:
                    lost.append(told)
                else:
                    repeated += told["repeated"]
        missing = [id for id in kept if id not in rows]
        doubled = [id for id, who in won.items() if len(who) > 1]
        wrong = [id for id, who in won.items() if rows.get(id) != ("answered", who[0])]
        misnamed = [told for told in lost if told["named"] != (won.get(told["lost"]) or [rows[told["lost"]][1]])[0]]
        twice = len(kept) - len(set(kept))
        events = database.sql("SELECT coalesce(max(seq), 0), count(seq), count(*), (SELECT last FROM askuser.numbering) FROM askuser.event")
        top, numbered, all_events, last = map(int, events[0])
        ends = int(database.sql("SELECT count(*) FROM (SELECT question FROM askuser.event WHERE state <> 'pending' GROUP BY question HAVING count(*) > 1) AS x")[0][0])
        holes = 0
        for _, log in self.follows:
            seen = [json.loads(line)[0] for line in log.read_text().splitlines()]
            if seen != list(range(1, last + 1)):
                holes += 1
                print(f"  a reader saw {len(seen)} of {last} events: {sorted(set(range(1, last + 1)) - set(seen))[:20]}, at the end {seen[-5:]}", flush=True)
        for what, count in (("lost questions", len(missing)), ("lost answers", len(wrong)), ("double winners", len(doubled)), ("ended twice", ends),
                            ("asked twice", twice), ("losers told another winner", len(misnamed)), ("events without a number", all_events - numbered),
                            ("holes", last - numbered + top - last), ("readers that missed an event", holes)):
            assert count == 0, f"{self.name}: {count} {what}"
        assert len(won) > 0
        return (f"{len(kept)} questions and {len(won)} answers acknowledged, {len(lost)} losers, {repeated} requests repeated, {last} events; "
                f"0 lost, 0 double, every loser named the winner, {len(self.follows)} readers without a hole; {time.time() - self.began:.0f} s")

    def close(self):
        for serve in self.serves:
            if serve.process and serve.process.poll() is None:
                serve.kill()
        for process in self.running + [process for process, _ in self.follows]:
            if process.is_alive():
                process.kill()
        with contextlib.suppress(Exception):
            self.database.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def stops(count=200):
    """The server is stopped as by a crash, and started again."""
    trial = Trial("stops")
    try:
        count = 10 if SHORT else count
        trial.follow()
        trial.work(4, seconds=count * 1.0 + 5)
        for _ in range(count):
            time.sleep(random.uniform(0.2, 0.6))
            trial.database.stop("immediate")
            trial.database.start()
        return f"{count} immediate stops: {trial.finish()}"
    finally:
        trial.close()


def terminated(seconds=60):
    """Backends are terminated at any moment, between a commit and its reply too."""
    trial = Trial("terminated")
    try:
        seconds, cut = (10 if SHORT else seconds), 0
        trial.follow()
        trial.work(4, seconds=seconds)
        end = time.time() + seconds
        while time.time() < end:
            cut += int(trial.database.sql("SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'askuser') x")[0][0])
            time.sleep(random.uniform(0.01, 0.08))
        return f"{cut} backends terminated: {trial.finish()}"
    finally:
        trial.close()


def killed(count=40):
    """kill -9 of a server, which is a numberer too."""
    trial = Trial("killed")
    try:
        count, left = (6 if SHORT else count), 0
        trial.follow()
        trial.work(4, seconds=count * 1.5)
        for i in range(count):
            time.sleep(random.uniform(0.3, 1))
            trial.serves[i % 2].kill()
            left += int(trial.database.sql("SELECT count(*) FROM askuser.event WHERE seq IS NULL")[0][0])
            trial.serves[i % 2].start()
        return f"{count} servers killed, {left} events seen without a number meanwhile: {trial.finish()}"
    finally:
        trial.close()


def failover(rounds=5):
    """The primary freezes, its synchronous standby is promoted, the old one wakes."""
    results = []
    for _ in range(1 if SHORT else rounds):
        def database(folder):
            return Postgres(folder / "one", ["wal_level=replica", "synchronous_standby_names=two", "max_wal_senders=10"]).make()

        def address(trial):
            primary = trial.database
            primary.settings[1] = "synchronous_standby_names="
            primary.start()
            trial.standby = Postgres(trial.folder / "two").copy_of(primary, "two").start()
            primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'two'")
            primary.settings.pop(1)
            primary.stop("fast")
            primary.start()
            began = time.time()
            while primary.sql("SELECT sync_state FROM pg_stat_replication") != [["sync"]]:
                assert time.time() - began < 30, "no standby"
                time.sleep(0.1)
            return f"postgres://postgres@/postgres?host={primary.folder}&host={trial.standby.folder}"
        trial = Trial("failover", address=address, database=database)
        try:
            trial.follow()
            trial.work(4, seconds=40)
            time.sleep(5)
            old = trial.database
            for pid in old.processes():
                os.kill(pid, signal.SIGSTOP)
            frozen = time.time()
            trial.standby.sql("SELECT pg_promote(true, 60)")
            time.sleep(10)
            for pid in old.processes():
                os.kill(pid, signal.SIGCONT)
            woken = trial.finish(trial.standby)
            old.stop("immediate")
            results.append(f"frozen {time.time() - frozen:.0f} s before the end: {woken}")
        finally:
            with contextlib.suppress(Exception):
                trial.standby.stop()
            trial.close()
    return f"{len(results)} failovers: " + "; ".join(results)


def pooler(seconds=60):
    """PgBouncer in transaction mode, which swallows NOTIFY."""
    def address(trial):
        folder = trial.folder / "pool"
        folder.mkdir()
        (folder / "ini").write_text(f"""[databases]
postgres = host={trial.database.folder} dbname=postgres user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = 5432
pool_mode = transaction
auth_type = any
default_pool_size = 10
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
logfile = {folder}/log
""")
        own(folder)
        trial.pooler = subprocess.Popen(as_user(shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin"), folder / "ini"),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not (folder / ".s.PGSQL.5432").exists():
            time.sleep(0.05)
        return f"postgres://postgres@/postgres?host={folder}"
    trial = Trial("pooler", address=address)
    try:
        seconds = 10 if SHORT else seconds
        doctor = trial.serves[0].run("doctor").stdout
        assert "NOTIFY does not arrive" in doctor, doctor
        trial.follow()
        trial.work(4, seconds=seconds)
        waits = wake_ups(trial, 20)
        return f"NOTIFY swallowed; answer to waiter p50 {waits[len(waits) // 2]:.0f} ms, the longest {waits[-1]:.0f} ms: {trial.finish()}"
    finally:
        trial.pooler.kill()
        trial.pooler.wait()
        trial.close()


def wake_ups(trial, count):
    """How long it takes from an answer at one server to a waiter at the other, in milliseconds."""
    ask, there, ada = Client(trial.ports[:1], trial.tokens[0]), Client(trial.ports[:1], trial.tokens[0]), Client(trial.ports[1:], trial.tokens[1])
    took = []
    for i in range(count):
        _, question = ask.send("POST", "/questions", {"input": QUESTION}, key=f"wake-{uuid.uuid4()}")
        woken = []
        waiter = threading.Thread(target=lambda: woken.append((there.send("GET", f"/questions/{question['id']}?wait=30"), time.time())))
        waiter.start()
        time.sleep(0.1)
        began = time.time()
        ada.send("POST", f"/questions/{question['id']}/answer", {"status": "answered", "answers": [{"selectedOptions": ["A"]}]}, key=str(uuid.uuid4()))
        waiter.join()
        assert woken[0][0][1]["state"] == "answered", woken
        took.append((woken[0][1] - began) * 1000)
    return sorted(took)


def clock(seconds=20):
    """One machine's clock is an hour ahead, another's an hour behind: the database's decides."""
    trial = Trial("clock", before=(["faketime", "-f", "+3600"], ["faketime", "-f", "-3600"]))
    try:
        trial.follow()
        trial.work(4, seconds=seconds)
        ask = Client(trial.ports[:1], trial.tokens[0])
        _, question = ask.send("POST", "/questions", {"input": QUESTION, "deadline": 5}, key="deadline")
        began = time.time()
        while True:
            _, now = Client(trial.ports[1:], trial.tokens[1]).send("GET", f"/questions/{question['id']}?wait=20")
            if now["state"] != "pending":
                break
        took = time.time() - began
        assert now["state"] == "timed_out" and 3 < took < 9, (now["state"], took)
        off = int(trial.database.sql("SELECT count(*) FROM askuser.question WHERE abs(asked_ms - extract(epoch FROM now()) * 1000) > 600000")[0][0])
        assert off == 0, f"{off} questions have the time of a machine"
        return f"clocks two hours apart, a deadline of 5 s passed after {took:.1f} s: {trial.finish()}"
    finally:
        trial.close()


class Proxy:
    """Between a server and its database, until it is cut: then nothing gets through, and nobody is told."""

    def __init__(self, folder, target):
        folder.mkdir()
        self.target, self.is_cut = str(target), False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / ".s.PGSQL.5432"))
        self.listener.listen(100)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client):
        while self.is_cut:
            time.sleep(0.1)
        with client, socket.socket(socket.AF_UNIX) as server:
            with contextlib.suppress(OSError):
                server.connect(self.target)
                while True:
                    ready, _, _ = select.select([client, server], [], [], 0.5)
                    if self.is_cut:
                        # What comes in the meantime is lost, as is the connection.
                        while self.is_cut:
                            time.sleep(0.1)
                        return
                    for one in ready:
                        data = one.recv(65536)
                        if not data:
                            return
                        (server if one is client else client).sendall(data)


def cut(seconds=60):
    """The network between the servers and their database is cut for a minute."""
    def address(trial):
        trial.proxy = Proxy(trial.folder / "proxy", trial.database.folder / ".s.PGSQL.5432")
        return f"postgres://postgres@/postgres?host={trial.folder}/proxy"
    trial = Trial("cut", address=address)
    try:
        seconds = 25 if SHORT else seconds
        trial.follow()
        trial.work(4, seconds=seconds + 30)
        time.sleep(5)
        trial.proxy.is_cut = True
        time.sleep(seconds)
        trial.proxy.is_cut = False
        return f"cut for {seconds} s: {trial.finish()}"
    finally:
        trial.close()


def crowd(workers=8, count=2000):
    """Eight processes, two thousand questions each, through two servers."""
    trial = Trial("crowd")
    try:
        count = 100 if SHORT else count
        trial.follow()
        began = time.time()
        trial.work(workers, count=count)
        result = trial.finish()
        waits = wake_ups(trial, 100)
        return (f"{workers} processes × {count} questions in {time.time() - began:.0f} s; then, idle, answer to waiter p50 {waits[50]:.0f} ms, "
                f"p99 {waits[98]:.0f} ms: {result}")
    finally:
        trial.close()


def filled(trial, ended, pending):
    """So many questions more, as copies of one that was asked and answered; numbered like any other."""
    ask, ada = Client(trial.ports, trial.tokens[0]), Client(trial.ports, trial.tokens[1])
    _, question = ask.send("POST", "/questions", {"input": QUESTION}, key="sample")
    ada.send("POST", f"/questions/{question['id']}/answer", {"status": "answered", "answers": [{"selectedOptions": ["A"]}]}, key="sample")
    ask.send("GET", "/events?after=0")
    trial.database.sql(f"""
        INSERT INTO askuser.question (id, key, bare_key, request, agent, agent_words, words, credential, state, asked_ms, ending, ended_ms,
            delivered_ms, conversation)
        SELECT substr(md5(i::text), 1, 16), sha256(i::text::bytea), sha256(i::text::bytea), request, agent, agent_words, words, credential,
            CASE WHEN i <= {ended} THEN state ELSE 'pending' END, asked_ms, CASE WHEN i <= {ended} THEN ending END,
            CASE WHEN i <= {ended} THEN ended_ms END, CASE WHEN i <= {ended} THEN ended_ms END, 'copy'
        FROM askuser.question, generate_series(1, {ended + pending}) i;
        INSERT INTO askuser.event (seq, question, state, at_ms)
        SELECT (SELECT last FROM askuser.numbering) + row_number() OVER (ORDER BY n, is_end), n, CASE WHEN is_end THEN state ELSE 'pending' END, asked_ms
        FROM askuser.question, (VALUES (false), (true)) AS kind (is_end) WHERE conversation = 'copy' AND (state <> 'pending' OR NOT is_end);
        UPDATE askuser.numbering SET last = (SELECT max(seq) FROM askuser.event);
        INSERT INTO askuser.waiter (question, id, process) SELECT n, 'w', 'gone' FROM askuser.question WHERE conversation = 'copy' AND state = 'pending'""", timeout=1800)
    for words in ("VACUUM ANALYZE", "CHECKPOINT"):
        trial.database.sql(words, timeout=600)


def large(ended=1_000_000, pending=100_000, rounds=400):
    """Answering in a store with a million questions beside an empty one, in turn: what a store holds must not cost."""
    if SHORT:
        ended, pending = ended // 20, pending // 20
    empty, full = Trial("empty"), Trial("full")
    try:
        filled(full, ended, pending)
        took = {}
        for i in range(rounds):
            for trial in random.sample((empty, full), 2):
                ask, ada = Client(trial.ports, trial.tokens[0]), Client(trial.ports, trial.tokens[1])
                _, question = ask.send("POST", "/questions", {"input": QUESTION}, key=f"round-{i}")
                ada.send("GET", "/me")
                began = time.perf_counter()
                status, _ = ada.send("POST", f"/questions/{question['id']}/answer", {"status": "answered", "answers": [{"selectedOptions": ["A"]}]}, key=f"round-{i}")
                took.setdefault((trial.name, "answer"), []).append((time.perf_counter() - began) * 1000)
                assert status == 200
                began = time.perf_counter()
                ada.send("GET", "/questions?limit=100")
                took.setdefault((trial.name, "page"), []).append((time.perf_counter() - began) * 1000)
        for values in took.values():
            values.sort()
        words = []
        for what in ("answer", "page"):
            (one, two) = (took[name, what] for name in ("empty", "full"))
            words.append(f"{what}: p50 {two[rounds // 2]:.1f} ms beside {one[rounds // 2]:.1f}, p90 {two[rounds * 9 // 10]:.1f} beside {one[rounds * 9 // 10]:.1f}")
        ratio = took["full", "answer"][rounds // 2] / took["empty", "answer"][rounds // 2]
        assert ratio < 2, f"answering takes {ratio:.2f} times as long: {'; '.join(words)}"
        return f"{ended} ended and {pending} pending beside an empty store, {rounds} rounds: {'; '.join(words)}; answering takes {ratio:.2f} times as long"
    finally:
        empty.close()
        full.close()


if __name__ == "__main__":
    failed = 0
    for trial in (stops, terminated, killed, failover, pooler, clock, cut, crowd, large):
        if ONLY and not any(word in trial.__name__ for word in ONLY):
            continue
        try:
            print(f"{trial.__name__}: {trial()}", flush=True)
        except Exception as error:  # The next trial is of interest all the same.
            failed += 1
            print(f"{trial.__name__}: FAILED: {type(error).__name__}: {error}", flush=True)
    sys.exit(failed > 0)
