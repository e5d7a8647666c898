"""Trains a small model of PyTorch from a Tarsia file.

    python torch_train.py POINTS.tarsia

Writes a file of labelled points, if there is none. Then a loader with two workers reads four fifths of its rows in an
exact random order, and the rest, which a filter chooses, tells how good the model is.
"""

from __future__ import annotations

import math
import os
import sys

import pyarrow as pa
import torch
from torch.utils.data import DataLoader

import tarsia
import tarsia.torch


def write_points(path: str, n_rows: int = 20_000) -> None:
    """Writes points on two spirals. `fold` divides them into five parts."""
    random = torch.Generator().manual_seed(1)
    label = torch.arange(n_rows) % 2
    turn = torch.rand(n_rows, generator=random) * 4 + 0.5
    angle = turn + label * math.pi
    points = torch.stack([turn * angle.cos(), turn * angle.sin()], 1)
    points += torch.randn(points.shape, generator=random) * 0.1
    table = pa.table(
        {
            "point": pa.FixedSizeListArray.from_arrays(pa.array(points.reshape(-1).numpy()), 2),
            "label": pa.array(label.numpy()),
            "fold": pa.array((torch.arange(n_rows) // 2 % 5).numpy()),
        }
    )
    tarsia.write(table, path)


def main() -> None:
    path = sys.argv[1]
    if not os.path.exists(path):
        write_points(path)
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2)
    )
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    columns = ["point", "label"]
    train = tarsia.torch.IterableDataset(path, columns, filter="fold <> 0", batch_size=128, shuffle="exact", seed=1)
    loader = DataLoader(train, batch_size=None, num_workers=2, persistent_workers=True)
    for epoch in range(6):
        train.set_epoch(epoch)
        total = 0.0
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(model(batch["point"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch["label"])
        print(f"epoch {epoch}: loss {total / train.num_rows:.3f}")
    test = tarsia.torch.IterableDataset(path, columns, filter="fold = 0", batch_size=1024)
    with torch.no_grad():
        right = sum((model(batch["point"]).argmax(1) == batch["label"]).sum().item() for batch in test)
    print(f"{right / test.num_rows:.1%} of {test.num_rows} points are classified right")


if __name__ == "__main__":
    main()
