"""The agents: where each comes from, and how it is pointed at a scripted model and told to say one thing.

Only what concerns the model and the agent's own first steps is written by hand; askuser is added by `askuser init`, or over
HTTP by what docs/clients.md says.
"""

import json
from dataclasses import dataclass
from typing import Callable

from stage import Stage

# What an agent is told; the model knows what to do.
PROMPT = "go"
KEY = "sk-scripted-0123456789abcdefghij"


@dataclass
class Agent:
    package: str
    version: str
    stage: Callable  # what it reads, and the variables it wants
    remote: Callable  # what it reads of a server that has an address
    headless: list
    # Where a project has a file: what its user agrees to before the agent reads that.
    project: Callable = None
    # How it is started in a terminal, what it shows when it can be told something, and where it has dialogs what is pressed
    # there to choose the second option.
    terminal: list = None
    ready: Callable = None
    choose_second: list = None
    # What is pressed there to refuse.
    refuse: list = None
    # Where its dialog has an Other of its own: what is pressed to type DuckDB there.
    type_other: list = None
    # Whether its terminal shows what a call says before it returns.
    shows_progress: bool = False
    # Where it gives up without a word: how it is told to do so soon.
    lower_limit: Callable = None


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def in_json(path, table, **entry):
    """A server in a file of JSON; what is said by words is `url` or `httpUrl`, the rest stands there as it is."""
    def write(stage, url, token):
        file = stage.home / path
        settings = json.loads(file.read_text()) if file.exists() else {}
        address = {name: url if value is URL else value for name, value in entry.items()}
        settings.setdefault(table, {})["askuser"] = {**address, "headers": bearer(token)}
        stage.file(path, settings)

    return write


# Stands for the address.
URL = object()


def nothing(stage):
    pass


def claude(model):
    stage = Stage(
        "claude", ANTHROPIC_BASE_URL=model.url, ANTHROPIC_API_KEY=KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1"
    )
    stage.file(".claude.json", {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(stage.project): {"hasTrustDialogAccepted": True}},
    })
    return stage


def claude_ready(stage):
    # It shows nothing while it connects, and a server that is not there yet is not waited for.
    stage.sees("auto mode")
    stage.settles()
    stage.keys(PROMPT, "Enter")


def claude_allows(stage):
    """As `askuser init claude` allows it: a project's file and a server with an address come without."""
    stage.file(".claude/settings.json", {"permissions": {"allow": ["mcp__askuser__*"]}})


def claude_remote(stage, url, token):
    in_json(".claude.json", "mcpServers", type="http", url=URL)(stage, url, token)
    claude_allows(stage)


def codex(model):
    stage = Stage("codex", SCRIPTED_KEY=KEY)
    stage.file(".codex/config.toml", f"""\
model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "{model.url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

[projects."{stage.project}"]
trust_level = "trusted"
""")
    return stage


def codex_ready(stage):
    """Trusts the hooks of `askuser init codex`, which Codex shows for review at its next start."""
    if (stage.home / ".codex/hooks.json").exists():
        stage.sees("Hooks need review")
        stage.keys("2", "Enter")


def codex_remote(stage, url, token):
    stage.env["ASKUSER_TOKEN"] = token
    stage.add(".codex/config.toml", f"""
[mcp_servers.askuser]
url = "{url}"
bearer_token_env_var = "ASKUSER_TOKEN"
""")


def copilot(model):
    return Stage(
        "copilot", COPILOT_OFFLINE="true", COPILOT_AUTO_UPDATE="false", COPILOT_MODEL="scripted",
        COPILOT_PROVIDER_BASE_URL=f"{model.url}/v1", COPILOT_PROVIDER_API_KEY=KEY,
    )


def copilot_project(stage):
    stage.file(".copilot/config.json", {"trustedFolders": [str(stage.project)]})


def copilot_ready(stage):
    stage.sees("Do you trust")
    stage.keys("Enter")


