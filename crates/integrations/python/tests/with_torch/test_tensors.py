"""Columns as tensors: values, nulls, lists, types."""

from __future__ import annotations

import copy
import decimal
import math
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

import tarsia
from tarsia.torch import Columns, MapDataset, Ragged, collate

WHOLE = slice(None)


def columns(file: tarsia.File, rows: Any = WHOLE, **options: Any) -> dict[str, Any]:
    """Rows of a file as the collate function gives them."""
    dataset = MapDataset(file, **options)
    return collate(dataset.__getitems__(range(len(dataset))[rows] if isinstance(rows, slice) else rows))


def values(value: Any) -> Any:
    """A value in Python's own types."""
    if isinstance(value, Ragged):
        items, offsets = values(value.values), value.offsets.tolist()
        return [items[start:end] for start, end in zip(offsets, offsets[1:], strict=False)]
    if isinstance(value, dict):
        parts = {name: values(part) for name, part in value.items()}
        return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
    if isinstance(value, list):
        return [values(part) if isinstance(part, torch.Tensor) else part for part in value]
    return value.tolist()


NUMBERS = [
    (pa.int8(), torch.int8, [-128, 0, 127]),
    (pa.uint8(), torch.uint8, [0, 1, 255]),
    (pa.int16(), torch.int16, [-32768, 0, 32767]),
    (pa.uint16(), torch.uint16, [0, 5, 65535]),
    (pa.int32(), torch.int32, [-(2**31), 0, 2**31 - 1]),
    (pa.uint32(), torch.uint32, [0, 1, 2**32 - 1]),
    (pa.int64(), torch.int64, [-(2**63), 0, 2**63 - 1]),
    (pa.uint64(), torch.uint64, [0, 1, 2**64 - 1]),
    (pa.float16(), torch.float16, np.array([0.5, -1.0, math.inf], np.float16)),
    (pa.float32(), torch.float32, [0.5, -1.25, math.inf]),
    (pa.float64(), torch.float64, [0.1, -1e300, -0.0]),
    (pa.bool_(), torch.bool, [True, False, True]),
    (pa.date32(), torch.int32, [-1, 0, 20000]),
    (pa.date64(), torch.int64, [0, 86_400_000, 172_800_000]),
    (pa.time32("s"), torch.int32, [0, 1, 86399]),
    (pa.time64("ns"), torch.int64, [0, 1, 86399]),
    (pa.timestamp("us"), torch.int64, [-1, 0, 1 << 50]),
    (pa.timestamp("ns", "Europe/Paris"), torch.int64, [-1, 0, 1 << 60]),
    (pa.duration("ms"), torch.int64, [-5, 0, 5]),
]


@pytest.mark.want(13)
@pytest.mark.parametrize(("of", "dtype", "given"), NUMBERS, ids=[str(of) for of, _, _ in NUMBERS])
def test_numbers_keep_their_type_and_bits(of: pa.DataType, dtype: torch.dtype, given: Any, written: Any) -> None:
    array = pa.array(given, of) if not pa.types.is_timestamp(of) else pa.array(given, pa.int64()).cast(of)
    file = written(pa.table({"a": array}))
    found = columns(file)["a"]
    assert found.dtype == dtype
    expected = list(given) if not isinstance(given, np.ndarray) else given.tolist()
    assert found.tolist() == expected
    assert [math.copysign(1, value) for value in found.tolist()] == [math.copysign(1, value) for value in expected]
    # Also in another order, and as single rows.
    assert columns(file, [2, 0, 2])["a"].tolist() == [expected[2], expected[0], expected[2]]
    assert MapDataset(file)[1]["a"].item() == expected[1]


def test_tensors_are_over_the_memory_that_was_read(written: Any) -> None:
    file = written(pa.table({"a": pa.array(range(1000), pa.int64())}))
    rows = MapDataset(file).__getitems__(range(1000))
    found = rows.columns()["a"]
    there = pa.record_batch(rows.batch).column(0).buffers()[1].address
    assert found.data_ptr() == there
    # They stay when all else goes, and may be changed.
    del rows, file
    found += 1
    assert found.sum().item() == 500_500


def test_fixed_size_lists_are_tensors_of_two_dimensions(written: Any) -> None:
    vectors = np.arange(60, dtype=np.float32).reshape(10, 6)
    one = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), 6)
    two = pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), 3), 2)
    file = written(pa.table({"one": one, "two": two}))
    found = columns(file, [9, 3])
    assert torch.equal(found["one"], torch.tensor(vectors[[9, 3]]))
    assert torch.equal(found["two"], torch.tensor(vectors.reshape(10, 2, 3)[[9, 3]]))
    assert MapDataset(file)[4]["one"].tolist() == vectors[4].tolist()


