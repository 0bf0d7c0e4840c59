"""The gate: upper limits, decisions, exit codes of `cwcal check`."""
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import gamma, norm

from cwcal.cli import app
from cwcal.decisions.gate import csr_upper, ece_upper, gate
from cwcal.inputs import InputError
from cwcal.metrics.binned import expected_calibration_error
from cwcal.metrics.csr import csr
from cwcal.profile import Profile
from naive import slices as naive


def hundred(errors, q=0.1, n=100):
    return Profile.from_confidence(np.arange(n) >= errors, error_prob=np.full(n, q))


# --- limits


@pytest.mark.parametrize("seed", range(40))
def test_limits_are_their_twins(seed):
    rng = np.random.default_rng(seed)
    n, alpha, bins = int(rng.integers(1, 60)), float(rng.choice([0.01, 0.05, 0.2])), int(rng.choice([1, 3, 15]))
    q = rng.choice([0.0, 1.0, 0.25, 0.5, 0.1, rng.random()], n)
    right = rng.random(n) < 0.6
    right[0] = False
    p = Profile.from_confidence(right, error_prob=q)
    assert csr_upper(p, alpha=alpha).upper == pytest.approx(naive.csr_upper(list(zip(right, q)), alpha), rel=1e-9)
    assert ece_upper(p, alpha=alpha, n_bins=bins).upper == pytest.approx(naive.ece_upper(list(zip(right, 1 - q)), alpha, bins), rel=1e-9)


# WGT-01
@pytest.mark.parametrize("seed", range(10))
def test_weights_are_rows(seed):
    rng = np.random.default_rng(seed)
    w, q, right = rng.integers(0, 4, 80), rng.uniform(0.01, 0.5, 80), rng.random(80) < 0.7
    weighted = Profile.from_confidence(right, error_prob=q, sample_weight=w)
    repeated = Profile.from_confidence(naive.repeated(right, w), error_prob=naive.repeated(q, w))
    for f in (csr_upper, ece_upper):
        assert f(weighted).upper == pytest.approx(f(repeated).upper, rel=1e-10) and f(weighted).se == pytest.approx(f(repeated).se, rel=1e-8)
    a, b = (gate(p, max_csr_upper=2, max_ece_upper=0.2) for p in (weighted, repeated))
    assert a.decision == b.decision and [r["n"] for r in a.rows] == [r["n"] for r in b.rows]


def test_limits_by_hand():
    a, b, z = csr_upper(hundred(15)), ece_upper(hundred(15)), norm.ppf(0.95)
    assert a.value == pytest.approx(1.5) and a.se == pytest.approx(math.sqrt(12.75 / 100)) and a.upper == pytest.approx(1.5 + z * math.sqrt(0.1475) + (z * z + 2) / 30)
    assert b.value == pytest.approx(0.05) and b.upper == pytest.approx(0.05 + z * math.sqrt(0.0015) + (z * z + 2) / 300)
    assert math.isnan(csr_upper(hundred(0)).upper) and ece_upper(Profile.from_confidence([1], [0.7])).upper > 1


def test_limit_of_a_count_is_at_least_the_exact_one():
    """A Poisson count k has the 95 % limit gamma(k + 1).ppf(0.95); rows of one q and few errors are such a count, in units of 1/(Nq)."""
    n = 10**6
    for k in (1, 2, 5, 10, 30, 100, 1000):
        limit = csr_upper(hundred(k, n=n)).upper * n * 0.1
        assert gamma(k + 1).ppf(0.95) <= limit < gamma(k + 1).ppf(0.95) * 1.05 + 2
    assert csr_upper(hundred(10)).upper < csr_upper(hundred(10), alpha=0.01).upper


