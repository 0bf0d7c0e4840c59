import numpy as np
import pytest
from scipy.special import expit, logit

from cwcal.inputs import InputError
from cwcal.metrics.isotonic_distance import isotonic_distance
from cwcal.metrics.smooth import smooth_ece, smooth_ece_bandwidth
from cwcal.metrics.smooth_logit import logit_smoothed_ece
from cwcal.profile import Profile
from tests import vectors
from tests.naive import smooth as naive


def sample(seed, n=None, ends=True):
    "Ties, exact 0 and 1, and no, whole or fractional weights."
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(1, 9))
    f = rng.integers(0, 11, n) / 10 if seed % 2 else rng.random(n)
    if not ends:
        f = 0.1 + 0.8 * f
    y = rng.random(n) < 0.7 * f + 0.1
    w = [None, rng.integers(0, 4, n).astype(float), rng.random(n) + 0.1][seed % 3]
    if w is not None:
        w[0] = 1.0
    return Profile.from_event(y, f, classes=[0, 1], sample_weight=w), f, y, w


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("edges", ["half", "whole"])
def test_naive_twin_of_smooth_ece(seed, edges):
    p, f, y, w = sample(seed, 5)
    for sigma in (0.2, 0.05):
        assert abs(smooth_ece(p, bandwidth=sigma, edges=edges) - naive.smooth_ece(f, y, sigma, w, edges)) < 1e-12


def test_naive_twin_where_the_grid_has_an_even_number_of_points():
    p, f, y, w = sample(4, 3)
    assert abs(smooth_ece(p, bandwidth=7 / 1024) - naive.smooth_ece(f, y, 7 / 1024, w)) < 1e-12


def test_naive_twin_of_the_bandwidth():
    p, f, y, w = sample(1, 4)
    assert smooth_ece_bandwidth(p) == naive.bandwidth(f, y, w)
    assert smooth_ece(p) == smooth_ece(p, bandwidth=smooth_ece_bandwidth(p))


@pytest.mark.parametrize("seed", range(12))
def test_logit_smoothed_ece_equals_adaptive_integration_to_1e_8(seed):
    p, f, y, w = sample(seed, int(np.random.default_rng(seed).integers(1, 12)))
    for sigma in (0.1, 1 / 15, 0.7, 5.0):
        assert abs(logit_smoothed_ece(p, sigma=sigma) - naive.logit_smoothed_ece(f, y, sigma, w)) < 1e-8


def test_logit_smoothed_ece_equals_adaptive_integration_on_sixty_rows():
    p, f, y, w = sample(0, 60)
    assert abs(logit_smoothed_ece(p, sigma=0.2) - naive.logit_smoothed_ece(f, y, 0.2, w)) < 1e-8


def test_logit_smoothed_ece_skips_empty_stretches_and_joins_chunks():
    f = np.array([1e-6, 0.4999, 0.5, 0.5001, 0.999999])
    p = Profile.from_event([0, 1, 0, 1, 1], f)
    for sigma in (3e-4, 1e-3, 0.02):
        assert abs(logit_smoothed_ece(p, sigma=sigma) - naive.logit_smoothed_ece(f, [0, 1, 0, 1, 1], sigma)) < 1e-8


def test_logit_smoothed_ece_joins_chunks_of_panels():
    "All right: the integrand has one sign, and the integral is the mean of E[1 - s(z + sigma xi)]."
    f = np.random.default_rng(0).random(400)
    node, weight = np.polynomial.hermite_e.hermegauss(40)
    for sigma in (0.002, 0.01, 1.0):
        expected = np.mean(expit(-(logit(f)[:, None] + sigma * node)) @ weight) / np.sqrt(2 * np.pi)
        assert abs(logit_smoothed_ece(Profile.from_event(np.ones(400), f), sigma=sigma) - expected) < 1e-12


def test_monte_carlo_is_seeded_unbiased_and_weighted():
    p, f, y, w = sample(1, 150)
    assert w is not None
    same = [logit_smoothed_ece(p, method="monte_carlo", n_draws=500, random_state=3) for _ in range(2)]
    assert same[0] == same[1]
    repeated = Profile.from_event(np.repeat(y, w.astype(int)), np.repeat(f, w.astype(int)))
    assert np.isclose(same[0], logit_smoothed_ece(repeated, method="monte_carlo", n_draws=500, random_state=3), rtol=1e-9)
    draws = [logit_smoothed_ece(p, method="monte_carlo", n_draws=500, random_state=s) for s in range(30)]
    assert abs(np.mean(draws) - logit_smoothed_ece(p)) < 4 * np.std(draws, ddof=1) / np.sqrt(30)


@pytest.mark.parametrize("seed", range(30))
def test_naive_twin_of_isotonic_distance(seed):
    p, f, y, w = sample(seed)
    assert abs(isotonic_distance(p) - naive.isotonic_distance(f, y, w)) < 1e-13


def distance_from_calibration(c, y):
    "Exact minimum over set partitions, by growing them row by row."
    best = np.inf

    def place(i, blocks):
        nonlocal best
        if i == len(c):
            best = min(best, sum(np.abs(c[b] - y[b].mean()).sum() for b in blocks) / len(c))
            return
        for k in range(len(blocks)):
            place(i + 1, blocks[:k] + [blocks[k] + [i]] + blocks[k + 1 :])
        place(i + 1, blocks + [[i]])

    place(0, [])
    return best


