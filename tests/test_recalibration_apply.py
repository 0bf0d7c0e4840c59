import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from cwcal.inputs import InputError, InputWarning
from cwcal.profile import Profile
from cwcal.recalibration.apply import CalibratedModel, align_columns, cross_recalibrate, recalibrate
from cwcal.recalibration.base import InSampleWarning, RecalibrationWarning
from cwcal.recalibration.dirichlet import DirichletCalibration
from cwcal.recalibration.histogram import HistogramBinning
from cwcal.recalibration.isotonic import IsotonicCalibration
from cwcal.recalibration.platt import PlattScaling
from cwcal.recalibration.temperature import TemperatureScaling
from cwcal.recalibration.venn_abers import VennAbers
from tests.test_recalibration import quietly, sample


def data(n=300, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 4)) + np.eye(4)[y] * 1.2, np.array(["cat", "dog", "emu", "fox"])[y]


# scikit-learn's own checks

DESIGN = "the predicted class is the classifier's, not the largest calibrated probability"


@pytest.mark.slow
@pytest.mark.parametrize("calibrator, kept", [(None, True), (TemperatureScaling(input="logits"), True), (PlattScaling(), True), (VennAbers(), False)], ids=str)
def test_check_estimator(calibrator, kept):
    expected = {} if kept else {"check_classifiers_train": DESIGN}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(CalibratedModel(LogisticRegression(), calibrator, cv=3), expected_failed_checks=expected, on_skip=None)


def test_clone_keeps_a_fitted_classifier_and_forgets_one_that_is_to_be_fitted():
    X, y = data()
    fitted = LogisticRegression().fit(X, y)
    assert clone(CalibratedModel(fitted)).estimator is fitted
    copy = clone(CalibratedModel(fitted, PlattScaling(target="top_label"), cv=3, random_state=7))
    assert copy.estimator is not fitted and not hasattr(copy.estimator, "coef_") and copy.calibrator.target == "top_label" and copy.cv == 3 and copy.random_state == 7
    with pytest.raises(NotFittedError):
        CalibratedModel(LogisticRegression()).fit(X, y)
    with pytest.raises(NotFittedError):
        CalibratedModel(fitted).predict_proba(X)


def test_in_scikit_learns_machinery():
    X, y = data()
    model = CalibratedModel(make_pipeline(StandardScaler(), GaussianNB()), PlattScaling(), cv=3)
    assert quietly(cross_val_score, model, X, y, cv=3).mean() > 0.5
    assert quietly(cross_val_predict, model, X, y, cv=3, method="predict_proba").shape == (300, 3)


# the wrapper


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("estimator, calibrator", [(GaussianNB(), PlattScaling()), (GaussianNB(), DirichletCalibration()), (RandomForestClassifier(20, random_state=0), IsotonicCalibration()),
                                                   (RandomForestClassifier(20, random_state=0), TemperatureScaling()), (LinearSVC(), TemperatureScaling("logits")), (LinearSVC(), VennAbers("logits", target="top_label"))], ids=str)
def test_prefit_equals_the_map_on_its_scores(estimator, calibrator, k):
    X, y = data(400, k)
    train, fit, new = slice(0, 150), slice(150, 300), slice(300, 400)
    classifier = clone(estimator).fit(X[train], y[train])
    scores = getattr(classifier, "decision_function" if calibrator.input == "logits" else "predict_proba")
    model = quietly(CalibratedModel(classifier, calibrator).fit, X[fit], y[fit])
    by_hand = quietly(clone(calibrator).set_params(classes=classifier.classes_.tolist()).fit, scores(X[fit]), y[fit])
    assert np.allclose(quietly(model.predict_proba, X[new]), quietly(by_hand.predict_proba, scores(X[new])))
    assert np.array_equal(model.predict(X[new]), classifier.predict(X[new])) and model.classes_.tolist() == classifier.classes_.tolist()
    p = quietly(model.profile, X[new], y[new])
    assert np.array_equal(np.array(p.classes)[p.y_pred], classifier.predict(X[new]))
    assert np.allclose(p.conf, quietly(model.predict_proba, X[new])[np.arange(100), p.y_pred])


