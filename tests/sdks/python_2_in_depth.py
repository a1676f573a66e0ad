"""What a program with the Python SDK sees of us: handshake, tools, questions answered in the inbox and in its own dialog."""

import asyncio
import json
import re
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

sys.path.append(str(Path(__file__).resolve().parents[1] / "clients"))

from stage import ASKUSER, ROOT, Failed, Stage, until

QUESTION = json.loads((ROOT / "examples/database.json").read_text())
ASK, RESULT = "AskUserQuestion", "AskUserQuestionResult"
# Longer than any client refuses by itself.
A_MOMENT = 0.6


class Person:
    """The person at the client's dialog."""

    def __init__(self, *results, after=0.0):
        self.results, self.after, self.shown = list(results), after, 0

    async def __call__(self, context, params):
        self.shown += 1
        await asyncio.sleep(self.after)
        return self.results.pop(0)


@asynccontextmanager
async def over_stdio(stage, mode, person, words=()):
    server = StdioServerParameters(command=str(ASKUSER), args=["mcp", *words], env=stage.env, cwd=stage.project)
    async with Client(server, mode=mode, elicitation_callback=person) as client:
        yield client


@contextmanager
def http_server(stage, words=()):
    """The address of a server, and the token to show."""
    try:
        yield stage.serve(*words)
    finally:
        stage.server.terminate()
        stage.server.wait()


@asynccontextmanager
async def over_http(stage, mode, person, words=()):
    with http_server(stage, words) as (url, token):
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(url, http_client=http, terminate_on_close=False)
            async with Client(transport, mode=mode, elicitation_callback=person) as client:
                yield client


def check(found, expected):
    if found != expected:
        raise Failed(f"{found!r} instead of {expected!r}")


def said(result):
    """Status, by which way, and what was chosen; text and structured content say the same."""
    structured = result.structured_content
    chosen = [choice for answer in structured["answers"] for choice in answer["selectedOptions"]]
    check(all(choice in result.content[0].text for choice in chosen), True)
    return structured["status"], structured["via"], chosen


async def answered_in_inbox(stage, calling):
    """Answers what waits, while a call does."""
    question = await asyncio.to_thread(stage.pending)
    await asyncio.to_thread(stage.answer, question, "--select", "Database=SQLite")
    return await calling


async def lists_and_asks(open):
    """Handshake, list, a question answered in the inbox."""
    async with open(None) as (stage, client):
        check([tool.name for tool in (await client.list_tools()).tools], [ASK, RESULT])
        calling = asyncio.create_task(client.call_tool(ASK, QUESTION))
        check(said(await answered_in_inbox(stage, calling)), ("answered", "inbox", ["SQLite"]))


async def dialog(open):
    """Accepted, declined and cancelled in the dialog, by a person who takes a moment for it."""
    accept = ElicitResult(action="accept", content={"answer": "SQLite"})
    for result, expected in [
        (accept, ("answered", "elicitation", ["SQLite"])),
        (ElicitResult(action="decline"), ("declined", "elicitation", [])),
        (ElicitResult(action="cancel"), ("cancelled", "elicitation", [])),
    ]:
        async with open(Person(result, after=A_MOMENT)) as (_, client):
            check(said(await client.call_tool(ASK, QUESTION)), expected)


async def nobody_at_the_dialog(open):
    """Refused at once, or accepted with nothing in it: the inbox goes on."""
    for result in [ElicitResult(action="decline"), ElicitResult(action="cancel"), ElicitResult(action="accept", content={})]:
        person = Person(result)
        async with open(person) as (stage, client):
            calling = asyncio.create_task(client.call_tool(ASK, QUESTION))
            check(said(await answered_in_inbox(stage, calling)), ("answered", "inbox", ["SQLite"]))
            check(person.shown, 1)


