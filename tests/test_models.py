"""Models, their search and their calibration."""
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from cwcal.inputs import InputError, InputWarning
from cwcal.lab import calibrate, models, search as search_module
from cwcal.lab.calibrate import Calibrator, fit_calibrator, fit_isotonic, fit_platt
from cwcal.lab.models import SETTINGS, USUAL, Settings, TrainingRows, class_weights, cross_validate, encode_features, fit, load_model, margins, probabilities, settings_name, xgboost_parameters
from cwcal.lab.search import search, search_space, usual_parameters
from cwcal.profile import Profile
from tests.naive import calibrate as naive

QUICK = Settings(n_trials=2, n_folds=3, max_rounds=25)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5)).astype(np.float32)
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(0, 0.7, 240) > 0.5).astype(int)
    return TrainingRows(X, y, 2)


# Settings and features


@pytest.mark.parametrize("bad", [dict(n_trials=-1), dict(n_folds=1), dict(max_rounds=0), dict(patience=1.5), dict(max_rows=True), dict(max_bin=1), dict(max_colsample=1.1), dict(class_weight="x"), dict(class_weight=1.5), dict(class_weight=True), dict(class_weight=float("nan")), dict(objective="brier"), dict(device="gpu"), dict(device="cuda:"), dict(device="cuda:x"), dict(device=0), dict(device=None)])
def test_settings_name_what_is_wrong(bad):
    with pytest.raises(InputError) as caught:
        Settings(**bad)
    assert caught.value.argument == next(iter(bad))


def test_paper_settings_are_those_of_appendix_a4():
    p = SETTINGS["paper"]
    assert (p.n_trials, p.n_folds, p.max_rounds, p.patience, p.max_rows) == (60, 5, 2000, 30, 0)


def test_a_name_is_given_to_its_settings_alone():
    assert [settings_name(s) for k, s in SETTINGS.items() if "images" not in k] == ["smoke", "standard", "quick", "usual", "paper"]
    assert settings_name(SETTINGS["standard_images"], "cifar10") == "standard" and settings_name(SETTINGS["standard"], "cifar10") == "custom"
    assert settings_name(SETTINGS["quick_images"], "mnist") == "quick" and settings_name(SETTINGS["quick_images"], "wine") == "custom"
    assert settings_name(replace(Settings(), device="cuda")) == "paper" and settings_name(replace(Settings(), patience=31)) == "custom"
    assert settings_name(replace(Settings(), class_weight="search")) == "paper-search"
    assert settings_name(replace(SETTINGS["usual"], class_weight=0.25, objective="auc")) == "usual-power0.25-auc"


def test_a_weight_given_as_a_power_is_that_weight(rows):
    given = [cross_validate(rows, USUAL, replace(QUICK, class_weight=w))["log_loss"] for w in ("none", 0.0, "balanced", 1, 0.5)]
    assert given[0] == given[1] and given[2] == given[3] and given[4] not in (given[0], given[2])


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=list(SETTINGS))
def test_trial_zero_lies_in_the_search_space(settings):
    for s in (settings, replace(settings, class_weight="search")):
        space, usual = search_space(s), usual_parameters(s)
        assert set(space) == set(usual) and all(low <= usual[k] <= high for k, (low, high, _) in space.items())
        assert space["colsample_bytree"][1] <= s.max_colsample


@pytest.mark.parametrize("kind", [object, "category", "string"])
def test_levels_come_from_training_alone(kind):
    train = pd.DataFrame({"c": pd.Series(["b", "a", None, "b"], dtype=kind), "x": pd.array([1, None, 3, 4], dtype="Int64"), "f": [True, False, True, True]})
    X, kinds, levels = encode_features(train)
    assert kinds == ["c", "q", "q"] and levels == {"c": ["a", "b"]} and X.dtype == np.float32
    assert np.array_equal(X, [[1, 1, 1], [0, np.nan, 0], [np.nan, 3, 1], [1, 4, 1]], equal_nan=True)
    later = encode_features(train.assign(c=pd.Series(["z", "a", None, "b"], dtype=kind)), levels)[0]
    assert np.array_equal(later[:, 0], [np.nan, 0, np.nan, 1], equal_nan=True)


