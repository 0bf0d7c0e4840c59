"""Bugs that users reported of other tools, by id: each is replayed here, or stands in ELSEWHERE with the tests that cover its kind, or in LATER with a reason."""
import ast
import builtins
import dis
import functools
import importlib
import inspect
import io
import itertools
import json
import math
import re
import sys
import warnings
from base64 import b64decode
from configparser import ConfigParser
from pathlib import Path

import matplotlib
import nbformat
import numpy as np
import pandas as pd
import pytest

from cwcal.cli import app
from cwcal.decisions.gate import ece_upper
from cwcal.decisions.selective import aurc, risk_coverage_curve
from cwcal.decisions.slices import group_slices
from cwcal.decisions.thresholds import youden_thresholds
from cwcal.inputs import InputError, InputWarning, PrecisionWarning, UndefinedMetricWarning
from cwcal.metrics import weighted as W
from cwcal.metrics.adaptive import sweep_ece
from cwcal.metrics.binned import ece, expected_calibration_error, reliability_table
from cwcal.metrics.csr import csr, csr_summary, risk_probability
from cwcal.metrics.ecd import ecd_test
from cwcal.metrics.roc import auc
from cwcal.metrics.scores import brier_score, log_loss
from cwcal.profile import Profile
from cwcal.recalibration.base import RecalibrationWarning
from cwcal.recalibration.beta import BetaCalibration
from cwcal.recalibration.isotonic import IsotonicCalibration
from cwcal.recalibration.temperature import TemperatureScaling
from cwcal.reporting.files import profile_from_frame, read_table, texts
from cwcal.reporting.plots import plot_reliability
from cwcal.reporting.registry import METRICS
from cwcal.reporting.report import report

ROOT = Path(__file__).resolve().parents[1]

# What the reports expect, compared with the file by the last test.
EXPECT = {
    "NUM-01": dict(ece_pos=1.3 / 3), "NUM-03": dict(ece_top=0.02), "BIN-01": dict(ece_top=0.0), "BIN-03": dict(ece_pos=0.65), "BIN-05": dict(ece_pos=0.0),
    "BIN-10": dict(ece_pos=0.5, ece_top=0.2), "SHP-01": dict(ece_pos=0.3), "SHP-03": dict(ece_pos=0.125), "LAB-01": dict(ece_top=0.7 / 3, csr=0.0), "LAB-03": dict(brier=0.0125),
    "LAB-11": dict(accuracy=2 / 3), "DTY-06": dict(brier_b=0.03), "IO-01": dict(accuracy=2 / 3), "WGT-01": dict(weighted_accuracy=1.0), "WGT-05": dict(mean=0.875),
    "SML-08": dict(reflected_low=-0.02), "SML-11": dict(csr=0.0, ece_top=0.3), "CAL-06": dict(base_rate=0.25), "CAL-10": dict(predict=[0.0, 1.0]), "THR-01": dict(best_j=0.0),
    "SEL-01": dict(risk_at_full_coverage=0.5),
}

ELSEWHERE = {
    "WGT-06": "test_recalibration_apply.py::test_wgt_06_steps_that_ignore_weights_are_named",
    "LAB-08": "test_recalibration_apply.py::test_lab_08_columns_by_name test_recalibration_apply.py::test_lab_08_a_fold_that_lacks_a_class_is_said",
    "SML-10": "test_recalibration_apply.py::test_sml_10_fewer_rows_than_folds",
    "CAL-01": "test_recalibration.py::test_cal_01_huge_scores",
    "CAL-03": "test_recalibration.py::test_cal_03_temperature_stops_at_its_cap test_recalibration.py::test_cal_03_equal_scores",
    "CAL-05": "test_recalibration.py::test_cal_05_logits_and_their_softmax test_recalibration.py::test_cal_05_zeros_are_counted",
    "CAL-11": "test_recalibration.py::test_cal_11_class_stays_when_its_probability_falls",
    "CAL-13": "test_recalibration_apply.py::test_cal_13_a_fold_with_an_unseen_class_is_refused",
    "CAL-15": "test_recalibration.py::test_cal_15_in_sample test_recalibration_apply.py::test_model_recognises_its_own_rows test_recalibration_apply.py::test_cross_recalibrate_by_hand",
    "CAL-16": "test_recalibration.py::test_cal_16_one_class",
    "LLM-01": "test_recalibration_apply.py::test_llm_01_sources_apart_and_pooled",
    "THR-03": "test_thresholds.py::test_fit_and_apply_are_separate_and_in_sample_is_said",
    "PLT-01": "test_plots.py::test_one_bar_when_one_bin_has_rows",
    "PLT-02": "test_plots.py::test_bars_are_as_wide_as_the_bins",
    "PLT-03": "test_plots.py::test_headless_machine test_plots.py::test_returns_the_axes_given_and_makes_no_figure test_rules.py::test_import_loads_neither_frames_nor_figures_nor_a_compiler",
    "REP-01": "test_report.py::test_json_is_strict_and_plain test_runner.py::test_strict_json",
    "REP-02": "test_report.py::test_json_is_strict_and_plain",
    "MEM-01": "test_profile.py::test_large_matrix_is_reduced_in_blocks test_onepass.py::test_memory_does_not_grow test_scores.py::test_blocks_of_rows_join test_tcal.py::test_memory",
    "PML-01": "test_runner.py::test_settings_that_fit test_runner.py::test_settings_that_do_not",
    "PML-02": "test_runner.py::test_settings_that_fit test_runner.py::test_settings_that_do_not",
    "PML-03": "test_runner.py::test_what_holds_a_value_is_turned_into_it",
    "PML-04": "test_runner.py::test_settings_that_do_not test_runner.py::test_nothing_is_made_when_a_parameter_does_not_fit",
    "PML-05": "test_runner.py::test_run_and_rerun test_rules.py::test_notebook_hygiene",
    "PML-06": "test_runner.py::test_a_magic_that_fails test_runner.py::test_a_run_that_fails test_runner.py::test_a_stale_result_is_no_result",
    "PML-07": "test_runner.py::test_run_and_rerun test_rules.py::test_notebook_hygiene",
    "PML-08": "test_runner.py::test_run_and_rerun",
    "NBD-02": "test_rules.py::test_one_notebook_per_module_and_one_module_per_notebook",
    "NBD-04": "test_rules.py::test_text_files_are_opened_as_utf8 test_rules.py::test_notebook_hygiene",
}

