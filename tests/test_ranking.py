import numpy as np
import pytest

from cwcal.inputs import InputError, UndefinedMetricWarning
from cwcal.metrics.ranking import average_precision, cw_average_precision, enrichment_factor, precision_recall_curve
from cwcal.metrics.roc import auc
from cwcal.profile import Profile
from tests.naive import ranking as naive
from tests.test_roc import tied_binary, tied_profile


def frequency(p):
    return np.ones(p.n) if p.sample_weight is None else p.sample_weight


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("make", [tied_profile, tied_binary])
def test_naive_twin(make, weights):
    for seed in range(25):
        p = make(seed, weights=weights)
        for k in range(p.n_classes):
            s, is_k, f = p.scores(k), p.y_true == k, frequency(p)
            if p.n_classes == 2 and k == 0:
                s = -p.scores(1)
            assert average_precision(p, label=k) == pytest.approx(naive.average_precision(s, is_k, f), rel=1e-12)
            assert cw_average_precision(p, label=k) == pytest.approx(naive.average_precision(s, is_k, f * p.conf), rel=1e-12)
            for fraction in (0.01, 0.1, 0.3, 0.5, 1.0):
                assert enrichment_factor(p, fraction=fraction, label=k) == pytest.approx(naive.enrichment_factor(s, is_k, f, fraction), rel=1e-12)


@pytest.mark.filterwarnings("ignore::cwcal.inputs.PrecisionWarning")  # exact 1 in float32
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_to_sklearn(dtype):
    metrics = pytest.importorskip("sklearn.metrics")
    for seed in range(8):
        weights = seed % 2 == 1
        p, b = tied_profile(seed, n=200, weights=weights, dtype=dtype), tied_binary(seed, n=200, weights=weights, dtype=dtype)
        for q, classes in ((p, (0, 1, 2)), (b, (1,))):
            f = frequency(q)
            for k in classes:
                for ours, w in ((average_precision, f), (cw_average_precision, f * q.conf)):
                    assert ours(q, label=k) == pytest.approx(metrics.average_precision_score(q.y_true == k, q.scores(k), sample_weight=w), rel=1e-12)
        assert average_precision(b) == average_precision(b, label=1)
        assert average_precision(p) == pytest.approx(np.mean([average_precision(p, label=k) for k in range(3)]), rel=1e-14)


def test_sample_weight_of_sklearn_is_a_frequency_here_too(vectors):
    metrics = pytest.importorskip("sklearn.metrics")
    d = vectors["15_weighted"]["inputs"]
    p = Profile.from_event(d["y"], d["p"], sample_weight=d["sample_weight"])
    assert average_precision(p) == pytest.approx(metrics.average_precision_score(d["y"], d["p"], sample_weight=d["sample_weight"]), rel=1e-12)


def test_curve_is_the_one_of_sklearn_without_its_end():
    metrics = pytest.importorskip("sklearn.metrics")
    p = tied_binary(3, n=200)
    c = precision_recall_curve(p)
    precision, recall, thresholds = metrics.precision_recall_curve(p.y_true, p.scores(1))
    assert np.array_equal(c.thresholds, thresholds[::-1]) and np.allclose(c.precision, precision[-2::-1]) and np.allclose(c.recall, recall[-2::-1])
    for weighted, value in ((False, average_precision), (True, cw_average_precision)):
        assert precision_recall_curve(p, weighted=weighted).average_precision == pytest.approx(value(p), rel=1e-13)


def test_row_order_weight_zero_and_duplicates():
    for seed in range(10):
        p = tied_profile(seed, weights=True)
        rows = np.random.default_rng(seed).permutation(p.n)
        repeated = p.subset(np.repeat(np.arange(p.n), p.sample_weight.astype(int)))
        repeated = Profile.from_proba(repeated.y_true, repeated.proba)
        for metric in (average_precision, cw_average_precision, enrichment_factor, lambda q: enrichment_factor(q, fraction=0.3, label=1)):
            assert metric(p.subset(rows)) == pytest.approx(metric(p), rel=1e-12)
            assert metric(repeated) == pytest.approx(metric(p), rel=1e-12)


