"""Arrow types, both ways."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import pickle
import uuid
from typing import Any

import pyarrow as pa
import pytest
from bits import assert_same

import tarsia

NAN = float("nan")
DAY = dt.date(2024, 2, 29)
TIME = dt.time(23, 59, 59, 999999)
MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 999999)
SHORT = MOMENT.replace(microsecond=0)
SPAN = dt.timedelta(days=3, seconds=5)


def number(text: str) -> decimal.Decimal:
    return decimal.Decimal(text)


def case(of: pa.DataType, *values: Any) -> Any:
    return pytest.param(pa.array([*values, None, *reversed(values)], of), id=str(of))


def integers() -> list[Any]:
    found = []
    for bits in (8, 16, 32, 64):
        signed, unsigned = getattr(pa, f"int{bits}")(), getattr(pa, f"uint{bits}")()
        found.append(case(signed, -(2 ** (bits - 1)), 0, 2 ** (bits - 1) - 1))
        found.append(case(unsigned, 0, 1, 2**bits - 1))
    return found


def units() -> list[Any]:
    found = []
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Amsterdam", "+05:30"):
            found.append(case(pa.timestamp(unit, zone), -1, 0, 1_700_000_000))
        found.append(case(pa.duration(unit), -1, 0, 86_400))
    return found


def decimals() -> list[Any]:
    return [
        case(pa.decimal32(7, 2), number("-12345.67"), number("0.01")),
        case(pa.decimal64(16, 4), number("-123456789012.3456"), number("0.0001")),
        case(pa.decimal128(38, 10), number("1e27"), number("-0.0000000001")),
        case(pa.decimal256(76, 0), number("9" * 76), number("-1")),
    ]


def nested() -> list[Any]:
    point = pa.struct([("x", pa.float32()), ("y", pa.list_(pa.string()))])
    return [
        case(pa.list_(pa.int32()), [1, None], []),
        case(pa.large_list(pa.string()), ["a", None], []),
        case(pa.list_view(pa.int32()), [1, None], []),
        case(pa.large_list_view(pa.int32()), [1, None], []),
        case(pa.list_(pa.float32(), 3), [1.5, NAN, -0.0], [1, None, 3]),
        case(pa.list_(pa.field("element", pa.int8(), nullable=False)), [1, 2], []),
        case(point, {"x": -0.0, "y": ["a", None]}, {"x": None, "y": None}),
        case(pa.list_(point), [{"x": 1, "y": []}, None], []),
        case(pa.map_(pa.string(), pa.int32()), [("a", 1), ("b", None)], []),
        case(pa.map_(pa.string(), pa.list_(pa.int8())), [("a", [1])], []),
        case(pa.struct([]), {}, {}),
    ]


def coded() -> list[Any]:
    words = pa.array(["b", "a", None, "b"])
    found = []
    for index in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32()):
        of = pa.dictionary(index, pa.string())
        found.append(pytest.param(words.cast(of), id=str(of)))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array(["a", "b"]))
    tags = pa.array([0, 1, 0], pa.int8())
    children = [pa.array([1, 2, 3]), pa.array(["x", "y", "z"])]
    dense = pa.UnionArray.from_dense(tags, pa.array([0, 0, 1], pa.int32()), children)
    return [
        *found,
        pytest.param(runs, id="run_end_encoded"),
        pytest.param(pa.UnionArray.from_sparse(tags, children), id="sparse_union"),
        pytest.param(dense, id="dense_union"),
    ]


def extensions() -> list[Any]:
    ids = pa.array([uuid.UUID(int=7).bytes, None], pa.binary(16))
    tensors = pa.fixed_shape_tensor(pa.float32(), [2, 2])
    grid = pa.array([[1.0, 2.0, 3.0, 4.0], None], pa.list_(pa.float32(), 4))
    flags = pa.array([1, 0, None], pa.int8())
    texts = pa.array(['{"a": 1}', None])
    return [
        pytest.param(pa.ExtensionArray.from_storage(pa.uuid(), ids), id="uuid"),
        pytest.param(pa.ExtensionArray.from_storage(tensors, grid), id="fixed_shape_tensor"),
        pytest.param(pa.ExtensionArray.from_storage(pa.bool8(), flags), id="bool8"),
        pytest.param(pa.ExtensionArray.from_storage(pa.json_(), texts), id="json"),
    ]


ARRAYS = [
    case(pa.null()),
    case(pa.bool_(), True, False),
    *integers(),
    case(pa.float16(), 1.5, -0.0, NAN, math.inf),
    case(pa.float32(), 1.5, -0.0, NAN, -math.inf),
    case(pa.float64(), 0.1, -0.0, NAN, math.inf),
    case(pa.string(), "", "Ærø", "a\0b"),
    case(pa.large_string(), "", "Ærø"),
    case(pa.string_view(), "", "a text that is longer than twelve bytes"),
    case(pa.binary(), b"", b"\xff\0"),
    case(pa.large_binary(), b"", b"\xff\0"),
    case(pa.binary_view(), b"", b"bytes that are longer than twelve"),
    case(pa.binary(5), b"abcde", b"\0\0\0\0\0"),
    case(pa.date32(), DAY),
    case(pa.date64(), DAY),
    case(pa.time32("s"), TIME.replace(microsecond=0)),
    case(pa.time32("ms"), TIME.replace(microsecond=999000)),
    case(pa.time64("us"), TIME),
    case(pa.time64("ns"), TIME),
    case(pa.month_day_nano_interval(), pa.MonthDayNano([1, -2, 3])),
    *units(),
    *decimals(),
    *nested(),
    *coded(),
    *extensions(),
]


@pytest.mark.want(13)
@pytest.mark.parametrize("array", ARRAYS)
def test_a_type_comes_back_as_it_was_written(array: pa.Array, written: Any) -> None:
    table = pa.table({"c": array})
    file = written(table)
    assert_same(file.to_pyarrow(), table)
    assert_same(pa.table(file.scan()), table)
    rows = [len(array) - 1, 0, 0]
    taken = pa.Table.from_batches([file.take(rows).to_pyarrow()])
    assert_same(taken, pa.table({"c": _taken(array, rows)}))
    assert file.schema.to_pyarrow().equals(table.schema, check_metadata=True)
    for in_memory in (file.scan().read_all(), file.take([0])):
        assert_same(pa.table(pickle.loads(pickle.dumps(in_memory))), pa.table(in_memory))
    assert pickle.loads(pickle.dumps(file.schema)) == file.schema


def _taken(array: pa.Array, rows: list[int]) -> pa.Array:
    """Rows of an array; pyarrow takes none of some types."""
    try:
        return array.take(pa.array(rows))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return pa.concat_arrays([array.slice(row, 1) for row in rows])


@pytest.mark.want(13)
def test_metadata_of_pandas_comes_back(written: Any) -> None:
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-01-01", periods=3, tz="Europe/Amsterdam", name="when")
    words = pandas.Categorical(["b", "a", "b"], categories=["b", "a"])
    frame = pandas.DataFrame({"n": [1, 2, 3], "c": words}, index)
    file = written(pa.Table.from_pandas(frame))
    # The frequency of an index is not kept by pyarrow.
    pandas.testing.assert_frame_equal(file.to_pandas(), frame, check_freq=False)


def test_the_order_of_a_dictionary_is_lost_with_a_warning(written: Any, tmp_path: Any) -> None:
    codes = pa.DictionaryArray.from_arrays(pa.array([1, 0, None]), pa.array(["low", "high"]), ordered=True)
    inner = pa.StructArray.from_arrays([codes], ["inner"])
    lists = pa.ListArray.from_arrays([0, 1, 3, 3], codes)
    table = pa.table({"codes": codes, "nested": inner, "lists": lists, "plain": [1, 2, 3]})
    with pytest.warns(tarsia.LossWarning) as warned:
        file = written(table)
    assert [str(warning.message).split("`")[1] for warning in warned] == ["codes", "nested", "lists"]
    found = file.to_pyarrow()
    assert not found.schema.field("codes").type.ordered
    assert not found.schema.field("nested").type.field("inner").type.ordered
    assert not found.schema.field("lists").type.value_type.ordered
    assert found.to_pydict() == table.to_pydict()
    with pytest.warns(tarsia.LossWarning):
        tarsia.Writer(tmp_path / "t.tarsia", table.schema).abandon()


def test_what_is_lost_today(written: Any) -> None:
    """Arrow's C interface in Rust forgets that the keys of a map are sorted."""
    of = pa.map_(pa.string(), pa.int8(), keys_sorted=True)
    found = written(pa.table({"m": pa.array([[("a", 1)]], of)})).schema.to_pyarrow().field("m").type
    assert found == pa.map_(pa.string(), pa.int8())


