"""Binned calibration error against hand calculation, the slow twin, other implementations and reported cases."""
import numpy as np
import pytest
from naive import binned as naive
from scipy.stats import binomtest

from cwcal.inputs import InputError
from cwcal.metrics.binned import bin_outcomes, binomial_interval, ece, expected_calibration_error, merging_profile, reliability_table, two_group_profile
from cwcal.profile import Profile


def event(y, p, **options):
    return Profile.from_event(y, p, **options)


# --- the slow twin

@pytest.mark.parametrize("seed", range(60))
def test_naive_twin(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 40)), int(rng.integers(1, 18))
    x = rng.choice(np.r_[np.arange(11) / 10, np.arange(m + 1) / m, rng.random(5)], n)
    y = rng.random(n) < 0.5
    w = rng.choice([0.0, 0.5, 1.0, 2.0, 3.0], n) + (np.arange(n) == 0)
    for weight in (None, w):
        ws = np.ones(n) if weight is None else w
        for strategy, bins in (("uniform", [naive.uniform_bin(v, m) for v in x]), ("quantile", naive.quantile_bins(x, ws, m))):
            b = bin_outcomes(x, y, weight, n_bins=m, strategy=strategy)
            assert b.index[ws > 0].tolist() == [k for k, v in zip(bins, ws) if v > 0]
            for k, (mass, mx, my) in enumerate(naive.bin_means(bins, m, x, y, ws)):
                assert b.weight[k] == pytest.approx(mass)
                assert (np.isnan(b.mean_x[k]) and np.isnan(b.gap[k])) if mx is None else (b.mean_x[k] == pytest.approx(mx, abs=1e-12) and b.mean_outcome[k] == pytest.approx(my, abs=1e-12))
            for norm in ("l1", "l2", "max"):
                p = event(y, x, sample_weight=weight)
                assert ece(p, n_bins=m, strategy=strategy, norm=norm) == pytest.approx(naive.ece(bins, m, x, y, ws, norm), abs=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile", [0, 0.25, 0.3, 1]])
def test_row_order_and_weights(strategy):
    rng = np.random.default_rng(0)
    x, y, w = rng.integers(0, 21, 200) / 20, rng.random(200) < 0.4, rng.integers(0, 4, 200)
    value = ece(event(y, x, sample_weight=w), n_bins=7, strategy=strategy)
    shuffled, again = rng.permutation(200), np.repeat(np.arange(200), w)
    assert ece(event(y[shuffled], x[shuffled], sample_weight=w[shuffled]), n_bins=7, strategy=strategy) == pytest.approx(value, abs=1e-14)
    assert ece(event(y[again], x[again]), n_bins=7, strategy=strategy) == pytest.approx(value, abs=1e-14)
    kept = w > 0
    assert ece(event(y[kept], x[kept], sample_weight=w[kept] / 7), n_bins=7, strategy=strategy) == pytest.approx(value, abs=1e-14)


def test_weights_of_a_tenth_do_not_move_a_cut():
    "Ten rows of weight 0.1: the running sum 0.7999999999999999 is eight tenths."
    x = np.arange(10) / 10
    for w in (np.full(10, 0.1), np.full(10, 3.3)):
        for m in (2, 5, 10):
            assert np.array_equal(bin_outcomes(x, x, w, n_bins=m, strategy="quantile").index, np.arange(10) * m // 10)


# --- edges

def test_every_fraction_falls_into_its_own_bin():
    for m in range(1, 400):
        index = bin_outcomes(np.arange(m + 1) / m, np.zeros(m + 1), n_bins=m).index
        assert index.tolist() == list(range(m)) + [m - 1]
    hundredths = np.arange(101) / 100
    assert bin_outcomes(hundredths, hundredths, n_bins=10).index.tolist() == [min(k // 10, 9) for k in range(101)]


def test_equal_mass_sizes_without_ties_are_the_floor_of_the_cuts():
    rng = np.random.default_rng(1)
    for n, m in ((200, 15), (7, 3), (500, 15), (3, 5)):
        sizes = bin_outcomes(rng.random(n), np.zeros(n), n_bins=m, strategy="quantile").weight
        assert sizes.tolist() == np.diff([k * n // m for k in range(m + 1)]).tolist()


def test_edges_say_where_a_value_falls():
    "Whatever the strategy, bin k is [edges[k], edges[k+1]), the last one closed."
    rng = np.random.default_rng(2)
    for strategy in ("uniform", "quantile", [0, 0.05, 0.5, 1]):
        x = rng.integers(0, 21, 100) / 20
        b = bin_outcomes(x, x, n_bins=6, strategy=strategy)
        assert len(b.edges) == b.n_bins + 1 and np.all(np.diff(b.edges) >= 0)
        for v, k in zip(x, b.index):
            assert b.edges[k] <= v and (v < b.edges[k + 1] or (k == b.n_bins - 1 and v == b.edges[-1]))


def test_a_row_without_weight_moves_nothing():
    x, y, w = np.array([0.2, 0.4, 0.9, 0.99]), np.array([0, 1, 1, 0]), np.array([1.0, 1.0, 2.0, 0.0])
    for strategy in ("uniform", "quantile", [0, 0.3, 0.95]):
        b = bin_outcomes(x, y, w, n_bins=3, strategy=strategy)
        kept = bin_outcomes(x[:3], y[:3], w[:3], n_bins=3, strategy=strategy)
        assert np.array_equal(b.edges, kept.edges) and np.array_equal(b.weight, kept.weight) and np.array_equal(b.gap, kept.gap, equal_nan=True)


# --- cases that users of other tools reported

def test_exact_zero_and_one_have_a_bin():
    assert ece(event([1, 0, 1], [0.0, 0.3, 1.0]), n_bins=4) == pytest.approx(1.3 / 3)
    for n_bins in (1, 2, 15, 1000):
        table = reliability_table(event([0, 1], [0.0, 1.0]), n_bins=n_bins)
        assert table["count"].sum() == 2 and len(table) == n_bins
    assert ece(Profile.from_confidence([0, 1], error_prob=[0.96, 0.0]), n_bins=10) == pytest.approx(0.02) and ece(event([0, 1], [0.04, 1.0]), n_bins=10) == 0.02


def test_the_mean_of_the_bin_is_not_its_centre():
    assert ece(Profile.from_confidence([1, 1, 1], [1.0, 1.0, 1.0]), n_bins=10) == 0


def test_all_scores_equal():
    assert ece(event([0, 0, 0, 1], [0.9] * 4), n_bins=5, strategy="quantile") == pytest.approx(0.65)
    constant = Profile.from_confidence([1] * 13 + [0] * 7, [0.7] * 20)
    for m in (1, 10, 15):
        for strategy in ("uniform", "quantile"):
            assert ece(constant, n_bins=m, strategy=strategy) == pytest.approx(0.05)


def test_a_tied_block_is_never_split():
    for y in ([0, 0, 1, 1], [0, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 0]):
        assert ece(event(y, [0.5] * 4), n_bins=2, strategy="quantile") == 0


def test_empty_bins_stay():
    table = reliability_table(event([1, 1, 0], [0.95, 0.85, 0.05]), n_bins=4)
    assert table["count"].tolist() == [1, 0, 0, 2] and table["lower"].tolist() == [0, 0.25, 0.5, 0.75] and table["upper"].tolist() == [0.25, 0.5, 0.75, 1]
    assert table.loc[[1, 2], ["mean_conf", "event_rate", "gap", "ci_low", "ci_high"]].isna().all(axis=None)
    assert not table.loc[[0, 3]].isna().any(axis=None)


def test_event_and_predicted_class_are_two_quantities():
    assert ece(event([1, 1], [0.3, 0.7]), n_bins=10) == pytest.approx(0.5)
    top = Profile.from_positive([1, 1], [0.3, 0.7])
    assert ece(top, n_bins=10) == pytest.approx(0.2) and ece(top, n_bins=10, label=1) == pytest.approx(0.5)
    assert "accuracy" in reliability_table(top) and "event_rate" in reliability_table(top, label=1) and "event_rate" in reliability_table(event([1, 1], [0.3, 0.7]))


def test_values_stay_in_range():
    with pytest.raises(InputError):
        Profile.from_proba([1], [[2.0, -1.0]])
    rng = np.random.default_rng(3)
    for _ in range(200):
        n = int(rng.integers(1, 12))
        p = event(rng.random(n) < 0.5, rng.choice([0.0, 1.0, *rng.random(4)], n))
        l1, l2, largest = (ece(p, n_bins=int(rng.integers(1, 20)), strategy=str(rng.choice(["uniform", "quantile"])), norm=norm) for norm in ("l1", "l2", "max"))
        assert all(0 <= v <= 1 for v in (l1, l2, largest))


def test_shapes_give_one_answer():
    y, p = [1, 0, 1], np.array([0.8, 0.3, 0.6])
    for labels in (y, np.array(y)[:, None]):
        for score in (p, p[:, None], np.c_[1 - p, p]):
            assert ece(event(labels, score), n_bins=10) == pytest.approx(0.3)
    assert ece(event([0, 0, 0, 1], [0.1, 0.1, 0.2, 0.9]), n_bins=10) == pytest.approx(0.125)


def test_one_row():
    one = Profile.from_proba([1], [[0.3, 0.7]])
    assert ece(one) == pytest.approx(0.3) and ece(one, target="classwise") == pytest.approx(0.3) and ece(one, strategy="quantile") == pytest.approx(0.3)
    assert ece(one, norm="max") == pytest.approx(0.3)


# --- theorems

def test_nested_bins_never_gain_and_ten_against_fifteen_may():
    rng = np.random.default_rng(4)
    for _ in range(100):
        p = event(rng.random(80) < 0.5, rng.integers(0, 101, 80) / 100)
        for strategy, chain in (("uniform", (64, 32, 8, 1)), ("quantile", (60, 30, 10, 1))):
            for norm in ("l1", "l2", "max"):
                values = [ece(p, n_bins=m, strategy=strategy, norm=norm) for m in chain]
                assert all(a >= b - 1e-12 for a, b in zip(values, values[1:]))
    straddle = event([0, 1], [0.29, 0.31])
    assert ece(straddle, n_bins=10) == pytest.approx(0.49) and ece(straddle, n_bins=15) == pytest.approx(0.2)


def test_the_two_constructions():
    constant, informed = two_group_profile(), two_group_profile(informed=True)
    assert ece(constant) == 0 and ece(informed) == pytest.approx(0, abs=1e-15)
    assert [ece(constant.subset(rows)) for rows in (slice(0, 10), slice(10, 20))] == pytest.approx([0.4, 0.4])
    assert [int(constant.correct[rows].sum()) for rows in (slice(0, 10), slice(10, 20))] == [1, 9]
    assert ece(merging_profile(), n_bins=2) == 0.25 and ece(merging_profile(), n_bins=1) == 0


@pytest.mark.parametrize("m", [5, 15])
def test_plug_in_bias_under_calibration_is_exact_in_l2(m):
    rng = np.random.default_rng(m)
    x = rng.beta(2, 1, 300)
    index = bin_outcomes(x, x, n_bins=m).index
    expected = sum(np.mean(x[index == k] * (1 - x[index == k])) for k in np.unique(index)) / 300
    draws = np.array([ece(event(rng.random(300) < x, x), n_bins=m, norm="l2") ** 2 for _ in range(600)])
    assert abs(draws.mean() - expected) < 4 * draws.std() / np.sqrt(600)


def test_classwise_is_the_mean_over_classes():
    rng = np.random.default_rng(5)
    proba = rng.dirichlet(np.ones(4), 100)
    y = rng.integers(0, 4, 100)
    p = Profile.from_proba(y, proba)
    each = [ece(event(y == k, proba[:, k]), n_bins=10) for k in range(4)]
    assert [ece(p, n_bins=10, label=k) for k in range(4)] == pytest.approx(each, abs=1e-12)
    assert ece(p, n_bins=10, target="classwise") == pytest.approx(np.mean(each), abs=1e-12)
    assert ece(p, n_bins=10, target="classwise", norm="max") == pytest.approx(np.mean([ece(event(y == k, proba[:, k]), n_bins=10, norm="max") for k in range(4)]), abs=1e-12)
    table = reliability_table(p, n_bins=10, target="classwise")
    assert len(table) == 40 and table.groupby("class")["count"].sum().tolist() == [100] * 4


# --- intervals

@pytest.mark.parametrize("kind, method", [("wilson", "wilson"), ("clopper-pearson", "exact")])
def test_intervals_are_scipys(kind, method):
    for n in (1, 5, 37):
        for k in range(n + 1):
            low, high = binomial_interval([k / n], [n], interval=kind, level=0.9)
            expected = binomtest(k, n).proportion_ci(0.9, method=method)
            assert (low[0], high[0]) == pytest.approx(tuple(expected), abs=1e-9)
    low, high = binomial_interval([np.nan, 0.5], [0, 2], interval=kind)
    assert np.isnan([low[0], high[0]]).all() and 0 < low[1] < 0.5 < high[1] < 1


def test_weights_count_as_copies_in_the_interval():
    a = reliability_table(event([1, 0], [0.6, 0.6], sample_weight=[3, 1]), n_bins=2)
    b = reliability_table(event([1, 1, 1, 0], [0.6] * 4), n_bins=2)
    assert a.loc[1, ["count", "ci_low", "ci_high"]].tolist() == pytest.approx(b.loc[1, ["count", "ci_low", "ci_high"]].tolist())


# --- other implementations

PAIRS = [("torchmetrics", "an exact 1 is a bin of its own, and edges from linspace"), ("netcal", "edges from linspace: 0.3, 0.6, 0.7 fall below"),
         ("probcal", "edges from linspace"), ("calibstats", "edges from linspace"), ("authors github facebookresearch/tce", "edges from linspace"),
         ("relplot", "int(f / (1/n_bins)): 0.3 falls below"), ("calzone", "an exact 0 falls in no bin")]


def claim(given):
    "(forecasts, outcomes) of a set; the top label for several classes."
    if given["kind"] == "multi":
        P, y = np.array(given["P"], dtype=float), np.array(given["y"])
        return P.max(axis=1), P.argmax(axis=1) == y
    return np.array(given.get("p") or given["conf"], dtype=float), np.array(given.get("y") or given["correct"]).astype(bool)


def bins_asked(params):
    return next(params[k] for k in ("n_bins", "num_bins", "n_bin") if k in params)


def equal_width_reason(name, who, m):
    "Why an equal-width value differs from ours; None when it must not."
    if who.startswith("mapie") and name[:2] in ("01", "02", "04", "05", "07", "15"):
        return "num_bins counts edges: one interval less"
    if who.startswith("authors github facebookresearch/ecevecce") and (name[:2] == "17" or (name[:2] in ("07", "09") and m == 15)):
        return "its bin pointer moves by one bin a row, so after empty bins rows land too low"
    if name.startswith("09") and m == 10:
        return next((why for start, why in PAIRS if who.startswith(start)), None)
    if name.startswith("09") and who.startswith("calzone"):
        return "an exact 0 falls in no bin"
    return None


NORMS = {"ECE equal-width": "l1", "MCE equal-width": "max", "RMSCE equal-width (l2, sqrt)": "l2", "T-Cal plug-in l1-ECE": "l1", "top-label MCE equal-width": "max", "top-label ECE equal-width": "l1"}


def test_equal_width_of_every_implementation_that_shares_our_convention(vectors):
    matched = listed = differ = 0
    for name, content in vectors.items():
        x, y = claim(content["inputs"])
        for r in content["results"]:
            if r["metric"] not in NORMS or not isinstance(r["value"], float):
                continue
            m = bins_asked(r["params"])
            if equal_width_reason(name, r["implementation"], m):
                differ += r["metric"].startswith("ECE") and abs(ece(event(y, x), n_bins=m) - r["value"]) > 1e-9
                listed += r["metric"].startswith("ECE")
                continue
            tolerance = 1e-7 if r["implementation"].startswith("torchmetrics") and r["metric"].startswith("top-label") else 1e-9  # its confidences of several classes are float32
            assert ece(event(y, x), n_bins=m, norm=NORMS[r["metric"]]) == pytest.approx(r["value"], abs=tolerance), (name, r)
            matched += 1
    assert matched > 300 and listed == differ > 15


def test_the_tenths_differ_by_their_edges_alone(vectors):
    "Fed with the edges of linspace, our binning gives their number."
    content = vectors["09_edge_ties_tenths"]
    x, y = claim(content["inputs"])
    theirs = np.linspace(0, 1, 11)
    seen = set()
    for r in content["results"]:
        if r["metric"] in ("ECE equal-width", "RMSCE equal-width (l2, sqrt)") and bins_asked(r["params"]) == 10 and r["implementation"].split()[0] in ("netcal", "probcal", "calibstats"):
            assert ece(event(y, x), strategy=theirs, norm=NORMS[r["metric"]]) == pytest.approx(r["value"], abs=1e-9)
            seen.add(r["implementation"].split()[0])
    assert seen == {"netcal", "probcal", "calibstats"}
    assert ece(event(y, x), n_bins=10) == pytest.approx(0.07727272727272728, abs=1e-12)


def test_mapie_counts_edges(vectors):
    for name in ("01_bin_calibrated", "02_bin_overconfident", "04_bin_rare", "05_conf_skewhigh", "15_weighted"):
        x, y = claim(vectors[name]["inputs"])
        values = {r["params"]["num_bins"]: r["value"] for r in vectors[name]["results"] if r["metric"] == "ECE equal-width" and r["implementation"].startswith("mapie")}
        assert ece(event(y, x), n_bins=9) == pytest.approx(values[10], abs=1e-9) and ece(event(y, x), n_bins=14) == pytest.approx(values[15], abs=1e-9)


def test_equal_mass_of_other_implementations(vectors):
    """Without ties all agree when the bins divide the rows; otherwise we share int(k n / m) with the TCE repository alone.

    Not matched: cuts that give the first bins the remainder (calikit, uncertainty-calibration), the last bin the remainder (ecevecce),
    numpy's interpolated quantiles (probcal, calibstats); and whoever splits ties (calikit, TCE, ecevecce) or merges bins at repeated edges
    (uncertainty-calibration, calibstats) in the sets with ties."""
    matched = 0
    for name, content in vectors.items():
        x, y = claim(content["inputs"])
        if len(np.unique(x)) < len(x):
            continue
        for r in content["results"]:
            if r["metric"] not in ("adaptive ECE equal-mass", "top-label ECE equal-mass") or not isinstance(r["value"], float):
                continue
            m = bins_asked(r["params"])
            if len(x) % m == 0 or (r["implementation"].startswith("authors github facebookresearch/tce") and len(x) > m):
                assert ece(event(y, x), n_bins=m, strategy="quantile") == pytest.approx(r["value"], abs=1e-9), (name, r)
                matched += 1
    assert matched > 50


def split_cut_edges(x, m):
    "Edges half-way between neighbours where the sorted list is cut into m parts, the first ones larger."
    parts = [part for part in np.array_split(np.sort(x), m) if len(part)]
    return np.r_[0, [(a[-1] + b[0]) / 2 for a, b in zip(parts, parts[1:])], 1]


def numpy_edges(x, m):
    "numpy's quantiles as edges."
    edges = np.unique(np.quantile(x, np.linspace(0, 1, m + 1)))
    return np.r_[0, edges[1:-1], 1]


def test_the_other_cuts_as_own_edges(vectors):
    "The equal-mass values that we do not match come out when their edges are given to our binning."
    matched = 0
    for name in ("01_bin_calibrated", "02_bin_overconfident", "04_bin_rare", "05_conf_skewhigh"):
        x, y = claim(vectors[name]["inputs"])
        for r in vectors[name]["results"]:
            if r["metric"] == "adaptive ECE equal-mass" and bins_asked(r["params"]) == 15:
                edges = {"uncertainty-calibration": split_cut_edges, "calikit": split_cut_edges, "probcal": numpy_edges, "calibstats": numpy_edges}.get(r["implementation"].split()[0])
                if edges:
                    assert ece(event(y, x), strategy=edges(x, 15)) == pytest.approx(r["value"], abs=1e-9), (name, r)
                    matched += 1
    assert matched == 16


def test_weighted_and_classwise_of_others(vectors):
    given = vectors["15_weighted"]["inputs"]
    p = event(given["y"], given["p"], sample_weight=given["sample_weight"])
    seen = 0
    for r in vectors["15_weighted"]["results"]:
        if r["metric"] == "ECE weighted" and r["params"]["strategy"] == "width":  # its equal-mass edges ignore the weights
            assert ece(p, n_bins=r["params"]["n_bins"]) == pytest.approx(r["value"], abs=1e-9)
            seen += 1
        if r["metric"] == "ECE weighted" and r["params"]["strategy"] == "mass":
            assert ece(p, strategy=numpy_edges(np.array(given["p"]), r["params"]["n_bins"])) == pytest.approx(r["value"], abs=1e-9)
            seen += 1
    assert seen == 4
    multi = vectors["07_multi3"]
    three = Profile.from_proba(multi["inputs"]["y"], np.array(multi["inputs"]["P"]))
    marginal = {r["params"]["n_bins"]: r["value"] for r in multi["results"] if r["metric"].startswith("marginal")}
    assert {m: ece(three, n_bins=m, target="classwise") for m in (10, 15)} == pytest.approx(marginal, abs=1e-9)


def test_a_printed_row_of_the_paper(vectors):
    given = vectors["17_breastcancer_isotonic_rebuilt"]["inputs"]
    assert f"{ece(Profile.from_confidence(given['correct'], given['conf'])):.4f}" == "0.0453"  # printed .0452


# --- errors

def test_errors_name_the_argument():
    p = event([0, 1], [0.2, 0.8])
    for options, argument in ((dict(n_bins=0), "n_bins"), (dict(n_bins=2.0), "n_bins"), (dict(n_bins=True), "n_bins"), (dict(strategy="kmeans"), "strategy"), (dict(strategy=[0.0]), "strategy"),
                              (dict(strategy=[0, np.nan, 1]), "strategy"), (dict(strategy=[0.3, 1]), "strategy"), (dict(norm="L1"), "norm"), (dict(target="all"), "target"), (dict(label="a"), "label"),
                              (dict(target="classwise", label=1), "label")):
        with pytest.raises(InputError) as caught:
            expected_calibration_error(p, **options)
        assert caught.value.argument == argument
    with pytest.raises(InputError, match="needs true classes"):
        ece(Profile.from_confidence([1, 0], [0.5, 0.6]), label=1)
    with pytest.raises(InputError, match="must have as many rows as `x`"):
        bin_outcomes([0.5, 0.6], [1])
    with pytest.raises(InputError, match="`x` must have at least one row"):
        bin_outcomes([], [])


def test_pure_results():
    p = event([0, 1], [0.2, 0.8])
    assert type(ece(p)) is float and type(ece(p, target="classwise")) is float
    b = bin_outcomes([0.2, 0.8], [0, 1], n_bins=2)
    assert b.n_bins == 2 and b.share.tolist() == [0.5, 0.5] and "| bin |" in b._repr_markdown_() and "2 bins" in repr(b)


def test_the_220_forecasts_of_the_conventions_page(vectors):
    "The page builds them from eleven counts of events."
    given = vectors["09_edge_ties_tenths"]["inputs"]
    x, y = np.array(given["p"]), np.array(given["y"])
    assert [(int(np.sum(x == k / 10)), int(y[x == k / 10].sum())) for k in range(11)] == [(20, e) for e in (0, 2, 6, 3, 6, 7, 14, 17, 16, 16, 20)]
    values = {round(r["value"], 4) for r in vectors["09_edge_ties_tenths"]["results"] if r["metric"] == "ECE equal-width" and bins_asked(r["params"]) == 10}
    assert values == {0.0409, 0.0591, 0.0773, 0.085}
