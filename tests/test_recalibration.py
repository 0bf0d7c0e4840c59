import pickle
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from cwcal.inputs import InputError, InputWarning
from cwcal.profile import Profile
from cwcal.recalibration.base import InSampleWarning, RecalibrationWarning
from cwcal.recalibration.beta import BetaCalibration
from cwcal.recalibration.dirichlet import DirichletCalibration, VectorScaling
from cwcal.recalibration.histogram import HistogramBinning, ScalingBinning
from cwcal.recalibration.isotonic import IsotonicCalibration
from cwcal.recalibration.platt import PlattScaling
from cwcal.recalibration.temperature import TemperatureScaling
from cwcal.recalibration.venn_abers import VennAbers
from tests.naive import recalibration as naive
from tests.vectors import NAMES, load

MAPS = [TemperatureScaling(), PlattScaling(), IsotonicCalibration(), BetaCalibration(), HistogramBinning(n_bins=8), HistogramBinning(n_bins=8, strategy="uniform"), ScalingBinning(n_bins=8),
        VectorScaling(), DirichletCalibration(), VennAbers(),
        *(m(target="top_label") for m in (PlattScaling, IsotonicCalibration, BetaCalibration, VennAbers)), VennAbers(target="top_label", merge="lower")]
NAMED = [str(m).replace("\n", "") for m in MAPS]
GRID = np.array([0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95])


def quietly(call, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecalibrationWarning)
        return call(*args, **kwargs)


def sample(seed, n=120, k=3, ties=False):
    "Overconfident probabilities with labels of all classes."
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * 2
    z = np.round(z) if ties else z
    y = (rng.random((n, 1)) > np.cumsum(softmax(z / 2, axis=1), axis=1)[:, :-1]).sum(axis=1)
    y[: 6 * k] = np.tile(np.arange(k), 6)
    return z, softmax(z, axis=1), y


# values of other implementations


def vector_rows(name):
    inputs = load(name)["inputs"]
    if inputs["kind"] == "multi":
        P, y = np.asarray(inputs["P"], float), np.asarray(inputs["y"])
        return P.max(axis=1), (P.argmax(axis=1) == y).astype(int), P, y
    p, y = (inputs["p"], inputs["y"]) if inputs["kind"] == "binary" else (inputs["conf"], inputs["correct"])
    return np.asarray(p, float), np.asarray(y).astype(int), None, None


def theirs(name, metric, who):
    for r in load(name)["results"]:
        if r["metric"] == metric and r["implementation"].startswith(who) and r["value"] is not None:
            if load(name)["inputs"]["kind"] != "multi" or str(r.get("on", "")).startswith("top-label"):
                return r["value"]
    pytest.skip("no value in this file")


def clipped(p):
    return np.clip(p, 1e-6, 1 - 1e-6)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("who", ["scikit-learn", "probcal", "calibstats", "probmetrics"])
def test_vectors_temperature(name, who):
    p, y, _, _ = vector_rows(name)
    want = theirs(name, "temperature T", who)
    fit = quietly(TemperatureScaling().fit, clipped(p), y)
    if fit.bound_hit_:
        assert want < 0.15 or want > 10  # the others stop somewhere on their way to the same end
    else:
        assert abs(fit.temperature_ / want - 1) < 1e-4


