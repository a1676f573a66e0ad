"""What is tried with each agent: a question of its model reaches a person, and what they say reaches the model."""

import json
import re
import sys
import time
from pathlib import Path

import permissions
import unasked
from agents import AGENTS, PROMPT
from scripted_model import Call, ScriptedModel
from stage import ASKUSER, PATIENCE, Failed, until


def question(text):
    options = [
        {"label": "PostgreSQL (Recommended)", "description": "A server"},
        {"label": "SQLite", "description": "A file"},
    ]
    return {"questions": [{"question": text, "header": "Database", "multiSelect": False, "options": options}]}


QUESTION = question("Which database?")
SECOND = ("--select", "Database=SQLite")
ASK = Call("AskUserQuestion", QUESTION)
# Where the agent has a tool of the same name.
ASK_OURS = Call("askuser_+AskUserQuestion", QUESTION)
HERE = Path(__file__).resolve().parent


def inbox(scene):
    """Asks without a terminal, and is answered by `askuser answer`."""
    run = scene.run(ASK)
    run.set_up()
    answered_in_the_inbox(run)
    # At the very beginning: agents cut descriptions off, and have question tools of their own beside it.
    if '"description": "To keep working while the user decides, call this tool with' not in json.dumps(run.model.seen):
        raise Failed("the model does not read when to take which question tool")


def unanswered(scene):
    """Declined, to be talked about, or never answered: the model reads that it must not assume an answer, whatever its agent shows it of
    a result."""
    ends = [("The user declined to answer.", "--decline"), ("wants to talk about this", "--discuss", "why now?"), ("The time ran out",)]
    run = scene.run(*(Call("AskUserQuestion", question(f"Which database for {i}?")) for i, _ in enumerate(ends)))
    run.inbox.add(".config/askuser/askuser.toml", 'timeout = "8s"\n')
    run.set_up()
    process = run.start()
    for words, *end in ends:
        if end:
            run.inbox.answer(run.inbox.pending(), *end)
        run.hears(words)
    run.stage.ended(process)
    assumed = [result for result in run.model.results if "Do not assume an answer." not in result]
    if assumed or len(run.model.results) != len(ends):
        raise Failed(f"{len(run.model.results)} results, and without that: {assumed}")


def answered_in_the_inbox(run):
    process = run.start()
    run.inbox.answer(run.inbox.pending(), *SECOND)
    run.stage.ended(process)
    run.answered_once("inbox")


def project_file(scene):
    """Set up for the project alone."""
    run = scene.run(ASK)
    of_the_user = run.stage.files_of_the_user()
    run.stage.set_up(scene.name, "--project")
    if run.stage.files_of_the_user() != of_the_user:
        raise Failed("files of the user have changed, too")
    run.agent.project(run.stage)
    answered_in_the_inbox(run)


def ticket(scene):
    """No person answers in time: the model gets a ticket, redeems it, and has the answer in the end."""
    run = scene.run(ASK)
    # In a file: some agents hand no variable on to their servers.
    run.inbox.file(".config/askuser/askuser.toml", 'mcp_limit = "2s"\n')
    run.set_up()
    process = run.start()
    run.hears("not answered yet")
    run.hears("run `askuser inbox` in a terminal")
    run.hears("Do not assume an answer")
    run.inbox.answer(run.inbox.pending(), *SECOND)
    run.stage.ended(process)
    run.answered_once("inbox")


def limit(scene):
    """Not answered for as long as docs/mcp.md says: the model has a ticket before the agent gives up."""
    run = scene.run(ASK)
    run.set_up()
    process = run.start()
    question = run.inbox.pending()
    until("result", lambda: run.model.results, patience=HALF_AN_HOUR + PATIENCE)
    run.hears("not answered yet", never="imed out")
    run.inbox.answer(question, *SECOND)
    run.stage.ended(process)
    run.answered_once("inbox")


def killed(scene):
    """Killed while it waits, it has the answer that was given meanwhile when it asks the same again."""
    run = scene.run(ASK)
    waits_for_long(run)
    run.set_up()
    run.start()
    question = run.inbox.pending()
    if not question["asker"]["waits"]:
        raise Failed("the inbox does not say that it waits")
    run.stage.kill(spare=[ASKUSER])
    until("word in the inbox that it is gone", lambda: not run.inbox.pending()["asker"]["waits"])
    run.inbox.answer(question, *SECOND)
    run.stage.ended(run.start())
    run.answered_once("inbox")


