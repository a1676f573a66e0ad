"""The stage of the README's first picture: a released Claude Code asks in the upper pane, `askuser inbox` waits in the lower one.

Run by `cargo run -p askuser-cli --example record hero`, with the rows of the lower pane as its argument. A scripted model on loopback answers
Claude Code. Its last words follow from the option that the person chose.
"""

import signal
import subprocess
import sys

from agents import AGENTS
from npm import install
from scripted_model import Call, ScriptedModel

QUESTION = {
    "question": "Which database should the shop use?",
    "header": "Database",
    "multiSelect": False,
    "options": [
        {"label": "PostgreSQL", "description": "A server with rich features"},
        {"label": "SQLite", "description": "One file, nothing to run"},
    ],
}
TMUX = """\
set -g default-terminal tmux-256color
set -ga terminal-overrides ,*:Tc
set -g status off
set -g escape-time 0
set -g pane-border-style fg=colour240
set -g pane-active-border-style fg=colour240
"""


class Model(ScriptedModel):
    def next(self, turn):
        said = super().next(turn)
        last = turn.results[-1] if turn.results else ""
        chosen = [option["label"] for option in QUESTION["options"] if option["label"] in last]
        return f"{chosen[0]} it is. I create the schema." if len(chosen) == 1 and isinstance(said, str) else said


def main():
    claude = AGENTS["claude"]
    install(f"{claude.package}@{claude.version}")
    model = Model(Call("askuser__AskUserQuestion", {"questions": [QUESTION]}))
    scene = claude.stage(model)
    # The recorder is gone: what was started ends, too.
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(1))
    try:
        # The folder's name is in the picture.
        project = scene.home / "shop"
        settings = scene.home / ".claude.json"
        settings.write_text(settings.read_text().replace(str(scene.project), str(project)))
        scene.project = scene.project.rename(project)
        scene.set_up("claude")
        config = scene.file("tmux.conf", TMUX)
        env = {**scene.env, "TMUX_TMPDIR": str(scene.home), "COLORTERM": "truecolor", "COLORFGBG": "15;0"}
        words = ["tmux", "-f", str(config), "new-session", "-c", str(project), *claude.terminal, ";"]
        words += ["split-window", "-v", "-l", sys.argv[1], "-c", str(project), "askuser inbox", ";", "select-pane", "-U"]
        subprocess.run(words, env=env, cwd=project)
    finally:
        subprocess.run(["tmux", "kill-server"], env={**scene.env, "TMUX_TMPDIR": str(scene.home)}, capture_output=True)
        model.close()
        scene.close(keep=False)


if __name__ == "__main__":
    main()