LATER = {"SML-06": "there are no BCa intervals; nothing in the package takes a number of bootstrap resamples for an interval"}


def event(y, p, **options):
    return Profile.from_event(y, p, **options)


def quiet(call, *arguments, **options):
    "The value, and the texts of the warnings."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = call(*arguments, **options)
    return value, [str(w.message) for w in caught]


def undefined(call, *arguments, **options):
    "Is it NaN, with exactly one warning that says why?"
    with pytest.warns(UndefinedMetricWarning) as caught:
        value = call(*arguments, **options)
    return len(caught) == 1 and math.isnan(value)


class BFloat16:
    "What a torch tensor of bfloat16 does, without torch."
    dtype = "torch.bfloat16"

    def __init__(self, values):
        self.values = np.asarray(values, np.float32)

    def detach(self):
        return self

    cpu = detach

    def float(self):
        return self

    def numpy(self):
        return self.values


# --- numbers at the edge


def test_num_01_confidence_zero_has_a_bin():
    p = event([1, 0, 1], [0.0, 0.3, 1.0])
    assert ece(p, n_bins=4) == pytest.approx(EXPECT["NUM-01"]["ece_pos"], rel=1e-14)
    assert reliability_table(p, n_bins=4)["count"].tolist() == [1, 1, 0, 1]


def test_num_03_no_row_is_lost_or_moved():
    with pytest.warns(InputWarning, match="1 of 2 confidences lie below 0.5"):
        p = Profile.from_confidence([0, 1], [0.04, 1.0])
    assert p.conf.tolist() == [0.04, 1.0] and ece(p, n_bins=10) == EXPECT["NUM-03"]["ece_top"]
    assert reliability_table(p, n_bins=10)["count"].tolist() == [1] + [0] * 8 + [1]


@pytest.mark.parametrize("box, name, spacing", [(lambda x: np.array(x, np.float16), "float16", "4.9e-04"), (lambda x: np.array(x, np.float32), "float32", "6.0e-08"), (BFloat16, "bfloat16", "3.9e-03")],
                         ids=["float16", "float32", "bfloat16"])
def test_num_05_half_precision_is_never_nan(box, name, spacing):
    with pytest.warns(PrecisionWarning, match=f"{name} cannot resolve 1 - conf in 1 row: its spacing below 1 is {spacing}"):
        p = Profile.from_positive([0], box([1.0]))
    assert p.conf.dtype == p.error_prob.dtype == np.float64
    assert log_loss(p) == math.inf and csr(p, eps=1e-8) == pytest.approx(1e8) and csr(p, eps=0) == math.inf
    with pytest.warns(InputWarning, match="1 of 1 rows .* clipped"):
        assert log_loss(p, eps=1e-8) == pytest.approx(-math.log(1e-8))


def test_num_06_an_artefact_of_the_clip_is_counted():
    p = Profile.from_positive([1, 0], [0.0, 0.0])
    assert log_loss(p) == log_loss(event([1, 0], [0.0, 0.0])) == math.inf
    with pytest.warns(InputWarning, match=r"1 of 2 rows .* below eps = 1e-06 and were clipped"):
        assert log_loss(p, eps=1e-6) == pytest.approx(-math.log(1e-6) / 2)
    s = csr_summary(p)
    assert (s.csr, s.eps, s.n_clipped, s.n_clipped_errors) == (pytest.approx(0.5e8), 1e-8, 2, 1) and csr(p, eps=0) == math.inf


def test_num_08_a_little_above_one():
    p = Profile.from_confidence([1, 0], np.exp([2.4e-7, -0.1]))
    assert p.conf[0] == 1.0 and any(note.startswith("1 row had a probability outside [0, 1]") for note in p.notes)
    with pytest.raises(InputError, match=r"`conf` must lie in \[0, 1\], got 1.00001 at row 1"):
        Profile.from_confidence([1, 0], [0.9, 1.00001])


def test_num_10_row_sums_of_float32():
    proba = np.array([[0.33335, 0.33335, 0.33335], [0.9, 0.06, 0.04]], np.float32)
    p = Profile.from_proba([0, 0], proba)
    assert p.proba is proba and p.conf.tolist() == [float(np.float32(0.33335)), float(np.float32(0.9))]
    for k, accepted in ((3, False), (1000, True)):  # the sum is off by 0.001 in both
        many = np.full((1, k), 1.001 / k)
        if accepted:
            assert Profile.from_proba([0], many).n == 1
        else:
            with pytest.raises(InputError, match="rows that sum to 1 within 0.00017, got 1.001 at row 0"):
                Profile.from_proba([0], many)


