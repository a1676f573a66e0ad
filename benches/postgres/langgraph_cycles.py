"""LangGraph's way to ask a person: interrupt, checkpoint in PostgreSQL, resume. Prints cycles per second of so many processes."""
import multiprocessing
import os
import sys
import time
from typing import TypedDict

from langgraph.checkpoint.postgres import PostgresSaver
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


def client(address, number, count, ready):
    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    graph.add_edge("ask", END)
    with PostgresSaver.from_conn_string(address) as saver:
        app = graph.compile(checkpointer=saver)
        ready.wait()
        for i in range(count):
            config = {"configurable": {"thread_id": f"{os.getpid()}-{number}-{i}"}}
            app.invoke({}, config)
            app.invoke(Command(resume="PostgreSQL"), config)


def main() -> None:
    address, clients = sys.argv[1], int(sys.argv[2])
    count = max(int(os.environ.get("CYCLES", "300")) // clients, 5)
    with PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
    ready = multiprocessing.Barrier(clients + 1)
    processes = [multiprocessing.Process(target=client, args=(address, i, count, ready)) for i in range(clients)]
    for process in processes:
        process.start()
    ready.wait()
    began = time.perf_counter()
    for process in processes:
        process.join()
    took = time.perf_counter() - began
    failed = [process.exitcode for process in processes if process.exitcode]
    if failed:
        sys.exit(f"langgraph: {len(failed)} of {clients} clients failed")
    print(f"langgraph, {clients} clients: {count * clients / took:.0f} cycles per second")


main()
