"""Installs the agents, tries every case, and prints what came of it."""

import signal
import sys
import time

import cases
from agents import AGENTS
from npm import install
from scene import Scene
from stage import ASKUSER, Failed


def main():
    # So that agents are ended with it, as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    words = sys.argv[1:]
    keep = "--keep" in words
    wanted = [word for word in words if not word.startswith("-")]
    chosen = [
        (agent, case, transport)
        for agent in AGENTS
        for case, transport in cases.of(agent)
        if (case not in cases.LONG and not wanted)
        or any(is_named(word, case, agent, case.__name__, transport) for word in wanted)
    ]
    if not chosen or not ASKUSER.exists():
        sys.exit(f"agents: {' '.join(AGENTS)}; one case: codex/killed/http; {ASKUSER} has to be built")
    agents = [AGENTS[agent] for agent in dict.fromkeys(agent for agent, *_ in chosen)]
    install(*(f"{agent.package}@{agent.version}" for agent in agents))
    failures = [attempt(*one, keep) for one in chosen]
    failed = sum(failures)
    print(f"\n{len(failures) - failed} of {len(failures)} passed")
    sys.exit(1 if failed else 0)


def is_named(word, case, *names):
    """Whether the parts of a word are among the names of a case: its agent, what is tried, the transport. A long one needs its own."""
    parts = set(word.split("/"))
    return parts <= set(names) and (case not in cases.LONG or case.__name__ in parts)


def attempt(agent, case, transport, keep):
    """Tries one case; whether it failed."""
    started = time.monotonic()
    scene = Scene(agent, transport)
    try:
        case(scene)
        failure = None
    except Failed as failed:
        failure = str(failed)
    finally:
        scene.close(keep)
    version = AGENTS[agent].version
    state = "FAILED" if failure else "passed"
    seconds = time.monotonic() - started
    print(f"{state}  {agent:8} {version:8} {transport:5} {case.__name__:16} {seconds:4.0f} s", flush=True)
    if failure:
        print("        " + failure.replace("\n", "\n        "), flush=True)
    return failure is not None


main()