def test_num_11_rows_that_sum_to_less():
    for box in (np.array, BFloat16):
        with pytest.raises(InputError, match="got 0.865 at row 1; divide by the row sums first") as e:
            Profile.from_proba([0, 0, 0], box([[0.6, 0.3, 0.05], [0.6, 0.265, 0.0], [0.8, 0.1, 0.1]]))
        assert e.value.rows.tolist() == [1]


@pytest.mark.parametrize("make", [Profile.from_proba, Profile.from_positive, Profile.from_event])
def test_num_13_raw_scores_whose_rows_sum_to_one(make):
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 3.2 at row 0 \(2 rows\); these look like raw scores: use Profile.from_logits"):
        make([0, 1], [[3.2, -2.2], [-0.4, 1.4]])


@pytest.mark.parametrize("make", [Profile.from_positive, Profile.from_event, Profile.from_confidence, Profile.from_logits, lambda y, s: Profile.from_proba(y, np.c_[s, s])])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_num_15_scores_that_are_not_finite(make, bad):
    "Refused where a profile is made, so that no metric sees them."
    with pytest.raises(ValueError, match=rf"must be finite, got {bad} at row 0 \(2 rows\)"):
        make([0, 1], [bad, bad])
    with pytest.raises(ValueError, match=r"must be finite, got .* at row 1"):
        make([0, 1], [0.5, bad])


def test_num_16_no_positive_anywhere():
    p = Profile.from_positive([0, 0, 0], [0.2, 0.2, 0.4])
    for metric in (W.precision, W.recall, W.f1, W.cw_precision, W.cw_recall, W.cw_f1):
        values, said = quiet(metric, p, average=None)
        assert values[0] == 1 and math.isnan(values[1]) and len(said) == 1 and "undefined" in said[0]
    assert "-0.0" not in quiet(W.cw_metrics, p)[0].to_string()
    r = report(p)
    assert "-0.0" not in r.to_markdown() and "−0.0" not in r.to_markdown()


@pytest.mark.parametrize("weight", [None, [1, 2, 3, 4]])
def test_num_18_a_constant_predictor(weight):
    p, _ = quiet(Profile.from_proba, [0, 1, 1, 0], [[1 - c, c] for c in (0.9, 0.8, 0.7, 0.6)], y_pred=[1, 1, 1, 1], sample_weight=weight)
    for metric in (W.mcc, W.cw_mcc):
        assert undefined(metric, p)


# --- bins


def test_bin_01_the_mean_and_not_the_centre():
    p = Profile.from_confidence([1, 1, 1], [1.0, 1.0, 1.0])
    assert ece(p, n_bins=10) == EXPECT["BIN-01"]["ece_top"] and reliability_table(p, n_bins=10)["mean_conf"].iloc[-1] == 1.0


def test_bin_03_all_scores_equal():
    p = event([0, 0, 0, 1], [0.9] * 4)
    assert ece(p, n_bins=5, strategy="quantile") == pytest.approx(EXPECT["BIN-03"]["ece_pos"], rel=1e-14)
    assert sorted(reliability_table(p, n_bins=5, strategy="quantile")["count"])[-1] == 4


def test_bin_05_a_tied_block_stays_whole():
    for y in sorted(set(itertools.permutations([0, 0, 1, 1]))):
        assert ece(event(y, [0.5] * 4), n_bins=2, strategy="quantile") == EXPECT["BIN-05"]["ece_pos"]
    rng = np.random.default_rng(0)
    for _ in range(30):
        p = event(rng.integers(0, 2, 12), rng.integers(0, 5, 12) / 4)
        q = p.subset(rng.permutation(12))
        assert ece(p, n_bins=4, strategy="quantile") == pytest.approx(ece(q, n_bins=4, strategy="quantile"), abs=1e-15)


def test_bin_06_empty_bins_are_rows():
    table = reliability_table(event([1, 1, 0], [0.95, 0.85, 0.05]), n_bins=4)
    assert table["count"].tolist() == [1, 0, 0, 2] and table["lower"].tolist() == [0, 0.25, 0.5, 0.75]
    assert table["mean_conf"].isna().tolist() == table["event_rate"].isna().tolist() == [False, True, True, False]


def test_bin_08_fifty_rows_in_ten_bins():
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    conf = rng.uniform(size=50)
    p = event(rng.random(50) < conf, conf)
    table = reliability_table(p, n_bins=10)
    assert table["count"].sum() == 50 and (table["ci_low"] <= table["event_rate"]).all() and (table["event_rate"] <= table["ci_high"]).all()
    alike = table["event_rate"].isin([0.0, 1.0])
    assert alike.any() and ((table["ci_high"] - table["ci_low"])[alike] > 0.1).all()  # where a bootstrap collapses
    assert ((table["ci_low"] <= table["mean_conf"]) & (table["mean_conf"] <= table["ci_high"])).mean() >= 0.8
    ax = plot_reliability(p, n_bins=10)
    assert [t.get_text() for t in ax.texts] == [str(c) for c in table["count"]] and ax.collections
    plt.close(ax.figure)
    assert 0 <= sweep_ece(p) <= 1  # the form that chooses its bins from the rows


def test_bin_10_two_quantities_have_two_doors():
    y, p = [1, 1], [0.3, 0.7]
    assert ece(event(y, p), n_bins=10) == pytest.approx(EXPECT["BIN-10"]["ece_pos"]) and ece(Profile.from_positive(y, p), n_bins=10) == pytest.approx(EXPECT["BIN-10"]["ece_top"])
    assert "lower is better" in expected_calibration_error.__doc__ and next(m for m in METRICS if m.name == "expected_calibration_error").direction == "lower"


