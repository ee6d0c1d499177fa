"""Runs the commands that make and use distributions."""
from __future__ import annotations

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def run(*command: object, **options: object) -> str:
    """The output of a command. Fails the test with the whole output if the command fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        pytest.fail(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}", pytrace=False)
    return done.stdout
