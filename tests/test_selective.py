import json
import math

import numpy as np
import pytest

from cwcal.decisions.selective import aurc, coverage_at_risk, excess_aurc, risk_coverage_curve, risk_coverage_table
from cwcal.inputs import InputError
from cwcal.metrics.binned import expected_calibration_error
from cwcal.metrics.csr import csr
from cwcal.profile import Profile
from tests.naive import selective as naive


@pytest.fixture
def case(shared):
    "A bug report of another tool by its id."
    lines = (shared / "cases" / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    return {c["id"]: c for c in map(json.loads, lines)}.__getitem__


def tied(seed, n=15, weights=False):
    rng = np.random.default_rng(seed)
    conf, correct = rng.integers(5, 11, n) / 10, rng.random(n) < 0.7
    w = np.r_[1, rng.integers(0, 4, n - 1)] if weights else np.ones(n, int)
    return Profile.from_confidence(correct, conf, sample_weight=w if weights else None), conf.tolist(), correct.tolist(), w.tolist()


@pytest.mark.parametrize("weights", [False, True])
def test_naive_twin(weights):
    for seed in range(40):
        p, conf, correct, w = tied(seed, weights=weights)
        c, want = risk_coverage_curve(p), naive.curve(conf, correct, w)
        assert np.allclose(np.c_[c.coverage, c.risk, c.thresholds], np.array(want, dtype=float), rtol=0, atol=1e-14)
        assert aurc(p) == pytest.approx(float(naive.aurc(conf, correct, w)), abs=1e-14)
        assert excess_aurc(p) == pytest.approx(float(naive.aurc(conf, correct, w) - naive.best_aurc(correct, w)), abs=1e-13)


def test_without_ties_the_mean_of_the_risks_of_the_top_rows():
    rng = np.random.default_rng(1)
    conf = rng.random(300) / 2 + 0.5
    right = rng.random(300) < conf
    wrong = ~right[np.argsort(-conf)]
    assert aurc(Profile.from_confidence(right, conf)) == pytest.approx(np.mean(np.cumsum(wrong) / np.arange(1, 301)), rel=1e-13)


def test_the_reported_case_and_its_kind(case):
    "SEL-01: ties form one point, for any order of the rows."
    trigger, expect = case("SEL-01")["trigger"], case("SEL-01")["expect"]
    assert "'conf': [0.9, 0.9, 0.9, 0.9]" in trigger
    rng = np.random.default_rng(0)
    for conf, correct in [([0.9] * 4, [1, 0, 1, 0]), ([1.0] * 4, [0, 0, 1, 1]), ([0.5] * 6, [1, 0, 1, 0, 0, 1])]:
        for _ in range(5):
            c = risk_coverage_curve(Profile.from_confidence(rng.permutation(correct), conf))
            assert c.coverage.tolist() == [1.0] and c.risk.tolist() == [expect["risk_at_full_coverage"]] and "cannot rank" in c.reason
            assert "cannot rank" in c._repr_markdown_() and c.aurc == 0.5
    for seed in range(10):
        p, *_ = tied(seed, n=40)
        q = p.subset(rng.permutation(p.n))
        assert aurc(p) == aurc(q) and np.array_equal(risk_coverage_curve(p).risk, risk_coverage_curve(q).risk) and risk_coverage_curve(p).reason is None
        assert risk_coverage_table(p).equals(risk_coverage_table(q)) or np.allclose(risk_coverage_table(p), risk_coverage_table(q), rtol=1e-12)


def test_one_row():
    for right, risk in ((1, 0.0), (0, 1.0)):
        p = Profile.from_confidence([right], [0.8])
        assert aurc(p) == risk and excess_aurc(p) == 0.0 and risk_coverage_curve(p).reason


def test_weights_are_rows():
    "WGT-01 and WGT-05 as kinds: weight 0 drops, weight k repeats, also when the confidence is constant."
    for seed in range(20):
        p, conf, correct, w = tied(seed, weights=True)
        q = Profile.from_confidence(np.repeat(correct, w), np.repeat(conf, w))
        for metric in (aurc, excess_aurc):
            assert metric(p) == pytest.approx(metric(q), abs=1e-13)
        a, b = risk_coverage_table(p), risk_coverage_table(q)
        assert np.allclose(a, b, atol=1e-12)
    flat = Profile.from_confidence([1, 0, 0], [0.9] * 3, sample_weight=[3, 1, 0])
    assert aurc(flat) == 0.25 and coverage_at_risk(flat, max_risk=1.0).kept == 4


def test_fractional_weights_meet_the_whole_ones():
    right, conf = [1, 0, 1, 0, 1, 1], [0.9, 0.8, 0.7, 0.6, 0.55, 0.5]
    at = [excess_aurc(Profile.from_confidence(right, conf, sample_weight=np.full(6, 2.0) + np.r_[e, np.zeros(5)])) for e in (0, 1e-9)]
    assert at[0] == pytest.approx(at[1], abs=1e-8)


def test_confidences_that_float64_rounds_to_one_are_still_ranked():
    p = Profile.from_logits([1, 1, 0], [60.0, 50.0, 40.0])
    assert p.conf.tolist() == [1.0] * 3
    c = risk_coverage_curve(p)
    assert c.coverage.tolist() == pytest.approx([1 / 3, 2 / 3, 1]) and c.risk.tolist() == pytest.approx([0, 0, 1 / 3]) and c.reason is None


def test_rounding_of_the_other_columns_makes_no_steps():
    p = Profile.from_proba([0, 0, 1], [[0.6, 0.3, 0.1], [0.6, 0.2, 0.2], [0.6, 0.15, 0.25]])
    assert len(risk_coverage_curve(p).risk) == 1


def test_calibration_survives_selection_by_the_score_and_not_by_a_group():
    rng = np.random.default_rng(2)
    levels = np.arange(10, 20) / 20
    conf = np.repeat(levels, 100)
    right = np.concatenate([np.arange(100) < round(100 * c) for c in levels])
    p = Profile.from_confidence(right, error_prob=1 - conf)
    for _ in range(20):
        kept = p.subset(np.isin(p.conf, rng.choice(np.unique(p.conf), 4, replace=False)))
        assert expected_calibration_error(kept, n_bins=20) < 1e-12 and csr(kept) == pytest.approx(1)
    table = risk_coverage_table(p, coverage="all", n_bins=20)
    assert np.allclose(table["ece"], 0, atol=1e-12) and np.allclose(table["csr"], 1) and np.allclose(table["risk"], 1 - table["mean_conf"])
    easy = np.tile(np.arange(100) < 50, 10)  # in each level the first fifty rows, which are right more often
    assert expected_calibration_error(p.subset(~easy)) > 0.2 and csr(p.subset(~easy)) > 1.5


def test_table_against_the_kept_rows():
    p, conf, correct, _ = tied(5, n=200)
    table = risk_coverage_table(p, coverage=[0.3, 0.75, 1.0])
    assert table["coverage"].iloc[-1] == 1.0 and np.all(table["coverage"] >= [0.3, 0.75, 1.0][: len(table)])
    for row in table.itertuples():
        kept = p.subset(p.conf >= row.threshold)
        assert (row.kept, row.errors) == (kept.n, np.sum(~kept.correct)) and row.csr == pytest.approx(csr(kept), rel=1e-12) and row.ece == pytest.approx(expected_calibration_error(kept), rel=1e-12)
        if row.errors > 0:
            assert naive.binomial_tail(row.errors, row.kept, row.ci_high) == pytest.approx(0.025, rel=1e-8)
    assert table["kept"].dtype == np.int64


def test_limit_of_the_risk_is_clopper_pearson():
    p, *_ = tied(6, n=300)
    one = coverage_at_risk(p, max_risk=0.5, simultaneous=False)
    assert naive.binomial_tail(int(one.errors), int(one.kept), one.risk_upper) == pytest.approx(0.05, rel=1e-8)
    many = coverage_at_risk(p, max_risk=0.5, n_candidates=10)
    assert naive.binomial_tail(int(many.errors), int(many.kept), many.risk_upper) == pytest.approx(0.005, rel=1e-8)
    assert many.simultaneous and not one.simultaneous and "for all candidate thresholds at once" in many._repr_markdown_() and "not for the best of them" in one._repr_markdown_()
    assert one.coverage_low < one.coverage <= one.coverage_high


def test_no_threshold_will_do():
    p = Profile.from_confidence([0] * 5, [0.9, 0.8, 0.7, 0.6, 0.5])
    none = coverage_at_risk(p, max_risk=0.1)
    assert none.threshold is None and none.coverage == 0.0 and math.isnan(none.risk) and none.observed_coverage == 0.0
    assert coverage_at_risk(p, max_risk=0.0).threshold is None and coverage_at_risk(p, max_risk=1.0).coverage == 1.0


@pytest.mark.slow
def test_the_promise_holds():
    "2,000 samples at the least favourable kind: the risk sits just above the bound for many thresholds."
    rng, broken = np.random.default_rng(7), 0
    for _ in range(2000):
        conf = np.sort(rng.uniform(0.5, 1, 200))[::-1]
        true_risk = np.where(np.arange(200) < 100, 0.101, 0.3)
        found = coverage_at_risk(Profile.from_confidence(rng.random(200) >= true_risk, conf), max_risk=0.1)
        broken += found.threshold is not None
    assert broken <= 2000 * 0.05 + 4 * math.sqrt(2000 * 0.05 * 0.95)


@pytest.mark.parametrize("call, text", [(lambda p: risk_coverage_table(p, coverage=0), "`coverage`"), (lambda p: risk_coverage_table(p, coverage=[math.nan]), "`coverage`"), (lambda p: risk_coverage_table(p, level=1), "`level`"),
                                        (lambda p: coverage_at_risk(p, max_risk=-0.1), "`max_risk`"), (lambda p: coverage_at_risk(p, max_risk=math.nan), "`max_risk`"), (lambda p: coverage_at_risk(p, max_risk=0.1, level=0), "`level`"),
                                        (lambda p: coverage_at_risk(p, max_risk=0.1, n_candidates=2.5), "`n_candidates`")])
def test_refusals(call, text):
    with pytest.raises(InputError, match=text):
        call(tied(0)[0])


@pytest.mark.parametrize("function", [aurc, excess_aurc, risk_coverage_curve, risk_coverage_table, lambda p: coverage_at_risk(p, max_risk=0.1)])
def test_an_event_is_refused(function):
    with pytest.raises(InputError, match="is about the predicted class"):
        function(Profile.from_event([1, 0], [0.9, 0.2]))


def test_plain_floats():
    p, *_ = tied(1)
    assert type(aurc(p)) is type(excess_aurc(p)) is float
    found = coverage_at_risk(p, max_risk=0.5)
    assert all(type(v) in (float, int, bool, type(None)) for v in vars(found).values())
