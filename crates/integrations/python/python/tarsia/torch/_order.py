"""Orders of rows: functions from a position in an epoch to a row, which need no memory per row.

An order is the same wherever it is computed, for any number of ranks, workers and threads. `docs/python-torch.md`
describes it; a test holds the code to fixed values, so that an epoch can be resumed with a later version.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: The version of the functions below. It is part of saved states.
VERSION = 1
_ROUNDS = 8
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def splitmix(word: int) -> int:
    """The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), after one step of its counter."""
    word = (word + _GOLDEN) & _MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


def hashed(*words: int) -> int:
    """A number of 64 bits from several, each of which changes it."""
    state = 0
    for word in words:
        state = splitmix(state ^ word)
    return state


def _mixed(words: np.ndarray, key: np.ndarray | np.uint64) -> np.ndarray:
    """32 bits for each word, in the lower half of a number."""
    words = (words ^ key) * np.uint64(0x9E3779B97F4A7C15)
    words ^= words >> np.uint64(32)
    words *= np.uint64(0xD6E8FEB86659FD93)
    words >>= np.uint64(32)
    return words


class Permutation:
    """Permutations of the numbers below ``size``: a Feistel network with cycle walking.

    A number ``x`` below ``a * b`` is split into ``x % a`` and ``x // a``. In each of eight rounds a keyed hash of one
    half is added to the other, modulo ``a`` and ``b`` in turn. Numbers that come out at ``size`` or above go through
    again: ``a``, the square root of ``size`` rounded up, times ``b`` is less than ``size + a``, so that is rare.

    :param size: one number, or one for each number that is permuted
    """

    def __init__(self, size: Any, *words: int) -> None:
        size = np.asarray(size, np.int64)
        self._size = size.astype(np.uint64)
        # Correctly rounded, so the same everywhere; of large sizes it may be off by one, which is as good.
        root = np.maximum(np.ceil(np.sqrt(size.astype(np.float64))).astype(np.int64), 1)
        self._a = root.astype(np.uint64)
        self._b = np.maximum(-(-size // root), 1).astype(np.uint64)
        self._keys = [np.uint64(hashed(*words, number)) for number in range(_ROUNDS)]

    def __call__(self, numbers: np.ndarray, tweak: Any = None) -> np.ndarray:
        """Where each number goes.

        :param tweak: numbers that choose one of many permutations: one for each number, or one for all
        """
        found = self._once(numbers.astype(np.uint64), self._a, self._b, tweak)
        outside = np.flatnonzero(found >= self._size)
        while len(outside) > 0:
            size, a, b = (_of(of, outside) for of in (self._size, self._a, self._b))
            again = self._once(found[outside], a, b, None if tweak is None else _of(tweak, outside))
            found[outside] = again
            outside = outside[again >= size]
        return found.astype(np.int64)

    def _once(self, numbers: np.ndarray, a: Any, b: Any, tweak: np.ndarray | None) -> np.ndarray:
        half = np.uint64(32)
        right, left = np.divmod(numbers, a)
        for number, key in enumerate(self._keys):
            if tweak is not None:
                key = tweak ^ key
            # The upper bits of a product are a hash below `a`, without a division.
            if number % 2 == 0:
                left += (_mixed(right, key) * a) >> half
                left -= a * (left >= a)
            else:
                right += (_mixed(left, key) * b) >> half
                right -= b * (right >= b)
        return right * a + left


def _of(given: Any, places: np.ndarray) -> Any:
    """The values at places of what has one value for each, or one for all."""
    return given if given.ndim == 0 else given[places]


class InOrder:
    """Rows as they are stored."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def rows(self, positions: np.ndarray) -> np.ndarray:
        """The row at each position."""
        return positions

    def window_end(self, position: int) -> int | None:
        """Positions up to here are best read together; None if there is no such place."""
        return None