def test_bin_11_no_metric_leaves_its_range():
    for y in ([1], [0]):
        with pytest.raises(InputError, match=r"must lie in \[0, 1\], got 2.0 at row 0"):
            Profile.from_proba(y, [[2.0, -1.0]])
    rng = np.random.default_rng(1)
    for _ in range(60):
        n = int(rng.integers(1, 9))
        y, s = rng.integers(0, 2, n), rng.choice([0.0, 0.25, 0.5, 0.9, 1.0], n)
        p = Profile.from_positive(y, s)
        values = [quiet(metric, q)[0] for metric in (ece, brier_score, auc) for q in (p, event(y, s))] + [quiet(W.accuracy, p)[0]]
        assert all(math.isnan(v) or 0 <= v <= 1 for v in values)
        assert all(math.isnan(v) or -1 <= v <= 1 for v in (quiet(W.mcc, p)[0], quiet(W.cw_mcc, p)[0]))


# --- shapes, labels, types


def test_shp_01_one_answer_for_every_shape():
    s = np.array([[0.8], [0.3], [0.6]])
    for y in ([[1], [0], [1]], [1, 0, 1], np.array([[1], [0], [1]])):
        for score in (s.tolist(), s, s[:, 0], np.c_[1 - s, s]):
            assert ece(event(y, score), n_bins=10) == pytest.approx(EXPECT["SHP-01"]["ece_pos"])
    assert ece(event([1, 0, 1], np.c_[s, 1 - s], classes=[1, 0], pos_label=1), n_bins=10) == pytest.approx(EXPECT["SHP-01"]["ece_pos"])


def test_shp_03_one_column_says_what_it_is():
    y, s = [0, 0, 0, 1], [0.1, 0.1, 0.2, 0.9]
    assert ece(event(y, s), n_bins=10) == pytest.approx(EXPECT["SHP-03"]["ece_pos"])
    with pytest.warns(InputWarning, match="3 of 4 confidences lie below 0.5: if these are probabilities of the positive class, use from_positive"):
        Profile.from_confidence(y, s)
    with pytest.raises(InputError, match="use from_positive, from_event or from_confidence"):
        Profile.from_proba(y, s)


def test_lab_01_a_class_without_rows():
    p = Profile.from_proba([0, 0, 0], [[0.7, 0.3], [0.65, 0.35], [0.95, 0.05]])
    assert p.classes == (0, 1) and csr(p) == EXPECT["LAB-01"]["csr"]
    for n_bins in (1, 2, 7, 10, 15, 100):
        assert ece(p, n_bins=n_bins) == pytest.approx(EXPECT["LAB-01"]["ece_top"])


@pytest.mark.parametrize("y, options", [([1] * 4, {}), ([True] * 4, {}), ([1.0] * 4, {}), (["yes"] * 4, dict(pos_label="yes")), (["yes"] * 4, dict(classes=["no", "yes"]))])
def test_lab_03_nothing_but_events(y, options):
    for make in (Profile.from_event, Profile.from_positive):
        assert brier_score(make(y, [1.0, 0.9, 1.0, 0.8], **options)) == pytest.approx(EXPECT["LAB-03"]["brier"], rel=1e-13)


def test_lab_05_ten_sorts_before_two():
    p = Profile.from_proba(["2"], [[0.1, 0.8, 0.1]], classes=["1", "2", "10"])
    assert p.conf.tolist() == [0.8] and p.correct.all() and p.classes == ("1", "2", "10")
    with pytest.raises(InputError, match="`classes` must be given"):
        Profile.from_proba(["2"], [[0.1, 0.8, 0.1]])


def test_lab_06_order_of_appearance_is_no_class_order():
    y, proba = np.array(["yes", "no", "no"]), np.array([[0.2, 0.8], [0.9, 0.1], [0.7, 0.3]])
    for order in map(list, itertools.permutations(range(3))):
        p = Profile.from_proba(y[order], proba[order], classes=["no", "yes"])
        assert p.correct.all() and sorted(p.conf) == [0.7, 0.8, 0.9] and csr(p) == 0


def test_lab_10_swapped_arguments():
    for make in (Profile.from_positive, Profile.from_event, Profile.from_confidence):
        with pytest.raises(InputError, match="the two look swapped"):
            make([0.9, 0.2, 0.4], [1, 0, 1])
        parameters = list(inspect.signature(make).parameters.values())
        assert all(q.kind is q.KEYWORD_ONLY for q in parameters[2:])


def test_lab_11_predictions_that_the_threshold_does_not_make():
    with pytest.warns(InputWarning, match=r"`y_pred` is not the most probable class in 1 of 3 rows \(first: row 0\); the given predictions are used"):
        p = Profile.from_positive([1, 0, 1], [0.4, 0.2, 0.3], y_pred=[1, 0, 0])
    assert W.accuracy(p) == pytest.approx(EXPECT["LAB-11"]["accuracy"]) and "1 of 3 rows" in report(p).to_markdown()


