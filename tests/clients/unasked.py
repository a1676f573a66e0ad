"""After `askuser init claude` no dialog of Claude Code's stands before a question: it is in the inbox at once, in every mode."""

from agents import PROMPT
from scripted_model import Call
from stage import Failed

# The longest way from the model's call to the inbox, in seconds.
SOON = 2


def question(text, header, *labels):
    options = [{"label": label, "description": "-"} for label in labels]
    return {"questions": [{"question": text, "header": header, "multiSelect": False, "options": options}]}


# Of our server, and of its own tool. Without a terminal it has none.
OURS = Call("askuser_+AskUserQuestion", question("Which database?", "Database", "PostgreSQL", "SQLite"))
OWN = Call("AskUserQuestion", question("Which cache?", "Cache", "Memcached", "Redis"))


def answered(run, header, label):
    """The question is in the inbox soon, and the model goes on with the answer. No key is pressed at Claude Code."""
    question = run.stage.pending()
    seconds = question["asked_ms"] / 1000 - run.model.called_at[-1]
    print(f"        {header}: in the inbox {seconds:.1f} s after the model's call", flush=True)
    if question["questions"][0]["header"] != header or seconds > SOON:
        raise Failed(f"{question['questions'][0]['header']} after {seconds:.1f} s")
    run.stage.answer(question, "--select", f"{header}={label}")
    run.hears(label)


def in_mode(scene, mode, shows):
    run = scene.run(OURS, OWN)
    run.stage.set_up("claude")
    run.stage.show("claude", "--permission-mode", mode)
    run.stage.sees(shows)
    run.stage.settles()
    run.stage.keys(PROMPT, "Enter")
    answered(run, "Database", "SQLite")
    answered(run, "Cache", "Redis")
    run.stage.sees("The tool returned")


def unasked_default(scene):
    """In its default mode."""
    in_mode(scene, "default", "manual mode")


def unasked_plan(scene):
    """In plan mode."""
    in_mode(scene, "plan", "plan mode")


def unasked_edits(scene):
    """Where it accepts edits."""
    in_mode(scene, "acceptEdits", "accept edits")


def unasked_headless(scene):
    """Without a terminal, and without `--allowedTools`."""
    run = scene.run(OURS)
    run.stage.set_up("claude")
    process = run.stage.start("claude", "-p", PROMPT)
    answered(run, "Database", "SQLite")
    run.stage.ended(process)


CASES = [unasked_default, unasked_plan, unasked_edits, unasked_headless]
