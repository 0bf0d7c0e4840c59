"""Every argument of every public function, given what it cannot mean: one InputError that names the argument."""

import importlib
import inspect
import pkgutil
import warnings
from functools import partial

import numpy as np
import pytest

from cwcal.decisions.thresholds import ThresholdRule
from cwcal.inputs import InputError
from cwcal.profile import Profile
from cwcal.recalibration.apply import CalibratedModel
from cwcal.recalibration.base import BinaryRecalibrator, Recalibrator
from cwcal.recalibration.temperature import TemperatureScaling
from cwcal.recalibration.venn_abers import VennAbers
from cwcal.reporting.registry import metric

BAD = {
    "text": "a", "None": None, "NaN": float("nan"), "[]": [], "[text]": ["a"], "ragged": [[1, 2], [3]], "True": True, "object": object(), "-1": -1, "1e9": 10**9,
    "[NaN]": [float("nan")], "[None]": [None], "dict": {"a": 1}, "array": np.array([1.0, 2.0]), "table": [[1.0, 2.0], [3.0, 4.0]],
}

rng = np.random.default_rng(0)
N = 30
PROBA = rng.dirichlet([2, 1, 1], N)
Y = np.array([rng.choice(3, p=row) for row in PROBA])
Y2 = (rng.random(N) < PROBA[:, 0]).astype(int)
X = rng.normal(size=(N, 2)) + Y[:, None]
THREE, EVENT = Profile.from_proba(Y, PROBA), Profile.from_event(Y2, PROBA[:, 0])
RULE = ThresholdRule.fit(EVENT, fitted_on="dev")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # few rows
    SCALED, ABERS = TemperatureScaling().fit(PROBA, Y), VennAbers().fit(PROBA, Y)


def axes():
    from matplotlib.figure import Figure

    return Figure().add_subplot()


def classifier(**options):
    from sklearn.tree import DecisionTreeClassifier

    return CalibratedModel(DecisionTreeClassifier(max_depth=2, random_state=0), **options).fit(X, Y)


def fitted(cls, **options):
    return cls(**options).fit(PROBA, Y).predict_proba(PROBA)


