"""Libraries that modules of this package need."""

from __future__ import annotations

from importlib import import_module


def need(module: str, library: str, least: str, parts: str = "") -> None:
    """Imports a library for a module of this package.

    :param least: the version that it is at least
    :param parts: parts of the library that are installed on demand: ``"[data]"``
    :raises ImportError: if it is not there, or is older
    """
    advice = f"{module} needs {library} {least} or later: pip install '{library}{parts}>={least}'"
    try:
        found = import_module(library).__version__
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise ImportError(advice, name=library) from error
    if _numbers(found) < _numbers(least):
        raise ImportError(f"{advice} (this is {found})", name=library)


def _numbers(version: str) -> list[int]:
    """The first two numbers of a version."""
    return [int(part) if part.isdigit() else 0 for part in (*version.split("."), "0")[:2]]
