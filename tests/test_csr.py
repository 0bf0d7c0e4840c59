"""The Calibrated Size Ratio against hand calculation, the paper's prints and the slow twin."""
import csv
import math

import numpy as np
import pytest
from naive import csr as naive
from scipy.stats import norm

import cwcal
from cwcal.inputs import InputError, UndefinedMetricWarning
from cwcal.metrics.csr import csr, csr_lower_bound, csr_sigma, csr_summary, csr_zscore, ece_blind_profile, flat_profile, oracle_profile, risk_probability
from cwcal.profile import Profile


def claims(correct, q, **options):
    return Profile.from_confidence(correct, error_prob=q, **options)


def test_a_printed_row_of_the_paper(vectors):
    given = vectors["17_breastcancer_isotonic_rebuilt"]["inputs"]
    s = csr_summary(Profile.from_confidence(given["correct"], given["conf"]))
    assert f"{s.csr:.4f} {s.sigma:.4f} {s.p_risk:.4f}" == "2631578.9341 924.1801 1.0000"
    assert (s.n, s.n_errors) == (114, 3)


def test_p_risk_of_all_rows_of_table_6(shared):
    "The print is Phi(z) where CSR > 1 and 0 elsewhere, to the rounding of CSR and sigma."
    with open(shared / "paper" / "table_06_real_csr.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    assert len(rows) == 45
    for row in rows:
        value, sigma, printed = float(row["csr"]), float(row["sigma_csr"]), float(row["p_risk_pct"])
        low, high = ((100 * norm.cdf((value + d - 1) / (sigma - d)) if value > 1 else 0.0) for d in (-5e-5, 5e-5))
        assert low - 0.005 <= printed <= high + 0.005, row


def test_golden_values_of_the_null_law():
    "q_i = 2^-i for i = 1..10, errors at 3 and 7; and 15 errors among 100 rows at q = 0.1."
    lattice = claims([i not in (3, 7) for i in range(1, 11)], [2.0**-i for i in range(1, 11)])
    assert csr(lattice) == pytest.approx(13.6, rel=1e-15) and csr_sigma(lattice) == pytest.approx(4.512205669, abs=1e-9)
    assert risk_probability(lattice) == pytest.approx(0.997384278, abs=1e-9)
    assert risk_probability(claims([0] * 15 + [1] * 85, [0.1] * 100)) == pytest.approx(0.952209648, abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_naive_twin(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    q = rng.choice([0.0, 1e-12, 1e-8, 0.1, 0.5, 1.0, *rng.random(3)], n)
    right, w = rng.random(n) < 0.5, rng.choice([0.0, 0.5, 1.0, 3.0], n) + (np.arange(n) == 0)
    p = claims(right, q, sample_weight=w)
    for eps in (1e-8, 1e-3):
        assert csr(p, eps) == pytest.approx(naive.csr(right, q, w, eps), rel=1e-12)
        assert csr_sigma(p, eps) == pytest.approx(naive.csr_sigma(q, w, eps), rel=1e-12)
        if np.any(~right & (w > 0)):
            assert csr_lower_bound(p, eps) <= csr(p, eps) * (1 + 1e-12)


def test_weight_two_is_the_row_twice():
    q, right, w = np.array([0.1, 0.3, 0.2, 1e-9]), np.array([0, 1, 1, 0], bool), np.array([2, 1, 0, 3])
    twice = claims(np.repeat(right, w), np.repeat(q, w))
    weighted = claims(right, q, sample_weight=w)
    assert csr_summary(weighted).__dict__ == pytest.approx(csr_summary(twice).__dict__)


def test_conf_zero_and_one_are_ordinary_inputs():
    p = claims([1, 0, 1, 0], [0.0, 1.0, 1.0, 0.0])
    assert csr(p) == pytest.approx((1 + 1e8) / 4) and csr(p, eps=0) == math.inf and csr_sigma(p, eps=0) == math.inf
    s = csr_summary(p)
    assert (s.n_clipped, s.n_clipped_errors, s.eps) == (2, 1, 1e-8)
    assert csr_summary(p, eps=0).csr == math.inf and math.isnan(csr_summary(p, eps=0).p_risk)
    assert csr(claims([1, 1], [0.0, 0.0]), eps=0) == 0.0


@pytest.mark.parametrize("correct, q, eps, said", [
    ([1, 0], [1.0, 1.0], 1e-8, "sigma of CSR is 0"),
    ([1, 0], [0.0, 0.0], 1e-8, "every row is clipped"),
    ([1, 0], [0.0, 0.5], 0, "sigma of CSR is inf"),
])
def test_no_spread_no_verdict(correct, q, eps, said):
    p = claims(correct, q)
    for metric in (risk_probability, csr_zscore):
        with pytest.warns(UndefinedMetricWarning, match=said):
            assert math.isnan(metric(p, eps=eps))
    s = csr_summary(p, eps)
    assert math.isnan(s.p_risk) and said in s.reason and said in s._repr_markdown_()


def test_p_risk_is_zero_up_to_one():
    assert risk_probability(flat_profile(100, 90)) == 0.0 == risk_probability(claims([1] * 9 + [0], [0.2] * 10))


def test_a_csr_of_one_is_no_evidence_in_any_row_order():
    rng = np.random.default_rng(0)
    conf = np.repeat([0.25, 0.5, 0.9, 0.99], [40, 10, 100, 100])
    right = np.concatenate([np.arange(n) < round(c * n) for c, n in ((0.25, 40), (0.5, 10), (0.9, 100), (0.99, 100))])
    for _ in range(300):
        rows = rng.permutation(len(conf))
        assert risk_probability(claims(right[rows], 1 - conf[rows])) == 0.0
    assert risk_probability(flat_profile(1000, 700)) == 0.0


def test_wrong_certainties_are_named_where_there_is_no_verdict():
    with pytest.warns(UndefinedMetricWarning, match="2 of 3 answers given as certain are wrong, which calibration would allow with probability at most 3e-08"):
        risk_probability(claims([0, 0, 1], [0.0, 0.0, 0.0]))


def test_small_samples():
    assert csr(Profile.from_proba([1], [[0.3, 0.7]])) == 0.0
    with pytest.warns(UndefinedMetricWarning, match="there is no error"):
        assert math.isnan(csr_lower_bound(Profile.from_proba([1], [[0.3, 0.7]])))
    assert csr(Profile.from_proba([0, 0, 0], [[0.7, 0.3], [0.65, 0.35], [0.95, 0.05]])) == 0.0


def test_low_precision_margin_case():
    "float16 p = 1.0 with the wrong answer: the clipped value, not NaN."
    with pytest.warns(cwcal.PrecisionWarning):
        p = Profile.from_positive([0], np.array([1.0], dtype=np.float16))
    assert csr(p) == pytest.approx(1e8)


@pytest.mark.parametrize("n", [2, 3, 7, 100, 1000])
@pytest.mark.parametrize("bound", [-1.0, 0.5, 10.0, 1e6, 1e12, 1e300])
@pytest.mark.parametrize("n_bins", [1, 2, 10, 15, 997])
def test_ece_blind_profile(n, bound, n_bins):
    from cwcal.metrics.binned import expected_calibration_error

    p = ece_blind_profile(n, bound, n_bins)
    assert p.n == n and csr(p, eps=0) > bound and expected_calibration_error(p, n_bins=n_bins) < 1 / n


def test_oracle_and_flat():
    from cwcal.metrics.binned import expected_calibration_error
    from cwcal.metrics.weighted import cw_accuracy

    oracle, flat = oracle_profile(50, 30), flat_profile(50, 30)
    for n_bins in (1, 10, 15):
        assert expected_calibration_error(oracle, n_bins=n_bins) == 0 and expected_calibration_error(flat, n_bins=n_bins) == pytest.approx(0, abs=1e-12)
    assert cw_accuracy(oracle) == 1 and cw_accuracy(flat) == pytest.approx(0.6)
    assert csr(oracle) == pytest.approx(0.4) and csr(flat) == pytest.approx(1)


@pytest.mark.parametrize("call, argument", [
    (lambda p: csr(p, eps=0.5), "eps"), (lambda p: csr(p, eps=-1), "eps"), (lambda p: csr(p, eps="small"), "eps"), (lambda p: risk_probability(p, method="bayes"), "method"),
    (lambda p: ece_blind_profile(1, 1.0), "n"), (lambda p: ece_blind_profile(2, math.inf), "csr_above"), (lambda p: ece_blind_profile(2, 1.0, 0), "n_bins"), (lambda p: flat_profile(3, 4), "n_correct"),
])
def test_bad_arguments_are_named(call, argument):
    with pytest.raises(InputError) as e:
        call(flat_profile(10, 5))
    assert e.value.argument == argument and f"`{argument}`" in str(e.value)


def test_event_profiles_are_refused():
    p = Profile.from_event([1, 0], [0.6, 0.4])
    for metric in (csr, csr_sigma, csr_zscore, csr_lower_bound, csr_summary, risk_probability):
        with pytest.raises(InputError, match="is about the predicted class"):
            metric(p)


def test_results_are_plain_python():
    s = csr_summary(Profile.from_positive(np.array([1, 0, 1], np.int8), np.array([0.75, 0.5, 0.25], np.float32)))
    assert all(type(v) in (int, float, str, type(None)) for v in vars(s).values())


@pytest.mark.slow
@pytest.mark.parametrize("draw", [lambda r, n: r.random(n), lambda r, n: r.beta(5, 5, n)])
def test_mean_and_spread_under_calibration(draw):
    "20,000 calibrated samples: the mean of z is 0 within four standard errors."
    rng = np.random.default_rng(3)
    z = np.empty(20_000)
    for i in range(len(z)):
        q = draw(rng, 200)
        z[i] = csr_zscore(claims(rng.random(200) >= q, q))
    assert abs(z.mean()) < 4 * z.std() / math.sqrt(len(z))