@pytest.mark.parametrize("dtype", ["int64", "Int64", "boolean", "Float64", "int64[pyarrow]", "category"])
def test_dty_01_nullable_types(dtype):
    y, y_pred = (pd.Series(v, dtype=dtype) for v in ([1, 0, 1], [1, 0, 0]))
    p = Profile.from_positive(y, [0.9, 0.1, 0.2], y_pred=y_pred)
    assert p.classes == (0, 1) and p.correct.tolist() == [True, True, False]
    if dtype != "int64":
        missing = pd.Series([1, None, 0], dtype=dtype)
        with pytest.raises(InputError, match="`y_true` must hold one of the classes 0, 1, got a missing label at row 1"):
            Profile.from_positive(missing, [0.9, 0.1, 0.2])
        with pytest.raises(InputError, match="`y_pred` .* at row 1"):
            Profile.from_positive([1, 0, 0], [0.9, 0.1, 0.2], y_pred=missing)


def test_dty_03_float_labels():
    s = [0.2, 0.6, 0.9]
    for y in ([0.0, 1.0, 1.0], np.array([0, 1, 1], bool), [0, 1, 1]):
        assert auc(Profile.from_positive(y, s)) == auc(event(y, s)) == 1.0
        assert Profile.from_proba(y, np.c_[1 - np.array(s), s]).correct.all() and Profile.from_logits(y, [-1.0, 1.0, 2.0]).correct.all() and Profile.from_confidence(y, [0.6, 0.7, 0.8]).n == 3
    bad = [0.0, 0.5, 1.0]
    for call in (lambda: Profile.from_positive(bad, s), lambda: event(bad, s), lambda: Profile.from_proba(bad, np.c_[s, s] / (2 * np.array(s)[:, None])), lambda: Profile.from_logits(bad, s),
                 lambda: Profile.from_confidence(bad, s)):
        with pytest.raises(InputError, match="0.5 at row 1"):
            call()


def test_dty_05_several_labels_a_row():
    proba, y = [[[0.9, 0.1], [0.4, 0.6]], [[0.2, 0.8], [0.7, 0.3]]], [[0, 1], [1, 0]]
    for call in (lambda: Profile.from_proba(y, proba), lambda: Profile.from_proba(y, [np.array(m) for m in proba]), lambda: Profile.from_proba(y, proba[0]), lambda: Profile.from_positive(y, [0.1, 0.8])):
        with pytest.raises(InputError, match="evaluate each label .*as its own binary problem"):
            call()


def test_dty_06_one_class_against_the_rest():
    assert brier_score(event(["a", "b", "c"], [0.1, 0.8, 0.2], pos_label="b")) == pytest.approx(EXPECT["DTY-06"]["brier_b"])


def test_idx_01_indexes():
    y, p = pd.Series({"a": 1, "b": 0}), pd.Series({"b": 0.9, "a": 0.6})
    with pytest.raises(InputError, match="must have the same index in the same order, got 'b' beside 'a' at row 0"):
        Profile.from_positive(y, p)
    assert Profile.from_positive(y, p.loc[["a", "b"]]).conf.tolist() == [0.6, 0.9]
    with pytest.raises(InputError, match="`p_pos` must have as many rows as `y_true`, got 3 and 2"):
        Profile.from_positive(y, [0.1, 0.2, 0.3])


# --- files and the command


REGIONS = "y,pred,conf\nNA,NA,0.9\nEU,NA,0.6\nNone,None,0.7\n"


def command(capsys, *arguments):
    with pytest.raises(SystemExit) as done:
        app([str(a) for a in arguments], standalone_mode=True)
    said = capsys.readouterr()
    return done.value.code or 0, said.out, " ".join(said.err.replace("│", " ").split())


def test_io_01_classes_called_na_and_none(tmp_path, capsys):
    file = tmp_path / "regions.csv"
    file.write_text(REGIONS, encoding="utf-8")
    frame = read_table(file)
    assert texts(frame, "y").tolist() == ["NA", "EU", "None"] and texts(frame, "pred").tolist() == ["NA", "NA", "None"]
    p = Profile.from_confidence(texts(frame, "y") == texts(frame, "pred"), frame["conf"].astype(float))
    assert W.accuracy(p) == pytest.approx(EXPECT["IO-01"]["accuracy"])
    file.write_text("ok,conf\n1,0.9\n0,\n1,0.7\n", encoding="utf-8")
    code, _, err = command(capsys, "report", file, "--correct", "ok", "--conf", "conf")
    assert code == 2 and "an empty cell at row 1, line 3" in err
    file.write_text("y,p\n01,0.9\n1,0.2\n", encoding="utf-8")
    p = profile_from_frame(read_table(file), y_true="y", proba=["p"], pos_label="01")
    assert p.classes == ("1", "01") and p.correct.all()


def test_io_01_the_file_as_it_is(tmp_path):
    file = tmp_path / "regions.csv"
    file.write_text(REGIONS, encoding="utf-8")
    assert W.accuracy(profile_from_frame(read_table(file), y_true="y", y_pred="pred", conf="conf")) == pytest.approx(EXPECT["IO-01"]["accuracy"])


def test_io_02_flags_take_no_value_and_numbers_are_numbers(tmp_path, capsys):
    file = tmp_path / "a.csv"
    file.write_text("y,p\n1,0.9\n0,0.2\n", encoding="utf-8")
    columns = ("report", file, "--y-true", "y", "--proba", "p")
    for extra, said in ((("--drop-invalid-labels", "False"), "unexpected extra argument"), (("--n-bins", "1e1"), "--n-bins"), (("--n-bins", "ten"), "--n-bins")):
        code, _, err = command(capsys, *columns, *extra)
        assert code == 2 and said in err
    assert command(capsys, *columns, "--drop-invalid-labels", "--n-bins", "10")[0] == 0


# --- weights


