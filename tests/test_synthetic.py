"""The synthetic laws, modes, population values, the engine, and the tables beside the paper's."""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from naive import synthetic as naive
from scipy import integrate, stats

from cwcal.inputs import InputError
from cwcal.lab import synthetic
from cwcal.lab.paper import full_run, paper_table
from cwcal.lab.pieces import save_table
from cwcal.lab.runner import run_experiment
from cwcal.lab.synthetic import (DISTRIBUTIONS, MODES, population, ranking_repetitions, repetitions, simulate, simulate_ranking, synthetic_profile, with_columns)
from cwcal.lab.synthetic_tables import beside_paper, extremes, given_accuracy, mean_over_sizes, not_inside, ranking_counts, side_by_side, significant, summarise
from cwcal.metrics.csr import csr, csr_sigma, risk_probability
from cwcal.metrics.roc import auc, cw_auc
from cwcal.metrics.weighted import accuracy, cw_accuracy, cw_gain
from cwcal.profile import Profile

ROOT = Path(__file__).resolve().parents[1]
FIVE = {"uniform", "skew_high", "bimodal", "tight_high", "normal"}  # density at confidence 1
ALL = sorted(DISTRIBUTIONS)

# laws of 1 - conf as scipy has them, written from Table 4 of the paper
LAWS = {
    "uniform": [stats.uniform()],
    "skew_high": [stats.beta(0.5, 3)],
    "skew_low": [stats.beta(3, 0.5)],
    "bimodal": [stats.beta(0.5, 3), stats.beta(3, 0.5)],
    "tight_high": [stats.uniform(0, 0.2)],
    "tight_low": [stats.uniform(0.8, 0.2)],
    "normal": [stats.truncnorm(-3, 7, loc=0.3, scale=0.1)],
    "bell": [stats.beta(5, 5)],
}
CDF = {name: lambda x, laws=laws: np.mean([law.cdf(x) for law in laws], axis=0) for name, laws in LAWS.items()}
CDF["log_uniform_high"] = lambda x: np.clip(np.log(x / 1e-6) / np.log(0.9e6), 0, 1)
CDF["log_uniform_low"] = lambda x: np.clip(1 - np.log((1 - np.asarray(x)) / 1e-4) / np.log((1 - 1e-6) / 1e-4), 0, 1)
P_TRUE = {  # Table 4, as chances of a right answer; the random targets by their means
    "random_half": lambda c: 0.5, "perfect": lambda c: c, "underconf_linear": lambda c: 0.2 + 0.8 * c, "underconf_sqrt": lambda c: c**0.5, "random_over": lambda c: (1 + c) / 2,
    "overconf_sqrt": lambda c: 1 - (1 - c) ** 0.5, "overconf_half": lambda c: c / 2, "random_under": lambda c: c / 2,
}


@pytest.mark.parametrize("name", ALL)
def test_sampler_has_the_law_of_table_4(name):
    q = DISTRIBUTIONS[name].draw(np.random.default_rng(11), 100_000)
    assert q.shape == (100_000,) and q.min() > 0 and q.max() <= 1
    assert stats.kstest(q, CDF[name]).pvalue > 1e-3  # ten seeded tests
    c = 1 - q
    assert name != "normal" or (c.min() >= 0 and c.max() < 1)


def test_error_probabilities_keep_their_digits_near_confidence_one():
    q = DISTRIBUTIONS["skew_high"].draw(np.random.default_rng(3), 2_000_000)
    small = q[q < 1e-9]
    assert len(small) > 50 and q.min() < 1e-11
    lost = np.abs((1 - (1 - small)) / small - 1)
    assert lost.max() > 1e-6  # 1 - conf would have lost digits
    assert stats.kstest(np.sqrt(small / 1e-9), "uniform").pvalue > 1e-3  # P(q < x) ~ sqrt(x) all the way down
    assert DISTRIBUTIONS["log_uniform_high"].draw(np.random.default_rng(3), 100_000).min() < 1.01e-6 * 1.01


