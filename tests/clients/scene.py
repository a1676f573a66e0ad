"""One case: agents of one kind, the model behind each, and the inbox that they ask in."""

from agents import AGENTS
from scripted_model import ScriptedModel
from stage import Failed, Stage, until


class Scene:
    def __init__(self, name, transport):
        self.name, self.agent, self.transport = name, AGENTS[name], transport
        # Over HTTP the inbox is that of the user who runs the server, which is started once its settings are there.
        self.server = Stage("server") if transport == "http" else None
        self.address = None
        self.runs = []

    def run(self, *calls, model=ScriptedModel):
        """An agent in a project and a home of its own, whose model makes these calls one after the other."""
        self.runs.append(Run(self, model(*calls)))
        return self.runs[-1]

    def close(self, keep):
        for run in self.runs:
            run.stage.close(keep)
            run.model.close()
        if self.server:
            self.server.close(keep)


class Run:
    def __init__(self, scene, model):
        self.scene, self.agent = scene, scene.agent
        self.model = model
        self.stage = self.agent.stage(self.model)
        # The user's, of whose agents some are in another project.
        self.inbox = scene.server or next((run.stage for run in scene.runs), self.stage)
        if self.inbox is not self.stage:
            store = self.inbox.home / ".local/state/askuser/inbox/inbox.sqlite"
            self.stage.file(".config/askuser/askuser.toml", f'store = "{store}"\n')

    def set_up(self, names_project=True):
        """By `askuser init`; over HTTP, which it does not write, as docs/clients.md says."""
        if self.scene.transport == "http":
            self.scene.address = self.scene.address or self.scene.server.serve()
            url, token = self.scene.address
            project = f"?project={self.stage.home.name}" if names_project else ""
            self.agent.remote(self.stage, url + project, token)
        else:
            self.stage.set_up(self.scene.name)

    def start(self):
        """Without a terminal."""
        return self.stage.start(*self.agent.headless)

    def show(self):
        """In a terminal, until it has asked in its dialog; the question as it stands in the inbox."""
        self.stage.show(*self.agent.terminal)
        self.agent.ready(self.stage)
        # An option: the question alone is shown with the call, too. It is not the one that is chosen, and goes with the dialog.
        self.stage.sees("PostgreSQL")
        return self.inbox.pending()

    def hears(self, words, never=None):
        """Waits until the model has been told this; being asked for it twice is a failure, and so is to be told the other answer."""
        def heard():
            if len(self.inbox.asked()) > sum(len(run.model.calls) for run in self.scene.runs):
                raise Failed("asked again")
            return any(words in result for result in self.model.results)

        until(f"{words!r} at the model", heard)
        if never and any(never in result for result in self.model.results):
            raise Failed(f"{never!r} at the model, too")

    def answered_once(self, via, answer="SQLite"):
        """Nothing was asked twice, and the answer that the model has is the one that is kept."""
        self.hears(answer, never="PostgreSQL")
        delivered = lambda: [asked for asked in self.inbox.asked() if asked.get("delivered_ms")]
        asked = until("delivery", delivered)
        # Over HTTP what a dialog says is the asker's report.
        ends = [one.get("resolution") or one["settled"]["reported"] for one in asked]
        answers = [(end["via"], end["answers"][0]) for end in ends]
        kept = [(how, *one["selectedOptions"], *filter(None, [one.get("customInput")])) for how, one in answers]
        if kept != [(via, answer)] or len(self.inbox.asked()) != 1:
            raise Failed(f"kept {kept} of {len(self.inbox.asked())} questions")