# The shortest valid call where `p=THREE` alone is none.
CALLS = {
    "profile.from_proba": dict(y_true=Y, proba=PROBA),
    "profile.from_positive": dict(y_true=Y2, p_pos=PROBA[:, 0]),
    "profile.from_event": dict(y_true=Y2, p_event=PROBA[:, 0]),
    "profile.from_logits": dict(y_true=Y, logits=np.log(PROBA)),
    "metrics.binned.bin_outcomes": dict(x=THREE.conf, outcome=THREE.correct),
    "metrics.binned.binomial_interval": dict(rate=[0.5], n=[10]),
    "metrics.csr.ece_blind_profile": dict(n=40, csr_above=2.0),
    "metrics.isotonic.isotonic_fit": dict(x=THREE.conf, y=THREE.correct),
    "metrics.ranking.precision_recall_curve": dict(label=0),
    "metrics.roc.cw_roc_curve": dict(label=0),
    "metrics.roc.roc_curve": dict(label=0),
    "metrics.tce.binomial_p_values": dict(k=[2, 3, 4], n=[10, 10, 10], prob=[0.2, 0.3, 0.4]),
    "recalibration.apply.recalibrate": dict(fit=THREE, test=THREE, calibrator=TemperatureScaling(), fit_source=["s"] * N, test_source=["s"] * N),
    "recalibration.apply.cross_recalibrate": dict(calibrator=TemperatureScaling(), cv=2),
    "recalibration.apply.align_columns": dict(scores=PROBA, known=[0, 1, 2], classes=[0, 1, 2, 3]),
    "recalibration.base.profile_scores": dict(input="probabilities"),
    "recalibration.base.read_scores": dict(scores=PROBA, input="probabilities"),
    "recalibration.base.with_calibrated": dict(proba=PROBA),
    "decisions.costs.expected_cost_curve": dict(p=EVENT),
    "decisions.costs.net_benefit_curve": dict(p=EVENT),
    "decisions.gate.gate": dict(max_csr_upper=3.0),
    "decisions.multilabel.multilabel_profiles": dict(y_true=[[0, 1], [1, 0], [1, 1]], scores=[[0.2, 0.7], [0.4, 0.8], [0.3, 0.1]]),
    "decisions.selective.coverage_at_risk": dict(max_risk=0.3),
    "decisions.slices.group_slices": dict(by=Y),
    "decisions.slices.holm": dict(p_values=[0.1, 0.2]),
    "decisions.slices.slice_table": dict(by=Y),
    "decisions.thresholds.cost_threshold": dict(c_fp=1.0, c_fn=2.0),
    "decisions.thresholds.youden_thresholds": dict(p=EVENT),
    "reporting.compare.compare": dict(profiles={"a": THREE, "b": THREE}),
    "reporting.plots.plot_confidence": dict(ax=axes()),
    "reporting.plots.plot_csr_terms": dict(ax=axes()),
    "reporting.plots.plot_reliability": dict(ax=axes()),
    "reporting.plots.plot_roc": dict(ax=axes()),
    "reporting.registry.compute": dict(m=metric("csr")),
    "reporting.registry.compute_interval": dict(m=metric("accuracy"), value=0.5),
    "reporting.registry.metric": dict(name="csr"),
    "reporting.registry.why_not": dict(m=metric("csr")),
}
MORE = {  # methods, and functions called in a second way
    "from_confidence(conf)": (lambda correct, conf, sample_weight=None: Profile.from_confidence(correct, conf, sample_weight=sample_weight), dict(correct=THREE.correct, conf=THREE.conf)),
    "from_confidence(error_prob)": (lambda error_prob=None: Profile.from_confidence(THREE.correct, error_prob=error_prob), dict(error_prob=THREE.error_prob)),
    "Profile.sum": (THREE.sum, dict(x=THREE.conf)),
    "Profile.mean": (THREE.mean, dict(x=THREE.conf)),
    "Profile.scores": (THREE.scores, dict(k=0)),
    "Profile.subset": (THREE.subset, dict(rows=[0, 1])),
    "ThresholdRule.fit": (ThresholdRule.fit, dict(p=EVENT, fitted_on="dev", rule="cost", costs=(1, 2))),
    "ThresholdRule.decide": (RULE.decide, dict(scores=[0.2, 0.3])),
    "ThresholdRule.apply": (RULE.apply, dict(p=EVENT)),
    "ThresholdRule.adjusted": (RULE.adjusted, dict(thresholds={1: 0.5}, reason="costs")),
    "ThresholdRule.from_dict": (ThresholdRule.from_dict, dict(d=RULE.to_dict())),
    "ClassThreshold.decide": (RULE.classes[0].decide, dict(scores=[0.2, 0.3])),
    "Recalibrator.fit": (TemperatureScaling().fit, dict(scores=PROBA, y=Y)),
    "Recalibrator.fit_profile": (TemperatureScaling().fit_profile, dict(p=THREE)),
    "Recalibrator.calibrate_profile": (SCALED.calibrate_profile, dict(p=THREE)),
    "Recalibrator.predict": (SCALED.predict, dict(scores=PROBA)),
    "Recalibrator.predict_proba": (SCALED.predict_proba, dict(scores=PROBA)),
    "Recalibrator.score": (SCALED.score, dict(scores=PROBA, y=Y)),
    "VennAbers.predict_interval": (ABERS.predict_interval, dict(scores=PROBA)),
    "CalibratedModel": (lambda calibrator=None, cv=None, random_state=0: classifier(calibrator=calibrator, cv=cv, random_state=random_state), dict(cv=2)),
}

LEFT_OUT = {
    "profile.from_confidence": "takes one of two arguments: below, in two ways",
    "profile.check_profile": "the check itself: its other arguments are written by the metric",
    "decisions.slices.risk_level": "takes a result of this library",
    "decisions.slices.cells": "takes a result of this library",
    "decisions.slices.shown_table": "takes a result of this library",
    "recalibration.base.Recalibrator": "the base of the maps",
    "recalibration.base.BinaryRecalibrator": "the base of the maps",
}
MODULES_LEFT_OUT = {
    "cwcal.cli": "typer checks",
    "cwcal.compiled": "a decorator for modules",
    "cwcal.inputs": "the checks themselves",
    "cwcal.reporting.files": "its errors name the column of the file, not the argument",
    "cwcal.reporting.html": "takes results of this library",
}

