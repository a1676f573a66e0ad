"""LangGraph's way to ask a person: interrupt, checkpoint in SQLite, resume. Prints cycles per second."""
import os
import sys
import tempfile
import time
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

QUESTION = {
    "question": "Which database should we use for this project?",
    "header": "Database",
    "options": [
        {"label": "PostgreSQL (Recommended)", "description": "Robust relational DB, great for complex queries"},
        {"label": "MongoDB", "description": "Document DB, flexible schema for rapid development"},
        {"label": "SQLite", "description": "Embedded DB, zero configuration, good for small apps"},
    ],
    "multiSelect": False,
}


class State(TypedDict, total=False):
    answer: str


def ask(state: State) -> State:
    return {"answer": interrupt(QUESTION)}


def main() -> None:
    count = int(os.environ.get("CYCLES", "100"))
    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
        path = os.path.join(folder, "checkpoints.sqlite")
        with SqliteSaver.from_conn_string(path) as saver:
            app = graph.compile(checkpointer=saver)
            began = time.perf_counter()
            for i in range(count):
                config = {"configurable": {"thread_id": f"thread-{i}"}}
                app.invoke({}, config)
                app.invoke(Command(resume="PostgreSQL"), config)
            took = time.perf_counter() - began
        size = os.path.getsize(path)
    print(f"langgraph: {count / took:.0f} cycles per second ({count} in {took:.2f} s), {size // count} bytes per question")


main()
