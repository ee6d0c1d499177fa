import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh():
    """Each test starts with equal random numbers and no compiled functions."""
    torch.manual_seed(0)
    torch._dynamo.reset()
    import sinter.torch

    sinter.torch.reset_counters()
