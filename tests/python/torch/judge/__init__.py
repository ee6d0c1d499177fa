"""The judge of lowerings: PyTorch's own samples of its ops, through the backend and in eager mode."""