def test_what_a_column_is_the_training_rows_decide():
    _, kinds, levels = encode_features(pd.DataFrame({"at": ["1", "smith", "2"]}))
    later, later_kinds, _ = encode_features(pd.DataFrame({"at": [2, 1, 3]}), levels)  # all numbers now, categories still
    assert kinds == later_kinds == ["c"] and np.array_equal(later[:, 0], [1, 0, np.nan], equal_nan=True)
    with pytest.raises(InputError, match="`levels` has no column 'at'"):
        encode_features(pd.DataFrame({"at": ["x"]}), encode_features(pd.DataFrame({"at": [1.0]}))[2])


@pytest.mark.parametrize("first", [["1", "2", "10"], [1, 2, 10], [1.0, 2.0, 10.0], pd.Categorical([1, 2, 10]), pd.Categorical([1.0, 2.0, 10.0])], ids=["text", "whole", "float", "categories", "float categories"])
@pytest.mark.parametrize("later", [["10", "2", "7"], [10, 2, 7], [10.0, 2.0, 7.5], pd.Categorical([10.0, 2.0, None])], ids=["text", "whole", "float", "float categories"])
def test_a_level_is_the_same_as_text_and_as_a_number(first, later):
    learned = encode_features(pd.DataFrame({"c": pd.Series(first, dtype=None if isinstance(first, pd.Categorical) else object)}))[2]
    assert learned == {"c": ["1", "10", "2"]}
    assert np.array_equal(encode_features(pd.DataFrame({"c": later}), learned)[0][:, 0], [1, 2, np.nan], equal_nan=True)


def test_levels_written_with_a_point_are_met_by_numbers_too():
    levels = encode_features(pd.DataFrame({"c": ["1.0", "2.0"]}))[2]
    assert levels == {"c": ["1.0", "2.0"]} and encode_features(pd.DataFrame({"c": [2.0, 1.0]}), levels)[0][:, 0].tolist() == [1, 0]


