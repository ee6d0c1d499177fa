"""The judge of lowerings: samples of PyTorch's op database, through the backend and eagerly."""
