"""The pieces of the validation protocol, and the two experiments that are made of them."""
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from scipy.stats import kstest, ttest_rel

from cwcal.inputs import InputError
from cwcal.lab import protocol
from cwcal.lab.protocol import (
    METHODS, PARTS, SHIPPED, accuracy_bounds, deferral_table, encoded, fit_logits, fit_maps, group_table, groups_of, input_alarm, label_arrival, load_rows, method_profile, paired_difference,
    protocol_parts, protocol_predictions, reliability_row, row_losses, score_table, shift_piece,
)
from cwcal.lab.runner import describe, run_experiment
from cwcal.profile import Profile

PLAN = dict(dataset="wine_cultivars", shift="alcohol", max_rows=0, data_home="", model="logistic", shares=[0.4, 0.2, 0.15, 0.25], odir=[0.1, 1.0], missing_rate=0.1, delayed_rate=0.2, feedback="random", group_by="hue", rep=0)


@pytest.fixture(scope="module")
def frame():
    return protocol_predictions(**PLAN, seed_sequence=np.random.SeedSequence(5))


def made(y, raw, temperature, dirichlet, arrival=None, group="all", part="evaluation"):
    "A frame as protocol_predictions returns it, from arrays."
    columns = {f"{m}_{k}": p[:, k] for m, p in zip(METHODS, map(np.asarray, (raw, temperature, dirichlet))) for k in range(np.shape(raw)[1])}
    return pd.DataFrame({"rep": 0, "row": np.arange(len(y)), "part": part, "y": y, "arrival": arrival or "known", "group": group, **columns})


@pytest.mark.parametrize("name, shift", [(n, s) for n, shifts in SHIPPED.items() for s in shifts])
def test_shipped_shifts_are_what_they_say(name, shift):
    rows = load_rows(name, shift)
    assert len(rows.X) == len(rows.codes) == len(rows.shifted) and set(rows.codes) == set(range(len(rows.classes)))
    inside, outside = rows.X[~rows.shifted], rows.X[rows.shifted]
    column = {"writers": None, "ink": None, "texture": "mean texture", "smoothness": "mean smoothness"}.get(shift, shift)
    if shift == "writers":
        assert inside.index.max() < outside.index.min()
    else:
        low, high = (x.mean(axis=1) if column is None else x[column] for x in (inside, outside))
        assert low.max() < high.min()


def test_labels_of_shipped_data():
    from sklearn.datasets import load_diabetes, load_wine

    assert np.array_equal(load_rows("wine_cultivars", "alcohol").codes, load_wine().target)
    rows = load_rows("diabetes_progression", "sex")
    assert rows.classes == ("faster", "slower") and np.array_equal(rows.codes == 0, load_diabetes().target > 140)


@pytest.mark.parametrize("control", ["none", "outcomes"])
def test_controls_leave_the_inputs(control):
    plain, rows = load_rows("digits", "ink"), load_rows("digits", control, rng=3, redrawn=0.5)
    assert rows.X.equals(plain.X) and rows.shifted.sum() == 1797 // 3
    moved = rows.codes != plain.codes
    assert not moved[~rows.shifted].any() and moved.any() == (control == "outcomes")
    if control == "outcomes":  # half of the labels redrawn, nine of ten of these to another class
        assert abs(moved[rows.shifted].mean() - 0.5 * 0.9) < 5 * (0.45 * 0.55 / 599) ** 0.5


def test_parts():
    rng = np.random.default_rng(0)
    codes, shifted = np.r_[np.repeat([0, 1], 200), [2, 3, 3, 4]], np.r_[np.tile([True, False, False, False, False], 80), [False, False, False, True]]
    part = protocol_parts(codes, shifted, [0.4, 0.2, 0.15, 0.25], rng)
    assert set(part) == set(PARTS) and np.array_equal(part == "shifted", shifted)
    for k in (0, 1):
        assert [np.sum((part == p) & (codes == k)) for p in PARTS] == [64, 32, 24, 40, 40]
    assert (part[codes == 2] != "shifted").all() and len(part) == 404
    for shares in ([0.5, 0.5], [0.4, 0.2, 0.15, 0.3], [1.0, 0.0, 0.0, 0.0]):
        with pytest.raises(InputError, match="`shares` must be four positive numbers with the sum 1"):
            protocol_parts(codes, shifted, shares, rng)


