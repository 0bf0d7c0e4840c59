"""The common property matrix: every registered metric, for every kind of profile it takes, against every property."""
import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cwcal.inputs import InputError, PrecisionWarning
from cwcal.profile import Profile
from cwcal.reporting.registry import METRICS, Metric, available, compute, compute_interval, metric, metrics_table, why_not

CASES = [pytest.param(m, kind, id=f"{m.name}-{kind}") for m in METRICS for kind in m.kinds]
WEIGHTED = [pytest.param(m, kind, id=f"{m.name}-{kind}") for m in METRICS for kind in m.kinds if m.weighted]
UNWEIGHTED = [pytest.param(m, kind, id=f"{m.name}-{kind}") for m in METRICS for kind in m.kinds if not m.weighted]
each = pytest.mark.parametrize("m, kind", CASES)
N, K = 60, 3


def data(kind, seed=3, n=N):
    "(labels, probabilities): three classes for the predicted class, one column for an event."
    rng = np.random.default_rng(seed)
    if kind == "event":
        p = rng.beta(0.8, 0.8, n)
        return (rng.random(n) < 0.2 + 0.6 * p).astype(int), p
    proba = rng.dirichlet([0.7] * K, n)
    y = np.array([rng.choice(K, p=0.7 * row / row.sum() + 0.3 / K) for row in proba])
    return y, proba


