"""The printed tables, and what is computed from them."""
import csv
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from naive import paper as naive
from scipy.stats import norm

from cwcal.inputs import InputError
from cwcal.lab.paper import CLIP, beside, central_intervals, clipped_counts, paper_table, printed_interval, risk_interval, size_fits, standard_errors, without_clipped
from cwcal.metrics.csr import csr, csr_sigma, risk_probability
from cwcal.profile import Profile

NUMBERS = (1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12)


def test_tables_are_those_of_the_reference_folder(shared):
    "Digit by digit, Tables 8 and 9 together as the folder has them."
    kept = {}
    for number in NUMBERS:
        text = (files("cwcal.lab") / "paper" / f"table_{number:02d}.csv").read_text(encoding="utf-8").splitlines()
        kept.setdefault("08_09" if number in (8, 9) else f"{number:02d}", []).extend(text[1:] if number == 9 else text)
    assert len(list((shared / "paper").glob("*.csv"))) == len(kept) == 10
    for key, lines in kept.items():
        (source,) = [f for f in (shared / "paper").glob(f"table_{key}_*.csv")]
        assert sorted(lines) == sorted(source.read_text(encoding="utf-8").splitlines()), key


@pytest.mark.parametrize("number", NUMBERS)
def test_values_print_as_they_were_printed(number):
    table = paper_table(number)
    with (files("cwcal.lab") / "paper" / f"table_{number:02d}.csv").open(encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    assert table.attrs["table"] == number and len(table) == len(rows) and list(table.columns) == list(rows[0])
    for column, decimals in table.attrs["decimals"].items():
        assert [f"{v:.{decimals}f}" for v in table[column]] == [r[column] for r in rows], column
    for column in set(table.columns) - set(table.attrs["decimals"]):
        assert [str(v) for v in table[column]] == [r[column] for r in rows]


@pytest.mark.parametrize("number", NUMBERS)
def test_every_column_is_explained(number):
    text = (files("cwcal.lab") / "paper" / "README.md").read_text(encoding="utf-8")
    assert f"table_{number:02d}.csv" in text and "2605.01796" in text
    explained = set(paper_table(number).columns) - {"extreme", "distribution", "dataset"}
    assert not [c for c in explained if f"`{c}`" not in text]


@pytest.mark.parametrize("number", [0, 4, 13, 6.5, "6", None, True])
def test_no_such_table(number):
    with pytest.raises(InputError, match="`number` must be one of 1, 2, 3, 5") as e:
        paper_table(number)
    assert e.value.argument == "number"


def test_means_over_tables():
    "Table 1 is the mean of Table 5 over N, Table 2 the mean of Table 6 over data sets."
    for summary, detail, key in ((1, 5, "distribution"), (2, 6, "calibration")):
        short, long = paper_table(summary), paper_table(detail)
        for column, decimals in short.attrs["decimals"].items():
            if column in long.columns:
                mean = long.groupby(key)[column].mean()[short[key]].to_numpy()
                rounding = 0.5 * (10.0**-decimals + 10.0 ** -long.attrs["decimals"][column])
                assert np.abs(mean - short[column]).max() <= rounding + 1e-9, (summary, column)


def test_standard_errors_by_hand():
    runs = pd.DataFrame({"cell": ["a"] * 4 + ["b"] * 3 + ["c"], "csr": [1.0, 2.0, 3.0, 4.0, 1.0, np.nan, 3.0, 7.0]})
    s = standard_errors(runs, ["cell"], ["csr"], n_printed=100).set_index("cell")
    assert s.csr.tolist() == [2.5, 2.0, 7.0]
    assert np.allclose(s.csr_se[:2], [np.sqrt(5 / 3 * (1 / 4 + 1 / 100)), np.sqrt(2 * (1 / 2 + 1 / 100))]) and np.isnan(s.csr_se["c"])


def test_central_intervals_are_order_statistics():
    values = np.random.default_rng(0).standard_cauchy(300)
    replicates = pd.DataFrame({"cell": "a", "csr": values})
    s = central_intervals(replicates, ["cell"], ["csr"], level=0.99).iloc[0]
    ordered = np.sort(values)
    assert s.csr_low == ordered[int(np.floor(0.005 * 299))] and s.csr_high == ordered[int(np.ceil(0.995 * 299))] and s.csr == np.median(values)
    whole = central_intervals(replicates, ["cell"], ["csr"], level=0.999999).iloc[0]
    assert (whole.csr_low, whole.csr_high) == (ordered[0], ordered[-1])


@pytest.mark.parametrize("level", [0, 1, 99])
def test_level_out_of_range(level):
    with pytest.raises(InputError, match="level"):
        central_intervals(pd.DataFrame({"cell": ["a"], "csr": [1.0]}), ["cell"], ["csr"], level=level)


@pytest.mark.parametrize("seed", range(30))
def test_beside_agrees_with_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    decimals, limit = int(rng.integers(0, 4)), float(rng.choice([2.0, 3.0]))
    cells = list("abcdefgh")
    printed = pd.DataFrame({"cell": cells, "x": rng.normal(0, 2, 8).round(decimals)})
    printed.attrs = {"decimals": {"x": decimals}}
    mine = rng.permutation(cells)[:6]
    ours = pd.DataFrame({"cell": mine, "x": rng.normal(0, 2, 6), "x_se": rng.choice([0.0, 0.1, 1.0, np.nan], 6)})
    low = np.where(rng.random(6) < 0.5, rng.normal(-1, 1, 6), np.nan)
    ours["x_low"], ours["x_high"] = low, low + rng.exponential(2, 6)
    expected = naive.beside({r.cell: (r.x, r.x_se, r.x_low, r.x_high) for r in ours.itertuples()}, dict(zip(printed.cell, printed.x)), decimals, limit)
    got = beside(ours, printed, keys=["cell"], limit=limit).set_index("cell")
    assert set(got.index) == set(expected)
    for cell, (z, outside) in expected.items():
        assert np.isclose(got.z[cell], z, equal_nan=True) and got.outside[cell] == outside
    assert (got.compared == (got.z.notna() | got.low.notna())).all()


def test_beside_does_not_depend_on_row_order_and_takes_a_table_number():
    ours = paper_table(5).assign(csr_se=0.01, acc_se=0.01)[["n", "distribution", "csr", "csr_se", "acc", "acc_se"]]
    ours["csr"] += np.where(ours.distribution == "uniform", 0.0301, 0.0)  # 0.0301 less half a unit is 3.005 standard errors
    both = beside(ours.sample(frac=1, random_state=3), 5, keys=["n", "distribution"])
    pd.testing.assert_frame_equal(both, beside(ours, paper_table(5), keys=["n", "distribution"]))
    assert set(both.quantity) == {"acc", "csr"} and len(both) == 60
    assert both[both.outside][["quantity", "distribution"]].values.tolist() == [["csr", "uniform"]] * 3


def test_beside_a_filtered_table_keeps_its_decimals():
    table = paper_table(8).query("calibration == 'perfect'")
    both = beside(table.assign(csr_se=0.0)[["distribution", "csr", "csr_se"]], table, keys=["distribution"])
    assert len(both) == 10 and (both.z == 0).all() and not both.outside.any()


def test_beside_refuses():
    ours = pd.DataFrame({"distribution": ["uniform", "uniform"], "csr": [1.0, 1.1], "csr_se": 0.1})
    for message, arguments in (("rows whose keys repeat", (ours, 1, ["distribution"])), ("no column 'cell'", (ours, 1, ["cell"])), ("rows whose keys repeat", (ours[:1], 5, ["distribution"])),
                               ("share no quantity", (ours[:1].rename(columns={"csr": "x"}), 1, ["distribution"])), ("share no cell", (ours[:1].assign(distribution="u"), 1, ["distribution"])),
                               ("attrs", (ours[:1], ours[:1], ["distribution"]))):
        with pytest.raises(InputError, match=message):
            beside(*arguments)


@pytest.mark.parametrize("seed", range(20))
def test_size_fits_agrees_with_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    true = int(rng.integers(2, 60))
    decimals = int(rng.integers(2, 5))
    acc = round(int(rng.integers(0, true + 1)) / true, decimals)
    pct = [round(100 * int(rng.integers(0, true + 1)) / true, decimals) for _ in range(2)]
    n = np.arange(1, 121)
    assert size_fits(n, acc, pct, decimals).tolist() == [naive.size_fits(int(k), acc, pct, decimals) for k in n]
    assert size_fits(true, acc, pct, decimals)


@pytest.mark.parametrize("seed", range(40))
def test_counts_and_rest_of_a_known_profile(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(20, 400)), int(rng.integers(0, 12))
    k = int(rng.integers(0, m + 1))
    q = rng.uniform(0.02, 0.5, n)
    right = rng.random(n) >= q
    right[0], q[0] = False, 0.02
    p = Profile.from_confidence(np.r_[right, np.arange(m) >= k], error_prob=np.r_[q, np.full(m, CLIP)])
    printed = round(csr(p), 4), round(csr_sigma(p), 4)
    counts = clipped_counts(*printed, n + m).iloc[0]
    assert (counts.clipped_errors, counts.clipped) == (k, m) and -1e-3 < counts.left_low <= counts.left_high < 0.01
    rest = Profile.from_confidence(right, error_prob=q)
    values, sigmas = without_clipped(*printed, n + m, rows=m, errors=k)
    tiny = 1e-6
    assert values[0] - tiny <= csr(rest) <= values[1] + tiny and sigmas[0] - tiny <= csr_sigma(rest) <= sigmas[1] + tiny
    low, high = risk_interval(values, sigmas)
    assert low - tiny <= risk_probability(rest) <= high + tiny


def test_nothing_left():
    (low, high), sigma = without_clipped(1000.0, 100.0, np.array([10]), rows=np.array([10]))
    assert np.isnan([low, high, *sigma]).all() and np.isnan(risk_interval((low, high), sigma)).all()


@pytest.mark.parametrize("seed", range(20))
def test_risk_interval_holds_every_value_inside(seed):
    rng = np.random.default_rng(seed)
    c, s = np.sort(rng.uniform(0.5, 2, 2)), np.sort(rng.uniform(0.01, 1, 2))
    low, high = risk_interval(tuple(c), tuple(s))
    x, y = rng.uniform(*c, 500), rng.uniform(*s, 500)
    inside = np.where(x > 1, norm.cdf((x - 1) / y), 0.0)
    assert low <= inside.min() and inside.max() <= high
    corners = [norm.cdf((a - 1) / b) if a > 1 else 0.0 for a in c for b in s]
    assert np.isclose(low, min(corners)) and np.isclose(high, max(corners))


# Test-set size, clipped errors, clipped rows, CSR and P_risk (per cent) of the other rows: an independent solution of the same prints.
SOLVED = {
    "accelerometer": (6399, 2, 2271, 2.153, 99.8, 99.9), "adult_income": (15060, 5, 3221, 1.255, 99.3, 100), "bank_marketing": (8238, 0, 3027, 1.014, 52, 53), "breast_cancer": (114, 3, 111, 0, 0, 0),
    "cifar10": (10000, 0, 14, 1.082, 98.4, 99.9), "covertype": (116203, 3, 14458, 1.182, 97.5, 99), "credit": (6000, 0, 1, 1.057, 94.4, 96.8), "diabetes": (154, 1, 17, 1.557, 97.5, 100),
    "higgs_boson": (50000, 1, 983, 1.071, 98.4, 100), "liver": (117, 1, 28, 4.44, 100, 100), "mnist": (10000, 0, 5066, 2.073, 97.5, 98.6), "naticusdroid": (5867, 2, 2921, 1.192, 72, 84),
    "obesity": (423, 2, 353, 0.24, 0, 0), "phishing": (2211, 4, 1777, 1.016, 51, 100), "wine": (1300, 0, 0, 1.148, 99.7, 99.7),
}


@pytest.mark.parametrize("dataset", SOLVED)
def test_isotonic_rows_of_table_6(dataset):
    n, k, m, rest, low, high = SOLVED[dataset]
    row = paper_table(6).query("calibration == 'isotonic' and dataset == @dataset").iloc[0]
    tce = paper_table(7).query("dataset == @dataset")["tce_0.05_pct"]
    assert size_fits(n, row.acc, tce) and not size_fits(n - 1, row.acc, tce)
    counts = clipped_counts(row.csr, row.sigma_csr, n).iloc[0]
    assert (counts.clipped_errors, counts.clipped) == (k, m)
    values, sigmas = without_clipped(row.csr, row.sigma_csr, n, rows=m, errors=k)
    assert np.mean(values) == pytest.approx(rest, abs=5e-3)
    assert 100 * np.array(risk_interval(values, sigmas)) == pytest.approx([low, high], abs=0.5)


def test_printed_interval():
    low, high = printed_interval([0.5, 1.25], 2)
    assert np.allclose(low, [0.495, 1.245]) and np.allclose(high, [0.505, 1.255])
    assert np.allclose(printed_interval(7, 0), (6.5, 7.5))


def test_the_audit_is_an_experiment_with_three_parameters():
    from cwcal.lab.runner import describe

    assert [p.name for p in describe("paper_audit").parameters] == ["half_units", "largest_set", "out_dir"]
