import json
import math
import warnings

import numpy as np
import pytest

from cwcal.decisions.costs import expected_cost_curve, net_benefit_curve
from cwcal.decisions.thresholds import ThresholdRule, cost_threshold, youden_thresholds
from cwcal.inputs import InputError, InputWarning, UndefinedMetricWarning
from cwcal.metrics.binned import two_group_profile
from cwcal.profile import Profile
from tests.naive import thresholds as naive


@pytest.fixture
def case(shared):
    "A bug report of another tool by its id."
    lines = (shared / "cases" / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    return {c["id"]: c for c in map(json.loads, lines)}.__getitem__


def tied_event(seed, n=25, weights=False):
    rng = np.random.default_rng(seed)
    w = np.r_[1, 1, rng.integers(0, 4, n - 2)] if weights else np.ones(n, int)
    y, s = np.r_[0, 1, rng.integers(0, 2, n - 2)], rng.integers(0, 11, n) / 10
    return Profile.from_event(y, s, sample_weight=w if weights else None), s.tolist(), y.tolist(), w.tolist()


# --- thresholds from costs

def test_cost_threshold_by_hand():
    assert cost_threshold(1, 1) == 0.5 and cost_threshold(1, 4) == 0.2 and cost_threshold(0, 3) == 0 and cost_threshold(3, 0) == 1
    assert cost_threshold(1e308, 1e308) == 0.5 and cost_threshold(5e-324, 5e-324) == 0.5
    assert type(cost_threshold(np.float32(1), np.int64(3))) is float


@pytest.mark.parametrize("pair, argument", [((-1, 1), "c_fp"), ((1, -1), "c_fn"), ((math.inf, 1), "c_fp"), ((math.nan, 1), "c_fp"), ((0, 0), "c_fp"), (("1", 1), "c_fp"), ((True, 1), "c_fp")])
def test_cost_threshold_refuses(pair, argument):
    with pytest.raises(InputError) as caught:
        cost_threshold(*pair)
    assert caught.value.argument == argument


# --- Youden

@pytest.mark.parametrize("weights", [False, True])
def test_youden_naive_twin(weights):
    for seed in range(60):
        p, s, y, w = tied_event(seed, n=12, weights=weights)
        found, (best, thresholds, trivial) = youden_thresholds(p)[1], naive.youden(s, y, w)
        assert found.best_j == pytest.approx(float(best), abs=1e-15) and list(found.thresholds) == thresholds and bool(found.trivial) == trivial
        for t, sensitivity, specificity in zip(found.thresholds, found.sensitivity, found.specificity):
            tp, fp, fn, tn = naive.rates(s, y, w, t)
            assert (sensitivity, specificity) == (pytest.approx(tp / (tp + fn)), pytest.approx(tn / (tn + fp)))


def test_youden_is_never_worse_than_a_grid():
    "Document 004's search over 0.01 … 0.99."
    for seed in range(20):
        rng = np.random.default_rng(seed)
        s = rng.random(60)
        y = rng.random(60) < s
        grid = max((s[y] >= t).mean() - (s[~y] >= t).mean() for t in np.linspace(0.01, 0.99, 99))
        assert youden_thresholds(Profile.from_event(y, s))[1].best_j >= grid - 1e-12


def test_every_case_of_a_threshold_that_separates_nothing(case):
    "THR-01 as a kind: reversed scores, constant scores, one row on either side; never a number beyond the scores."
    for y, s in [([1, 0], [0.4, 0.9]), ([1, 0, 1, 0], [0.5] * 4), ([1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4]), ([1, 0], [1.0, 1.0]), ([1, 0], [0.0, 0.0])]:
        found = youden_thresholds(Profile.from_event(y, s))[1]
        assert found.best_j == case("THR-01")["expect"]["best_j"] == 0.0
        assert set(found.thresholds) <= set(s[:]) and found.trivial == ("predict all", "predict none")
        for tie, decision in (("lowest", "predict all"), ("highest", "predict none")):
            with pytest.warns(InputWarning, match=decision):
                rule = ThresholdRule.fit(Profile.from_event(y, s), fitted_on="rows", tie=tie, date="2024-01-01")
            assert rule[1].threshold is None and rule[1].decision == decision
            d = json.loads(json.dumps(rule.to_dict(), allow_nan=False))
            assert ThresholdRule.from_dict(d) == rule
            assert set(rule.apply(Profile.from_event(y, s)).decisions[1]) == {decision == "predict all"}


def test_the_original_case_as_a_positive_profile():
    found = youden_thresholds(Profile.from_positive([1, 0], [0.4, 0.9]))[1]
    assert (found.best_j, found.thresholds, found.trivial) == (0.0, (), ("predict all", "predict none"))


def test_each_class_of_several():
    rng = np.random.default_rng(3)
    proba = rng.dirichlet([1, 2, 3], 80)
    y = np.r_[0, 1, 2, [rng.choice(3, p=row) for row in proba[3:]]]
    found = youden_thresholds(Profile.from_proba(y, proba))
    assert list(found) == [0, 1, 2]
    for k in range(3):
        best, thresholds, _ = naive.youden(proba[:, k].tolist(), (y == k).tolist(), [1] * 80)
        assert found[k].best_j == pytest.approx(float(best)) and list(found[k].thresholds) == thresholds
    assert youden_thresholds(Profile.from_proba(y, proba), label=2) == {2: found[2]}


def test_both_classes_of_two():
    p = Profile.from_positive([1, 0, 0, 1], [0.9, 0.4, 0.3, 0.2])
    assert youden_thresholds(p, label=0)[0].best_j == youden_thresholds(p)[1].best_j
    assert youden_thresholds(p, label=0)[0].thresholds == (0.6,)


def test_youden_does_not_depend_on_the_order_of_the_rows():
    p, *_ = tied_event(1, n=40)
    for seed in range(5):
        assert youden_thresholds(p.subset(np.random.default_rng(seed).permutation(p.n))) == youden_thresholds(p)


def test_youden_undefined():
    with pytest.warns(UndefinedMetricWarning, match="rows of its own and others"):
        found = youden_thresholds(Profile.from_event([1, 1], [0.3, 0.4]))[1]
    assert math.isnan(found.best_j) and found.thresholds == () and found.trivial == ()


def test_weights_of_youden():
    "WGT as a kind: weight 0 is the row left out, weight 2 the row twice, also in the early return of a class without rows."
    for seed in range(20):
        p, s, y, w = tied_event(seed, weights=True)
        assert youden_thresholds(p) == youden_thresholds(Profile.from_event(np.repeat(y, w), np.repeat(s, w)))
    with pytest.warns(UndefinedMetricWarning, match="got 3 and 0"):
        found = youden_thresholds(Profile.from_event([1, 1, 0], [0.3, 0.4, 0.5], sample_weight=[2, 1, 0]))[1]
    assert (found.n_positive, found.n_negative) == (3.0, 0.0)


# --- rules

def sample(n=400, seed=0, a=1, b=3):
    rng = np.random.default_rng(seed)
    s = rng.beta(a, b, n)
    return Profile.from_event(rng.random(n) < s, s)


def test_fit_and_apply_are_separate_and_in_sample_is_said(case):
    "THR-03 as a kind: the same rows in any order, repeated rows as weights, the same name."
    assert case("THR-03")["area"] == "youden"
    p, other = sample(), sample(seed=1)
    rule = ThresholdRule.fit(p, fitted_on="tuning", date="2024-01-01")
    rows = np.random.default_rng(0).permutation(p.n)
    assert rule.apply(p).in_sample and rule.apply(p.subset(rows)).in_sample and rule.apply(other, name="tuning").in_sample
    assert not rule.apply(other).in_sample and not rule.apply(p.subset(rows[1:])).in_sample
    assert "**in sample**" in rule.apply(p)._repr_markdown_() and "in sample**" not in rule.apply(other)._repr_markdown_()
    y, s = [1, 0, 1, 0], [0.9, 0.4, 0.6, 0.5]
    twice = ThresholdRule.fit(Profile.from_event(y * 2, s * 2), fitted_on="a", date="2024-01-01")
    assert twice.apply(Profile.from_event(y, s, sample_weight=[2] * 4)).in_sample
    with pytest.raises(AttributeError):
        rule.date = "now"


def test_applying_chooses_nothing():
    rule = ThresholdRule.fit(sample(), fitted_on="tuning", date="2024-01-01")
    before = rule.to_dict()
    for seed in range(3):
        q = sample(seed=seed + 5)
        row = rule.apply(q).rows[0]
        d = q.conf >= rule[1].threshold
        assert row["called"] == pytest.approx(d.mean()) and row["sensitivity"] == pytest.approx(d[q.correct].mean()) and row["specificity"] == pytest.approx((~d)[~q.correct].mean())
        assert np.array_equal(rule.decide(q.conf)[1], d)
    assert rule.to_dict() == before


@pytest.mark.parametrize("tie", ["lowest", "highest"])
def test_fit_takes_one_of_the_tied_cuts(tie):
    p = Profile.from_event([1, 0, 1, 0], [0.9, 0.7, 0.6, 0.2])
    rule = ThresholdRule.fit(p, fitted_on="four", tie=tie, date="2024-01-01")
    assert rule[1].threshold == {"lowest": 0.6, "highest": 0.9}[tie] and rule[1].n_tied == 2 and rule[1].value == pytest.approx(0.5)


def test_youden_rule_is_the_youden_threshold():
    for seed in range(30):
        p, *_ = tied_event(seed, weights=seed % 2 == 1)
        found = youden_thresholds(p)[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            low, high = (ThresholdRule.fit(p, fitted_on="rows", tie=t, date="2024-01-01")[1] for t in ("lowest", "highest"))
        if found.trivial:
            assert low.decision == "predict all" and high.decision == "predict none" and low.n_tied == len(found.thresholds) + 2
        else:
            assert (low.threshold, high.threshold, low.n_tied) == (found.thresholds[0], found.thresholds[-1], len(found.thresholds))
        assert low.value == pytest.approx(found.best_j, abs=1e-14)


@pytest.mark.parametrize("weights", [False, True])
def test_cost_rules(weights):
    for seed in range(30):
        p, s, y, w = tied_event(seed, weights=weights)
        for costs in ((1, 1), (1, 9), (3, 1), (0, 1)):
            fixed = ThresholdRule.fit(p, fitted_on="rows", rule="cost", costs=costs, date="2024-01-01")
            assert fixed[1].threshold == cost_threshold(*costs) and fixed[1].value == pytest.approx(naive.cost(s, y, w, fixed[1].threshold, *costs))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)
                free = ThresholdRule.fit(p, fitted_on="rows", rule="empirical_cost", costs=costs, date="2024-01-01")
            assert free[1].value == pytest.approx(naive.lowest_cost(s, y, w, *costs), abs=1e-14)
            assert free.apply(p).rows[0]["cost"] == pytest.approx(free[1].value, abs=1e-14)


def test_a_cost_rule_needs_no_events_to_be_fitted_on():
    rule = ThresholdRule.fit(Profile.from_event([0, 0], [0.1, 0.7]), fitted_on="quiet week", rule="cost", costs=(1, 1), date="2024-01-01")
    assert rule[1].prevalence == 0.0 and rule[1].value == 0.5 and rule.apply(Profile.from_event([0, 0], [0.1, 0.7])).rows[0]["sensitivity"] is None


def test_another_prevalence_warns_and_the_same_does_not():
    p = sample(n=2000)
    rule = ThresholdRule.fit(p, fitted_on="tuning", date="2024-01-01")
    events, others = np.flatnonzero(p.correct), np.flatnonzero(~p.correct)
    shifted = p.subset(np.r_[others, np.repeat(events, 2)])
    with pytest.warns(InputWarning, match="the prevalence is not that of 'tuning'"):
        row = rule.apply(shifted).rows[0]
    assert row["differs"] and row["p_value"] < 1e-6
    assert not rule.apply(shifted, margin=0.5).rows[0]["differs"]


def test_p_value_of_two_proportions_is_the_pearson_one():
    stats = pytest.importorskip("scipy.stats")
    p, q = sample(n=300), sample(n=200, seed=9, b=2.5)
    row = ThresholdRule.fit(p, fitted_on="a", date="2024-01-01").apply(q, alpha=1e-12).rows[0]
    table = [[p.correct.sum(), (~p.correct).sum()], [q.correct.sum(), (~q.correct).sum()]]
    assert row["p_value"] == pytest.approx(stats.chi2_contingency(table, correction=False).pvalue, rel=1e-9)


def test_false_alarms_of_the_prevalence_test():
    "At alpha = 0.1 one population warns once in ten applications: 400 of them, four standard errors."
    hits = 0
    for seed in range(400):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            fresh = ThresholdRule.fit(sample(n=300, seed=1000 + seed), fitted_on="a", date="2024-01-01")
            hits += fresh.apply(sample(n=300, seed=5000 + seed), alpha=0.1).rows[0]["differs"]
    assert abs(hits - 40) < 4 * math.sqrt(400 * 0.1 * 0.9)


def test_labels_of_their_own():
    profiles = {"cat": sample(seed=1), "dog": sample(seed=2, a=3, b=1)}
    rule = ThresholdRule.fit(profiles, fitted_on="photos", rule="empirical_cost", costs={"cat": (1, 5), "dog": (2, 1)}, date="2024-01-01")
    assert rule["cat"].threshold != rule["dog"].threshold and rule["cat"].costs == (1.0, 5.0)
    assert ThresholdRule.from_dict(json.loads(json.dumps(rule.to_dict(), allow_nan=False))) == rule
    assert set(rule.apply(profiles).decisions) == {"cat", "dog"} and rule.apply(profiles).in_sample
    scores = np.column_stack([profiles["cat"].conf, profiles["dog"].conf])
    assert np.array_equal(rule.decide(scores)["dog"], profiles["dog"].conf >= rule["dog"].threshold)
    with pytest.raises(InputError, match="must have the labels of the rule"):
        rule.apply({"cat": profiles["cat"]})
    assert list(rule.apply(profiles).table()["label"]) == ["cat", "dog"]


def test_adjusting_keeps_the_fitted_threshold():
    rule = ThresholdRule.fit(sample(), fitted_on="tuning", date="2024-01-01")
    once = rule.adjusted({1: 0.1}, reason="costs")
    twice = once.adjusted({1: 0.2}, reason="costs again")
    assert twice[1].threshold == 0.2 and twice[1].fitted_threshold == once[1].fitted_threshold == rule[1].threshold and rule[1].reason is None
    for bad, text in (({1: math.inf}, "finite"), ({1: None}, "finite"), ({2: 0.5}, "`thresholds` must have labels of the rule")):
        with pytest.raises(InputError, match=text):
            rule.adjusted(bad, reason="x")
    with pytest.raises(InputError, match="`reason`"):
        rule.adjusted({1: 0.5}, reason=" ")


@pytest.mark.parametrize("bad, text", [(dict(fitted_on=""), "`fitted_on`"), (dict(fitted_on=None), "`fitted_on`"), (dict(fitted_on="a", rule="best"), "`rule`"), (dict(fitted_on="a", tie="middle"), "`tie`"),
                                       (dict(fitted_on="a", rule="cost"), "`costs`"), (dict(fitted_on="a", costs=(1, 1)), "`costs`"), (dict(fitted_on="a", rule="cost", costs=(1,)), "`costs`"), (dict(fitted_on="a", rule="cost", costs=(-1, 1)), "`c_fp`")])
def test_fit_refuses(bad, text):
    with pytest.raises(InputError, match=text):
        ThresholdRule.fit(sample(), **bad)


def test_decide_refuses():
    rule = ThresholdRule.fit(sample(), fitted_on="a", date="2024-01-01")
    with pytest.raises(InputError, match="`scores` must be finite, got nan at row 1"):
        rule.decide([0.2, math.nan])
    with pytest.raises(InputError, match="one column for each"):
        rule.decide(np.zeros((3, 2)))
    for bad in (dict(alpha=0), dict(alpha=1), dict(margin=-1)):
        with pytest.raises(InputError):
            rule.apply(sample(), **bad)


def test_date_is_today_by_default():
    from datetime import date

    assert date.fromisoformat(ThresholdRule.fit(sample(), fitted_on="a").date) <= date.today()


# --- costs and net benefit

@pytest.mark.parametrize("weights", [False, True])
def test_curves_naive_twin(weights):
    c_fp = np.array([0.0, 0.1, 0.5, 1, 2, 9, 50])
    for seed in range(30):
        p, s, y, w = tied_event(seed, weights=weights)
        curve = expected_cost_curve(p, c_fp=c_fp, c_fn=1.5)
        for i, c in enumerate(c_fp):
            t = cost_threshold(c, 1.5)
            assert curve.cost[i] == pytest.approx(naive.cost(s, y, w, t, c, 1.5), abs=1e-14) and curve.thresholds[i] == t
            assert curve.cost_lowest[i] == pytest.approx(naive.lowest_cost(s, y, w, c, 1.5), abs=1e-14)
            assert curve.cost_always[i] == pytest.approx(naive.cost(s, y, w, -1, c, 1.5), abs=1e-14) and curve.cost_never[i] == pytest.approx(naive.cost(s, y, w, 2, c, 1.5), abs=1e-14)
        nb = net_benefit_curve(p, thresholds=np.arange(10) / 10)
        for t, value in zip(nb.thresholds, nb.net_benefit):
            assert value == pytest.approx(naive.net_benefit(s, y, w, t), abs=1e-14)


def test_numbers_of_document_003():
    pooled, informed = (expected_cost_curve(two_group_profile(informed=i), c_fp=1) for i in (False, True))
    assert pooled.cost[0] == 0.5 and informed.cost[0] == pytest.approx(0.1, rel=1e-14)
    c = np.geomspace(0.05, 20, 61)
    pooled, informed = (expected_cost_curve(two_group_profile(informed=i), c_fp=c).cost for i in (False, True))
    assert np.allclose(pooled, np.minimum(c, 1) / 2) and np.allclose(informed, (np.minimum(0.9 * c, 0.1) + np.minimum(0.1 * c, 0.9)) / 2)
    assert np.all(informed <= pooled + 1e-15)


def test_no_spread_has_no_standard_error():
    p = Profile.from_event([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1])
    curve, nb = expected_cost_curve(p, c_fp=[1.0, 99.0]), net_benefit_curve(p, thresholds=[0.5, 0.95])
    assert curve.cost[0] == 0 and np.isnan(curve.se[0]) and curve.se[1] == pytest.approx(0.25)
    assert nb.se[0] == pytest.approx(0.25) and nb.net_benefit[1] == 0 and np.isnan(nb.se[1])


def test_standard_errors_are_those_of_the_mean():
    p = sample(n=500)
    curve, nb = expected_cost_curve(p, c_fp=[0.5, 2.0]), net_benefit_curve(p, thresholds=[0.2, 0.6])
    for i, c in enumerate((0.5, 2.0)):
        called = p.conf >= cost_threshold(c, 1)
        assert curve.se[i] == pytest.approx(np.std(np.where(p.correct, ~called, c * called)) / math.sqrt(500))
    for i, t in enumerate((0.2, 0.6)):
        called = p.conf >= t
        assert nb.se[i] == pytest.approx(np.std(called * np.where(p.correct, 1, -t / (1 - t))) / math.sqrt(500))


def test_net_benefit_at_threshold_zero_is_the_prevalence():
    p = sample()
    nb = net_benefit_curve(p, thresholds=0.0)
    assert nb.net_benefit[0] == nb.always[0] == pytest.approx(p.mean(p.correct))


def test_one_class_of_several_and_refusals():
    three = Profile.from_proba([0, 1, 2, 2], [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.5, 0.4, 0.1], [0.1, 0.1, 0.8]])
    assert expected_cost_curve(three, c_fp=1, label=2).cost[0] == 0.25 and net_benefit_curve(three, thresholds=[0.5], label=2).net_benefit[0] == 0.25
    for call, text in ((lambda: expected_cost_curve(three), "`label` must be given"), (lambda: net_benefit_curve({"a": three}), "takes a Profile"), (lambda: net_benefit_curve(three, label=2, thresholds=[math.nan]), "must lie in"),
                       (lambda: expected_cost_curve(three, label=9), "`label` must be one of"), (lambda: expected_cost_curve(three, label=0, c_fp=[[1, 2]]), "list of numbers"), (lambda: expected_cost_curve(three, label=0, c_fp=[1, 2], c_fn=[1, 2, 3]), "one length")):
        with pytest.raises(InputError, match=text):
            call()
