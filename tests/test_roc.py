import math

import numpy as np
import pytest

from cwcal.inputs import InputError, UndefinedMetricWarning
from cwcal.metrics import roc
from cwcal.metrics.roc import auc, auc_gain, auc_se, cw_auc, cw_roc_curve, roc_curve
from cwcal.profile import Profile
from tests.naive import roc as naive


def tied_profile(seed, k=3, n=25, weights=False, dtype=np.float64):
    "Scores on a coarse grid with exact 0 and 1, every class present."
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 4, (n, k)).astype(float)
    raw[raw.sum(axis=1) == 0, 0] = 1
    proba = (raw / raw.sum(axis=1, keepdims=True)).astype(dtype)
    w = rng.integers(0, 4, n).astype(float) if weights else None
    if weights:
        w[:k] = 1
    return Profile.from_proba(np.r_[np.arange(k), rng.integers(0, k, n - k)], proba, sample_weight=w)


def tied_binary(seed, n=25, dtype=np.float64, weights=False):
    rng = np.random.default_rng(seed)
    p = (rng.integers(0, 11, n) / 10).astype(dtype)
    w = np.r_[1.0, 1.0, rng.integers(0, 4, n - 2)] if weights else None
    return Profile.from_positive(np.r_[0, 1, rng.integers(0, 2, n - 2)], p, sample_weight=w)


def frequency(p):
    return np.ones(p.n) if p.sample_weight is None else p.sample_weight


@pytest.fixture(params=["definition", "compiled"])
def route(request, monkeypatch):
    "Both ways to the area: the sort in NumPy, and the loops for many rows."
    if request.param == "compiled":
        monkeypatch.setattr(roc, "_LARGE", 0)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("make", [tied_profile, tied_binary])
def test_naive_twin(make, weights, route):
    for seed in range(25):
        p = make(seed, weights=weights)
        for k in range(p.n_classes):
            s = p.scores(1) if p.n_classes == 2 else p.scores(k)
            is_k, f = p.y_true == (1 if p.n_classes == 2 else k), frequency(p)
            assert auc(p, label=k) == pytest.approx(naive.area(s, is_k, f), rel=1e-12)
            assert cw_auc(p, label=k) == pytest.approx(naive.area(s, is_k, f * p.conf), rel=1e-12)


@pytest.mark.filterwarnings("ignore::cwcal.inputs.PrecisionWarning")  # exact 1 in float32
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_to_sklearn(dtype, route):
    metrics = pytest.importorskip("sklearn.metrics")
    for seed in range(8):
        p = tied_profile(seed, n=200, weights=seed % 2 == 1, dtype=dtype)
        b = tied_binary(seed, n=200, weights=seed % 2 == 1, dtype=dtype)
        for q, k in [(p, 0), (p, 1), (p, 2), (b, 1)]:
            f = frequency(q)
            assert abs(auc(q, label=k) - metrics.roc_auc_score(q.y_true == k, q.scores(k), sample_weight=f)) < 1e-12
            assert abs(cw_auc(q, label=k) - metrics.roc_auc_score(q.y_true == k, q.scores(k), sample_weight=f * q.conf)) < 1e-12


def test_large_binary_equals_sklearn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    s = np.round(rng.beta(0.7, 0.7, 200_000), 5)
    y = rng.random(200_000) < s
    p = Profile.from_positive(y, s)
    assert abs(cw_auc(p) - metrics.roc_auc_score(y, s, sample_weight=p.conf)) < 1e-12
    assert abs(auc(p) - metrics.roc_auc_score(y, s)) < 1e-12
    other = Profile.from_proba(y.astype(int), np.c_[1 - s, s], y_pred=np.where(s > 0.5, 1, 0))  # conf by column, same weights
    assert abs(cw_auc(other) - cw_auc(p)) < 1e-13


def test_weights_that_no_score_explains(monkeypatch):
    "A prediction kept from another model: conf is not max(s, 1 - s), so the weights travel with the rows."
    monkeypatch.setattr(roc, "_LARGE", 0)
    rng = np.random.default_rng(1)
    s = rng.integers(0, 20, 300) / 20
    with pytest.warns(UserWarning, match="not the most probable"):
        p = Profile.from_positive(rng.integers(0, 2, 300), s, y_pred=rng.integers(0, 2, 300))
    assert cw_auc(p) == pytest.approx(naive.area(s, p.y_true == 1, p.conf), rel=1e-12)


