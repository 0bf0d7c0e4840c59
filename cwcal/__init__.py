"""Can a classifier's confidences be trusted? Build a `Profile`, then ask it."""

__version__ = "0.1.0"

from typing import TYPE_CHECKING

from cwcal.decisions.costs import expected_cost_curve, net_benefit_curve
from cwcal.decisions.gate import csr_upper, ece_upper, gate
from cwcal.decisions.multilabel import multilabel_profiles
from cwcal.decisions.selective import aurc, coverage_at_risk, excess_aurc, risk_coverage_curve, risk_coverage_table
from cwcal.decisions.slices import class_slices, group_slices, score_slices, slice_table
from cwcal.decisions.thresholds import ThresholdRule, cost_threshold, youden_thresholds
from cwcal.inputs import InputError, InputTypeError, InputWarning, PrecisionWarning, UndefinedMetricWarning
from cwcal.metrics.adaptive import ad_ece, debiased_ece, sweep_ece
from cwcal.metrics.binned import bin_outcomes, ece, expected_calibration_error, merging_profile, reliability_table, two_group_profile
from cwcal.metrics.cox import cox_calibration, ici, ici_summary
from cwcal.metrics.csr import csr, csr_lower_bound, csr_sigma, csr_summary, csr_zscore, ece_blind_profile, flat_profile, oracle_profile, risk_probability
from cwcal.metrics.cumulative import ecce_curve, ecce_mad, ecce_r, ecce_test
from cwcal.metrics.cwsa import cwsa, cwsa_plus
from cwcal.metrics.ecd import ecd, ecd_test
from cwcal.metrics.eci import eci
from cwcal.metrics.isotonic_distance import isotonic_distance
from cwcal.metrics.onepass import one_pass
from cwcal.metrics.ranking import average_precision, cw_average_precision, enrichment_factor, precision_recall_curve
from cwcal.metrics.roc import auc, auc_gain, auc_se, cw_auc, cw_roc_curve, roc_curve
from cwcal.metrics.scores import brier_score, corp_decomposition, log_loss, mean_entropy, murphy_decomposition, sharpness, spiegelhalter_test
from cwcal.metrics.smooth import smooth_ece, smooth_ece_bandwidth
from cwcal.metrics.smooth_logit import logit_smoothed_ece
from cwcal.metrics.tcal import t_cal_statistic, t_cal_test
from cwcal.metrics.tce import tce, tce_bins
from cwcal.metrics.weighted import (
    accuracy, balanced_accuracy, confusion, cw_accuracy, cw_accuracy_se, cw_balanced_accuracy, cw_confusion, cw_f1, cw_gain, cw_jaccard, cw_mcc, cw_metrics, cw_npv, cw_precision,
    cw_recall, cw_specificity, f1, jaccard, mcc, npv, precision, recall, specificity,
)
from cwcal.profile import Profile

if TYPE_CHECKING:
    from cwcal.reporting.card import model_card
    from cwcal.reporting.compare import compare
    from cwcal.reporting.plots import plot_confidence, plot_csr_terms, plot_reliability, plot_roc
    from cwcal.reporting.registry import METRICS, metric
    from cwcal.reporting.report import report

_LATER = {"report": "report", "compare": "compare", "model_card": "card", "METRICS": "registry", "metric": "registry",
          **dict.fromkeys(("plot_confidence", "plot_csr_terms", "plot_reliability", "plot_roc"), "plots")}  # loaded when first asked for

__all__ = sorted([name for name, value in globals().items() if not name.startswith("_") and getattr(value, "__module__", "").startswith("cwcal.")] + list(_LATER))


def __getattr__(name):
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(f"cwcal.reporting.{_LATER[name]}"), name)
    raise AttributeError(f"module 'cwcal' has no attribute {name!r}")


def __dir__():
    return __all__