def waits_for_long(run):
    """That an agent is gone is noticed, and not only that its call has come to an end."""
    run.inbox.add(".config/askuser/askuser.toml", 'mcp_limit = "10m"\n')


def two_projects(scene):
    """Two that ask the same at once are asked for, and answered, each for itself."""
    runs = []
    for label, other in [("PostgreSQL", "SQLite"), ("SQLite", "PostgreSQL")]:
        known = {question["id"] for _, question, *_ in runs}
        run = scene.run(ASK)
        run.set_up(names_project=False)
        process = run.start()
        new = lambda: [one for one in run.inbox.questions("inbox", "--json") if one["id"] not in known]
        runs.append((run, until("question of its own", new)[0], process, label, other))
    # The later first: what comes to the wrong one would come before the right one does.
    for run, question, process, label, _ in reversed(runs):
        run.inbox.answer(question, "--select", f"Database={label}")
        run.stage.ended(process)
    for run, _, _, label, other in runs:
        run.hears(label, never=other)


def other_project(scene):
    """What was answered for one that was killed meanwhile is not the answer for another that asks the same."""
    killed = scene.run(ASK)
    waits_for_long(killed)
    killed.set_up(names_project=False)
    killed.start()
    question = killed.inbox.pending()
    killed.stage.kill(spare=[ASKUSER])
    until("word in the inbox that it is gone", lambda: not killed.inbox.pending()["asker"]["waits"])
    killed.inbox.answer(question, *SECOND)
    run = scene.run(ASK)
    run.set_up(names_project=False)
    process = run.start()
    run.inbox.answer(run.inbox.pending(), "--select", "Database=PostgreSQL (Recommended)")
    run.stage.ended(process)
    run.hears("PostgreSQL", never="SQLite")


def dialog(scene):
    """Asks in the agent's own dialog, in a terminal."""
    run = scene.run(ASK_OURS if scene.name == "claude" else ASK)
    run.set_up()
    run.show()
    run.stage.keys(*run.agent.choose_second)
    run.answered_once("elicitation")


def inbox_first(scene):
    """Answered in the inbox while its dialog is open, it closes that and goes on."""
    run = scene.run(ASK_OURS if scene.name == "claude" else ASK)
    run.set_up()
    run.inbox.answer(run.show(), *SECOND)
    run.answered_once("inbox")
    run.stage.sees("The tool returned")
    until("end of the dialog", lambda: "PostgreSQL" not in run.stage.screen())


def form_refused(scene):
    """Refused in its dialog: that is the person's word, and the model reads that it must not assume an answer."""
    run = scene.run(ASK_OURS if scene.name == "claude" else ASK)
    run.set_up()
    run.show()
    # What is refused within half a second no person has refused.
    time.sleep(1)
    run.stage.keys(*run.agent.refuse)
    run.hears("Do not assume an answer.")
    ends = [one.get("resolution") or one["settled"]["reported"] for one in run.inbox.asked() if "ended_ms" in one]
    ends = [(end["status"], end["via"]) for end in ends]
    if ends not in ([("declined", "elicitation")], [("cancelled", "elicitation")]):
        raise Failed(f"it ended as {ends}")


def dialogs_other(scene):
    """What is typed under an Other of its dialog's own is the answer, in words."""
    run = scene.run(ASK)
    run.set_up()
    run.show()
    run.stage.keys(*run.agent.type_other)
    run.hears("Other: DuckDB")
    run.answered_once("elicitation", "DuckDB")


def progress(scene):
    """Its user reads in its terminal where to answer."""
    run = scene.run(ASK_OURS if scene.name == "claude" else ASK)
    run.set_up()
    run.stage.show(*run.agent.terminal)
    run.agent.ready(run.stage)
    run.stage.sees("A question waits for your answer: run `askuser inbox`")


