"""Batches in an order: epochs, ranks, states."""

from __future__ import annotations

import copy
import json
import os
import pickle
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.utils.data import DataLoader

import tarsia
from tarsia.torch import IterableDataset, _iterable

N_CASES = 20_000 if os.environ.get("TARSIA_CASES") == "all" else 1000


def numbered(count: int, first: int = 0) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


def rows_of(batches: Any) -> list[int]:
    return [row for batch in batches for row in batch["id"].tolist()]


@pytest.fixture
def as_worker(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets which worker of a loader this process is taken for."""

    def set(worker: int | None, n_workers: int = 0) -> None:
        info = None if worker is None else types.SimpleNamespace(id=worker, num_workers=n_workers)
        monkeypatch.setattr(_iterable, "get_worker_info", lambda: info)

    return set


@pytest.mark.parametrize("shuffle", [None, "exact", "blocks"])
def test_an_epoch_has_each_row_once(shuffle: str | None, written: Any) -> None:
    file = written(numbered(1000))
    dataset = IterableDataset(file, batch_size=64, shuffle=shuffle, buffer_rows=256, run_rows=16, seed=3)
    batches = list(dataset)
    assert len(batches) == len(dataset) == 16 and [len(batch["id"]) for batch in batches] == [64] * 15 + [40]
    rows = rows_of(batches)
    assert sorted(rows) == list(range(1000)) and (rows == list(range(1000))) == (shuffle is None)
    # Without another epoch it is the same order, with one it is another, and the first again later.
    assert rows_of(dataset) == rows
    dataset.set_epoch(1)
    assert (rows_of(dataset) == rows) == (shuffle is None)
    dataset.set_epoch(0)
    assert rows_of(dataset) == rows
    # The order does not depend on the size of batches.
    assert rows_of(IterableDataset(file, batch_size=7, shuffle=shuffle, buffer_rows=256, run_rows=16, seed=3)) == rows
    dropped = IterableDataset(file, batch_size=64, shuffle=shuffle, drop_last=True)
    assert len(dropped) == 15 == len(list(dropped))


def test_single_rows(written: Any) -> None:
    file = written(numbered(100))
    dataset = IterableDataset(file, batch_size=None, shuffle="exact", seed=1)
    rows = [row["id"].item() for row in dataset]
    assert sorted(rows) == list(range(100)) and len(dataset) == 100
    assert rows == rows_of(IterableDataset(file, batch_size=10, shuffle="exact", seed=1))
    loader = DataLoader(dataset, batch_size=8)
    assert rows_of(loader) == rows
    with pytest.raises(tarsia.InvalidInput, match="collate"):
        IterableDataset(file, batch_size=None, collate=lambda batch: batch)


def test_collate_and_transform(written: Any) -> None:
    file = written(pa.table({"id": range(100), "price": pa.array([None] * 100, pa.decimal128(5, 2))}))
    dataset = IterableDataset(file, batch_size=32, collate=lambda batch: batch.to_pyarrow())
    assert pa.Table.from_batches(list(dataset)) == file.to_pyarrow()
    dataset = IterableDataset(file, ["id"], batch_size=32, transform=lambda batch: batch["id"].sum().item())
    assert sum(dataset) == 4950
    with pytest.raises(tarsia.UnsupportedError):
        IterableDataset(file, batch_size=32)


@pytest.mark.want(10)
@pytest.mark.parametrize("shuffle", [None, "exact", "blocks"])
def test_ranks_share_an_epoch(shuffle: str | None, written: Any) -> None:
    file = written(numbered(1003))
    for world_size in (1, 2, 3, 7):
        ranks = [
            IterableDataset(file, batch_size=16, shuffle=shuffle, rank=rank, world_size=world_size)
            for rank in range(world_size)
        ]
        rows = [rows_of(rank) for rank in ranks]
        assert len({len(of) for of in rows}) == 1 and len({len(rank) for rank in ranks}) == 1
        both = [row for of in rows for row in of]
        assert set(both) == set(range(1003)) and len(both) - 1003 < world_size
        exact = [
            IterableDataset(file, batch_size=16, shuffle=shuffle, rank=rank, world_size=world_size, even=False)
            for rank in range(world_size)
        ]
        assert sorted(row for rank in exact for row in rows_of(rank)) == list(range(1003))


@pytest.mark.want(9)
@pytest.mark.want(10)
def test_resumed_at_any_batch_with_other_ranks_workers_and_sizes(written: Any, as_worker: Any) -> None:
    """Passes are broken off after any batch; the next one has other ranks, workers and sizes of batches."""
    file = written(numbered(611))
    random = np.random.default_rng(11)
    for _ in range(N_CASES):
        kind = (None, "exact", "blocks")[random.integers(0, 3)]
        run, buffer, lanes = (int(size) for size in random.integers(1, [40, 300, 5]))
        state: dict[str, Any] = {"epoch": int(random.integers(0, 5)), "rows": 0}
        taken: list[int] = []
        for part in range(3):
            world_size, n_workers, batch = (int(count) for count in random.integers(1, [4, 4, 60]))
            ranks = []
            for rank in range(world_size):
                options = {"shuffle": kind, "run_rows": run, "buffer_rows": buffer, "lanes": lanes, "even": False}
                dataset = IterableDataset(file, batch_size=batch, rank=rank, world_size=world_size, **options)
                dataset.load_state_dict(json.loads(json.dumps(state)))
                ranks.append(dataset)
            n_batches = max(len(dataset) for dataset in ranks)
            n_done = n_batches if part == 2 else int(random.integers(0, n_batches + 1))
            for dataset in ranks:
                taken += [row for batch in given(dataset, n_workers, n_done, as_worker) for row in batch["id"].tolist()]
            as_worker(None)
            state = max(ranks, key=len).state_after(n_done)
        assert sorted(taken) == list(range(611)), (kind, run, buffer, lanes)


def given(dataset: IterableDataset, n_workers: int, count: int, as_worker: Any) -> Iterator[Any]:
    """The first batches that a loader with so many workers gives."""
    workers = []
    for worker in range(n_workers):
        as_worker(worker, n_workers)
        workers.append(iter(dataset))
        dataset._resumed = None
    for number in range(count):
        batch = next(workers[number % n_workers], None)
        if batch is None:
            return
        yield batch


@pytest.mark.want(9)
def test_workers_do_not_change_the_order(written: Any, as_worker: Any) -> None:
    file = written(numbered(500))
    for shuffle in (None, "exact", "blocks"):
        dataset = IterableDataset(file, batch_size=16, shuffle=shuffle)
        expected = rows_of(dataset)
        for n_workers in (1, 2, 3, 5, 40):
            assert rows_of(given(dataset, n_workers, len(dataset), as_worker)) == expected
            as_worker(None)


@pytest.mark.want(9)
def test_states_in_a_loop(written: Any) -> None:
    file = written(numbered(1000))
    dataset = IterableDataset(file, batch_size=30, shuffle="exact", seed=9)
    dataset.set_epoch(4)
    whole = list(dataset)
    reading = iter(dataset)
    begun = [next(reading) for _ in range(7)]
    state = json.loads(json.dumps(dataset.state_dict()))
    assert (state["epoch"], state["rows"]) == (4, 210) and state == dataset.state_after(7)
    other = IterableDataset(file, batch_size=30, shuffle="exact", seed=9)
    other.load_state_dict(state)
    # The loop sets the epoch before each pass, also before the one that is resumed.
    other.set_epoch(4)
    assert len(other) == len(whole) - 7
    assert rows_of(begun) + rows_of(other) == rows_of(whole)
    assert other.state_dict()["rows"] == 1000
    # The passes after it are whole, with another epoch and without.
    assert rows_of(other) == rows_of(whole)
    other.load_state_dict({"epoch": 4, "rows": 210})
    assert rows_of(begun) + rows_of(other) == rows_of(whole)
    other.set_epoch(5)
    assert len(rows_of(other)) == 1000
    # At the end of an epoch there is nothing left of it.
    other.load_state_dict({"epoch": 4, "rows": 1000})
    assert list(other) == [] and len(other) == 34
    other.set_epoch(5)
    assert len(rows_of(other)) == 1000


@pytest.mark.want(9)
def test_states_that_do_not_fit_are_refused(written: Any, as_worker: Any) -> None:
    file = written(numbered(1000), erasure=2)
    state = IterableDataset(file, batch_size=30, shuffle="blocks", seed=9).state_after(3)
    for other in (
        {"seed": 8},
        {"shuffle": "exact"},
        {"shuffle": None},
        {"run_rows": 3},
        {"buffer_rows": 5},
        {"lanes": 2},
        {"filter": "id > 3"},
    ):
        dataset = IterableDataset(file, **({"batch_size": 30, "shuffle": "blocks", "seed": 9} | other))
        with pytest.raises(tarsia.InvalidInput, match="state"):
            dataset.load_state_dict(state)
    dataset = IterableDataset(file, batch_size=30, shuffle="blocks", seed=9)
    for wrong in ({}, {"epoch": 1}, {"rows": 5}, {"epoch": 0, "rows": 1001}, {"epoch": -1, "rows": 0}):
        with pytest.raises(tarsia.InvalidInput):
            dataset.load_state_dict(wrong)
    for wrong in (None, 5, [1], {"epoch": "1", "rows": 0}, {"epoch": 1, "rows": 1.5}, {"epoch": True, "rows": 0}):
        with pytest.raises(TypeError):
            dataset.load_state_dict(wrong)
    with pytest.raises(tarsia.InvalidInput, match="35 batches"):
        dataset.state_after(35)
    # What is refused changes nothing.
    assert dataset.state_dict()["rows"] == 0
    # A state of one worker is for that worker.
    as_worker(1, 2)
    next(iter(dataset))
    of_worker = dataset.state_dict()
    as_worker(0, 2)
    with pytest.raises(tarsia.InvalidInput, match="worker 1, here it is 0"):
        dataset.load_state_dict(of_worker)
    as_worker(1, 3)
    with pytest.raises(tarsia.InvalidInput, match="num_workers 2, here it is 3"):
        dataset.load_state_dict(of_worker)
    as_worker(None)
    with pytest.raises(tarsia.InvalidInput, match="state_after"):
        dataset.load_state_dict(of_worker)
    # Rows were erased since.
    source = file._source
    file.close()
    tarsia.erase(source, rows=[3])
    changed = IterableDataset(source, batch_size=30, shuffle="blocks", seed=9)
    with pytest.raises(tarsia.InvalidInput, match="other files"):
        changed.load_state_dict(state)


def test_copies_have_an_epoch_of_their_own(written: Any) -> None:
    dataset = IterableDataset(written(numbered(100)), batch_size=10, shuffle="exact")
    dataset.set_epoch(3)
    for copied in (copy.copy(dataset), copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert copied.epoch == 3 and rows_of(copied) == rows_of(dataset)
        copied.set_epoch(5)
        assert dataset.epoch == 3
        # Workers that are forked see it.
        loader = DataLoader(copied, batch_size=None, num_workers=1, persistent_workers=True)
        first = rows_of(loader)
        copied.set_epoch(6)
        assert rows_of(loader) != first


def test_wrong_arguments_are_refused(written: Any) -> None:
    file = written(numbered(10))
    for wrong in (
        {"batch_size": 0},
        {"shuffle": "random"},
        {"shuffle": True},
        {"seed": -1},
        {"seed": 1 << 64},
        {"run_rows": 0},
        {"buffer_rows": 0},
        {"lanes": 0},
        {"rank": 0},
        {"world_size": 1},
        {"rank": 2, "world_size": 2},
        {"rank": -1, "world_size": 2},
        {"rank": 0, "world_size": 0},
    ):
        with pytest.raises(tarsia.InvalidInput):
            IterableDataset(file, **({"batch_size": 2} | wrong))
    for wrong in ({"batch_size": 1.5}, {"batch_size": True}, {"seed": "1"}, {"collate": 1}, {"transform": "x"}):
        with pytest.raises(TypeError):
            IterableDataset(file, **({"batch_size": 2} | wrong))
    with pytest.raises(TypeError):
        IterableDataset(file)
    dataset = IterableDataset(file, batch_size=3)
    for wrong in (1.0, None, "1"):
        with pytest.raises(TypeError):
            dataset.set_epoch(wrong)
    with pytest.raises(tarsia.InvalidInput):
        dataset.set_epoch(-1)
    dataset.set_epoch((1 << 63) - 1)
    assert sorted(rows_of(dataset)) == list(range(10))
    with pytest.raises(tarsia.InvalidInput):
        dataset.set_epoch(1 << 63)


def test_the_rank_is_that_of_torch_distributed(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(numbered(100))
    dataset = IterableDataset(file, batch_size=10)
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    assert rows_of(dataset) == [row for row in range(100) if row // 10 % 2 == 1]
    # A spawned worker knows nothing of it.
    state = dataset.__getstate__()
    monkeypatch.undo()
    copy = IterableDataset.__new__(IterableDataset)
    copy.__dict__.update(state)
    assert copy._ranks() == (1, 2)
    assert rows_of(IterableDataset(file, batch_size=10, rank=0, world_size=1)) == list(range(100))


def test_large_rows_are_read_few_at_a_time(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = tarsia.File.take
    monkeypatch.setattr(tarsia.File, "take", lambda *given: (taken.append(len(given[1])), take(*given))[1])
    images = written(pa.table({"id": range(300), "image": [os.urandom(100_000) for _ in range(300)]}))
    assert len(rows_of(IterableDataset(images, batch_size=10, shuffle="exact"))) == 300
    assert max(taken) <= 50
    taken.clear()
    numbers = written(numbered(50_000))
    assert len(rows_of(IterableDataset(numbers, batch_size=10, shuffle="exact"))) == 50_000
    assert max(taken) == 8190 and len(taken) < 12
