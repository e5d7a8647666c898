"""Rows erased from files."""

from __future__ import annotations

import builtins
import os
from typing import Any

from . import _tarsia
from ._errors import InvalidInput


def _certificate(certificate: Any, key: Any, note: str | None) -> dict[str, Any] | None:
    if certificate is None:
        if key is not None or note is not None:
            raise InvalidInput("a key and a note are those of a certificate")
        return None
    from datetime import UTC, datetime

    return {
        "path": os.fspath(certificate),
        "key": None if key is None else os.fspath(key),
        "note": note,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def erase(
    place: Any,
    *,
    where: str | None = None,
    rows: Any = None,
    level: int = 2,
    certificate: Any = None,
    key: Any = None,
    note: str | None = None,
    wait: bool = False,
    dry_run: bool = False,
    out: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """Erases rows of a local file in place, and says what that changed.

    Whatever interrupts it, the file is as it was before or as it is after. Readers that have the file mapped keep it
    from being changed (:class:`Busy`): close them first.

    :param where: SQL text; the rows for which it is true. It is strict: each literal is a value of its column's type
    :param rows: row numbers, instead
    :param level: 2: the columns at level 2 lose the values of these rows; 1: readers do not see the rows any more
    :param certificate: the path of a file that says, for others to check, what was erased; nothing may be there
    :param key: the path of the secret key that signs it
    :param note: a text in it
    :param wait: whether to wait for other readers instead of failing
    :param dry_run: whether to say what would change, and to change nothing
    :param out: a path or a URL: the file without the rows is written there, and this one is not changed
    :param options: those of :func:`open`
    """
    if dry_run and certificate is not None:
        raise InvalidInput("a dry run has no certificate")
    if out is not None and isinstance(out, (str, os.PathLike)) and isinstance(place, (str, os.PathLike)):
        if "://" not in str(out) and os.path.exists(out) and os.path.exists(place) and os.path.samefile(out, place):
            raise InvalidInput("out has the name of the file that is read")
    return _tarsia.erase(
        place,
        rows=rows,
        passing=where,
        level=level,
        certificate=_certificate(certificate, key, note),
        wait=wait,
        dry_run=dry_run,
        out=out,
        options=options,
    )


def recover(
    place: Any, *, certificate: Any = None, key: Any = None, note: str | None = None, wait: bool = False
) -> dict[str, Any]:
    """Finishes an interrupted erasure, or drops one that had changed nothing. The next erasure does so, too.

    :param certificate: the path that the certificate of that erasure gets
    """
    return _tarsia.recover(place, certificate=_certificate(certificate, key, note), wait=wait)


def verify_certificate(
    place: Any, certificate: Any, *, signed_by: Any = (), **options: Any
) -> dict[str, Any]:
    """Compares the certificate of an erasure with a file, which is verified, too.

    ``ok`` says whether all is right and a key that you name has signed it; ``verdict`` is ``ok``, ``unsigned``,
    ``signed by an unknown key`` or ``refuted``, and ``why`` says what does not agree. ``unchanged`` says whether the
    file is as the erasure left it, or was erased further since. Who can write the file can write a certificate that nobody
    has signed.

    :param place: a path, a URL, bytes, or an open :class:`File`
    :param certificate: the path of the certificate
    :param signed_by: the path of a public key that you trust, or several
    :param options: those of :func:`open`
    :raises InvalidInput: for what is no certificate, or no key, and for a signature that is not true
    """
    from ._file import File, open

    file = place if isinstance(place, File) else open(place, **options)
    keys = [signed_by] if isinstance(signed_by, (str, os.PathLike)) else list(signed_by)
    return file._opened().check_certificate(_content(certificate), [_content(key) for key in keys])


def _content(path: Any) -> bytes:
    with builtins.open(path, "rb") as file:
        return file.read()


def audit(place: Any, **options: Any) -> dict[str, Any]:
    """Verifies a file, and finds what it still holds of deleted rows: ``clean`` says whether that is nothing."""
    from ._file import File, open

    file = place if isinstance(place, File) else open(place, **options)
    return file.audit()