# What an argument may be all the same, by function ("*": in any) and argument.
ACCEPTED = {
    ("*", "label"): {"True"},  # booleans are labels: True is 1
    ("*", "pos_label"): {"True"},
    ("*", "average"): {"None"},  # one value a class
    ("metrics.weighted.cw_metrics", "average"): set(),
    ("*", "title"): {"text"}, ("*", "decision"): {"text"}, ("*", "evaluated_on"): {"text"}, ("*", "fitted_on"): {"text"}, ("*", "reason"): {"text"},
    ("ThresholdRule.apply", "name"): {"text"},
    ("reporting.card.model_card", "thresholds"): {"text"},  # says that none is used
    ("reporting.card.model_card", "calibration"): {"text"},
    # no upper limit
    ("*", "min_size"): {"1e9"}, ("*", "n_anchors"): {"1e9"}, ("*", "bandwidth"): {"1e9"}, ("*", "n_max"): {"1e9"}, ("*", "margin"): {"1e9"}, ("*", "l2"): {"1e9"}, ("*", "odir"): {"1e9"}, ("*", "mu"): {"1e9"},
    ("*", "max_csr_upper"): {"1e9"}, ("*", "max_ece_upper"): {"1e9"}, ("metrics.csr.ece_blind_profile", "n_bins"): {"1e9"},
    ("decisions.thresholds.cost_threshold", "c_fp"): {"1e9"}, ("decisions.thresholds.cost_threshold", "c_fn"): {"1e9"},
    ("metrics.ecd.ecd_test", "n_sims"): {"1e9"}, ("*", "n_draws"): {"1e9"},  # the default method draws nothing
    ("*", "random_state"): {"1e9"},
    ("recalibration.apply.cross_recalibrate", "random_state"): {"1e9", "None"}, ("CalibratedModel", "random_state"): {"1e9", "None"},
    # a number of any size, or a list of numbers
    ("*", "csr_above"): {"1e9", "-1"},
    ("reporting.registry.compute_interval", "value"): {"1e9", "-1", "NaN"},  # the metric's value, undefined or not
    ("recalibration.apply.align_columns", "absent"): {"1e9", "-1", "NaN"},
    ("decisions.costs.expected_cost_curve", "c_fp"): {"1e9", "array"}, ("decisions.costs.expected_cost_curve", "c_fn"): {"1e9"},
    ("metrics.binned.binomial_interval", "rate"): {"NaN", "[]", "[NaN]"},  # where there are no trials
    ("metrics.binned.binomial_interval", "n"): {"[]", "1e9", "array", "table"},
    ("decisions.slices.holm", "p_values"): {"[]"},  # no test, no p-value
    ("ThresholdRule.decide", "scores"): {"[]"}, ("ClassThreshold.decide", "scores"): {"[]"},  # no row, no decision
    ("*", "bounds"): {"array"},
    ("decisions.multilabel.multilabel_profiles", "labels"): {"array"},  # the names 1 and 2
}
NOT_TRIED = {  # a size: refused by the memory alone
    ("metrics.csr.oracle_profile", "n"): {"1e9"}, ("metrics.csr.flat_profile", "n"): {"1e9"}, ("metrics.csr.ece_blind_profile", "n"): {"1e9"},
    ("metrics.tcal.t_cal_test", "n_sims"): {"1e9"}, ("metrics.tce.binomial_p_values", "n"): {"1e9"},
    ("recalibration.base.with_calibrated", "notes"): set(BAD),  # written by the maps
}
# Two arguments that do not go together, where the error names the other one.
OTHER = {
    ("profile.from_positive", "classes", "array"): "y_true", ("profile.from_event", "classes", "array"): "y_true",  # classes 1 and 2, labels 0 and 1
    ("metrics.tce.tce", "n_min", "1e9"): "n_max", ("metrics.tce.tce_bins", "n_min", "1e9"): "n_max",
    ("metrics.tce.binomial_p_values", "n", "[]"): "k", ("metrics.tce.binomial_p_values", "n", "array"): "k", ("metrics.tce.binomial_p_values", "prob", "[]"): "k",
    ("metrics.tce.binomial_p_values", "n", "table"): "k",
    ("decisions.costs.expected_cost_curve", "c_fn", "array"): "c_fp",
    **{("recalibration.apply.align_columns", name, bad): "known" for name, bads in (("scores", ("[]", "[NaN]", "array", "table")), ("classes", ("[]", "[text]", "array"))) for bad in bads},
}


