"""The Estimated Calibration Index against its slow twin, the authors' values and theorems."""
import numpy as np
import pytest
from naive import binned as naive_binned
from naive import eci as naive
from test_binned import claim, event

from cwcal.inputs import InputError
from cwcal.metrics.binned import ece
from cwcal.metrics.eci import eci
from cwcal.profile import Profile


@pytest.mark.parametrize("seed", range(40))
def test_naive_twin(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 40)), int(rng.integers(1, 8))
    x = rng.choice(np.r_[0.0, 1.0, np.arange(11) / 10, rng.random(8)], n)
    y = rng.random(n) < x
    w = rng.choice([0.0, 0.5, 1.0, 3.0], n) + (np.arange(n) == 0)
    for weights, ws in ((None, np.ones(n)), (w, w)):
        for strategy, bins in (("quantile", naive_binned.quantile_bins(x, ws, m)), ("uniform", [naive_binned.uniform_bin(v, m) for v in x])):
            r = eci(event(y, x, sample_weight=weights), n_bins=m, strategy=strategy)
            expected = [np.nan if v is None else v for v in naive.eci(bins, m, x, y, ws)]
            assert [r.eci, r.under, r.over, r.direction] == pytest.approx(expected, abs=1e-12, nan_ok=True)
            assert 0 <= r.eci <= 1 and -1 <= r.direction <= 1 and r.share_under + r.share_over <= 1 + 1e-12


def their_edges(x, m):
    "numpy's quantiles with 0 and 1 added: a largest score below 1 begins a bin of its own."
    return np.unique(np.r_[0, np.quantile(x, np.linspace(0, 1, m + 1)), 1])


def test_the_authors_values(vectors):
    """Every set, both classes, through their edges; on set 09 the global index alone.

    Not matched with our own bins, nor meant to be: theirs put the largest score into a bin of its own. Their code stops on sets 11 (n = 1), 12 and 13, where a class is absent."""
    matched = 0
    for name, content in vectors.items():
        x, y = claim(content["inputs"])
        for r in content["results"]:
            if not r["metric"].startswith("ECI (") or not isinstance(r["value"], dict):
                continue
            for k, theirs in r["value"].items():
                claimed, happened = (x, y) if k == "1" else (1 - x, ~y)
                edges = their_edges(claimed, r["params"]["strategy"])
                if name.startswith("17"):  # four distinct scores, and four bins there
                    edges = np.unique(np.r_[0, claimed, 1])
                mine = eci(event(happened, np.clip(claimed, 0, 1)), strategy=edges)
                assert mine.eci == pytest.approx(theirs["ec_g"], abs=1e-9), (name, k)
                matched += 1
                if name.startswith("09"):  # bins on the diagonal shift its masks: its two sides take each other's bins
                    assert abs(mine.direction - theirs["ec_dir"]) > 1e-3
                    continue
                assert mine.direction == pytest.approx(theirs["ec_dir"], abs=1e-9), (name, k)
                assert [mine.under, mine.over] == pytest.approx([theirs["ec_underconf"], theirs["ec_overconf"]], abs=1e-9), (name, k)
    assert matched >= 20, matched


def test_three_classes(vectors):
    content = vectors["07_multi3"]
    P = np.array(content["inputs"]["P"])
    p = Profile.from_proba(content["inputs"]["y"], P)
    theirs = next(r["value"] for r in content["results"] if r["metric"].startswith("ECI per class"))
    each = [eci(p, label=k, strategy=their_edges(p.scores(k), 10)) for k in range(3)]
    for k in range(3):
        assert each[k].eci == pytest.approx(theirs["classes"][str(k)]["ec_g"], abs=1e-9) and each[k].direction == pytest.approx(theirs["classes"][str(k)]["ec_dir"], abs=1e-9)
    assert round(float(np.mean([r.eci for r in each])), 3) == theirs["classwise"]["ec_g"]
    mean = eci(p, target="classwise")
    assert mean.eci == pytest.approx(np.mean([eci(p, label=k).eci for k in range(3)])) and mean.over == pytest.approx(np.mean([eci(p, label=k).over for k in range(3)]))


def test_bounds_by_ece_and_extremes():
    rng = np.random.default_rng(1)
    for _ in range(100):
        p = event(rng.random(30) < 0.5, rng.integers(0, 11, 30) / 10)
        for strategy in ("uniform", "quantile"):
            error = ece(p, n_bins=10, strategy=strategy)
            assert error - 1e-12 <= 1 - eci(p, strategy=strategy).eci <= 2 * error + 1e-12
    assert eci(event([0, 0], [1.0, 1.0])).eci == 0 and eci(event([1, 1], [0.0, 0.0])).eci == 0
    perfect = eci(event([1, 0], [1.0, 0.0]))
    assert perfect.eci == 1 and perfect.direction == 0 and np.isnan([perfect.under, perfect.over]).all() and perfect.share_under == perfect.share_over == 0


def test_a_missing_side_and_an_absent_class():
    over = eci(event([0, 0, 1], [0.9, 0.8, 0.95]), n_bins=1)
    assert np.isnan(over.under) and over.direction == pytest.approx(1 - over.over) and over.share_over == 1
    absent = Profile.from_proba([0, 1], [[0.6, 0.3, 0.1], [0.2, 0.8, 0.0]])
    assert 0 <= eci(absent, target="classwise").eci <= 1
    assert eci(Profile.from_proba([1], [[0.3, 0.7]])).eci == pytest.approx(1 - 0.3 / 0.7)


def test_copies_order_and_types():
    rng = np.random.default_rng(2)
    x, w = rng.integers(0, 21, 200) / 20, rng.integers(0, 3, 200)
    y = rng.random(200) < x
    value = vars(eci(event(y, x, sample_weight=w)))
    copies, order = np.repeat(np.arange(200), w), rng.permutation(200)
    assert vars(eci(event(y[copies], x[copies]))) == pytest.approx(value) and vars(eci(event(y[order], x[order], sample_weight=w[order]))) == pytest.approx(value)
    assert all(type(v) is float for v in value.values()) and "| eci |" in eci(event(y, x))._repr_markdown_()


def test_errors_name_the_argument():
    p = event([0, 1], [0.2, 0.8])
    for options, argument in ((dict(n_bins=0), "n_bins"), (dict(strategy="doane"), "strategy"), (dict(target="macro"), "target"), (dict(label=3), "label")):
        with pytest.raises(InputError) as caught:
            eci(p, **options)
        assert caught.value.argument == argument
    with pytest.raises(InputError, match="takes a Profile first"):
        eci([0.5])
