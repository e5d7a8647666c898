"""Several files that are read as one table, one behind the other."""

from __future__ import annotations

import glob
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._errors import InvalidInput
from ._file import File, _absolute, open

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Names of files in a folder.
_SUFFIX = ".tarsia"


class Files:
    """Places of files, in the order of their rows.

    A file is opened where it is read, and closed when that is done, so that between two reads nothing keeps it from
    being changed in place. Files that the caller has opened stay open, and stay what they are.
    """

    def __init__(self, source: Any, options: dict[str, Any]) -> None:
        """Finds the files.

        :param source: a path, a folder, a pattern of paths (``clicks-*.tarsia``), a URL, bytes, an open
            :class:`File`, or a list of these
        :param options: those of :func:`tarsia.open`; open files take none
        :raises FileNotFoundError: for a pattern or a folder without files
        """
        self._options = options
        parts = list(source) if isinstance(source, (list, tuple)) else [source]
        self._places = [place for part in parts for place in self._found(part)]
        if not self._places:
            raise InvalidInput("a list of files has one at least")

    def _found(self, part: Any) -> list[Any]:
        if isinstance(part, File):
            if self._options:
                raise InvalidInput(f"a file that is open takes no options: {', '.join(self._options)}")
            return [part]
        if not isinstance(part, (str, os.PathLike)):
            if isinstance(part, (bytes, bytearray, memoryview)) or hasattr(part, "read"):
                return [part]
            kind = type(part).__name__
            raise TypeError(f"a file is a path, a URL, bytes, a file object or a tarsia.File, not {kind}")
        path = os.fspath(part)
        if not isinstance(path, str) or "://" in path or os.path.isfile(path):
            return [_absolute(path)]
        if os.path.isdir(path):
            path = os.path.join(glob.escape(path), "**", "*" + _SUFFIX)
        elif not glob.has_magic(path):
            # Opening says what the system says.
            return [_absolute(path)]
        names = sorted(name for name in glob.glob(os.path.abspath(path), recursive=True) if os.path.isfile(name))
        if not names:
            raise FileNotFoundError(f"{path}: no file has such a name")
        return names

    def __len__(self) -> int:
        return len(self._places)

    @property
    def some_are_open(self) -> bool:
        """Whether the caller has opened some of them."""
        return any(isinstance(place, File) for place in self._places)

    @property
    def some_are_objects(self) -> bool:
        """Whether some are file objects, which belong to one process."""
        return any(hasattr(place, "read") for place in self._places)

    def name(self, number: int) -> str:
        """The name of a file, for people."""
        place = self._places[number]
        if isinstance(place, File):
            return place._name()
        return place if isinstance(place, str) else "<memory>"

    @contextmanager
    def opened(self, number: int) -> Iterator[File]:
        """A file, opened for as long as the block lasts."""
        place = self._places[number]
        if isinstance(place, File):
            yield place
            return
        with open(place, **self._options) as file:
            yield file

    def each(self) -> Iterator[tuple[str, File]]:
        """All files with their names, of which one is open at a time."""
        for number in range(len(self)):
            with self.opened(number) as file:
                yield self.name(number), file

    def __getstate__(self) -> dict[str, Any]:
        if self.some_are_objects:
            raise TypeError("a file object cannot be pickled: name the file by its path instead")
        places = [bytes(place) if isinstance(place, (bytearray, memoryview)) else place for place in self._places]
        return {"_options": self._options, "_places": places}


def differs(name: str, first: str) -> InvalidInput:
    """The error of a file whose columns are not those of the first one."""
    return InvalidInput(f"{name}: its columns are not those of {first}, with which it is read as one table", name)
