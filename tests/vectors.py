"Values of other implementations, kept beside the repository; tests that read them skip when the folder is absent."
import json
from pathlib import Path

import numpy as np
import pytest

from cwcal.profile import Profile

FOLDER = Path(__file__).parents[2] / "shared" / "vectors"
NAMES = sorted(f.stem for f in FOLDER.glob("*.json")) or ["absent"]


def load(name):
    if name == "absent":
        pytest.skip("the folder of reference vectors is not beside the repository")
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def profile(inputs, weighted=False):
    "The profile that the implementations' main block is about; for several classes the top-label one."
    w = {"sample_weight": inputs["sample_weight"]} if weighted else {}
    if inputs["kind"] == "binary":
        return Profile.from_event(inputs["y"], inputs["p"], **w)
    if inputs["kind"] == "multi":
        return Profile.from_proba(inputs["y"], np.asarray(inputs["P"]), **w)
    return Profile.from_confidence(inputs["correct"], error_prob=1 - np.asarray(inputs["conf"]), **w)


def number(value):
    "A number, or the strings 'nan' and 'inf' as one."
    return float(value)


def compare(name, ours, differ, tolerance=1e-9):
    """Hold the results of one vector file against ours.

    ours: metric -> function(profile, result) -> list of numbers. differ: (implementation starts with, metric, files or None for all) -> reason.
    What is listed as different may not agree to the tolerance everywhere; what is not listed must. Returns (matched, differing)."""
    data, matched, differing = load(name), 0, 0
    for r in data["results"]:
        function = ours.get(r["metric"])
        if function is None or r["value"] is None:
            continue
        p = profile(data["inputs"], weighted=r["metric"].endswith(" weighted"))
        theirs = r["value"].values() if isinstance(r["value"], dict) else r["value"] if isinstance(r["value"], list) else [r["value"]]
        theirs = np.array([number(v) for v in theirs])
        got = np.array(function(p, r), dtype=float)
        close = np.allclose(got, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)
        excused = [reason for (who, metric, files), reason in differ.items() if r["implementation"].startswith(who) and metric == r["metric"] and (files is None or name in files)]
        assert close or excused, f"{name}: {r['metric']} of {r['implementation']}: {theirs}, ours {got}"
        matched, differing = matched + bool(close), differing + (not close)
    return matched, differing