async def ticket(open):
    """Not answered in time: a ticket, which is redeemed when a person has answered."""
    async with open(None, "--limit", "200ms") as (stage, client):
        waiting = await client.call_tool(ASK, QUESTION)
        check(waiting.structured_content["status"], "pending")
        number = waiting.structured_content["ticket"]
        check(number in waiting.content[0].text, True)
        stage.answer(stage.pending(), "--select", "Database=SQLite")
        check(said(await client.call_tool(RESULT, {"ticket": number})), ("answered", "inbox", ["SQLite"]))
        check((await client.call_tool(RESULT, {"ticket": "none"})).is_error, True)


class Careless:
    """A person who answers the first of two questions, and cannot decide at the second."""

    def __init__(self):
        self.first, self.second = [], []

    async def __call__(self, context, params):
        is_first = "Which features?" in params.message
        (self.first if is_first else self.second).append(params)
        content = {"answer": ["Search"]} if is_first else {"answer": "SQLite", "other": "DuckDB"}
        return ElicitResult(action="accept", content=content)


async def wrong_forms(open):
    """A form that is no answer is shown three times, with what was filled in; then the inbox goes on with what was right, and a ticket."""
    options = [{"label": "Search", "description": "Find"}, {"label": "Export", "description": "Save"}]
    features = {"question": "Which features?", "header": "Features", "multiSelect": True, "options": options}
    person = Careless()
    async with open(person, "--limit", "3s") as (stage, client):
        waiting = await client.call_tool(ASK, {"questions": [features, *QUESTION["questions"]]})
        check(waiting.structured_content["status"], "pending")
        check((len(person.first), len(person.second)), (1, 3))
        for form in person.second[1:]:
            fields = form.requested_schema["properties"]
            filled_in = [fields[name].get("default") for name in ["answer", "other", "note"]]
            check((form.message.startswith("That is no answer: "), filled_in), (True, ["SQLite", "DuckDB", None]))
        stage.show(str(ASKUSER), "answer", stage.pending()["id"])
        stage.sees("✔ Features")
        stage.answer(stage.pending(), "--select", "Features=Search", "--select", "Database=SQLite")
        redeemed = await client.call_tool(RESULT, {"ticket": waiting.structured_content["ticket"]})
        check(said(redeemed), ("answered", "inbox", ["Search", "SQLite"]))


async def refuses_bad_input(open):
    """What is no question is refused, with words that a model can act on."""
    async with open(None) as (_, client):
        refused = await client.call_tool(ASK, {"questions": []})
        check((refused.is_error, "questions" in refused.content[0].text), (True, True))


async def wrong_token():
    """A client that does not know the token hears nothing but that."""
    stage = Stage("python-2")
    try:
        with http_server(stage) as (url, _):
            for headers in [{}, {"Authorization": "Bearer wrong"}]:
                async with httpx2.AsyncClient(headers=headers) as http:
                    check((await http.post(url, json={})).status_code, 401)
                    try:
                        async with Client(streamable_http_client(url, http_client=http), mode="legacy"):
                            raise Failed("was let in")
                    except ExceptionGroup as refused:
                        check(refused.subgroup(Failed), None)
    finally:
        stage.close(keep=False)


CASES = [lists_and_asks, dialog, nobody_at_the_dialog, wrong_forms, ticket, refuses_bad_input]


def opening(transport, mode):
    """Opens a client in a home of its own."""

    @asynccontextmanager
    async def open(person, *words):
        stage = Stage("python-2")
        try:
            async with transport(stage, mode, person, words) as client:
                yield stage, client
        finally:
            stage.close(keep=False)

    return open


async def attempt(name, trying):
    """Tries one case; whether it failed."""
    try:
        await trying
    except BaseException as error:
        found = getattr(error, "exceptions", [error])
        print(f"FAILED  {name}: {'; '.join(map(repr, found))}", flush=True)
        return True
    print(f"passed  {name}", flush=True)
    return False


async def main():
    failed = 0
    for transport in [over_stdio, over_http]:
        for mode in ["legacy", "2026-07-28", "auto"]:
            for case in CASES:
                name = f"{transport.__name__:10} {mode:10} {case.__name__}"
                failed += await attempt(name, case(opening(transport, mode)))
    failed += await attempt("over_http  wrong_token", wrong_token())
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    asyncio.run(main())