@pytest.mark.want(13)
def test_metadata_of_schema_and_fields_come_back(written: Any) -> None:
    field = pa.field("n", pa.int8(), nullable=False, metadata={"unit": "m", "": "empty"})
    table = pa.table([pa.array([1, 2], pa.int8())], pa.schema([field], metadata={"source": "Ærø"}))
    file = written(table, metadata={"more": "1"})
    assert file.schema.metadata == {"source": "Ærø", "more": "1"}
    assert file.to_pyarrow().schema.field("n").equals(field, check_metadata=True)


@pytest.mark.want(5)
def test_texts_come_as_they_were_written_and_as_views_when_asked_for(written: Any) -> None:
    file = written(pa.table({"s": pa.array(["a", None, "b" * 40])}))
    assert file.schema.to_pyarrow().field("s").type == pa.string()
    views = tarsia.open(file._source, views=True)
    assert views.schema.to_pyarrow().field("s").type == pa.string_view()
    assert views.to_pyarrow().column("s").to_pylist() == ["a", None, "b" * 40]


def test_tables_of_polars_and_pandas_are_written(written: Any) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, None, 3], "s": ["x", "y", None], "l": [[1], [], None]})
    assert written(frame).to_polars().equals(frame)
    assert polars.DataFrame(written(frame).scan()).equals(frame)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.5, 2.5], "s": ["x", "y"]})
    pandas.testing.assert_frame_equal(written(frame).to_pandas(), frame)


