"""Files as lazy frames of polars.

::

    import tarsia.polars

    clicks = tarsia.polars.scan("clicks-*.tarsia")
    clicks.filter(pl.col("price") > 10).select("user", "price").collect()

polars asks the scan for the columns, the filter and the number of rows that a query needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._files import Files, differs
from ._library import need
from ._tarsia import ROW_NUMBER

need(__name__, "polars", "2.1")

import polars as pl
from polars.io.plugins import register_io_source

from ._filter_polars import schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._file import File

__all__ = ["scan"]


def scan(source: Any, *, batch_size: int | None = None, **options: Any) -> pl.LazyFrame:
    """Describes a table for polars, which reads from it what a query needs.

    Of the first file the schema is read now, and nothing else. Files are opened anew by each query.

    A filter means what it means to polars. The parts that the file's scan compares in the same way are evaluated by
    it, with the statistics of the file; whatever is left, polars evaluates behind the scan (see
    :meth:`tarsia.File.explain`). Deleted rows are left out.

    :param source: a path, a folder, a pattern of paths, a URL, bytes, an open :class:`tarsia.File`, or a list of
        these, whose rows follow each other; all files have the same columns
    :param batch_size: rows of a batch, at most; by default what polars asks for
    :param options: those of :func:`tarsia.open`; strings come as views unless ``views`` says otherwise
    """
    files = Files(source, options)
    if not files.some_are_open:
        # polars has strings as views.
        files = Files(source, {"views": True} | options)
    with files.opened(0) as first:
        schema = schema_of(first)
        # What cannot be is said now, not when the query runs.
        first.scan(batch_size=batch_size)
    reader = _Reader(files, schema, batch_size)
    return register_io_source(reader, schema=schema, explain_name="tarsia", explain_detail=reader.described())


class _Reader:
    """Reads what polars asks for. It can be pickled, with the query whose part it is."""

    def __init__(self, files: Files, schema: pl.Schema, batch_size: int | None) -> None:
        self._files = files
        self._schema = schema
        self._batch_size = batch_size

    def described(self) -> str:
        """The files, for people who read the plan of a query."""
        rest = len(self._files) - 1
        return self._files.name(0) + (f" and {rest} more" if rest else "")

    def __call__(
        self, columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        """The rows of all files.

        :param predicate: only rows for which it is true, of those that ``n_rows`` lets pass
        :param n_rows: only the first rows, whether or not the predicate is true for them
        """
        left = n_rows
        for name, file in self._files.each():
            if left == 0:
                return
            if schema_of(file) != self._schema:
                raise differs(name, self._files.name(0))
            rows = None
            if left is not None:
                rows, n_found = _first_rows(file, left)
                left -= n_found
            scan = file.scan(columns, predicate, rows, self._batch_size or batch_size)
            for batch in scan:
                yield pl.DataFrame(batch)


def _first_rows(file: File, wanted: int) -> tuple[range, int]:
    """Where the first rows of a file end that were not deleted, and how many there are."""
    if file.live_rows <= wanted:
        return range(file.num_rows), file.live_rows
    if file.live_rows == file.num_rows:
        return range(wanted), wanted
    last = -1
    for batch in file.scan([], limit=wanted, row_numbers=True):
        last = pl.DataFrame(batch)[ROW_NUMBER][-1]
    return range(last + 1), wanted