def test_limits_close_in_on_the_value():
    for n in (10**3, 10**5, 10**6):
        c, e = csr_upper(hundred(n // 8, n=n)), ece_upper(hundred(n // 8, n=n))
        assert 0 < c.upper - c.value < 20 / math.sqrt(n) and 0 < e.upper - e.value < 2 / math.sqrt(n)


# SML-08
def test_limit_lies_above_the_value_it_is_about():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = Profile.from_confidence(np.r_[False, rng.random(40) < 0.8], error_prob=rng.random(41))
        assert csr_upper(p).upper > csr_upper(p).value == csr(p) and ece_upper(p, n_bins=7).upper > ece_upper(p, n_bins=7).value == expected_calibration_error(p, n_bins=7)


def test_order_of_rows_does_not_matter():
    rng = np.random.default_rng(3)
    right, q, o = rng.random(300) < 0.8, rng.uniform(0.01, 0.6, 300), rng.permutation(300)
    for f in (csr_upper, ece_upper):
        assert f(Profile.from_confidence(right, error_prob=q)).upper == pytest.approx(f(Profile.from_confidence(right[o], error_prob=q[o])).upper, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name, truth", [("calibrated", lambda c: c), ("too sure", lambda c: c - 0.15), ("not sure enough", lambda c: c + 0.04), ("two signs", lambda c: np.where(c < 0.75, c - 0.1, c + 0.05))])
@pytest.mark.parametrize("n", [30, 200, 2000])
def test_coverage_of_the_ece_limit(name, truth, n):
    rng, grid = np.random.default_rng(5), np.linspace(0.5, 0.95, 450_001)[:-1]
    target = np.abs(np.bincount((grid * 15).astype(int), truth(grid) - grid)).sum() / len(grid)
    below = 0
    for _ in range(1500):
        c = rng.uniform(0.5, 0.95, n)
        below += ece_upper(Profile.from_confidence(rng.random(n) < truth(c), c)).upper < target
    assert below / 1500 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)


@pytest.mark.slow
@pytest.mark.parametrize("low, high", [(0.05, 0.5), (0.2, 0.2001), (0.02, 0.1)])
@pytest.mark.parametrize("factor", [0.8, 1.0, 1.6])
@pytest.mark.parametrize("n", [100, 400, 3000])
def test_false_passes_of_the_csr_limit(low, high, factor, n):
    """The bound is the population CSR itself, the error rate `factor` times what is claimed; a pass is then a mistake."""
    rng, passes = np.random.default_rng(6), 0
    for _ in range(1500):
        q = rng.uniform(low, high, n)
        p = Profile.from_confidence(rng.random(n) >= factor * q, error_prob=q)
        passes += gate(p, max_csr_upper=factor).decision == "pass"
    assert passes / 1500 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)


# --- decisions


def test_decisions():
    assert gate(hundred(10, n=10_000, q=0.001), max_csr_upper=2).decision == "pass"
    assert gate(hundred(9, n=10_000, q=0.001), max_csr_upper=2).decision == "too little data", "nine errors never pass"
    assert gate(hundred(0), max_csr_upper=2).decision == "too little data"
    assert gate(hundred(2, n=29), max_ece_upper=1).decision == "too little data"
    r = gate(hundred(15), max_csr_upper=1.2)
    assert r.decision == "fail" and r.rows[0]["reason"] == "the value itself is above the bound"
    assert "more rows may settle it" in gate(hundred(10), max_csr_upper=1.2).rows[0]["reason"]
    at = csr_upper(hundred(15)).upper
    assert gate(hundred(15), max_csr_upper=at).decision == "pass" and gate(hundred(15), max_csr_upper=at * (1 - 1e-12)).decision == "fail"


def test_a_failure_outranks_too_little_data_and_that_outranks_a_pass():
    many = hundred(1000, n=10_000)
    assert gate(many, max_csr_upper=1.2, max_ece_upper=0.03).decision == "pass"
    by = np.where(np.arange(10_000) < 9_995, "a", "b")
    few = gate(many, max_csr_upper=1.2, by=by)
    assert few.decision == "too little data" and [r["result"] for r in few.rows] == ["pass", "pass", "too little data"] and few.rows[2]["reason"] == "0 errors of 10"
    assert gate(many, max_csr_upper=1.2, max_ece_upper=0.001, by=by).decision == "fail"
    assert [few.exit_code, gate(many, max_csr_upper=1.2).exit_code, gate(many, max_csr_upper=1).exit_code] == [3, 0, 1]


def test_groups_that_cancel_do_not_pass():
    p = Profile.from_confidence(np.r_[np.arange(1000) < 950, np.arange(1000) < 650], error_prob=np.full(2000, 0.2))
    by = ["young"] * 1000 + ["old"] * 1000
    assert gate(p, max_csr_upper=1.2, max_ece_upper=0.05).decision == "pass" and gate(p, max_csr_upper=1.2, max_ece_upper=0.05, by=by).decision == "fail"
    assert [(r["group"], r["check"]) for r in gate(p, max_csr_upper=1.2, by=by).rows] == [(None, "CSR"), ("old", "CSR"), ("young", "CSR")]


# SUB-01
def test_missing_labels_are_checked_too():
    r = gate(hundred(10), max_csr_upper=3, by=["a"] * 60 + [None] * 40)
    assert [x["group"] for x in r.rows] == [None, "a", "missing"] and r.rows[2]["n"] == 40


def test_event_profiles():
    rng = np.random.default_rng(0)
    proba = rng.random(3000)
    e = Profile.from_event((rng.random(3000) < proba).astype(int), proba, pos_label=1)
    r = gate(e, max_csr_upper=2, max_ece_upper=0.06)
    assert r.rows[0]["value"] == csr(e.top_label()) and r.rows[1]["value"] == expected_calibration_error(e) and r.decision == "pass"


# SML-05
def test_result_is_plain_and_strict():
    d = gate(hundred(0), max_csr_upper=2, max_ece_upper=1, by=["<a>"] * 50 + ["|"] * 50).to_dict()
    back = json.loads(json.dumps(d, allow_nan=False))
    assert back == d and d["exit_code"] == 3 and d["rows"][0]["upper"] is None and d["rows"][0]["reason"] == "0 errors of 10"
    assert "<a>" not in gate(hundred(0), max_csr_upper=2, by=["<a>"] * 100)._repr_html_()


def test_several_checks_are_said_to_be_several():
    assert "A pass takes all of them" in gate(hundred(10), max_csr_upper=2, max_ece_upper=1).note and "A pass takes" not in gate(hundred(10), max_csr_upper=2).note


@pytest.mark.parametrize("call, argument", [(lambda p: gate(p), "max_csr_upper"), (lambda p: gate(p, max_csr_upper=-1), "max_csr_upper"), (lambda p: gate(p, max_ece_upper=math.nan), "max_ece_upper"), (lambda p: gate(p, max_ece_upper=True), "max_ece_upper"),
                                            (lambda p: gate(p, max_csr_upper=2, alpha=0.6), "alpha"), (lambda p: gate(p, max_csr_upper=2, by=["a"]), "by"), (lambda p: gate(p, max_ece_upper=1, n_bins=0), "n_bins"), (lambda p: gate(1, max_csr_upper=2), "profile"),
                                            (lambda p: csr_upper(p, eps=1), "eps"), (lambda p: ece_upper(p, alpha=0), "alpha")])
def test_errors_name_the_argument(call, argument):
    with pytest.raises(InputError) as caught:
        call(hundred(12))
    assert caught.value.argument == argument


# --- the command


@pytest.fixture
def cwcal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "c.csv").write_text("ok,conf,group\n" + "1,0.8,a\n1,0.8,b\n0,0.8,a\n1,0.8,b\n1,0.8,a\n" * 400, encoding="utf-8")
    (tmp_path / "few.csv").write_text("ok,conf\n" + "1,0.8\n0,0.8\n" * 9, encoding="utf-8")

    def run(*arguments):
        try:
            app([str(a) for a in arguments], standalone_mode=True)
            code = 0
        except SystemExit as e:
            code = e.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


