"""What is tried with each agent: a question of its model reaches a person, and what they say reaches the model."""

import json
import sys
from pathlib import Path

from agents import AGENTS, PROMPT
from scripted_model import Call, ScriptedModel
from stage import Failed, until

QUESTION = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "multiSelect": False,
            "options": [
                {"label": "PostgreSQL (Recommended)", "description": "A server"},
                {"label": "SQLite", "description": "A file"},
            ],
        }
    ]
}
SECOND = ("--select", "Database=SQLite")
# Where the agent has a tool of the same name.
OURS = "askuser_+AskUserQuestion"
HERE = Path(__file__).resolve().parent


class Run:
    """One agent with one model, in a home of its own."""

    def __init__(self, agent, call):
        self.agent = AGENTS[agent]
        self.model = ScriptedModel(call)
        self.stage = self.agent.stage(self.model)

    def close(self, keep):
        self.stage.close(keep)
        self.model.close()

    def hears(self, words):
        """Waits until the model has been told this."""
        until(f"{words!r} at the model", lambda: any(words in result for result in self.model.results))

    def answered_once(self, via):
        """Nothing was asked twice, and the answer that the model has is the one that is kept."""
        self.hears("SQLite")
        delivered = lambda: [asked for asked in self.stage.asked() if asked.get("delivered_ms")]
        asked = until("delivery", delivered)
        kept = [(one["resolution"]["via"], one["resolution"]["answers"][0]["selectedOptions"]) for one in asked]
        if kept != [(via, ["SQLite"])] or len(self.stage.asked()) != 1:
            raise Failed(f"kept {kept} of {len(self.stage.asked())} questions")


def inbox(agent):
    """Set up by `askuser init`, asks without a terminal, and is answered by `askuser answer`."""
    run = Run(agent, Call("AskUserQuestion", QUESTION))
    yield run
    run.stage.set_up(agent)
    process = run.stage.start(*run.agent.headless)
    run.stage.answer(run.stage.pending(), *SECOND)
    run.stage.ended(process)
    run.answered_once("inbox")


def ticket(agent):
    """No person answers in time: the model gets a ticket, redeems it, and has the answer in the end."""
    run = Run(agent, Call("AskUserQuestion", QUESTION))
    yield run
    run.stage.set_up(agent)
    # In a file: some agents hand no variable on to their servers.
    run.stage.file(".config/askuser/askuser.toml", 'mcp_limit = "2s"\n')
    process = run.stage.start(*run.agent.headless)
    run.hears("not answered yet")
    run.stage.answer(run.stage.pending(), *SECOND)
    run.stage.ended(process)
    run.answered_once("inbox")


def dialog(agent):
    """Asks in the agent's own dialog, in a terminal."""
    run = Run(agent, Call(OURS if agent == "claude" else "AskUserQuestion", QUESTION))
    yield run
    run.stage.set_up(agent)
    run.stage.show(*run.agent.terminal)
    run.agent.ready(run.stage)
    run.stage.sees("Which database?")
    run.stage.pending()
    run.stage.keys(*run.agent.choose_second)
    run.answered_once("elicitation")


# Claude Code's own tools

APPROVING = json.dumps({"mcpServers": {"askuser": {"command": "askuser", "args": ["mcp", "--approve"]}}})
WITH_APPROVE = ["--mcp-config", APPROVING, "--permission-prompt-tool", "mcp__askuser__approve"]
# So that there is one tool of that name.
NOT_OURS = ["--disallowedTools", "mcp__askuser__AskUserQuestion"]
BASH = Call("Bash", {"command": "touch made", "description": "Make a file"})


def with_hooks(run, *events):
    """As docs/clients.md has them."""
    hook = {"type": "command", "command": "askuser hook", "timeout": 86400}
    run.stage.file(".claude/settings.json", {"hooks": {event: [{"matcher": "*", "hooks": [hook]}] for event in events}})


def own_question(run, *words):
    process = run.stage.start("claude", "-p", PROMPT, *words)
    run.stage.answer(run.stage.pending(), *SECOND)
    run.stage.ended(process)
    run.hears('"Which database?"="SQLite"')
    if len(run.stage.asked()) != 1:
        raise Failed("asked twice")


def approve_question(agent):
    """`--permission-prompt-tool` answers its own question tool."""
    run = Run(agent, Call("AskUserQuestion", QUESTION))
    yield run
    own_question(run, *WITH_APPROVE, *NOT_OURS)


