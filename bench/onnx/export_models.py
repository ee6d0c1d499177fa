#!/usr/bin/env python3
"""Exports small models from PyTorch, and gives ONNX's light models random weights.

usage: export_models.py OUT_DIR    replaces the folder's contents

Needs the packages onnx, onnxruntime, onnxscript and torch. Each model is a folder OUT_DIR/NAME with
model.onnx, and data_0 with inputs and with the outputs of onnxruntime, as tests/onnx/write_cases.py
writes them. OUT_DIR/cases.txt lists them.

- encoder: two transformer layers with layer norms, attention and gelu; batch and length are symbols.
- decoder: two layers with rms norms, rotary embeddings, causal attention with shared heads, and swiglu.
- unet: convolutions, group norms, silu, pooling, upsampling and concatenation.
- encoder_int8: the encoder with dynamic quantisation of its matrix products.
- light_*: the architectures in the onnx wheel, whose stored weights are all equal. The softmax at their
  end is left out, because it hides differences.
- squeezenet_int8: the squeezenet with quantised values between all operators.
"""
import pathlib
import shutil
import sys
import warnings

import numpy as np
import onnx
import onnx.backend.test
import onnx.version_converter
import onnxruntime
import torch
from onnxruntime import quantization
from torch import nn
from torch.nn import functional as F


class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.before_mlp = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.before_attention(x)).reshape(batch, length, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(q, k, v)
        x = x + self.projection(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.before_mlp(x))))


class Encoder(nn.Module):
    def __init__(self, vocabulary=512, longest=128, width=128, heads=4, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(longest, width)
        self.layers = nn.ModuleList(EncoderLayer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 16)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


def rotate(x, cosines, sines):
    a, b = x.chunk(2, -1)
    return x * cosines + torch.cat([-b, a], -1) * sines


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, shared_heads, hidden):
        super().__init__()
        self.heads, self.shared_heads, self.size = heads, shared_heads, width // heads
        self.before_attention = nn.RMSNorm(width, eps=1e-6)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, shared_heads * self.size, bias=False)
        self.v = nn.Linear(width, shared_heads * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.before_mlp = nn.RMSNorm(width, eps=1e-6)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, cosines, sines):
        batch, length, width = x.shape
        h = self.before_attention(x)
        q = self.q(h).reshape(batch, length, self.heads, -1).transpose(1, 2)
        k = self.k(h).reshape(batch, length, self.shared_heads, -1).transpose(1, 2)
        v = self.v(h).reshape(batch, length, self.shared_heads, -1).transpose(1, 2)
        q, k = rotate(q, cosines, sines), rotate(k, cosines, sines)
        repeats = self.heads // self.shared_heads
        k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(attended.transpose(1, 2).reshape(batch, length, width))
        h = self.before_mlp(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, vocabulary=512, width=128, heads=4, shared_heads=2, hidden=352, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        size = width // heads
        self.register_buffer("rates", 10000.0 ** (-torch.arange(0, size, 2) / size))
        self.layers = nn.ModuleList(
            DecoderLayer(width, heads, shared_heads, hidden) for _ in range(layers))
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids):
        positions = torch.arange(ids.shape[1], device=ids.device)
        angles = torch.outer(positions.float(), self.rates)
        angles = torch.cat([angles, angles], -1)
        x = self.tokens(ids)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        return self.head(self.norm(x))


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.first_norm = nn.GroupNorm(4, outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.second_norm = nn.GroupNorm(4, outputs)
        self.shortcut = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        h = F.silu(self.first_norm(self.first(x)))
        return F.silu(self.second_norm(self.second(h)) + self.shortcut(x))


class UNet(nn.Module):
    def __init__(self, channels=(16, 32, 64)):
        super().__init__()
        self.down = nn.ModuleList([Block(3, channels[0])] + [
            Block(a, b) for a, b in zip(channels, channels[1:])])
        self.merge = nn.ModuleList([
            Block(a + b, a) for a, b in zip(channels[-2::-1], channels[:0:-1])])
        self.head = nn.Conv2d(channels[0], 2, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else F.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for block in self.merge:
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([kept.pop(), x], 1))
        return self.head(x)


def dynamo_export(model, example, dynamic, path):
    torch.onnx.export(model, (example,), path, dynamo=True, input_names=["x"], output_names=["y"],
                      dynamic_shapes=(dynamic,), external_data=False, verbose=False)


def exported_models(folder):
    """(name, model, inputs) of the exports from PyTorch."""
    torch.manual_seed(0)
    ids = torch.randint(0, 512, (2, 24))
    sizes = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("length", min=2, max=128)}
    for name, module, example, dynamic in [
            ("encoder", Encoder(), ids, sizes), ("decoder", Decoder(), ids, sizes),
            ("unet", UNet(), torch.randn(2, 3, 32, 32), None)]:
        path = folder / f"{name}.onnx"
        dynamo_export(module.eval(), example, dynamic, path)
        yield name, onnx.load(path), [example.numpy()]
        path.unlink()


