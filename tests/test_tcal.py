"""T-Cal against hand calculation, the authors' values and the slow twin."""
import tracemalloc

import numpy as np
import pytest
from naive import tcal as naive

from cwcal.inputs import InputError, UndefinedMetricWarning
from cwcal.metrics.tcal import _all_levels, _merges, _null_statistics, _number_of_levels, _seeds, t_cal_statistic, t_cal_test
from cwcal.profile import Profile

pytestmark = pytest.mark.filterwarnings("ignore:.*from_positive or from_event")


def event(y, conf, **options):
    return Profile.from_event(np.asarray(y, dtype=int), conf, **options)


def of(given):
    if given["kind"] == "binary":
        return Profile.from_event(given["y"], given["p"])
    if given["kind"] == "multi":
        return Profile.from_proba(given["y"], given["P"], classes=range(len(given["P"][0])))
    return Profile.from_confidence(given["correct"], given["conf"])


def null(conf, n_sims, seed=0):
    conf = np.sort(conf)
    n_levels = _number_of_levels(len(conf))
    return _null_statistics(conf, 1 - conf, *_merges(conf, n_levels), _seeds(seed, n_sims))


@pytest.mark.parametrize("seed", range(40))
def test_naive_statistic(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    conf = [rng.random(n), rng.integers(0, 5, n) / 4, rng.choice([0.0, 1e-9, 1 - 1e-9, 1.0], n)][seed % 3]
    y = rng.random(n) < 0.5
    weight = None if seed % 2 else np.r_[2, 1, rng.integers(0, 4, n - 2)].astype(float)
    for level in (1, 2, 3, 7, 30, 52):
        got = t_cal_statistic(event(y, conf, sample_weight=weight), level=level)
        assert abs(got - naive.statistic(conf.tolist(), y.tolist(), level, None if weight is None else weight.tolist())) < 1e-13
    if weight is not None:
        again = event(np.repeat(y, weight.astype(int)), np.repeat(conf, weight.astype(int)))
        assert abs(t_cal_statistic(again, level=3) - t_cal_statistic(event(y, conf, sample_weight=weight), level=3)) < 1e-13


def test_levels_of_the_authors_code(vectors):
    "Every level of every set; n = 1 has no levels there."
    compared = 0
    for name, contents in vectors.items():
        p = of(contents["inputs"])
        for r in contents["results"]:
            if not r["metric"].startswith("T-Cal DPE"):
                continue
            if r["value"] is None:
                assert name == "11_tiny_n1"
                continue
            result = t_cal_test(p, n_sims=1)
            assert result.n_levels == r["params"]["B"] == len(r["value"])
            assert np.allclose(result.statistics, r["value"], rtol=0, atol=1e-9)
            assert np.allclose([t_cal_statistic(p, level=b) for b in range(1, result.n_levels + 1)], r["value"], rtol=0, atol=1e-9)
            compared += 1
    assert compared == 14


def test_decisions_of_the_authors_code(vectors):
    "Five seeds each, all the same in the vectors; ours with five seeds."
    compared = 0
    for name, contents in vectors.items():
        p = of(contents["inputs"])
        for r in contents["results"]:
            if r["metric"].startswith("T-Cal adaptive") and r["value"] is not None:
                assert len(set(r["value"])) == 1
                assert [t_cal_test(p, random_state=s).reject for s in range(5)] == r["value"], name
                compared += 1
    assert compared >= 11


def test_the_row_of_table_7(vectors):
    result = t_cal_test(of(vectors["17_breastcancer_isotonic_rebuilt"]["inputs"]), random_state=0)
    assert result.reject and result.first_level == 1 and f"{result.statistic:.4f}" == "0.0081" and f"{max(result.statistics):.4f}" == "0.0082"


@pytest.mark.parametrize("kind", ["distinct", "tenths", "skewed"])
def test_thresholds_in_distribution(kind):
    "Ours and the naive twin's draws have the same mean, spread and tail at every level, within Monte Carlo error."
    rng = np.random.default_rng(3)
    conf = {"distinct": rng.random(60), "tenths": rng.integers(0, 11, 60) / 10, "skewed": rng.beta(8, 0.5, 60)}[kind]
    ours, theirs = null(conf, 20_000), naive.null_statistics_numpy(conf, 2000, np.random.default_rng(4))
    for level in range(ours.shape[1]):
        a, b = ours[:, level], theirs[:, level]
        assert abs(a.mean() - b.mean()) < 4.5 * np.sqrt(a.var() * (1 / len(a) + 1 / len(b))) + 1e-15
        for share in (0.1, 0.5, 0.9, 0.98):
            cut = np.quantile(a, share)
            above, below = np.mean(b > cut + 1e-12), np.mean(b < cut - 1e-12)
            spread = 4.5 * np.sqrt(share * (1 - share) * (1 / len(a) + 1 / len(b)))
            assert above <= 1 - share + spread and below <= share + spread, (level, share)


def test_the_naive_twins_agree():
    conf = np.random.default_rng(0).random(12)
    a, b = naive.null_statistics(conf, 5, np.random.default_rng(1)), naive.null_statistics_numpy(conf, 5, np.random.default_rng(1))
    assert np.allclose(a, b, rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [2, 3, 10, 300])
def test_merges_are_the_bins(n):
    "Running the sample itself through the merges gives the statistic of every level."
    for seed in range(20):
        rng = np.random.default_rng(seed)
        conf = np.sort([rng.random(n), rng.integers(0, 9, n) / 8, rng.beta(0.2, 0.2, n)][seed % 3])
        y = rng.random(n) < conf
        r, n_levels = conf - y, _number_of_levels(n)
        last, left, right, ends = _merges(conf, n_levels)
        assert len(left) <= n - 1 and last[-1] == n and len(ends) == n_levels and ends[-1] == len(left)
        start = np.r_[0, last[:-1]]
        node = np.stack([np.diff(np.r_[start, n]), np.add.reduceat(r, start), np.add.reduceat(r * r, start)], axis=1).astype(float)
        alive, got = np.ones(len(last), bool), []
        for up in range(n_levels):
            for a, b in zip(left[ends[up - 1] if up else 0 : ends[up]], right[ends[up - 1] if up else 0 : ends[up]]):
                assert alive[a] and alive[b]
                node[a] += node[b]
                alive[b] = False
            got.append(np.sum((node[alive, 1] ** 2 - node[alive, 2]) / node[alive, 0]) / n)
        assert np.allclose(got[::-1], _all_levels(conf, r, n_levels), rtol=0, atol=1e-13)


def test_draws_pick_rows_and_labels_with_the_right_probability():
    "Two scores in one bin of each level 1: the law of the statistic can be enumerated."
    values = null(np.array([0.25, 0.75]), 200_000)[:, 0]
    # rows (i, k) uniform; alone in a bin or together, residuals from the labels
    law = {}
    for rows in ((0, 0), (0, 1), (1, 0), (1, 1)):
        for y in ((0, 0), (0, 1), (1, 0), (1, 1)):
            c = [(0.25, 0.75)[i] for i in rows]
            prob = 0.25 * np.prod([a if t else 1 - a for a, t in zip(c, y)])
            value = round(naive.statistic(c, y, 1), 12)
            law[value] = law.get(value, 0) + prob
    seen, counts = np.unique(np.round(values, 12), return_counts=True)
    assert seen.tolist() == sorted(law)
    for value, count in zip(seen, counts):
        assert abs(count / 200_000 - law[value]) < 5 * np.sqrt(law[value] * (1 - law[value]) / 200_000)


def test_deterministic_and_independent_of_row_order():
    rng = np.random.default_rng(2)
    conf = rng.integers(0, 200, 500) / 199
    p = event(rng.random(500) < conf, conf)
    first = t_cal_test(p, n_sims=200, random_state=5)
    for _ in range(5):
        assert t_cal_test(p.subset(rng.permutation(500)), n_sims=200, random_state=5) == first
    assert t_cal_test(p, n_sims=200, random_state=np.random.default_rng(5)) == first
    assert t_cal_test(p, n_sims=200, random_state=6).thresholds != first.thresholds


def test_p_value_and_decision():
    "p <= alpha implies reject; both follow from the draws as documented."
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 80))
        conf = rng.random(n) if seed % 2 else rng.integers(0, 6, n) / 5
        p = event(rng.random(n) < np.clip(conf + 0.2, 0, 1), conf)
        result = t_cal_test(p, n_sims=400, random_state=seed)
        draws = null(conf, 400, seed)
        seen, slack = np.array(result.statistics), 1e-10 * np.mean((p.conf - p.correct) ** 2)
        p_b = (1 + np.sum(draws >= seen - slack, axis=0)) / 401
        assert np.allclose(result.p_values, p_b, atol=1e-15) and np.isclose(result.p_value, min(1, result.n_levels * p_b.min()))
        over = seen > np.quantile(draws, 1 - 0.05 / result.n_levels, axis=0) + slack
        assert result.reject == over.any() and result.first_level == (int(np.argmax(over)) + 1 if over.any() else None)
        assert result.reject or result.p_value > 0.05


