"""The examples that train with PyTorch."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[5] / "examples" / "python"


def start(name: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, EXAMPLES / name, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def run(name: str, *arguments: object) -> str:
    process = start(name, *arguments)
    found = process.communicate(timeout=100)[0]
    assert process.returncode == 0
    return found


@pytest.mark.want(9)
def test_a_model_is_trained_and_training_is_resumed_after_a_kill(tmp_path: Path) -> None:
    points = tmp_path / "points.tarsia"
    found = run("torch_train.py", points)
    right = re.search(r"([0-9.]+)% of 4000 points", found)
    assert right is not None and float(right[1]) > 97, found
    whole = run("torch_resume.py", points, tmp_path / "whole")
    weights = whole.splitlines()[-1]
    assert re.fullmatch("weights [0-9a-f]{64}", weights) and "resumed" not in whole
    # Killed several times, in both epochs, with all its workers.
    path = tmp_path / "killed"
    for n_saved in (1, 6, 8):
        process = start("torch_resume.py", points, path)
        assert process.stdout is not None
        saved = 0
        while saved < n_saved:
            saved += process.stdout.readline().startswith("saved")
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    last = run("torch_resume.py", points, path)
    assert last.startswith("resumed at row ") and " of epoch 1" in last.splitlines()[0], last
    assert last.splitlines()[-1] == weights