def gave_up(scene):
    """Told to give up soon, it does so without a word: what is answered then it has when it asks the same again."""
    run = scene.run(Call("AskUserQuestion", QUESTION, again="timed out after"))
    run.set_up()
    run.agent.lower_limit(run.stage)
    process = run.start()
    question = run.inbox.pending()
    run.hears("timed out after")
    run.inbox.answer(question, *SECOND)
    if scene.transport == "stdio":
        until("reply that it does not read", lambda: run.inbox.asked()[0].get("delivered_ms"))
    run.model.may_ask_again.set()
    run.stage.ended(process)
    run.answered_once("inbox")


# Claude Code's own tools

APPROVING = json.dumps({"mcpServers": {"askuser": {"command": "askuser", "args": ["mcp", "--approve"]}}})
WITH_APPROVE = ["--mcp-config", APPROVING, "--permission-prompt-tool", "mcp__askuser__approve"]
SHOP = json.dumps({
    "mcpServers": {"shop": {"command": sys.executable, "args": [str(HERE / "server_with_form.py")]}}
})
# So that there is one tool of that name.
NOT_OURS = ["--disallowedTools", "mcp__askuser__AskUserQuestion"]
BASH = Call("Bash", {"command": "touch made", "description": "Make a file"})


def own_question(run, *words):
    process = run.stage.start("claude", "-p", PROMPT, *words)
    run.stage.answer(run.stage.pending(), *SECOND)
    run.stage.ended(process)
    run.hears('"Which database?"="SQLite"')
    if len(run.stage.asked()) != 1:
        raise Failed("asked twice")


def approve_question(scene):
    """`--permission-prompt-tool` answers its own question tool."""
    run = scene.run(ASK)
    own_question(run, *WITH_APPROVE, *NOT_OURS)


def permission(run, label, *words):
    """Runs the command exactly if a person allows it."""
    process = run.stage.start("claude", "-p", PROMPT, "--permission-mode", "default", *WITH_APPROVE, *words)
    question = run.stage.pending()
    shown = question["context"]
    if shown["tool"] != "Bash" or shown["input"] != BASH.input:
        raise Failed(f"shows {shown}")
    run.stage.answer(question, "--select", f"Bash={label}")
    run.stage.ended(process)
    until("result", lambda: run.model.results)
    if (run.stage.project / "made").exists() != (label == "Allow once"):
        raise Failed(f"{label}, and the command did the opposite")


def approve_allow(scene):
    """`--permission-prompt-tool` lets a command run that a person allows."""
    run = scene.run(BASH)
    permission(run, "Allow once")


def approve_deny(scene):
    """`--permission-prompt-tool` stops one that they deny."""
    run = scene.run(BASH)
    permission(run, "Don't run it")
    run.hears("The user did not allow this.")


def hook_before_tool(scene):
    """`PreToolUse`: its own question tool is answered from the inbox, without a terminal."""
    run = scene.run(ASK)
    run.stage.set_up("claude")
    # Its question tool is there only with such a tool. This one answers nothing.
    own_question(run, "--mcp-config", SHOP, "--permission-prompt-tool", "mcp__shop__refuse", *NOT_OURS)


def hook_elicitation(scene):
    """`Elicitation`: a form of another server is answered from the inbox, without a terminal."""
    run = scene.run(Call("order", {}))
    run.stage.set_up("claude")
    process = run.stage.start("claude", "-p", PROMPT, "--mcp-config", SHOP, "--allowedTools", "mcp__shop__order")
    run.stage.answer(run.stage.pending(), "--select", "Size=Large")
    run.stage.ended(process)
    run.hears("ordered: l")


def hook_elicitation_words(scene):
    """`Elicitation`: a note goes into the form's field for words, and the question names the server."""
    run = scene.run(Call("wish", {}))
    run.stage.set_up("claude")
    process = run.stage.start("claude", "-p", PROMPT, "--mcp-config", SHOP, "--allowedTools", "mcp__shop__wish")
    question = run.stage.pending()
    if "shop" not in run.stage.askuser("inbox"):
        raise Failed("the list does not name the server")
    run.stage.answer(question, "--select", "Size=Large", "--note", "Size=as a gift")
    run.stage.ended(process)
    run.hears("ordered: l, as a gift")


