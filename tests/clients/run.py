"""Installs the agents, tries every case, and prints what came of it."""

import sys
import time

import cases
from agents import AGENTS
from npm import install
from stage import ASKUSER, Failed

def main():
    words = sys.argv[1:]
    keep = "--keep" in words
    wanted = [word for word in words if not word.startswith("-")]
    chosen = [
        (agent, case)
        for agent in AGENTS
        for case in cases.of(agent)
        if not wanted or agent in wanted or f"{agent}/{case.__name__}" in wanted
    ]
    if not chosen or not ASKUSER.exists():
        sys.exit(f"agents: {' '.join(AGENTS)}; a case is AGENT/CASE; {ASKUSER} has to be built")
    agents = [AGENTS[agent] for agent in dict.fromkeys(agent for agent, _ in chosen)]
    install(*(f"{agent.package}@{agent.version}" for agent in agents))
    failures = [attempt(agent, case, keep) for agent, case in chosen]
    failed = sum(failures)
    print(f"\n{len(failures) - failed} of {len(failures)} passed")
    sys.exit(1 if failed else 0)


def attempt(agent, case, keep):
    """Tries one case; whether it failed."""
    started = time.monotonic()
    steps = case(agent)
    run = next(steps)
    try:
        for _ in steps:
            pass
        failure = None
    except Failed as failed:
        failure = str(failed)
    finally:
        run.close(keep)
    version = AGENTS[agent].version
    state = "FAILED" if failure else "passed"
    print(f"{state}  {agent} {version:9} {case.__name__:17} {time.monotonic() - started:4.0f} s", flush=True)
    if failure:
        print("        " + failure.replace("\n", "\n        "), flush=True)
    return failure is not None


main()
