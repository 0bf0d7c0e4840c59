import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from cwcal.inputs import InputError
from cwcal.metrics.isotonic import isotonic_fit
from tests.naive import isotonic as naive


@pytest.mark.parametrize("seed", range(60))
def test_naive_twin_with_ties_and_weights(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    x, y = rng.integers(0, 6, n) / 5, rng.integers(0, 2, n)
    w = [None, rng.integers(0, 4, n).astype(float), rng.random(n) + 0.01][seed % 3]
    if w is not None:
        w[0] = 1.0
    got, want = isotonic_fit(x, y, w), naive.isotonic_fit(x, y, w)
    for a, b in zip(got, want):
        assert b is None or abs(a - b) < 1e-13


@pytest.mark.parametrize("n", [1, 2, 3, 30, 1000, 20_000])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_equals_sklearn(n, weighted, ties):
    rng = np.random.default_rng(n)
    x = rng.integers(0, max(2, n // 10), n) / max(2, n // 10) if ties else rng.permutation(n) / n
    y = (rng.random(n) < x).astype(float) if n % 2 else rng.normal(x)
    w = rng.random(n) + 0.1 if weighted else None
    assert np.allclose(isotonic_fit(x, y, w), IsotonicRegression().fit(x, y, w).predict(x), rtol=0, atol=1e-12)


def test_row_order_duplicates_and_weight_zero():
    rng = np.random.default_rng(5)
    x, y, w = rng.integers(0, 9, 80) / 8, rng.integers(0, 2, 80), rng.integers(0, 3, 80).astype(float)
    fit, order = isotonic_fit(x, y, w), rng.permutation(80)
    assert np.array_equal(isotonic_fit(x[order], y[order], w[order]), fit[order])
    k = w.astype(int)
    assert np.allclose(isotonic_fit(np.repeat(x, k), np.repeat(y, k)), np.repeat(fit, k), rtol=0, atol=1e-14)
    assert np.all(np.diff(fit[np.argsort(x, kind="stable")]) >= 0)


def test_weight_zero_is_interpolated():
    assert isotonic_fit([0.0, 0.25, 1.0, 2.0, -1.0], [0, 7, 1, 5, 5], [1, 0, 1, 0, 0]).tolist() == [0, 0.25, 1, 1, 0]


def test_exact_zero_and_one_and_all_equal():
    assert isotonic_fit([0, 0, 1, 1], [0, 1, 1, 1]).tolist() == [0.5, 0.5, 1, 1]
    assert isotonic_fit([0.7] * 20, [1] * 13 + [0] * 7).tolist() == [0.65] * 20
    assert isotonic_fit([3, 2, 1], [1, 2, 3]).tolist() == [2, 2, 2]


@pytest.mark.parametrize("x, y, w, text", [([1, 2], [1], None, "`y` must"), ([[1, 2]], [1], None, "`x` must"), ([], [], None, "at least one row"), ([np.inf], [1], None, "finite"),
                                           ([1], [1], [-1.0], "`weight`"), ([1], [1], [0.0], "sum to 0"), ([1], [1], [1.0, 2.0], "`weight` must")])
def test_errors(x, y, w, text):
    with pytest.raises(InputError, match=text):
        isotonic_fit(x, y, w)
