"""Filters: what the scan evaluates, and what is left to the library whose expression it is.

A filter is SQL text, or an expression of pyarrow or polars. Of an expression, the parts that mean the same to the
scan, for every value, are evaluated by it; if any part is left, the library evaluates the whole expression again on
the rows that pass. So what an expression means is always what its library says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from . import _tarsia

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._file import File

#: A condition as the compiled module takes it: nested tuples, described in ``src/filter.rs``.
Condition = tuple[Any, ...]

#: Conditions inside of more others than this are left to the library. Python's own limit is not far.
DEPTH_MAX = 100


class Behind(Protocol):
    """An expression that its library evaluates on the rows that the scan lets pass."""

    #: The expression.
    expression: Any
    #: The top-level columns that it looks at.
    columns: list[str]

    def passing(self, batch: _tarsia.Batch) -> Any:
        """The numbers of rows for which the expression is true, of a batch with these columns and row numbers."""

    def joined(self, passing: list[Any]) -> Any:
        """Row numbers of several batches."""


class Ready:
    """A condition that another module of this package has translated, as the filter of a scan."""

    def __init__(self, condition: Condition | None) -> None:
        self.condition = condition


class Filter:
    """A filter in two parts."""

    def __init__(self, filter: Any, file: File) -> None:
        #: What the scan evaluates; None if that is nothing.
        self.pushed: Condition | None = None
        #: What is evaluated behind the scan; None if that is nothing.
        self.behind: Behind | None = None
        #: The language of the filter.
        self.language = "sql"
        if isinstance(filter, str):
            self.pushed = ("sql", filter)
            # An error of the text is one of this call.
            _tarsia.condition_text(self.pushed)
            return
        if isinstance(filter, Ready):
            self.language, self.pushed = "condition", filter.condition
            return
        library = (type(filter).__module__ or "").partition(".")[0]
        if library == "pyarrow":
            from ._filter_pyarrow import split
        elif library == "polars":
            from ._filter_polars import split
        else:
            kind = type(filter).__name__
            raise TypeError(f"filter is SQL text or an expression of pyarrow or polars, not {kind}")
        self.language = library
        self.pushed, self.behind = split(filter, file)


def all_of(conditions: Sequence[Condition]) -> Condition | None:
    """Several conditions at once."""
    if not conditions:
        return None
    return conditions[0] if len(conditions) == 1 else ("and", list(conditions))


def said(expression: Any) -> str:
    """The text of an expression, for people. pyarrow cuts long ones, and where it does, text may be no text any more."""
    try:
        return str(expression)
    except UnicodeDecodeError as error:
        return error.object.decode(errors="replace")
