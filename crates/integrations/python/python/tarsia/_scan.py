"""Scans: described once, run whenever their batches are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _tarsia
from ._filter import Filter, said
from ._tarsia import ROW_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas
    import polars
    import pyarrow

    from ._file import File

#: Rows that are looked at together where a part of a filter is evaluated by another library.
_WINDOW_ROWS = 1 << 20


class Scan:
    """Rows of a file, as :meth:`File.scan` describes them.

    It is read by iterating over it, or by whatever takes objects with ``__arrow_c_stream__``: ``pyarrow.table(scan)``,
    ``polars.DataFrame(scan)``, DuckDB. Each time a new scan starts. Pickled, it is the file and the description.
    """

    def __init__(
        self,
        file: File,
        columns: Sequence[str] | None,
        filter: Any,
        rows: Any,
        batch_size: int | None,
        limit: int | None,
        row_numbers: bool,
    ) -> None:
        self._file = file
        self._columns = columns
        self._filter = filter
        self._batch_size = batch_size
        self._limit = limit
        self._row_numbers = bool(row_numbers)
        self._range, self._rows = _rows_of(rows, file)
        # What cannot be is said now, not when the first batch is asked for.
        self._asked = Filter(filter, file) if filter is not None else None
        _checked_count("batch_size", batch_size, 1)
        _checked_count("limit", limit, 0)

    def _wanted(self) -> dict[str, Any]:
        return {
            "columns": self._columns,
            "filter": self._asked.pushed if self._asked is not None else None,
            "range": self._range,
            "rows": self._rows,
            "batch_size": self._batch_size,
            "limit": self._limit,
            "row_numbers": self._row_numbers,
        }

    def _is_split(self) -> bool:
        return self._asked is not None and self._asked.behind is not None

    def _run(self) -> _tarsia.Batches:
        return self._file._opened().scan(**self._wanted())

    def __getstate__(self) -> dict[str, Any]:
        # The filter is found again, since its parts are those of a library.
        return {name: value for name, value in self.__dict__.items() if name != "_asked"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._asked = Filter(self._filter, self._file) if self._filter is not None else None

    @property
    def schema(self) -> _tarsia.Schema:
        """The schema of the batches."""
        wanted = self._wanted() | {"filter": None, "range": (0, 0), "rows": None}
        return self._file._opened().scan(**wanted).schema

    def __iter__(self) -> Iterator[_tarsia.Batch]:
        return iter(self._split()) if self._is_split() else self._run()

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if self._is_split():
            return _tarsia.stream_of(self.schema, self._split(), requested_schema)
        return self._run().__arrow_c_stream__(requested_schema)

    def read_all(self) -> _tarsia.Table:
        """All batches at once."""
        if self._is_split():
            return _tarsia.Table(self.schema, list(self._split()))
        return self._run().read_all()

    def to_pyarrow(self) -> pyarrow.Table:
        """The rows as a ``pyarrow.Table``."""
        return self.read_all().to_pyarrow()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a ``pandas.DataFrame``; needs pyarrow, too."""
        return self.read_all().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The rows as a ``polars.DataFrame``."""
        return self.read_all().to_polars()

    def count(self) -> int:
        """Counts the rows. Only the columns that the filter looks at are read."""
        if self._is_split():
            left = self._limit
            counted = 0
            for rows in self._matching():
                counted += len(rows)
                if left is not None and counted >= left:
                    return left
            return counted
        wanted = self._wanted() | {"columns": None, "row_numbers": False}
        return self._file._opened().count(**wanted)

    def explain(self) -> dict[str, Any]:
        """Says how the filter is evaluated.

        | key | value |
        |---|---|
        | ``language`` | ``sql``, ``pyarrow`` or ``polars``; None without a filter |
        | ``pushed`` | what the scan evaluates, as SQL text; None if that is nothing |
        | ``behind`` | the expression that its library evaluates behind the scan, on the rows that are left; or None |
        | ``columns`` | the columns that are read for ``behind`` |
        | ``rows`` | rows of the scan without the filter, deleted ones left out |
        | ``rows_looked_at`` | rows of these that statistics do not rule out |
        """
        asked = self._asked
        handle = self._file._opened()
        wanted = {"range": self._range, "rows": self._rows}
        pushed = asked.pushed if asked is not None else None
        behind = asked.behind if asked is not None else None
        return {
            "language": asked.language if asked is not None else None,
            "pushed": _tarsia.condition_text(pushed) if pushed is not None else None,
            "behind": said(behind.expression) if behind is not None else None,
            "columns": list(behind.columns) if behind is not None else [],
            "rows": handle.count_looked_at(**wanted),
            "rows_looked_at": handle.count_looked_at(**wanted, filter=pushed),
        }

    def _matching(self) -> Iterator[Any]:
        """The numbers of rows that pass the whole filter, window by window, rising."""
        assert self._asked is not None and self._asked.behind is not None
        behind = self._asked.behind
        start, end = self._range or (0, self._file.num_rows)
        for first in range(start, end, _WINDOW_ROWS):
            wanted = {
                "columns": behind.columns,
                "filter": self._asked.pushed,
                "range": (first, min(first + _WINDOW_ROWS, end)),
                "rows": self._rows,
                "row_numbers": True,
            }
            passing = [behind.passing(batch) for batch in self._file._opened().scan(**wanted)]
            yield behind.joined(passing)

    def _split(self) -> Iterator[_tarsia.Batch]:
        """The batches of rows that pass a filter of which a part is evaluated by another library."""
        left = self._limit
        for rows in self._matching():
            if left is not None:
                rows = rows[:left]
                left -= len(rows)
            if len(rows) > 0:
                wanted = self._wanted() | {"filter": None, "range": None, "rows": rows, "limit": None}
                yield from self._file._opened().scan(**wanted)
            if left == 0:
                return


def _checked_count(name: str, value: Any, least: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    if value.__index__() < least:
        from ._errors import InvalidInput

        raise InvalidInput(f"{name} is {value}: it is {least} at least")


def _rows_of(rows: Any, file: File) -> tuple[tuple[int, int] | None, Any]:
    """Rows as a range, or as numbers."""
    if rows is None:
        return None, None
    if isinstance(rows, slice):
        if rows.step not in (None, 1):
            return None, range(*rows.indices(file.num_rows))
        start, stop, _ = rows.indices(file.num_rows)
        return (start, max(start, stop)), None
    if isinstance(rows, range) and rows.step == 1:
        if rows.start < 0 or rows.stop < 0:
            from ._errors import OutOfRange

            raise OutOfRange(f"{rows!r}: rows count from 0")
        return (rows.start, max(rows.start, rows.stop)), None
    return None, rows
