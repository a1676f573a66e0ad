"""Packages from npm, in target/clients."""

import subprocess

from stage import PLACE

# What several of them need, and not every machine has.
NODE = "node@22.23.3"


def install(*packages):
    PLACE.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel", "error"]
    subprocess.run(["npm", "install", "--prefix", PLACE, *quiet, NODE, *packages], check=True, stdout=subprocess.DEVNULL)
