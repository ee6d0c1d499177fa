"""Functions that are recorded when they are called: jit, grad and their parts.

scalars.py     Python numbers that may differ from call to call
recording.py   the graph that a thread records, and arrays that enter it
tree.py        tuples, lists and dicts of arrays
libraries.py   arrays of NumPy, PyTorch, JAX, CuPy and sinter: their keys, and new ones for results
axes.py        names of axes, whose sizes become symbols
recorded.py    one recorded signature: its graph, executable and contexts
function.py    the function with all its signatures
gradients.py   grad, value_and_grad, vjp
"""
