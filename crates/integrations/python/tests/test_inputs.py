"""Wrong input: of every argument of readers, and files that are damaged."""

from __future__ import annotations

import array
import io
import mmap
import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tarsia

ROWS = 2000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "text": [f"row {row % 17}" for row in range(ROWS)],
            "frames": [[row, row + 1, None][: row % 4] for row in range(ROWS)],
            "user": [{"name": f"u{row}", "ids": [row]} for row in range(ROWS)],
        }
    )


@pytest.fixture(scope="module")
def contents(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    tarsia.write(table, sink, page_bytes=1 << 13)
    return sink.getvalue()


@pytest.fixture
def file(contents: bytes) -> tarsia.File:
    return tarsia.open(contents)


def ids(batch: Any) -> list[int]:
    return batch.to_pyarrow().column("id").to_pylist()


@pytest.mark.want(11)
@pytest.mark.parametrize(
    "rows",
    [
        [5, 1, 1, 99],
        (5, 1, 1, 99),
        iter([5, 1, 1, 99]),
        np.array([5, 1, 1, 99]),
        np.array([5, 1, 1, 99], np.uint64),
        np.array([5, 1, 1, 99], np.int32),
        np.array([5, 0, 1, 0, 1, 0, 99, 0])[::2],
        np.array([5, 1, 1, 99]).astype(">i8"),
        [np.int64(5), 1, np.uint8(1), 99],
        array.array("q", [5, 1, 1, 99]),
        pa.array([5, 1, 1, 99]),
        pa.array([5, 1, 1, 99], pa.uint8()),
        pa.chunked_array([[5, 1], [1, 99]]),
        {5: 0, 1: 0, 99: 0}.keys() | {1},
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_rows_of_every_kind(rows: Any, file: tarsia.File) -> None:
    expected = [5, 1, 1, 99]
    if isinstance(rows, (set, frozenset)):
        expected = list(rows)
    assert ids(file.take(rows)) == expected


def test_ranges_are_rows(file: tarsia.File) -> None:
    assert ids(file.take(range(4, 0, -1))) == [4, 3, 2, 1]
    assert ids(file.scan(rows=range(10, 13)).read_all()) == [10, 11, 12]
    assert ids(file.scan(rows=slice(-3, None)).read_all()) == [1997, 1998, 1999]
    assert ids(file.scan(rows=slice(0, 10, 4)).read_all()) == [0, 4, 8]
    assert ids(file.scan(rows=range(0, 10, 4)).read_all()) == [0, 4, 8]
    assert ids(file.scan(rows=np.array([3, 7])).read_all()) == [3, 7]
    assert ids(file.scan(rows=[]).read_all()) == []
    assert ids(file.scan(rows=range(5, 2)).read_all()) == []


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([ROWS], tarsia.OutOfRange),
        ([-1], tarsia.OutOfRange),
        ([2**64], tarsia.OutOfRange),
        (np.array([-1]), tarsia.OutOfRange),
        (pa.array([-1]), tarsia.OutOfRange),
        (range(-1, 2), tarsia.OutOfRange),
        (range(ROWS - 1, ROWS + 1), tarsia.OutOfRange),
        (range(0, 10**15, 3), tarsia.LimitExceeded),
        (range(0, 10**30, 2), tarsia.LimitExceeded),
        ([1.0], TypeError),
        ([True], TypeError),
        (["1"], TypeError),
        ([None], TypeError),
        ("12", TypeError),
        (b"12", TypeError),
        (bytearray(b"12"), TypeError),
        (5, TypeError),
        (None, TypeError),
        (np.array([1.5]), TypeError),
        (np.array([[1, 2]]), TypeError),
        (pa.array([1.5]), TypeError),
        (pa.array(["a"]), TypeError),
        (pa.array([1, None]), tarsia.InvalidInput),
    ],
    ids=str,
)
def test_rows_that_are_none(rows: Any, error: type[Exception], file: tarsia.File) -> None:
    with pytest.raises(error):
        file.take(rows)
    with pytest.raises(error):
        file.element("frames[0]", rows)
    if rows is not None:
        with pytest.raises(error):
            file.scan(rows=rows).read_all()


def test_errors_of_rows_are_those_of_python_too() -> None:
    assert issubclass(tarsia.OutOfRange, (IndexError, ValueError))
    assert issubclass(tarsia.InvalidInput, ValueError)
    assert issubclass(tarsia.NoSuchColumn, LookupError)
    assert issubclass(tarsia.IoError, OSError)
    for name in tarsia.__all__:
        found = getattr(tarsia, name)
        if isinstance(found, type) and issubclass(found, Exception) and not issubclass(found, Warning):
            assert issubclass(found, tarsia.Error)
            error = found("text", "file", "column", 2, 3)
            copy = pickle.loads(pickle.dumps(error))
            assert (type(copy), copy.__dict__, str(copy)) == (found, error.__dict__, "text")


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        (["nothing"], tarsia.NoSuchColumn),
        (["user.nothing"], tarsia.NoSuchColumn),
        ("id", TypeError),
        (5, TypeError),
        ([5], TypeError),
        ([None], TypeError),
        ({"id": 1}.items(), TypeError),
    ],
    ids=str,
)
def test_columns_that_are_none(columns: Any, error: type[Exception], file: tarsia.File) -> None:
    with pytest.raises(error):
        file.scan(columns).read_all()
    with pytest.raises(error):
        file.take([1], columns)
    with pytest.raises(error):
        file.scan(columns).schema.names  # noqa: B018