@pytest.mark.parametrize(("frame", "words"), [
    (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' more than once"), (pd.DataFrame({"z": [1j, 2]}), "complex ones in column 'z'"), (pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.inf]}), "column 'b', got inf at row 1"),
    (pd.DataFrame({"b": [-1e39]}), "column 'b', got -1e+39 at row 0"), (np.zeros((3, 2)), "DataFrame, got ndarray"), (None, "DataFrame, got NoneType"), (pd.Series([1.0]), "DataFrame, got Series")])
def test_features_that_no_tree_takes_are_refused_by_column(frame, words):
    with pytest.raises(InputError) as caught:
        encode_features(frame)
    assert words in str(caught.value) and caught.value.argument == "X"


@pytest.mark.parametrize(("argument", "bad"), [("y", [0, 1, 2]), ("y", [0, -1, 1]), ("y", [0, 0.5, 1]), ("y", [0, np.nan, 1]), ("y", ["a", "b", "a"]), ("X", np.zeros((2, 2))), ("X", np.zeros(3)), ("X", [[0.0]] * 3), ("X", np.full((3, 2), "a")),
                                               ("n_classes", 1), ("n_classes", 2.0), ("kinds", ("q",)), ("kinds", ("q", "x"))])
def test_training_rows_fit_together(argument, bad):
    good = dict(X=np.zeros((3, 2), np.float32), y=np.array([0, 1, 1]), n_classes=2, kinds=("q", "c"))
    assert len(TrainingRows(**good).y) == 3
    with pytest.raises(InputError) as caught:
        TrainingRows(**{**good, argument: bad})
    assert caught.value.argument == argument


@pytest.mark.parametrize(("argument", "arguments"), [("y", ([0, 2], 2, 1.0)), ("y", ([0, -1], 2, 1.0)), ("y", ([], 2, 1.0)), ("power", ([0, 1], 2, float("nan"))), ("power", ([0, 1], 2, "1")), ("n_classes", ([0, 1], 0, 1.0))])
def test_class_weights_name_what_is_wrong(argument, arguments):
    with pytest.raises(InputError) as caught:
        class_weights(*arguments)
    assert caught.value.argument == argument


@pytest.mark.parametrize(("name", "bad"), [("eta", 0), ("eta", -0.1), ("eta", 1.1), ("eta", float("nan")), ("eta", "0.1"), ("max_depth", -1), ("max_depth", 2.5), ("min_child_weight", -1), ("gamma", float("inf")), ("subsample", 0), ("subsample", 1.5),
                                           ("colsample_bytree", 0), ("reg_lambda", -1), ("reg_alpha", None), ("class_weight_power", 2)])
def test_parameters_have_a_meaning(rows, name, bad):
    for call in (lambda: xgboost_parameters({**USUAL, name: bad}, 2, QUICK, 0), lambda: cross_validate(rows, {**USUAL, name: bad}, QUICK), lambda: fit(rows, {**USUAL, name: bad}, 1, QUICK)):
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.argument == name


def test_a_misspelt_parameter_is_named(rows):
    for parameters, words in (({"etaa": 0.1}, "got 'etaa'"), ([("eta", 0.1)], "must be a dict")):
        for call in (lambda: cross_validate(rows, parameters, QUICK), lambda: fit(rows, parameters, 1, QUICK)):
            with pytest.raises(InputError, match=words) as caught:
                call()
            assert caught.value.argument == "parameters"


@pytest.mark.parametrize(("argument", "bad"), [("n_rounds", 0), ("n_rounds", -1), ("n_rounds", 1.0), ("chunk", 0), ("chunk", -1), ("n_jobs", 0), ("seed", -1), ("seed", None)])
def test_fit_names_what_is_wrong(rows, argument, bad):
    with pytest.raises(InputError) as caught:
        fit(rows, USUAL, **{"n_rounds": 2, "settings": QUICK, argument: bad})
    assert caught.value.argument == argument


def test_more_folds_than_rows(rows):
    few = TrainingRows(rows.X[:4], np.array([0, 1, 0, 1]), 2)
    assert len(models._folds(few, replace(QUICK, n_folds=4), 0)) == 4
    with pytest.raises(InputError, match="at most the number of training rows, 4, got 5"):
        cross_validate(few, USUAL, replace(QUICK, n_folds=5))


def test_a_model_that_is_not_there(tmp_path):
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(InputError, match="cannot be read") as caught:
            load_model(path)
        assert caught.value.argument == "path"


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_class_weights_average_one_and_balance(power):
    y = np.array([0] * 90 + [1] * 9 + [2])
    w = class_weights(y, 3, power)
    assert np.isclose(w.mean(), 1.0) and np.isclose(w[-1] / w[0], 90.0**power)
    if power == 1:
        assert np.allclose(np.bincount(y, w), 100 / 3)


def test_probabilities_keep_what_float32_loses():
    m = np.array([-40.0, -17.0, 0.0, 17.0, 40.0], np.float32)
    p = probabilities(m)
    for k, sign in ((0, -1), (1, 1)):
        assert np.allclose(p[:, k], [1 / (1 + math.exp(-sign * float(v))) for v in m], rtol=1e-14, atol=0)
    assert Profile.from_proba([1] * 5, p).error_prob[-1] == pytest.approx(math.exp(-40), rel=1e-12)
    assert np.float32(1) - (1 / (1 + np.exp(-m))).astype(np.float32)[-2] == 0  # what float32 probabilities make of 4e-8
    k3 = probabilities(np.array([[30.0, 0.0, 1.0]], np.float32))
    assert Profile.from_proba([0], k3).error_prob[0] == pytest.approx((1 + math.e) * math.exp(-30), rel=1e-9)


# Search and fit


@pytest.mark.parametrize("how", ["exception", "killed"])
def test_an_interrupted_search_ends_where_an_uninterrupted_one_does(rows, tmp_path, monkeypatch, how):
    settings = replace(QUICK, n_trials=4)
    whole = search(rows, settings)
    calls = []

    def interrupted(*a, **k):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return cross_validate(*a, **k)

    monkeypatch.setattr(search_module, "cross_validate", interrupted)
    if how == "killed":  # a killed process tells the study nothing
        import optuna

        monkeypatch.setattr(optuna.Study, "tell", lambda self, trial, values=None, state=None, _tell=optuna.Study.tell: None if state is not None else _tell(self, trial, values))
    with pytest.raises(KeyboardInterrupt):
        search(rows, settings, path=tmp_path / "study.db")
    monkeypatch.undo()
    resumed = search(rows, settings, path=tmp_path / "study.db")
    assert resumed.n_resumed == 2 and (resumed.parameters, resumed.n_rounds, resumed.value) == (whole.parameters, whole.n_rounds, whole.value)
    pd.testing.assert_frame_equal(resumed.trials, whole.trials)
    assert search(rows, settings, path=tmp_path / "study.db").n_resumed == 4


@pytest.mark.parametrize("damage", ["garbage", "middle"])
def test_a_damaged_study_is_set_aside_and_made_again(rows, tmp_path, damage):
    path, one = tmp_path / "study.db", replace(QUICK, n_trials=1, max_rounds=5)
    first = search(rows, one, path=path)
    good = path.read_bytes()
    bad = b"garbage" * 100 if damage == "garbage" else good[:4096] + b"\xff" * (len(good) - 4096)
    path.write_bytes(bad)
    with pytest.warns(InputWarning, match="study.db is damaged") as caught:
        again = search(rows, one, path=path)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert again.n_resumed == 0 and again.parameters == first.parameters and (tmp_path / "study.db.damaged").read_bytes() == bad
    assert search(rows, one, path=path).n_resumed == 1  # no second warning


def test_another_search_in_the_same_file_is_another_study(rows, tmp_path):
    one = replace(QUICK, n_trials=1)
    assert [search(rows, one, seed=seed, path=tmp_path / "s.db").n_resumed for seed in (0, 0, 1)] == [0, 1, 0]
    names = {search_module._study_name(*what) for what in ((rows, one, 0), (rows, one, 1), (rows, replace(one, max_rounds=20), 0), (TrainingRows(rows.X[1:], rows.y[1:], 2), one, 0), (TrainingRows(rows.X, 1 - rows.y, 2), one, 0))}
    assert len(names) == 5 and search_module._study_name(rows, replace(one, n_trials=9, device="cuda"), 0) in names  # more trials go on from fewer


def test_cross_validation_judges_held_out_rows(rows):
    found = cross_validate(rows, USUAL, QUICK)
    assert found["value"] == pytest.approx(np.mean(found["log_loss"])) and len(found["rounds"]) == 3 and max(found["rounds"]) <= 25
    by_auc, by_accuracy = (cross_validate(rows, USUAL, replace(QUICK, objective=o)) for o in ("auc", "accuracy"))
    assert by_accuracy["value"] == pytest.approx(1 - np.mean(found["accuracy"])) and 0 < by_auc["value"] < 0.5


def test_a_class_rarer_than_the_folds_is_dealt_out(rows):
    y = rows.y.copy()
    y[:2] = 2
    folds = models._folds(TrainingRows(rows.X, y, 3), Settings(), 0)
    assert np.array_equal(np.sort(np.concatenate([h for _, h in folds])), np.arange(len(y)))
    assert all(len(np.intersect1d(t, h)) == 0 for t, h in folds) and sum((y[h] == 2).any() for _, h in folds) == 2


@pytest.mark.parametrize("classes", [2, 3])
def test_an_interrupted_fit_goes_on_to_the_same_model(rows, tmp_path, monkeypatch, classes):
    import xgboost

    data = TrainingRows(rows.X, (np.digitize(rows.X[:, 0], [-0.5, 0.5]) if classes == 3 else rows.y), classes)
    whole = margins(fit(data, USUAL, 25, QUICK, chunk=10), data.X)
    real_train, calls = xgboost.train, []

    def stops(*a, **k):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real_train(*a, **k)

    path = tmp_path / "m.model"
    monkeypatch.setattr(xgboost, "train", stops)
    with pytest.raises(KeyboardInterrupt):
        fit(data, USUAL, 25, QUICK, chunk=10, path=path)
    calls[:] = [1] * 10
    resumed = fit(data, USUAL, 25, QUICK, chunk=10, path=path)
    assert len(calls) == 11 and np.array_equal(margins(resumed, data.X), whole)  # one sitting was left
    calls.clear()
    assert np.array_equal(margins(fit(data, USUAL, 25, QUICK, chunk=10, path=path), data.X), whole) and not calls
    for damage in (b"", path.read_bytes()[:1000], b"\x00" * 4000):
        path.write_bytes(damage)
        monkeypatch.setattr(xgboost, "train", real_train)
        assert np.array_equal(margins(fit(data, USUAL, 25, QUICK, chunk=10, path=path), data.X), whole)
    assert not np.array_equal(margins(fit(data, USUAL, 25, QUICK, seed=1, chunk=10, path=path), data.X), whole)
    assert not list(tmp_path.glob(".*.tmp"))


# Calibration


@pytest.mark.parametrize("seed", range(20))
def test_isotonic_equals_the_naive_twin(seed):
    rng = np.random.default_rng(seed)
    s = rng.choice([0.0, 0.1, 0.25, 0.3, 0.5, 0.77, 1.0, *rng.random(6)], 40)
    y = rng.random(40) < s
    slow, fast = naive.isotonic(s.tolist(), y.tolist()), fit_isotonic(s, y)
    at = np.r_[0.0, 1.0, s, rng.random(20)]
    assert np.allclose(fast(at), [naive.interpolate(slow, v) for v in at], atol=1e-12)
    assert np.allclose(fast.complement(at), 1 - fast(at), atol=1e-15)


@pytest.mark.parametrize("seed", range(10))
def test_platt_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    s = rng.beta(0.5, 0.5, 60)
    y = rng.random(60) < s if seed else s > 0.5  # separable: the targets keep it finite
    ours = fit_platt(s, y)
    best = minimize(lambda t: naive.platt_loss(t[0], t[1], s.tolist(), y.tolist()), [0.0, 0.0], method="Nelder-Mead", options=dict(xatol=1e-9, fatol=1e-12, maxiter=4000))
    assert naive.platt_loss(ours.a, ours.b, s.tolist(), y.tolist()) <= best.fun + 1e-9
    assert np.allclose([ours.a, ours.b], best.x, atol=1e-3)
    assert np.allclose(ours(s) + ours.complement(s), 1.0, atol=1e-15)


def _sklearn(p, y, method):
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Given(ClassifierMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.classes_ = np.arange(X.shape[1])
            return self

        def predict_proba(self, X):
            return X

        def predict(self, X):
            return X.argmax(axis=1)

    return CalibratedClassifierCV(FrozenEstimator(Given().fit(p)), method=method, ensemble=False).fit(p, y)


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize(("method", "theirs", "tolerance"), [("isotonic", "isotonic", 1e-12), ("platt", "sigmoid", 2e-4)])
def test_calibration_equals_scikit_learn(k, method, theirs, tolerance):
    rng = np.random.default_rng(k)
    p = rng.dirichlet([0.6] * k, 900)
    y = (p.cumsum(axis=1) > rng.random((900, 1))).argmax(axis=1)
    p = p**1.7 / (p**1.7).sum(axis=1, keepdims=True)  # overconfident
    expected = _sklearn(p[:400], y[:400], theirs).predict_proba(p[400:])
    ours = fit_calibrator(p[:400], y[:400], method)(p[400:])
    assert np.abs(ours - expected).max() < tolerance
    assert np.allclose(ours.sum(axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("method", ["isotonic", "platt"])
def test_one_vs_rest_equals_the_naive_twin(method):
    rng = np.random.default_rng(4)
    p = rng.dirichlet([0.3] * 3, 300)
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    c = fit_calibrator(p, y, method)
    assert np.allclose(c(p), naive.one_vs_rest(p.tolist(), [lambda s, m=m: float(m(s)) for m in c.maps]), atol=1e-14)


def test_a_row_whose_maps_are_all_zero_becomes_uniform():
    step = calibrate.IsotonicMap(np.array([0.5, 0.6]), np.array([0.0, 1.0]))
    c = Calibrator("isotonic", (step,) * 3, 3)
    p = np.array([[0.4, 0.3, 0.3], [0.6, 0.2, 0.2]])
    assert np.allclose(c(p), [[1 / 3] * 3, [1, 0, 0]]) and c.all_zero(p) == 1


def test_rare_classes():
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1] * 4, 400)
    y = np.r_[np.repeat([0, 1, 2], 130), [3] * 9, 0]
    keep, none = (fit_calibrator(p, y, "platt", rare=r) for r in ("keep", "none"))
    assert keep.rare == none.rare == (3,) and keep.maps[3] is None and all(m is not None for m in keep.maps[:3])
    assert np.array_equal(none(p), p) and not none.calibrated
    mapped = np.stack([*(keep.maps[k](p[:, k]) for k in range(3)), p[:, 3]], axis=1)
    assert np.allclose(keep(p), mapped / mapped.sum(axis=1, keepdims=True), atol=1e-15)
    assert fit_calibrator(p, y, "platt", min_rows=9).rare == () and "too rare" in repr(keep)
    two = fit_calibrator(p[:, :2] / p[:, :2].sum(axis=1, keepdims=True), np.r_[np.ones(9, int), np.zeros(391, int)], "isotonic")
    assert not two.calibrated and two.rare == (1,)


def test_platt_of_the_probability_cannot_be_certain():
    m = np.r_[np.full(50, 30.0), np.full(50, -30.0)]
    y = np.r_[np.ones(50), np.zeros(50)].astype(int)
    q = 1 - fit_calibrator(probabilities(m), y, "platt")(probabilities(np.array([800.0])))[0, 1]
    assert q == pytest.approx(1 / 52, rel=1e-3)  # Platt's target, whatever the margin


def test_platt_of_separated_scores_rounds_to_certainty():
    slopes = [fit_platt([0.5 - gap / 2] * 50 + [0.5 + gap / 2] * 50, [0] * 50 + [1] * 50).a for gap in (0.1, 0.01, 0.001)]
    assert np.allclose(slopes, [2 * math.log(51) / gap for gap in (0.1, 0.01, 0.001)], rtol=1e-4)  # the targets are met exactly
    narrow = fit_platt([0.4995] * 50 + [0.5005] * 50, [0] * 50 + [1] * 50)
    assert narrow(1.0) == 1.0 and narrow.complement(1.0) == 0.0


@pytest.mark.parametrize(("argument", "change"), [
    ("y", dict(y=[0, 1, 3])), ("y", dict(y=[0, -1, 1])), ("y", dict(y=[0, 0.5, 1])), ("y", dict(y=["a", "b", "c"])), ("proba", dict(y=[0, 1])), ("proba", dict(proba=[[0.5, np.nan, 0.5]] * 3)), ("proba", dict(proba=[[0.5, 1.5, -1]] * 3)),
    ("proba", dict(proba=[0.1, 0.2, 0.3])), ("proba", dict(proba=[[0.5]] * 3)), ("proba", dict(proba=None)), ("method", dict(method="beta")), ("method", dict(method=None)), ("rare", dict(rare="drop")), ("min_rows", dict(min_rows=-1))])
def test_calibrators_name_what_is_wrong(argument, change):
    good = dict(proba=[[0.5, 0.3, 0.2]] * 3, y=[0, 1, 2], method="platt")
    assert fit_calibrator(**good).rare == (0, 1, 2)
    with pytest.raises(InputError) as caught:
        fit_calibrator(**{**good, **change})
    assert caught.value.argument == argument


@pytest.mark.parametrize("fit_map", [fit_platt, fit_isotonic])
@pytest.mark.parametrize(("argument", "arguments"), [("score", ([0.1, np.nan], [0, 1])), ("score", ([0.1, np.inf], [0, 1])), ("score", ([], [])), ("score", (["a", "b"], [0, 1])), ("is_class", ([0.1, 0.2], [0, 2])), ("is_class", ([0.1, 0.2], [0, 0.5])), ("is_class", ([0.1, 0.2], [0, 1, 1]))])
def test_maps_name_what_is_wrong(fit_map, argument, arguments):
    with pytest.raises(InputError) as caught:
        fit_map(*arguments)
    assert caught.value.argument == argument