def in_terminal(run, shows):
    run.stage.set_up("claude")
    run.stage.show("claude", "--permission-mode", "default")
    run.stage.sees("manual mode")
    run.stage.settles()
    run.stage.keys(PROMPT, "Enter")
    run.stage.sees(shows)
    return run.stage.pending()


def hook_permission(scene):
    """`PermissionRequest`: the inbox answers what Claude Code shows in its dialog."""
    run = scene.run(BASH)
    question = in_terminal(run, "Do you want to proceed?")
    run.stage.answer(question, "--select", "Bash=Allow once")
    until("result", lambda: run.model.results)
    if not (run.stage.project / "made").exists():
        raise Failed("it was allowed and did not run")


def hook_picker(scene):
    """`PermissionRequest`: the inbox answers what Claude Code shows in its picker."""
    run = scene.run(ASK)
    run.stage.answer(in_terminal(run, "Which database?"), *SECOND)
    run.hears('"Which database?"="SQLite"')


def decides(run, *keys):
    """In Claude Code's dialog, with the question in the inbox until then."""
    time.sleep(3)
    if not run.stage.pending()["asker"]["waits"]:
        raise Failed("the hook has not waited for a decision")
    run.stage.keys(*keys)


def withdrawn(run):
    """A person who opens the inbox is not asked what was decided elsewhere."""
    until("empty inbox", lambda: not run.stage.questions("inbox", "--json"))
    ends = [asked["state"] for asked in run.stage.asked()]
    if ends != ["withdrawn"]:
        raise Failed(f"the question ended as {ends}")


def dialog_first(scene):
    """Decided in Claude Code's dialog: the question leaves the inbox."""
    run = scene.run(BASH)
    in_terminal(run, "Do you want to proceed?")
    decides(run, "Enter")
    until("result", lambda: run.model.results)
    withdrawn(run)


def dialog_refused(scene):
    """Refused in Claude Code's dialog: the question leaves the inbox."""
    run = scene.run(BASH)
    in_terminal(run, "Do you want to proceed?")
    decides(run, "Escape")
    run.stage.sees("Interrupted")
    withdrawn(run)
    if (run.stage.project / "made").exists():
        raise Failed("it was refused and ran")


def picker_first(scene):
    """Answered in Claude Code's picker: the question leaves the inbox."""
    run = scene.run(ASK)
    in_terminal(run, "Which database?")
    decides(run, "Down", "Enter")
    run.hears('"Which database?"="SQLite"')
    withdrawn(run)


CLAUDE = [
    approve_question, approve_allow, approve_deny, hook_before_tool, hook_elicitation, hook_permission, hook_picker,
    dialog_first, dialog_refused, picker_first, hook_elicitation_words, *permissions.CASES, *unasked.CASES,
]


# Codex

FEATURES = [{"label": label, "description": "-"} for label in ["Search", "Export", "Import"]]
SEVERAL = Call("AskUserQuestion", {
    "questions": [{"question": "Which features?", "header": "Features", "multiSelect": True, "options": FEATURES}]
})
CHOSEN = ("--select", "Features=Search", "--select", "Features=Export")


def several(scene):
    """Asked what its form cannot show, in a terminal: the form says where to answer. The question as it stands in the inbox."""
    run = scene.run(SEVERAL)
    run.set_up()
    run.stage.show(*run.agent.terminal)
    run.agent.ready(run.stage)
    question = run.stage.pending()
    run.stage.sees("Answer in the inbox")
    run.stage.sees(question["id"])
    return run, question


def several_in_the_inbox(scene):
    """To choose the inbox leaves the question open, and the call waits for its answer."""
    run, question = several(scene)
    time.sleep(1)
    run.stage.keys("Enter")
    until("end of the form", lambda: "Answer in the inbox" not in run.stage.screen())
    if not run.stage.pending()["asker"]["waits"]:
        raise Failed("the call does not wait")
    run.stage.answer(question, *CHOSEN)
    run.hears('"Export"')


def several_declined(scene):
    """To decline there ends the question."""
    run, _ = several(scene)
    time.sleep(1)
    run.stage.keys("Down", "Enter")
    run.hears("The user declined to answer.")


