"""Data sets of PyTorch that read Tarsia files.

:class:`MapDataset` gives rows by number, and takes a whole batch at once. :class:`IterableDataset` gives batches in an
order of its own, shuffled or not, to several ranks and workers, and can be resumed at any row. The manual is
`docs/python-torch.md`. Of other packages they need PyTorch and NumPy.
"""

from __future__ import annotations

from ._columns import Columns, Ragged
from ._iterable import IterableDataset
from ._map import MapDataset, Rows, collate

__all__ = ["Columns", "IterableDataset", "MapDataset", "Ragged", "Rows", "collate"]