COLUMNS = ("--correct", "ok", "--conf", "conf")


@pytest.mark.parametrize("file, options, expected, word", [
    ("c.csv", ["--max-csr-upper", "1.2"], 0, "Pass"), ("c.csv", ["--max-csr-upper", "1.2", "--max-ece-upper", "0.04"], 0, "Pass"), ("c.csv", ["--max-csr-upper", "1.01"], 1, "Fail"), ("c.csv", ["--max-csr-upper", "1.2", "--by", "group"], 1, "Fail"),
    ("few.csv", ["--max-csr-upper", "9"], 3, "Too little data"), ("c.csv", ["--max-csr-upper", "1.07"], 1, "Fail"), ("c.csv", ["--max-csr-upper", "1.07", "--alpha", "0.2"], 0, "Pass")])
def test_exit_codes(cwcal, file, options, expected, word):
    code, out, err = cwcal("check", file, *COLUMNS, *options, "--json", "g.json")
    assert (code, err) == (expected, "") and out.startswith(word) and all(len(line) <= 80 for line in out.splitlines())
    d = json.loads(Path("g.json").read_text(encoding="utf-8"))
    assert d["exit_code"] == expected and d["decision"].capitalize() == word and d["file"] == file


@pytest.mark.parametrize("arguments, said", [
    (["check", "c.csv", *COLUMNS], "--max-csr-upper or --max-ece-upper must be given"), (["check", "c.csv", *COLUMNS, "--max-csr-upper", "0"], "--max-csr-upper must be a positive number"), (["check", "c.csv", *COLUMNS, "--max-csr-upper", "x"], "x"),
    (["check", "c.csv", "--max-csr-upper", "2"], "exactly one of --proba"), (["check", "no.csv", *COLUMNS, "--max-csr-upper", "2"], "no such file"), (["check", "c.csv", *COLUMNS, "--max-csr-upper", "2", "--by", "grup"], "did you mean 'group'"),
    (["check", "c.csv", *COLUMNS, "--max-csr-upper", "2", "--json", "no/g.json"], "--json: the folder no does not exist")])
def test_bad_usage_is_exit_code_two(cwcal, arguments, said):
    code, out, err = cwcal(*arguments)
    assert code == 2 and out == "" and said in err