def several_elsewhere(scene):
    """Answered in the inbox, the form closes."""
    run, question = several(scene)
    run.stage.answer(question, *CHOSEN)
    run.hears('"Export"')
    until("end of the form", lambda: "Answer in the inbox" not in run.stage.screen())


# Asking and working on

IN_BACKGROUND = Call("askuser_+AskUserQuestion", {**QUESTION, "background": True})
NOTICE = re.compile(r"uestion ([0-9a-f]{12}) was answered")


class Working(ScriptedModel):
    """A model that asks in the background, works on, and fetches the answer once it is told of one."""

    def next(self, turn):
        ask = turn.find(self.calls[0].tool) or turn.find("AskUserQuestion")
        if ask is None:
            return "A title"
        with self.lock:
            self.results = turn.results or self.results
        told = NOTICE.findall(json.dumps(self.seen[-1][1]))
        if not turn.results:
            return ask, self.calls[0].input, None
        if told and "SQLite" not in turn.results[-1]:
            return turn.find("AskUserQuestionResult"), {"ticket": told[-1]}, None
        return "I work on." if len(turn.results) == 1 else f"The tool returned: {turn.results[-1]}"


def works_on(scene):
    """Asks in the background, in a terminal, and works on; the question as it stands in the inbox."""
    run = scene.run(IN_BACKGROUND, model=Working)
    run.set_up()
    run.stage.show(*run.agent.terminal)
    run.agent.ready(run.stage)
    run.stage.sees("I work on.")
    question = run.inbox.pending()
    return run, question


def background(scene):
    """Asks in the background and works on; the answer wakes its idle session, and the model fetches it."""
    run, question = works_on(scene)
    if question["asker"]["waits"] or not question["background"]:
        raise Failed(f"the inbox does not say that it works on: {question['asker']}")
    answered = time.monotonic()
    run.inbox.answer(question, *SECOND)
    run.hears("SQLite", never="PostgreSQL")
    print(f"        the answer is in the model's next request after {time.monotonic() - answered:.1f} s")
    run.answered_once("inbox")


def background_resumed(scene):
    """Ended before the answer came: resumed, it is told at once, and the model fetches the answer."""
    run, question = works_on(scene)
    run.stage.kill()
    run.inbox.answer(question, *SECOND)
    run.stage.ended(run.stage.start(*RESUMES[scene.name]))
    run.hears("SQLite", never="PostgreSQL")
    run.answered_once("inbox")


RESUMES = {
    "claude": ["claude", "-p", "--continue", PROMPT],
    "codex": ["codex", "exec", "--skip-git-repo-check", "resume", "--last", PROMPT],
}


def background_headless(scene):
    """Without a terminal its turn is not held up; it fetches the answer before it finishes."""
    run = scene.run(IN_BACKGROUND, model=Working)
    run.set_up()
    process = run.start()
    run.hears("Call AskUserQuestionResult with this ticket before you finish.")
    run.stage.ended(process)
    if run.inbox.pending()["state"] != "pending":
        raise Failed("the question does not wait")


OF_ONE = {
    "claude": [*CLAUDE, background, background_resumed, background_headless],
    "codex": [several_in_the_inbox, several_declined, several_elsewhere, background, background_resumed, background_headless],
}


# All of them have an address as well as a command, and are tried over both.
TRANSPORTS = ["stdio", "http"]
HALF_AN_HOUR = 30 * 60
# Tried only where it is named.
LONG = [limit]
EVERYWHERE = [inbox, unanswered, ticket, killed, two_projects, other_project, *LONG]


def of(agent):
    """What is tried with an agent, and over what."""
    dialogs = [dialog, inbox_first, form_refused] if AGENTS[agent].choose_second else []
    some = {dialogs_other: "type_other", progress: "shows_progress", gave_up: "lower_limit"}
    some = [case for case, wanted in some.items() if getattr(AGENTS[agent], wanted)]
    both = [(case, over) for over in TRANSPORTS for case in [*EVERYWHERE, *dialogs, *some]]
    projects = [(project_file, "stdio")] if AGENTS[agent].project else []
    own = [(case, "stdio") for case in OF_ONE.get(agent, [])]
    return [*both, *projects, *own]
