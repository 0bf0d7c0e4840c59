import math
import warnings

import numpy as np
import pytest
from scipy.special import expit

from cwcal.inputs import InputError, UndefinedMetricWarning
from cwcal.metrics.cox import cox_calibration, ici, ici_summary
from cwcal.profile import Profile
from tests import vectors
from tests.naive import cox as naive


def sample(seed, n):
    rng = np.random.default_rng(seed)
    f = rng.integers(0, 11, n) / 10 if seed % 2 else rng.random(n)
    return f, rng.random(n) < 0.5 * f + 0.25


@pytest.mark.parametrize("seed", range(8))
def test_naive_twin_of_cox(seed):
    f, y = sample(seed, 40)
    (a, b), large, lr = naive.cox(f, y, eps=1e-3)
    r = cox_calibration(Profile.from_event(y, f), eps=1e-3)
    assert np.allclose([r.intercept, r.slope, r.intercept_in_the_large], [a, b, large], atol=1e-6)
    assert abs(r.statistic - lr) < 1e-9 and np.isclose(r.p_value, np.exp(-lr / 2), rtol=1e-8)


def test_standard_errors_are_those_of_scikit_learns_fit_by_the_information_matrix():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, 2000)
    y, w = rng.random(2000) < expit(0.3 + 0.8 * z), rng.integers(0, 4, 2000)
    r = cox_calibration(Profile.from_event(y, expit(z), sample_weight=w))
    fit = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(z[:, None], y, sample_weight=w)
    assert np.isclose(r.slope, fit.coef_[0, 0], atol=1e-6) and np.isclose(r.intercept, fit.intercept_[0], atol=1e-6)
    mu = expit(r.intercept + r.slope * z)
    x = np.column_stack([np.ones(2000), z])
    errors = np.sqrt(np.diag(np.linalg.inv(x.T @ (x * (w * mu * (1 - mu))[:, None]))))
    assert np.allclose([r.intercept_se, r.slope_se], errors, rtol=1e-6)
    mu = expit(r.intercept_in_the_large + z)
    assert np.isclose(w @ mu, w @ y) and np.isclose(r.intercept_in_the_large_se, 1 / np.sqrt(w @ (mu * (1 - mu))))


def test_weights_are_frequencies_and_row_order_does_not_matter():
    rng = np.random.default_rng(1)
    f, y = sample(3, 300)
    k, order = rng.integers(0, 3, 300), rng.permutation(300)
    a = cox_calibration(Profile.from_event(y, f, sample_weight=k.astype(float)))
    b = cox_calibration(Profile.from_event(np.repeat(y, k), np.repeat(f, k)))
    c = cox_calibration(Profile.from_event(y[order], f[order], sample_weight=k[order].astype(float)))
    for other in (b, c):
        for name, value in vars(a).items():
            assert value == getattr(other, name) or np.isclose(value, getattr(other, name), rtol=1e-9), name
    assert a.n_clipped == k[(f == 0) | (f == 1)].sum() > 0 and type(b.n) is int and "slope" in a._repr_markdown_()


@pytest.mark.parametrize("y, f, reason", [([1, 1], [0.4, 0.6], "every outcome is 1"), ([0], [0.4], "every outcome is 0"), ([0, 1], [0.5, 0.5], "all confidences are equal"),
                                          ([0, 1], [0.4, 0.5], "separates"), ([1, 0], [0.4, 0.5], "separates"), ([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8], "separates")])
def test_no_maximum_is_nan_with_its_reason(y, f, reason):
    with pytest.warns(UndefinedMetricWarning, match=reason) as caught:
        r = cox_calibration(Profile.from_event(y, f, classes=[0, 1]))
    assert len(caught) == 1 and reason in r.reason
    assert all(math.isnan(v) for v in (r.slope, r.intercept, r.slope_se, r.intercept_se, r.statistic, r.p_value))
    assert math.isnan(r.intercept_in_the_large) == reason.startswith("every")


def test_overlap_in_one_pair_is_enough_and_a_row_of_weight_0_is_none():
    y, f, w = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.31, 0.8, 0.9], [1, 1, 1, 1, 1, 1]
    r = cox_calibration(Profile.from_event(y, f, sample_weight=w))
    assert r.reason is None and np.isfinite(r.slope) and r.slope > 1
    w[3] = 0
    with pytest.warns(UndefinedMetricWarning, match="separates"):
        cox_calibration(Profile.from_event(y, f, sample_weight=w))


