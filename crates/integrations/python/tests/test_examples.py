"""The scripts of examples/python, run on small tables."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from bits import assert_same

import tarsia

FOLDER = Path(__file__).resolve().parents[4] / "examples" / "python"

#: Scripts with tests here; those that need more packages have theirs elsewhere.
SCRIPTS = ["convert_folder", "sample_and_filter", "erase_user"]


def script(name: str) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def clicks() -> pa.Table:
    rows = 20_000
    return pa.table(
        {
            "user": pa.array([row % 50 for row in range(rows)], pa.int32()),
            "email": [f"user{row % 50}@example.org" for row in range(rows)],
            "price": pa.array([row / 7 if row % 13 else None for row in range(rows)], pa.float64()),
            "tags": [["a"] * (row % 3) for row in range(rows)],
        }
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_say_what_they_take(name: str) -> None:
    done = subprocess.run([sys.executable, FOLDER / f"{name}.py", "--help"], capture_output=True, text=True, check=True)
    assert f"python {name}.py" in done.stdout
    assert f"| `{name}.py` |" in (FOLDER / "README.md").read_text()


def test_a_folder_is_converted(clicks: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "from" / "day").mkdir(parents=True)
    strange = clicks.append_column("nan", pa.array([float("nan")] * clicks.num_rows)).replace_schema_metadata({"a": "b"})
    for name, table in (("a", clicks), ("day/b", strange), ("empty", clicks.slice(0, 0))):
        pq.write_table(table, tmp_path / "from" / f"{name}.parquet", row_group_size=7000)
    main = script("convert_folder").main
    asked = [str(tmp_path / "from"), str(tmp_path / "to")]
    assert main([*asked, "--preset", "compact"]) == 0
    for name in ("a", "day/b", "empty"):
        expected = pq.read_table(tmp_path / "from" / f"{name}.parquet")
        assert_same(tarsia.open(tmp_path / "to" / f"{name}.tarsia").to_pyarrow(), expected)
    assert "of Parquet" in capsys.readouterr().out
    assert main(asked) == 0
    assert capsys.readouterr().out.count("is there") == 3
    assert main([*asked, "--overwrite", "--no-check"]) == 0
    assert main([str(tmp_path / "to"), str(tmp_path / "from")]) == 1


def test_a_difference_is_found(clicks: pa.Table, tmp_path: Path) -> None:
    pq.write_table(clicks, tmp_path / "a.parquet", row_group_size=7000)
    read = pq.read_table(tmp_path / "a.parquet")
    users = read["user"].to_pylist()
    other = read.set_column(0, "user", pa.array([*users[:-1], 7], pa.int32()))
    converted = script("convert_folder")
    # A batch of Parquet has 65,536 rows at most, and ends with a group of rows.
    for table, expected in ((read, None), (other, 0), (read.slice(0, 15_000), 15_000)):
        tarsia.write(table, tmp_path / "a.tarsia")
        assert converted.first_difference(tmp_path / "a.parquet", tmp_path / "a.tarsia") == expected


def test_a_sample_of_what_passes(clicks: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tarsia.write(clicks, tmp_path / "clicks.tarsia")
    main = script("sample_and_filter").main

    def sampled(*more: str) -> pa.Table:
        assert main([str(tmp_path / "clicks.tarsia"), str(tmp_path / "sample.tarsia"), *more]) == 0
        return tarsia.open(tmp_path / "sample.tarsia").to_pyarrow()

    found = sampled("--where", "user = 17 AND price > 100", "--rows", "25")
    assert found.num_rows == 25 and found.schema == clicks.schema
    assert set(found["user"].to_pylist()) == {17} and pc.min(found["price"]).as_py() > 100
    assert "filter: user = 17 AND price > 100" in capsys.readouterr().out
    assert found == sampled("--where", "user = 17 AND price > 100", "--rows", "25")
    assert found != sampled("--where", "user = 17 AND price > 100", "--rows", "25", "--seed", "2")
    assert sampled("--rows", "1000000") == clicks
    assert sampled("--columns", "email,tags", "--rows", "3").column_names == ["email", "tags"]
    assert sampled("--where", "user = 1000").num_rows == 0
    with pytest.raises(SystemExit):
        main(["a", "b", "--rows", "0"])


def test_a_user_is_erased(clicks: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, certificate = tmp_path / "clicks.tarsia", tmp_path / "erased.json"
    tarsia.write(clicks, path, columns={"user": {"erasure": 2}, "email": {"erasure": 2}})
    module = script("erase_user")
    asked = [str(path), "--where", "user = 17", "--certificate", str(certificate), "--note", "request 12"]
    assert module.main(asked) == 0
    said = capsys.readouterr().out
    assert "nothing was changed" in said and "columns that keep their values: price, tags" in said
    assert b"user17@" in path.read_bytes() and not certificate.exists()
    (tmp_path / "key").write_bytes(bytes(range(32)))
    assert module.main([*asked, "--yes", "--key", str(tmp_path / "key")]) == 0
    assert b"user17@" not in path.read_bytes() and b"user18@" in path.read_bytes()
    assert "checked" in capsys.readouterr().out
    named = json.loads(certificate.read_text())
    assert named["note"] == "request 12" and named["signature"]["algorithm"] == "ed25519"
    assert named["rows"]["erased_now"]["count"] == 400
    assert tarsia.open(path).to_pyarrow() == clicks.filter(pc.field("user") != 17)
    assert module.main([*asked, "--yes"]) == 1
    # A check that finds nothing wrong can find something wrong.
    assert module.check(str(path), str(certificate), [0, 17]) == [
        "the certificate names 400 rows, not 2",
        "row 0 can be read",
    ]
