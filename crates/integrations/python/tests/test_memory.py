"""Memory that stays flat however often a file is read."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tarsia

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Memory of this process, without mapped files."""
    with open("/proc/self/statm") as statm:
        _, resident, shared, *_ = map(int, statm.read().split())
    return (resident - shared) * PAGE_BYTES


@pytest.mark.want(3)
@pytest.mark.parametrize(
    "epoch",
    [
        lambda file: file.to_pyarrow(),
        lambda file: [len(batch) for batch in file.scan(batch_size=4096)],
        lambda file: next(iter(file.scan(batch_size=128))),
        lambda file: pa.table(file.scan(["text"], "id > 500")),
        lambda file: file.scan(filter=pc.field("id") * 2 < 1000).read_all(),
        lambda file: [file.take([row, 5], ["text"]) for row in range(0, 90_000, 3000)],
        lambda file: tarsia.open(file._source).take([1]),
        lambda file: [file.schema, file.count("id < 7"), file.explain("id < 7")],
    ],
    ids=["tables", "batches", "begun", "stream", "split", "takes", "opens", "small"],
)
def test_memory_is_flat_over_epochs(epoch: Callable[[tarsia.File], Any], written: Any, numbers: pa.Table) -> None:
    file = written(numbers)
    for _ in range(60):
        epoch(file)
    gc.collect()
    before = resident_bytes()
    for _ in range(200):
        epoch(file)
    gc.collect()
    grown = resident_bytes() - before
    # One table of these rows takes 3 MB, so a leak of a hundredth of each would show.
    assert grown < 6 << 20, grown


@pytest.mark.want(3)
def test_a_scan_of_a_large_file_holds_few_batches(tmp_path: Any, numbers: pa.Table) -> None:
    path = tmp_path / "t.tarsia"
    with tarsia.Writer(path, numbers.schema) as writer:
        for _ in range(40):
            writer.write(numbers)
    file = tarsia.open(path)
    list(file.scan(rows=range(1000)))
    before = resident_bytes()
    most = 0
    for _ in file.scan():
        most = max(most, resident_bytes() - before)
    # All rows take 120 MB.
    assert most < 60 << 20, most
