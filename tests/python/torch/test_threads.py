"""Several threads run and compile at once."""

from concurrent.futures import ThreadPoolExecutor

import torch
from helpers import assert_same, compiled


def test_one_function_in_several_threads():
    def f(x):
        return torch.softmax(x * 2, -1).sum(0), (x @ x.t()).relu()

    run = compiled(f)
    run(torch.randn(8, 16))
    inputs = [torch.randn(8, 16) for _ in range(64)]
    with ThreadPoolExecutor(4) as pool:
        for x, results in zip(inputs, pool.map(run, inputs)):
            assert_same(results, f(x))


def test_backward_in_several_threads():
    w = torch.randn(16, 16)

    def f(x):
        return ((x @ w).tanh() ** 2).sum()

    run = compiled(f)

    def gradient(function, x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(function(x), x)[0]

    gradient(run, torch.randn(8, 16))
    inputs = [torch.randn(8, 16) for _ in range(32)]
    with ThreadPoolExecutor(4) as pool:
        for x, result in zip(inputs, pool.map(lambda x: gradient(run, x), inputs)):
            assert_same(result, gradient(f, x))
