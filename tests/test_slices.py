"""Slices: groups, predicted classes, ranges of scores; the worst one and the number of looks."""
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from cwcal.decisions.slices import MIN_ERRORS, MIN_ROWS, cells, class_slices, group_slices, holm, risk_level, score_slices, shown_table, slice_table
from cwcal.inputs import InputError
from cwcal.metrics.binned import expected_calibration_error
from cwcal.metrics.csr import csr, csr_summary, risk_probability
from cwcal.metrics.weighted import accuracy, cw_accuracy
from cwcal.profile import Profile
from naive import slices as naive


def blocks(*rows):
    "(n, errors, q) blocks of one confidence each."
    right = np.concatenate([np.arange(n) >= k for n, k, _ in rows])
    return Profile.from_confidence(right, error_prob=np.repeat([q for _, _, q in rows], [n for n, _, _ in rows])), np.repeat([chr(97 + i) for i in range(len(rows))], [n for n, _, _ in rows])


def test_by_hand():
    """100 rows at 0.9: z = (errors/10 - 1)/0.3, so 15 errors give 5/3 and 14 give 4/3."""
    p, by = blocks((100, 15, 0.1), (100, 14, 0.1), (100, 10, 0.1), (29, 12, 0.1), (100, 9, 0.1))
    t = slice_table(p, by)
    assert t["verdict"].tolist() == ["overconfident", "suspect", "no evidence", "too few", "too few"]
    assert t["z"].tolist()[:3] == pytest.approx([5 / 3, 4 / 3, 0])
    assert t["p_adjusted"].tolist()[:3] == pytest.approx([3 * norm.sf(5 / 3), 2 * norm.sf(4 / 3), 0.5])
    assert t["p_adjusted"].isna().tolist() == [False] * 3 + [True] * 2
    assert t.loc["d", "reason"].startswith("too few for a verdict: 29 rows of 30") and "9 errors of 10" in t.loc["e", "reason"]
    assert group_slices(p, by).worst["group"] == "a"


def test_numbers_are_those_of_the_rows_alone():
    rng = np.random.default_rng(1)
    proba = rng.beta(1.2, 1.2, 900)
    y, by = (rng.random(900) < proba).astype(int), rng.choice(list("xyz"), 900)
    p = Profile.from_positive(y, proba, pos_label=1)
    t = slice_table(p, by)
    for g in "xyz":
        alone = Profile.from_positive(y[by == g], proba[by == g], pos_label=1)
        for column, function in (("accuracy", accuracy), ("csr", csr), ("risk_probability", risk_probability), ("expected_calibration_error", expected_calibration_error), ("cw_accuracy", cw_accuracy)):
            assert t.loc[g, column] == pytest.approx(function(alone), abs=1e-14)
        assert t.loc[g, "n"] == (by == g).sum()


@pytest.mark.parametrize("seed", range(30))
def test_holm_is_its_twin(seed):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.001, 0.02, 0.02, 0.4, 1.0, rng.random()], rng.integers(0, 9))
    assert holm(p).tolist() == pytest.approx(naive.holm(p.tolist()))


def test_holm_of_the_textbook():
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]).tolist() == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])


def test_worst_is_the_one_with_most_evidence_and_not_the_smallest():
    p, by = blocks((2000, 260, 0.1), (12, 12, 0.1), (100, 13, 0.1))
    s = group_slices(p, by)
    assert s.worst["group"] == "a" and s.table.loc["b", "csr"] > 5 * s.worst["csr"]
    nothing = group_slices(*blocks((20, 0, 0.1), (20, 3, 0.1)))
    assert nothing.worst is None and "Worst" not in nothing.note and nothing.to_dict()["worst"] is None


def test_note_counts_the_looks():
    p, by = blocks(*[(100, 10, 0.1)] * 10)
    note = group_slices(p, by).note
    assert "10 groups were looked at; 10 had enough data" in note and "at least one of 10 with probability 40%" in note and "adjusted for 10 looks (Holm)" in note
    assert "1 group was looked at" in group_slices(*blocks((100, 10, 0.1))).note and "the only one judged" in group_slices(*blocks((100, 10, 0.1))).note


