"""Files for Hugging Face's ``datasets``.

::

    import datasets
    import tarsia.datasets

    tarsia.datasets.register()
    clicks = datasets.load_dataset("tarsia", data_files="clicks-*.tarsia", columns=["user", "price"])

``datasets`` has no way to add a format from outside, so :func:`register` adds one to its lists of formats.
"""

from __future__ import annotations

import hashlib
import inspect
from typing import Any

from ._errors import UnsupportedError
from ._library import need
from ._tarsia import __version__

need(__name__, "datasets", "5.2")

from datasets import packaged_modules as _formats

from . import _datasets
from ._datasets import Tarsia, TarsiaConfig

__all__ = ["Tarsia", "TarsiaConfig", "register"]

_NAME = "tarsia"
_SUFFIX = ".tarsia"


def register() -> None:
    """Makes the format known to ``datasets`` in this process: ``load_dataset("tarsia", data_files=…)``, and folders and
    repositories with files ``*.tarsia``. A second call changes nothing.

    ``load_dataset`` takes, beside its own arguments, those of :class:`TarsiaConfig`.

    :raises UnsupportedError: if this version of ``datasets`` keeps its formats in another way
    """
    try:
        # Tables are kept under a name in which the reader's code is.
        code = inspect.getsource(_datasets) + __version__
        digest = hashlib.sha256(code.encode()).hexdigest()
        lists: list[tuple[Any, str, Any]] = [
            (_formats._PACKAGED_DATASETS_MODULES, _NAME, (_datasets.__name__, digest)),
            (_formats._EXTENSION_TO_MODULE, _SUFFIX, (_NAME, {})),
            (_formats._MODULE_TO_EXTENSIONS, _NAME, [_SUFFIX, ".zip"]),
            (_formats._MODULE_TO_METADATA_FILE_NAMES, _NAME, []),
            (_formats._MODULE_TO_METADATA_EXTENSIONS, _NAME, []),
        ]
        all_suffixes = [_formats._ALL_EXTENSIONS, _formats._ALL_ALLOWED_EXTENSIONS]
    except AttributeError as error:
        raise UnsupportedError(f"this version of datasets keeps its formats in another way: {error}") from error
    for known, key, value in lists:
        known.setdefault(key, value)
    for suffixes in all_suffixes:
        if _SUFFIX not in suffixes:
            suffixes.append(_SUFFIX)
