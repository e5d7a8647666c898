"""Tarsia: a columnar file format for machine-learning data. Full scans and single rows from one file.

Values go in and out by Arrow's C interfaces: anything with ``__arrow_c_stream__`` is written, and whatever takes such
objects reads what this package gives. pyarrow, pandas and polars are imported where a method needs them.

Importing the package starts nothing. Threads are made when a file is first opened, for each process its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._errors import (
    Busy,
    CorruptError,
    Error,
    FileChanged,
    InternalError,
    InvalidFilter,
    InvalidInput,
    IoError,
    LimitExceeded,
    LossWarning,
    NoSuchColumn,
    OutOfRange,
    RowDeleted,
    UnsupportedError,
)
from ._erase import audit, erase, recover, verify_certificate
from ._file import File, open
from ._scan import Scan
from ._tarsia import ROW_NUMBER, Batch, Schema, Table, WriterMemory, __version__
from ._write import Writer, write

__all__ = [
    "ROW_NUMBER",
    "Batch",
    "Busy",
    "CorruptError",
    "Error",
    "File",
    "FileChanged",
    "InternalError",
    "InvalidFilter",
    "InvalidInput",
    "IoError",
    "LimitExceeded",
    "LossWarning",
    "NoSuchColumn",
    "OutOfRange",
    "RowDeleted",
    "Scan",
    "Schema",
    "Table",
    "UnsupportedError",
    "Writer",
    "WriterMemory",
    "__version__",
    "audit",
    "erase",
    "open",
    "recover",
    "verify_certificate",
    "write",
]

#: Modules that import another library, where they are first used.
_MODULES = ("datasets", "duckdb", "polars", "ray", "torch")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if TYPE_CHECKING:
    from . import datasets, duckdb, polars, ray, torch
