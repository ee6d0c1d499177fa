"""Training steps of small models beside eager."""

import copy

import pytest
import torch
from helpers import compiled
from torch import nn

import sinter.torch


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2), nn.GroupNorm(4, 16), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5),
    )  # fmt: skip


def transformer():
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, activation="gelu")
    return nn.Sequential(nn.Embedding(50, 16), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(16, 5))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        state = x.new_zeros(x.shape[0], 8)
        for i in range(x.shape[1]):
            state = self.cell(x[:, i], state)
        return self.head(state)


MODELS = {
    "convolutions": (convolutions, lambda n: torch.randn(n, 3, 16, 16)),
    "transformer": (transformer, lambda n: torch.randint(0, 50, (n, 7))),
    "recurrent": (Recurrent, lambda n: torch.randn(n, 3, 6)),
}


def loss(model, x):
    logits = model(x).reshape(-1, 5)
    return nn.functional.cross_entropy(logits, torch.arange(logits.shape[0]) % 5)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("name", MODELS)
def test_training_steps(name, dynamic):
    make, draw = MODELS[name]
    eager = make()
    mine = copy.deepcopy(eager)
    run = compiled(mine, dynamic=dynamic)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9) for m in (eager, mine)]
    for size in (4, 6, 9) if dynamic else (4, 4, 4):
        x = draw(size)
        for model, optimizer in zip((eager, run), optimizers):
            optimizer.zero_grad()
            value = loss(model, x)
            value.backward()
            optimizer.step()
        for a, e in zip(mine.parameters(), eager.parameters(), strict=True):
            torch.testing.assert_close(a.grad, e.grad, rtol=1e-3, atol=1e-5)
        for a, e in zip(mine.buffers(), eager.buffers(), strict=True):
            torch.testing.assert_close(a, e)
    counts = sinter.torch.counters()
    assert counts["graphs"] == 2 and counts["recompiles"] == 0 and counts["fallbacks"] == 0
