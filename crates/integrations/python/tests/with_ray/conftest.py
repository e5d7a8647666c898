"""Tests of Ray Data and of Hugging Face's datasets, which bring many packages: they run on their own."""

from __future__ import annotations

import sys
from pathlib import Path

# What the other tests have: bits, and conditions at random.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
