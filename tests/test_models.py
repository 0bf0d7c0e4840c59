"""Models, calibration and predictions of the real-data experiments."""
import math
import socket
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from cwcal.inputs import InputError, InputWarning
from cwcal.lab import calibrate, models, real
from cwcal.lab.calibrate import Calibrator, fit_calibrator, fit_isotonic, fit_platt
from cwcal.lab.models import SETTINGS, USUAL, Settings, TrainingRows, class_weights, cross_validate, encode_features, fit, margins, probabilities, search, search_space, settings_name, usual_parameters
from cwcal.lab.paper import paper_table
from cwcal.lab.real import REGIMES, across_splits, find_predictions, findings, fit_dataset, largest_runs, metric_row, metric_rows, read_predictions, regime_ranks, side_by_side, summarise, verdicts, write_predictions
from cwcal.lab.runner import describe, merge_parameters, run_experiment
from cwcal.metrics.csr import csr, csr_sigma, risk_probability
from cwcal.profile import Profile
from tests.naive import calibrate as naive

ROOT = Path(__file__).resolve().parents[1]
QUICK = Settings(n_trials=2, n_folds=3, max_rounds=25)


@pytest.fixture
def shared():
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the data sets are not beside the repository")
    return folder


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5)).astype(np.float32)
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(0, 0.7, 240) > 0.5).astype(int)
    return TrainingRows(X, y, 2)


@pytest.fixture(scope="module")
def cancer():
    return fit_dataset("breast_cancer", QUICK)


# Settings and features


@pytest.mark.parametrize("bad", [dict(n_trials=-1), dict(n_folds=1), dict(max_rounds=0), dict(patience=1.5), dict(max_rows=True), dict(max_bin=1), dict(max_colsample=1.1), dict(class_weight="x"), dict(objective="brier")])
def test_settings_name_what_is_wrong(bad):
    with pytest.raises(InputError) as caught:
        Settings(**bad)
    assert caught.value.argument == next(iter(bad))


def test_paper_settings_are_those_of_appendix_a4():
    p = SETTINGS["paper"]
    assert (p.n_trials, p.n_folds, p.max_rounds, p.patience, p.max_rows) == (60, 5, 2000, 30, 0)


def test_a_name_is_given_to_its_settings_alone():
    assert [settings_name(s) for k, s in SETTINGS.items() if k != "standard_images"] == ["smoke", "standard", "usual", "paper"]
    assert settings_name(SETTINGS["standard_images"], "cifar10") == "standard" and settings_name(SETTINGS["standard"], "cifar10") == "custom"
    assert settings_name(replace(Settings(), device="cuda")) == "paper" and settings_name(replace(Settings(), patience=31)) == "custom"
    assert settings_name(replace(Settings(), class_weight="search")) == "paper-search"


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

    monkeypatch.setattr(models, "cross_validate", interrupted)
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


def test_another_search_in_the_same_file_is_another_study(rows, tmp_path):
    one = replace(QUICK, n_trials=1)
    assert [search(rows, one, seed=seed, path=tmp_path / "s.db").n_resumed for seed in (0, 0, 1)] == [0, 1, 0]
    names = {models._study_name(*what) for what in ((rows, one, 0), (rows, one, 1), (rows, replace(one, max_rounds=20), 0), (TrainingRows(rows.X[1:], rows.y[1:], 2), one, 0), (TrainingRows(rows.X, 1 - rows.y, 2), one, 0))}
    assert len(names) == 5 and models._study_name(rows, replace(one, n_trials=9, device="cuda"), 0) in names  # more trials go on from fewer


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


# Predictions


def test_breast_cancer_needs_no_network(monkeypatch, tmp_path):
    def refuse(*a, **k):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.delenv("CWCAL_DATA_HOME", raising=False)
    p = fit_dataset("breast_cancer", replace(QUICK, n_trials=0), out_dir=tmp_path)
    assert p.meta["n_train"] == 341 and np.sum(p.test) == 114 and set(np.unique(p.y)) == {0, 1} and p.classes == ("B", "M")