def test_converges_from_far_away():
    rng = np.random.default_rng(2)
    f = np.r_[rng.random(400) * 1e-7, 1 - rng.random(400) * 1e-7]
    y = rng.random(800) < 0.5
    r = cox_calibration(Profile.from_event(y, f))
    assert r.reason is None and abs(r.slope) < 0.05 and r.statistic > 1000 and r.p_value == 0.0


@pytest.mark.slow
def test_size_of_the_likelihood_ratio_test():
    rng = np.random.default_rng(3)
    p_values = []
    for _ in range(1000):
        z = rng.normal(0, 1.5, 1000)
        p_values.append(cox_calibration(Profile.from_event(rng.random(1000) < expit(z), expit(z))).p_value)
    for alpha in (0.05, 0.2):
        assert abs(np.mean(np.array(p_values) <= alpha) - alpha) < 4 * np.sqrt(alpha * (1 - alpha) / 1000)


@pytest.mark.parametrize("seed", range(24))
def test_naive_twin_of_ici(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    f, y = sample(seed, n)
    k = rng.integers(0, 4, n) if seed % 3 else np.ones(n, int)
    k[0] = max(k[0], 1)
    p = Profile.from_event(y, f, classes=[0, 1], sample_weight=k if seed % 3 else None)
    for frac in (0.3, 0.75, 1.0):
        mean, distances = naive.ici(np.repeat(f, k), np.repeat(y, k), frac)
        r = ici_summary(p, frac=frac)
        assert abs(ici(p, frac=frac) - mean) < 1e-9 and r.ici == ici(p, frac=frac)
        assert np.allclose([r.e50, r.e90, r.e_max], [*np.quantile(distances, [0.5, 0.9]), max(distances)], rtol=0, atol=1e-9)


def test_anchors_change_little_and_weights_are_frequencies_there_too():
    rng = np.random.default_rng(4)
    f, k = rng.random(1500), rng.integers(0, 3, 1500)
    y = rng.random(1500) < f**1.5
    p = Profile.from_event(y, f, sample_weight=k.astype(float))
    repeated, order = Profile.from_event(np.repeat(y, k), np.repeat(f, k)), rng.permutation(1500)
    assert abs(ici(p) - ici(p, n_anchors=5000)) < 1e-5
    assert np.isclose(ici(p, n_anchors=100), ici(repeated, n_anchors=100), rtol=1e-10)
    assert np.isclose(ici(p), ici(Profile.from_event(y[order], f[order], sample_weight=k[order].astype(float))), rtol=1e-12)


@pytest.mark.parametrize("call, argument", [(lambda p: cox_calibration(p, eps=0.5), "eps"), (lambda p: cox_calibration(p, eps=None), "eps"), (lambda p: ici(p, frac=1.1), "frac"),
                                            (lambda p: ici_summary(p, frac=np.nan), "frac"), (lambda p: ici(p, n_anchors=1.5), "n_anchors"), (lambda p: cox_calibration(p.conf), "profile")])
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(InputError) as caught:
        call(Profile.from_event([0, 1], [0.2, 0.7]))
    assert caught.value.argument == argument


def _cox(p):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return cox_calibration(p, eps=1e-12)  # the clip of probcal


OURS = {
    "Cox slope, intercept": lambda p, r: [_cox(p).slope, _cox(p).intercept_in_the_large],  # its intercept is the one at slope 1
    "calibration LR test p": lambda p, r: [_cox(p).p_value],
    "ICI (loess)": lambda p, r: [ici(p)],
}
SEPARATED = ("11_tiny_n2", "11_tiny_n3", "11_tiny_n4", "17_breastcancer_isotonic_rebuilt")
DIFFER = {
    ("probcal", "Cox slope, intercept", SEPARATED): "the outcomes are separated and no maximum exists; probcal returns a fit with a small ridge",
    ("probcal", "calibration LR test p", SEPARATED): "as above",
}


@pytest.mark.parametrize("name", vectors.NAMES)
def test_other_implementations(name):
    matched, differing = vectors.compare(name, OURS, DIFFER)
    one_outcome = name in ("11_tiny_n1", "12_all_correct", "13_all_wrong")  # probcal refuses them
    assert (matched, differing) == ((0, 0) if one_outcome else (1, 2) if name in SEPARATED else (3, 0))
