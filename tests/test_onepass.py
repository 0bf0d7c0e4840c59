import math
import tracemalloc

import numpy as np
import pytest

from cwcal.inputs import InputError
from cwcal.metrics.binned import expected_calibration_error
from cwcal.metrics.csr import csr, csr_sigma, ece_blind_profile
from cwcal.metrics.onepass import one_pass
from cwcal.metrics.scores import brier_score
from cwcal.metrics.weighted import cw_accuracy
from cwcal.profile import Profile
from tests.naive import onepass as naive

pytestmark = pytest.mark.filterwarnings("ignore:.*confidences lie below 0.5")


def some_profile(seed, n, held, weights):
    "Ties, values on bin edges, exact 0 and 1."
    rng = np.random.default_rng(seed)
    conf = np.where(rng.random(n) < 0.5, rng.integers(0, 101, n) / 100, rng.random(n))
    w = rng.integers(0, 4, n) * rng.choice([1.0, 0.5]) if weights else None
    if weights:
        w[0] = 1.0
    given = {"error_prob": conf} if held else {"conf": conf}
    return Profile.from_confidence(rng.random(n) < 0.7, **given, sample_weight=w)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("eps", [0, 1e-8, 0.01])
def test_naive_twin(held, weights, eps):
    for seed in range(10):
        for n in (1, 2, 7, 60):
            p = some_profile(seed, n, held, weights)
            n_bins = (1, 2, 10, 15, 100)[seed % 5]
            want = naive.numbers(p.conf.tolist(), p.correct.tolist(), p.error_prob.tolist(), np.ones(n).tolist() if p.sample_weight is None else p.sample_weight.tolist(), n_bins, eps)
            if math.isnan(want["cw_accuracy"]):
                continue
            got = one_pass(p, n_bins=n_bins, eps=eps)
            for name, value in want.items():
                assert getattr(got, name) == pytest.approx(value, rel=1e-12, abs=1e-14), (name, seed, n)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("n", [1023, 1024, 1025, 4099, 200_003])
def test_separate_definitions(held, weights, n):
    p = some_profile(n, n, held, weights)
    got = one_pass(p)
    assert got.csr == pytest.approx(csr(p), rel=1e-12) and got.sigma == pytest.approx(csr_sigma(p), rel=1e-12)
    assert got.accuracy == pytest.approx(p.mean(p.correct), rel=1e-12) and got.brier == pytest.approx(brier_score(p), rel=1e-12)
    assert got.cw_accuracy == pytest.approx(cw_accuracy(p), rel=1e-12) and got.n == p.total
    for n_bins in (10, 15):
        assert one_pass(p, n_bins=n_bins).ece == pytest.approx(expected_calibration_error(p, n_bins=n_bins), abs=1e-13)


def test_a_printed_row_of_the_paper(vectors):
    inputs = vectors["17_breastcancer_isotonic_rebuilt"]["inputs"]
    p = Profile.from_positive(inputs["y"], inputs["p"], y_pred=inputs.get("y_pred")) if inputs["kind"] == "binary" else Profile.from_confidence(inputs["correct"], inputs["conf"])
    got = one_pass(p)
    assert got.csr == pytest.approx(2631578.9341, abs=5e-4) and got.sigma == pytest.approx(924.1801, abs=5e-4)
    assert (round(got.accuracy, 4), round(got.cw_accuracy, 4), round(got.ece, 4), round(got.brier, 4)) == (0.9737, 0.9732, 0.0453, 0.0426)


@pytest.mark.parametrize("n_bins", [1, 3, 7, 10, 15, 49, 100, 1000, 5000])
def test_every_edge_and_its_neighbours(n_bins):
    "b / n_bins belongs to bin b, the float below it to bin b - 1, and 1 to the last."
    edges = np.arange(1, n_bins) / n_bins
    conf = np.r_[0.0, edges, np.nextafter(edges, 0), 1.0]
    at = np.r_[0, np.arange(1, n_bins), np.arange(n_bins - 1), n_bins - 1]
    correct = np.random.default_rng(n_bins).random(len(conf)) < 0.5
    got = one_pass(Profile.from_confidence(correct, conf), n_bins=n_bins)
    assert got.ece == pytest.approx(np.abs(np.bincount(at, conf - correct, n_bins)).sum() / len(conf), abs=1e-14)


def test_unclipped():
    p = ece_blind_profile(50, 1e12)
    got = one_pass(p, eps=0)
    assert got.csr == pytest.approx(csr(p, eps=0), rel=1e-12) and got.csr > 1e12 and got.sigma == pytest.approx(csr_sigma(p, eps=0), rel=1e-12) and got.ece < 1 / 50
    right = one_pass(Profile.from_confidence([1, 0], error_prob=[0.0, 0.5]), eps=0)
    assert right.csr == 1.0 and right.sigma == math.inf
    assert one_pass(Profile.from_confidence([0, 0], error_prob=[0.0, 0.5]), eps=0).csr == math.inf


def test_plain_python_numbers_and_arrays_that_are_not_contiguous():
    values = np.random.default_rng(0).random((40, 2)) / 2 + 0.5
    got = one_pass(Profile.from_confidence([1, 0] * 20, values[:, 0]))
    assert type(got.n) is int and all(type(v) in (int, float) for v in vars(got).values())
    assert got == one_pass(Profile.from_confidence([1, 0] * 20, values[:, 0].copy()))


def test_memory_does_not_grow():
    peaks = []
    for n in (10_000, 1_000_000):
        p = Profile.from_confidence(np.arange(n) % 3 > 0, np.linspace(0.5, 1, n))
        one_pass(p)
        tracemalloc.start()
        one_pass(p)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 200_000 and peaks[1] < peaks[0] + 50_000


def test_bad_arguments():
    p = Profile.from_confidence([1, 0], [0.9, 0.6])
    for call, argument in [(lambda: one_pass(p, n_bins=2.0), "n_bins"), (lambda: one_pass(p, n_bins=True), "n_bins"), (lambda: one_pass(p, eps=-1), "eps"), (lambda: one_pass(Profile.from_event([1, 0], [0.5, 0.2])), "profile")]:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.argument == argument