def test_vectors_temperature_of_three_classes():
    _, _, P, y = vector_rows("07_multi3" if "07_multi3" in NAMES else "absent")
    assert abs(quietly(TemperatureScaling().fit, P, y).temperature_ / 2.245130132174773 - 1) < 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_vectors_platt(name):
    p, y, _, _ = vector_rows(name)
    a, b = theirs(name, "Platt a,b on logit(p): P=1/(1+exp(a z+b))", "scikit-learn")
    fit = quietly(PlattScaling().fit, clipped(p), y)
    assert np.allclose(fit.predict_proba(GRID)[:, 1], expit(-(a * logit(GRID) + b)), rtol=0, atol=1e-4)
    if len(p) > 5:
        assert np.allclose([fit.maps_[0].slope, fit.maps_[0].intercept], [-a, -b], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_vectors_isotonic(name):
    p, y, _, _ = vector_rows(name)
    want = theirs(name, "isotonic map at .05,.2,.35,.5,.65,.8,.95", "scikit-learn")
    assert np.allclose(quietly(IsotonicCalibration().fit, p, y).predict_proba(GRID)[:, 1], want, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_vectors_beta(name):
    "probcal's is the constrained optimum; betacal stops early, and can return a negative slope."
    p, y, _, _ = vector_rows(name)
    want = theirs(name, "beta calibration abm", "probcal")
    if len(p) <= 4:
        pytest.skip("the scores separate the classes: there is no optimum to agree on")
    fit = quietly(BetaCalibration().fit, clipped(p), y)
    assert np.allclose(fit.predict_proba(GRID)[:, 1], want["map"], rtol=0, atol=1e-4)
    a, b, c = want["a,b,c"]
    assert np.allclose([fit.maps_[0].a or 0, fit.maps_[0].b or 0, fit.maps_[0].c], [a, b, c], rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("who", ["venn-abers", "probcal"])
def test_vectors_venn_abers(name, who):
    p, y, _, _ = vector_rows(name)
    want = theirs(name, "Venn-Abers at grid", who)
    fit = quietly(VennAbers().fit, p, y)
    assert np.allclose(fit.predict_proba(GRID)[:, 1], want["p"] if isinstance(want, dict) else want, rtol=0, atol=1e-9)
    if isinstance(want, dict):
        assert np.allclose(np.column_stack(fit.predict_interval(GRID)), want["p0p1"], rtol=0, atol=1e-9)


def test_vectors_weighted():
    data = load("15_weighted" if "15_weighted" in NAMES else "absent")
    p, y, w = (np.asarray(data["inputs"][k], float) for k in ("p", "y", "sample_weight"))
    t, (a, b) = theirs("15_weighted", "temperature T weighted", "scikit-learn"), theirs("15_weighted", "Platt a,b weighted", "scikit-learn")
    assert abs(TemperatureScaling().fit(clipped(p), y, w).temperature_ / t - 1) < 1e-4
    platt = PlattScaling().fit(clipped(p), y, w).maps_[0]
    assert np.allclose([platt.slope, platt.intercept], [-a, -b], rtol=1e-4, atol=1e-4)


class Score(ClassifierMixin, BaseEstimator):
    "A classifier whose features are its scores."

    def __init__(self, method="predict_proba"):
        self.method = method

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[X.argmax(axis=1)]

    def predict_proba(self, X):
        return X


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method, ours", [("sigmoid", PlattScaling(on="score")), ("isotonic", IsotonicCalibration()), ("temperature", TemperatureScaling())])
def test_equals_sklearn(method, ours, k, weighted):
    _, p, y = sample(k, n=400, k=k)
    w = np.random.default_rng(0).random(400) + 0.5 if weighted else None
    try:
        warnings.filterwarnings("ignore", message="Since FrozenEstimator")
        reference = CalibratedClassifierCV(FrozenEstimator(Score().fit(p, y)), method=method, ensemble=False).fit(p, y, sample_weight=w)
    except ValueError:
        pytest.skip("this scikit-learn has no temperature scaling")
    _, new, _ = sample(k + 10, n=300, k=k)
    assert np.allclose(quietly(clone(ours).fit, p, y, w).predict_proba(new), reference.predict_proba(new), rtol=0, atol=1e-5)


# naive twins


@pytest.mark.parametrize("seed", range(12))
def test_naive_temperature_and_platt(seed):
    z, _, y = sample(seed, n=25, k=2 + seed % 3, ties=seed % 2 == 0)
    w = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    assert abs(quietly(TemperatureScaling("logits").fit, z, y, w).temperature_ / naive.temperature(z.tolist(), y.tolist(), w.tolist()) - 1) < 1e-6
    s, event = z[:, 1] - z[:, 0], (y == 1).astype(int)
    fit = quietly(PlattScaling("logits").fit, s, event, w).maps_[0]
    assert np.allclose([fit.slope, fit.intercept], naive.platt(s.tolist(), event.tolist(), w.tolist()), atol=1e-7)


@pytest.mark.parametrize("seed", range(30))
def test_naive_histogram_and_venn_abers(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 14))
    p, y, w = rng.integers(0, 9, n) / 8, rng.integers(0, 2, n), rng.integers(1, 4, n).astype(float)
    at = np.arange(17) / 16
    binned = quietly(HistogramBinning(n_bins=5, strategy="uniform").fit, p, y, w).predict_proba(at)[:, 1]
    for got, want, s in zip(binned, naive.histogram(p.tolist(), y.tolist(), w.tolist(), 5, at.tolist()), at):
        assert abs(got - (s if want is None else want)) < 1e-13
    low, high = quietly(VennAbers().fit, p, y, w).predict_interval(at)
    assert np.allclose(np.column_stack([low, high]), naive.venn_abers(p.tolist(), y.tolist(), w.tolist(), at.tolist()), rtol=0, atol=1e-13)
    merged = quietly(VennAbers().fit, p, y, w).predict_proba(at)[:, 1]
    assert np.allclose(merged, high / (1 - low + high)) and np.all((merged > 0) & (merged < 1))


@pytest.mark.parametrize("map_", [IsotonicCalibration(), VennAbers(), BetaCalibration(), PlattScaling()], ids=str)
def test_naive_one_against_the_rest(map_):
    _, p, y = sample(3)
    columns = [quietly(clone(map_).fit, p[:, k], y == k).predict_proba(p[:, k])[:, 1] for k in range(3)]
    assert np.allclose(quietly(clone(map_).fit, p, y).predict_proba(p), naive.one_against_the_rest(columns, p), rtol=0, atol=1e-7)


@pytest.mark.parametrize("odir, mu", [(0.0, 0.0), (0.01, None), (1e-3, 0.1)])
def test_dirichlet_reaches_the_optimum(odir, mu):
    _, p, y = sample(8, n=150)
    fit = quietly(DirichletCalibration(odir=odir, mu=mu).fit, p, y)

    def objective(v):
        W, b = v[:9].reshape(3, 3), v[9:]
        eta = np.log(p) @ W.T + b
        off = W[~np.eye(3, dtype=bool)]
        return np.mean(np.log(np.exp(eta).sum(axis=1)) - eta[np.arange(150), y]) + odir * np.mean(off**2) + (odir if mu is None else mu) * np.mean(b**2)

    found = objective(np.r_[fit.matrix_.ravel(), fit.intercepts_])
    best = minimize(objective, np.r_[np.eye(3).ravel(), np.zeros(3)], method="BFGS", options={"gtol": 1e-7})
    assert found < best.fun + 1e-7


def test_scaling_binning_by_its_definition():
    _, p, y = sample(5, n=100, k=2)
    fit = quietly(ScalingBinning(n_bins=4).fit, p, y)
    value = quietly(PlattScaling().fit, p, y).predict_proba(p)[:, 1]
    got = fit.predict_proba(p)[:, 1]
    assert len(np.unique(got)) == 4
    for v in np.unique(got):
        assert abs(value[got == v].mean() - v) < 1e-12 and np.sum(got == v) == 25


# what every map must do


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
def test_estimator_conventions(map_):
    before = map_.get_params()
    _, p, y = sample(1)
    fit = quietly(clone(map_).fit, p, y)
    assert fit.get_params() == before and fit.classes_.tolist() == [0, 1, 2] and fit.n_features_in_ == 3
    again = pickle.loads(pickle.dumps(fit))
    assert np.array_equal(again.predict_proba(p), fit.predict_proba(p))
    assert np.array_equal(quietly(clone(fit).fit, p, y).predict_proba(p), fit.predict_proba(p))
    with pytest.raises(Exception, match="not fitted"):
        clone(fit).predict_proba(p)


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
@pytest.mark.parametrize("k", [2, 3, 6])
def test_rows_sum_to_one_and_are_never_nan_or_zero(map_, k):
    _, p, y = sample(2, k=k, ties=True)
    p[:k] = np.eye(k)
    p[k] = np.r_[0.5, 0.5, np.zeros(k - 2)]
    fit = quietly(clone(map_).fit, p, y)
    extreme = np.vstack([np.eye(k), np.full((1, k), 1 / k), p, [np.r_[1 - 1e-300, 1e-300, np.zeros(k - 2)]]])
    out = quietly(fit.predict_proba, extreme)
    assert np.all(np.isfinite(out)) and np.all(out >= 0) and np.allclose(out.sum(axis=1), 1, atol=1e-12)
    assert np.array_equal(fit.predict(extreme), extreme.argmax(axis=1))


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
@pytest.mark.parametrize("k", [2, 3])
def test_weights_are_frequencies(map_, k):
    _, p, y = sample(3, n=90, k=k)
    w = np.random.default_rng(0).integers(0, 3, 90)
    w[: 6 * k] = 1
    a, b = quietly(clone(map_).fit, p, y, w), quietly(clone(map_).fit, np.repeat(p, w, axis=0), np.repeat(y, w))
    assert np.allclose(a.predict_proba(p), b.predict_proba(p), rtol=0, atol=2e-5 if isinstance(map_, (VectorScaling, DirichletCalibration)) else 1e-8)


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
def test_row_order_column_order_and_class_names(map_):
    import pandas as pd

    _, p, y = sample(4)
    order = np.random.default_rng(1).permutation(len(y))
    fit, names = quietly(clone(map_).fit, p, y), np.array(["b", "not ok", "a"])
    tolerance = 5e-5 if isinstance(map_, (VectorScaling, DirichletCalibration)) else 1e-8
    assert np.allclose(quietly(clone(map_).fit, p[order], y[order]).predict_proba(p), fit.predict_proba(p), rtol=0, atol=tolerance)
    frame = pd.DataFrame(p, columns=names)
    named = quietly(clone(map_).fit, frame, names[y])
    assert named.classes_.tolist() == names.tolist()
    assert np.allclose(named.predict_proba(frame[["a", "b", "not ok"]]), fit.predict_proba(p), rtol=0, atol=tolerance)
    swapped = quietly(clone(map_).set_params(classes=["a", "b", "not ok"]).fit, p[:, [2, 0, 1]], names[y])
    assert np.allclose(swapped.predict_proba(p[:, [2, 0, 1]]), fit.predict_proba(p)[:, [2, 0, 1]], rtol=0, atol=tolerance)


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
def test_one_column_is_the_positive_class(map_):
    _, p, y = sample(5, k=2)
    one, two = quietly(clone(map_).fit, p[:, 1], y), quietly(clone(map_).fit, p, y)
    assert np.allclose(one.predict_proba(p[:, 1]), two.predict_proba(p), rtol=0, atol=1e-6)
    assert np.array_equal(one.predict_proba(p[:, [1]]), one.predict_proba(p[:, 1]))


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
@pytest.mark.parametrize("container", ["list", "float32", "pandas", "polars"])
def test_containers(map_, container):
    import pandas as pd
    import polars as pl

    _, p, y = sample(6)
    convert = {"list": lambda a: a.tolist(), "float32": lambda a: a.astype(np.float32), "pandas": pd.DataFrame, "polars": lambda a: pl.DataFrame(a, schema=["0", "1", "2"])}[container]
    fit, other = quietly(clone(map_).fit, p, y), quietly(clone(map_).fit, convert(p), y.tolist())
    assert np.allclose(other.predict_proba(convert(p)), fit.predict_proba(p), rtol=0, atol=0.02 if container == "float32" else 1e-12)


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
@pytest.mark.parametrize("kind", ["proba", "positive", "event", "logits", "confidence"])
def test_profiles_keep_the_prediction(map_, kind):
    z, p, y = sample(7, n=200, k=3 if kind in ("proba", "logits") else 2)
    build = {"proba": lambda r: Profile.from_proba(y[r], p[r]), "positive": lambda r: Profile.from_positive(y[r], p[r, 1]), "event": lambda r: Profile.from_event(y[r], p[r, 1]),
             "logits": lambda r: Profile.from_logits(y[r], z[r]), "confidence": lambda r: Profile.from_confidence(p[r].argmax(axis=1) == y[r], error_prob=p[r].min(axis=1))}[kind]
    old, new = build(slice(0, 100)), build(slice(100, 200))
    for m in (clone(map_), *([clone(map_).set_params(input="logits")] if kind == "logits" else [])):
        out = quietly(quietly(m.fit_profile, old).calibrate_profile, new)
        assert out.kind == new.kind and np.array_equal(out.correct, new.correct) and out.logits is None and out.log_error_prob is None
        assert (out.y_pred is None) == (new.y_pred is None) and (out.y_pred is None or np.array_equal(out.y_pred, new.y_pred))
        assert np.all((out.conf >= 0) & (out.conf <= 1)) and np.allclose(out.conf + out.error_prob, 1, atol=1e-12)
        if out.has_scores:
            k = np.ones(100, int) if kind == "event" else out.y_pred
            assert np.allclose(np.column_stack([out.scores(c) for c in range(out.n_classes)])[np.arange(100), k], out.conf)
        assert "recalibrated by" in out.notes[-1] or "recalibrated by" in "".join(out.notes)


def test_small_error_probabilities_survive():
    "Temperature and Platt keep 1 - conf where conf itself is 1."
    rng = np.random.default_rng(0)
    s = rng.normal(size=400) * 40
    y = (rng.random(400) < expit(s / 4)).astype(int)
    new = Profile.from_logits([1, 0], [300.0, -300.0])
    for map_ in (TemperatureScaling("logits"), PlattScaling("logits")):
        out = map_.fit(s, y).calibrate_profile(new)
        assert np.all(out.conf == 1) and np.all(out.error_prob > 0) and np.all(out.error_prob < 1e-17)


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
def test_pipeline(map_):
    _, p, y = sample(9)
    steps = make_pipeline(FunctionTransformer(lambda X: X / 8), clone(map_))
    quietly(steps.fit, p * 8, y)
    assert np.array_equal(steps.predict_proba(p * 8), quietly(clone(map_).fit, p, y).predict_proba(p))


# the bug reports


@pytest.mark.parametrize("size", [1.0, 1e3, 1e5, 1e9, 1e15])
@pytest.mark.parametrize("two_columns", [False, True])
def test_cal_01_huge_scores(size, two_columns):
    s, y = np.array([-1.0, -0.9, 1.0, 1.1]) * size, [0, 0, 1, 1]
    scores = np.column_stack([np.zeros(4), s]) if two_columns else s
    fit = quietly(PlattScaling("logits").fit, scores, y)
    p = fit.predict_proba(scores)[:, 1]
    assert np.all(np.diff(p) > 0) and fit.maps_[0].converged and np.all((p > 0) & (p < 1))
    assert np.allclose(p, quietly(PlattScaling("logits").fit, s / size, y).predict_proba(s / size)[:, 1], atol=1e-9)


@pytest.mark.parametrize("logits, y, bound", [([[1.0, 0.0], [1.0, 0.0]], [0, 1], "upper"), ([[4.0, 0.0], [0.0, 4.0]], [0, 1], "lower"), ([[4.0, 0.0], [0.0, 4.0]], [1, 0], "upper"),
                                              ([[3.0, 0.0, 0.0]] * 3, [0, 1, 2], "upper"), ([[900.0, 0.0], [0.0, 900.0]], [0, 1], "lower")])
@pytest.mark.parametrize("bounds", [(1e-3, 1e3), (0.05, 20.0)])
def test_cal_03_temperature_stops_at_its_cap(logits, y, bound, bounds):
    with pytest.warns(RecalibrationWarning, match=f"{bound} bound") as caught:
        fit = TemperatureScaling("logits", bounds=bounds).fit(logits, y)
    assert len(caught) == 1 and fit.bound_hit_ == bound and fit.temperature_ == bounds[bound == "upper"] and np.all(np.isfinite(fit.predict_proba(logits)))


def test_cal_03_equal_scores():
    with pytest.warns(RecalibrationWarning, match="no temperature changes anything"):
        assert TemperatureScaling("logits").fit([[2.0, 2.0]] * 4, [0, 1, 0, 1]).temperature_ == 1


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("spread", [0.1, 3, 30, 100])
def test_cal_05_logits_and_their_softmax(k, spread):
    rng = np.random.default_rng(k)
    z = rng.normal(size=(300, k)) * spread + rng.normal(size=(300, 1)) * 50
    y = (rng.random((300, 1)) > np.cumsum(softmax(z / spread, axis=1), axis=1)[:, :-1]).sum(axis=1)
    a, b = TemperatureScaling("logits").fit(z, y), TemperatureScaling().fit(softmax(z, axis=1), y)
    assert abs(a.temperature_ / b.temperature_ - 1) < 1e-6
    if k == 2:
        assert abs(TemperatureScaling("logits").fit(z[:, 1] - z[:, 0], y).temperature_ / a.temperature_ - 1) < 1e-9


def test_cal_05_zeros_are_counted():
    with pytest.warns(RecalibrationWarning, match="1 row with a probability of exactly 0, which counts as 1e-12") as caught:
        fit = TemperatureScaling().fit([[1.0, 0.0], [0.6, 0.4]], [0, 1])
    assert len(caught) == 1 and np.all(np.isfinite(fit.predict_proba([[1.0, 0.0], [0.0, 1.0]])))
    with pytest.warns(RecalibrationWarning, match="2 rows with a probability of exactly 0"):
        BetaCalibration().fit([0.0, 1.0, 0.3, 0.4], [0, 1, 0, 1])
    with pytest.raises(InputError, match="`scores` must lie in .*say input='logits'"):
        TemperatureScaling().fit([[3.0, -2.0], [0.6, 0.4]], [0, 1])
    with pytest.warns(RecalibrationWarning, match="look like probabilities"):
        TemperatureScaling("logits").fit([[0.9, 0.1], [0.6, 0.4]] * 5, [0, 1] * 5)
    with pytest.warns(RecalibrationWarning, match="1 row with a logit of -inf"):
        TemperatureScaling("logits").fit([[0.9, -np.inf], [0.6, 0.4]], [0, 1])


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3, 1e-300])
@pytest.mark.parametrize("y", [[0, 1, 0, 0], [1, 1, 0, 1, 1], [0, 1]])
def test_cal_06_constant_scores_give_the_base_rate(value, y):
    with pytest.warns(RecalibrationWarning, match="the scores are constant") as caught:
        fit = BetaCalibration().fit([value] * len(y), y)
    assert len(caught) == 1 and fit.maps_[0].a is None and fit.maps_[0].b is None
    assert np.allclose(fit.predict_proba([0.0, 0.5, 1.0])[:, 1], np.mean(y))
    for other in (IsotonicCalibration(), HistogramBinning()):
        assert np.allclose(quietly(other.fit, [value] * len(y), y).predict_proba([value])[:, 1], np.mean(y))


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
def test_cal_08_all_zero_row(map_):
    bad = [[0.9, 0.1], [0.0, 0.0], [0.2, 0.8]]
    with pytest.raises(InputError, match="`scores` must have rows that sum to 1 .*got 0 at row 1; the row is all zero") as caught:
        clone(map_).fit(bad, [0, 1, 1])
    assert caught.value.argument == "scores" and caught.value.rows.tolist() == [1]
    _, p, y = sample(1, k=2)
    with pytest.raises(InputError, match="row is all zero"):
        quietly(clone(map_).fit, p, y).predict_proba(bad)