def test_vectors(vectors):
    found = 0
    for file, d in vectors.items():
        by_metric = {r["metric"]: r["value"] for r in d["results"] if r["implementation"].startswith("scikit-learn") and "on" not in r}
        if d["inputs"]["kind"] == "binary":
            p = Profile.from_positive(d["inputs"]["y"], np.asarray(d["inputs"]["p"], dtype=d["inputs"]["dtype"]))
            for name, got in (("AUC", auc), ("AUC weighted", cw_auc)):
                if by_metric.get(name, "nan") != "nan":
                    assert got(p) == pytest.approx(by_metric[name], abs=1e-9), file
                    found += 1
        elif d["inputs"]["kind"] == "multi":
            p = Profile.from_proba(d["inputs"]["y"], d["inputs"]["P"])
            assert auc(p) == pytest.approx(by_metric["AUC ovr macro"], abs=1e-12)
            assert auc(p, average=None) == pytest.approx(by_metric["AUC per class"], abs=1e-12)
            assert cw_auc(p) == pytest.approx(by_metric["AUC ovr macro weighted by conf of predicted class"], abs=1e-12)
            assert cw_auc(p, average=None) == pytest.approx(by_metric["AUC per class weighted by conf of predicted class"], abs=1e-12)
            found += 4
    assert found >= 8


