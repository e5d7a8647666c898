"""Rows erased from files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tarsia


@pytest.fixture
def users() -> pa.Table:
    rows = 5000
    return pa.table(
        {
            "user": pa.array([row // 10 for row in range(rows)], pa.int32()),
            "secret": [f"secret of {row:05}" for row in range(rows)],
        }
    )


@pytest.fixture
def path(users: pa.Table, tmp_path: Path) -> Path:
    path = tmp_path / "users.tarsia"
    tarsia.write(users, path, erasure=2)
    return path


def test_rows_are_erased_in_place(path: Path, users: pa.Table) -> None:
    before = path.stat().st_ino
    report = tarsia.erase(path, where="user = 42")
    assert (report["rows"], report["rows_erased"], report["level"], report["changed"]) == (10, 10, 2, True)
    assert path.stat().st_ino == before
    file = tarsia.open(path)
    assert (file.num_rows, file.live_rows, len(file)) == (5000, 4990, 4990)
    left = users.filter(pc.field("user") != 42)
    assert file.to_pyarrow().equals(left.combine_chunks())
    assert file.count("user = 42") == 0
    assert file.count(pc.field("user") * 1 == 42) == 0
    with pytest.raises(tarsia.RowDeleted):
        file.take([420])
    with pytest.raises(LookupError):
        file.element("user", [420])
    taken = file.take([420, 1], deleted="null").to_pyarrow()
    assert taken.column("secret").to_pylist() == [None, "secret of 00001"]
    with pytest.raises(ValueError, match="deleted"):
        file.take([1], deleted="maybe")
    audit = tarsia.audit(path)
    assert (audit["clean"], audit["erased_rows"]) == (True, 10)
    assert file.explain("user < 1000")["rows"] == 4990
    file.close()
    report = tarsia.erase(str(path), rows=np.array([0, 1]), level=1)
    assert (report["rows_deleted"], report["rows_erased"]) == (2, 0)
    assert not tarsia.audit(tarsia.open(path))["clean"]
    # Conditions of level 2 find rows that were hidden.
    assert tarsia.erase(path, where="user = 0")["rows_erased"] == 10
    assert tarsia.erase(path, where="user = 0")["changed"] is False
    tarsia.open(path).verify()


def test_certificates(path: Path, tmp_path: Path) -> None:
    place = tmp_path / "42.json"
    report = tarsia.erase(path, where="user = 42", certificate=place, note="asked for on Monday")
    assert report["certificate"] == str(place)
    certificate = json.loads(place.read_text())
    assert (certificate["level"], certificate["note"]) == (2, "asked for on Monday")
    assert certificate["new_root"] == tarsia.open(path).inspect()["file"]["root_digest"]
    # A certificate replaces nothing.
    with pytest.raises(FileExistsError):
        tarsia.erase(path, where="user = 43", certificate=place)
    assert tarsia.open(path).live_rows == 4990
    with pytest.raises(FileExistsError):
        tarsia.erase(path, where="user = 43", certificate=f"{path.parent}/./users.tarsia")
    with pytest.raises(FileNotFoundError):
        tarsia.erase(path, where="user = 43", certificate=tmp_path / "c.json", key=tmp_path / "no.key")
    with pytest.raises(tarsia.InvalidInput):
        tarsia.erase(path, where="user = 43", note="without a certificate")
    # No rows, no certificate.
    assert tarsia.erase(path, where="user = -1", certificate=tmp_path / "none.json")["certificate"] is None
    assert sorted(os.listdir(tmp_path)) == ["42.json", "users.tarsia"]


def test_certificates_are_verified(path: Path, tmp_path: Path) -> None:
    key, public = tmp_path / "secret", tmp_path / "public"
    key.write_text("0123456789abcdef" * 4)
    first, second, other = tmp_path / "1.json", tmp_path / "2.json", tmp_path / "other.tarsia"
    other.write_bytes(path.read_bytes())
    tarsia.erase(path, where="user = 42", certificate=first, key=key)
    found = tarsia.verify_certificate(path, first)
    assert (found["ok"], found["verdict"], found["unchanged"]) == (False, "signed by an unknown key", True)
    public.write_text(found["signed_by"])
    assert tarsia.verify_certificate(path, first, signed_by=public)["verdict"] == "ok"
    with tarsia.open(path) as file:
        assert tarsia.verify_certificate(file, str(first), signed_by=[key, public])["ok"]
    # A later erasure changes the file, but not what the certificate says.
    tarsia.erase(path, where="user = 43", certificate=second)
    found = tarsia.verify_certificate(path, first, signed_by=public)
    assert (found["ok"], found["unchanged"], found["why"]) == (True, False, None)
    found = tarsia.verify_certificate(path, second, signed_by=public)
    assert (found["ok"], found["verdict"], found["signed_by"]) == (False, "unsigned", None)
    found = tarsia.verify_certificate(other, first, signed_by=public)
    assert (found["ok"], found["verdict"], found["unchanged"]) == (False, "refuted", None)
    assert found["why"]
    # Another text has another signature.
    first.write_text(first.read_text().replace('"level": 2', '"level": 1'))
    with pytest.raises(tarsia.InvalidInput):
        tarsia.verify_certificate(path, first)
    for wrong in ({"certificate": path}, {"certificate": second, "signed_by": path}):
        with pytest.raises(tarsia.InvalidInput):
            tarsia.verify_certificate(path, **wrong)
    with pytest.raises(FileNotFoundError):
        tarsia.verify_certificate(path, tmp_path / "none.json")
    with pytest.raises(FileNotFoundError):
        tarsia.verify_certificate(path, second, signed_by=tmp_path / "none.pub")


def test_what_is_only_planned_or_written_elsewhere(path: Path, tmp_path: Path) -> None:
    contents = path.read_bytes()
    report = tarsia.erase(path, where="user = 42", dry_run=True)
    assert (report["rows"], report["changed"]) == (10, True)
    assert path.read_bytes() == contents
    out = tmp_path / "out.tarsia"
    report = tarsia.erase(path, rows=range(10), out=out, certificate=tmp_path / "c.json")
    assert path.read_bytes() == contents
    assert tarsia.open(out).live_rows == 4990
    assert json.loads((tmp_path / "c.json").read_text())["level"] == 2
    assert tarsia.audit(out)["clean"]
    with pytest.raises(tarsia.InvalidInput):
        tarsia.erase(path, rows=[1], out=path)
    assert tarsia.erase(contents, rows=[1], dry_run=True)["rows"] == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, tarsia.InvalidInput),
        ({"where": "user = 1", "rows": [1]}, tarsia.InvalidInput),
        ({"where": 5}, TypeError),
        # Comparisons of other libraries are not strict.
        ({"where": pc.field("user") == 1}, TypeError),
        ({"where": "user = 1.5"}, tarsia.InvalidFilter),
        ({"where": "nothing = 1"}, tarsia.NoSuchColumn),
        ({"where": "user ="}, tarsia.InvalidFilter),
        ({"rows": [5000]}, tarsia.OutOfRange),
        ({"rows": [-1]}, tarsia.OutOfRange),
        ({"rows": "1"}, TypeError),
        ({"rows": [1], "level": 0}, tarsia.InvalidInput),
        ({"rows": [1], "level": 3}, tarsia.InvalidInput),
        ({"rows": [1], "level": "2"}, tarsia.InvalidInput),
        ({"rows": [1], "colour": "red"}, TypeError),
        ({"rows": [1], "dry_run": True, "certificate": "c.json"}, tarsia.InvalidInput),
    ],
    ids=str,
)
def test_erasures_that_are_none(arguments: dict[str, Any], error: type[Exception], path: Path) -> None:
    contents = path.read_bytes()
    with pytest.raises(error):
        tarsia.erase(path, **arguments)
    assert path.read_bytes() == contents


def test_files_that_cannot_be_changed(path: Path, users: pa.Table, tmp_path: Path) -> None:
    reader = tarsia.open(path)
    with pytest.raises(tarsia.Busy):
        tarsia.erase(path, rows=[1])
    reader.close()
    assert tarsia.erase(path, rows=[1])["rows_erased"] == 1
    # Files read by position notice the change.
    reader = tarsia.open(path, access="read")
    tarsia.erase(path, rows=[2])
    with pytest.raises(tarsia.FileChanged):
        reader.to_pyarrow()
    for place in (path.read_bytes(), 5, None):
        with pytest.raises(TypeError):
            tarsia.erase(place, rows=[1])
    with pytest.raises(tarsia.UnsupportedError):
        tarsia.erase("s3://bucket/a.tarsia", rows=[1])
    with pytest.raises(FileNotFoundError):
        tarsia.erase(tmp_path / "nothing.tarsia", rows=[1])
    plain = tmp_path / "plain.tarsia"
    tarsia.write(users, plain)
    with pytest.raises(tarsia.InvalidInput):
        tarsia.erase(plain, rows=[1])
    assert tarsia.erase(plain, rows=[1], level=1)["rows_deleted"] == 1


def test_recovery(path: Path, tmp_path: Path) -> None:
    assert tarsia.recover(path)["state"] == "clean"
    # A process that is killed at random leaves the file as before or as after.
    code = "import sys, tarsia; tarsia.erase(sys.argv[1], where='user < 250', certificate=sys.argv[2])"
    for attempt in range(6):
        certificate = tmp_path / f"{attempt}.json"
        child = subprocess.Popen([sys.executable, "-c", code, path, certificate])
        try:
            child.wait(0.05 + 0.03 * attempt)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
        tarsia.recover(path, certificate=tmp_path / f"{attempt}.recovered.json")
        file = tarsia.open(path)
        assert file.live_rows in (2500, 5000)
        file.verify()
        file.close()
    tarsia.erase(path, where="user < 250")
    assert tarsia.audit(path)["clean"]
    with pytest.raises(TypeError):
        tarsia.recover(b"bytes")