@pytest.mark.parametrize("x, y, at, want", [([0.2, 0.4, 0.7], [0, 0, 1], [0.05, 0.95], [0.0, 1.0]), ([0.2, 0.4, 0.7], [1, 0, 1], [0.0, 1.0], [0.5, 1.0]), ([0.5], [1], [0.0, 1.0], [1.0, 1.0])])
def test_cal_10_isotonic_outside_its_range(x, y, at, want):
    with pytest.warns(RecalibrationWarning, match="exactly 0 and . of exactly 1: log loss and CSR"):
        fit = IsotonicCalibration().fit(x, y)
    assert fit.predict_proba(at)[:, 1].tolist() == want


def test_cal_10_flags_count_the_rows():
    fit = quietly(IsotonicCalibration().fit, [0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 0, 1, 0, 1, 1], [1, 1, 2, 1, 1, 1, 1])
    assert fit.maps_[0].n_at_zero == 4 and fit.maps_[0].n_at_one == 2
    assert "4 rows get a probability of exactly 0 and 2 of exactly 1" in "".join(fit.notes_)


@pytest.mark.parametrize("map_", [m for m in MAPS if getattr(m, "target", "") == "top_label"], ids=str)
def test_cal_11_class_stays_when_its_probability_falls(map_):
    rng = np.random.default_rng(1)
    p = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])[rng.integers(0, 2, 60)]
    y = (p.argmax(axis=1) + 1) % 3  # never right
    fit = quietly(clone(map_).fit, p, y)
    out = quietly(fit.calibrate_profile, Profile.from_proba([0, 1], [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]]))
    assert out.y_pred.tolist() == [0, 1] and out.correct.all() and np.all(out.conf < 0.1)
    assert np.allclose(quietly(fit.predict_proba, [[0.5, 0.3, 0.2]])[0, 1:] / (1 - out.conf[0]), [0.6, 0.4])
    assert fit.predict([[0.5, 0.3, 0.2]])[0] == 0