def test_equal_statistics_are_no_evidence():
    "On one score and on exact forecasts the draws give the sample's own value: never a rejection by rounding."
    constant = Profile.from_confidence([1] * 13 + [0] * 7, [0.7] * 20)
    assert np.allclose(t_cal_test(constant, random_state=0).statistics, -0.009)
    for seed in range(20):
        assert not t_cal_test(constant, n_sims=100, random_state=seed).reject
        for p in (event([0, 1, 1], [0.0, 1.0, 1.0]), event([0, 1], [0.2, 0.9]), event([1] * 5, [1.0] * 5)):
            result = t_cal_test(p, n_sims=100, random_state=seed)
            assert not result.reject and result.p_value == 1.0


def test_small_and_degenerate():
    one = event([1], [0.4])
    with pytest.warns(UndefinedMetricWarning, match="a single row"):
        result = t_cal_test(one)
    assert np.isnan(result.p_value) and np.isnan(result.statistic) and result.reject is None and "no verdict" in result._repr_markdown_()
    with pytest.warns(UndefinedMetricWarning, match="a single row"):
        assert np.isnan(t_cal_statistic(one))
    with pytest.warns(UndefinedMetricWarning, match="a single row"):
        assert np.isnan(t_cal_statistic(event([1, 0], [0.4, 0.2], sample_weight=[1, 0])))
    assert [t_cal_test(event([1, 0, 1, 0][:n], [0.1, 0.2, 0.3, 1.0][:n]), n_sims=10, random_state=0).n_levels for n in (2, 3, 4)] == [2, 3, 3]
    wrong = Profile.from_confidence([0] * 10 + [1] * 90, error_prob=np.r_[np.full(10, 1e-30), np.full(90, 0.1)])
    assert t_cal_test(wrong, random_state=0).reject  # confidence 1 in floating point, ten errors
    assert "| level |" in t_cal_test(wrong, random_state=0)._repr_markdown_()


