"""Rows per second of loaders of PyTorch: Tarsia's beside Lance's and tuned ones over Parquet, in one run.

    pip install ./crates/integrations/python -r benchmarks/python/requirements-loaders.txt
    python benchmarks/python/loaders.py [--rows 1000000] [--images 20000] [--workers 0 2 4] [--folder FOLDER]

Two tables are made: vectors of 96 floats with a label, and images (random bytes of 5 to 50 KB) with a label. Each
loader shuffles as well as it can, and gives batches of 256 vectors or 64 images as tensors and bytes. A measurement
begins when the first batch has come, and ends after an epoch or some seconds. Rounds go through all loaders in turn;
the numbers are medians.

| loader | shuffled |
|---|---|
| tarsia exact | all rows |
| tarsia blocks | runs of 64 rows, 16,384 rows mixed |
| tarsia map | all rows, by PyTorch's sampler |
| lance take | all rows, by PyTorch's sampler; one take per batch, spawned workers |
| lance batches | Lance's own loader: batches of neighbours at random, rows in a batch are not mixed |
| parquet groups | row groups at random, as many rows mixed as with tarsia blocks |
| parquet rows | all rows, by PyTorch's sampler, of row groups that are kept in memory as far as 256 MiB go |
"""

from __future__ import annotations

import argparse
import functools
import statistics
import tempfile
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import lance
import lance.torch.data
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

import tarsia
import tarsia.torch

DIMENSION = 96
BUFFER_ROWS = 16384
CACHE_BYTES = 256 << 20


def vectors(n_rows: int) -> pa.Table:
    random = np.random.default_rng(1)
    values = random.standard_normal(n_rows * DIMENSION, dtype=np.float32)
    vector = pa.FixedSizeListArray.from_arrays(pa.array(values), DIMENSION)
    return pa.table({"vector": vector, "label": pa.array(random.integers(0, 1000, n_rows))})


def images(n_rows: int) -> pa.Table:
    random = np.random.default_rng(2)
    blobs = [
        b"\xff\xd8" + random.bytes(int(n_bytes)) + b"\xff\xd9" for n_bytes in random.integers(5000, 50_000, n_rows)
    ]
    return pa.table({"image": pa.array(blobs, pa.binary()), "label": pa.array(random.integers(0, 1000, n_rows))})


def write(table: pa.Table, folder: Path, name: str) -> dict[str, Path]:
    """Writes a table in each format, as suits it best."""
    places = {kind: folder / f"{name}.{kind}" for kind in ("tarsia", "lance", "parquet")}
    tarsia.write(table, places["tarsia"])
    lance.write_dataset(table, str(places["lance"]))
    # Vectors and images do not compress, and plain pages are read fastest. Groups are as large as is read fastest.
    group = 2048 if name == "vectors" else 256
    pq.write_table(table, places["parquet"], row_group_size=group, compression="none", use_dictionary=False)
    return places


def to_tensors(batch: Any) -> dict[str, Any]:
    """Columns of pyarrow as tensors, as few copies as it allows."""
    made: dict[str, Any] = {}
    for name in batch.schema.names:
        column = batch.column(name)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if pa.types.is_fixed_size_list(column.type):
            values = column.flatten().to_numpy(zero_copy_only=False)
            made[name] = torch.from_numpy(values.reshape(len(column), -1).copy())
        elif pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            made[name] = column.to_pylist()
        else:
            made[name] = torch.from_numpy(column.to_numpy(zero_copy_only=False).copy())
    return made


class LanceRows(Dataset):
    """Rows of Lance by number, with one take per batch."""

    def __init__(self, place: Path, columns: list[str]) -> None:
        self.place, self.columns = str(place), columns
        self.opened: Any = None
        self.n_rows = lance.dataset(self.place).count_rows()

    def __len__(self) -> int:
        return self.n_rows

    def __getitems__(self, rows: list[int]) -> pa.Table:
        if self.opened is None:
            self.opened = lance.dataset(self.place)
        return self.opened.take(rows, columns=self.columns)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"opened": None}