def test_weight_zero_at_the_very_top_is_no_step():
    p = Profile.from_event([0, 1, 0], [1.0, 0.9, 0.2], sample_weight=[0, 1, 1])
    assert average_precision(p) == 1.0 and enrichment_factor(p, fraction=0.01) == 2.0
    assert precision_recall_curve(p).thresholds.tolist() == [0.9, 0.2]


def test_the_fraction_is_not_moved_by_rounding():
    "0.07 * 100 is 7.000000000000001: the top seven, not eight."
    p = Profile.from_event(np.arange(100) == 7, np.linspace(1, 0, 100))
    assert enrichment_factor(p, fraction=0.07) == 0.0 and enrichment_factor(p, fraction=0.08) == pytest.approx(100 / 8)


def test_a_tied_block_that_straddles_the_cut_stays_whole_in_any_order():
    y, s = np.r_[np.ones(5), np.zeros(5), np.zeros(90)], np.r_[np.full(10, 0.9), np.linspace(0.5, 0.1, 90)]
    rng = np.random.default_rng(0)
    for _ in range(5):
        rows = rng.permutation(100)
        assert enrichment_factor(Profile.from_event(y[rows], s[rows]), fraction=0.05) == pytest.approx(0.5 / 0.05)


def test_scores_that_one_minus_s_would_tie():
    tiny = Profile.from_positive([1, 0, 0, 1], [2e-17, 1e-17, 0.6, 0.7])
    assert average_precision(tiny, label=0) == pytest.approx((1 + 2 / 3) / 2)  # rows by falling 1 - s: 0, 1, 0, 1


def test_average_precision_of_noise_is_the_share_of_the_class():
    "Given n rows the mean over random orders is pi + (1 - pi) (H_n - 1) / (n - 1); 400 repetitions within four standard errors."
    rng, n, m = np.random.default_rng(4), 200, 20
    y = np.arange(n) < m
    values = [average_precision(Profile.from_event(y, rng.random(n))) for _ in range(400)]
    harmonic = np.sum(1 / np.arange(1, n + 1))
    expected = (m - 1) / (n - 1) + (1 - (m - 1) / (n - 1)) * harmonic / n  # of a positive at rank r: (1 + (r - 1)(m - 1)/(n - 1)) / r
    assert abs(np.mean(values) - expected) < 4 * np.std(values) / 20


def test_undefined_and_refused():
    none = Profile.from_positive([0, 0], [0.6, 0.2])
    for metric in (average_precision, cw_average_precision, enrichment_factor):
        with pytest.warns(UndefinedMetricWarning, match=r"no row of the class .*\(class 1\)"):
            assert np.isnan(metric(none))
        assert metric(none, label=0) == 1.0
    with pytest.warns(UndefinedMetricWarning, match="no row"):
        assert np.all(np.isnan(precision_recall_curve(none).recall))
    absent = Profile.from_proba([0, 1, 1], [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.5, 0.4, 0.1]])
    with pytest.warns(UndefinedMetricWarning, match="leaves out 1 of 3 classes"):
        assert average_precision(absent) == 1.0
    for fraction in (0, -0.1, 1.5, float("nan"), "1", True):
        with pytest.raises(InputError, match="`fraction`"):
            enrichment_factor(none, fraction=fraction)
    with pytest.raises(InputError, match="about the predicted class"):
        cw_average_precision(Profile.from_event([0, 1], [0.2, 0.3]))
    with pytest.raises(InputError, match="needs a score"):
        enrichment_factor(Profile.from_confidence([1, 0], [0.9, 0.8]))


def test_a_weight_of_ten_on_the_other_class_lowers_ap_and_leaves_auc():
    p, q = tied_binary(5, n=100), tied_binary(5, n=100)
    q = Profile.from_positive(q.y_true, q.proba, sample_weight=np.where(q.y_true == 1, 1, 10))
    assert auc(p) == pytest.approx(auc(q), rel=1e-12) and average_precision(q) < average_precision(p)
