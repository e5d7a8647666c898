"""Fixtures of the tests of `tarsia.torch`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tarsia


@pytest.fixture(scope="session")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of twenty thousand rows: a number, a vector of 16 floats that begins with it, a label."""
    n_rows = 20_000
    vectors = np.random.default_rng(1).standard_normal((n_rows, 16), dtype=np.float32)
    vectors[:, 0] = np.arange(n_rows)
    table = pa.table(
        {
            "id": pa.array(range(n_rows), pa.int64()),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), 16),
            "label": pa.array(np.arange(n_rows) % 10, pa.int32()),
        }
    )
    path = tmp_path_factory.mktemp("embeddings") / "embeddings.tarsia"
    tarsia.write(table, path)
    return path
