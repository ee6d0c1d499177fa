"""Makes `import torch` fail without PyTorch: the folder torch beside this file would be imported instead."""
import importlib.util
import sys

if "torch" not in sys.modules:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.modules["torch"] = None  # type: ignore[assignment]
