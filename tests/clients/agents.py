"""The agents: where each comes from, and how it is pointed at a scripted model and told to say one thing.

Only what concerns the model and the agent's own first steps is written by hand; askuser is added by `askuser init`.
"""

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
    headless: list
    # Where it has dialogs: how it is started in a terminal, what it shows when it can be told something, and what is
    # pressed in its dialog to choose the second option.
    terminal: list = None
    ready: Callable = None
    choose_second: list = None


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


def copilot(model):
    return Stage(
        "copilot", COPILOT_OFFLINE="true", COPILOT_AUTO_UPDATE="false", COPILOT_MODEL="scripted",
        COPILOT_PROVIDER_BASE_URL=f"{model.url}/v1", COPILOT_PROVIDER_API_KEY=KEY,
    )


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


def opencode(model):
    stage = Stage("opencode")
    options = {"baseURL": f"{model.url}/v1", "apiKey": KEY}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": {}}}
    stage.file(".config/opencode/opencode.json", {"provider": {"scripted": provider}, "model": "scripted/scripted"})
    return stage


AGENTS = {
    "claude": Agent(
        "@anthropic-ai/claude-code", "2.1.325", claude,
        headless=["claude", "-p", PROMPT, "--allowedTools", "mcp__askuser__*"],
        terminal=["claude", "--allowedTools", "mcp__askuser__*"],
        ready=claude_ready,
        choose_second=["Right", "Down", "Enter", "Down", "Down", "Enter"],
    ),
    "codex": Agent(
        "@openai/codex", "0.166.0", codex,
        headless=["codex", "exec", "--skip-git-repo-check", PROMPT],
        terminal=["codex", PROMPT],
        ready=lambda stage: None,
        choose_second=["Down", "Enter"],
    ),
    "copilot": Agent(
        "@github/copilot", "1.0.102", copilot,
        headless=["copilot", "-p", PROMPT],
        terminal=["copilot", "-i", PROMPT, "--allow-tool", "askuser"],
        ready=copilot_ready,
        # One Enter for each field: the option, and the two that stay empty.
        choose_second=["Down", "Enter", "Enter", "Enter"],
    ),
    "gemini": Agent(
        "@google/gemini-cli", "0.61.0", gemini,
        # A model that is named needs no other to choose it.
        headless=["gemini", "-m", "gemini-2.5-flash", "-p", PROMPT],
    ),
    "qwen": Agent("@qwen-code/qwen-code", "0.24.4", qwen, headless=["qwen", "-p", PROMPT]),
    "opencode": Agent("opencode-ai", "1.18.33", opencode, headless=["opencode", "run", PROMPT]),
}