def test_wgt_01_weights_are_not_ignored():
    "For every metric: test_registry.py, weight 0 and weight 2."
    p = Profile.from_positive([1, 0, 1], [0.9, 0.8, 0.3], y_pred=[1, 1, 0], sample_weight=[1.0, 0.0, 0.0])
    assert W.accuracy(p) == W.cw_accuracy(p) == EXPECT["WGT-01"]["weighted_accuracy"]
    for call in (lambda: W.accuracy(p, sample_weight=[1, 1, 1]), lambda: Profile.from_positive([1], [0.9], sample_weights=[1])):
        with pytest.raises(TypeError):
            call()


def test_wgt_03_zero_times_nan():
    p, _ = quiet(Profile.from_proba, [0] * 5, [[0.75, 0.25]] * 5, y_pred=[0, 0, 0, 0, 1])
    with pytest.warns(UndefinedMetricWarning, match=r"1 of 2 classes \(1\)"):
        assert W.recall(p, average="weighted") == 0.8
    zero = Profile.from_confidence([1, 0], [0.8, 0.9], sample_weight=[5, 0])
    assert zero.mean([0.8, math.nan]) == 0.8 and zero.mean([0.8, math.inf]) == 0.8


def test_wgt_05_early_returns_carry_weights():
    p = Profile.from_confidence([1, 0], [0.8, 0.8], sample_weight=[3, 1])
    assert p.mean([1.0, 0.5]) == EXPECT["WGT-05"]["mean"]
    assert aurc(p) == pytest.approx(0.25) and risk_coverage_curve(p).risk.tolist() == [0.25]  # a constant confidence
    same = Profile.from_confidence([1, 1, 1, 0], [0.8] * 4)
    metrics = [m for m in METRICS if "top_label" in m.kinds and m.weighted and not m.needs]
    assert {"csr", "accuracy", "expected_calibration_error", "brier_score"} <= {m.name for m in metrics}
    for m in metrics:
        assert quiet(m.function, p)[0] == pytest.approx(quiet(m.function, same)[0], nan_ok=True), m.name


# --- small samples


def test_sml_01_one_class_has_no_auc():
    assert undefined(auc, Profile.from_positive([1, 1, 1], [0.2, 0.6, 0.9])) and undefined(auc, event([1, 1, 1], [0.2, 0.6, 0.9]))
    p = Profile.from_proba([0, 1, 1], [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.5, 0.4, 0.1]])
    with pytest.warns(UndefinedMetricWarning, match="leaves out 1 of 3") as caught:
        assert auc(p) == 1.0
    assert len(caught) == 1


def test_sml_03_one_class_in_a_group():
    r = report(Profile.from_positive([1, 1, 0, 1], [0.7, 0.8, 0.2, 0.6]), by=["a", "a", "b", "b"])
    g = r.groups
    assert g.loc["a", "n"] == 2 and math.isnan(g.loc["a", "auc"]) and "AUC" in g.loc["a", "reason"] and g.loc["a", "accuracy"] == 1 and g.loc["b", "auc"] == 1
    row = json.loads(r.to_json(), parse_constant=pytest.fail)["groups"][0]
    assert row["auc"] is None and row["accuracy"] == 1 and "AUC" in row["reason"]
    assert not re.search(r">\s*nan\s*<", r._repr_html_(), re.I)


def test_sml_05_no_spread_no_p_value():
    sure = Profile.from_confidence([1, 1], [1.0, 1.0])
    assert undefined(risk_probability, sure)
    s = csr_summary(sure)
    assert math.isnan(s.z) and math.isnan(s.p_risk) and s.reason
    with pytest.raises(InputError, match="at least one row"):
        Profile.from_confidence([], [])
    p = Profile.from_confidence([1, 0, 1], [0.9, 0.8, 0.7])
    with pytest.raises(InputError, match="`n_sims`"):
        ecd_test(p, method="bootstrap", n_sims=0)
    for n_sims in (1, 3, 20):
        assert 2 / (1 + n_sims) - 1e-12 <= ecd_test(Profile.from_confidence([0] * 9, [0.99] * 9), method="bootstrap", n_sims=n_sims, random_state=0).p_value <= 1  # never 0 by too few draws


def test_sml_08_the_limit_is_about_the_value_shown():
    plugin, boot = 0.01, [0.02, 0.03, 0.04]
    assert 2 * plugin - max(boot) == pytest.approx(EXPECT["SML-08"]["reflected_low"])  # what a reflected bootstrap interval of ECE does
    rng = np.random.default_rng(0)
    for n in (30, 300):
        conf = rng.uniform(0.5, 1, n)
        p = Profile.from_confidence(rng.random(n) < conf, conf)
        assert ece_upper(p).value == expected_calibration_error(p) <= ece_upper(p).upper
        t = report(p).table.dropna(subset=["low"])
        assert len(t) and (t["low"] <= t["value"]).all() and (t["value"] <= t["high"]).all()
        proportions = t[t.index.isin(["accuracy", "brier_score", "cw_accuracy"])]
        assert len(proportions) and (proportions["low"] >= 0).all() and (proportions["high"] <= 1).all()


def test_sml_08_a_limit_of_ece_within_its_range():
    assert ece_upper(Profile.from_confidence([1, 0], [0.9, 0.9])).upper <= 1


