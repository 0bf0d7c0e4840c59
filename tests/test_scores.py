import math
import warnings

import numpy as np
import pytest
import sklearn.metrics

from cwcal.inputs import InputError, InputWarning, PrecisionWarning, UndefinedMetricWarning
from cwcal.metrics.scores import brier_score, corp_decomposition, log_loss, mean_entropy, murphy_decomposition, sharpness, spiegelhalter_test
from cwcal.profile import Profile
from tests import vectors
from tests.naive import scores as naive


def sample(seed, n=30):
    "Event forecasts with ties, exact 0 and 1 (which come true), and weights that include 0."
    rng = np.random.default_rng(seed)
    c = np.r_[rng.integers(0, 11, n) / 10, 0.0, 1.0]
    y = np.where(c == 0, 0, np.where(c == 1, 1, rng.random(n + 2) < 0.6)).astype(int)
    w = rng.integers(0, 4, n + 2).astype(float)
    w[0] += 1
    return c, y, [np.ones(n + 2), w, rng.random(n + 2)][seed % 3]


# --- naive twins ---------------------------------------------------------------------------------

@pytest.mark.parametrize("seed", range(30))
def test_naive_twins(seed):
    c, y, w = sample(seed)
    p = Profile.from_event(y, c, sample_weight=w)
    near = lambda a, b: math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)
    assert near(brier_score(p), naive.brier(c, y, w))
    assert near(brier_score(p, form="sum"), naive.brier_sum(np.c_[1 - c, c], y, w))
    assert near(log_loss(p), naive.log_loss(c, y, w))
    assert near(spiegelhalter_test(p).statistic, naive.spiegelhalter(c, y, w))
    assert near(mean_entropy(p), naive.entropy(c, w)) and near(mean_entropy(p, form="full"), naive.entropy(c, w))
    m = int(seed % 11) + 1
    d = murphy_decomposition(p, n_bins=m)
    got = [d.reliability, d.resolution, d.uncertainty, d.within_bin_variance, d.within_bin_covariance]
    assert np.allclose(got, naive.murphy(c, y, w, m), rtol=0, atol=1e-14)


@pytest.mark.parametrize("seed", range(12))
def test_several_classes(seed):
    rng = np.random.default_rng(seed)
    P, w = rng.dirichlet(np.ones(4), 40), rng.integers(0, 3, 40).astype(float)
    y = rng.integers(0, 4, 40)
    z = np.log(P) + rng.normal(size=(40, 1))
    for p in (Profile.from_proba(y, P, sample_weight=w), Profile.from_logits(y, z, sample_weight=w)):
        assert np.isclose(brier_score(p, form="sum"), naive.brier_sum(P, y, w), rtol=1e-12)
        assert np.isclose(brier_score(p, form="half_sum"), sklearn.metrics.brier_score_loss(y, P, sample_weight=w, scale_by_half=True, labels=range(4)), rtol=1e-12)
        assert np.isclose(log_loss(p, form="full"), sklearn.metrics.log_loss(y, P, sample_weight=w, labels=range(4)), rtol=1e-12)
        assert np.isclose(mean_entropy(p, form="full"), -np.average((P * np.log(P)).sum(axis=1), weights=w), rtol=1e-12)
        assert np.isclose(brier_score(p), naive.brier(P.max(axis=1), P.argmax(axis=1) == y, w), rtol=1e-12)


def test_blocks_of_rows_join(monkeypatch):
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(70_000, 20)), rng.integers(0, 20, 70_000)
    p = Profile.from_logits(y, z)
    P = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    assert np.isclose(brier_score(p, form="sum"), np.mean(((P - np.eye(20)[y]) ** 2).sum(axis=1)), rtol=1e-12)
    assert np.isclose(log_loss(p, form="full"), -np.mean(np.log(P[np.arange(len(y)), y])), rtol=1e-12)


# --- reported cases ------------------------------------------------------------------------------