def public():
    "(name, function, valid call) of every public callable that takes arguments, and of the methods above."
    found = {}
    for package in ("cwcal", "cwcal.metrics", "cwcal.recalibration", "cwcal.decisions", "cwcal.reporting"):
        for info in pkgutil.iter_modules(importlib.import_module(package).__path__):
            path = f"{package}.{info.name}"
            if info.ispkg or path in MODULES_LEFT_OUT or info.name.startswith("_"):
                continue
            module = importlib.import_module(path)
            for name in module.__all__:
                f, key = getattr(module, name), f"{path.removeprefix('cwcal.')}.{name}"
                if inspect.isclass(f) and issubclass(f, Recalibrator) and f not in (Recalibrator, BinaryRecalibrator):
                    found[key] = (partial(fitted, f), {}, inspect.signature(f).parameters)
                elif callable(f) and not inspect.isclass(f) and key not in LEFT_OUT:
                    found[key] = (f, CALLS.get(key, {}), inspect.signature(f).parameters)
    for key, (f, call) in MORE.items():
        found[key] = (f, call, inspect.signature(f).parameters)
    for key, (f, call, parameters) in found.items():
        found[key] = (f, {"p": THREE, **call} if "p" in parameters else call, parameters)
    return found


PUBLIC = public()


def attempt(f, call):
    "What a call ends in: None or the error."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of the library's own; what numpy warns about is an error
        try:
            f(**call)
        except Exception as e:
            return e


def listed(table, key, name):
    return table.get((key, name), table.get(("*", name), set()))


def trials(parameters):
    for name, parameter in parameters.items():
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            for bad, value in BAD.items():
                if not (value is None and parameter.default is None or value is True and isinstance(parameter.default, bool)):
                    yield name, bad, value


@pytest.mark.parametrize("key", PUBLIC)
def test_one_error_names_the_argument(key):
    f, call, parameters = PUBLIC[key]
    assert attempt(f, call) is None, "the call itself must be valid"
    wrong = []
    for name, bad, value in trials(parameters):
        if bad in NOT_TRIED.get((key, name), ()):
            continue
        error = attempt(f, {**call, name: value})
        if bad in listed(ACCEPTED, key, name):
            fine = error is None
        else:
            expected = OTHER.get((key, name, bad), "profile" if name in ("p", "fit", "test") else name)
            fine = isinstance(error, InputError) and (error.argument == expected or f"as many rows as `{name}`" in str(error)) and (len(str(error)) < 600)
        if not fine:
            wrong.append(f"{name}={bad}: {type(error).__name__}: {error}" + (f" (argument {error.argument!r})" if isinstance(error, InputError) else ""))
    assert not wrong, "\n".join(wrong)


def test_the_lists_of_exceptions_name_what_exists():
    for key, name in [*ACCEPTED, *NOT_TRIED, *((key, name) for key, name, _ in OTHER)]:
        assert any(name in parameters for k, (_, _, parameters) in PUBLIC.items() if key in ("*", k)), (key, name)
    modules = {key.rpartition(".")[0] for key in LEFT_OUT}
    assert all(hasattr(importlib.import_module(f"cwcal.{m}"), key.rpartition(".")[2]) for m in modules for key in LEFT_OUT if key.startswith(m + "."))
    assert set(CALLS) <= set(PUBLIC)
