"""Judges the lowerings by PyTorch's op database, and writes the page docs/reference/torch_ops.md.

    python tests/python/torch/judge_ops.py --verdicts build/torch_ops.jsonl
    python tests/python/torch/judge_ops.py --verdicts build/torch_ops.jsonl --page docs/reference/torch_ops.md

The first command appends one JSON line per sample to the file. It skips ops and dtypes that the file
already has, so it can be interrupted. `--shard 0/2` judges every second op only. The second command
judges nothing if the file is complete, and replaces the part of the page between its two marks.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

COMMAND = "python tests/python/torch/judge_ops.py"
_MARKS = ("<!-- torch_ops:begin -->", "<!-- torch_ops:end -->")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--verdicts", type=Path, required=True, help="the file of JSON lines")
    parser.add_argument("--dtypes", default="f32,f64,bf16,f16,i64,bool")
    parser.add_argument("--samples", type=int, default=4, help="the most per op and dtype; 0: all")
    parser.add_argument("--ops", default="", help="names of ops, with commas; by default all")
    parser.add_argument("--shard", default="0/1", help="which share of the ops: index/count")
    parser.add_argument("--page", type=Path, help="the page to update; judges nothing")
    return parser.parse_args()


def read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def judge(arguments: argparse.Namespace) -> Counter[str]:
    import torch

    from judge.samples import ops_named
    from judge.verdicts import judge_op

    torch.set_num_threads(1)
    done = {(one["op"], one["dtype"]) for one in read(arguments.verdicts)}
    index, count = map(int, arguments.shard.split("/"))
    names = [name for name in arguments.ops.split(",") if name]
    counts: Counter[str] = Counter()
    with arguments.verdicts.open("a") as file:
        for op in ops_named(names or None)[index::count]:
            for dtype in arguments.dtypes.split(","):
                if (op.full_name, dtype) in done:
                    continue
                for one in judge_op(op, dtype, arguments.samples or None):
                    counts[one.verdict] += 1
                    file.write(json.dumps(one.as_dict()) + "\n")
                    if one.verdict == "failed":
                        print(one.op, one.dtype, one.sample, one.reason, flush=True)
                file.flush()
    return counts


def update_page(path: Path, verdicts: list[dict[str, Any]], samples: int) -> None:
    from judge.table import page

    text = page(verdicts, f"{COMMAND} --verdicts FILE --samples {samples}")
    before, _, rest = path.read_text().partition(_MARKS[0])
    _, _, after = rest.partition(_MARKS[1])
    path.write_text(f"{before}{_MARKS[0]}\n\n{text}\n{_MARKS[1]}{after}")


def main() -> int:
    arguments = parse_arguments()
    if arguments.page:
        update_page(arguments.page, read(arguments.verdicts), arguments.samples)
        return 0
    warnings.filterwarnings("ignore")
    start = time.perf_counter()
    counts = judge(arguments)
    print(f"{dict(counts)} in {time.perf_counter() - start:.0f} s")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
