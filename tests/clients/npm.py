"""Packages from npm, in target/clients."""

import json
import subprocess

from stage import PLACE

# What several of them need, and not every machine has.
NODE = "node@22.23.3"
# What they depend on is of this day: a later release of it may need one that is not there, and then none is installed.
BEFORE = "2026-11-19"


def install(*packages):
    PLACE.mkdir(parents=True, exist_ok=True)
    if all(is_there(*package.rsplit("@", 1)) for package in [NODE, *packages]):
        return
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel", "error", "--before", BEFORE]
    subprocess.run(["npm", "install", "--prefix", PLACE, *quiet, NODE, *packages], check=True, stdout=subprocess.DEVNULL)


def is_there(name, version):
    found = PLACE / "node_modules" / name / "package.json"
    return found.exists() and json.loads(found.read_text())["version"] == version