@pytest.mark.parametrize("labels", [[0, 1, 2], [-1, 0, 7], ["b", "a", ""], [1.0, 2.0, 3.0], [True, False]])
def test_labels_of_any_kind(labels):
    X, y = data(150, len(labels))
    names = np.array(labels)[np.unique(y, return_inverse=True)[1]]
    model = quietly(CalibratedModel(GaussianNB(), PlattScaling(), cv=3).fit, X, names)
    assert set(model.predict(X).tolist()) <= set(labels) and model.classes_.tolist() == sorted(set(labels))
    assert quietly(model.profile, X[:60] + 0.01, names[:60]).n_classes == len(labels)


def test_cross_fitted_scores_are_out_of_fold():
    X, y = data(120)
    folds = list(KFold(4, shuffle=True, random_state=1).split(X))
    model = quietly(CalibratedModel(GaussianNB(), TemperatureScaling(), cv=folds).fit, X, y)
    scores = np.empty((120, 3))
    for fit, out in folds:
        scores[out] = GaussianNB().fit(X[fit], y[fit]).predict_proba(X[out])
    by_hand = quietly(TemperatureScaling(classes=["cat", "dog", "emu"]).fit, scores, y)
    assert np.isclose(model.calibrator_.temperature_, by_hand.temperature_)
    assert np.allclose(model.predict_proba(X), by_hand.predict_proba(GaussianNB().fit(X, y).predict_proba(X)))


def test_model_recognises_its_own_rows():
    X, y = data()
    model = quietly(CalibratedModel(GaussianNB().fit(X[:150], y[:150])).fit, X[150:], y[150:])
    with pytest.warns(InSampleWarning):
        p = model.profile(X[150:], y[150:])
    assert any(note.startswith("in-sample") for note in p.notes)


# the bug reports


@pytest.mark.parametrize("known, scores, want", [
    (["a", "b", "c"], [[0.2, 0.5, 0.3]], [[0.2, 0.5, 0.3]]), (["a", "c"], [[0.4, 0.6]], [[0.4, 0.0, 0.6]]), (["c", "a"], [[0.4, 0.6]], [[0.6, 0.0, 0.4]]), (["c", "b", "a"], [[0.2, 0.5, 0.3]], [[0.3, 0.5, 0.2]]),
    (["b"], [[1.0]], [[0.0, 1.0, 0.0]])])
def test_lab_08_columns_by_name(known, scores, want):
    assert align_columns(np.array(scores), np.array(known), np.array(["a", "b", "c"])).tolist() == want


def test_lab_08_a_fold_that_lacks_a_class_is_said():
    X, y = data(90)
    y[:] = np.tile(["cat", "dog"], 45)
    y[:6] = "emu"  # all of them in the fit rows of the second pair only
    folds = [(np.arange(45, 90), np.arange(6, 45)), (np.r_[np.arange(6, 45)], np.arange(45, 90)), (np.arange(90), np.arange(6))]
    for estimator, calibrator, absent in ((GaussianNB(), PlattScaling(), "0"), (LinearSVC(), TemperatureScaling("logits"), "-inf")):
        with pytest.warns(RecalibrationWarning, match=f"class 'emu' unseen in fold 0: its score there is {absent}"):
            model = CalibratedModel(estimator, calibrator, cv=folds).fit(X, y)
        assert model.classes_.tolist() == ["cat", "dog", "emu"] and np.allclose(quietly(model.predict_proba, X).sum(axis=1), 1)


def test_align_refuses_what_it_does_not_know():
    for known, scores in ((["a", "z"], [[0.5, 0.5]]), (["a"], [[0.5, 0.5]])):
        with pytest.raises(InputError, match="`known` must name"):
            align_columns(np.array(scores), np.array(known), np.array(["a", "b", "c"]))


@pytest.mark.parametrize("y, cv, text", [([0, 0, 0, 0, 1, 1], 3, "got 3 with 2 rows of class 1; use fewer folds, or a held-out set"), (["b", "a", "b", "b"], 2, "1 rows of class 'a'"), ([0, 1, 2] * 4, 5, "got 5 with 4 rows of class 0")])
def test_sml_10_fewer_rows_than_folds(y, cv, text):
    X = np.arange(len(y), dtype=float)[:, None]
    with pytest.raises(InputError, match=text):
        CalibratedModel(GaussianNB(), cv=cv).fit(X, y)
    codes = np.unique(y, return_inverse=True)[1]
    with pytest.raises(InputError, match="use fewer folds, or a held-out set"):
        cross_recalibrate(Profile.from_proba(codes, np.full((len(y), codes.max() + 1), 1 / (codes.max() + 1))), TemperatureScaling(), cv=cv)