def random_weight(rng, shape):
    """Keeps the size of activations in convolutions and products; vectors are scales near 1."""
    if len(shape) < 2:
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    inputs = np.prod(shape[1:])
    return (rng.standard_normal(shape) * np.sqrt(2 / inputs)).astype(np.float32)


def with_random_weights(model, seed):
    """ConstantOfShape nodes give the weights of the light models; they become initialisers."""
    rng = np.random.default_rng(seed)
    shapes = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    kept = []
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            kept.append(node)
            continue
        weight = random_weight(rng, tuple(shapes[node.input[0]]))
        model.graph.initializer.append(onnx.numpy_helper.from_array(weight, node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)
    if kept[-1].op_type == "Softmax":
        model.graph.output[0].name = kept.pop().input[0]
    used = {name for node in kept for name in node.input}
    unused = [t for t in model.graph.initializer if t.name not in used]
    for tensor in unused:
        model.graph.initializer.remove(tensor)
    names = {t.name for t in model.graph.initializer} | {t.name for t in unused}
    inputs = [i for i in model.graph.input if i.name not in names]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)
    return model


def light_models():
    folder = pathlib.Path(onnx.backend.test.__file__).parent / "data" / "light"
    for number, path in enumerate(sorted(folder.glob("*.onnx"))):
        model = with_random_weights(onnx.load(path), number)
        x = np.random.default_rng(100 + number).standard_normal((1, 3, 224, 224)).astype(np.float32)
        yield path.stem, model, [x]


class OneSample(quantization.CalibrationDataReader):
    """The data from which a static quantisation takes its ranges."""

    def __init__(self, values):
        self.rest = iter([values])

    def get_next(self):
        return next(self.rest, None)


def quantized_models(out):
    """Quantised forms of two models that are already in `out`."""
    path = out / "quantized.onnx"
    source = out / "encoder"
    quantization.quantize_dynamic(source / "model.onnx", path)
    yield "encoder_int8", onnx.load(path), [np.load(source / "data_0" / "input_0.i64.npy")]
    source = out / "light_squeezenet"
    x = np.load(source / "data_0" / "input_0.f32.npy")
    # Scales per channel need opset 13.
    model = onnx.version_converter.convert_version(onnx.load(source / "model.onnx"), 13)
    onnx.save(model, out / "newer.onnx")
    quantization.quantize_static(out / "newer.onnx", path, OneSample({"data_0": x}),
                                 quant_format=quantization.QuantFormat.QDQ, per_channel=True)
    yield "squeezenet_int8", onnx.load(path), [x]
    path.unlink()
    (out / "newer.onnx").unlink()


def write_model(out, name, model, inputs):
    folder = out / name
    (folder / "data_0").mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    outputs = session.run(None, dict(zip(names, inputs)))
    short = {"float32": "f32", "int64": "i64"}
    for word, values in [("input", inputs), ("output", outputs)]:
        for i, value in enumerate(values):
            np.save(folder / "data_0" / f"{word}_{i}.{short[value.dtype.name]}.npy", value)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    warnings.simplefilter("ignore")
    names = []
    for models in [exported_models(out), light_models(), quantized_models(out)]:
        for name, model, inputs in models:
            write_model(out, name, model, inputs)
            names.append(name)
            print(f"{name}: {len(model.graph.node)} nodes")
    (out / "cases.txt").write_text("".join(f"{name}\tmodels\t\n" for name in names))


main()
