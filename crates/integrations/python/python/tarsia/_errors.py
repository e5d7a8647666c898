"""Exceptions of the package.

Programs decide by the class, never by the text. Files that are not there, and what the system refuses, are the
exceptions that Python itself raises: ``FileNotFoundError``, ``PermissionError``, ``IsADirectoryError``.
"""

from __future__ import annotations


class Error(Exception):
    """A failure, with its place as far as it is known."""

    def __init__(
        self,
        text: str,
        file: str | None = None,
        column: str | None = None,
        page: int | None = None,
        block: int | None = None,
    ) -> None:
        super().__init__(text)
        self.file = file
        self.column = column
        self.page = page
        self.block = block

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple:
        return (type(self), (self.args[0], self.file, self.column, self.page, self.block))


class IoError(Error, OSError):
    """The system or the store refused."""


class CorruptError(Error):
    """The file's bytes are damaged or malicious."""


class UnsupportedError(Error):
    """The file, or a type, needs what this build does not have."""


class InvalidInput(Error, ValueError):
    """The caller's data or options do not fit."""


class LimitExceeded(Error):
    """A limit of the format would be exceeded."""


class NoSuchColumn(InvalidInput, LookupError):
    """The file has no column of that name, or several; or the column has no element of that path."""


class OutOfRange(InvalidInput, IndexError):
    """A row that the file does not have."""


class RowDeleted(Error, LookupError):
    """A row that was deleted."""


class InvalidFilter(InvalidInput):
    """A filter that does not suit the columns that it looks at."""


class FileChanged(Error):
    """The file was changed while it was open, or since a handle was pickled."""


class Busy(Error):
    """Somebody changes the file in place, or reads it, which excludes what was asked for. Later it may work."""


class InternalError(Error):
    """A bug in this package."""


class LossWarning(UserWarning):
    """Something of a table that is written is not stored."""