def test_columns_inside_of_columns(file: tarsia.File) -> None:
    found = file.scan(["user.name", "id"], rows=range(2)).to_pyarrow().to_pydict()
    assert found == {"user": [{"name": "u0"}, {"name": "u1"}], "id": [0, 1]}
    assert file.element("frames[1]", [3, 0, 2]).to_pyarrow().column(0).to_pylist() == [4, None, 3]
    assert file.element("user.ids[0]", [3]).to_pyarrow().column(0).to_pylist() == [3]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("frames", None),
        ("frames[", tarsia.InvalidInput),
        ("frames[-1]", tarsia.InvalidInput),
        ("nothing[1]", tarsia.NoSuchColumn),
        ("id[1]", tarsia.NoSuchColumn),
        ("", tarsia.InvalidInput),
        (5, TypeError),
        (None, TypeError),
    ],
    ids=str,
)
def test_elements_that_are_none(path: Any, error: type[Exception] | None, file: tarsia.File) -> None:
    if error is None:
        assert file.element(path, [2]).num_rows == 1
        return
    with pytest.raises(error):
        file.element(path, [2])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"batch_size": 0}, tarsia.InvalidInput),
        ({"batch_size": -1}, tarsia.InvalidInput),
        ({"batch_size": 1.5}, TypeError),
        ({"batch_size": "1"}, TypeError),
        ({"batch_size": True}, TypeError),
        ({"limit": -1}, tarsia.InvalidInput),
        ({"limit": "1"}, TypeError),
        ({"rows": [2, 1]}, tarsia.InvalidInput),
        ({"rows": [1, 1]}, tarsia.InvalidInput),
        ({"colour": "red"}, TypeError),
    ],
    ids=str,
)
def test_scans_that_are_none(arguments: dict[str, Any], error: type[Exception], file: tarsia.File) -> None:
    with pytest.raises(error):
        file.scan(**arguments).read_all()


def test_limits_and_sizes_of_batches(file: tarsia.File) -> None:
    assert [len(batch) for batch in file.scan(batch_size=900)] == [900, 900, 200]
    assert ids(file.scan(limit=3).read_all()) == [0, 1, 2]
    assert file.scan(limit=0).to_pyarrow().num_rows == 0
    assert file.scan(limit=3).count() == 3
    numbered = file.scan([], rows=range(7, 9), row_numbers=True).to_pyarrow()
    assert numbered.to_pydict() == {tarsia.ROW_NUMBER: [7, 8]}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"access": "guess"}, tarsia.InvalidInput),
        ({"access": 5}, TypeError),
        ({"checksums": "rarely"}, tarsia.InvalidInput),
        ({"kernels": "all"}, tarsia.InvalidInput),
        ({"views": "yes"}, TypeError),
        ({"pool_bytes": -1}, tarsia.InvalidInput),
        ({"trusted_kernels": "ab"}, TypeError),
        ({"trusted_kernels": ["ab"]}, tarsia.InvalidInput),
        ({"trusted_kernels": ["é" * 32]}, tarsia.InvalidInput),
        ({"storage_options": "x"}, TypeError),
        ({"storage_options": {"region": 5}}, TypeError),
        ({"colour": "red"}, TypeError),
    ],
    ids=str,
)
def test_options_that_are_none(options: dict[str, Any], error: type[Exception], contents: bytes) -> None:
    with pytest.raises(error):
        tarsia.open(contents, **options)


def test_options_of_readers(contents: bytes, table: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "t.tarsia"
    path.write_bytes(contents)
    for options in ({"access": "read"}, {"checksums": "always"}, {"kernels": "forced"}, {"pool_bytes": 0}):
        assert tarsia.open(path, **options).to_pyarrow().equals(table), options


def test_places_of_every_kind(contents: bytes, tmp_path: Path) -> None:
    path = tmp_path / "Ærø t.tarsia"
    path.write_bytes(contents)
    with open(path, "rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        places = [
            path,
            str(path),
            f"file://{tmp_path}/Ærø%20t.tarsia",
            contents,
            bytearray(contents),
            memoryview(contents),
            np.frombuffer(contents, np.uint8),
            pa.py_buffer(contents),
            io.BytesIO(contents),
            handle,
            mapped,
            pa.BufferReader(contents),
        ]
        for place in places:
            assert ids(tarsia.open(place).take([7])) == [7], type(place)
    with tarsia.open(path) as file:
        assert "2000 rows" in repr(file)
    assert "closed" in repr(file)


@pytest.mark.parametrize("place", [None, 5, 1.5, [], {}, object(), pa.table({"a": [1]})], ids=lambda it: str(type(it)))
def test_places_that_are_none(place: Any) -> None:
    with pytest.raises(TypeError):
        tarsia.open(place)


def test_files_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError) as found:
        tarsia.open(tmp_path / "nothing.tarsia")
    assert found.value.filename == str(tmp_path / "nothing.tarsia")
    with pytest.raises(IsADirectoryError):
        tarsia.open(tmp_path)
    with pytest.raises(tarsia.InvalidInput):
        tarsia.open("ftp://host/file.tarsia")
    with pytest.raises(tarsia.InvalidInput):
        tarsia.open("s3://")
    with pytest.raises(ValueError):
        tarsia.open("a\0b")
    with pytest.raises(OSError):
        tarsia.open("http://127.0.0.1:9/t.tarsia")


