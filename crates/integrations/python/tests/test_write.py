"""New files."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bits import assert_same

import tarsia


@pytest.mark.want(14)
def test_a_writer_takes_tables_of_any_size(tmp_path: Path, numbers: pa.Table) -> None:
    path = tmp_path / "t.tarsia"
    with tarsia.Writer(path, numbers.schema) as writer:
        writer.write(numbers.slice(0, 50_000))
        assert not path.exists()
        for row in range(50_000, 50_500):
            writer.write(numbers.slice(row, 1))
        writer.write(numbers.slice(50_500).to_batches()[0])
        writer.write(numbers.slice(0, 0))
    assert writer.summary is not None and writer.summary["rows"] == 100_000
    assert_same(tarsia.open(path).to_pyarrow(), numbers)
    tarsia.write(numbers, tmp_path / "once.tarsia", deterministic=True)
    with tarsia.Writer(tmp_path / "parts.tarsia", numbers.schema, deterministic=True) as writer:
        for batch in numbers.to_batches(max_chunksize=777):
            writer.write(batch)
    assert (tmp_path / "once.tarsia").read_bytes() == (tmp_path / "parts.tarsia").read_bytes()


@pytest.mark.want(14)
def test_a_block_that_fails_leaves_no_file(tmp_path: Path, numbers: pa.Table) -> None:
    path = tmp_path / "t.tarsia"
    with pytest.raises(ZeroDivisionError):
        with tarsia.Writer(path, numbers.schema) as writer:
            writer.write(numbers)
            raise ZeroDivisionError
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError):
        with tarsia.Writer(path, numbers.schema) as writer:
            writer.write(numbers)
            raise RuntimeError
    assert path.read_bytes() == b"before"

    def failing() -> Any:
        yield numbers.to_batches()[0]
        raise LookupError("no more")

    reader = pa.RecordBatchReader.from_batches(numbers.schema, failing())
    with pytest.raises(tarsia.Error, match="no more"):
        tarsia.write(reader, path)
    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["t.tarsia"]


def test_a_writer_that_is_closed(tmp_path: Path, numbers: pa.Table) -> None:
    path = tmp_path / "t.tarsia"
    writer = tarsia.Writer(path, numbers.schema)
    # Another schema changes nothing.
    for wrong in (pa.table({"id": ["a"]}), numbers.select(["id"]), pa.table({"x": [1]})):
        with pytest.raises(tarsia.InvalidInput):
            writer.write(wrong)
    for wrong in (None, 5, "a", [1, 2], {"id": [1]}, object(), numbers.schema):
        with pytest.raises(TypeError, match="data is a table"):
            writer.write(wrong)
    writer.write(numbers)
    summary = writer.finish()
    assert writer.finish() == summary
    with pytest.raises(tarsia.InvalidInput, match="closed"):
        writer.write(numbers)
    writer.abandon()
    assert tarsia.open(path).num_rows == 100_000
    writer = tarsia.Writer(tmp_path / "u.tarsia", numbers.schema)
    writer.abandon()
    writer.abandon()
    with pytest.raises(tarsia.InvalidInput, match="closed"):
        writer.finish()
    # A writer that is forgotten leaves nothing, either.
    tarsia.Writer(tmp_path / "v.tarsia", numbers.schema).write(numbers)
    assert os.listdir(tmp_path) == ["t.tarsia"]


def test_columns_of_other_names_are_refused(tmp_path: Path) -> None:
    schema = pa.schema([("i", pa.int64()), ("j", pa.int64())])
    with tarsia.Writer(tmp_path / "x.tarsia", schema) as writer:
        for other in ({"j": [100], "i": [1]}, {"i": [7], "k": [8]}):
            with pytest.raises(tarsia.InvalidInput, match="in the order of the schema"):
                writer.write(pa.table(other))
        writer.write(pa.table({"i": [1], "j": [2]}))
    assert tarsia.open(tmp_path / "x.tarsia").to_pyarrow().to_pydict() == {"i": [1], "j": [2]}


def test_options_that_are_unknown(tmp_path: Path, numbers: pa.Table) -> None:
    with pytest.raises(TypeError, match="a writer has no option `nope`"):
        tarsia.write(numbers, tmp_path / "x.tarsia", nope=3)
    with pytest.raises(TypeError, match="a writer has no option `nope`"):
        tarsia.Writer(tmp_path / "x.tarsia", numbers.schema, nope=3)


def test_options_of_columns(tmp_path: Path) -> None:
    table = pa.table(
        {
            "origin": ["JFK", "LGA"] * 500,
            "vector": pa.array([[float(i), 0.1] for i in range(1000)], pa.list_(pa.float32(), 2)),
            "place": pa.array([{"x": i} for i in range(1000)], pa.struct([("x", pa.int32())])),
            "key": [i * 7919 % 1000 for i in range(1000)],
        }
    )
    path = tmp_path / "t.tarsia"
    columns = {
        "origin": {"encode": "dict(runend)", "zones": False, "erasure": 2},
        "vector": {"round": "bf16", "preset": "fast"},
        "place": {"layout": "packed"},
        "key": {"bloom": True},
    }
    tarsia.write(table, path, preset="compact", columns=columns, column_order=["place", "origin"], metadata={"k": "v"})
    file = tarsia.open(path)
    found = {column["name"]: column for column in file.inspect()["columns"]}
    assert found["origin"]["trees"][0]["tree"].startswith("dict(")
    assert (found["origin"]["erasure_level"], found["origin"]["zone_bytes"]) == (2, 0)
    assert found["place"]["place"] < found["origin"]["place"]
    assert (found["key"]["bloom_bytes"] > 0, found["origin"]["bloom_bytes"]) == (True, 0)
    assert file.scan(filter="key = 1001").to_pyarrow().num_rows == 0
    rounded = [column for name, column in found.items() if name.startswith("vector") and column["rounding"]]
    assert rounded[0]["rounding"].startswith("bf16")
    assert file.schema.metadata["k"] == "v"
    assert_same(file.scan(["origin"]).to_pyarrow().replace_schema_metadata(None), table.select(["origin"]))
    # Encodings of another file, by its name or as a file.
    for like in (path, file):
        again = tmp_path / "again.tarsia"
        tarsia.write(table, again, like=like)
        trees = [column["trees"] for column in tarsia.open(again).inspect()["columns"] if column["name"] == "origin"]
        assert trees == [found["origin"]["trees"]]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"preset": "best"}, tarsia.InvalidInput),
        ({"preset": 5}, TypeError),
        ({"kernels": "some"}, tarsia.InvalidInput),
        ({"columns": {"nothing": {"round": "bf16"}}}, tarsia.NoSuchColumn),
        ({"columns": {"nothing": {"layout": "packed"}}}, tarsia.NoSuchColumn),
        ({"columns": {"id": {"layout": "diagonal"}}}, tarsia.InvalidInput),
        ({"columns": {"id": {"layout": "packed"}}}, tarsia.InvalidInput),
        ({"columns": {"id": {"round": "bf16"}}}, tarsia.InvalidInput),
        ({"columns": {"id": {"encode": "nothing("}}}, tarsia.InvalidInput),
        ({"columns": {"id": {"colour": "red"}}}, TypeError),
        ({"columns": {"id": 5}}, TypeError),
        ({"columns": ["id"]}, TypeError),
        ({"columns": {"id": {"erasure": 3}}}, tarsia.InvalidInput),
        ({"columns": {"text": {"erasure": "strict"}}}, tarsia.InvalidInput),
        ({"erasure": True}, tarsia.InvalidInput),
        ({"metadata": {"tarsia.x": "1"}}, tarsia.InvalidInput),
        ({"metadata": {"a": 1}}, TypeError),
        ({"column_order": ["nothing"]}, tarsia.NoSuchColumn),
        ({"column_order": "id"}, TypeError),
        ({"page_bytes": -1}, tarsia.InvalidInput),
        ({"page_bytes": 0}, tarsia.InvalidInput),
        ({"columns": {"id": {"bloom": 1}}}, TypeError),
        ({"page_bytes": "large"}, TypeError),
        ({"threads": 0}, tarsia.InvalidInput),
        ({"deterministic": "yes"}, TypeError),
        ({"like": "nothing.tarsia"}, FileNotFoundError),
        ({"like": 5}, TypeError),
        ({"colour": "red"}, TypeError),
    ],
    ids=str,
)
def test_options_that_are_none(
    options: dict[str, Any], error: type[Exception], tmp_path: Path, numbers: pa.Table
) -> None:
    with pytest.raises(error):
        tarsia.write(numbers, tmp_path / "t.tarsia", **options)
    with pytest.raises(error):
        tarsia.Writer(tmp_path / "t.tarsia", numbers.schema, **options)
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path: Path, numbers: pa.Table) -> None:
    with pytest.raises(FileNotFoundError):
        tarsia.write(numbers, tmp_path / "nothing" / "t.tarsia")
    with pytest.raises(OSError):
        tarsia.write(numbers, tmp_path)
    for place in (None, 5, b"t.tarsia", 1.5, [], object()):
        with pytest.raises(TypeError):
            tarsia.write(numbers, place)
    with pytest.raises(TypeError):
        tarsia.write(numbers, "t.tarsia", "fast")
    for data in (None, 5, "table", {"a": [1]}, [1, 2, 3], b"a"):
        with pytest.raises(TypeError):
            tarsia.write(data, tmp_path / "t.tarsia")
    with pytest.raises(tarsia.InvalidInput):
        tarsia.write(pa.array([1, 2]), tmp_path / "t.tarsia")
    with pytest.raises(TypeError):
        tarsia.Writer(tmp_path / "t.tarsia", ["id"])
    with pytest.raises(tarsia.InvalidInput):
        tarsia.write(numbers, "ftp://host/t.tarsia")
    assert os.listdir(tmp_path) == []


def test_types_that_are_not_stored_are_refused_by_name(tmp_path: Path) -> None:
    inner = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["a"]))
    table = pa.table({"fine": [1], "codes": pa.DictionaryArray.from_arrays(pa.array([0]), inner)})
    with pytest.raises(tarsia.UnsupportedError) as found:
        tarsia.write(table, tmp_path / "t.tarsia")
    assert found.value.column == "codes"


def test_file_objects(numbers: pa.Table, tmp_path: Path) -> None:
    sink = io.BytesIO()
    summary = tarsia.write(numbers, sink)
    assert summary["file_bytes"] == len(sink.getvalue())
    assert_same(tarsia.open(sink.getvalue()).to_pyarrow(), numbers)
    with open(tmp_path / "t.tarsia", "wb") as file:
        tarsia.write(numbers, file)
    with open(tmp_path / "t.tarsia", "rb") as file:
        assert_same(tarsia.open(file).to_pyarrow(), numbers)

    class Full(io.RawIOBase):
        def write(self, _: Any) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(tarsia.Error, match="No space"):
        tarsia.write(numbers, Full())
    with pytest.raises(tarsia.Error):
        tarsia.write(numbers, io.StringIO())


@pytest.mark.want(15)
def test_a_wide_table(tmp_path: Path) -> None:
    columns = 2000
    table = pa.table({f"c{number}": pa.array([number, None, 3], pa.int32()) for number in range(columns)})
    tarsia.write(table, tmp_path / "t.tarsia")
    file = tarsia.open(tmp_path / "t.tarsia")
    assert file.num_columns == columns
    assert_same(file.to_pyarrow(), table)
    assert file.take([2, 0], ["c7", "c1999"]).to_pyarrow().to_pydict() == {"c7": [3, 7], "c1999": [3, 1999]}


def test_files_share_a_memory(tmp_path):
    memory = tarsia.WriterMemory()
    words = ["alder", "birch", "cedar", "elder", "hazel", "maple", "rowan"]
    text = [" ".join(words[(i * k) % 7] for k in range(1, 9)) for i in range(3000)]
    table = pa.table({"text": text, "number": list(range(3000))})
    for i in range(4):
        path = tmp_path / f"{i}.tarsia"
        part = table.slice(i * 100, 2000)
        tarsia.write(part, path, memory=memory)
        assert tarsia.open(path).to_pyarrow() == part
    assert memory.columns == 2
    with tarsia.Writer(tmp_path / "steps.tarsia", table.schema, memory=memory) as writer:
        writer.write(table)
    assert tarsia.open(tmp_path / "steps.tarsia").to_pyarrow() == table
    memory.clear()
    assert memory.columns == 0
    with pytest.raises(TypeError):
        tarsia.write(table, tmp_path / "x.tarsia", memory=64 << 20)
    assert not (tmp_path / "x.tarsia").exists()
