"""The manual: its examples run, and the stubs name what there is."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import pyarrow as pa
import pytest

import tarsia

PACKAGE = Path(__file__).resolve().parent.parent
MANUAL = PACKAGE.parents[2] / "docs" / "python.md"


def test_the_examples_of_the_manual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, n_examples = doctest.testfile(
        str(MANUAL), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert n_examples > 20
    assert failed == 0


def test_stubs_name_what_the_compiled_module_has() -> None:
    stub = ast.parse((PACKAGE / "python" / "tarsia" / "_tarsia.pyi").read_text())
    named: dict[str, set[str]] = {}
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            named[node.name] = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            named[node.name] = set()
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            named[node.target.id] = set()
    there = {name for name in dir(tarsia._tarsia) if not name.startswith("__") or name == "__version__"}
    assert set(named) == there
    for name, methods in named.items():
        found = getattr(tarsia._tarsia, name)
        if isinstance(found, type):
            own = {method for method in vars(found) if not method.startswith("__")}
            assert {method for method in methods if not method.startswith("__")} == own, name
            assert all(hasattr(found, method) for method in methods), name


def test_everything_public_has_a_text() -> None:
    for name in tarsia.__all__:
        found = getattr(tarsia, name)
        if callable(found):
            assert found.__doc__, name
            for part, member in vars(found).items() if isinstance(found, type) else ():
                if not part.startswith("_") and (callable(member) or isinstance(member, property)):
                    assert member.__doc__, f"{name}.{part}"


def test_each_want_has_a_test() -> None:
    named = set()
    # Those of the groups, too.
    for path in Path(__file__).parent.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "want":
                named |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    assert named == set(range(1, 16))


def test_the_version_is_that_of_the_workspace() -> None:
    manifest = (PACKAGE.parent / "Cargo.toml").read_text()
    assert f'version = "{tarsia.__version__}"' in manifest


def test_a_table_and_a_batch_show_what_they_are() -> None:
    import io

    sink = io.BytesIO()
    tarsia.write(pa.table({"a": [1]}), sink)
    file = tarsia.open(sink.getvalue())
    assert repr(file.take([0])) == "<tarsia.Batch of 1 rows: a>"
    assert repr(file.scan().read_all()) == "<tarsia.Table of 1 rows: a>"
    assert repr(file.schema) == "<tarsia.Schema a: Int64>"
    assert len(file.schema) == 1
    (batch,) = file.scan().read_all().batches()
    assert batch.schema == file.schema