def build(kind, y, p, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        return Profile.from_event(y, p, pos_label=more.pop("pos_label", 1), **more) if kind == "event" else Profile.from_proba(y, p, classes=more.pop("classes", range(K)), **more)


@pytest.fixture(scope="module")
def base():
    "Per kind: labels, probabilities, profile."
    return {kind: (*data(kind), build(kind, *data(kind))) for kind in ("top_label", "event")}


def value(m, p):
    out, reason = compute(m, p)
    assert type(out) is float
    assert math.isfinite(out) or reason, "NaN and infinity come with a reason"
    return out


def same(a, b, rel=1e-9):
    assert a == pytest.approx(b, rel=rel, abs=1e-12, nan_ok=True)


@each
def test_is_defined_on_an_ordinary_profile(m, kind, base):
    assert math.isfinite(value(m, base[kind][2]))


@each
def test_returns_a_plain_float(m, kind, base):
    assert type(m.function(base[kind][2])) is float


@each
def test_row_order(m, kind, base):
    y, proba, p = base[kind]
    order = np.random.default_rng(0).permutation(N)
    same(value(m, build(kind, y[order], proba[order])), value(m, p))


@each
def test_row_order_with_ties(m, kind):
    y, proba = data(kind, seed=9)
    proba = np.round(proba * 4) / 4
    proba = proba if kind == "event" else np.where(proba.sum(1, keepdims=True) == 1, proba, [0.5, 0.25, 0.25])
    order = np.random.default_rng(1).permutation(N)
    same(value(m, build(kind, y[order], proba[order])), value(m, build(kind, y, proba)))


@pytest.mark.parametrize("m, kind", WEIGHTED)
def test_weight_0_is_the_row_left_out(m, kind, base):
    y, proba, _ = base[kind]
    keep = np.arange(N) % 5 > 0
    same(value(m, build(kind, y, proba, sample_weight=keep.astype(float))), value(m, build(kind, y[keep], proba[keep])))


@pytest.mark.parametrize("m, kind", WEIGHTED)
def test_weight_0_hides_extreme_rows(m, kind, base):
    y, proba, p = base[kind]
    extreme = np.array([0.0, 1.0]) if kind == "event" else np.eye(K)[[0, 1]]
    labels, weights = np.array([1, 0]), np.r_[np.ones(N), 0.0, 0.0]  # both as wrong as can be
    same(value(m, build(kind, np.r_[y, labels], np.concatenate([proba, extreme]), sample_weight=weights)), value(m, p))


@pytest.mark.parametrize("m, kind", WEIGHTED)
def test_weight_2_is_the_row_twice(m, kind, base):
    y, proba, _ = base[kind]
    w = 1 + np.arange(N) % 3
    same(value(m, build(kind, y, proba, sample_weight=w)), value(m, build(kind, np.repeat(y, w), np.repeat(proba, w, axis=0))))


@pytest.mark.parametrize("m, kind", WEIGHTED)
def test_weight_1_changes_nothing(m, kind, base):
    y, proba, p = base[kind]
    same(value(m, build(kind, y, proba, sample_weight=np.ones(N))), value(m, p))


@pytest.mark.parametrize("m, kind", UNWEIGHTED)
def test_weights_are_refused_by_name(m, kind, base):
    y, proba, _ = base[kind]
    with pytest.raises(InputError, match="sample_weight") as caught:
        m.function(build(kind, y, proba, sample_weight=np.ones(N)))
    assert caught.value.argument == "sample_weight"
    assert m not in available(build(kind, y, proba, sample_weight=np.ones(N)))


@each
def test_float32_input(m, kind, base):
    y, proba, p = base[kind]
    assert value(m, build(kind, y, proba.astype(np.float32))) == pytest.approx(value(m, p), rel=2e-4, abs=2e-5)


@pytest.mark.parametrize("container", ["list", "pandas", "polars", "pyarrow"])
@each
def test_container(m, kind, container, base):
    y, proba, p = base[kind]
    columns = {str(k): proba[:, k] for k in range(K)} if kind != "event" else None
    if container == "list":
        given = y.tolist(), proba.tolist()
    elif container == "pandas":
        given = pd.Series(y), pd.Series(proba) if kind == "event" else pd.DataFrame(columns)
    elif container == "polars":
        given = pl.Series(y), pl.Series(proba) if kind == "event" else pl.DataFrame(columns)
    else:
        given = pa.array(y), pa.array(proba) if kind == "event" else pa.table(columns)
    assert value(m, build(kind, *given)) == value(m, p)


@each
def test_label_names(m, kind, base):
    y, proba, p = base[kind]
    names = ["no", "<b>yes</b>"] if kind == "event" else ["zebra", "", "if"]
    text = np.array(names, dtype=object)[y]
    named = build(kind, text, proba, pos_label=names[1]) if kind == "event" else build(kind, text, proba, classes=names)
    assert value(m, named) == value(m, p)


@pytest.mark.parametrize("m", [m for m in METRICS if "top_label" in m.kinds], ids=lambda m: m.name)
def test_column_order(m, base):
    y, proba, p = base["top_label"]
    order = [2, 0, 1]
    same(value(m, build("top_label", y, proba[:, order], classes=order)), value(m, p))


@each
def test_confidences_of_exactly_0_and_1(m, kind, base):
    y, proba, _ = base[kind]
    ends = np.array([0.0, 0.0, 1.0, 1.0]) if kind == "event" else np.eye(K)[[0, 0, 1, 1]]
    p = build(kind, np.r_[y, 0, 1, 0, 1], np.concatenate([proba, ends]))
    assert not math.isnan(value(m, p))


@pytest.mark.parametrize("m", [m for m in METRICS if not m.needs and "top_label" in m.kinds], ids=lambda m: m.name)
def test_confidence_profile_gives_the_value_of_the_class_profile(m, base):
    p = base["top_label"][2]
    if why_not(m, bare := Profile.from_confidence(p.correct, error_prob=p.error_prob)) is None:
        same(value(m, bare), value(m, p))


@pytest.mark.parametrize("rows", ["one right", "one wrong", "all right", "all wrong", "all certain and right", "all certain and wrong", "one value"])
@each
def test_degenerate_profiles_give_a_number_or_a_reason(m, kind, rows, base):
    y, proba, _ = base[kind]
    best = (proba > 0.5).astype(int) if kind == "event" else proba.argmax(1)
    other = 1 - best if kind == "event" else (best + 1) % K
    sure = best.astype(float) if kind == "event" else np.eye(K)[best]
    flat = np.full_like(proba, 0.75) if kind == "event" else np.full_like(proba, 0.25) + 0.25 * np.eye(K)[0]
    labels, p = {"one right": (best[:1], proba[:1]), "one wrong": (other[:1], proba[:1]), "all right": (best, proba), "all wrong": (other, proba),
                 "all certain and right": (best, sure), "all certain and wrong": (other, sure), "one value": (y, flat)}[rows]
    value(m, build(kind, labels, p))


@each
def test_interval_holds_the_value(m, kind, base):
    p = base[kind][2]
    v = value(m, p)
    se, low, high = compute_interval(m, p, v)
    assert math.isnan(low) == math.isnan(high)
    if m.se is not None:
        assert 0 < se < 1
    if not math.isnan(low):
        assert m.bounds[0] <= low <= v <= high <= m.bounds[1]


@pytest.mark.parametrize("m, kind", [c for c in CASES if c.values[0].se is not None and c.values[0].weighted])
def test_standard_error_counts_weights_as_rows(m, kind, base):
    y, proba, _ = base[kind]
    w = 1 + np.arange(N) % 3
    same(m.se(build(kind, y, proba, sample_weight=w)), m.se(build(kind, np.repeat(y, w), np.repeat(proba, w, axis=0))))


@pytest.mark.parametrize("m", METRICS, ids=lambda m: m.name)
def test_refuses_what_its_row_says_it_cannot_take(m, base):
    bare = Profile.from_confidence([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.6])
    for p in (base["event"][2], base["top_label"][2], bare):
        if why_not(m, p) is None:
            value(m, p)
        else:
            with pytest.raises(InputError):
                m.function(p)


@pytest.mark.parametrize("m", METRICS, ids=lambda m: m.name)
def test_rows_are_well_formed(m):
    assert m.name.isidentifier() and m.name == m.name.lower() and m.label and m.source
    assert m.direction in ("lower", "higher", "target", "none") and m.group in ("headline", "also computed")
    assert m.kinds and set(m.kinds) <= {"top_label", "event"} and set(m.needs) <= {"labels", "scores"}
    assert m.page.startswith(("metrics/", "decisions/")) and (m.direction != "target" or m.best is not None)
    assert metric(m.name) is m


def test_names_and_labels_are_unique():
    assert len({m.name for m in METRICS}) == len({m.label for m in METRICS}) == len(METRICS)


def test_unknown_name_shows_the_nearest():
    with pytest.raises(InputError, match="risk_probability"):
        metric("risk_probabilty")


def test_compute_takes_rows_that_are_not_registered():
    p = Profile.from_confidence([1, 0], [0.9, 0.8])
    m = Metric("gap", "gap", lambda p: np.float64(p.mean(p.conf) - p.mean(p.correct)), 0.0, "target", ("top_label",), source="here")
    assert compute(m, p) == (pytest.approx(0.35), None)
    out, reason = compute(Metric("inf", "inf", lambda p: float("inf"), 0.0, "lower", ("top_label",)), p)
    assert math.isinf(out) and reason == "the value is infinite"


def test_compute_lets_other_warnings_pass():
    def warned(p):
        warnings.warn("look here", UserWarning)
        return 1.0

    with pytest.warns(UserWarning, match="look here"):
        assert compute(Metric("w", "w", warned, 1.0, "target", ("top_label",)), Profile.from_confidence([1], [0.9])) == (1.0, None)


def test_available_by_profile():
    bare = available(Profile.from_confidence([1, 0], [0.9, 0.8]))
    assert {"csr", "risk_probability"} <= {m.name for m in bare} and not any(m.needs for m in bare)
    event = available(Profile.from_event([1, 0], [0.9, 0.2]))
    assert all("event" in m.kinds for m in event)
    with pytest.raises(InputError, match="takes a Profile first"):
        available([0.9])


def test_table_is_the_registry():
    table = metrics_table()
    assert table["name"].tolist() == [m.name for m in METRICS] and table.shape[0] == len(METRICS)
