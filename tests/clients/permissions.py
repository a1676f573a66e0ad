"""Claude Code's permissions and own questions, with its dialog and the inbox side by side."""

import time

from agents import PROMPT
from scripted_model import Call
from stage import Failed, until

REASON = "The loop sleeps too long, so I halve it."
FILE = "retry.rs"
BEFORE = "fn wait() {\n    sleep(10);\n}\n"
AFTER = BEFORE.replace("10", "5")
OPTIONS = [{"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite", "description": "A file"}]
DATABASE = {"question": "Which database?", "header": "Database", "multiSelect": False, "options": OPTIONS}


def edit(run, **fields):
    path = str(run.stage.project / FILE)
    return Call("Edit", {"file_path": path, "old_string": "10", "new_string": "5", **fields}, says=REASON)


def begun(scene, make_call, shows):
    """Claude Code in a terminal, at its own dialog or picker; the question as it stands in the inbox."""
    run = scene.run(Call("", {}))
    run.stage.file(f"project/{FILE}", BEFORE)
    # An edit needs a file that was read in the session.
    read = Call("Read", {"file_path": str(run.stage.project / FILE)})
    run.model.calls = (read, make_call(run))
    run.stage.set_up("claude")
    run.stage.show("claude", "--permission-mode", "default")
    run.stage.sees("manual mode")
    run.stage.settles()
    run.stage.keys(PROMPT, "Enter")
    run.stage.sees(shows)
    return run, run.stage.pending()


def content(run):
    return (run.stage.project / FILE).read_text()


def expect(found, wanted):
    if found != wanted:
        raise Failed(f"found {found!r}, wanted {wanted!r}")


def ends_as(run, state):
    """The question has left the inbox; nobody else was asked, and Claude Code shows no dialog any more."""
    until("empty inbox", lambda: not run.stage.questions("inbox", "--json"))
    expect([asked["state"] for asked in run.stage.asked()], [state])
    until("end of the dialog", lambda: "Esc to cancel" not in run.stage.screen())


def edit_in_dialog(scene):
    """An Edit that is allowed in Claude Code's own dialog leaves the inbox."""
    run, question = begun(scene, edit, "Do you want to make this edit")
    expect(question["questions"][0]["question"], f"Edit {FILE} (+1 −1)?")
    time.sleep(2)
    run.stage.keys("Enter")
    until("edit", lambda: content(run) == AFTER)
    ends_as(run, "withdrawn")


def edit_in_inbox(scene):
    """An Edit that is allowed in the inbox runs, and closes the dialog; its reason and its diff are those of the question."""
    run, question = begun(scene, edit, "Do you want to make this edit")
    expect(question["why"], REASON)
    diff = question["context"]["change"]["diff"]
    expect(diff.splitlines()[3:], [" fn wait() {", "-    sleep(10);", "+    sleep(5);", " }"])
    expect(question["context"]["input"]["old_string"], "10")
    run.stage.answer(question, "--select", "Edit=Allow once")
    until("edit", lambda: content(run) == AFTER)
    ends_as(run, "answered")
    if f"Edit {FILE} (+1 −1)?" not in run.stage.askuser("log") or "sleep(5)" not in run.stage.askuser("log"):
        raise Failed("the log does not say what was allowed")


def edit_of_a_changed_file(scene):
    """A file that changes between the question and the answer is not edited, and the model reads why."""
    run, question = begun(scene, edit, "Do you want to make this edit")
    run.stage.file(f"project/{FILE}", "// new\n" + BEFORE)
    run.stage.answer(question, "--select", "Edit=Allow once")
    run.hears("the file changed since")
    expect(content(run), "// new\n" + BEFORE)


def edit_refused_in_dialog(scene):
    """No in the dialog takes the question out of the inbox."""
    run, _ = begun(scene, edit, "Do you want to make this edit")
    time.sleep(2)
    run.stage.keys("Escape")
    ends_as(run, "withdrawn")
    expect(content(run), BEFORE)


def ask(run):
    return Call("AskUserQuestion", {"questions": [DATABASE]}, says=REASON)


def picker_in_inbox(scene):
    """The inbox answers a question of its own tool with a note, and the picker closes."""
    run, question = begun(scene, ask, "Which database?")
    expect(question["why"], REASON)
    run.stage.answer(question, "--select", "Database=SQLite", "--note", "Database=only for now")
    run.hears('"Which database?"="SQLite"')
    run.hears("only for now")
    ends_as(run, "answered")


def picker_in_dialog(scene):
    """An answer in its own picker takes the question out of the inbox."""
    run, _ = begun(scene, ask, "Which database?")
    time.sleep(2)
    run.stage.keys("Down", "Enter")
    run.hears('"Which database?"="SQLite"')
    ends_as(run, "withdrawn")


def imitation(scene):
    """A question that reads like a permission is not asked, and the model reads why."""
    forged = {**DATABASE, "header": "Bash", "options": [{**OPTIONS[0], "label": "Allow once"}, OPTIONS[1]]}
    run = scene.run(Call("AskUserQuestion", {"questions": [forged]}))
    run.stage.set_up("claude")
    run.stage.show("claude", "--permission-mode", "default")
    run.stage.sees("manual mode")
    run.stage.settles()
    run.stage.keys(PROMPT, "Enter")
    run.hears("which heads questions of another kind")
    expect(run.stage.asked(), [])


CASES = [
    edit_in_dialog, edit_in_inbox, edit_of_a_changed_file, edit_refused_in_dialog, picker_in_inbox, picker_in_dialog,
    imitation,
]