@pytest.mark.parametrize("splitter", [KFold(3), GroupKFold(3)])
@pytest.mark.parametrize("calibrator", [TemperatureScaling(), IsotonicCalibration()])
def test_cal_13_a_fold_with_an_unseen_class_is_refused(splitter, calibrator):
    y = np.repeat([0, 1, 2], 2)
    X = np.arange(6.0)[:, None]
    cv = splitter if isinstance(splitter, KFold) else list(splitter.split(X, groups=y))
    with pytest.raises(InputError, match="`cv` must leave every class among the rows to fit: fold . holds rows of class"):
        CalibratedModel(GaussianNB(), calibrator, cv=cv).fit(X, y)
    with pytest.raises(InputError, match="a whole number stratifies"):
        cross_recalibrate(Profile.from_proba(y, np.full((6, 3), 1 / 3)), calibrator, cv=cv)
    model = quietly(CalibratedModel(LogisticRegression(), calibrator, cv=2).fit, X, y)
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("cv", [1, 0, -3, True, "five", 2.5, [(np.arange(4), np.arange(4, 6))]])
def test_bad_folds(cv):
    with pytest.raises(InputError, match="`cv` must"):
        CalibratedModel(GaussianNB(), cv=cv).fit(np.arange(6.0)[:, None], [0, 1] * 3)


@pytest.mark.parametrize("estimator, names", [(make_pipeline(StandardScaler(), PCA(2), GaussianNB()), ["pca"]), (make_pipeline(PCA(2), KNeighborsClassifier()), ["pca", "kneighborsclassifier"]), (KNeighborsClassifier(), ["KNeighborsClassifier"]),
                                              (make_pipeline(StandardScaler(), "passthrough", GaussianNB()), []), (GaussianNB(), [])], ids=str)