class LanceBatches(IterableDataset):
    """Lance's own loader, told which part of the batches a worker reads."""

    def __init__(self, place: Path, columns: list[str], batch_rows: int) -> None:
        self.place, self.columns, self.batch_rows = str(place), columns, batch_rows

    def __iter__(self) -> Any:
        info = get_worker_info()
        worker, n_workers = (0, 1) if info is None else (info.id, info.num_workers)
        sampler = lance.torch.data.ShardedBatchSampler(worker, n_workers, randomize=True, seed=1)
        return iter(
            lance.torch.data.LanceDataset(
                self.place, self.batch_rows, columns=self.columns, sampler=sampler, to_tensor_fn=lance_tensors
            )
        )


class ParquetGroups(IterableDataset):
    """Row groups of Parquet at random, some of which are mixed."""

    def __init__(self, place: Path, columns: list[str], batch_rows: int) -> None:
        self.place, self.columns, self.batch_rows = place, columns, batch_rows
        self.epoch = 0

    def __iter__(self) -> Any:
        info = get_worker_info()
        worker, n_workers = (0, 1) if info is None else (info.id, info.num_workers)
        file = pq.ParquetFile(self.place, memory_map=True)
        random = np.random.default_rng(self.epoch)
        self.epoch += 1
        groups = random.permutation(file.num_row_groups)[worker::n_workers]
        each = max(1, BUFFER_ROWS // n_workers // file.metadata.row_group(0).num_rows)
        for start in range(0, len(groups), each):
            mixed = file.read_row_groups(
                groups[start : start + each].tolist(), self.columns, use_threads=n_workers == 1
            )
            mixed = mixed.combine_chunks().take(random.permutation(len(mixed)))
            for at in range(0, len(mixed), self.batch_rows):
                yield to_tensors(mixed.slice(at, self.batch_rows))


class ParquetRows(Dataset):
    """Rows of Parquet by number. Groups that were read stay in memory, as many as fit."""

    def __init__(self, place: Path, columns: list[str]) -> None:
        self.place, self.columns = place, columns
        self.file: Any = None
        with pq.ParquetFile(place) as file:
            self.n_rows = file.metadata.num_rows
            self.group_rows = file.metadata.row_group(0).num_rows

    def __len__(self) -> int:
        return self.n_rows

    def group(self, number: int) -> pa.Table:
        if self.file is None:
            self.file, self.kept, self.bytes = pq.ParquetFile(self.place, memory_map=True), OrderedDict(), 0
        if number not in self.kept:
            self.kept[number] = self.file.read_row_group(number, self.columns).combine_chunks()
            self.bytes += self.kept[number].nbytes
            while self.bytes > CACHE_BYTES:
                self.bytes -= self.kept.popitem(last=False)[1].nbytes
        self.kept.move_to_end(number)
        return self.kept[number]

    def __getitems__(self, rows: list[int]) -> pa.Table:
        numbers = np.asarray(rows)
        order = np.argsort(numbers // self.group_rows, kind="stable")
        parts, at = [], 0
        found, counts = np.unique(numbers // self.group_rows, return_counts=True)
        for group, count in zip(found, counts, strict=True):
            parts.append(self.group(int(group)).take(numbers[order[at : at + count]] % self.group_rows))
            at += count
        # Back into the order that was asked for.
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(parts).combine_chunks().take(back)


def loaders(places: dict[str, Path], columns: list[str], batch_rows: int, n_workers: int) -> dict[str, Any]:
    """Functions that make each loader."""
    workers: dict[str, Any] = {"num_workers": n_workers}
    spawned = workers | ({"multiprocessing_context": "spawn"} if n_workers else {})
    place = places["tarsia"]

    def ours(shuffle: str) -> DataLoader:
        dataset = tarsia.torch.IterableDataset(
            place, columns, batch_size=batch_rows, shuffle=shuffle, buffer_rows=BUFFER_ROWS
        )
        return DataLoader(dataset, batch_size=None, **workers)

    def by_number(dataset: Any, collate: Any, options: dict[str, Any]) -> DataLoader:
        return DataLoader(dataset, batch_size=batch_rows, shuffle=True, collate_fn=collate, **options)

    return {
        "tarsia exact": functools.partial(ours, "exact"),
        "tarsia blocks": functools.partial(ours, "blocks"),
        "tarsia map": lambda: by_number(tarsia.torch.MapDataset(place, columns), tarsia.torch.collate, workers),
        "lance take": lambda: by_number(LanceRows(places["lance"], columns), to_tensors, spawned),
        "lance batches": lambda: DataLoader(
            LanceBatches(places["lance"], columns, batch_rows), batch_size=None, **spawned
        ),
        "parquet groups": lambda: DataLoader(
            ParquetGroups(places["parquet"], columns, batch_rows), batch_size=None, **workers
        ),
        "parquet rows": lambda: by_number(ParquetRows(places["parquet"], columns), to_tensors, workers),
    }


def lance_tensors(batch: Any, **_: Any) -> dict[str, Any]:
    return to_tensors(batch)


def rate(make: Any, seconds: float) -> float:
    """Rows per second of a loader, from its first batch on."""
    n_rows, begun = 0, 0.0
    reading = iter(make())
    next(reading)
    begun = time.perf_counter()
    elapsed = 0.0
    for batch in reading:
        n_rows += len(batch["label"])
        elapsed = time.perf_counter() - begun
        if elapsed > seconds:
            break
    del reading
    return n_rows / elapsed


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 2, 4])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--loaders", nargs="+", help="only those whose name begins so")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        kinds = [("vectors", vectors, given.rows, 256), ("images", images, given.images, 64)]
        for name, make, n_rows, batch_rows in kinds:
            if n_rows == 0:
                continue
            table = make(n_rows)
            places, columns = write(table, Path(folder), name), table.column_names
            del table
            print(f"\n{n_rows} {name}, rows per second\n")
            measured: dict[str, dict[int, float]] = {}
            for n_workers in given.workers:
                found = loaders(places, columns, batch_rows, n_workers)
                chosen = {
                    loader: make
                    for loader, make in found.items()
                    if given.loaders is None or any(loader.startswith(begin) for begin in given.loaders)
                }
                rates: dict[str, list[float]] = {loader: [] for loader in chosen}
                for _ in range(given.rounds):
                    for loader, make_loader in chosen.items():
                        rates[loader].append(rate(make_loader, given.seconds))
                for loader, values in rates.items():
                    measured.setdefault(loader, {})[n_workers] = statistics.median(values)
            show(measured, given.workers)


def show(measured: dict[str, dict[int, float]], workers: list[int]) -> None:
    """Prints a table, with ratios of the best of ours to the best of theirs."""
    print("| loader | " + " | ".join(f"{count} workers" for count in workers) + " |")
    print("|---|" + "---:|" * len(workers))
    for loader, rates in measured.items():
        print(f"| {loader} | " + " | ".join(f"{rates[count]:,.0f}" for count in workers) + " |")
    for title, is_peer in (
        ("of those that shuffle all rows", lambda loader: loader in ("lance take", "parquet rows")),
        ("of all", lambda loader: not loader.startswith("tarsia")),
    ):
        ratios = []
        for count in workers:
            best = {
                ours: max((rates[count] for loader, rates in measured.items() if chosen(loader)), default=float("nan"))
                for ours, chosen in ((True, lambda loader: loader.startswith("tarsia")), (False, is_peer))
            }
            ratios.append(f"{best[True] / best[False]:.2f}")
        print(f"| best Tarsia / best {title} | " + " | ".join(ratios) + " |")


if __name__ == "__main__":
    main()
