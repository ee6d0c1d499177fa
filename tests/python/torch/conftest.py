"""Lets the tests of the torch backend import their helpers from this folder, and separates them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh():
    """Each test starts with equal random numbers and no compiled functions."""
    import sinter.torch

    torch.manual_seed(0)
    torch._dynamo.reset()
    sinter.torch.reset_counters()