def test_weighted_vector(vectors):
    d = vectors["15_weighted"]
    by_metric = {r["metric"]: r["value"] for r in d["results"] if r["implementation"].startswith("scikit-learn")}
    p = Profile.from_positive(d["inputs"]["y"], d["inputs"]["p"], sample_weight=d["inputs"]["sample_weight"])
    assert auc(p) == pytest.approx(by_metric["AUC weighted (w)"], abs=1e-12)
    assert cw_auc(p) == pytest.approx(by_metric["AUC weighted (w*conf)"], abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_curves_point_by_point(seed):
    p = tied_profile(seed)
    for k in range(3):
        s, is_k = p.scores(k), p.y_true == k
        for c, w, area in ((roc_curve(p, label=k), np.ones(p.n), auc), (cw_roc_curve(p, label=k), p.conf, cw_auc)):
            want = np.array(naive.curve(s.tolist(), is_k, w))
            assert np.allclose(np.c_[c.thresholds, c.fpr, c.tpr], want, rtol=0, atol=1e-14, equal_nan=False)
            assert c.area == pytest.approx(area(p, label=k), abs=1e-14) and c.label == k
            assert (c.fpr[0], c.tpr[0], c.thresholds[0], c.fpr[-1], c.tpr[-1]) == (0, 0, np.inf, 1, 1)


def test_curve_of_either_class_has_the_same_area():
    tiny = Profile.from_positive([1, 0, 0, 1], [2e-17, 1e-17, 0.6, 0.7])  # 1 - p rounds the first two to 1
    assert auc(tiny, label=0) == auc(tiny, label=1) == 0.75
    for k in (0, 1):
        assert roc_curve(tiny, label=k).area == 0.75 and cw_roc_curve(tiny, label=k).area == pytest.approx(cw_auc(tiny), rel=1e-14)
    assert roc_curve(tiny).label == 1 and roc_curve(tiny, label=0).thresholds[1] == 1.0


def test_row_order_weight_zero_and_duplicates():
    for seed in range(10):
        p = tied_profile(seed, weights=True)
        rows = np.random.default_rng(seed).permutation(p.n)
        repeated = p.subset(np.repeat(np.arange(p.n), p.sample_weight.astype(int)))
        repeated = Profile.from_proba(repeated.y_true, repeated.proba)
        for metric in (auc, cw_auc, auc_gain, auc_se, lambda q: auc_se(q, weighted=False), lambda q: cw_roc_curve(q, label=1).area):
            assert metric(p.subset(rows)) == pytest.approx(metric(p), rel=1e-12)
            assert metric(repeated) == pytest.approx(metric(p), rel=1e-12)
        a, b = cw_roc_curve(p, label=2), cw_roc_curve(repeated, label=2)
        assert np.array_equal(a.thresholds, b.thresholds) and np.allclose(a.tpr, b.tpr) and np.allclose(a.fpr, b.fpr)


@pytest.mark.parametrize("seed", range(10))
def test_standard_error(seed):
    p = tied_profile(seed)
    for k in range(3):
        s, is_k = p.scores(k), p.y_true == k
        if 1 < is_k.sum() < p.n - 1:
            assert auc_se(p, label=k) == pytest.approx(naive.standard_error(s, is_k, p.conf), rel=1e-10)
            z = (s[is_k][:, None] > s[~is_k]) + 0.5 * (s[is_k][:, None] == s[~is_k])
            delong = math.sqrt(np.var(z.mean(axis=1), ddof=1) / is_k.sum() + np.var(z.mean(axis=0), ddof=1) / (~is_k).sum())
            assert auc_se(p, weighted=False, label=k) == pytest.approx(delong, rel=1e-10)


@pytest.mark.parametrize("scores", [[0.9, 0.8, 0.3, 0.1], [0.6, 0.6, 0.6, 0.6], [0.1, 0.3, 0.8, 0.9]])
def test_no_spread_no_standard_error(scores):
    p = Profile.from_positive([1, 1, 0, 0], scores, pos_label=1, sample_weight=[1, 3, 2, 1])
    for weighted in (True, False):
        with pytest.warns(UndefinedMetricWarning, match="shows no spread"):
            assert math.isnan(auc_se(p, weighted=weighted))
    assert math.isnan(naive.standard_error(np.array(scores), p.y_true == 1, np.ones(4)))


def test_no_spread_among_many_rows_and_one_pair_misranked():
    s = np.linspace(0.001, 0.999, 20_000)
    y, rng = s > 0.5, np.random.default_rng(0)
    with pytest.warns(UndefinedMetricWarning, match="shows no spread"):
        assert math.isnan(auc_se(Profile.from_positive(y, s, sample_weight=rng.random(20_000) + 0.1)))
    y = y.copy()
    y[9999], y[10_000] = True, False
    assert auc_se(Profile.from_positive(y, s)) > 0


def test_a_perfectly_ranked_class_adds_nothing_to_a_macro_average():
    proba = np.array([[0.9, 0.05, 0.05], [0.8, 0.1, 0.1], [0.1, 0.6, 0.3], [0.1, 0.3, 0.6], [0.05, 0.35, 0.6], [0.05, 0.55, 0.4]])
    p = Profile.from_proba([0, 0, 1, 1, 2, 2], proba)
    with pytest.warns(UndefinedMetricWarning, match="shows no spread"):
        assert math.isnan(auc_se(p, label=0))
    assert 0 < auc_se(p) <= (auc_se(p, label=1) + auc_se(p, label=2)) / 3 + 1e-15


def test_standard_error_of_the_bootstrap():
    "statistics.md section 6: within five per cent of the bootstrap (1,000 resamples: 4 SE of a standard deviation are 9 %)."
    rng = np.random.default_rng(2)
    s = rng.beta(2, 1, 1500)
    p = Profile.from_positive(rng.random(1500) < s, s)
    resampled = []
    for _ in range(1000):
        resampled.append(cw_auc(p.subset(rng.integers(0, p.n, p.n))))
    assert auc_se(p) == pytest.approx(np.std(resampled), rel=0.09)


def test_standard_error_of_the_macro_average_bootstrap():
    rng = np.random.default_rng(3)
    proba = rng.dirichlet([0.8] * 3, 600)
    y = np.array([rng.choice(3, p=row) for row in proba])
    p = Profile.from_proba(y, proba)
    resampled = [cw_auc(p.subset(rng.integers(0, p.n, p.n))) for _ in range(500)]
    assert auc_se(p) == pytest.approx(np.std(resampled), rel=4 / math.sqrt(2 * 500))


def test_both_classes_of_a_binary_profile_have_one_standard_error():
    p = tied_binary(4)
    assert auc_se(p) == pytest.approx(auc_se(p, label=0), rel=1e-12)
    assert auc_se(p) == pytest.approx(auc_se(p, label=1), rel=1e-12)


def test_two_columns_that_are_no_complements_are_two_scores():
    p = Profile.from_proba([0, 1, 1, 0], [[0.9, 0.1], [0.2, 0.3], [0.8, 0.2], [0.7, 0.9]], normalized=False)
    assert auc(p, label=0) != auc(p, label=1)
    assert auc(p) == np.mean(auc(p, average=None))


def test_logits_and_text_labels():
    p = Profile.from_logits(["a", "b", "b", "a"], [-1.0, 2.0, -0.5, 0.1], classes=["a", "b"])
    assert auc(p, label="b") == auc(p, label="a") == auc(p) == 0.75
    assert roc_curve(p).label == "b"


def test_event_profiles_have_the_plain_area_only():
    event = Profile.from_event([1, 0, 1, 0], [0.8, 0.3, 0.4, 0.5])
    assert auc(event) == roc_curve(event).area == 0.75 and auc_se(event, weighted=False) > 0
    for call in (cw_auc, auc_gain, cw_roc_curve, auc_se):
        with pytest.raises(InputError, match="predicted class"):
            call(event)


def test_one_class_is_undefined():
    one = Profile.from_positive([1, 1, 1], [0.2, 0.6, 0.9])
    for call in (auc, cw_auc, auc_gain, auc_se, lambda p: roc_curve(p).area, lambda p: auc(p, label=0)):
        with pytest.warns(UndefinedMetricWarning, match="no pair to rank") as caught:
            assert math.isnan(call(one))
        assert len(caught) == 1


def test_macro_leaves_out_absent_classes_and_counts_them():
    p = Profile.from_proba([0, 1, 1, 0], [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.5, 0.4, 0.1], [0.6, 0.3, 0.1]])
    for call in (auc, cw_auc):
        with pytest.warns(UndefinedMetricWarning, match="1 of 3 classes"):
            each = call(p, average=None)
        assert math.isnan(each[2])
        with pytest.warns(UndefinedMetricWarning, match="leaves out 1 of 3") as caught:
            assert call(p) == np.mean(each[:2])
        assert len(caught) == 1
    with pytest.warns(UndefinedMetricWarning, match="shows no spread"):  # both classes are ranked perfectly
        assert math.isnan(auc_se(p))
    p = Profile.from_proba([0, 1, 1, 0, 0], [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.5, 0.4, 0.1], [0.6, 0.3, 0.1], [0.3, 0.55, 0.15]])
    by_hand = [naive.standard_error(p.scores(k), p.y_true == k, p.conf) for k in (0, 1)]
    assert 0 < auc_se(p) <= max(by_hand) and auc_se(p, label=0) == pytest.approx(by_hand[0])


