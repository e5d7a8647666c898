"""Options and fixtures of the tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tarsia


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--filters", type=int, default=300, help="random filters of each language")
    parser.addoption("--seed", type=int, default=1, help="where random filters begin")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "want(number): what users of such packages ask for, by its number in the issue")


def pytest_report_header() -> str:
    folder = os.environ.get("TARSIA_DATA")
    return f"tables of TARSIA_DATA: {folder or 'skipped, it is not set'}"


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Writes a table and opens the file."""
    made = 0

    def write(table: Any, **options: Any) -> tarsia.File:
        nonlocal made
        made += 1
        path = tmp_path / f"{made}.tarsia"
        tarsia.write(table, path, **options)
        return tarsia.open(path)

    return write


@pytest.fixture
def numbers() -> pa.Table:
    """A table of a hundred thousand rows."""
    rows = 100_000
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "half": pa.array([row / 2 for row in range(rows)], pa.float64()),
            "text": pa.array([f"row {row % 977}" for row in range(rows)], pa.string()),
        }
    )