def test_the_split_is_disjoint_and_stratified(cancer):
    assert len(np.unique(cancer.row)) == len(cancer.row) == 228
    assert abs(cancer.y[cancer.test].mean() - 212 / 569) < 0.01


def test_regimes_share_the_predicted_class_and_take_its_probability(cancer):
    raw = cancer.profile("raw")
    for regime in REGIMES:
        p = cancer.profile(regime)
        assert np.array_equal(p.y_pred, raw.y_pred) and np.array_equal(p.conf, p.proba[np.arange(p.n), p.y_pred])
    q = cancer.proba[cancer.test][np.arange(raw.n), 1 - raw.y_pred]
    assert np.array_equal(raw.error_prob, q)
    c = fit_calibrator(cancer.proba[~cancer.test], cancer.y[~cancer.test], "isotonic")
    assert np.array_equal(cancer.profile("isotonic").proba, c(cancer.proba[cancer.test]))


def test_predictions_survive_the_file(cancer, tmp_path):
    write_predictions(cancer, tmp_path / "p.parquet")
    again = read_predictions(tmp_path / "p.parquet")
    assert again.meta == cancer.meta and all(np.array_equal(getattr(again, f), getattr(cancer, f)) for f in ("row", "test", "y", "margins"))
    pd.testing.assert_frame_equal(metric_rows(again, n_sims=50), metric_rows(cancer, n_sims=50))
    table = pd.read_parquet(tmp_path / "p.parquet")
    test = (table["part"] == "test").to_numpy()
    for regime in REGIMES:
        assert np.array_equal(table.loc[test, [f"{regime}_0", f"{regime}_1"]].to_numpy(), cancer.profile(regime).proba)


def test_three_classes_survive_the_file(cancer, tmp_path):
    p = replace(cancer, margins=np.stack([cancer.margins, -cancer.margins, cancer.margins / 3], axis=1), meta={**cancer.meta, "classes": ["a", "b", "c"]})
    write_predictions(p, tmp_path / "p.parquet")
    again = read_predictions(tmp_path / "p.parquet")
    assert again.margins.shape == (228, 3) and np.array_equal(again.margins, p.margins) and again.profile("raw").n_classes == 3


def test_a_write_that_fails_leaves_the_old_file(cancer, tmp_path, monkeypatch):
    import pyarrow.parquet as pq

    path = tmp_path / "p.parquet"
    write_predictions(cancer, path)
    before = path.read_bytes()

    def half(table, file, **k):
        file.write(b"PAR1")
        raise OSError("disk full")

    monkeypatch.setattr(pq, "write_table", half)
    with pytest.raises(OSError, match="disk full"):
        write_predictions(cancer, path)
    assert path.read_bytes() == before and [f.name for f in tmp_path.iterdir()] == ["p.parquet"]