def gemini(model):
    stage = Stage(
        "gemini", GEMINI_API_KEY=KEY, GOOGLE_GEMINI_BASE_URL=model.url, GEMINI_CLI_TRUST_WORKSPACE="true"
    )
    stage.file(".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})
    return stage


def qwen(model):
    stage = Stage("qwen", OPENAI_API_KEY=KEY, OPENAI_BASE_URL=f"{model.url}/v1", OPENAI_MODEL="scripted")
    stage.file(".qwen/settings.json", {"security": {"auth": {"selectedType": "openai"}}})
    return stage


def qwen_project(stage):
    stage.ended(stage.start("qwen", "mcp", "approve", "askuser"))


def of_opencode(name, path, **variables):
    """OpenCode, or what is made of it."""
    def make(model):
        stage = Stage(name, **variables)
        options = {"baseURL": f"{model.url}/v1", "apiKey": KEY}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": {}}}
        stage.file(path, {"provider": {"scripted": provider}, "model": "scripted/scripted"})
        return stage

    return make


def cline(model):
    stage = Stage("cline")
    words = ["auth", "openai-compatible", "-k", KEY, "-m", "scripted", "-b", f"{model.url}/v1"]
    stage.ended(stage.start("cline", *words))
    return stage


def cline_lower_limit(stage):
    file = ".cline/data/settings/cline_mcp_settings.json"
    settings = json.loads((stage.home / file).read_text())
    settings["mcpServers"]["askuser"]["timeout"] = 3
    stage.file(file, settings)


def continue_(model):
    stage = Stage("continue", CONTINUE_TELEMETRY_ENABLED="0")
    stage.file(".continue/config.yaml", f"""\
name: scripted
version: 1.0.0
schema: v1
models:
  - name: scripted
    provider: openai
    model: scripted
    apiBase: {model.url}/v1
    apiKey: {KEY}
    roles: [chat]
    capabilities: [tool_use]
""")
    return stage


def continue_remote(stage, url, token):
    stage.add(CONTINUE_SERVER, f"""\
name: askuser
version: 1.0.0
schema: v1
mcpServers:
  - name: askuser
    type: streamable-http
    url: {url}
    requestOptions:
      headers:
        Authorization: Bearer {token}
""")


CONTINUE_SERVER = ".continue/mcpServers/askuser.yaml"


AGENTS = {
    "claude": Agent(
        "@anthropic-ai/claude-code", "2.1.328", claude,
        remote=claude_remote,
        headless=["claude", "-p", PROMPT],
        terminal=["claude"],
        project=claude_allows,
        ready=claude_ready,
        shows_progress=True,
        choose_second=["Right", "Down", "Enter", "Down", "Down", "Enter"],
        refuse=["Down", "Down", "Down", "Right", "Enter"],
    ),
    "codex": Agent(
        "@openai/codex", "0.169.0", codex,
        remote=codex_remote,
        headless=["codex", "exec", "--skip-git-repo-check", PROMPT],
        terminal=["codex", PROMPT],
        project=nothing,
        ready=codex_ready,
        choose_second=["Down", "Enter"],
        refuse=["Escape"],
    ),
    "copilot": Agent(
        "@github/copilot", "1.0.102", copilot,
        remote=in_json(".copilot/mcp-config.json", "mcpServers", type="http", url=URL, tools=["*"]),
        headless=["copilot", "-p", PROMPT],
        terminal=["copilot", "-i", PROMPT, "--allow-tool", "askuser"],
        project=copilot_project,
        ready=copilot_ready,
        shows_progress=True,
        # One Enter for each field: the option, and the two that stay empty.
        choose_second=["Down", "Enter", "Enter", "Enter"],
        refuse=["C-d"],
        type_other=["Down", "Down", "DuckDB", "Enter", "Enter", "Enter"],
    ),
    "gemini": Agent(
        "@google/gemini-cli", "0.61.0", gemini,
        remote=in_json(".gemini/settings.json", "mcpServers", httpUrl=URL, trust=True),
        # A model that is named needs no other to choose it.
        headless=["gemini", "-m", "gemini-2.5-flash", "-p", PROMPT],
        terminal=["gemini", "-m", "gemini-2.5-flash", "-i", PROMPT],
        ready=nothing,
        shows_progress=True,
        project=nothing,
    ),
    "qwen": Agent(
        "@qwen-code/qwen-code", "0.24.4", qwen,
        remote=in_json(".qwen/settings.json", "mcpServers", httpUrl=URL, trust=True, alwaysLoadTools=True),
        headless=["qwen", "-p", PROMPT],
        terminal=["qwen", "-i", PROMPT],
        ready=nothing,
        shows_progress=True,
        project=qwen_project,
    ),
    "opencode": Agent(
        "opencode-ai", "1.18.33", of_opencode("opencode", ".config/opencode/opencode.json"),
        remote=in_json(".config/opencode/opencode.json", "mcp", type="remote", url=URL),
        headless=["opencode", "run", PROMPT],
        project=nothing,
    ),
    "kilo": Agent(
        "@kilocode/cli", "7.7.7", of_opencode("kilo", ".config/kilo/kilo.json"),
        remote=in_json(".config/kilo/kilo.json", "mcp", type="remote", url=URL),
        headless=["kilo", "run", PROMPT],
        project=nothing,
    ),
    "cline": Agent(
        "cline", "3.0.65", cline,
        remote=in_json(".cline/data/settings/cline_mcp_settings.json", "mcpServers", type="streamableHttp", url=URL),
        # A single word would be a command.
        headless=["cline", f"{PROMPT} on"],
        lower_limit=cline_lower_limit,
    ),
    "continue": Agent(
        "@continuedev/cli", "1.5.47", continue_,
        remote=continue_remote,
        # The project's file, or the user's: `cn` looks for neither.
        headless=["sh", "-c", f"""
            test -e {CONTINUE_SERVER} && file={CONTINUE_SERVER} || file="$HOME/{CONTINUE_SERVER}"
            exec cn -p {PROMPT} --auto --mcp "$file"
        """],
        project=nothing,
    ),
}