def test_file_objects_that_fail(contents: bytes) -> None:
    class Broken(io.BytesIO):
        fails = False

        def read(self, *size: Any) -> bytes:
            if self.fails:
                raise RuntimeError("the disk is gone")
            return super().read(*size)

    source = Broken(contents)
    file = tarsia.open(source)
    source.fails = True
    with pytest.raises(tarsia.Error, match="the disk is gone"):
        file.to_pyarrow()
    with pytest.raises((tarsia.Error, OSError)):
        tarsia.open(io.StringIO("text"))
    closed = io.BytesIO(contents)
    closed.close()
    with pytest.raises((tarsia.Error, OSError, ValueError)):
        tarsia.open(closed)


def read_all_of(contents: bytes) -> None:
    """Reads whatever can be read; only errors of the package come out."""
    file = tarsia.open(contents)
    calls: list[Callable[[], Any]] = [
        lambda: file.schema,
        file.to_pyarrow,
        lambda: file.take([0, 1999]),
        lambda: file.element("frames[0]", [3]),
        lambda: file.count("id > 5"),
        file.inspect,
        file.verify,
        file.audit,
    ]
    failed = None
    for call in calls:
        try:
            call()
        except tarsia.Error as error:
            failed = error
    if failed is not None:
        raise failed


def test_files_that_are_cut_short(contents: bytes) -> None:
    draw = random.Random(5)
    lengths = [0, 1, 7, 8, 64, len(contents) - 1, *(draw.randrange(len(contents)) for _ in range(60))]
    for length in lengths:
        with pytest.raises(tarsia.Error):
            tarsia.open(contents[:length])


def test_files_with_flipped_bytes(contents: bytes) -> None:
    draw = random.Random(6)
    n_found = 0
    for _ in range(150):
        damaged = bytearray(contents)
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        try:
            read_all_of(bytes(damaged))
        except tarsia.Error as error:
            assert not isinstance(error, tarsia.InternalError), error
            n_found += 1
    # State slots of the header are not covered by digests.
    assert n_found > 140


def test_damage_is_named_with_its_place(table: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "t.tarsia"
    tarsia.write(table, path)
    (column,) = [column for column in tarsia.open(path).inspect()["columns"] if column["name"] == "id"]
    damaged = bytearray(path.read_bytes())
    damaged[column["place"] + column["encoded_bytes"] // 2] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(tarsia.CorruptError) as found:
        tarsia.open(path).scan(["id"]).read_all()
    error = found.value
    assert (error.file, error.column, error.page) == (str(path), "id", 0)
    assert error.block is not None
    assert os.path.basename(path) in str(error)


def test_batches_are_sliced_and_joined(written: Any, numbers: pa.Table) -> None:
    import numpy as np

    file = written(numbers)
    one, other = file.take([1, 2, 3]), file.take([8, 9])
    assert one.slice(1, 2).to_pyarrow().column("id").to_pylist() == [2, 3]
    assert len(one.slice(3, 0)) == 0
    for start, count in ((4, 0), (0, 4), (2, 2), (1, 2**64 - 1)):
        with pytest.raises(tarsia.OutOfRange):
            one.slice(start, count)

    def joined(batches: list[tarsia.Batch], batch_of_row: list[int], row_in_batch: list[int]) -> list[int]:
        batch = tarsia._tarsia.interleave(
            batches, np.array(batch_of_row, np.int64), np.array(row_in_batch, np.int64)
        )
        return batch.to_pyarrow().column("id").to_pylist()

    assert joined([one, other], [1, 0, 1, 0], [1, 0, 0, 0]) == [9, 1, 8, 1]
    assert joined([one], [], []) == []
    for batch_of_row, row_in_batch in (([2], [0]), ([-1], [0]), ([0], [3]), ([0], [-1])):
        with pytest.raises(tarsia.OutOfRange):
            joined([one, other], batch_of_row, row_in_batch)
    with pytest.raises(tarsia.InvalidInput):
        joined([one, other], [0, 1], [0])
    with pytest.raises(tarsia.InvalidInput, match="no batch"):
        joined([], [], [])
    with pytest.raises(tarsia.InvalidInput, match="other names"):
        joined([one, file.take([1], ["id"])], [0, 1], [0, 0])