@pytest.mark.parametrize("feedback", ["random", "selective"])
def test_label_arrival(feedback):
    doubt = np.random.default_rng(1).random(30000)
    arrival = label_arrival(doubt, 0.3, 0.2, feedback, np.random.default_rng(2))
    assert abs(np.mean(arrival == "missing") - 0.3) < 5 * (0.21 / 30000) ** 0.5 and abs(np.mean(arrival == "delayed") - 0.2) < 5 * (0.16 / 30000) ** 0.5
    upper = np.mean(arrival[doubt > 0.5] == "missing")  # selective: the mean of 0.6 r over r in (0.5, 1) is 0.45
    assert abs(upper - (0.45 if feedback == "selective" else 0.3)) < 5 * (0.25 / 15000) ** 0.5
    assert (label_arrival(doubt, 0.0, 0.0, feedback, np.random.default_rng(2)) == "known").all()


@pytest.mark.parametrize("model", ["logistic", "xgboost"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_logits_of_every_class(model, n_classes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 300)
    y[y == 1] = 3 if n_classes == 4 else 1  # with four classes the second one is never seen
    X = pd.DataFrame(rng.normal(size=(300, 3)) + y[:, None])
    z = fit_logits(X, y, n_classes, model, 0)(X)
    assert z.shape == (300, n_classes) and np.isfinite(z).all()
    if n_classes == 4:
        assert softmax(z, axis=1)[:, 1].max() <= 1e-12 * 1.001
    if model == "logistic":
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        scaled = StandardScaler().fit_transform(X)
        assert np.allclose(softmax(z, axis=1)[:, np.unique(y)], LogisticRegression(max_iter=2000).fit(scaled, y).predict_proba(scaled), atol=1e-6)
    with pytest.raises(InputError, match="at least two classes to train on, got 1"):
        fit_logits(X, np.zeros(300, int), n_classes, model, 0)


def test_maps():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 3, 900)
    z = 4 * (np.eye(3)[y] + rng.normal(0, 0.7, (900, 3)))
    fit, select = np.arange(900) < 400, (np.arange(900) >= 400) & (np.arange(900) < 650)
    proba, temperature, best, notes = fit_maps(z, y, fit, select, [1e-3, 1e3])
    assert temperature > 1 and best in (1e-3, 1e3) and np.array_equal(proba["raw"], softmax(z, axis=1))
    assert np.array_equal(proba["temperature"].argmax(1), z.argmax(1)) and np.allclose(proba["temperature"], softmax(z / temperature, axis=1))
    for m in METHODS:
        assert row_losses(proba[m][fit], y[fit]).mean() <= row_losses(proba["raw"][fit], y[fit]).mean() + 1e-9
    for odir in (1e-3, 1e3):  # the penalty kept has the smaller loss on the selection rows
        other = fit_maps(z, y, fit, select, [odir])[0]["dirichlet"]
        assert row_losses(proba["dirichlet"][select], y[select]).mean() <= row_losses(other[select], y[select]).mean() + 1e-12


def test_predictions(frame):
    assert len(frame) == 178 and set(frame.part) == set(PARTS) and (frame.row == np.arange(178)).all()
    assert (frame.arrival[frame.part == "train"] == "known").all() and set(frame.arrival) == {"known", "delayed", "missing"}
    for m in METHODS:
        p = protocol.probabilities(frame, m)
        assert p.shape == (178, 3) and np.allclose(p.sum(1), 1) and (p >= 0).all()
    again = protocol_predictions(**PLAN, seed_sequence=np.random.SeedSequence(5))
    pd.testing.assert_frame_equal(again, frame)
    assert not protocol_predictions(**PLAN, seed_sequence=np.random.SeedSequence(6)).part.equals(frame.part)


def test_nothing_is_dropped_in_silence(frame):
    f = frame[frame.part == "shifted"]
    for labels, seen in (("known", ["known"]), ("later", ["known", "delayed"]), ("all", ["known", "delayed", "missing"])):
        p = method_profile(f, "dirichlet", labels)
        rows = f.arrival.isin(seen).to_numpy()
        assert p.n == rows.sum() and p.n_dropped == (~rows).sum() and np.array_equal(p.y_true, f.y[rows])
    table = score_table(frame)
    assert (table.n + table.unlabelled == table.part.map(frame.part.value_counts())).all()
    groups = group_table(frame, 0.1, methods=("raw",))
    whole = groups[groups.which == "all"]
    assert (whole.groupby("part").n.sum() + whole.groupby("part").unlabelled.sum() == frame.part.value_counts()[["evaluation", "shifted"]]).all()


def test_bounds_are_sharp():
    y = np.array([0, 1, 1, 0, 1])
    proba = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.1, 0.9]])
    arrival = ["known", "known", "missing", "delayed", "known"]
    f = made(y, proba, proba, proba, arrival)
    predicted = proba.argmax(1)
    for labels, seen in (("known", [0, 1, 4]), ("later", [0, 1, 3, 4])):
        hidden = [i for i in range(5) if i not in seen]
        possible = []
        for values in product((0, 1), repeat=len(hidden)):
            full = y.copy()
            full[hidden] = values
            possible.append(np.mean(predicted == full))
        b = accuracy_bounds(f, "raw", labels)
        assert (b["lowest"], b["highest"]) == (min(possible), max(possible)) and b["unlabelled"] == len(hidden) and b["accuracy"] == np.mean(predicted[seen] == y[seen])