def test_all_classes_mapped_to_zero_keep_the_raw_row():
    p = np.array([[0.4, 0.35, 0.25]] * 8 + [[0.9, 0.05, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]] * 8)
    y = np.r_[[0, 1, 2, 0, 1, 2, 0, 1], np.tile([0, 1, 2], 8)]
    fit = quietly(HistogramBinning(n_bins=20, strategy="uniform").fit, p, y)
    for m in fit.maps_:
        m.value[np.searchsorted(m.edges[1:-1], [0.4, 0.35, 0.25], side="right")] = 0.0
    with pytest.warns(RecalibrationWarning, match="1 row kept the raw probabilities"):
        assert np.allclose(fit.predict_proba([[0.4, 0.35, 0.25]]), [[0.4, 0.35, 0.25]])


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
def test_cal_15_in_sample(map_):
    _, p, y = sample(1)
    fit, order = quietly(clone(map_).fit, p, y), np.random.default_rng(0).permutation(len(y))
    for rows in (slice(None), order):
        with pytest.warns(InSampleWarning, match="in-sample"):
            fit.score(p[rows], y[rows])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = fit.calibrate_profile(Profile.from_proba(y[rows], p[rows]))
        assert any(w.category is InSampleWarning for w in caught) and any(note.startswith("in-sample") for note in out.notes)
    quietly(fit.score, p[:50], y[:50])  # a part of them is not recognised, other rows are not accused
    assert issubclass(InSampleWarning, InputWarning)


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
@pytest.mark.parametrize("scores, y", [([0.6, 0.7, 0.9], [1, 1, 1]), ([0.6, 0.7, 0.9], [0, 0, 0]), ([0.5], [1]), ([0.0, 1.0], [1, 1]), ([[0.2, 0.3, 0.5]] * 3, [2, 2, 2])])
def test_cal_16_one_class(map_, scores, y):
    with pytest.warns(RecalibrationWarning, match="nothing tells the classes apart") as caught:
        fit = clone(map_).fit(scores, y)
    assert len(caught) == 1
    out = quietly(fit.predict_proba, scores)
    assert np.all(np.isfinite(out)) and np.allclose(out.sum(axis=1), 1)