def test_a_class_whose_rows_all_have_weight_zero_is_absent():
    p = Profile.from_positive([1, 0, 0], [0.9, 0.2, 0.4], sample_weight=[0, 1, 1])
    with pytest.warns(UndefinedMetricWarning):
        assert math.isnan(auc(p))


@pytest.mark.parametrize("n", [2, 70_000])
def test_large_and_small_agree_on_the_undefined(n):
    p = Profile.from_positive(np.ones(n, int), np.linspace(0.1, 0.9, n))
    with pytest.warns(UndefinedMetricWarning):
        assert math.isnan(cw_auc(p))


def test_bad_arguments():
    p = tied_profile(0)
    for call, argument in [(lambda: auc(p, average="weighted"), "average"), (lambda: cw_auc(p, label=7), "label"), (lambda: roc_curve(p), "label"), (lambda: auc([1]), "profile"),
                           (lambda: auc_se(p, label="x"), "label"), (lambda: auc_gain(p, average=0), "average")]:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.argument == argument


@pytest.mark.parametrize("seed", range(5))
def test_difference_is_the_covariance_over_pairs(seed):
    p = tied_profile(seed)
    for k in range(3):
        s, is_k, c = p.scores(k), p.y_true == k, p.conf
        z = (s[is_k][:, None] > s[~is_k]) + 0.5 * (s[is_k][:, None] == s[~is_k])
        w = c[is_k][:, None] * c[~is_k]
        assert cw_auc(p, label=k) - auc(p, label=k) == pytest.approx(np.cov(w.ravel(), z.ravel(), bias=True)[0, 1] / w.mean(), abs=1e-13)


def test_gain_per_class_and_bounds():
    for seed in range(20):
        p = tied_profile(seed)
        a, w = auc(p, average=None), cw_auc(p, average=None)
        assert auc_gain(p, average=None) == pytest.approx((w - a) / (1 - np.minimum(w, a)))
        assert auc_gain(p) == pytest.approx((w.mean() - a.mean()) / (1 - min(w.mean(), a.mean())))
        assert -1 <= auc_gain(p) <= 1