def test_wgt_06_steps_that_ignore_weights_are_named(estimator, names):
    X, y = data(200)
    w = np.random.default_rng(0).integers(1, 6, 200).astype(float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = CalibratedModel(estimator, TemperatureScaling(), cv=3).fit(X, y, sample_weight=w)
    said = [str(c.message) for c in caught if "`sample_weight` is ignored by" in str(c.message)]
    assert len(said) == bool(names) and all(f"`{name}`" in said[0] for name in names)
    if not names:  # the inner model did get them
        unweighted = CalibratedModel(estimator, TemperatureScaling(), cv=3).fit(X, y)
        assert not np.allclose(model.estimator_.predict_proba(X), unweighted.estimator_.predict_proba(X))


def test_weight_zero_is_no_row_for_the_map():
    X, y = data(300)
    classifier, w = GaussianNB().fit(X[:100], y[:100]), (np.arange(200) % 3 > 0).astype(float)
    a = CalibratedModel(classifier).fit(X[100:], y[100:], w).calibrator_.temperature_
    assert np.isclose(a, CalibratedModel(classifier).fit(X[100:][w > 0], y[100:][w > 0]).calibrator_.temperature_)


def test_llm_01_sources_apart_and_pooled():
    p = quietly_confidence([0, 1, 0, 1], [0.95, 0.93, 0.29, 0.31])
    source = ["self", "self", "vote", "vote"]
    out = quietly(recalibrate, p, p, PlattScaling(), fit_source=source, test_source=source)
    for name in ("self", "vote"):
        rows = np.array(source) == name
        alone = quietly(recalibrate, p.subset(rows), p.subset(rows), PlattScaling())
        assert np.array_equal(out.conf[rows], alone.conf) and np.array_equal(out.error_prob[rows], alone.error_prob)
        assert any(f"source {name}: recalibrated by PlattScaling on 2 rows" in note for note in out.notes) and any(f"source {name}: in-sample" in note for note in out.notes)
    with pytest.warns(RecalibrationWarning, match="confidences of 2 sources are pooled .'self': 2 rows, 'vote': 2 rows"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="`PlattScaling`")
            pooled = recalibrate(p, p, PlattScaling(), fit_source=source, test_source=source, pool=True)
    assert np.array_equal(pooled.conf, quietly(recalibrate, p, p, PlattScaling()).conf) and "2 sources pooled" in pooled.notes


def quietly_confidence(correct, conf):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        return Profile.from_confidence(correct, conf)


@pytest.mark.parametrize("kind", ["proba", "logits", "positive", "event"])
def test_sources_of_any_profile(kind):
    z, p, y = sample(3, n=300, k=3 if kind in ("proba", "logits") else 2)
    build = {"proba": lambda r: Profile.from_proba(y[r], p[r]), "logits": lambda r: Profile.from_logits(y[r], z[r]), "positive": lambda r: Profile.from_positive(y[r], p[r, 1]), "event": lambda r: Profile.from_event(y[r], p[r, 1])}[kind]
    old, new, source = build(slice(0, 200)), build(slice(200, 300)), np.arange(300) % 3
    out = quietly(recalibrate, old, new, PlattScaling(), fit_source=source[:200], test_source=source[200:])
    for s in range(3):
        alone = quietly(recalibrate, old.subset(source[:200] == s), new.subset(source[200:] == s), PlattScaling())
        assert np.array_equal(out.conf[source[200:] == s], alone.conf)
    assert np.array_equal(out.correct, new.correct) and out.logits is None


@pytest.mark.parametrize("change, text", [(dict(test_source=None), "given together"), (dict(fit_source=None), "given together"), (dict(test_source=["x"] * 3), "must hold sources that were fitted"), (dict(fit_source=["a"]), "one value for each"),
                                          (dict(test_source=["a", None, "a"]), "missing"), (dict(calibrator="platt"), "`calibrator` must be a map"), (dict(calibrator=PlattScaling), "`calibrator` must be a map")])
def test_recalibrate_refuses(change, text):
    p = quietly_confidence([0, 1, 1], [0.5, 0.6, 0.7])
    given = dict(calibrator=PlattScaling(), fit_source=["a", "a", "b"], test_source=["a", "b", "a"]) | change
    with pytest.raises(InputError, match=text):
        quietly(recalibrate, p, p, given.pop("calibrator"), **given)
    with pytest.raises(InputError, match="takes a Profile first"):
        recalibrate(p, [0.5], PlattScaling())


# cross-fitting


def test_cross_recalibrate_by_hand():
    _, p, y = sample(2, n=90)
    folds = [(np.arange(45, 90), np.arange(45)), (np.arange(45), np.arange(45, 90))]
    out = quietly(cross_recalibrate, Profile.from_proba(y, p), PlattScaling(), cv=folds)
    for fit, left in folds:
        want = quietly(PlattScaling().fit, p[fit], y[fit]).predict_proba(p[left])
        assert np.array_equal(out.proba[left], want)
    assert not any("in-sample" in note for note in out.notes) and any("cross-fitted in 2 folds" in note for note in out.notes)


def test_cross_recalibrate_is_one_warning_and_reproducible():
    _, p, y = sample(2, n=90)
    with pytest.warns(RecalibrationWarning) as caught:
        a = cross_recalibrate(Profile.from_proba(y, p), IsotonicCalibration(), cv=3)
    assert len(caught) == 1 and "in 3 folds" in str(caught[0].message)
    assert np.array_equal(a.conf, quietly(cross_recalibrate, Profile.from_proba(y, p), IsotonicCalibration(), cv=3).conf)
    assert not np.array_equal(a.conf, quietly(cross_recalibrate, Profile.from_proba(y, p), IsotonicCalibration(), cv=3, random_state=1).conf)


def test_in_sample_is_optimistic_and_cross_fitting_is_not():
    gap = []
    for seed in range(25):
        _, p, y = sample(seed, n=250, k=2)
        _, q, v = sample(seed + 1000, n=1500, k=2)
        old, new = Profile.from_positive(y, p[:, 1]), Profile.from_positive(v, q[:, 1])
        brier = [r.mean((r.conf - r.correct) ** 2) for r in (quietly(recalibrate, old, old, HistogramBinning(n_bins=15)), quietly(cross_recalibrate, old, HistogramBinning(n_bins=15)), quietly(recalibrate, old, new, HistogramBinning(n_bins=15)))]
        gap.append([brier[1] - brier[0], brier[2] - brier[0], brier[1] - brier[2]])
    mean, error = np.mean(gap, axis=0), np.std(gap, axis=0) / 5
    assert mean[0] > 4 * error[0] and mean[1] > 4 * error[1] and abs(mean[2]) < 4 * error[2]


def test_import_of_the_package_needs_no_scikit_learn():
    import subprocess
    import sys

    code = "import sys; sys.modules['sklearn'] = None; import cwcal"
    subprocess.run([sys.executable, "-c", code], check=True)