@pytest.mark.parametrize("map_", [m for m in MAPS if getattr(m, "target", "class") == "class" and not isinstance(m, TemperatureScaling)], ids=str)
def test_rare_class_is_left_and_said(map_):
    z, p, y = sample(2, n=300, k=3)
    y[y == 2] = 0
    y[:3] = 2
    fit = quietly(clone(map_).fit, p, y)
    assert any("raw probability" in n and "class 2 has 3 rows" in n or "stay as they are: 2" in n for n in fit.notes_)
    if hasattr(fit, "maps_"):
        assert fit.maps_[2] is None and fit.maps_[0] is not None
    elif hasattr(fit, "matrix_"):
        assert fit.matrix_[2].tolist() == [0, 0, 1] and fit.intercepts_[2] == 0
    else:
        assert fit.slopes_[2] == 1 and fit.intercepts_[2] == 0


def test_notes_are_one_warning_and_kept():
    with pytest.warns(RecalibrationWarning) as caught:
        fit = IsotonicCalibration().fit([0.1, 0.5, 0.5, 0.9], [0, 1, 0, 1])
    assert len(caught) == 1 and all(note in str(caught[0].message) for note in fit.notes_) and len(fit.notes_) == 2
    _, p, y = sample(1, n=2000)
    assert TemperatureScaling().fit(p, y).notes_ == ()


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
@pytest.mark.parametrize("change, text, argument", [
    (dict(scores=[[0.5, np.nan, 0.5]] * 30), "`scores` must be finite", "scores"), (dict(scores=[[0.5, 0.2, 0.5]] * 30), "`scores` must have rows that sum to 1", "scores"), (dict(y=[0] * 29), "as many rows", "y"),
    (dict(y=[0, 1, 5] * 10), "`y` must hold one of the classes 0, 1, 2, got 5 at row 2", "y"), (dict(y=["x", "y", "z"] * 10), "`classes` must be given", "classes"), (dict(y=[0, 1, None] * 10), "`y` must hold", "y"),
    (dict(sample_weight=[1.0] * 29), "as many rows", "sample_weight"), (dict(sample_weight=[-1.0] * 30), "`sample_weight` must not be negative", "sample_weight"), (dict(sample_weight=[0.0] * 30), "not sum to 0", "sample_weight"),
    (dict(scores=np.zeros((0, 3)), y=[]), "at least one row", "scores"), (dict(scores=[["a", "b", "c"]] * 30), "must hold numbers", "scores"), (dict(scores=np.ones((30, 3, 1)) / 3), "shape", "scores")])