def test_people_see_too_few_and_the_frame_keeps_the_number():
    s = group_slices(*blocks((29, 12, 0.1), (100, 9, 0.1), (100, 10, 0.1)))
    few, no_errors, enough = map(cells, s.rows)
    assert few["csr"] == few["risk_probability"] == few["expected_calibration_error"] == "too few" and few["accuracy"] == pytest.approx(17 / 29)
    assert no_errors["csr"] == "too few" and no_errors["expected_calibration_error"] == pytest.approx(0.01)
    assert enough["csr"] == pytest.approx(1) and s.table["csr"].notna().all()
    assert "too few" in shown_table(s).loc["a"].tolist() and "too few" in s._repr_html_()
    assert (MIN_ROWS, MIN_ERRORS) == (30, 10)


def test_a_lonely_term_is_no_verdict():
    p = Profile.from_confidence(np.arange(100) >= 12, error_prob=np.r_[1e-4, np.full(99, 0.1)])
    s = group_slices(p, ["g"] * 100)
    assert s.rows[0]["verdict"] == "too few" and "one term carries 99% of CSR" in s.rows[0]["reason"] and risk_level(csr_summary(p)) == "too little data"


def test_wilson_by_hand():
    t = slice_table(*blocks((40, 0, 0.1)))
    assert t.loc["a", "accuracy_low"] == pytest.approx(40 / (40 + norm.ppf(0.975) ** 2)) and t.loc["a", "accuracy_high"] == 1


# SUB-01
@pytest.mark.parametrize("by", [pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"]), pd.Categorical(["a", None, "a"], categories=["a", "b", "c"]), ["a", float("nan"), "a"], np.array(["a", None, "a"], dtype=object)])
def test_an_unused_level_is_no_group_and_a_missing_one_is(by):
    t = slice_table(Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9]), by)
    assert t["n"].tolist() == [2, 1] and t.index[1] in ("b", "missing")


# SML-01, SML-03
@pytest.mark.parametrize("make", [Profile.from_positive, Profile.from_event])
def test_one_class_in_a_group_has_no_auc_and_a_reason(make):
    s = group_slices(make([1, 1, 0, 1], [0.7, 0.8, 0.2, 0.6], pos_label=1), ["a", "a", "b", "b"])
    a, b = s.rows
    assert math.isnan(a["auc"]) and "AUC: there is no pair" in a["reason"] and a["accuracy"] == 1 and b["auc"] == 1
    assert s.to_dict()["rows"][0]["auc"] is None and "nan" not in s._repr_html_().lower()


# SML-05, SML-11
def test_single_rows_and_no_spread():
    s = group_slices(Profile.from_positive([1, 1], [0.7, 1.0], pos_label=1), ["a", "b"])
    assert s.rows[0]["csr"] == 0 and s.rows[0]["expected_calibration_error"] == pytest.approx(0.3)
    assert math.isnan(s.rows[1]["risk_probability"]) and "P_risk: every row is clipped" in s.rows[1]["reason"]
    clipped = group_slices(Profile.from_confidence([0] * 20 + [1] * 20, error_prob=np.zeros(40)), ["g"] * 40)
    assert clipped.rows[0]["verdict"] == "undecided" and clipped.worst is None


# WGT-01
def test_weights_are_rows():
    rng = np.random.default_rng(2)
    y, q, by, w = rng.random(200) < 0.8, rng.uniform(0.05, 0.4, 200), rng.choice(list("ab"), 200), rng.integers(0, 4, 200)
    weighted = slice_table(Profile.from_confidence(y, error_prob=q, sample_weight=w), by)
    rows = np.repeat(np.arange(200), w)
    repeated = slice_table(Profile.from_confidence(y[rows], error_prob=q[rows]), by[rows])
    pd.testing.assert_frame_equal(weighted.drop(columns="reason"), repeated.drop(columns="reason"), check_dtype=False, rtol=1e-10)
    assert slice_table(Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9], sample_weight=[1, 0, 2]), ["a", "b", "a"])["n"].to_dict() == {"a": 3}


