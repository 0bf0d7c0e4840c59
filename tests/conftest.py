"""Shared fixtures."""
import json
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(scope="session")
def shared():
    "Reference material beside the repository; tests that read it skip where it is absent."
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the folder of reference values is not beside the repository")
    return folder


@pytest.fixture(scope="session")
def vectors(shared):
    "{name: contents} of the reference vectors."
    return {f.stem: json.loads(f.read_text(encoding="utf-8")) for f in sorted((shared / "vectors").glob("*.json"))}