@pytest.mark.parametrize("name", ALL)
def test_modes_are_those_of_table_4(name):
    q = DISTRIBUTIONS[name].draw(np.random.default_rng(2), 500)
    for mode, p_true in P_TRUE.items():
        assert np.allclose(1 - MODES[mode].error_rate(q), p_true(1 - q), rtol=0, atol=1e-12)
        assert np.allclose(1 - MODES[mode].error_rate(np.array([1.0, 0.5, 1e-12])), [p_true(0.0), p_true(0.5), p_true(1 - 1e-12)], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", sorted(LAWS))
def test_population_values_by_another_integral(name):
    "Accuracy and cwA by the density; CSR too where it has a mean."
    def mean(g):
        return np.mean([integrate.quad(lambda s: g(s * s) * law.pdf(s * s) * 2 * s, np.sqrt(max(law.support()[0], 1e-30)), np.sqrt(law.support()[1]), limit=300)[0] for law in LAWS[name]])

    for mode, p_true in P_TRUE.items():
        found = population(name, mode)
        assert np.isclose(found.accuracy, mean(lambda q: p_true(1 - q)), atol=1e-7)
        assert np.isclose(found.cw_accuracy, mean(lambda q: (1 - q) * p_true(1 - q)) / mean(lambda q: 1 - q), atol=1e-7)
        if np.isfinite(found.csr):
            assert np.isclose(found.csr, mean(lambda q: (1 - p_true(1 - q)) / q), rtol=1e-5)


def test_population_values_in_closed_form():
    log_low, log_high = np.log((1 - 1e-6) / 1e-4), np.log(0.9e6)
    assert np.isclose(population("log_uniform_low").accuracy, (1 - 1e-6 - 1e-4) / log_low)
    assert np.isclose(population("log_uniform_high").accuracy, 1 - (0.9 - 1e-6) / log_high)
    assert np.isclose(population("log_uniform_low").sigma_root_n ** 2, (np.log1p(-1e-4) - np.log(1e-6)) / log_low, rtol=1e-8)
    assert np.isclose(population("bimodal").cw_accuracy, ((1 / 7) * (3 / 2) / (9 / 2) + (6 / 7) * 4 / 4.5) / 1)
    assert np.isclose(population("tight_low", "random_half").csr, 2.5 * np.log(1.25))
    assert np.isclose(population("bell", "overconf_half").csr, 0.5 + 0.5 * 9 / 4)
    assert np.isclose(population("tight_low", "overconf_half").csr_sd_root_n ** 2, integrate.quad(lambda q: (0.5 + 0.5 * q) / q**2 / 0.2, 0.8, 1)[0] - population("tight_low", "overconf_half").csr ** 2)


def test_what_is_infinite():
    infinite = {(d, m): set(population(d, m).infinite) for d in DISTRIBUTIONS for m in MODES}
    for (d, m), found in infinite.items():
        no_mean = d in FIVE if m in ("random_half", "overconf_half", "random_under") else d in ("skew_high", "bimodal") and m == "overconf_sqrt"
        assert ("csr mean" in found) == no_mean
        assert ("csr variance" in found) == (d in FIVE)
        assert ("sigma variance" in found) == (d in FIVE) and ("sigma mean" in found) == (d in ("skew_high", "bimodal"))


def streams(seed, distribution, n, mode):
    q, u = synthetic._seeds(seed, distribution, n, mode)
    return np.random.default_rng(q), np.random.default_rng(u)


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize("name", ALL)
def test_engine_equals_loops_and_metrics(name, mode):
    n, reps = 130, max(1, synthetic._BLOCK // 130)
    runs = with_columns(repetitions(name, [mode], n=n, n_reps=2, seed=5))
    confidences, outcomes = streams(5, name, n, mode)
    q, u = DISTRIBUTIONS[name].draw(confidences, reps * n).reshape(reps, n), outcomes.random(reps * n).reshape(reps, n)
    for r in range(2):
        found = runs.loc[r, ["acc", "cwa", "gain_pct", "csr", "sigma_csr", "p_risk_pct"]].to_numpy(float)
        assert np.allclose(found, naive.repetition(q[r].tolist(), u[r].tolist(), P_TRUE[mode]), rtol=1e-9, atol=1e-12, equal_nan=True)
        p = Profile.from_confidence(u[r] >= MODES[mode].error_rate(q[r]), error_prob=q[r])
        assert np.allclose(found, [accuracy(p), cw_accuracy(p), 100 * cw_gain(p), csr(p, eps=0), csr_sigma(p, eps=0), 100 * risk_probability(p, eps=0)], rtol=1e-9, atol=1e-12)


def test_engine_across_blocks():
    "A repetition of several blocks, the last one short; and one row."
    n = 2 * synthetic._BLOCK + 123
    run = repetitions("skew_high", ["overconf_sqrt"], n=n, n_reps=2, seed=1)
    confidences, outcomes = streams(1, "skew_high", n, "overconf_sqrt")
    for r in range(2):
        q, u = (np.concatenate(parts) for parts in zip(*[(DISTRIBUTIONS["skew_high"].draw(confidences, k), outcomes.random(k)) for k in (synthetic._BLOCK, synthetic._BLOCK, 123)]))
        p = Profile.from_confidence(u >= np.sqrt(q), error_prob=q)
        assert np.allclose(run.loc[r, ["acc", "cwa", "csr", "sigma_csr"]].to_numpy(float), [accuracy(p), cw_accuracy(p), csr(p, eps=0), csr_sigma(p, eps=0)], rtol=1e-11)
    assert len(repetitions("bell", n=1, n_reps=4)) == 4


def test_a_cell_is_its_own():
    all_modes = repetitions("normal", list(MODES), n=300, n_reps=40, seed=9)
    for mode in ("perfect", "random_under"):
        alone = repetitions("normal", [mode], n=300, n_reps=7, seed=9)
        assert alone.equals(all_modes[all_modes["calibration"] == mode][:7].reset_index(drop=True))
    assert all_modes.groupby("rep")["sigma_csr"].nunique().eq(1).all() and all_modes["sigma_csr"].nunique() == 40
    assert not repetitions("normal", n=300, n_reps=7, seed=10)["csr"].equals(repetitions("normal", n=300, n_reps=7, seed=9)["csr"])
    same_law = all_modes.groupby("calibration", observed=True)["acc"].apply(list)
    assert same_law["random_under"] != same_law["overconf_half"]  # equal in law, not the same draws


@pytest.mark.parametrize("n", [200, 12_345])
def test_drawn_once(n):
    runs = repetitions("bimodal", ["perfect", "random_half"], n=n, n_reps=60, seed=4, redraw=False)
    assert runs["sigma_csr"].nunique() == 1 and runs[runs["calibration"] == "perfect"]["acc"].nunique() > 5
    assert np.isclose(runs["sigma_csr"][0], repetitions("bimodal", n=n, n_reps=1, seed=4)["sigma_csr"][0], rtol=1e-12)
    half = runs[runs["calibration"] == "random_half"]["csr"]
    assert half.max() <= 1 + n * runs["sigma_csr"][0] ** 2  # why the paper cannot have drawn once: sum of 1 / q over N


def test_the_paper_cannot_have_drawn_once():
    "The largest CSR that the printed sigma allows is 1 + N sigma^2, and the printed average is larger."
    printed = paper_table(8).set_index(["calibration", "distribution"]).loc[("random_half", "bimodal")]
    assert printed["csr"] > 1 + 1000 * (printed["sigma_csr"] + 5e-5) ** 2


def test_the_paper_cannot_have_clipped_at_1e_8():
    "sigma of Skew High with 1 - conf clipped at 1e-8: the printed average is beyond 200 averages of 100."
    rng, averages = np.random.default_rng(6), []
    for _ in range(8):
        q = np.maximum(DISTRIBUTIONS["skew_high"].draw(rng, 25 * 100 * 1000).reshape(25, 100, 1000), 1e-8)
        averages.extend((np.sqrt(((1 - q) / q).sum(axis=2)) / 1000).mean(axis=1))
    assert max(averages) < 10 < paper_table(8)["sigma_csr"].max()


def test_printed_accuracies_are_the_population_values():
    "100 averages of 1000 rows: the standard deviation of a printed accuracy is at most 0.5 / sqrt(100 000); of cwA about that times E[c^2]^(1/2) / E[c]."
    for row in pd.concat([paper_table(8), paper_table(9)]).itertuples():
        expected = population(row.distribution, row.calibration)
        assert abs(row.acc - expected.accuracy) < 4.5 * 0.5 / np.sqrt(100_000) + 5e-5, row
        q = DISTRIBUTIONS[row.distribution].draw(np.random.default_rng(0), 20_000)
        spread = np.sqrt(np.mean((1 - q) ** 2)) / np.mean(1 - q)
        assert abs(row.cwa - expected.cw_accuracy) < 4.5 * 0.5 * spread / np.sqrt(100_000) + 2e-3, row  # 2e-3: bias of a ratio at N = 1000


def test_columns():
    runs = pd.DataFrame({"acc": [0.9, 1.0, 0.8], "cwa": [0.95, 1.0, 0.7], "csr": [1.5, 0.0, 1.0], "sigma_csr": [0.25, 0.25, 0.25]})
    out = with_columns(runs)
    assert np.allclose(out["gain_pct"], [50, np.nan, -100 / 3], equal_nan=True)
    assert out["above_1_sigma_pct"].tolist() == [100, 0, 0] and out["above_3_sigma_pct"].tolist() == [0, 0, 0]
    assert np.allclose(out["p_risk_pct"], [100 * stats.norm.cdf(2), 0, 0])


def test_profile():
    p = synthetic_profile("skew_high", "perfect", n=3000, seed=1)
    conf = p.conf
    assert np.array_equal(p.correct, p.y_true == p.y_pred) and np.array_equal(p.proba[np.arange(3000), p.y_pred], conf)
    assert np.array_equal(p.proba[np.arange(3000), 1 - p.y_pred], np.minimum(conf, p.error_prob))
    assert abs(p.y_pred.mean() - 0.5) < 4 * 0.5 / np.sqrt(3000) and np.array_equal(1 - p.error_prob, conf)
    again = synthetic_profile("skew_high", "perfect", n=3000, seed=1)
    assert np.array_equal(p.proba, again.proba) and np.array_equal(p.y_true, again.y_true)


def test_areas_equal_pairs_and_metrics():
    rng = np.random.default_rng(3)
    for name in ("uniform", "skew_high", "log_uniform_low", "tight_low"):
        q, correct, y_pred = synthetic._labelled(np.ceil(64 * DISTRIBUTIONS[name].draw(rng, 60)) / 64, MODES["random_half"], rng)  # ties, and 1 - q exact
        p = synthetic._profile(q, correct, y_pred)
        found = synthetic._ranking(q, correct, y_pred)[2:]
        assert np.allclose(found, naive.macro_areas(p.conf, p.y_true, p.y_pred), rtol=1e-12)
        assert np.allclose(found, [auc(p), cw_auc(p)], rtol=1e-12)
    assert np.allclose(ranking_repetitions("tight_low", list(MODES), n=100, n_reps=3)[["auc", "cwauc"]], 0.5, rtol=0, atol=1e-12)


def test_scores_of_the_other_class():
    "With 1 - conf instead of min(conf, 1 - conf) the printed AUC of Uniform cannot be had."
    runs = simulate_ranking(distributions=["uniform"], modes=["perfect"], n_reps=60, progress=False)
    other = simulate_ranking(distributions=["uniform"], modes=["perfect"], n_reps=60, complement=True, progress=False)
    assert runs["acc"].equals(other["acc"])
    assert abs(given_accuracy(runs)["z"][0]) < 3 and abs(given_accuracy(other)["z"][0]) > 15


def test_bytes_do_not_depend_on_n_jobs(tmp_path):
    for n_jobs in (1, 2):
        runs = simulate(distributions=["bell", "skew_high", "bimodal"], modes=["perfect", "random_under"], sizes=[50, 1000], n_reps=30, n_jobs=n_jobs, out_dir=tmp_path / str(n_jobs), progress=False)
        save_table(runs, "runs", tmp_path / str(n_jobs))
        save_table(summarise(runs, n_bootstrap=200), "summary", tmp_path / str(n_jobs))
    for name in ("runs", "summary"):
        a, b = ((tmp_path / str(n_jobs) / "tables" / f"{name}.csv").read_bytes() for n_jobs in (1, 2))
        assert a == b and len(a) > 500


def test_limits_of_the_rows():
    runs = simulate(distributions=["bell"], sizes=[100, 1000], n_reps=10, n_replicates=5, max_rows=3000, progress=False)
    assert runs.groupby("n").size().to_dict() == {100: 30, 1000: 10}


@pytest.mark.parametrize(("arguments", "text"), [
    (dict(distributions=["unifrom"]), "did you mean 'uniform'"), (dict(modes=["overconf_sqr"]), "did you mean 'overconf_sqrt'"), (dict(modes="perfect"), "must be a list"), (dict(distributions=[]), "not empty"),
    (dict(distributions=["bell", "bell"]), "without repetitions"), (dict(sizes=["100"]), "`sizes` must be a whole number"), (dict(sizes=[0]), "`sizes` must be"), (dict(sizes=[True]), "`sizes` must be"),
    (dict(n_reps=0), "`n_reps` must be"), (dict(n_replicates=1.5), "`n_replicates` must be"), (dict(redraw=1), "`redraw` must be"), (dict(seed=-1), "`seed` must be"), (dict(max_rows=0), "`max_rows` must be"),
])
def test_bad_arguments_are_named(arguments, text, tmp_path):
    with pytest.raises(InputError, match=text):
        simulate(**arguments, out_dir=tmp_path / "out", progress=False)
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize("experiment", ["synthetic_calibrated", "synthetic_sensitivity", "synthetic_cwauc"])
@pytest.mark.parametrize(("wrong", "text"), [({"n_rep": 5}, "n_reps"), ({"n_reps": "five"}, "n_reps"), ({"distributions": ["unifrom"]}, "uniform")])
def test_wrong_parameters_are_refused_before_anything_runs(experiment, wrong, text, tmp_path):
    with pytest.raises(InputError, match=text):
        run_experiment(experiment, parameters=wrong, out_dir=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists() or not any((tmp_path / "run").rglob("*.csv"))


def frame_of(values):
    "Hand-made repetitions of one cell."
    n = len(values)
    return with_columns(pd.DataFrame({"distribution": "bell", "calibration": "perfect", "n": 1000, "rep": range(n), "acc": values, "cwa": np.asarray(values) + 0.04, "csr": 1.01, "sigma_csr": 0.0352}))


def test_summary_of_known_numbers():
    values = np.tile([0.4, 0.6], 200)
    summary = summarise(frame_of(values), n_bootstrap=2000)
    assert np.isclose(summary["acc"][0], 0.5) and np.isclose(summary["acc_se"][0], values.std(ddof=1) * np.sqrt(1 / 400 + 1 / 100))
    width = stats.norm.ppf(0.995) * 0.1 / 10 * np.sqrt(1 + 100 / 400)
    assert np.isclose(summary["acc_high"][0] - 0.5, width, rtol=0.1) and np.isclose(0.5 - summary["acc_low"][0], width, rtol=0.1)
    assert np.isclose(summary["csr_low"][0], 1.01) and np.isclose(summary["csr_high"][0], 1.01)
    assert summary["above_1_sigma_pct"][0] == 0 and 0 < summary["above_1_sigma_pct_high"][0] < 5  # not seen is not zero


def test_verdicts():
    comparison = beside_paper(summarise(frame_of(np.tile([0.4, 0.6], 200)), n_bootstrap=500), [8, 9]).set_index("quantity")
    assert comparison.loc["acc", "inside"] and not comparison.loc["acc", "mark"]
    assert not comparison.loc["csr", "inside"] and comparison.loc["csr", "mark"]  # printed .9997, ours 1.01 in every repetition
    listed = not_inside(comparison.reset_index())
    assert "csr" in set(listed["quantity"]) and listed["reason"].str.len().gt(0).all()
    assert "◄" in side_by_side(comparison.reset_index()).loc[("perfect", "bell"), "csr"]
    assert beside_paper(summarise(frame_of([0.5] * 100).assign(n=77), n_bootstrap=10), [5]).empty


def test_mean_over_sizes_is_the_mean():
    runs = simulate(distributions=["bell"], sizes=[100, 10_000], n_reps=100, progress=False)
    means, summary = mean_over_sizes(runs, n_bootstrap=2000), summarise(runs, n_bootstrap=10)
    assert np.isclose(means["cwa"][0], summary["cwa"].mean()) and np.isclose(means["acc_se"][0], np.sqrt((summary["acc_se"] ** 2).sum()) / 2)
    assert np.isclose(means["acc_high"][0] - means["acc_low"][0], 2 * 2.576 * means["acc_se"][0], rtol=0.15)


def test_extremes_of_known_numbers():
    runs = pd.concat([frame_of([0.5] * 50).assign(distribution=d, calibration=m, p_risk_pct=p) for m in ("overconf_half",) for d, p in (("uniform", 100.0), ("bell", 100.0), ("log_uniform_low", 99.0))])
    out = extremes(runs, n_bootstrap=20).set_index("extreme")
    assert out.loc["max", "paper"] == "uniform" and out.loc["max", "chance"] == 1 and out.loc["max", "candidates"] == 2
    assert out.loc["min", "paper"] == "log_uniform_low" and out.loc["min", "chance"] == 1 and out.loc["min", "ours"] == "log_uniform_low"


def test_counts_of_known_numbers():
    rows = [(d, "perfect", r, 0.5, 0.5 + (0.1 if i < 8 else -0.1 if i == 8 else 0.0)) for i, d in enumerate(DISTRIBUTIONS) for r in range(5)]
    out = ranking_counts(pd.DataFrame(rows, columns=["distribution", "calibration", "rep", "auc", "cwauc"]))
    assert out.loc[0, ["above", "below", "equal"]].tolist() == [8, 1, 1] and out["chance"][0] == 1 and out["tail"][0] == 1  # printed 9: the tie may be counted


def test_significant_digits():
    out = significant(pd.DataFrame({"x": [123456.789, -1.23456789e-9, np.nan, np.inf], "k": [1234567, 1, 2, 3]}))
    assert out["x"][0] == 123457.0 and out["x"][1] == -1.23457e-9 and np.isnan(out["x"][2]) and out["k"][0] == 1234567


needs_results = pytest.mark.skipif(not (ROOT / "results" / "paper").is_dir(), reason="the tables of the full runs are in the repository only")


@needs_results
def test_full_runs_reproduce_the_paper():
    sensitivity, calibrated, means = full_run("synthetic_table_08_09"), full_run("synthetic_table_05"), full_run("synthetic_table_01")
    assert len(sensitivity) == 640 and sensitivity["inside"].mean() >= 0.98
    assert len(calibrated) == 240 and calibrated["inside"].mean() >= 0.97 and len(means) == 80
    three, ten, eleven = full_run("synthetic_table_03"), full_run("synthetic_table_10"), full_run("synthetic_table_11")
    assert len(three) == 16 and three["chance"].min() > 0.005
    assert ten["tail"].min() > 0.001 and (ten["tail"] < 0.05).sum() <= 2
    assert eleven["z"].abs().max() < 3.5 and eleven.loc[~eleven["possible"], ["distribution", "area"]].to_numpy().tolist() == [["tight_low", "cwauc"]]


@needs_results
def test_full_runs_are_of_this_engine():
    "A tenth of the sensitivity run, drawn again: the same means within four standard errors of the difference of 3,000 and 30,000 repetitions."
    stored = full_run("synthetic_sensitivity").set_index(["distribution", "calibration"])
    runs = simulate(distributions=["bell", "log_uniform_low"], modes=["perfect", "overconf_sqrt"], n_reps=100, n_replicates=30, seed=1, progress=False)
    for keys, cell in runs.groupby(["distribution", "calibration"], observed=True):
        for column in ("acc", "cwa", "csr", "sigma_csr"):
            assert abs(cell[column].mean() - stored.loc[keys, column]) < 4.5 * cell[column].std() * np.sqrt(1 / 3000 + 1 / 30_000), (keys, column)


@pytest.mark.slow
def test_speed_of_the_8000_runs():
    repetitions("bell", list(MODES), n=1000, n_reps=1)  # compiled
    start = time.perf_counter()
    for d in DISTRIBUTIONS:
        repetitions(d, list(MODES), n=1000, n_reps=100)
    assert time.perf_counter() - start < 5


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_killed_run_resumes_to_the_same_bytes(tmp_path):
    code = "import sys; from cwcal.lab.runner import run_experiment; run_experiment('synthetic_sensitivity', files=[sys.argv[1]], parameters={'n_jobs': int(sys.argv[2]), 'n_replicates': 20}, out_dir=sys.argv[3], progress=False)"
    smoke = str(ROOT / "params" / "synthetic_sensitivity_smoke.yaml")

    def start(n_jobs, out):
        return subprocess.Popen([sys.executable, "-c", code, smoke, str(n_jobs), str(tmp_path / out)], cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    process = start(1, "killed")
    deadline = time.monotonic() + 120
    while len(list((tmp_path / "killed").rglob("*.parquet"))) < 3 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "killed").rglob("*.parquet") if not p.name.startswith(".")}
    assert 3 <= len(before) < 10 and not list((tmp_path / "killed").rglob("*.csv"))
    assert start(2, "killed").wait(300) == 0 and start(1, "whole").wait(300) == 0
    assert {p: p.stat().st_mtime_ns for p in before} == before
    tables = sorted(p.name for p in (tmp_path / "whole" / "tables").glob("*.csv"))
    assert tables == ["synthetic_sensitivity.csv", "synthetic_table_03.csv", "synthetic_table_08_09.csv"]
    for name in tables:
        assert (tmp_path / "killed" / "tables" / name).read_bytes() == (tmp_path / "whole" / "tables" / name).read_bytes()
    assert json.loads((tmp_path / "killed" / "run.json").read_text(encoding="utf-8"))["attempt"] == 2