def test_bad_input(map_, change, text, argument):
    given = dict(scores=[[0.5, 0.3, 0.2]] * 30, y=[0, 1, 2] * 10) | change
    with pytest.raises(InputError, match=text) as caught:
        clone(map_).fit(**given)
    assert caught.value.argument == argument


@pytest.mark.parametrize("map_", MAPS, ids=NAMED)
def test_bad_parameters(map_):
    _, p, y = sample(1)
    for name, value in (("input", "odds"), ("classes", ["a", "b"]), ("target", "all"), ("on", "x"), ("n_bins", 0), ("strategy", "x"), ("bounds", (0, 1)), ("l2", -1), ("odir", np.inf), ("merge", "x")):
        if name in map_.get_params():
            with pytest.raises(InputError, match=f"`{name}` must"):
                quietly(clone(map_).set_params(**{name: value}).fit, p, y)


def test_wrong_columns_and_classes():
    _, p, y = sample(1)
    fit = quietly(TemperatureScaling().fit, p, y)
    with pytest.raises(InputError, match="must have 3 columns as in fit, got 2"):
        fit.predict_proba(p[:, :2] / p[:, :2].sum(axis=1, keepdims=True))
    with pytest.raises(InputError, match="must have the classes that were fitted"):
        fit.calibrate_profile(Profile.from_positive([0, 1], [0.2, 0.8]))
    with pytest.raises(InputError, match="name both labels, the positive one last"):
        TemperatureScaling().fit([0.2, 0.4], ["no", "yes"])
    assert quietly(TemperatureScaling(classes=["no", "yes"]).fit, [0.2, 0.4, 0.9], ["no", "yes", "yes"]).predict([0.9, 0.1]).tolist() == ["yes", "no"]