def test_sml_11_a_single_row():
    p = Profile.from_proba([1], [[0.3, 0.7]])
    assert csr(p) == EXPECT["SML-11"]["csr"] and ece(p) == pytest.approx(EXPECT["SML-11"]["ece_top"]) and ece(p, target="classwise") == pytest.approx(0.3)
    assert undefined(auc, p) and undefined(W.mcc, p)
    for call in (lambda: Profile.from_proba([], np.zeros((0, 2))), lambda: Profile.from_positive([], []), lambda: Profile.from_event([], []), lambda: Profile.from_confidence([], []), lambda: Profile.from_logits([], [])):
        with pytest.raises(ValueError, match="at least one row"):
            call()


# --- recalibration


def test_cal_06_constant_scores():
    with pytest.warns(RecalibrationWarning, match="the scores are constant"):
        fit = BetaCalibration().fit([0.0] * 4, [0, 1, 0, 0])
    assert fit.maps_[0].a is None and fit.maps_[0].b is None
    assert fit.predict_proba([0.0, 0.3, 1.0])[:, 1] == pytest.approx(EXPECT["CAL-06"]["base_rate"])
    used, said = quiet(BetaCalibration().fit, [0.0, 1.0, 0.3, 0.4, 0.0, 1.0], [0, 1, 0, 1, 1, 0])
    assert np.isfinite(used.predict_proba([0.0, 1.0])).all() and "4 rows with a probability of exactly 0" in "".join(said)


@pytest.mark.parametrize("make", [Profile.from_proba, Profile.from_positive, Profile.from_event])
def test_cal_08_a_row_of_zeros(make):
    with pytest.raises(InputError, match="got 0 at row 1; the row is all zero"):
        make([0, 1, 1], [[0.9, 0.1], [0.0, 0.0], [0.2, 0.8]])


def test_cal_10_isotonic_outside_its_range():
    with pytest.warns(RecalibrationWarning, match="exactly 0 and 1 of exactly 1: log loss and CSR"):
        fit = IsotonicCalibration().fit([0.2, 0.4, 0.7], [0, 0, 1])
    assert fit.predict_proba([0.05, 0.95])[:, 1].tolist() == EXPECT["CAL-10"]["predict"]


NAMES = ["not ok", "2", "if", ""]
ROWS = [[0.4, 0.3, 0.2, 0.1], [0.1, 0.5, 0.2, 0.2], [0.1, 0.1, 0.7, 0.1], [0.2, 0.1, 0.1, 0.6], [0.5, 0.2, 0.2, 0.1]]


def test_cal_18_any_string_is_a_class_name(tmp_path):
    "In plots, and with markup: test_plots.py and test_report.py, test_any_string_is_a_class_name."
    y = NAMES + ["2"]
    p = Profile.from_proba(y, ROWS, classes=NAMES)
    assert p.classes == tuple(NAMES) and p.correct.tolist() == [True] * 4 + [False]
    assert Profile.from_proba(y, pd.DataFrame(ROWS, columns=NAMES)).classes == tuple(NAMES)
    fit, _ = quiet(TemperatureScaling(classes=NAMES).fit, ROWS, y)
    assert fit.predict(ROWS).tolist() == NAMES + ["not ok"] and quiet(fit.calibrate_profile, p)[0].classes == tuple(NAMES)
    r = report(p, by=y)
    assert json.loads(r.to_json())["classes"] == NAMES and set(r.groups.index) == set(NAMES) and "not ok" in r._repr_html_()
    frame = pd.DataFrame(ROWS, columns=["p1", "p2", "p3", "p4"]).assign(y=y).drop(index=3)
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert profile_from_frame(read_table(tmp_path / "a.csv"), y_true="y", proba=["p1", "p2", "p3", "p4"], classes=NAMES).correct.tolist() == [True] * 3 + [False]


def test_cal_18_the_empty_name_in_a_file(tmp_path):
    pd.DataFrame(ROWS, columns=["p1", "p2", "p3", "p4"]).assign(y=NAMES + ["2"]).to_csv(tmp_path / "a.csv", index=False)
    assert profile_from_frame(read_table(tmp_path / "a.csv"), y_true="y", proba=["p1", "p2", "p3", "p4"], classes=NAMES).n == 5


# --- decisions