def test_deferral_against_a_loop():
    rng = np.random.default_rng(7)
    conf = np.round(rng.random(80) * 0.5 + 0.5, 2)
    p = Profile.from_confidence(rng.random(80) < conf, conf)
    costs = [0.01, 0.1, 0.25, 0.5, 0.9]
    table = deferral_table(p, costs, min_rows=5)
    for d, line in zip(costs, table.itertuples()):
        paid = [(0.0 if right else 1.0) if q <= d else d for right, q in zip(p.correct, p.error_prob)]
        assert np.isclose(line.cost, np.mean(paid)) and np.isclose(line.cost_se, np.std(paid) / 80**0.5) and line.answered == sum(q <= d for q in p.error_prob)
        if line.answered < 5:
            assert line.verdict == "too few" and np.isnan(line.csr)
    assert (np.diff(table.coverage) >= 0).all() and table.coverage.iloc[-1] == 1 and np.isclose(table.cost.iloc[-1], table.cost_answer_all.iloc[-1])


def test_deferral_rule_is_the_cheapest_when_calibrated():
    "Among all thresholds, 1 - d has the smallest expected cost when the confidences are right."
    conf = np.linspace(0.5, 0.99, 50)
    for d in (0.05, 0.2, 0.37):
        expected = {t: np.mean(np.where(conf >= t, 1 - conf, d)) for t in np.r_[0.0, conf + 1e-9, 1 - d]}
        assert min(expected.values()) >= expected[1 - d] - 1e-12


def test_reliability_row():
    p = Profile.from_confidence([1] * 60 + [0] * 40, [0.9] * 100)
    line = reliability_row(p)
    assert line["verdict"] == "confidence too high" and line["errors"] == 40 and np.isclose(line["csr"], 4) and np.isclose(line["gap"], 0.3) and line["p_risk"] > 0.999
    assert reliability_row(Profile.from_confidence([1] * 99 + [0], [0.6] * 100))["verdict"] == "confidence too low"
    few = reliability_row(p, min_rows=101)
    assert few["verdict"] == "too few" and few["n"] == 100 and np.isnan([v for k, v in few.items() if k not in ("n", "verdict")]).all()


def test_paired_difference():
    rng = np.random.default_rng(0)
    a, b = rng.random(50), rng.random(50)
    d, t = paired_difference(a, b), ttest_rel(a, b)
    assert np.isclose(d["difference"] / d["se"], t.statistic)
    assert paired_difference(a, a + 1)["verdict"] == "better" and paired_difference(a + 1, a)["verdict"] == "worse" and paired_difference([1.0], [2.0])["verdict"] == "not told apart"


def test_scores_by_hand():
    y = [0, 1, 1, 0]
    raw = np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7], [0.4, 0.6]])
    flat, moved = np.full((4, 2), 0.5) + np.array([[0.1, -0.1], [0.1, -0.1], [-0.1, 0.1], [-0.1, 0.1]]), np.array([[0.7, 0.3], [0.4, 0.6], [0.6, 0.4], [0.3, 0.7]])
    table = score_table(made(y, raw, flat, moved)).set_index("method")
    assert np.isclose(table.log_loss["raw"], -np.mean(np.log([0.8, 0.4, 0.7, 0.4]))) and np.isclose(table.brier["raw"], np.mean([0.08, 0.72, 0.18, 0.72]))
    assert table.loc["dirichlet", ["changed", "repaired", "broken"]].tolist() == [2, 1, 1] and table.changed["temperature"] == 0
    assert np.isclose(table.log_loss_less_raw["dirichlet"], table.log_loss["dirichlet"] - table.log_loss["raw"])


def test_groups():
    X = pd.DataFrame({"sex": [1, 2, 2, 1], "age": [30, 40, 50, 60]})
    assert groups_of(X, "sex").tolist() == ["sex = 1", "sex = 2", "sex = 2", "sex = 1"] and set(groups_of(X, "")) == {"all"}
    wide = pd.DataFrame({"age": range(20)})
    assert [g.split()[1] for g in groups_of(wide, "age")] == ["<="] * 10 + [">"] * 10


