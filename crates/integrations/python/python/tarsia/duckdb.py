"""Files as tables of DuckDB.

::

    import duckdb
    import tarsia.duckdb

    clicks = tarsia.duckdb.scan("clicks-*.tarsia")
    duckdb.sql("SELECT user, count(*) FROM clicks WHERE price > 10 GROUP BY user")

DuckDB asks the scan for the columns and the filter that a query needs.
"""

from __future__ import annotations

from typing import Any

from ._library import need

# Earlier versions compare NaN in a dataset as pyarrow does, and else in their own way.
need(__name__, "duckdb", "2.0")
need(__name__, "pyarrow", "26.0")

from ._dataset import Dataset

__all__ = ["Dataset", "scan"]


def scan(source: Any, *, batch_size: int | None = None, **options: Any) -> Dataset:
    """Describes a table for DuckDB, which reads from it what a query needs.

    A variable with such a table is one of DuckDB's tables: ``FROM clicks``; or it is registered by
    ``connection.register("clicks", table)``. It is a ``pyarrow.dataset.Dataset``, too, for whatever takes one.

    Of the first file the schema is read now, and nothing else. Files are opened anew by each query. Deleted rows are
    left out.

    :param source: a path, a folder, a pattern of paths, a URL, bytes, an open :class:`tarsia.File`, or a list of
        these, whose rows follow each other; all files have the same columns
    :param batch_size: rows of a batch, at most; by default about 3 MiB of the rows that are read
    :param options: those of :func:`tarsia.open`
    """
    return Dataset(source, batch_size=batch_size, **options)