def test_isotonic_distance_bounds_the_distance_from_calibration():
    rng = np.random.default_rng(0)
    strictly = 0
    for _ in range(40):
        c, y = rng.random(5), rng.integers(0, 2, 5)
        exact, ours = distance_from_calibration(c, y), isotonic_distance(Profile.from_event(y, c, classes=[0, 1]))
        assert abs(np.mean(c - y)) - 1e-12 <= exact <= ours + 1e-12
        strictly += ours > exact + 1e-9
    assert strictly > 0


ALL = [smooth_ece, logit_smoothed_ece, isotonic_distance, lambda p: smooth_ece(p, edges="whole"), smooth_ece_bandwidth]


@pytest.mark.parametrize("metric", ALL)
def test_row_order_duplicates_and_weight_zero(metric):
    rng = np.random.default_rng(1)
    f, w = rng.integers(0, 41, 300) / 40, rng.integers(0, 3, 300).astype(float)
    y, order = rng.random(300) < f**2, rng.permutation(300)
    value = metric(Profile.from_event(y, f, sample_weight=w))
    assert np.isclose(value, metric(Profile.from_event(y[order], f[order], sample_weight=w[order])), rtol=1e-12)
    k = w.astype(int)
    assert np.isclose(value, metric(Profile.from_event(np.repeat(y, k), np.repeat(f, k))), rtol=1e-11)


@pytest.mark.parametrize("metric", ALL[:3])
def test_mirrored_forecasts(metric):
    rng = np.random.default_rng(2)
    f = rng.random(200)
    y = rng.random(200) < f**2
    assert np.isclose(metric(Profile.from_event(y, f)), metric(Profile.from_event(~y, 1 - f)), rtol=1e-9)


def test_whole_edges_keep_the_mean_residual_as_lower_bound():
    rng = np.random.default_rng(3)
    c = np.where(rng.random(400) < 0.6, 1.0, 0.6)
    p = Profile.from_confidence(rng.random(400) < 0.6, c)
    gap = abs(p.mean(p.conf - p.correct))
    assert smooth_ece(p, edges="whole") > gap - 2e-3 and smooth_ece(p) < gap - 0.02


def test_one_row_extremes():
    for f, y, gap in ((0.0, 0, 0.0), (1.0, 1, 0.0), (0.0, 1, 1.0), (1.0, 0, 1.0)):
        p = Profile.from_event([y], [f], classes=[0, 1])
        for metric in ALL[:3]:
            value = metric(p)
            assert type(value) is float and abs(value - gap) < 1e-3


@pytest.mark.parametrize("call, argument", [
    (lambda p: smooth_ece(p, bandwidth=np.nan), "bandwidth"), (lambda p: smooth_ece(p, bandwidth=-1), "bandwidth"), (lambda p: smooth_ece(p, edges="both"), "edges"),
    (lambda p: logit_smoothed_ece(p, sigma=np.inf), "sigma"), (lambda p: logit_smoothed_ece(p, eps=0.5), "eps"), (lambda p: logit_smoothed_ece(p, method="mc"), "method"),
    (lambda p: logit_smoothed_ece(p, n_draws=2.5), "n_draws"), (lambda p: isotonic_distance(p.conf), "profile")])
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(InputError) as caught:
        call(Profile.from_event([0, 1], [0.2, 0.7]))
    assert caught.value.argument == argument


OURS = {
    "smECE (reflected Gaussian, auto bandwidth)": (lambda p, r: [smooth_ece(p)], 1e-6),
    "smECE (reflected Gaussian, auto bandwidth) bandwidth": (lambda p, r: [smooth_ece_bandwidth(p)], 1e-12),
    "smECE at fixed bandwidth": (lambda p, r: [smooth_ece(p, bandwidth=r["params"]["sigma"])], 1e-6),
    "smECE via probmetrics": (lambda p, r: [smooth_ece(p)], 1e-6),
    "smECE logit-scale variant": (lambda p, r: [smooth_ece(p)], 1e-6),
    "smECE logit-scale variant weighted": (lambda p, r: [smooth_ece(p)], 1e-6),
    "isotonic L1 distance": (lambda p, r: [isotonic_distance(p)], 1e-9),
    "isotonic L1 distance weighted": (lambda p, r: [isotonic_distance(p)], 1e-9),
    "LS-ECE": (lambda p, r: [logit_smoothed_ece(p, sigma=r["params"]["sigma"])], 5e-5),
}
DIFFER = {
    ("probcal", "smECE logit-scale variant", None): "smooths on the logit axis and returns the bandwidth itself: another number of the same name",
    ("probcal", "smECE logit-scale variant weighted", None): "as the unweighted one",
    ("authors", "LS-ECE", None): "10,000 random draws in float32: agrees to their Monte Carlo error only",
}


@pytest.mark.parametrize("name", vectors.NAMES)
def test_other_implementations(name):
    matched = 0
    for metric, (function, tolerance) in OURS.items():
        matched += vectors.compare(name, {metric: function}, DIFFER, tolerance)[0]
    assert matched >= 6


@pytest.mark.parametrize("name", vectors.NAMES)
def test_the_authors_draws_scatter_around_the_integral(name):
    data = vectors.load(name)
    p = vectors.profile(data["inputs"])
    for r in data["results"]:
        if r["metric"] == "LS-ECE" and r["implementation"].startswith("authors") and r["value"] is not None:
            assert abs(logit_smoothed_ece(p, sigma=r["params"]["sigma"]) - r["value"]) < 4 * 0.5 / np.sqrt(10_000)  # terms lie in [0, 1]


def test_the_papers_row():
    p = vectors.profile(vectors.load("17_breastcancer_isotonic_rebuilt")["inputs"])
    assert abs(isotonic_distance(p) - 0.0438) < 2e-4
