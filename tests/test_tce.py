"""TCE against SciPy's binomial test, the authors' values and the slow twin."""
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive import tce as naive
from scipy.stats import binom, binomtest

from cwcal.inputs import InputError, UndefinedMetricWarning
from cwcal.metrics.tce import STRATEGIES, binomial_p_values, tce, tce_bins
from cwcal.profile import Profile


def event(y, conf, **options):
    return Profile.from_event(np.asarray(y, dtype=int), conf, **options)


@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 40, 117])
def test_equals_binomtest_for_every_count(n):
    probs = [0.0, 1e-300, 1e-12, 1e-8, 0.01, 0.1, 0.3, 1 / 3, 0.5, 0.6, 0.9, 1 - 1e-8, 1.0]
    for prob in probs:
        want = [binomtest(k, n, prob).pvalue for k in range(n + 1)]
        assert np.max(np.abs(binomial_p_values(np.arange(n + 1), n, prob) - want)) < 1e-12


def test_equals_binomtest_on_random_large_counts():
    rng = np.random.default_rng(0)
    n = rng.integers(200, 30_000, 120)
    prob = rng.random(120)
    k = np.clip(np.rint(n * prob + rng.normal(0, 2, 120) * np.sqrt(n * prob * (1 - prob))), 0, n).astype(int)
    want = [binomtest(int(a), int(b), c).pvalue for a, b, c in zip(k, n, prob)]
    assert np.max(np.abs(binomial_p_values(k, n, prob) - want)) < 1e-12


def test_symmetric_counts_are_equally_likely():
    "At 1/2 the mirror image counts in spite of rounding: the p-value is twice the tail."
    for n in (5, 50, 501, 1000):
        k = np.arange(n // 2 - n // 10)
        assert np.allclose(binomial_p_values(k, n, 0.5), 2 * binom.cdf(k, n, 0.5), rtol=1e-9, atol=0)
        assert np.array_equal(binomial_p_values(k, n, 0.5), binomial_p_values(n - k, n, 0.5))


def test_the_relative_tolerance_of_equal_probabilities():
    "Probabilities 4e-8 apart count as equal, 4e-7 apart do not."
    for gap, equal in ((1e-8, True), (1e-7, False)):
        p = 0.5 - gap  # f(0) / f(4) = ((1 - p) / p)**4, about 1 + 16 gap
        assert (binomial_p_values(4, 4, p) > 1.5 * p**4) == (binomtest(4, 4, p).pvalue > 1.5 * p**4)
        p = 0.5 + gap / 4  # f(4) / f(0) is 1 + 4 gap: 0 is the less likely end
        assert (binomial_p_values(0, 4, p) > 1.5 / 16) == equal == (binomtest(0, 4, p).pvalue > 1.5 / 16)


def test_ends_and_shapes():
    assert binomial_p_values([0, 1, 9, 10], 10, 0.0).tolist() == [1, 0, 0, 0]
    assert binomial_p_values([0, 1, 9, 10], 10, 1.0).tolist() == [0, 0, 0, 1]
    assert binomial_p_values(0, 0, 0.3) == 1.0
    assert binomial_p_values(np.zeros((0,), int), 3, 0.5).shape == (0,)
    assert binomial_p_values(np.zeros((2, 1), int), [3, 4, 5], 0.5).shape == (2, 3)
    for bad in ((-1, 2, 0.5), (3, 2, 0.5), (1, 2, -0.1), (1, 2, float("nan"))):
        with pytest.raises(InputError):
            binomial_p_values(*bad)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_naive_twin(seed, strategy):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 70))
    conf = [rng.random(n), rng.integers(0, 11, n) / 10, rng.integers(0, 3, n) / 2][seed % 3]
    y = rng.random(n) < [conf, 0.3, 1 - conf][(seed // 3) % 3]
    n_min = int(rng.integers(0, 11))
    options = dict(alpha=[0.05, 0.3][seed % 2], strategy=strategy, n_min=n_min, n_max=n_min + int(rng.integers(0, 40)), n_bins=int(rng.integers(1, 12)))
    assert abs(tce(event(y, conf), **options) - naive.tce(conf.tolist(), y.astype(int).tolist(), **options)) < 1e-9
    blocks = naive.bins(conf.tolist(), y.astype(int).tolist(), *(options[k] for k in ("strategy", "n_min", "n_max", "n_bins")))
    found = tce_bins(event(y, conf), **options)
    assert found.rows.tolist() == [sum(g[1] for g in b) for b in blocks] and found.right.tolist() == [sum(g[2] for g in b) for b in blocks]
    assert found.low.tolist() == [b[0][0] for b in blocks] and found.high.tolist() == [b[-1][0] for b in blocks]


def test_naive_twin_on_a_larger_sample():
    "Many rows accepted by the one-sided bounds alone."
    rng = np.random.default_rng(7)
    conf = rng.random(400)
    y = rng.random(400) < conf
    for options in (dict(), dict(n_min=20, n_max=80), dict(strategy="quantile", alpha=0.5)):
        assert abs(tce(event(y, conf), **options) - naive.tce(conf.tolist(), y.astype(int).tolist(), **options)) < 1e-9


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=11, max_size=40), st.randoms(use_true_random=False), st.sampled_from(STRATEGIES))
def test_row_order_never_matters(rows, random, strategy):
    shuffled = rows[:]
    random.shuffle(shuffled)
    values = [tce(event([y for _, y in r], [c / 8 for c, _ in r]), strategy=strategy, n_max=20) for r in (rows, shuffled)]
    assert values[0] == values[1]