class Exact:
    """All rows in random order."""

    def __init__(self, n_rows: int, seed: int, epoch: int) -> None:
        self.n_rows = n_rows
        self._permutation = Permutation(n_rows, VERSION, seed, epoch, 0)

    def rows(self, positions: np.ndarray) -> np.ndarray:
        """The row at each position."""
        return self._permutation(positions)

    def window_end(self, position: int) -> int | None:
        """None: rows that are read together lie nowhere near each other."""
        return None


class Blocks:
    """Runs of rows in random order, mixed in windows.

    Rows are rotated by a random number of runs, so that the shorter last run lies elsewhere in each epoch. Then runs of
    ``run_rows`` are permuted, and put one behind the other; the shorter one is the last. Of that sequence each
    ``window_rows`` make a window. A window has ``lanes`` equal parts, which are permuted each for itself. Positions
    take ``turn_rows`` rows of each lane in turn, so that a shard that reads each n-th batch has lanes of its own. What
    is left of the last window is one more lane.
    """

    def __init__(
        self, n_rows: int, seed: int, epoch: int, run_rows: int, window_rows: int, lanes: int, turn_rows: int
    ) -> None:
        self.n_rows = n_rows
        self._run = run_rows
        self._lanes = lanes
        self._turn = turn_rows
        each = lanes * turn_rows
        self._window = -(-window_rows // each) * each
        n_runs = n_rows // run_rows
        self._shift = run_rows * (hashed(VERSION, seed, epoch, 1) * max(n_runs, 1) >> 64)
        self._whole = n_runs * run_rows
        self._runs = Permutation(n_runs, VERSION, seed, epoch, 2)
        self._key = (VERSION, seed, epoch, 3)
        # Of each lane in the last window, and in the others.
        self._n_whole_windows = n_rows // self._window
        self._lane_rows = self._window // lanes
        self._last_rows = n_rows % self._window
        self._last_lane_rows = self._last_rows // each * turn_rows

    def rows(self, positions: np.ndarray) -> np.ndarray:
        """The row at each position."""
        if len(positions) == 0:
            return positions
        place = self._places(positions)
        is_whole = place < self._whole
        run, in_run = np.divmod(place[is_whole], self._run)
        if len(run) > 0:
            # Rows of a window are of few runs, which lie side by side.
            first, last = int(run.min()), int(run.max())
            if last - first < len(run):
                run = self._runs(np.arange(first, last + 1))[run - first]
            else:
                run = self._runs(run)
        place[is_whole] = run * self._run + in_run
        return (place + self._shift) % self.n_rows

    def _places(self, positions: np.ndarray) -> np.ndarray:
        """The place of each position in the sequence of runs."""
        first, last = (int(position) // self._window for position in (positions.min(), positions.max()))
        if self._lanes == 1 and first == last:
            # The general case below with the same numbers for all.
            size = self._last_rows if first == self._n_whole_windows else self._window
            start = first * self._window
            return start + self._permuted(positions - start, size, np.asarray(first * 2, np.uint64))
        window, at = np.divmod(positions, self._window)
        is_last = window == self._n_whole_windows
        lane_rows = np.where(is_last, self._last_lane_rows, self._lane_rows)
        is_left = at >= lane_rows * self._lanes
        turn, in_turn = np.divmod(at, self._turn)
        lane = np.where(is_left, self._lanes, turn % self._lanes)
        in_lane = np.where(is_left, at - lane_rows * self._lanes, turn // self._lanes * self._turn + in_turn)
        size = np.where(is_left, self._last_rows - lane_rows * self._lanes, lane_rows)
        number = (window * (self._lanes + 1) + lane).astype(np.uint64)
        return window * self._window + lane * lane_rows + self._permuted(in_lane, size, number)

    def _permuted(self, numbers: np.ndarray, size: Any, lane: np.ndarray) -> np.ndarray:
        """Places in lanes of some sizes, which are permuted each for itself."""
        with np.errstate(over="ignore"):
            tweak = lane * np.uint64(_GOLDEN)
        return Permutation(size, *self._key)(numbers, tweak)

    def window_end(self, position: int) -> int | None:
        """The end of the window of a position."""
        return min((position // self._window + 1) * self._window, self.n_rows)