def test_sub_01_levels_and_missing_groups():
    p = Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9])
    for by, want in ((pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"]), {"a": 2, "b": 1}), (pd.Categorical(["a", None, "a"], categories=["a", "b"]), {"a": 2, "missing": 1})):
        assert report(p, by=by).groups["n"].to_dict() == want and group_slices(p, by).table["n"].to_dict() == want


def test_thr_01_no_threshold_separates():
    for make in (Profile.from_event, Profile.from_positive):
        found = youden_thresholds(make([1, 0], [0.4, 0.9]))[1]
        assert found.best_j == EXPECT["THR-01"]["best_j"] and found.thresholds == () and found.trivial == ("predict all", "predict none")
        json.dumps(vars(found), allow_nan=False)


def test_sel_01_ties_are_one_point():
    for right in sorted(set(itertools.permutations([1, 0, 1, 0]))):
        c = risk_coverage_curve(Profile.from_confidence(right, [0.9] * 4))
        assert c.coverage.tolist() == [1.0] and c.risk.tolist() == [EXPECT["SEL-01"]["risk_at_full_coverage"]] and "cannot rank" in c.reason


# --- figures, build, site


def pictures():
    "Every saved figure: of the README, and the PNG outputs of the notebooks."
    yield from ((p.name, p.read_bytes()) for p in sorted((ROOT / "nbs" / "images").glob("*.png")))
    for path in sorted((ROOT / "nbs").rglob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                if "image/png" in output.get("data", {}):
                    yield path.stem, b64decode("".join(output["data"]["image/png"]))


def test_plt_04_saved_figures_are_opaque():
    "Of the report and of the plots: test_report.py, test_figures_are_opaque, and test_plots.py, test_ground_is_opaque_when_the_style_is_transparent."
    from PIL import Image

    found = dict(opaque=0, transparent=[])
    for name, png in pictures():
        image = Image.open(io.BytesIO(png))
        if "A" in image.getbands() and image.getchannel("A").getextrema()[0] < 255:
            found["transparent"].append(name)
        found["opaque"] += 1
    assert found["opaque"] > 20 and found["transparent"] == []


def test_nbd_01_ci_exports_again_and_compares():
    "tools/check_export.py fails when the export changes a module; unique default_exp: test_rules.py."
    recipe = re.search(r"^test:.*?\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1]
    assert "tools/check_export.py" in recipe and "nbdev_test" in recipe and "pytest" in recipe
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8") and "make test" in (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    check = (ROOT / "tools" / "check_export.py").read_text(encoding="utf-8")
    assert "nbdev_export" in check and "sys.exit" in check


def global_names(code):
    "Names that functions look up among the globals of their module when they run."
    yield from (i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from global_names(constant)


MODULES = sorted(p.relative_to(ROOT).with_suffix("") for p in (ROOT / "cwcal").rglob("*.py") if p.name not in ("_modidx.py", "__init__.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: ".".join(p.parts[1:]))
def test_nbd_03_every_name_of_a_module_is_exported_with_it(path):
    "The wheel itself runs away from the checkout in test_runner.py, test_the_wheel_carries_the_experiments (slow)."
    module = importlib.import_module(".".join(path.parts))
    code = compile(Path(module.__file__).read_text(encoding="utf-8"), module.__file__, "exec")
    assert [n for n in global_names(code) if not hasattr(module, n) and not hasattr(builtins, n)] == []


def test_nbd_05_windows_paths_survive():
    from papermill.translators import PythonTranslator

    path, scope = "C:\\Users\\u1\\new\\temp", {}
    exec(PythonTranslator.codify(dict(out_dir=path), "p"), scope)  # noqa: S102
    assert scope["out_dir"] == path
    assert "\\" not in (ROOT / "cwcal" / "_modidx.py").read_text(encoding="utf-8")
    for module in MODULES:
        assert all("\\" not in line for line in (ROOT / module.with_suffix(".py")).read_text(encoding="utf-8").splitlines() if line.startswith("# %% "))


def test_nbd_06_the_tools_of_the_site_are_bounded():
    "On the pages themselves: test_docs.py, test_a_metric_page_has_its_parameter_table_and_its_formula (slow)."
    settings = ConfigParser(interpolation=None, delimiters=["="])
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    needs = settings["DEFAULT"]["dev_requirements"].split()
    for name in ("nbdev", "smalldocs", "execnb", "fastcore"):
        need, = (n for n in needs if re.split(r"[<>=~!\[]", n)[0] == name)
        assert "==" in need or "<" in need, need
    test = (ROOT / "tests" / "test_docs.py").read_text(encoding="utf-8")
    assert "def test_a_metric_page_has_its_parameter_table_and_its_formula" in test
    assert "<th[^>]*>parameter</th>" in (ROOT / ".github" / "workflows" / "docs.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("cell, passes", [("assert 1 + 1 == 2", True), ("assert 1 + 1 == 3", False)])
def test_nbd_07_a_failing_cell_fails(tmp_path, monkeypatch, capsys, cell, passes):
    run = pytest.importorskip("nbdev.test", reason="nbdev is not installed (extra dev)").test_nb
    monkeypatch.setenv("IN_TEST", "1")
    monkeypatch.setattr(sys, "path", sys.path[:])
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A\n\n> B"), nbformat.v4.new_code_cell(cell)]), tmp_path / "a.ipynb")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        passed, _ = run(tmp_path / "a.ipynb", basepath=ROOT)
        matplotlib.use("Agg")  # the notebook shell leaves its own backend behind
    assert passed is passes
    value = ece(event([1, 0], [np.float32(0.75), np.float32(0.25)]))
    assert type(value) is float and repr(value) == "0.25"


# --- the register


def here():
    "Ids of the tests of this file."
    return {f"{a.upper()}-{n}" for a, n in re.findall(r"^def test_([a-z]{2,3})_(\d\d)_", Path(__file__).read_text(encoding="utf-8"), re.M)}


@functools.cache
def defined_in(file):
    "Names of the test functions of a file beside this one."
    tree = ast.parse((Path(__file__).parent / file).read_text(encoding="utf-8"))
    return {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_pointers_point_at_tests(case):
    for pointer in ELSEWHERE[case].split():
        file, name = pointer.split("::")
        assert name in defined_in(file), pointer


def test_every_report_is_accounted_for_once(shared):
    cases = {c["id"]: c for c in map(json.loads, (shared / "cases" / "reports.jsonl").read_text(encoding="utf-8").splitlines())}
    places = [here(), set(ELSEWHERE), set(LATER)]
    assert set().union(*places) == set(cases) and sum(map(len, places)) == len(cases)
    expected = {i: c["expect"] for i, c in cases.items() if "expect" in c}
    assert set(EXPECT) == set(expected) and not set(EXPECT) - here()
    for i, values in EXPECT.items():
        assert values.keys() == expected[i].keys() and all(v == pytest.approx(expected[i][k], abs=1e-9) for k, v in values.items()), i