@pytest.mark.parametrize("views", [False, True])
def test_texts_and_bytes(views: bool, written: Any) -> None:
    texts = ["", "short", "a text that is longer than a view", "äöü – 漢字", "x" * 1000]
    blobs = [text.encode() for text in texts]
    fixed = [b"ab", b"cd", b"ef", b"gh", b"ij"]
    table = pa.table(
        {"t": texts, "l": pa.array(texts, pa.large_string()), "b": blobs, "f": pa.array(fixed, pa.binary(2))}
    )
    file = tarsia.open(written(table)._source, views=views)
    found = columns(file)
    assert found["t"] == found["l"] == texts and found["b"] == blobs and found["f"] == fixed
    assert columns(file, [4, 2])["t"] == [texts[4], texts[2]]
    tensors = columns(file, binary="tensors")["b"]
    assert [bytes(one.tolist()) for one in tensors] == blobs
    tensors[1][0] = 0
    both = columns(file, [1, 4], binary="values_offsets")["b"]
    assert bytes(both.values.tolist()) == blobs[1] + blobs[4] and both.offsets.tolist() == [0, 5, 1005]
    assert columns(file)["b"] == blobs


@pytest.mark.parametrize("of", [pa.list_, pa.large_list, pa.list_view])
def test_lists(of: Any, written: Any) -> None:
    lists = [[1, 2, 3], [], [4], [5, 6]]
    file = written(pa.table({"a": pa.array(lists, of(pa.int32()))}))
    found = columns(file)["a"]
    assert found.values.tolist() == [1, 2, 3, 4, 5, 6] and found.offsets.tolist() == [0, 3, 3, 4, 6]
    assert values(columns(file, [3, 1, 0])["a"]) == [[5, 6], [], [1, 2, 3]]
    padded = columns(file, ragged="padded", pad_value=-1)
    assert padded["a"].tolist() == [[1, 2, 3], [-1, -1, -1], [4, -1, -1], [5, 6, -1]]
    assert padded["a_lengths"].tolist() == [3, 0, 1, 2]
    nested = columns(file, ragged={"a": "nested"})["a"]
    assert nested.is_nested and [one.tolist() for one in nested.unbind()] == lists
    assert MapDataset(file, ragged="padded")[3]["a"].tolist() == [5, 6]
    assert columns(file, [1], ragged="padded")["a"].shape == (1, 0)


def test_nested_columns(written: Any) -> None:
    rows = [
        {"s": {"x": 1, "tags": ["a", "bc"]}, "m": [[1.0], [], [2.0, 3.0]], "e": [{"k": 1, "v": "p"}], "d": {"q": 1}},
        {"s": {"x": 2, "tags": []}, "m": [], "e": [], "d": {}},
        {
            "s": {"x": 3, "tags": ["d"]},
            "m": [[4.0]],
            "e": [{"k": 2, "v": "q"}, {"k": 3, "v": ""}],
            "d": {"r": 2, "s": 3},
        },
    ]
    types = pa.schema(
        {
            "s": pa.struct({"x": pa.int64(), "tags": pa.list_(pa.string())}),
            "m": pa.list_(pa.list_(pa.float32())),
            "e": pa.list_(pa.struct({"k": pa.int8(), "v": pa.string()})),
            "d": pa.map_(pa.string(), pa.int64()),
        }
    )
    plain = [{**row, "d": list(row["d"].items())} for row in rows]
    file = written(pa.Table.from_pylist(plain, types))
    for order in ([0, 1, 2], [2, 0], [1], [2, 2, 1, 0]):
        found = columns(file, order)
        for name in ("s", "m", "e"):
            assert values(found[name]) == [rows[row][name] for row in order]
        keys = [[pair["key"] for pair in row] for row in values(found["d"])]
        assert keys == [list(rows[row]["d"]) for row in order]
    assert list(MapDataset(file, ["s.x"])[1]) == ["s"]


@pytest.mark.want(13)
def test_dictionaries_and_runs_are_decoded(written: Any) -> None:
    texts = pa.array(["b", "a", "b", None, "c"]).dictionary_encode()
    numbers = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 1, 0]), pa.array([10, 20], pa.int16()))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], pa.int32()), pa.array([1.5, None, 2.5]))
    file = written(pa.table({"t": texts, "n": numbers, "r": runs}))
    found = columns(file, fill_null={"t": "-", "r": 0.0})
    assert found["t"] == ["b", "a", "b", "-", "c"]
    assert found["n"].tolist() == [20, 10, 20, 20, 10] and found["n"].dtype == torch.int16
    assert found["r"].tolist() == [1.5, 1.5, 0.0, 2.5, 2.5]
    assert columns(file, masks=True)["r_mask"].tolist() == [True, True, False, True, True]
    with pytest.raises(tarsia.InvalidInput, match="null") as raised:
        columns(file, columns=["r"])
    assert raised.value.column == "r"


