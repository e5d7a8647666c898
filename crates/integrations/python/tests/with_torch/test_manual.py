"""The manual, and what importing does."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

import tarsia.torch

MANUAL = Path(__file__).resolve().parents[5] / "docs" / "python-torch.md"


def test_the_examples_of_the_manual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, n_examples = doctest.testfile(str(MANUAL), module_relative=False, optionflags=flags)
    assert n_examples > 20
    assert failed == 0


def test_everything_public_has_a_text() -> None:
    for name in tarsia.torch.__all__:
        found = getattr(tarsia.torch, name)
        assert found.__doc__, name
        for part, member in vars(found).items() if isinstance(found, type) else ():
            if not part.startswith("_") and (callable(member) or isinstance(member, property)):
                assert member.__doc__, f"{name}.{part}"


@pytest.mark.want(12)
def test_pytorch_is_imported_by_its_module_alone() -> None:
    code = """
import sys
import tarsia
assert not {"torch", "numpy"} & set(sys.modules)
sys.modules["torch"] = None
try:
    import tarsia.torch
except ImportError:
    print("ok")
"""
    assert subprocess.check_output([sys.executable, "-c", code]) == b"ok\n"


@pytest.mark.want(12)
def test_no_arrow_library_is_needed(embeddings: Path) -> None:
    code = """
import sys
for name in ("pyarrow", "pandas", "polars", "torchdata"):
    sys.modules[name] = None
import threading
import tarsia.torch
assert threading.active_count() == 1
from torch.utils.data import DataLoader
dataset = tarsia.torch.IterableDataset(sys.argv[1], batch_size=100, shuffle="exact", filter="label < 5")
print(sum(batch["id"].sum().item() for batch in DataLoader(dataset, batch_size=None, num_workers=1)))
"""
    expected = sum(row for row in range(20_000) if row % 10 < 5)
    assert int(subprocess.check_output([sys.executable, "-c", code, embeddings])) == expected