def test_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 400)
    y, by, order = rng.integers(0, 3, 400), rng.choice(["b", "a", None], 400), rng.permutation(400)
    for f in (lambda o: slice_table(Profile.from_proba(y[o], proba[o], classes=(0, 1, 2)), by[o]), lambda o: class_slices(Profile.from_proba(y[o], proba[o], classes=(0, 1, 2))).table, lambda o: score_slices(Profile.from_proba(y[o], proba[o], classes=(0, 1, 2))).table):
        pd.testing.assert_frame_equal(f(np.arange(400)), f(order), rtol=1e-11)


def test_class_slices_are_by_prediction_and_keep_empty_classes():
    p = Profile.from_proba([0, 1, 1, 0], [[0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.8, 0.1]], classes=(0, 1, 2))
    t = class_slices(p).table
    assert t["n"].to_dict() == {"0": 2, "1": 2, "2": 0} and t.loc["2", "reason"] == "the class is never predicted" and math.isnan(t.loc["2", "csr"])
    assert t.loc["0", "accuracy"] == 0.5, "the precision of the class"
    event = class_slices(Profile.from_event([1, 0, 1], [0.9, 0.2, 0.4], pos_label=1)).table
    assert event["n"].tolist() == [2, 1]


def test_score_ranges_are_half_open():
    p = Profile.from_confidence([1, 1, 1, 0], error_prob=[0.5, 0.3, 0.0, 0.1])
    assert score_slices(p).table["n"].to_dict() == {"[0, 0.5)": 0, "[0.5, 0.7)": 1, "[0.7, 0.9)": 1, "[0.9, 0.99)": 1, "[0.99, 1]": 1}
    assert score_slices(p, edges=(0, 1)).table["n"].tolist() == [4]
    assert score_slices(Profile.from_event([1, 0], [0.1, 0.6], pos_label=1)).table["n"].tolist() == [1, 1, 0, 0, 0]


def test_weight_0_rows_make_no_slice():
    p = Profile.from_positive([1, 0, 1], [0.9, 0.2, 0.8], pos_label=1, sample_weight=[1, 0, 1])
    assert class_slices(p).table["n"].tolist() == [0, 2] and score_slices(p).table["n"].sum() == 2


@pytest.mark.parametrize("call, argument", [(lambda p: group_slices(p, ["a"]), "by"), (lambda p: group_slices(p, np.arange(2000.0)), "by"), (lambda p: class_slices(p), "profile"), (lambda p: score_slices(p, edges=[0.1, 1]), "edges"),
                                            (lambda p: score_slices(p, edges=[0, math.nan, 1]), "edges"), (lambda p: group_slices(p, ["a"] * 2000, n_bins=0), "n_bins"), (lambda p: slice_table(1, []), "profile")])
def test_errors_name_the_argument(call, argument):
    with pytest.raises(InputError) as caught:
        call(Profile.from_confidence(np.ones(2000), np.full(2000, 0.5)))
    assert caught.value.argument == argument


@pytest.mark.slow
def test_chance_flags_one_slice_in_twenty():
    rng, flags, adjusted = np.random.default_rng(7), 0, 0
    for _ in range(300):
        q = rng.uniform(0.2, 0.5, 4000)
        t = slice_table(Profile.from_confidence(rng.random(4000) >= q, error_prob=q), np.repeat(np.arange(5), 800))
        flags += (t["verdict"] == "overconfident").sum()
        adjusted += (t["p_adjusted"] <= 0.05).any()
    assert abs(flags / 1500 - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 1500)
    assert adjusted / 300 < 0.05 + 4 * math.sqrt(0.05 * 0.95 / 300)


def test_the_report_shows_the_slices():
    from cwcal.reporting.report import report

    p, by = blocks((100, 15, 0.1), (100, 10, 0.1), (20, 1, 0.1))
    r = report(p, by=by)
    assert r.slices.note in r.to_markdown().replace("\\", "") and r.to_dict()["worst_group"] == "a"
    pd.testing.assert_frame_equal(r.groups, slice_table(p, by))
    row = next(line for line in r.to_markdown().splitlines() if line.startswith("| c |"))
    assert row.count("too few") >= 4 and "0.9500 (0.7639 – 0.9911)" in row and "overconfident, adjusted p 0.096" in r.to_markdown()
    assert "adjusted p 0.096" in r.to_html() and r.to_dict()["groups"][2]["csr"] == pytest.approx(0.5)
