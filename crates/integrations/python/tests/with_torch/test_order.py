"""Orders of rows, and shards of them: permutations for any number of ranks and workers, resumed at any row."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import pytest

from tarsia.torch._iterable import Shard
from tarsia.torch._order import Blocks, Exact, InOrder, Permutation, hashed

N_CASES = 20_000 if os.environ.get("TARSIA_CASES") == "all" else 2000


def some_order(random: np.random.Generator, n_rows: int) -> Any:
    """One of the orders, with any options."""
    seed, epoch = int(random.integers(0, 1 << 63)), int(random.integers(0, 1000))
    kind = random.integers(0, 3)
    if kind == 0:
        return InOrder(n_rows)
    if kind == 1:
        return Exact(n_rows, seed, epoch)
    run, window, lanes, turn = (int(size) for size in random.integers(1, [40, 200, 9, 20]))
    return Blocks(n_rows, seed, epoch, run, window, lanes, turn)


@pytest.mark.want(10)
def test_orders_are_permutations() -> None:
    random = np.random.default_rng(1)
    for _ in range(N_CASES):
        n_rows = int(random.integers(1, 700))
        order = some_order(random, n_rows)
        whole = order.rows(np.arange(n_rows))
        assert np.array_equal(np.sort(whole), np.arange(n_rows)), (n_rows, order.__dict__)
        # A position is the same row, whatever it is asked for with.
        some = random.integers(0, n_rows, 13)
        assert np.array_equal(order.rows(some), whole[some])


@pytest.mark.want(10)
@pytest.mark.parametrize("n_rows", [(1 << 32) - 5, (1 << 32) + 1, 10**12 + 7, 1 << 60])
def test_large_orders_stay_in_range_and_are_not_twice_anywhere(n_rows: int) -> None:
    positions = np.unique(np.random.default_rng(2).integers(0, n_rows, 200_000))
    for order in (Exact(n_rows, 3, 4), Blocks(n_rows, 3, 4, 1000, 1 << 20, 8, 256)):
        rows = order.rows(positions)
        assert rows.min() >= 0 and rows.max() < n_rows
        assert len(np.unique(rows)) == len(positions)


@pytest.mark.want(10)
def test_each_row_is_as_likely_at_each_position() -> None:
    # Chi-square over 20,000 seeds: of so many degrees of freedom, five standard deviations above the mean.
    for n_rows in (3, 10, 97):
        found = np.array([Exact(n_rows, seed, 0).rows(np.arange(n_rows)) for seed in range(20_000)])
        for position in (0, 1, n_rows // 2, n_rows - 1):
            expected = 20_000 / n_rows
            chi = ((np.bincount(found[:, position], minlength=n_rows) - expected) ** 2 / expected).sum()
            assert chi < n_rows - 1 + 5 * (2 * (n_rows - 1)) ** 0.5, (n_rows, position, chi)
        # So are pairs of neighbours.
        pairs = Counter(zip(found[:, 0].tolist(), found[:, 1].tolist(), strict=True))
        n_pairs = n_rows * (n_rows - 1)
        expected = 20_000 / n_pairs
        chi = sum(
            (pairs[one, two] - expected) ** 2 / expected for one in range(n_rows) for two in range(n_rows) if one != two
        )
        assert chi < n_pairs - 1 + 5 * (2 * (n_pairs - 1)) ** 0.5, (n_rows, chi)


@pytest.mark.want(10)
def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    orders = {tuple(Exact(50, seed, epoch).rows(np.arange(50))) for seed in range(30) for epoch in range(30)}
    assert len(orders) == 900
    blocks = {
        tuple(Blocks(50, seed, epoch, 4, 16, 1, 1).rows(np.arange(50))) for seed in range(30) for epoch in range(30)
    }
    assert len(blocks) == 900


@pytest.mark.want(9)
def test_orders_are_those_of_earlier_versions() -> None:
    """An epoch that was begun is resumed with a later version, so these values never change."""
    assert hashed(1, 2, 3) == 15020427595393229491
    assert Exact(1000, 42, 7).rows(np.arange(12)).tolist() == [155, 921, 569, 907, 452, 662, 903, 27, 742, 387, 694, 54]
    assert Exact(10**12, 42, 7).rows(np.arange(3)).tolist() == [634143163462, 114542143190, 426329741283]
    rows = Blocks(1000, 42, 7, 16, 128, 1, 1).rows(np.arange(12)).tolist()
    assert rows == [396, 547, 989, 380, 558, 46, 523, 983, 386, 520, 522, 50]
    rows = Blocks(1000, 42, 7, 16, 128, 4, 8).rows(np.arange(990, 1000)).tolist()
    assert rows == [602, 601, 299, 301, 298, 303, 296, 302, 297, 300]


@pytest.mark.want(10)
def test_blocks_read_runs() -> None:
    n_rows, run, window = 100_000, 64, 4096
    order = Blocks(n_rows, 1, 1, run, window, 1, 1)
    for start in range(0, n_rows, window):
        rows = np.sort(order.rows(np.arange(start, min(start + window, n_rows))))
        n_runs = 1 + np.count_nonzero(np.diff(rows) != 1)
        # The window may begin and end inside of a run, and the rotation cuts one.
        assert n_runs <= window // run + 2
    # Neighbours in a window are of different runs.
    rows = order.rows(np.arange(window))
    assert np.mean(rows[1:] // run == rows[:-1] // run) < 0.1


@pytest.mark.want(10)
@pytest.mark.parametrize("n_shards", [1, 2, 4, 8])
def test_no_run_is_read_by_two_shards_of_as_many_lanes(n_shards: int) -> None:
    n_rows, batch = 64 * 1024, 32
    order = Blocks(n_rows, 1, 1, 64, 8192, 8, batch)
    for first in range(0, n_rows, 8192):
        seen: set[int] = set()
        for shard in range(n_shards):
            batches = range(first + shard * batch, first + 8192, n_shards * batch)
            rows = np.concatenate([order.rows(np.arange(at, at + batch)) for at in batches])
            runs = set((rows // 64).tolist())
            assert not seen & runs
            seen |= runs


def used(shard: Shard, n_workers: int) -> list[np.ndarray]:
    """The batches of a rank as a loader gives them: one of each worker in turn."""
    of_worker = [
        [shard.positions(step) for step in range(worker, shard.n_steps, n_workers)] for worker in range(n_workers)
    ]
    return [of_worker[step % n_workers][step // n_workers] for step in range(shard.n_steps)]


@pytest.mark.want(9)
@pytest.mark.want(10)
def test_shards_use_each_position_once_resumed_anywhere_with_other_ranks_and_workers() -> None:
    random = np.random.default_rng(3)
    for _ in range(N_CASES):
        n_rows = int(random.integers(0, 400))
        taken: list[int] = []
        start = 0
        # Some passes that are broken off, each with other ranks, workers and batches; the last one ends.
        for part in range(int(random.integers(1, 4))):
            n_ranks, n_workers, batch = (int(count) for count in random.integers(1, [7, 5, 40]))
            shards = [Shard(start, n_rows, rank, n_ranks, batch, False, False) for rank in range(n_ranks)]
            n_steps = max(shard.n_steps for shard in shards)
            batches = [used(shard, n_workers) for shard in shards]
            n_done = int(random.integers(0, n_steps + 1)) if part < 2 else n_steps
            for step in range(n_done):
                taken += [position for of in batches if step < len(of) for position in of[step].tolist()]
            start = shards[0].after(n_done)
            # What was used is all up to a position.
            assert sorted(taken) == list(range(start))
        if start == n_rows:
            assert sorted(taken) == list(range(n_rows))


def test_even_shards_have_equally_many_rows() -> None:
    random = np.random.default_rng(4)
    for _ in range(N_CASES):
        n_rows = int(random.integers(1, 300))
        start = int(random.integers(0, n_rows))
        n_ranks, batch = (int(count) for count in random.integers(1, [9, 40]))
        shards = [Shard(start, n_rows, rank, n_ranks, batch, False, True) for rank in range(n_ranks)]
        rows = [[position for step in range(of.n_steps) for position in of.positions(step).tolist()] for of in shards]
        assert len({len(of) for of in rows}) == 1 and len({of.n_steps for of in shards}) == 1
        counts = Counter(position for of in rows for position in of)
        assert set(range(start, n_rows)) <= set(counts)
        assert sum(counts.values()) - (n_rows - start) < n_ranks
        dropped = [Shard(start, n_rows, rank, n_ranks, batch, True, True) for rank in range(n_ranks)]
        assert {of.n_steps for of in dropped} == {(n_rows - start) // (n_ranks * batch)}
        assert all(len(of.positions(step)) == batch for of in dropped for step in range(of.n_steps))


def test_permutations_of_sizes_side_by_side() -> None:
    sizes = np.array([1, 5, 5, 5, 5, 5, 1, 2, 2])
    numbers = np.array([0, 0, 1, 2, 3, 4, 0, 0, 1])
    tweak = np.array([9, 1, 1, 1, 1, 1, 3, 4, 4], np.uint64)
    found = Permutation(sizes, 1, 2)(numbers, tweak)
    assert found[0] == found[6] == 0 and sorted(found[1:6]) == [0, 1, 2, 3, 4] and sorted(found[7:]) == [0, 1]