def test_nulls_are_an_error_unless_something_is_asked_for(written: Any) -> None:
    table = pa.table(
        {
            "a": pa.array([1, None, 3]),
            "t": pa.array(["x", None, "z"]),
            "l": pa.array([[1], None, [2, None]]),
            "v": pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float32(), 2)),
            "b": pa.array([True, None, False]),
            "s": pa.array([{"x": 1}, None, {"x": None}]),
            "z": pa.array([b"q", None, b""]),
        }
    )
    file = written(table)
    for name in table.column_names:
        with pytest.raises(tarsia.InvalidInput, match=f"`{name}`.*null") as raised:
            columns(file, columns=[name])
        assert raised.value.column == name
        assert isinstance(raised.value, ValueError)
    # Rows without nulls are no error.
    assert columns(file, [0])["a"].tolist() == [1]
    filled = columns(file, fill_null={"a": -1, "t": "", "l": 7, "v": math.nan, "b": True, "s": 9, "z": b"??"})
    assert filled["a"].tolist() == [1, -1, 3] and filled["t"] == ["x", "", "z"]
    assert values(filled["l"]) == [[1], [], [2, 7]]
    assert torch.isnan(filled["v"]).tolist() == [[False, False], [True, True], [False, True]]
    assert filled["b"].tolist() == [True, True, False] and filled["s"]["x"].tolist() == [1, 9, 9]
    assert filled["z"] == [b"q", b"??", b""]
    masked = columns(file, columns=["a", "t", "b", "s", "z"], masks=True)
    assert masked["a_mask"].tolist() == masked["t_mask"].tolist() == [True, False, True]
    assert masked["a"].tolist() == [1, 0, 3] and masked["t"] == ["x", None, "z"]
    assert masked["s"]["x_mask"].tolist() == [True, False, False] and masked["s_mask"].tolist() == [True, False, True]
    assert columns(file, [0], columns=["a"], masks=True)["a_mask"].tolist() == [True]
    # A mask tells of rows, not of items.
    with pytest.raises(tarsia.InvalidInput, match="list is null"):
        columns(file, columns=["l"], masks=True)
    both = columns(file, columns=["l"], masks=True, fill_null=0)
    assert values(both["l"]) == [[1], [], [2, 0]] and both["l_mask"].tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("column", "fill"),
    [("a", 1.5), ("a", 2**40), ("a", "x"), ("a", True), ("a", math.nan), ("b", 1), ("t", 0), ("z", "x"), ("f", "x")],
)
def test_what_cannot_fill_a_column_is_refused(column: str, fill: Any, written: Any) -> None:
    file = written(
        pa.table(
            {
                "a": pa.array([1, None], pa.int32()),
                "b": [True, None],
                "t": ["x", None],
                "z": [b"", None],
                "f": [0.5, None],
            }
        )
    )
    with pytest.raises(tarsia.InvalidInput, match="fill_null"):
        columns(file, columns=[column], fill_null=fill)


@pytest.mark.parametrize("rounding", ["bf16", "e4m3", "e5m2"])
def test_rounded_columns_come_as_the_small_type(rounding: str, written: Any) -> None:
    dtype = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[rounding]
    given = np.random.default_rng(1).standard_normal((500, 16), dtype=np.float32)
    table = pa.table(
        {
            "v": pa.FixedSizeListArray.from_arrays(pa.array(given.reshape(-1)), 16),
            "w": given[:, 0],
            "i": range(500),
        }
    )
    file = written(table, columns={"v": {"round": rounding}, "w": {"round": rounding}})
    whole = columns(file)
    small = columns(file, dtype={"v": dtype, "w": dtype})
    assert whole["v"].dtype == torch.float32 and small["v"].dtype == dtype
    # The numbers of the file are those of the small type, so nothing is rounded again.
    assert torch.equal(small["v"].to(torch.float32), whole["v"]) and torch.equal(small["w"].float(), whole["w"])
    all_floats = columns(file, dtype=dtype)
    assert all_floats["w"].dtype == dtype and all_floats["i"].dtype == torch.int64


