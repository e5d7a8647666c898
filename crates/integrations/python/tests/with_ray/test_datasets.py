"""Files for Hugging Face's datasets."""

from __future__ import annotations

import datetime as dt
import io
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from datasets import Array2D, ClassLabel, Features, Image, Value, load_dataset

import tarsia
import tarsia.datasets

ROWS = 10_000


@pytest.fixture(autouse=True)
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()
    tarsia.datasets.register()
    tarsia.datasets.register()


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "text": [f"row {row % 97}" if row % 11 else None for row in range(ROWS)],
            "tags": [[row, row + 1] if row % 3 else [] for row in range(ROWS)],
            "place": [{"city": f"c{row % 5}", "at": row / 2} for row in range(ROWS)],
        }
    )


@pytest.fixture(scope="module")
def folder(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    for number in range(4):
        part = table.slice(number * 2500, 2500)
        tarsia.write(part, folder / f"part-{number}.tarsia", page_bytes=1 << 14)
        pq.write_table(part, folder / f"part-{number}.parquet")
    return folder


def files_of(folder: Path, suffix: str = "tarsia") -> str:
    return str(folder / f"part-*.{suffix}")


def test_rows_are_those_of_parquet(folder: Path) -> None:
    ours = load_dataset("tarsia", data_files=files_of(folder), split="train")
    theirs = load_dataset("parquet", data_files=files_of(folder, "parquet"), split="train")
    assert ours.features == theirs.features
    assert ours.data.table.combine_chunks() == theirs.data.table.combine_chunks()
    assert ours.num_rows == ROWS and ours[ROWS - 1]["id"] == ROWS - 1


def test_splits_and_folders_are_found(table: pa.Table, tmp_path: Path) -> None:
    for name, part in (("train", table.slice(0, 100)), ("test", table.slice(100, 10))):
        tarsia.write(part, tmp_path / f"{name}.tarsia")
    found = load_dataset(str(tmp_path))
    assert {name: part.num_rows for name, part in found.items()} == {"train": 100, "test": 10}
    named = load_dataset("tarsia", data_files={"new": str(tmp_path / "test.tarsia")})
    assert named["new"].num_rows == 10


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize(
    "filters",
    [
        "id < 5 OR id >= 9999",
        (pc.field("id") < 5) | (pc.field("id") >= 9999),
        (pl.col("id") < 5) | (pl.col("id") >= 9999),
        [[("id", "<", 5)], [("id", ">=", 9999)]],
    ],
    ids=["sql", "pyarrow", "polars", "list"],
)
def test_columns_and_filters(is_streamed: bool, filters: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = tarsia.File.scan

    def scan(self: tarsia.File, columns: Any = None, filter: Any = None, *rest: Any, **more: Any) -> tarsia.Scan:
        made = original(self, columns, filter, *rest, **more)
        asked.append((columns, made.explain()))
        return made

    monkeypatch.setattr(tarsia.File, "scan", scan)
    found = load_dataset(
        "tarsia",
        data_files=files_of(folder),
        split="train",
        streaming=is_streamed,
        columns=["id", "place.city"],
        filters=filters,
    )
    assert list(found) == [{"id": id, "place": {"city": f"c{id % 5}"}} for id in (0, 1, 2, 3, 4, 9999)]
    assert found.features == Features({"id": Value("int64"), "place": {"city": Value("string")}})
    # Each file is asked for its types, and for its rows.
    assert len(asked) == 8
    assert all(columns == ["id", "place.city"] for columns, _ in asked)
    assert all(said["pushed"] is not None and said["behind"] is None for _, said in asked)
    assert asked[5][1]["rows_looked_at"] == 0, "statistics rule a whole file out"


@pytest.mark.want(9)
@pytest.mark.parametrize("shard_rows", [None, 700])
def test_a_streamed_dataset_goes_on_where_it_was(shard_rows: int | None, folder: Path) -> None:
    def streamed() -> Any:
        return load_dataset(
            "tarsia", data_files=files_of(folder), split="train", streaming=True, shard_rows=shard_rows, batch_size=300
        )

    whole = streamed()
    assert whole.num_shards == (4 if shard_rows is None else 16)
    assert [row["id"] for row in whole] == list(range(ROWS))
    for stop in (1, 299, 300, 2500, 2501, 7777):
        begun = streamed()
        rows = iter(begun)
        before = [next(rows)["id"] for _ in range(stop)]
        state = begun.state_dict()
        again = streamed()
        again.load_state_dict(state)
        assert before + [row["id"] for row in again] == list(range(ROWS)), stop


@pytest.mark.want(10)
def test_shards_go_to_ranks_and_are_shuffled(folder: Path) -> None:
    streamed = load_dataset("tarsia", data_files=files_of(folder), split="train", streaming=True, shard_rows=700)
    parts = [streamed.shard(num_shards=3, index=index) for index in range(3)]
    ids = [[row["id"] for row in part] for part in parts]
    assert sorted(id for part in ids for id in part) == list(range(ROWS))
    assert all(len(part) > ROWS / 5 for part in ids)
    shuffled = [row["id"] for row in streamed.shuffle(seed=3, buffer_size=100)]
    assert sorted(shuffled) == list(range(ROWS)) and shuffled != list(range(ROWS))


def test_files_are_split_into_smaller_shards(table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tarsia._datasets._SHARD_ROWS", 1000)
    tarsia.write(table, tmp_path / "one.tarsia")
    streamed = load_dataset("tarsia", data_files=str(tmp_path / "one.tarsia"), split="train", streaming=True)
    assert streamed.num_shards == 1
    more = streamed.reshard()
    assert more.num_shards == 10
    assert [row["id"] for row in more] == list(range(ROWS))


def test_rows_are_counted_without_being_read(folder: Path) -> None:
    builder = datasets.load_dataset_builder("tarsia", data_files=files_of(folder), filters="id < 2600")
    counted = builder.count_examples(datasets.DownloadManager())
    assert counted == {"train": 2600}


@pytest.mark.want(13)
def test_types_come_back(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    png = io.BytesIO()
    image.new("RGB", (2, 3), (9, 8, 7)).save(png, "PNG")
    features = Features(
        {
            "label": ClassLabel(names=["cat", "dog"]),
            "image": Image(),
            "matrix": Array2D((2, 2), "float32"),
            "when": Value("timestamp[us, tz=Europe/Berlin]"),
            "price": Value("decimal128(10, 2)"),
            "large": Value("large_string"),
            "small": Value("uint8"),
        }
    )
    made = datasets.Dataset.from_dict(
        {
            "label": [0, 1, None],
            "image": [{"bytes": png.getvalue(), "path": None}] * 3,
            "matrix": [[[1, 2], [3, 4]]] * 3,
            "when": [dt.datetime(2024, 2, 29, tzinfo=dt.UTC)] * 3,
            "price": [None, "1.50", "2.25"],
            "large": ["a", "b", None],
            "small": [1, 2, 255],
        },
        features=features,
    )
    tarsia.write(made.data.table, tmp_path / "t.tarsia")
    for is_streamed in (False, True):
        found = load_dataset("tarsia", data_files=str(tmp_path / "t.tarsia"), split="train", streaming=is_streamed)
        assert found.features == features
        rows = list(found)
        assert [row["label"] for row in rows] == [0, 1, None]
        assert rows[0]["image"].size == (2, 3) and rows[0]["image"].getpixel((0, 0)) == (9, 8, 7)
        assert rows[1]["matrix"] == [[1, 2], [3, 4]] and rows == list(made)


def test_dictionaries_become_their_values(tmp_path: Path) -> None:
    made = pa.table({"kind": pa.array(["a", None, "b", "a"]).dictionary_encode()})
    tarsia.write(made, tmp_path / "t.tarsia")
    found = load_dataset("tarsia", data_files=str(tmp_path / "t.tarsia"), split="train")
    assert found.features == Features({"kind": Value("string")}) and found["kind"][:] == ["a", None, "b", "a"]


def test_types_that_are_asked_for(folder: Path) -> None:
    features = Features({"id": Value("float32"), "text": Value("large_string")})
    found = load_dataset(
        "tarsia", data_files=files_of(folder), split="train", columns=["id", "text"], features=features
    )
    assert found.features == features and found[3] == {"id": 3.0, "text": "row 3"}
    with pytest.raises(Exception, match="the columns are"):
        load_dataset("tarsia", data_files=files_of(folder), split="train", features=features)


def test_an_erased_row_is_gone(table: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "t.tarsia"
    tarsia.write(table, path)
    assert load_dataset("tarsia", data_files=str(path), split="train").num_rows == ROWS
    tarsia.erase(path, where="id < 100", level=1)
    # What was kept of the file as it was is not taken for it.
    assert load_dataset("tarsia", data_files=str(path), split="train").num_rows == ROWS - 100


@pytest.mark.parametrize("is_streamed", [False, True])
def test_files_that_cannot_be_read(is_streamed: bool, folder: Path, tmp_path: Path) -> None:
    damaged = bytearray((folder / "part-0.tarsia").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "a.tarsia").write_bytes(damaged)
    (tmp_path / "b.tarsia").write_bytes((folder / "part-1.tarsia").read_bytes())

    def read(**options: Any) -> list[Any]:
        found = load_dataset(
            "tarsia", data_files=str(tmp_path / "*.tarsia"), split="train", streaming=is_streamed, **options
        )
        return [row["id"] for row in found]

    with pytest.raises(tarsia.CorruptError):
        read()
    for choice in ("warn", "skip"):
        assert read(on_bad_files=choice) == list(range(2500, 5000))
    with pytest.raises(tarsia.InvalidInput, match="on_bad_files"):
        read(on_bad_files="ignore")
    with pytest.raises(tarsia.NoSuchColumn):
        read(columns=["nothing"], on_bad_files="skip")
    with pytest.raises(tarsia.InvalidFilter, match="condition"):
        read(filters="id = ", on_bad_files="skip")
    with pytest.raises(FileNotFoundError):
        load_dataset("tarsia", data_files=str(tmp_path / "nothing-*.tarsia"))


def test_archives_and_urls_of_datasets(folder: Path, tmp_path: Path) -> None:
    """datasets opens what is no path of this machine."""
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe_file("/tables/part.tarsia", (folder / "part-0.tarsia").read_bytes())
    found = load_dataset("tarsia", data_files="memory://tables/part.tarsia", split="train", streaming=True)
    assert sum(1 for _ in found) == 2500


def test_another_version_of_datasets_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("datasets.packaged_modules._EXTENSION_TO_MODULE")
    with pytest.raises(tarsia.UnsupportedError, match="another way"):
        tarsia.datasets.register()