def test_encoding():
    X = pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["x", None], categories=["x", "y"]), "flag": [True, False]})
    out = encoded(X)
    assert out.columns.tolist() == ["a", "flag", "b_x", "b_y"] and out.to_numpy().tolist() == [[1, 1, 1, 0], [2, 0, 0, 0]]
    many = pd.DataFrame({"text": [f"t{i}" for i in range(60)], "x": range(60)})
    assert encoded(many).columns.tolist() == ["x"]


def test_alarm_is_level_where_nothing_moved():
    rng = np.random.default_rng(11)
    p = [input_alarm(pd.DataFrame(rng.normal(size=(60, 2))), pd.DataFrame(rng.normal(size=(60, 2))), rng)[1] for _ in range(60)]
    assert kstest(p, "uniform").pvalue > 1e-4
    area, p_moved = input_alarm(pd.DataFrame(rng.normal(size=(200, 2))), pd.DataFrame(rng.normal(1.5, 1, size=(200, 2))), rng)
    assert area > 0.85 and p_moved < 1e-10


def test_shift_piece():
    piece = dict(dataset="diabetes_progression", shift="outcomes", max_rows=0, data_home="", model="logistic", shares=[0.35, 0.3, 0.05, 0.3], redrawn=1.0, n_bins=5, rep=0)
    f = shift_piece(**piece, seed_sequence=np.random.SeedSequence(1))
    assert f.method.tolist() == ["raw", "temperature"] and (f.n_out == 442 // 3).all() and (f.unseen_rows == 0).all()
    assert np.allclose(f.mean_conf_out - f.mean_conf_in, f.d_conf) and (f.n_equal == np.minimum(f.n_in, f.n_out)).all()
    assert (f.accuracy_in == f.accuracy_in[0]).all() and (f.accuracy_out < 0.6).all()  # labels drawn without looking at the inputs
    pd.testing.assert_frame_equal(f, shift_piece(**piece, seed_sequence=np.random.SeedSequence(1)))


def test_lab_data(monkeypatch):
    home = Path(__file__).parents[2] / "shared" / "data"
    if not (home / "obesity.parquet").is_file():
        pytest.skip("the prepared data sets are not beside the repository")
    rows = load_rows("obesity", "age", data_home=str(home))
    assert len(rows.X) == 2111 and rows.X.shape[1] == 31 and len(rows.classes) == 7 and rows.shifted.sum() == (rows.X["Age"] > 25).sum()
    small = load_rows("obesity", "age", max_rows=700, data_home=str(home))
    assert len(small.X) == 700 and "700 rows drawn" in small.label and any("700 of 2,111" in n for n in small.notes)
    monkeypatch.setenv("CWCAL_DATA_HOME", str(home))
    assert len(load_rows("wine", "colour").X) == 6497


def test_bad_arguments():
    for args, message in ((("digits", "ink", dict(max_rows=100)), "`max_rows` must be 0 for digits"), (("digits", "colour", {}), "`shift` must be one of writers, ink, none, outcomes"), (("digit", "ink", {}), "digit")):
        with pytest.raises(InputError, match=message):
            load_rows(*args[:2], **args[2])


def test_parameters_of_the_experiments():
    "Every parameter file fits its notebook; the plan is part of the parameters."
    from cwcal.lab.runner import merge_parameters

    params = Path(__file__).parents[1] / "params"
    for name in ("validation_protocol", "shift"):
        experiment = describe(name)
        assert experiment["out_dir"].default == "" and experiment.writes and experiment["n_jobs"].default == 1
        files = sorted(params.glob(f"{name}_*.yaml"))
        assert files
        for file in files:
            merge_parameters(experiment, files=[file])


@pytest.mark.slow
@pytest.mark.parametrize("name, settings", [
    ("validation_protocol", ["dataset=wine_cultivars", "shift=none", "event=[class_0]", "group_by=hue", "n_reps=1", "odir=[1.0]", "feedback=selective", "model=xgboost"]),
    ("shift", ["shifts=[breast_cancer/texture]", "controls=[breast_cancer/none]", "n_reps=1"]),
])
def test_experiments_run_with_other_parameters(name, settings, tmp_path):
    run = run_experiment(name, settings=settings, out_dir=tmp_path / "run", progress=False)
    for table in run.tables.values():
        assert len(table) and ("profile" not in table or set(table.profile) == {"smoke"})
