"""Loaders with workers: forked, spawned, killed, interrupted, resumed."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler

import tarsia
from tarsia.torch import Columns, IterableDataset, MapDataset, collate

METHODS = ["fork", "spawn", "forkserver"]
N_ROWS = 20_000
IS_LONG = os.environ.get("TARSIA_CASES") == "all"


def rows_of(batches: Any) -> list[int]:
    rows = []
    for batch in batches:
        # Each row is whole.
        assert torch.equal(batch["vector"][:, 0].long(), batch["id"])
        rows += batch["id"].tolist()
    return rows


@pytest.mark.want(1)
@pytest.mark.want(2)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("is_read_before", [False, True])
def test_workers_of_any_kind(method: str, is_read_before: bool, embeddings: Path) -> None:
    by_number = MapDataset(embeddings)
    in_order = IterableDataset(embeddings, batch_size=300, shuffle="exact", seed=5)
    expected = rows_of(in_order)
    if not is_read_before:
        by_number, in_order = (
            MapDataset(embeddings),
            IterableDataset(embeddings, batch_size=300, shuffle="exact", seed=5),
        )
    assert sorted(expected) == list(range(N_ROWS))
    options: Any = {"num_workers": 2, "multiprocessing_context": method}
    loader = DataLoader(by_number, batch_size=1000, shuffle=True, collate_fn=collate, **options)
    batches = list(loader)
    assert isinstance(batches[0], Columns)
    assert sorted(rows_of(batches)) == list(range(N_ROWS))
    assert rows_of(DataLoader(in_order, batch_size=None, **options)) == expected


@pytest.mark.want(10)
@pytest.mark.parametrize("method", METHODS)
def test_workers_that_stay_alive_see_new_epochs(method: str, embeddings: Path) -> None:
    dataset = IterableDataset(embeddings, batch_size=500, shuffle="exact")
    loader = DataLoader(
        dataset,
        batch_size=None,
        num_workers=2,
        multiprocessing_context=method,
        persistent_workers=True,
        pin_memory=True,
    )
    assert len(loader) == 40
    for epoch in (0, 1, 5, 1):
        dataset.set_epoch(epoch)
        found = rows_of(loader)
        plain = IterableDataset(embeddings, batch_size=500, shuffle="exact")
        plain.set_epoch(epoch)
        assert found == rows_of(plain)
    # And where to resume.
    dataset.load_state_dict({"epoch": 3, "rows": 15_000})
    plain.set_epoch(3)
    assert rows_of(loader) == rows_of(plain)[15_000:]


@pytest.mark.want(9)
def test_resumed_with_another_number_of_workers(embeddings: Path) -> None:
    def made() -> IterableDataset:
        return IterableDataset(embeddings, batch_size=128, shuffle="blocks", buffer_rows=2048, lanes=3)

    whole = rows_of(made())
    state: dict[str, Any] = {"epoch": 0, "rows": 0}
    used: list[int] = []
    for n_workers, n_batches in ((2, 31), (0, 17), (3, 50), (1, None)):
        dataset = made()
        dataset.load_state_dict(state)
        loader = DataLoader(dataset, batch_size=None, num_workers=n_workers)
        n_done = 0
        for n_done, batch in enumerate(loader, 1):
            used += rows_of([batch])
            if n_done == n_batches:
                break
        if n_workers > 0:
            # Workers are ahead of what was used: the data set does not know.
            with pytest.raises(tarsia.InvalidInput, match="state_after"):
                dataset.state_dict()
        state = dataset.state_after(n_done)
    assert used == whole


@pytest.mark.want(9)
@pytest.mark.parametrize(
    ("n_workers", "method", "n_batches"),
    [
        (0, "", 1),
        (0, "", 39),
        (1, "fork", 5),
        (3, "fork", 1),
        (3, "fork", 5),
        (3, "fork", 39),
        (2, "spawn", 5),
    ],
)
def test_the_stateful_loader_resumes(n_workers: int, method: str, n_batches: int, embeddings: Path) -> None:
    import torchdata.stateful_dataloader as stateful

    def made(epoch: int) -> Any:
        dataset = IterableDataset(embeddings, batch_size=512, shuffle="exact", seed=2)
        dataset.set_epoch(epoch)
        context = {"multiprocessing_context": method} if n_workers else {}
        return stateful.StatefulDataLoader(dataset, batch_size=None, num_workers=n_workers, **context)

    whole = rows_of(made(3).dataset)
    loader = made(3)
    reading = iter(loader)
    begun = rows_of([next(reading) for _ in range(n_batches)])
    state = loader.state_dict()
    del reading
    resumed = made(3)
    resumed.load_state_dict(state)
    assert begun + rows_of(resumed) == whole
    # The pass after it is whole again.
    resumed.dataset.set_epoch(4)
    assert rows_of(resumed) == rows_of(made(4).dataset)


@pytest.mark.want(10)
def test_ranks_with_workers(embeddings: Path) -> None:
    rows: list[int] = []
    for rank in range(3):
        dataset = IterableDataset(
            embeddings, batch_size=100, shuffle="blocks", lanes=6, rank=rank, world_size=3, even=False
        )
        rows += rows_of(DataLoader(dataset, batch_size=None, num_workers=2))
    assert sorted(rows) == list(range(N_ROWS))
    # Rows by number have PyTorch's own samplers.
    by_number = MapDataset(embeddings)
    rows = []
    for rank in range(4):
        sampler = DistributedSampler(by_number, num_replicas=4, rank=rank)
        rows += rows_of(DataLoader(by_number, batch_size=100, sampler=sampler, collate_fn=collate, num_workers=1))
    assert sorted(rows) == list(range(N_ROWS))


def test_the_group_of_torch_distributed(embeddings: Path, tmp_path: Path) -> None:
    code = """