def test_refusals():
    p = event([1, 0, 1], [0.2, 0.4, 0.6])
    for options, name in ((dict(alpha=0), "alpha"), (dict(alpha=1), "alpha"), (dict(n_sims=0), "n_sims"), (dict(n_sims=10.0), "n_sims"), (dict(n_sims=True), "n_sims"), (dict(random_state=-1), "random_state")):
        with pytest.raises(InputError) as caught:
            t_cal_test(p, **options)
        assert caught.value.argument == name
    for level in (0, 53, 2.0, True):
        with pytest.raises(InputError, match="`level`"):
            t_cal_statistic(p, level=level)
    with pytest.raises(InputError, match="has no weighted form"):
        t_cal_test(event([1, 0], [0.5, 0.5], sample_weight=[1, 2]))


def test_memory():
    "No more than eight float64 arrays of length n, whatever the number of draws."
    n = 200_000
    rng = np.random.default_rng(0)
    conf = rng.random(n)
    p = event(rng.random(n) < conf, conf)
    t_cal_test(p, n_sims=2, random_state=0)
    tracemalloc.start()
    t_cal_test(p, n_sims=20, random_state=0)
    t_cal_statistic(p, level=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 8 * 8 * n + 100_000  # the last term for what does not grow with n


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["uniform", "skewed", "tenths"])
def test_size_under_the_null(kind):
    "1000 seeded repetitions at 5 %: not above alpha (Bonferroni over dependent levels: near half of it), within the binomial error."
    rng = np.random.default_rng(11)
    rejected, by_p = 0, 0
    for _ in range(1000):
        conf = {"uniform": rng.random(200), "skewed": rng.beta(3, 0.5, 200), "tenths": rng.integers(0, 11, 200) / 10}[kind]
        result = t_cal_test(event(rng.random(200) < conf, conf), random_state=rng)
        rejected += result.reject
        by_p += result.p_value <= 0.05
    assert 1 <= by_p <= rejected <= 50 + 2.6 * np.sqrt(1000 * 0.05 * 0.95)


@pytest.mark.slow
def test_power():
    rng = np.random.default_rng(12)
    found = []
    for _ in range(100):
        conf = rng.random(1000)
        found.append(t_cal_test(event(rng.random(1000) < 1 / (1 + (1 / conf - 1) ** 0.6), conf), random_state=rng).reject)
    assert np.mean(found) > 0.9