def test_lab_03_all_events():
    for y, how in (([1, 1, 1, 1], {}), ([True] * 4, {}), (["yes"] * 4, {"pos_label": "yes"})):
        assert math.isclose(brier_score(Profile.from_event(y, [1.0, 0.9, 1.0, 0.8], **how)), 0.0125)
        assert math.isclose(brier_score(Profile.from_positive(y, [1.0, 0.9, 1.0, 0.8], **how)), 0.0125)


def test_dty_06_one_class_against_the_rest():
    assert math.isclose(brier_score(Profile.from_event(["a", "b", "c"], [0.1, 0.8, 0.2], pos_label="b")), 0.03)


def test_num_06_impossible_event():
    p = Profile.from_positive([1, 0], [0.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert log_loss(p) == math.inf
    with pytest.warns(InputWarning, match=r"1 of 2 rows .* eps = 1e-08 .* clipped"):
        assert math.isclose(log_loss(p, eps=1e-8), -math.log(1e-8) / 2)
    with pytest.warns(InputWarning, match=r"3 of 4 rows"):
        log_loss(Profile.from_event([1, 0], [0.0, 0.0], sample_weight=[3, 1]), eps=1e-8)


def test_num_05_half_precision():
    with pytest.warns(PrecisionWarning):
        p = Profile.from_positive([0, 1], np.array([1.0, 1.0], dtype=np.float16))
    assert log_loss(p) == math.inf
    with pytest.warns(InputWarning):
        assert math.isclose(log_loss(p, eps=1e-8), -math.log(1e-8) / 2)


def test_an_impossible_row_of_weight_zero_does_not_count():
    assert math.isclose(log_loss(Profile.from_event([1, 1], [0.0, 0.5], sample_weight=[0, 1])), math.log(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log_loss(Profile.from_event([1, 1], [0.0, 0.5], sample_weight=[0, 1]), eps=1e-8)


def test_extreme_logits_keep_every_digit():
    p = Profile.from_logits([1, 0], [[800.0, 0.0], [40.0, 0.0]])
    assert math.isclose(log_loss(p), (800 + math.log1p(math.exp(-40))) / 2) and math.isclose(log_loss(p, form="full"), log_loss(p))
    right = Profile.from_confidence([1], error_prob=[1e-20])
    assert math.isclose(log_loss(right), 1e-20) and math.isclose(brier_score(right), 1e-40)


def test_predictions_that_are_not_the_argmax():
    with pytest.warns(InputWarning):
        p = Profile.from_proba([0, 1], [[0.6, 0.3, 0.1], [0.5, 0.2, 0.3]], y_pred=[1, 1])
    assert math.isclose(brier_score(p), (0.3**2 + 0.8**2) / 2)
    assert math.isclose(log_loss(p, form="full"), -(math.log(0.6) + math.log(0.2)) / 2)


# --- theorems ------------------------------------------------------------------------------------

def test_bernoulli_identity_two_groups():
    y, rate = np.r_[1, np.zeros(9), np.ones(9), 0], np.repeat([0.1, 0.9], 10)
    assert math.isclose(brier_score(Profile.from_event(y, np.full(20, 0.5))), 0.25)
    assert math.isclose(brier_score(Profile.from_event(y, rate)), 0.09)
    for t in np.linspace(0, 1, 7):
        f = 0.5 + t * (rate - 0.5)
        assert math.isclose(brier_score(Profile.from_event(y, f)), np.mean(rate * (1 - rate) + (f - rate) ** 2))


@pytest.mark.parametrize("seed", range(20))
def test_murphy_adds_up(seed):
    c, y, w = sample(seed)
    p = Profile.from_event(y, c, sample_weight=w)
    for strategy in ("uniform", "quantile", [0, 0.25, 1]):
        d = murphy_decomposition(p, n_bins=5, strategy=strategy)
        assert abs(d.reliability - d.resolution + d.uncertainty + d.within_bin_variance - d.within_bin_covariance - brier_score(p)) < 1e-14


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("score", ["brier", "log"])
def test_corp_adds_up_and_is_not_negative(seed, score):
    c, y, w = sample(seed)
    p = Profile.from_event(y, c, sample_weight=w)
    d = corp_decomposition(p, score=score)
    assert d.score == (brier_score(p) if score == "brier" else log_loss(p))
    assert abs(d.miscalibration - d.discrimination + d.uncertainty - d.score) < 1e-14 and d.miscalibration >= 0 and d.discrimination >= 0
    k = w.astype(int)
    if np.array_equal(k, w):
        copies = corp_decomposition(Profile.from_event(np.repeat(y, k), np.repeat(c, k)), score=score)
        assert np.allclose(list(vars(copies).values()), list(vars(d).values()), rtol=0, atol=1e-13)


def test_corp_equals_murphy_on_increasing_groups():
    y, c = np.r_[1, np.zeros(9), np.ones(7), np.zeros(3)], np.repeat([0.3, 0.6], 10)
    m, d = murphy_decomposition(Profile.from_event(y, c)), corp_decomposition(Profile.from_event(y, c))
    assert np.allclose([d.miscalibration, d.discrimination, d.uncertainty], [m.reliability, m.resolution, m.uncertainty])


def test_corp_with_an_impossible_event():
    d = corp_decomposition(Profile.from_event([1, 0, 1], [0.0, 0.2, 0.9]), score="log")
    assert d.score == d.miscalibration == math.inf and math.isfinite(d.discrimination) and math.isfinite(d.uncertainty)


def test_spiegelhalter_by_hand_and_undefined():
    t = spiegelhalter_test(Profile.from_event([1] * 80 + [0] * 20, [0.9] * 100))
    assert math.isclose(t.statistic, 8 / 2.4) and math.isclose(t.p_value, math.erfc(8 / 2.4 / math.sqrt(2))) and t.reject and t.n == 100
    assert math.isclose(spiegelhalter_test(Profile.from_event([0], [0.9], sample_weight=[1e4])).p_value, 0.0, abs_tol=1e-300)
    with pytest.warns(UndefinedMetricWarning, match="no spread"):
        t = spiegelhalter_test(Profile.from_event([1, 0, 0, 1], [0.5, 0.5, 0.0, 1.0]))
    assert math.isnan(t.statistic) and math.isnan(t.p_value) and t.reject is False
    t = spiegelhalter_test(Profile.from_event([1, 1], [0.5, 0.0]))
    assert t.statistic == math.inf and t.p_value == 0 and t.reject
    tiny = spiegelhalter_test(Profile.from_event(np.arange(500) < 250, np.full(500, 0.9)))
    assert 0 < tiny.p_value < 1e-150  # not lost to 1 - cdf


def test_top_label_and_event_agree():
    c, y, w = sample(4)
    p = Profile.from_event(y, c, sample_weight=w)
    q = p.top_label()
    for f in (brier_score, log_loss, mean_entropy, lambda p: spiegelhalter_test(p).statistic):
        assert math.isclose(f(p), f(q), rel_tol=1e-12)


def test_results_are_plain_and_render():
    p = Profile.from_event([0, 1, 1], [0.2, 0.4, 0.9])
    for r in (spiegelhalter_test(p), murphy_decomposition(p), corp_decomposition(p)):
        assert r._repr_markdown_().startswith("| | |\n|---|---|\n| ") and all(type(v) in (float, int, bool) for v in vars(r).values())
    assert all(type(f(p)) is float for f in (brier_score, log_loss, mean_entropy, sharpness))


@pytest.mark.parametrize("call, text", [
    (lambda p: brier_score(p, form="log"), "`form` must be"), (lambda p: brier_score(p, form="top_label"), "about the predicted class"), (lambda p: log_loss(p, form="sum"), "`form` must be"),
    (lambda p: log_loss(p, eps=-1), "`eps` must be"), (lambda p: log_loss(p, eps=True), "`eps` must be"), (lambda p: spiegelhalter_test(p, alpha=1), "`alpha` must be"),
    (lambda p: corp_decomposition(p, score="crps"), "`score` must be"), (lambda p: murphy_decomposition(p, n_bins=0), "`n_bins` must be"), (lambda p: murphy_decomposition(p, strategy=[0, 0.5]), "cover all values"),
    (lambda p: brier_score(Profile.from_confidence([1], [0.9]), form="half_sum"), "needs a score for every class"), (lambda p: brier_score([0.1]), "takes a Profile first")])
def test_errors(call, text):
    with pytest.raises(InputError, match=text):
        call(Profile.from_event([0, 1, 1], [0.2, 0.4, 0.9]))


# --- other implementations -----------------------------------------------------------------------

def _decomposed(p, r):
    d = murphy_decomposition(p)
    return d.reliability, d.resolution, d.uncertainty


def _log(p, r):
    return [log_loss(p, form="full" if p.n_classes > 2 and "on" not in r else None)]


OURS = {
    "Brier": lambda p, r: [brier_score(p)], "Brier weighted": lambda p, r: [brier_score(p)], "top-label Brier mean((conf-correct)^2)": lambda p, r: [brier_score(p)],
    "Brier (sum over 2 classes)": lambda p, r: [brier_score(p, form="sum") if p.kind == "event" else 2 * brier_score(p)],
    "Brier (sum over classes)": lambda p, r: [brier_score(p, form="sum")], "Brier (half sum)": lambda p, r: [brier_score(p, form="half_sum")],
    "Brier decomposition (reliability,resolution,uncertainty)": _decomposed,
    "Brier decomposition CORP (miscalibration,discrimination,uncertainty,score)": lambda p, r: list(vars(corp_decomposition(p)).values()),
    "log loss": _log, "log loss weighted": _log,
    "Spiegelhalter z,p": lambda p, r: list(vars(spiegelhalter_test(p)).values())[:2], "Spiegelhalter z,p weighted": lambda p, r: list(vars(spiegelhalter_test(p)).values())[:2],
    "Spiegelhalter z": lambda p, r: [spiegelhalter_test(p).statistic],
}
DIFFER = {
    ("probcal", "Brier decomposition (reliability,resolution,uncertainty)", ("09_edge_ties_tenths",)): "edges by linspace: 0.3 falls into the bin below",
    ("calibstats", "Brier decomposition (reliability,resolution,uncertainty)", ("09_edge_ties_tenths",)): "edges by linspace: 0.3 falls into the bin below",
    ("probcal", "Spiegelhalter z,p weighted", None): "variance with squared weights; here weights are frequencies",
}


@pytest.mark.parametrize("name", vectors.NAMES)
def test_vectors(name):
    matched, differing = vectors.compare(name, OURS, DIFFER)
    assert matched >= 10
    assert differing == {"09_edge_ties_tenths": 2, "15_weighted": 1}.get(name, 0)


def test_table_7_row():
    if vectors.NAMES == ["absent"]:
        pytest.skip("the folder of reference vectors is not beside the repository")
    p = vectors.profile(vectors.load("17_breastcancer_isotonic_rebuilt")["inputs"])
    assert abs(brier_score(p) - 0.0426) < 2e-4


# --- statistics ----------------------------------------------------------------------------------

@pytest.mark.slow
@pytest.mark.parametrize("draw", [lambda rng: rng.random((1000, 500)), lambda rng: rng.uniform(0.5, 1, (1000, 500)), lambda rng: rng.beta(2, 5, (1000, 500))])
def test_spiegelhalter_size(draw):
    rng = np.random.default_rng(11)
    c = draw(rng)
    hits = sum(spiegelhalter_test(Profile.from_event(u < row, row)).reject for row, u in zip(c, rng.random(c.shape)))
    assert 37 <= hits <= 64  # the central 95 % of Binomial(1000, 0.05)