def permission(run, label, *words):
    """Runs the command exactly if a person allows it."""
    process = run.stage.start("claude", "-p", PROMPT, "--permission-mode", "default", *WITH_APPROVE, *words)
    question = run.stage.pending()
    if question["context"] != {"kind": "command", "text": "touch made"}:
        raise Failed(f"shows {question['context']}")
    run.stage.answer(question, "--select", f"Bash={label}")
    run.stage.ended(process)
    until("result", lambda: run.model.results)
    if (run.stage.project / "made").exists() != (label == "Allow once"):
        raise Failed(f"{label}, and the command did the opposite")


def approve_allow(agent):
    """`--permission-prompt-tool` lets a command run that a person allows."""
    run = Run(agent, BASH)
    yield run
    permission(run, "Allow once")


def approve_deny(agent):
    """`--permission-prompt-tool` stops one that they deny."""
    run = Run(agent, BASH)
    yield run
    permission(run, "Don't run it")


def hook_before_tool(agent):
    """`PreToolUse`: its own question tool is answered from the inbox, without a terminal."""
    run = Run(agent, Call("AskUserQuestion", QUESTION))
    yield run
    with_hooks(run, "PreToolUse")
    own_question(run, *WITH_APPROVE, *NOT_OURS)


def hook_elicitation(agent):
    """`Elicitation`: a form of another server is answered from the inbox, without a terminal."""
    run = Run(agent, Call("order", {}))
    yield run
    with_hooks(run, "Elicitation")
    server = {"command": sys.executable, "args": [str(HERE / "server_with_form.py")]}
    config = json.dumps({"mcpServers": {"shop": server}})
    process = run.stage.start("claude", "-p", PROMPT, "--mcp-config", config, "--allowedTools", "mcp__shop__order")
    run.stage.answer(run.stage.pending(), "--select", "Size=Large")
    run.stage.ended(process)
    run.hears("ordered: l")


def in_terminal(run, shows):
    with_hooks(run, "PermissionRequest", "PostToolUse")
    run.stage.show("claude", "--permission-mode", "default")
    run.stage.sees("manual mode")
    run.stage.settles()
    run.stage.keys(PROMPT, "Enter")
    run.stage.sees(shows)
    return run.stage.pending()


def hook_permission(agent):
    """`PermissionRequest`: the inbox answers what Claude Code shows in its dialog."""
    run = Run(agent, BASH)
    yield run
    question = in_terminal(run, "Do you want to proceed?")
    run.stage.answer(question, "--select", "Bash=Allow once")
    until("result", lambda: run.model.results)
    if not (run.stage.project / "made").exists():
        raise Failed("it was allowed and did not run")


def hook_picker(agent):
    """`PermissionRequest`: the inbox answers what Claude Code shows in its picker."""
    run = Run(agent, Call("AskUserQuestion", QUESTION))
    yield run
    run.stage.answer(in_terminal(run, "Which database?"), *SECOND)
    run.hears('"Which database?"="SQLite"')


def withdrawn(run):
    """A person who opens the inbox is not asked what was decided elsewhere."""
    until("empty inbox", lambda: not run.stage.questions("inbox", "--json"))
    ends = [asked["state"] for asked in run.stage.asked()]
    if ends != ["withdrawn"]:
        raise Failed(f"the question ended as {ends}")


def dialog_first(agent):
    """Decided in Claude Code's dialog: the question leaves the inbox."""
    run = Run(agent, BASH)
    yield run
    in_terminal(run, "Do you want to proceed?")
    run.stage.keys("Enter")
    until("result", lambda: run.model.results)
    withdrawn(run)


def dialog_refused(agent):
    """Refused in Claude Code's dialog: the question leaves the inbox."""
    run = Run(agent, BASH)
    yield run
    in_terminal(run, "Do you want to proceed?")
    run.stage.keys("Escape")
    withdrawn(run)
    if (run.stage.project / "made").exists():
        raise Failed("it was refused and ran")


def picker_first(agent):
    """Answered in Claude Code's picker: the question leaves the inbox."""
    run = Run(agent, Call("AskUserQuestion", QUESTION))
    yield run
    in_terminal(run, "Which database?")
    run.stage.keys("Down", "Enter")
    run.hears('"Which database?"="SQLite"')
    withdrawn(run)


CLAUDE = [
    approve_question, approve_allow, approve_deny, hook_before_tool, hook_elicitation, hook_permission, hook_picker,
    dialog_first, dialog_refused, picker_first,
]


def of(agent):
    """What is tried with an agent."""
    dialogs = [dialog] if AGENTS[agent].terminal else []
    return [inbox, ticket, *dialogs, *(CLAUDE if agent == "claude" else [])]