def test_dtypes_that_lose_something_are_refused(written: Any) -> None:
    file = written(pa.table({"f": [1.5], "i": [300], "t": ["x"], "n": pa.array([-1], pa.int8())}))
    assert columns(file, dtype={"i": torch.int16})["i"].dtype == torch.int16
    assert columns(file, dtype={"i": torch.float32})["i"].tolist() == [300.0]
    for name, dtype in (("i", torch.int8), ("n", torch.uint8)):
        with pytest.raises(tarsia.InvalidInput, match=f"`{name}` has numbers"):
            columns(file, dtype={name: dtype})
    for name, dtype in (("f", torch.int32), ("t", torch.float32)):
        with pytest.raises(tarsia.InvalidInput, match=f"`{name}`"):
            columns(file, dtype={name: dtype})
    with pytest.raises(tarsia.NoSuchColumn):
        columns(file, dtype={"q": torch.float32})
    with pytest.raises(TypeError, match="torch.dtype"):
        columns(file, dtype="float32")


def test_types_that_cannot_be_tensors_are_refused_at_once(written: Any) -> None:
    for of, given in [
        (pa.decimal128(5, 2), decimal.Decimal("1.25")),
        (pa.null(), None),
        (pa.month_day_nano_interval(), pa.MonthDayNano([1, 2, 3])),
        (pa.list_(pa.decimal128(5, 2)), [decimal.Decimal("1.25")]),
    ]:
        file = written(pa.table({"a": pa.array([given], of), "b": [1]}))
        with pytest.raises(tarsia.UnsupportedError, match="`a`") as raised:
            MapDataset(file)
        assert raised.value.column == "a"
        assert MapDataset(file, ["b"])[0]["b"].item() == 1


@pytest.mark.parametrize(
    "options",
    [
        {"ragged": "dense"},
        {"ragged": {"t": "padded"}},
        {"ragged": "padded"},
        {"binary": "arrays"},
        {"columns": ["t", "t"]},
        {"fill_null": {"q": 1}},
        {"masks": True},
        {"columns": ["q"]},
        {"columns": []},
    ],
)
def test_wrong_options_are_refused_at_once(options: dict[str, Any], written: Any) -> None:
    file = written(pa.table({"t": [["x"]], "a": [1], "a_mask": [2]}))
    with pytest.raises(tarsia.InvalidInput):
        MapDataset(file, **options)


def test_a_mask_takes_the_name_of_nothing(written: Any) -> None:
    file = written(pa.table({"s": [{"a": 1, "a_mask": 2}], "s_lengths": [1], "l": [[1]]}))
    with pytest.raises(tarsia.InvalidInput, match="mask of `a`"):
        MapDataset(file, masks=True)
    lengths = written(pa.table({"l": [[1]], "l_lengths": [1]}))
    with pytest.raises(tarsia.InvalidInput, match="lengths"):
        MapDataset(lengths, ragged="padded")


def test_batches_travel_whole(written: Any) -> None:
    table = pa.table(
        {
            "a": [1, 2],
            "e": [[], [1.5]],
            "t": ["x", "ä"],
            "z": [b"", b"abc"],
            "s": [{"x": True}, {"x": False}],
            "v": pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)),
        }
    )
    file = written(table)
    for binary in ("bytes", "tensors", "values_offsets"):
        for batch in (columns(file, binary=binary), columns(file, [], binary=binary)):
            for sent in (pickle.loads(pickle.dumps(batch)), copy.copy(batch), copy.deepcopy(batch)):
                assert isinstance(sent, Columns) and list(sent) == list(batch)
                assert {name: values(part) for name, part in sent.items()} == {
                    name: values(part) for name, part in batch.items()
                }
                assert sent["v"].dtype == torch.int8 and sent["v"].shape == batch["v"].shape
    # What is received may be changed.
    sent = pickle.loads(pickle.dumps(columns(file)))
    sent["a"] += 1
    assert sent["a"].tolist() == [2, 3] and sent["v"].tolist() == [[1, 2], [3, 4]]


def test_random_tables_are_what_pyarrow_reads(written: Any) -> None:
    random = np.random.default_rng(7)
    kinds = [
        pa.int32(),
        pa.float64(),
        pa.string(),
        pa.binary(),
        pa.bool_(),
        pa.list_(pa.int16()),
        pa.list_(pa.string()),
    ]

    def one(of: pa.DataType) -> Any:
        if pa.types.is_list(of):
            return [one(of.value_type) for _ in range(random.integers(0, 5))]
        number = int(random.integers(0, 100))
        made = {pa.int32(): number, pa.int16(): number, pa.float64(): number / 3, pa.bool_(): number < 50}
        return made.get(of, "é" * (number % 13) if of == pa.string() else b"z" * (number % 13))

    for _ in range(20):
        n_rows = int(random.integers(1, 3000))
        table = pa.table({str(at): pa.array([one(of) for _ in range(n_rows)], of) for at, of in enumerate(kinds)})
        rows = random.integers(0, n_rows, 50)
        found = columns(written(table), rows)
        expected = table.take(pa.array(rows)).to_pydict()
        assert {name: values(part) for name, part in found.items()} == expected
