"""Rows by number, and which rows there are: several files, deleted rows, filters."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import torch

import tarsia
from tarsia.torch import IterableDataset, MapDataset, Rows, collate


def ids(dataset: MapDataset, rows: Any = None) -> list[int]:
    taken = dataset.__getitems__(range(len(dataset)) if rows is None else rows)
    return collate(taken)["id"].tolist()


def numbered(first: int, count: int) -> pa.Table:
    texts = pa.array([f"row {at}" for at in range(count)], pa.string())
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "text": texts})


def test_rows_of_one_file(written: Any) -> None:
    dataset = MapDataset(written(numbered(0, 1000)))
    assert len(dataset) == 1000
    assert dataset[0] == {"id": torch.tensor(0), "text": "row 0"} and dataset[-1]["id"].item() == 999
    assert dataset[np.int64(5)]["id"].item() == dataset[torch.tensor(5)]["id"].item() == 5
    assert dataset[-1000]["id"].item() == 0
    for wrong in (1000, -1001, 2**70, -(2**70)):
        with pytest.raises(IndexError):
            dataset[wrong]
        with pytest.raises(tarsia.OutOfRange):
            dataset.__getitems__([1, wrong])
    for wrong in (1.0, "1", None, True, [1], slice(0, 2)):
        with pytest.raises(TypeError):
            dataset[wrong]
    # `for row in dataset` ends.
    assert sum(1 for _ in MapDataset(written(numbered(0, 3)))) == 3


@pytest.mark.want(11)
def test_rows_of_a_batch_are_taken_with_one_call(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = MapDataset(written(numbered(0, 1000)))
    calls: list[int] = []
    take = tarsia.File.take
    monkeypatch.setattr(tarsia.File, "take", lambda *given: (calls.append(len(given[1])), take(*given))[1])
    rows = dataset.__getitems__([7, -1, 7])
    assert isinstance(rows, Rows) and len(rows) == 3 and calls == [3]
    assert rows[1]["text"] == "row 999" and [row["id"].item() for row in rows] == [7, 999, 7]
    assert [row["text"] for row in rows[1:]] == ["row 999", "row 7"] and rows.batch.num_rows == 3
    assert collate(rows)["id"].tolist() == [7, 999, 7]
    # What PyTorch itself does with them is the same.
    assert torch.utils.data.default_collate(rows)["id"].tolist() == [7, 999, 7]
    for given in (np.array([3, 2]), torch.tensor([3, 2]), range(3, 1, -1), (3, 2), np.array([3, 2], np.uint8)):
        assert ids(dataset, given) == [3, 2]
    assert ids(dataset, []) == []
    with pytest.raises(IndexError):
        rows[3]


def test_a_transform_is_of_one_row(written: Any) -> None:
    dataset = MapDataset(written(numbered(0, 10)), ["id"], transform=lambda row: row["id"] * 2)
    assert dataset[3].item() == 6 and [value.item() for value in dataset.__getitems__([1, 2])] == [2, 4]
    assert collate(dataset.__getitems__([1, 2])).tolist() == [2, 4]
    with pytest.raises(TypeError, match="function"):
        MapDataset(written(numbered(0, 10)), transform=3)


def test_several_files_are_one(written: Any) -> None:
    files = [written(numbered(first, count)) for first, count in ((0, 700), (700, 1), (701, 0), (701, 1299))]
    dataset = MapDataset(files)
    assert len(dataset) == 2000 and ids(dataset) == list(range(2000))
    rows = np.random.default_rng(1).integers(0, 2000, 500)
    assert ids(dataset, rows) == rows.tolist()
    assert dataset[-1]["id"].item() == 1999 and dataset[700]["text"] == "row 0"
    assert ids(MapDataset([file._source for file in files], threads=1), [1999, 0]) == [1999, 0]
    assert ids(MapDataset([Path(files[0]._source), files[3]]), [700]) == [701]
    nullable = written(
        pa.table(
            {"id": pa.array([5]), "text": ["x"]},
            pa.schema([pa.field("id", pa.int64(), nullable=False), ("text", pa.string())]),
        )
    )
    assert ids(MapDataset([nullable, files[0]]), [3, 0]) == [2, 5]


def test_files_that_do_not_fit_together_are_refused(written: Any) -> None:
    first = written(numbered(0, 5))
    for other in ({"id": pa.array([1], pa.int32()), "text": ["x"]}, {"id": [1]}, {"text": ["x"], "id": [1]}):
        with pytest.raises(tarsia.InvalidInput, match="different columns") as raised:
            MapDataset([first, written(pa.table(other))])
        assert raised.value.file is not None
    # The columns that are read are what counts.
    assert len(MapDataset([first, written(pa.table({"text": ["x"], "id": [1]}))], ["id", "text"])) == 6
    with pytest.raises(tarsia.NoSuchColumn):
        MapDataset([first, written(pa.table({"id": [1]}))], ["text"])
    for wrong in ([], ()):
        with pytest.raises(tarsia.InvalidInput, match="no files"):
            MapDataset(wrong)
    with pytest.raises(TypeError):
        MapDataset(5)
    with pytest.raises(FileNotFoundError):
        MapDataset("not there.tarsia")
    with pytest.raises(TypeError, match="not one name"):
        MapDataset(first, "id")
    with pytest.raises(tarsia.InvalidInput, match="threads"):
        MapDataset(first, threads=2)


@pytest.mark.want(6)
def test_deleted_rows_are_no_rows(written: Any) -> None:
    random = np.random.default_rng(5)
    for deleted in ([0], [999], [0, 1, 2, 500, 998, 999], random.permutation(1000)[:400].tolist(), list(range(1000))):
        first, second = (written(numbered(at, 1000), erasure=2) for at in (0, 1000))
        first.close()
        tarsia.erase(first._source, rows=deleted)
        left = sorted(set(range(2000)) - set(deleted))
        dataset = MapDataset([first._source, second])
        assert len(dataset) == len(left) and ids(dataset) == left
        some = random.integers(0, len(left), 100)
        assert ids(dataset, some) == [left[row] for row in some]
        shuffled = IterableDataset([first._source, second], ["id"], batch_size=64, shuffle="exact")
        assert sorted(row for batch in shuffled for row in batch["id"].tolist()) == left


@pytest.mark.want(6)
def test_a_filter_chooses_rows(written: Any) -> None:
    file = written(numbered(0, 5000), erasure=2)
    file.close()
    tarsia.erase(file._source, rows=list(range(0, 5000, 7)))
    expected = [row for row in range(5000) if row % 7 and row % 3 == 0]
    numbers = [row for row in range(5000) if row % 7 and row < 100]
    for filter in (
        "id < 100",
        pc.field("id") < 100,
        pl.col("id") < 100,
    ):
        assert ids(MapDataset(file._source, ["id"], filter=filter)) == numbers
    # This one is evaluated by its library.
    assert ids(MapDataset(file._source, ["id"], filter=pl.col("id") % 3 == 0)) == expected
    found = MapDataset(file._source, ["text"], filter="id = 8")
    assert len(found) == 1 and found[0] == {"text": "row 8"}
    empty = MapDataset(file._source, filter="id < 0")
    assert len(empty) == 0
    with pytest.raises(IndexError):
        empty[0]
    assert list(IterableDataset(file._source, batch_size=5, filter="id < 0", shuffle="exact")) == []
    with pytest.raises(tarsia.InvalidFilter):
        MapDataset(file._source, filter="text + ")


@pytest.mark.want(2)
def test_data_sets_are_pickled(written: Any) -> None:
    file = written(numbered(0, 1000))
    dataset = MapDataset(file, ["id"], filter="id >= 10")
    text = pickle.dumps(dataset)
    assert len(text) < 5000
    assert ids(pickle.loads(text), [0, -1]) == [10, 999]
    shuffled = IterableDataset(file, ["id"], batch_size=10, shuffle="exact", rank=1, world_size=2)
    copy = pickle.loads(pickle.dumps(shuffled))
    assert [batch["id"].tolist() for batch in copy] == [batch["id"].tolist() for batch in shuffled]
    file.close()
    tarsia.write(numbered(5, 1000), file._source)
    with pytest.raises(tarsia.FileChanged):
        pickle.loads(text)[0]


def test_a_thousand_files(tmp_path: Path) -> None:
    for number in range(300):
        tarsia.write(numbered(number * 10, 10), tmp_path / f"{number:03}.tarsia", deterministic=True)
    dataset = MapDataset(sorted(tmp_path.iterdir()), ["id"])
    rows = np.random.default_rng(1).permutation(3000)
    assert ids(dataset, rows) == rows.tolist()