@pytest.mark.parametrize("rows", [0, 3])
def test_tables_without_rows_or_columns(rows: int, written: Any) -> None:
    empty = pa.table({"a": pa.array([], pa.int32())})
    file = written(empty)
    assert (file.num_rows, len(list(file.scan()))) == (0, 0)
    assert_same(file.to_pyarrow(), empty)
    assert file.take([]).num_rows == 0
    none = pa.table({"a": pa.array(range(rows))})
    batches = list(written(none).scan(columns=[]))
    assert sum(batch.num_rows for batch in batches) == rows
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    file = written(batch)
    assert (file.num_rows, file.num_columns) == (rows, 0)
    assert file.to_pyarrow().num_rows == rows


def test_arrays_outlive_the_file(written: Any, numbers: pa.Table) -> None:
    images = pa.table({"b": pa.array([bytes([i]) * 50_000 for i in range(40)], pa.binary_view())})
    for table in (numbers, images):
        file = written(table)
        found, taken = file.to_pyarrow(), file.take([3, 1])
        file.close()
        with pytest.raises(ValueError, match="closed"):
            file.take([1])
        del file
        assert_same(found, table)
        assert pa.record_batch(taken).num_rows == 2


def test_slices_and_chunks_are_written(written: Any) -> None:
    array = pa.array([None, 1.5, 2.5, None, NAN, -0.0])
    chunked = pa.chunked_array([array.slice(1, 2), array.slice(0, 0), array.slice(3)])
    words = pa.array(["a", "b", None, "c"]).dictionary_encode().slice(1)
    assert_same(written(pa.table({"c": chunked})).to_pyarrow(), pa.table({"c": chunked}))
    assert_same(written(pa.table({"c": words})).to_pyarrow(), pa.table({"c": words}))
    generated = pa.RecordBatchReader.from_batches(
        pa.schema([("a", pa.int64())]), (pa.record_batch({"a": [i]}) for i in range(100))
    )
    assert written(generated).to_pyarrow().column("a").to_pylist() == list(range(100))