# propositions


def test_temperature_keeps_the_order_in_a_row_and_its_ties():
    z, _, y = sample(11, n=500, k=5, ties=True)
    for factor in (0.1, 1, 10):
        fit = TemperatureScaling("logits").fit(z * factor, y)
        out = fit.predict_proba(z * factor)
        assert np.array_equal(np.sign(z[:, :, None] - z[:, None, :]), np.sign(out[:, :, None] - out[:, None, :]))


@pytest.mark.parametrize("map_", [TemperatureScaling(), PlattScaling(), IsotonicCalibration(), BetaCalibration(), ScalingBinning(n_bins=7), VennAbers()], ids=str)
def test_monotone_for_two_classes(map_):
    _, p, y = sample(12, n=300, k=2)
    grid = np.r_[0.0, np.sort(np.random.default_rng(0).random(500)), 1.0]
    out = quietly(clone(map_).fit, p, y).predict_proba(grid)[:, 1]
    assert np.all(np.diff(out) >= 0)


def test_isotonic_is_sklearn_where_scores_are_one_column():
    _, p, y = sample(13, n=200, k=2, ties=True)
    fit, reference = quietly(IsotonicCalibration().fit, p[:, 1], y), IsotonicRegression(out_of_bounds="clip").fit(p[:, 1], y)
    grid = np.linspace(0, 1, 333)
    assert np.array_equal(fit.predict_proba(grid)[:, 1], reference.predict(grid))


@pytest.mark.slow
def test_expected_csr_of_the_lower_probability():
    rng = np.random.default_rng(3)
    terms = []
    for _ in range(1500):
        c, right = (lambda c: (c, rng.random(15) < c**2))(1 - rng.beta(0.5, 3, 15))
        old = Profile.from_confidence(right, error_prob=1 - c)
        c, right = (lambda c: (c, rng.random(15) < c**2))(1 - rng.beta(0.5, 3, 15))
        out = quietly(quietly(VennAbers(target="top_label", merge="lower").fit_profile, old).calibrate_profile, Profile.from_confidence(right, error_prob=1 - c))
        terms.append(np.mean(~out.correct / np.maximum(out.error_prob, 1e-8)))
    assert np.mean(terms) < 1 + 4 * np.std(terms) / np.sqrt(len(terms))
