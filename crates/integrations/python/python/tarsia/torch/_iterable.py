"""Batches in an order of the data set's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset as TorchIterableDataset
from torch.utils.data import get_worker_info

from .. import _tarsia
from .._errors import InvalidInput
from . import _order
from ._map import checked_count
from ._table import Table
from ._tensors import Converter, Options, row, sliced

#: Batches are read together up to so many bytes and rows: fewer calls, and fewer blocks of memory to share.
_READ_BYTES = 4 << 20
_READ_ROWS = 8192
SHUFFLES = (None, "exact", "blocks")


class Shard:
    """The positions of one rank: batch after batch, from a position of the epoch on.

    Step by step, each rank gets a batch. Position after position of the epoch is used, so after any step the rows that
    were used are those up to a position. In the last step the ranks share what is left.
    """

    def __init__(
        self, start: int, n_rows: int, rank: int, n_ranks: int, batch_rows: int, drop_last: bool, even: bool
    ) -> None:
        self._start, self._n_rows, self._rank, self._n_ranks = start, n_rows, rank, n_ranks
        self._batch_rows, self._even = batch_rows, even
        self._step_rows = n_ranks * batch_rows
        self._n_full, left = divmod(max(n_rows - start, 0), self._step_rows)
        self._left = 0 if drop_last else left
        self.n_steps = self._n_full + (1 if len(self._last()) > 0 else 0)

    def _last(self) -> np.ndarray:
        """The positions in the last step, if it is shorter than the others."""
        first = self._start + self._n_full * self._step_rows
        if self._left == 0:
            return np.empty(0, np.int64)
        if self._even:
            # Rows from the beginning of the epoch once more, so that each rank has as many.
            each = -(-self._left // self._n_ranks)
            return (first + self._rank * each + np.arange(each, dtype=np.int64)) % self._n_rows
        begin, end = (self._left * rank // self._n_ranks for rank in (self._rank, self._rank + 1))
        return np.arange(first + begin, first + end, dtype=np.int64)

    def positions(self, step: int) -> np.ndarray:
        """The positions of a batch."""
        if step >= self._n_full:
            return self._last()
        first = self._start + step * self._step_rows + self._rank * self._batch_rows
        return np.arange(first, first + self._batch_rows, dtype=np.int64)

    def after(self, n_steps: int) -> int:
        """The position up to which rows were used after so many steps."""
        return min(self._start + n_steps * self._step_rows, self._n_rows)


class IterableDataset(TorchIterableDataset):
    """Batches of rows of one or several files, for any number of ranks and workers, resumable at any row.

    The order of an epoch is that of its rows, from position 0 on, whatever the number of ranks and workers is. ::

        dataset = tarsia.torch.IterableDataset("train.tarsia", ["image", "label"], batch_size=256, shuffle="exact")
        loader = DataLoader(dataset, batch_size=None, num_workers=4)
        for epoch in range(10):
            dataset.set_epoch(epoch)
            for batch in loader:
                ...
    """

    def __init__(
        self,
        files: Any,
        columns: Sequence[str] | None = None,
        *,
        batch_size: int | None,
        filter: Any = None,
        shuffle: str | None = None,
        seed: int = 0,
        run_rows: int = 64,
        buffer_rows: int = 16384,
        lanes: int = 1,
        drop_last: bool = False,
        even: bool = True,
        rank: int | None = None,
        world_size: int | None = None,
        collate: Callable[[_tarsia.Batch], Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
        dtype: Any = None,
        ragged: Any = "values_offsets",
        pad_value: Any = 0,
        binary: str = "bytes",
        fill_null: Any = None,
        masks: bool = False,
        **options: Any,
    ) -> None:
        """Opens the files. With a filter, it is evaluated now, once.

        :param files: as of :class:`MapDataset`, and so are `columns`, `filter`, `dtype`, `ragged`, `pad_value`,
            `binary`, `fill_null`, `masks` and `options`
        :param batch_size: rows of a batch, which comes as one value: the loader has ``batch_size=None``. None for
            single rows, which the loader makes batches of
        :param shuffle: None for the order of the files; ``"exact"`` for all rows in random order; ``"blocks"`` for runs
            of rows in random order, mixed in a buffer, which reads stores and disks in larger pieces
        :param seed: a number below 2**64 that, with the epoch, chooses the order
        :param run_rows: of ``"blocks"``: rows that are read together
        :param buffer_rows: of ``"blocks"``: rows that are mixed; all workers of all ranks together hold so many
        :param lanes: of ``"blocks"``: parts of the buffer that are mixed each for itself. As many as there are
            workers of all ranks (or a multiple), and no two workers read of the same run
        :param drop_last: whether to leave out the last step, if it has not a whole batch for each rank
        :param even: whether all ranks get equally many rows, for which at most `world_size` - 1 rows come twice; if
            not, each row comes once, and some ranks may have a row more than others, or a batch
        :param rank: this process among those that train; by default that of ``torch.distributed`` if it is initialized
        :param world_size: how many these are
        :param collate: a function of a :class:`tarsia.Batch`, instead of tensors
        :param transform: a function of each batch, or row, that is made
        """
        super().__init__()
        self._table = Table(files, columns, filter, options)
        self._batch_size = None if batch_size is None else checked_count("batch_size", batch_size, 1)
        if shuffle not in SHUFFLES:
            raise InvalidInput(f"shuffle is None, 'exact' or 'blocks', not {shuffle!r}")
        self._shuffle = shuffle
        self._seed = checked_count("seed", seed, 0)
        if self._seed >> 64:
            raise InvalidInput(f"seed is {seed}: it is below 2**64")
        self._run_rows = checked_count("run_rows", run_rows, 1)
        self._buffer_rows = checked_count("buffer_rows", buffer_rows, 1)
        self._lanes = checked_count("lanes", lanes, 1)
        self._drop_last, self._even = bool(drop_last), bool(even)
        self._given = _given_rank(rank, world_size)
        for name, function in (("collate", collate), ("transform", transform)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} is a function, not {type(function).__name__}")
        self._collate, self._transform = collate, transform
        self._converter = None
        if collate is None:
            made = Options(dtype, ragged, pad_value, binary, fill_null, masks)
            self._converter = Converter(self._table.types, made)
        elif batch_size is None:
            raise InvalidInput("collate makes batches: batch_size is None")
        self._identity = self._table.identity()
        # Where the next pass begins: epoch, position, rows of a turn; and whether workers have begun one. Workers that
        # live longer than a pass see what is set here.
        self._next = torch.tensor([0, 0, self._turn_rows(), 0], dtype=torch.int64).share_memory_()
        #: In the process that reads: its epoch, its place, and batches of this worker since there.
        self._now: tuple[int, int, int] | None = None
        #: What a worker resumes with: the place of all, and batches of this worker since there.
        self._resumed: dict[str, int] | None = None
        self._inherited: tuple[int, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # Another process may not know of `torch.distributed`.
        return self.__dict__ | {"_inherited": self._ranks()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Workers of this process are to see what is set here, too.
        self._next.share_memory_()

    def __copy__(self) -> IterableDataset:
        copy = type(self).__new__(type(self))
        copy.__setstate__(self.__getstate__() | {"_next": self._next.clone()})
        return copy

    @property
    def epoch(self) -> int:
        """The epoch of the next pass."""
        return int(self._next[0])

    @property
    def num_rows(self) -> int:
        """Rows of an epoch, of all ranks together."""
        return len(self._table)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next pass, which begins with its first row, unless a state of this epoch was loaded.

        Call it before each pass. Workers that stay alive see it, too.
        """
        epoch = checked_count("epoch", epoch, 0)
        if epoch >= 1 << 63:
            raise InvalidInput(f"epoch is {epoch}: it is below 2**63")
        if epoch != self.epoch:
            self._next[:3] = torch.tensor([epoch, 0, self._turn_rows()])
        self._next[3] = 0
        self._now = None

    def __len__(self) -> int:
        """Batches, or rows, that the next pass has for this rank."""
        return self._shard(int(self._next[1])).n_steps

    def state_after(self, batches: int) -> dict[str, Any]:
        """The state after so many batches that a loader gave to this rank, since it began the pass.

        Workers read ahead, so that only the user of a loader knows how many these are. Ranks are taken to have used
        equally many. Without a batch size, rows are meant.
        """
        batches = checked_count("batches", batches, 0)
        shard = self._shard(int(self._next[1]))
        if batches > shard.n_steps:
            raise InvalidInput(f"{batches} batches: the pass has {shard.n_steps}")
        return self._state(self.epoch, shard.after(batches), int(self._next[2]))

    def state_dict(self) -> dict[str, Any]:
        """Where the next row is read: in a loop over the data set itself, or a loader without workers.

        In a worker, for ``torchdata.stateful_dataloader``: also how many batches this worker has made.

        :raises InvalidInput: if workers of a loader read: :meth:`state_after` tells the state
        """
        info = get_worker_info()
        if info is None:
            if int(self._next[3]):
                raise InvalidInput("workers of a loader read this data set: ask for `state_after(batches)`")
            if self._now is None:
                return self._state(self.epoch, int(self._next[1]), int(self._next[2]))
            return self._state(self._now[0], self._now[1], self._now[2])
        rank, n_ranks = self._ranks()
        begun = self._resumed or self._beginning()
        state = self._state(begun["epoch"], begun["rows"], begun["turn"])
        shards = {"rank": rank, "world_size": n_ranks, "worker": info.id, "num_workers": info.num_workers}
        return state | shards | {"batch_size": self._batch_rows(), "made": begun["made"]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resumes where a state was taken, with any number of ranks and workers.

        :param state: what :meth:`state_dict` or :meth:`state_after` gave, or a dict of ``epoch`` and ``rows``: the rows
            that all ranks together have used of that epoch
        :raises InvalidInput: for a state of other files, of another filter, seed or order
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"a state is a dict, not {type(state).__name__}")
        for name in ("epoch", "rows"):
            if name not in state:
                raise InvalidInput(f"the state has no `{name}`")
        epoch, rows = checked_count("epoch", state["epoch"], 0), checked_count("rows", state["rows"], 0)
        if rows > len(self._table) or epoch >= 1 << 63:
            raise InvalidInput(f"the state is at row {rows} of epoch {epoch}: an epoch has {len(self._table)}")
        turn = self._turn_rows()
        if "order" in state:
            turn = self._checked_order(dict(state["order"]))
        if state.get("files", self._identity) != self._identity:
            raise InvalidInput("the state is of other files or of another filter, or the files were changed")
        if "worker" in state:
            self._load_in_worker(state, epoch, rows, turn)
            return
        self._next[:] = torch.tensor([epoch, rows, turn, 0])
        self._now = self._resumed = None

    def _load_in_worker(self, state: Mapping[str, Any], epoch: int, rows: int, turn: int) -> None:
        info, (rank, n_ranks) = get_worker_info(), self._ranks()
        if info is None:
            raise InvalidInput("this is the state of a worker; `state_after` gives one for all workers and ranks")
        here = {"rank": rank, "world_size": n_ranks, "worker": info.id, "num_workers": info.num_workers}
        for name, value in (here | {"batch_size": self._batch_rows()}).items():
            if state.get(name) != value:
                text = f"the state of a worker has {name} {state.get(name)}, here it is {value}"
                raise InvalidInput(f"{text}; a state of `state_after` can be resumed with any number")
        made = checked_count("made", state.get("made"), 0)
        self._resumed = {"epoch": epoch, "rows": rows, "turn": turn, "made": made, "is_new": 1}

    def _beginning(self) -> dict[str, int]:
        """Where the next pass begins, and that a worker has made no batch of it."""
        return {"epoch": self.epoch, "rows": int(self._next[1]), "turn": int(self._next[2]), "made": 0}

    def _order_of(self) -> dict[str, Any]:
        order: dict[str, Any] = {"version": _order.VERSION, "shuffle": self._shuffle}
        if self._shuffle is not None:
            order["seed"] = self._seed
        if self._shuffle == "blocks":
            order |= {"run_rows": self._run_rows, "buffer_rows": self._buffer_rows, "lanes": self._lanes}
        return order

    def _checked_order(self, order: dict[str, Any]) -> int:
        """The rows of a turn of a state's order, whose rest is the order here."""
        turn = order.pop("turn_rows", None)
        here = self._order_of()
        for name in sorted(here.keys() | order.keys()):
            if order.get(name) != here.get(name):
                raise InvalidInput(f"the state has {name} {order.get(name)!r}, here it is {here.get(name)!r}")
        return self._turn_rows() if turn is None else checked_count("turn_rows", turn, 1)

    def _state(self, epoch: int, rows: int, turn: int) -> dict[str, Any]:
        order = self._order_of()
        if self._shuffle == "blocks":
            # A batch size that is changed later does not change the order of the epoch that was begun.
            order["turn_rows"] = turn
        return {"version": 1, "epoch": epoch, "rows": rows, "files": self._identity, "order": order}

    def _turn_rows(self) -> int:
        return 1 if self._lanes == 1 else self._batch_rows()

    def _batch_rows(self) -> int:
        return self._batch_size or 1

    def _ranks(self) -> tuple[int, int]:
        """The rank of this process, and how many there are."""
        if self._given is not None:
            return self._given
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(), torch.distributed.get_world_size()
        return self._inherited or (0, 1)

    def _shard(self, start: int) -> Shard:
        rank, n_ranks = self._ranks()
        return Shard(start, len(self._table), rank, n_ranks, self._batch_rows(), self._drop_last, self._even)

    def _order_in(self, epoch: int, turn: int) -> Any:
        n_rows = len(self._table)
        if self._shuffle == "exact":
            return _order.Exact(n_rows, self._seed, epoch)
        if self._shuffle == "blocks":
            sizes = (self._run_rows, self._buffer_rows, self._lanes, turn)
            return _order.Blocks(n_rows, self._seed, epoch, *sizes)
        return _order.InOrder(n_rows)

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, n_workers = (0, 1) if info is None else (info.id, info.num_workers)
        begun = self._beginning()
        if info is not None:
            self._next[3] = 1
            if self._resumed is not None and self._resumed.pop("is_new", 0):
                begun = self._resumed
            self._resumed = begun
        self._now = None
        return self._pass(begun, worker, n_workers, info is not None)

    def _pass(self, begun: dict[str, int], worker: int, n_workers: int, is_worker: bool) -> Iterator[Any]:
        epoch, turn = begun["epoch"], begun["turn"]
        shard = self._shard(begun["rows"])
        order = self._order_in(epoch, turn)
        # One batch after the other comes from one worker after the other, so their number does not change the order.
        steps = range(worker + begun["made"] * n_workers, shard.n_steps, n_workers)
        made = 0
        for value in self._values(shard, order, steps):
            made += 1
            if is_worker:
                begun["made"] += 1
            else:
                self._now = (epoch, shard.after(made), turn)
            yield value
        if not is_worker and self.epoch == epoch:
            # The next pass begins with the first row, also if this one was resumed.
            self._now = (epoch, shard.after(shard.n_steps), turn)
            self._next[1:3] = torch.tensor([0, self._turn_rows()])

    def _values(self, shard: Shard, order: Any, steps: range) -> Iterator[Any]:
        at, n_together = 0, 1
        while at < len(steps):
            positions = [shard.positions(steps[at])]
            end = order.window_end(int(positions[0][0]))
            while at + len(positions) < len(steps):
                following = shard.positions(steps[at + len(positions)])
                if end is None and len(positions) == n_together or end is not None and following[0] >= end:
                    break
                positions.append(following)
            batch = self._table.take(order.rows(np.concatenate(positions)))
            n_bytes = max(batch.nbytes // len(positions), 1)
            n_together = max(1, min(_READ_BYTES // n_bytes, _READ_ROWS // self._batch_rows()))
            yield from self._parts(batch, [len(part) for part in positions])
            at += len(positions)

    def _parts(self, batch: _tarsia.Batch, lengths: list[int]) -> Iterator[Any]:
        start = 0
        converter = self._converter
        columns = None if converter is None else converter.columns(batch)
        for length in lengths:
            if converter is None:
                assert self._collate is not None
                value = self._collate(batch.slice(start, length))
            elif self._batch_size is None:
                value = row(columns, start)
            else:
                value = converter.finished(sliced(columns, start, start + length))
            start += length
            if self._transform is not None:
                value = self._transform(value)
            if isinstance(value, (_tarsia.Batch, _tarsia.Table)) and get_worker_info() is not None:
                # The loader would wait for it forever: a worker cannot tell that it cannot send something.
                raise TypeError("a worker cannot send a tarsia.Batch: convert it, such as by `to_pyarrow()`")
            yield value

    def __repr__(self) -> str:
        return f"<tarsia.torch.IterableDataset: {len(self._table)} rows, shuffle={self._shuffle!r}>"


def _given_rank(rank: int | None, world_size: int | None) -> tuple[int, int] | None:
    if rank is None and world_size is None:
        return None
    if rank is None or world_size is None:
        raise InvalidInput("rank and world_size are given together")
    world_size = checked_count("world_size", world_size, 1)
    rank = checked_count("rank", rank, 0)
    if rank >= world_size:
        raise InvalidInput(f"rank is {rank} of {world_size}: it is below world_size")
    return rank, world_size