import sys, torch
from torch.utils.data import DataLoader
import tarsia.torch
rank = int(sys.argv[3])
dataset = tarsia.torch.IterableDataset(sys.argv[1], ["id"], batch_size=100, shuffle="exact")
torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
for method in ("fork", "spawn"):
    loader = DataLoader(dataset, batch_size=None, num_workers=1, multiprocessing_context=method)
    rows = torch.cat([batch["id"] for batch in loader])
    parts = [torch.empty_like(rows) for _ in range(2)]
    torch.distributed.all_gather(parts, rows)
    assert sorted(torch.cat(parts).tolist()) == list(range(20_000))
torch.distributed.destroy_process_group()
"""
    script = tmp_path / "ranks.py"
    script.write_text('if __name__ == "__main__":\n    ' + code.strip().replace("\n", "\n    "))
    ranks = [
        subprocess.Popen([sys.executable, script, embeddings, tmp_path / "meeting", str(rank)]) for rank in range(2)
    ]
    assert [rank.wait(120) for rank in ranks] == [0, 0]


def test_lists_texts_and_bytes_come_from_workers(written: Any) -> None:
    table = pa.table(
        {
            "id": range(500),
            "tokens": [list(range(row % 7)) for row in range(500)],
            "text": [f"text {row}" for row in range(500)],
            "image": [os.urandom(20_000) for _ in range(500)],
        }
    )
    file = written(table)
    images = table.column("image").to_pylist()
    for binary in ("bytes", "tensors", "values_offsets"):
        # 2 MB in a batch: it goes by shared memory. A descriptor for each image would be too many.
        for batch_size in (10, 100):
            dataset = IterableDataset(file, batch_size=batch_size, shuffle="exact", binary=binary, ragged="padded")
            row = 0
            for batch in DataLoader(dataset, batch_size=None, num_workers=2):
                for at, number in enumerate(batch["id"].tolist()):
                    assert batch["tokens"][at, : batch["tokens_lengths"][at]].tolist() == list(range(number % 7))
                    assert batch["text"][at] == f"text {number}"
                    image = batch["image"]
                    if binary == "values_offsets":
                        image = image.values[image.offsets[at] : image.offsets[at + 1]]
                    else:
                        image = image[at]
                    assert (image if binary == "bytes" else bytes(image.numpy())) == images[number]
                    row += 1
            assert row == 500


def test_nested_tensors_come_from_workers(written: Any) -> None:
    file = written(pa.table({"tokens": [list(range(row % 7)) for row in range(50)]}))
    dataset = IterableDataset(file, batch_size=10, ragged="nested")
    batches = list(DataLoader(dataset, batch_size=None, num_workers=1))
    lists = [one.tolist() for batch in batches for one in batch["tokens"].unbind()]
    assert lists == [list(range(row % 7)) for row in range(50)]


@pytest.mark.parametrize("method", METHODS)
def test_a_worker_that_is_killed_is_an_error(method: str, embeddings: Path) -> None:
    dataset = IterableDataset(embeddings, batch_size=10, shuffle="exact")
    reading = iter(DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=method))
    next(reading)
    os.kill(reading._workers[0].pid, signal.SIGKILL)
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="exited unexpectedly|killed"):
        for _ in reading:
            pass
    assert time.monotonic() - started < 30
    del reading
    assert sorted(rows_of(dataset)) == list(range(N_ROWS))


def test_an_error_in_a_worker_is_told(written: Any) -> None:
    file = written(pa.table({"a": pa.array([1, None])}))
    dataset = IterableDataset(file, batch_size=2)
    with pytest.raises(tarsia.InvalidInput, match="null"):
        list(DataLoader(dataset, batch_size=None, num_workers=1))
    by_number = MapDataset(file)
    with pytest.raises(tarsia.OutOfRange):
        list(DataLoader(by_number, batch_sampler=[[0, 2]], collate_fn=collate, num_workers=1))
    # A file that was changed is told where it is opened again.
    file.close()
    tarsia.write(pa.table({"a": [1, 2]}), file._source)
    with pytest.raises(tarsia.FileChanged):
        list(DataLoader(MapDataset(file_that_changes(file._source)), num_workers=1, collate_fn=collate))


def test_what_a_worker_cannot_send_is_an_error(embeddings: Path) -> None:
    dataset = IterableDataset(embeddings, batch_size=2, collate=lambda batch: batch)
    assert next(iter(dataset)).num_rows == 2
    with pytest.raises(TypeError, match="to_pyarrow"):
        next(iter(DataLoader(dataset, batch_size=None, num_workers=1, timeout=20)))
    converted = IterableDataset(embeddings, batch_size=2, collate=lambda batch: batch.to_pyarrow())
    assert next(iter(DataLoader(converted, batch_size=None, num_workers=1, timeout=20))).num_rows == 2
    # Rows by number arrive as a list.
    loader = DataLoader(MapDataset(embeddings), batch_size=3, collate_fn=lambda rows: rows, num_workers=1, timeout=20)
    rows = next(iter(loader))
    assert [row["id"].item() for row in rows] == [0, 1, 2] and rows[2]["vector"].shape == (16,)


def file_that_changes(place: Any) -> tarsia.File:
    file = tarsia.open(place)
    tarsia.write(pa.table({"a": [3, 4, 5]}), place)
    return file


@pytest.mark.want(8)
@pytest.mark.parametrize("n_workers", [0, 2])
def test_an_interruption_ends_a_loop(n_workers: int, embeddings: Path) -> None:
    code = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from torch.utils.data import DataLoader
import tarsia.torch
dataset = tarsia.torch.IterableDataset(sys.argv[1], batch_size=4, shuffle="exact")
loader = DataLoader(dataset, batch_size=None, num_workers=int(sys.argv[2]))
try:
    while True:
        for number, batch in enumerate(loader):
            if number == 100:
                print("reading", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code, embeddings, str(n_workers)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    os.killpg(process.pid, signal.SIGINT)
    started = time.monotonic()
    found = process.communicate(timeout=30)[0]
    assert found.replace("reading\n", "") == "interrupted\n" and process.returncode == 0
    assert time.monotonic() - started < 10


@pytest.mark.want(1)
@pytest.mark.want(7)
def test_threads_read_while_workers_are_forked(embeddings: Path) -> None:
    dataset = MapDataset(embeddings)
    is_over = threading.Event()
    failed: list[BaseException] = []

    def read() -> None:
        random = np.random.default_rng()
        try:
            while not is_over.is_set():
                rows = random.integers(0, N_ROWS, 700)
                assert collate(dataset.__getitems__(rows))["id"].tolist() == rows.tolist()
        except BaseException as error:
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(4):
            loader = DataLoader(
                dataset, batch_size=1000, collate_fn=collate, num_workers=2, multiprocessing_context="fork"
            )
            assert rows_of(loader) == list(range(N_ROWS))
    finally:
        is_over.set()
        for reader in readers:
            reader.join()
    assert failed == []


def resident_bytes(process: int) -> int:
    """Memory of a process that is its own: no mapped files, nothing shared."""
    with open(f"/proc/{process}/statm") as statm:
        _, resident, shared, *_ = map(int, statm.read().split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def epochs(dataset: Any, n_workers: int, method: str, count: int) -> Iterator[int]:
    """Memory after each epoch, of this process and of workers that stay alive."""
    options: Any = {"num_workers": n_workers}
    if n_workers > 0:
        options |= {"persistent_workers": True, "multiprocessing_context": method}
    is_map = isinstance(dataset, MapDataset)
    by_number = {"batch_size": 500, "shuffle": True, "collate_fn": collate}
    loader = DataLoader(dataset, **(by_number if is_map else {"batch_size": None}), **options)
    for epoch in range(count):
        if not is_map:
            dataset.set_epoch(epoch)
        n_rows = sum(len(batch["id"]) for batch in loader)
        assert n_rows == N_ROWS
        gc.collect()
        workers = [worker.pid for worker in loader._iterator._workers] if n_workers > 0 else []
        yield sum(resident_bytes(process) for process in [os.getpid(), *workers])


LOADERS = [(0, "fork"), (2, "fork"), (2, "spawn"), (4, "fork"), (4, "spawn")]


@pytest.mark.want(3)
@pytest.mark.parametrize(("n_workers", "method"), LOADERS if IS_LONG else [(0, "fork"), (2, "fork"), (2, "spawn")])
@pytest.mark.parametrize("kind", ["map", "exact", "blocks"] if IS_LONG else ["map", "blocks"])
def test_memory_is_flat_over_epochs(kind: str, n_workers: int, method: str, embeddings: Path) -> None:
    if kind == "map":
        dataset: Any = MapDataset(embeddings)
    else:
        dataset = IterableDataset(embeddings, batch_size=500, shuffle=kind, buffer_rows=4096)
    found = list(epochs(dataset, n_workers, method, 200 if IS_LONG else 40))
    after = 20 if IS_LONG else 10
    # An epoch reads 1.6 MB. The middle of the last epochs against that of those after the first.
    begun, ended = (sorted(part)[len(part) // 2] for part in (found[after : after + 10], found[-10:]))
    assert ended < begun * 1.05, found