TIES = "equal scores: the authors split them in the order of an unstable sort, cwcal keeps them whole"
NOT_MATCHED = {
    ("09_edge_ties_tenths", "TCE pavabc", 10, 1000): TIES,
    ("09_edge_ties_tenths", "TCE pavabc", 11, 44): TIES,
    ("09_edge_ties_tenths", "TCE quantile", None, None): TIES,
    ("17_breastcancer_isotonic_rebuilt", "TCE pavabc", 5, 22): TIES,
    ("17_breastcancer_isotonic_rebuilt", "TCE quantile", None, None): TIES,
}


@pytest.mark.filterwarnings("ignore:.*from_positive or from_event", "ignore::cwcal.inputs.UndefinedMetricWarning")
def test_values_of_the_authors_code(vectors):
    "Every value where no two scores are equal; those listed differ for the reason given."
    compared, missed = 0, set()
    for name, contents in vectors.items():
        given = contents["inputs"]
        if given["kind"] == "binary":
            p = Profile.from_event(given["y"], given["p"])
        elif given["kind"] == "multi":
            p = Profile.from_proba(given["y"], given["P"], classes=range(len(given["P"][0])))
        else:
            p = Profile.from_confidence(given["correct"], given["conf"])
        for r in contents["results"]:
            if not r["metric"].startswith("TCE"):
                continue
            options = {"n_bins" if k == "n_bin" else k: v for k, v in r["params"].items()}
            value = tce(p, strategy=r["metric"].split()[1], **options)
            compared += 1
            if not np.isclose(value, float(r["value"]), rtol=0, atol=1e-9, equal_nan=True):
                missed.add((name, r["metric"], options.get("n_min"), options.get("n_max")))
    assert compared >= 45 and missed == set(NOT_MATCHED)


def test_calibrated_and_yet():
    "The reference run: uniform scores, 1e5 rows, 4.6 % with (10, 1000) and 58.2 % with (n/20, n/5)."
    n = 100_000
    rng = np.random.default_rng(0)
    conf = rng.random(n)
    p = event(rng.random(n) < conf, conf)
    assert abs(tce(p) - 4.6) < 1.0 and abs(tce(p, n_min=n // 20, n_max=n // 5) - 58.2) < 5


def test_small_and_degenerate():
    p = event([1, 0, 1] * 7, [0.7] * 21)
    assert [tce(p, strategy=s) for s in STRATEGIES] == [0.0] * 4
    for n in (1, 9, 10):
        with pytest.warns(UndefinedMetricWarning, match="not more than `n_min` = 10"):
            assert np.isnan(tce(p.subset(slice(0, n))))
    assert tce(p.subset(slice(0, 11))) == 0.0
    one = p.subset(slice(0, 1))
    assert [tce(one, strategy=s) for s in STRATEGIES[1:]] == [0.0] * 3 and tce(one, n_min=0) == 0.0
    for value, want in ((0.0, 100.0), (1.0, 0.0)):
        assert tce(event([1] * 20, [value] * 20)) == want
    assert "n_min" in tce_bins(one)._repr_markdown_() and "[0.7, 0.7]" in tce_bins(p)._repr_markdown_()


def test_refusals():
    p = event([1, 0] * 8, np.linspace(0, 1, 16))
    for options, name in ((dict(alpha=0), "alpha"), (dict(alpha=1.0), "alpha"), (dict(strategy="sturges"), "strategy"), (dict(n_min=-1), "n_min"), (dict(n_min=20, n_max=19), "n_max"),
                          (dict(n_bins=0), "n_bins"), (dict(n_bins=2.5), "n_bins"), (dict(n_bins=True), "n_bins")):
        with pytest.raises(InputError) as caught:
            tce(p, **options)
        assert caught.value.argument == name
    with pytest.raises(InputError, match="has no weighted form"):
        tce(event([1, 0], [0.5, 0.5], sample_weight=[1, 2]))
