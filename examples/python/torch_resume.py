"""Trains a model, and goes on where it was when it is killed and started again.

    python torch_resume.py POINTS.tarsia CHECKPOINT

The checkpoint holds the model, the optimizer and the state of the data set. Whenever the process is killed, the result
is bit for bit that of a run that was not. POINTS.tarsia is made by torch_train.py.
"""

from __future__ import annotations

import hashlib
import os
import sys

import torch
from torch.utils.data import DataLoader

import tarsia.torch

EPOCHS = 2
SAVE_EACH = 25


def save(path: str, checkpoint: dict) -> None:
    """Replaces a checkpoint, so that there is a whole one at any time."""
    with open(path + ".new", "wb") as file:
        torch.save(checkpoint, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def main() -> None:
    points, path = sys.argv[1:3]
    torch.manual_seed(1)
    # Sums of floating-point numbers depend on how many threads share them.
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    dataset = tarsia.torch.IterableDataset(
        points, ["point", "label"], batch_size=64, shuffle="blocks", run_rows=16, buffer_rows=4096, seed=7
    )
    if os.path.exists(path):
        checkpoint = torch.load(path)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        dataset.load_state_dict(checkpoint["data"])
        print(f"resumed at row {checkpoint['data']['rows']} of epoch {dataset.epoch}", flush=True)
    loader = DataLoader(dataset, batch_size=None, num_workers=2)
    for epoch in range(dataset.epoch, EPOCHS):
        # The epoch that was loaded goes on at its row, the others begin with their first.
        dataset.set_epoch(epoch)
        for number, batch in enumerate(loader, 1):
            loss = torch.nn.functional.cross_entropy(model(batch["point"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if number % SAVE_EACH == 0:
                # Workers are ahead. How many batches were used, the loop alone knows.
                data = dataset.state_after(number)
                save(path, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": data})
                print(f"saved at row {data['rows']} of epoch {epoch}", flush=True)
    weights = b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())
    print(f"weights {hashlib.sha256(weights).hexdigest()}")


if __name__ == "__main__":
    main()