def test_finished_predictions_are_read_and_damaged_ones_replaced(tmp_path, monkeypatch):
    first = fit_dataset("breast_cancer", QUICK, out_dir=tmp_path)
    path = tmp_path / "predictions" / "breast_cancer.parquet"
    good = path.read_bytes()

    def no_search(*a, **k):
        raise AssertionError("searched again")

    monkeypatch.setattr(real, "search", no_search)
    assert np.array_equal(fit_dataset("breast_cancer", QUICK, out_dir=tmp_path).margins, first.margins)
    with pytest.raises(AssertionError, match="searched again"):
        fit_dataset("breast_cancer", QUICK, seed=1, out_dir=tmp_path)
    monkeypatch.undo()
    for damage in (b"", good[: len(good) // 2], b"PAR1" + b"\0" * 100 + b"PAR1"):
        path.write_bytes(damage)
        with pytest.raises(InputError, match="must be predictions"):
            read_predictions(path)
        assert np.array_equal(fit_dataset("breast_cancer", QUICK, out_dir=tmp_path).margins, first.margins)


def test_one_changed_byte_never_changes_what_is_read(cancer, tmp_path):
    path = tmp_path / "p.parquet"
    write_predictions(cancer, path)
    good, refused = path.read_bytes(), 0
    for at in np.random.default_rng(0).integers(0, len(good), 150):
        bad = bytearray(good)
        bad[at] ^= 0x55
        path.write_bytes(bad)
        try:
            found = read_predictions(path)
        except InputError:
            refused += 1
            continue
        assert all(np.array_equal(getattr(found, f), getattr(cancer, f)) for f in ("row", "test", "y", "margins"))
    assert refused > 75


def test_the_same_seed_gives_the_same_predictions(cancer):
    assert np.array_equal(fit_dataset("breast_cancer", QUICK).margins, cancer.margins)
    other = fit_dataset("breast_cancer", QUICK, seed=1)
    assert not np.array_equal(other.row, cancer.row) and other.meta["key"] != cancer.meta["key"]


def test_find_predictions_and_the_largest_run(cancer, tmp_path):
    smoke = replace(cancer, meta={**cancer.meta, "profile": "smoke", "seed": 3, "key": "b"})
    paper = replace(cancer, meta={**cancer.meta, "profile": "paper", "seed": 5, "key": "c"})
    for name, p in (("one", smoke), ("two", paper)):
        write_predictions(p, tmp_path / name / "predictions" / "breast_cancer.parquet")
    found = find_predictions([tmp_path])
    assert [p.meta["profile"] for p in found] == ["paper", "smoke"] and [p.meta["key"] for p in largest_runs(found)] == ["c"]
    assert [p.meta["key"] for p in largest_runs(found, "smoke")] == ["b"] and largest_runs(found, "standard") == []
    (tmp_path / "two" / "predictions" / "breast_cancer.parquet").write_bytes(b"PAR1")
    with pytest.warns(InputWarning, match="must be predictions"):
        assert [p.meta["key"] for p in find_predictions([tmp_path])] == ["b"]


def test_wine_rare_classes_are_said(shared):
    p = fit_dataset("wine", replace(QUICK, n_trials=0, max_rounds=5), data_home=shared)
    assert np.bincount(p.y[~p.test], minlength=7)[[0, 6]].tolist() == [6, 1] and p.calibrator("platt").rare == (0, 6)
    rows = metric_rows(p, n_sims=0).set_index("calibration")
    assert "class 3, 9" in rows.loc["platt", "notes"] and "class" not in rows.loc["raw", "notes"]
    assert rows.loc["platt", "csr"] != rows.loc["raw", "csr"]
    as_printed = metric_rows(p, rare="none", n_sims=0).drop(columns=["calibration", "notes"])
    assert len(as_printed.drop_duplicates()) == 1  # as in the paper's tables


@pytest.mark.parametrize(("name", "n_test"), [("diabetes", 154), ("liver", 117), ("obesity", 423), ("adult_income", 15060)])
def test_test_sizes_are_the_papers(shared, name, n_test):
    from cwcal.lab.datasets import as_in_paper, load_dataset
    from cwcal.lab.splits import stratified_split

    assert len(stratified_split(as_in_paper(load_dataset(name, shared)), 0).test) == n_test


# Metrics and tables


def test_metric_row_is_the_single_metrics(cancer):
    p = cancer.profile("raw")
    row = metric_row(p, n_sims=20)
    assert row["csr"] == csr(p) and row["sigma_csr"] == csr_sigma(p) and row["p_risk_pct"] == 100 * risk_probability(p)
    right = p.correct
    assert row["acc"] == pytest.approx(right.mean()) and row["cwa"] == pytest.approx(p.conf[right].sum() / p.conf.sum())
    assert row["csr"] == pytest.approx(sum(1 / max(q, 1e-8) for q in p.error_prob[~right]) / p.n)
    assert row["brier"] == pytest.approx(np.mean((p.conf - right) ** 2))


@pytest.mark.parametrize("number", [6, 7, 12])
def test_every_printed_column_is_computed(cancer, number):
    frame = metric_rows(cancer, n_sims=20)
    table = side_by_side(frame, number)
    assert set(table["quantity"]) == set(paper_table(number).attrs["decimals"]) and len(table) == 3 * len(paper_table(number).attrs["decimals"])


def test_no_error_is_no_crash():
    row = metric_row(Profile.from_proba([0, 1, 0, 1], np.array([[0.9, 0.1], [0.2, 0.8], [1.0, 0.0], [0.0, 1.0]])), n_sims=20)
    assert row["csr"] == 0 and row["acc"] == 1 and np.isnan(row["gain_pct"])


def test_table_2_follows_from_printed_table_6():
    t = paper_table(6)
    ours = summarise(t.assign(profile="paper", z=(t["csr"] - 1) / t["sigma_csr"])).set_index("calibration")
    printed = paper_table(2).set_index("calibration")
    for c, ulp in (("acc", 1e-4), ("cwa", 1e-4), ("gain_pct", 0.1), ("p_risk_pct", 0.01)):
        assert (ours[c] - printed[c]).abs().max() < ulp
    assert ours["above_1_sigma"].to_dict() == printed["above_1_sigma_of_15"].to_dict() and ours["above_3_sigma"].to_dict() == printed["above_3_sigma_of_15"].to_dict()
    assert (ours["n_datasets"] == 15).all()


def test_side_by_side_with_an_interval():
    t = paper_table(6).query("dataset == 'wine'").assign(profile="x")
    t.attrs = {}
    across = pd.DataFrame({"dataset": "wine", "calibration": "raw", "quantity": ["acc", "csr"], "low": [0.63, 1.2], "high": [0.65, 1.3]})
    table = side_by_side(t, 6, across).set_index(["calibration", "quantity"])
    assert (table["difference"] == 0).all() and table.loc[("raw", "acc"), "inside"] is True and table.loc[("raw", "csr"), "inside"] is False
    assert table.loc[("platt", "acc"), "inside"] is None


@pytest.fixture
def hand_runs():
    "Two data sets, two splits, values chosen so that every count is known."
    out = []
    for dataset, split, values in (("liver", 0, (0.9, 5e5, 0.8)), ("liver", 1, (1.6, 1.5, 0.9)), ("wine", 0, (0.9, 0.95, 0.8)), ("wine", 1, (0.9, 0.95, 1.7))):
        for c, v in zip(REGIMES, values):
            z = (v - 1) / 0.5
            out.append({"profile": "x", "dataset": dataset, "split": split, "calibration": c, "csr": v, "z": z, "p_risk_pct": 0.0 if v <= 1 else 90.0 + v / 1e6, "cwa": 0.9, "acc": 0.8, "ece_15": {"raw": 0.2, "isotonic": 0.1, "platt": 0.3}[c], "cwauc": {"raw": 0.8, "isotonic": 0.9, "platt": 0.7}[c], "notes": "", "seed": split, "n": 10})
    return pd.DataFrame(out)


def test_verdicts_by_hand(hand_runs):
    v = verdicts(hand_runs).set_index(["dataset", "calibration"])
    assert v.loc[("liver", "isotonic"), "risky"] == 0.5 and v.loc[("liver", "isotonic"), "csr_thousands"] == 0.5
    assert v.loc[("liver", "raw"), "risky"] == 0.5 and v.loc[("wine", "platt"), "risky"] == 0.5 and v.loc[("wine", "raw"), "risky"] == 0
    assert v.loc[("wine", "raw"), "printed_risky"] and v.loc[("wine", "raw"), "agree"] == 0


def test_findings_by_hand(hand_runs):
    f = findings(hand_runs).set_index("statement")
    assert f.loc["isotonic CSR is above 1,000", ["splits", "datasets", "n_datasets"]].tolist() == [0.25, 0, 2]
    assert f.loc["Platt has the smallest P_risk, ties included", ["splits", "datasets"]].tolist() == [0.75, 1]
    assert f.loc["cwAUC: isotonic > raw > Platt", "splits"] == 1 and f.loc["isotonic lowers ECE", "datasets"] == 2 and f.loc["cwA is at least accuracy, raw", "splits"] == 1


def test_ranks_by_hand(hand_runs):
    r = regime_ranks(hand_runs).set_index(["dataset", "calibration"])
    assert r.loc[("liver", "platt"), "mean_rank"] == pytest.approx((1.5 + 1) / 2) and r.loc[("liver", "platt"), "first"] == 0.5 and r.loc[("liver", "platt"), "shared"] == 1
    assert r.loc[("wine", "platt"), "mean_rank"] == pytest.approx((2 + 3) / 2)
    half = 1.96 * np.std([1.5, 1], ddof=1) / np.sqrt(2)
    assert r.loc[("liver", "platt"), "high"] == pytest.approx(1.25 + half)


def test_intervals_are_observed_values(hand_runs):
    a = across_splits(hand_runs).set_index(["dataset", "calibration", "quantity"])
    assert a.loc[("liver", "isotonic", "csr"), ["low", "high", "splits", "defined"]].tolist() == [1.5, 5e5, 2, 2]
    gap = across_splits(hand_runs.assign(z=[np.nan, *hand_runs["z"][1:]])).set_index(["dataset", "calibration", "quantity"])
    assert gap.loc[("liver", "raw", "z"), "defined"] == 1 and gap.loc[("liver", "raw", "z"), "splits"] == 2


# Experiments


@pytest.mark.parametrize("path", sorted((ROOT / "params").glob("real_*.yaml")), ids=lambda p: p.stem)
def test_parameter_files_fit_their_experiment(path):
    experiment = describe(next(name for name in ("real_fit", "real_tables", "real_roc", "real_seeds") if path.stem.startswith(name)))
    given = merge_parameters(experiment, [path])
    values = {p.name: given.get(p.name, p.default) for p in experiment.parameters}
    names = {"real_fit_standard": "standard", "real_fit_paper": "paper", "real_fit_smoke": "smoke", "real_fit_standard_images": "standard"}
    if path.stem in names:  # a file and the settings of its name are the same
        settings = Settings(**{k: v for k, v in values.items() if k in asdict(Settings())})
        assert settings_name(settings, "mnist" if "images" in path.stem else "wine") == names[path.stem]


@pytest.mark.slow
def test_fit_tables_and_roc_run_one_after_the_other(tmp_path):
    fit_run = run_experiment("real_fit", parameters=dict(n_trials=1, max_rounds=30), out_dir=tmp_path / "fit", progress=False)
    assert (tmp_path / "fit" / "predictions" / "breast_cancer.parquet").is_file() and len(fit_run.tables["real_fit"]) == 3
    tables = run_experiment("real_tables", parameters=dict(n_sims=50), out_dir=tmp_path / "tables", progress=False).tables
    assert tables["real_rows"]["profile"].unique().tolist() == ["custom"] and (tables["real_table_02"]["n_datasets"] == 1).all()
    assert len(run_experiment("real_roc", out_dir=tmp_path / "roc", progress=False).tables["real_roc"]) == 3


@pytest.mark.slow
def test_many_splits_resume(tmp_path):
    options = dict(parameters=dict(n_splits=2, max_rounds=30), out_dir=tmp_path / "seeds", progress=False)
    first = run_experiment("real_seeds", **options).tables["real_seeds"]
    pieces = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "seeds" / "pieces").glob("*.parquet")}
    again = run_experiment("real_seeds", **options).tables["real_seeds"]
    assert len(pieces) == 2 and pieces == {p.name: p.stat().st_mtime_ns for p in (tmp_path / "seeds" / "pieces").glob("*.parquet")}
    pd.testing.assert_frame_equal(first, again)


def test_committed_tables_carry_their_profile():
    for name in ("real_rows", "real_rows_smoke", "real_class_weights", "real_seeds_intervals", "real_seeds_verdicts", "real_seeds_findings", "real_seeds_ranks", "real_table_02", "real_table_06", "real_table_07", "real_table_12"):
        table = real.result_table(name)
        assert table is not None and table["profile"].notna().all(), name
    rows = real.result_table("real_rows")
    assert (rows.groupby(["profile", "dataset", "seed"])["acc"].nunique() == 1).all()
