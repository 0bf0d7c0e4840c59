"""Plots: geometry, headless use, opaque ground, agreement with the numbers."""
import os
import subprocess
import sys

import matplotlib
import numpy as np
import pytest

from cwcal.inputs import InputError
from cwcal.metrics.binned import reliability_table
from cwcal.metrics.csr import csr
from cwcal.metrics.roc import auc, cw_auc
from cwcal.profile import Profile
from cwcal.reporting.plots import csr_terms_table, plot_confidence, plot_csr_terms, plot_reliability, plot_roc

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ALL = [plot_reliability, plot_roc, plot_confidence, plot_csr_terms]


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    p = rng.beta(0.8, 0.8, 300)
    return Profile.from_positive((rng.random(300) < p).astype(int), p)


def three():
    "Three classes with awkward names."
    rng, names = np.random.default_rng(1), ["<b>", "", "$a$ if"]
    return Profile.from_proba(np.array(names)[rng.integers(0, 3, 200)], rng.dirichlet([1, 1, 1], 200), classes=names)


def bars(ax):
    return [b for b in ax.patches if b.get_width() > 0]


@pytest.mark.parametrize("plot", ALL)
def test_returns_the_axes_given_and_makes_no_figure(plot, binary):
    figure, ax = plt.subplots()
    assert plot(binary, ax=ax) is ax and plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("plot", ALL)
def test_makes_one_figure_without_axes(plot, binary):
    ax = plot(binary)
    assert plt.get_fignums() == [ax.figure.number]


@pytest.mark.parametrize("plot", ALL)
def test_ground_is_opaque_when_the_style_is_transparent(plot, binary):
    with plt.rc_context({"figure.facecolor": "none", "axes.facecolor": "none"}):
        ax = plot(binary)
    assert ax.figure.get_facecolor() == (1, 1, 1, 1) and ax.get_facecolor() == (1, 1, 1, 1)


@pytest.mark.parametrize("plot", ALL)
def test_a_dark_style_is_left_alone(plot, binary):
    with plt.style.context("dark_background"):
        assert plot(binary).figure.get_facecolor() == (0, 0, 0, 1)


@pytest.mark.parametrize("plot", ALL)
def test_any_string_is_a_class_name(plot, tmp_path):
    plot(three()).figure.savefig(tmp_path / "a.png")
    if plot in (plot_reliability, plot_roc):
        plot(three(), label="$a$ if").figure.savefig(tmp_path / "b.png")
        plot(three(), label="").figure.savefig(tmp_path / "c.png")


@pytest.mark.parametrize("plot", ALL)
@pytest.mark.parametrize("rows", [dict(y_true=[1], p_pos=[0.8]), dict(y_true=[1, 1, 0], p_pos=[1.0, 0.9, 0.0]), dict(y_true=[0, 1], p_pos=[1.0, 0.0]), dict(y_true=[1, 0, 1], p_pos=[0.5, 0.5, 0.5], sample_weight=[0.0, 2.5, 1.0])])
def test_degenerate_profiles_are_drawn(plot, rows, tmp_path):
    plot(Profile.from_positive(**rows)).figure.savefig(tmp_path / "a.png")


# PLT-01, PLT-02
def test_one_bar_when_one_bin_has_rows():
    (bar,) = bars(plot_reliability(Profile.from_confidence([1, 1], [1.0, 1.0]), n_bins=10))
    assert (bar.get_x(), bar.get_width(), bar.get_height()) == pytest.approx((0.9, 0.1, 1.0))


def test_no_bar_for_empty_bins_and_none_missing():
    p = Profile.from_confidence([1, 0, 1, 1], [0.55, 0.58, 0.81, 0.99])
    assert [b.get_x() for b in bars(plot_reliability(p, n_bins=10))] == pytest.approx([0.5, 0.8, 0.9])


@pytest.mark.parametrize("options", [dict(strategy=[0.0, 0.5, 0.6, 0.9, 1.0]), dict(strategy="quantile", n_bins=7), dict(n_bins=13)])
def test_bars_are_as_wide_as_the_bins(options, binary):
    table = reliability_table(binary, **options)
    table = table[table["count"] > 0]
    drawn = plot_reliability(binary, **options).patches
    assert [b.get_x() for b in drawn] == pytest.approx(table["lower"].tolist())
    assert [b.get_width() for b in drawn] == pytest.approx((table["upper"] - table["lower"]).tolist(), abs=1e-12)
    assert [b.get_height() for b in drawn] == pytest.approx(table["accuracy"].tolist())


# BIN-08
def test_counts_and_intervals_are_there_by_default():
    rng = np.random.default_rng(0)
    conf = rng.uniform(0.5, 1, 50)
    p = Profile.from_confidence(rng.random(50) < conf, conf)
    table = reliability_table(p, n_bins=10)
    table = table[table["count"] > 0]
    ax = plot_reliability(p, n_bins=10)
    assert [t.get_text() for t in ax.texts] == [str(c) for c in table["count"]]
    segments = ax.collections[0].get_segments()
    assert np.allclose([s[:, 1] for s in segments], table[["ci_low", "ci_high"]])
    all_alike = table["accuracy"].isin([0, 1])
    assert all((table["ci_high"] - table["ci_low"])[all_alike] > 0.1)  # a bin that is all right keeps its width
    assert ((table["ci_low"] <= table["mean_conf"]) & (table["mean_conf"] <= table["ci_high"])).mean() >= 0.8  # calibrated data: no miscalibration to be seen
    bare = plot_reliability(p, intervals=False, counts=False)
    assert not bare.collections and not bare.texts


# PLT-03
def test_headless_machine(tmp_path):
    code = """
import sys
import cwcal
assert "matplotlib" not in sys.modules
import cwcal.reporting.report as r
assert "matplotlib" not in sys.modules and "pandas" not in sys.modules
from cwcal.profile import Profile
page = r.report(Profile.from_positive([1, 0, 1], [0.9, 0.2, 0.4])).to_html()
assert page.count("data:image/png") == 4
assert "matplotlib.pyplot" not in sys.modules, "the page is drawn without pyplot"
from cwcal.reporting.plots import plot_confidence
plot_confidence(Profile.from_confidence([1, 0], [0.9, 0.6])).figure.savefig(sys.argv[1])
"""
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "MPLBACKEND", "WAYLAND_DISPLAY")}
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", code, str(tmp_path / "a.png")], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_roc_draws_the_areas(binary):
    ax = plot_roc(binary)
    plain, weighted = ax.lines[1:]
    assert np.trapezoid(plain.get_ydata(), plain.get_xdata()) == pytest.approx(auc(binary), abs=1e-12)
    assert np.trapezoid(weighted.get_ydata(), weighted.get_xdata()) == pytest.approx(cw_auc(binary), abs=1e-12)
    assert f"AUC {auc(binary):.4f}" in ax.get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize("seed", range(5))
def test_macro_curve_has_the_macro_area(seed):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.dirichlet([1, 1, 1], 200), 1)  # many ties
    p = Profile.from_proba(rng.integers(0, 3, 200), scores, classes=range(3), normalized=False, sample_weight=rng.integers(0, 3, 200).astype(float))
    plain, weighted = plot_roc(p).lines[1:]
    assert np.trapezoid(plain.get_ydata(), plain.get_xdata()) == pytest.approx(auc(p), abs=1e-12)
    assert np.trapezoid(weighted.get_ydata(), weighted.get_xdata()) == pytest.approx(cw_auc(p), abs=1e-12)
    assert np.all(np.diff(plain.get_xdata()) >= 0) and np.all(np.diff(plain.get_ydata()) >= -1e-12)


def test_macro_curve_leaves_out_a_class_without_rows():
    rng = np.random.default_rng(0)
    p = Profile.from_proba(rng.integers(0, 2, 50), rng.dirichlet([1, 1, 1], 50), classes=range(3))
    assert "2 of 3 classes" in plot_roc(p).get_title()


def test_event_has_no_weighted_curve():
    ax = plot_roc(Profile.from_event([1, 0, 1, 0], [0.9, 0.2, 0.4, 0.6]))
    assert len(ax.lines) == 2 and ax.get_title().startswith("ROC,")


def test_undefined_curve_says_so():
    texts = [t.get_text() for t in plot_roc(Profile.from_positive([1, 1], [0.9, 0.8])).get_legend().get_texts()]
    assert texts == ["AUC undefined", "cwAUC undefined"]


def test_long_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(0)
    p = rng.random(50_000)
    ax = plot_roc(Profile.from_positive((rng.random(50_000) < p).astype(int), p))
    x = ax.lines[1].get_xdata()
    assert len(x) < 5000 and x[0] == 0 and x[-1] == 1


def naive_terms(p, eps):
    "Region by region, row by row."
    edges, out = [1.0, 0.5] + [10.0**-k for k in range(1, 8)] + [1e-8], {}
    w = np.ones(p.n) if p.sample_weight is None else p.sample_weight
    for q, right, w_i in zip(p.error_prob, p.correct, w):
        q = max(q, eps)
        k = max(i for i, edge in enumerate(edges) if q <= edge * (1 + 1e-6))
        rows, errors, part = out.get(k, (0.0, 0.0, 0.0))
        out[k] = rows + w_i, errors + w_i * (not right), part + (0 if right else w_i / q) / w.sum()
    return out


@pytest.mark.parametrize("seed", range(5))
def test_terms_against_the_slow_way(seed):
    rng = np.random.default_rng(seed)
    q = 10.0 ** -rng.uniform(0, 10, 100)
    q[:6] = [1.0, 0.5, 1 - 0.9, 0.1, 1 - 0.99, 0.0]
    p = Profile.from_confidence(rng.random(100) < 0.6, error_prob=q, sample_weight=rng.integers(0, 3, 100).astype(float))
    table, slow = csr_terms_table(p), naive_terms(p, 1e-8)
    for k, row in enumerate(table.itertuples()):
        assert (row.rows, row.errors, row.contribution) == pytest.approx(slow.get(k, (0, 0, 0)))
    assert table.contribution.sum() == pytest.approx(csr(p)) and table.share_of_rows.sum() == pytest.approx(1) and table.share_of_csr.sum() == pytest.approx(1)


def test_a_tenth_belongs_to_the_region_below_it_however_it_is_written():
    table = csr_terms_table(Profile.from_confidence([0, 0], error_prob=[1 - 0.9, 0.1]))
    assert table.loc[table["rows"] > 0, "upper"].tolist() == [0.1]
    table = csr_terms_table(Profile.from_confidence([0, 0], error_prob=[1 - 0.99, 0.01]))
    assert table.loc[table["rows"] > 0, "upper"].tolist() == [0.01]


def test_terms_drawn_are_the_contributions():
    p = Profile.from_confidence([1] * 8 + [0, 0], error_prob=[0.1] * 9 + [0.001])
    ax = plot_csr_terms(p)
    heights = [b.get_height() for b in ax.patches]
    assert sum(heights) == pytest.approx(csr(p)) and heights[0] == pytest.approx(1) and heights[-1] == pytest.approx(100)
    assert ax.get_title() == "What CSR = 101 is made of"
    assert plot_csr_terms(Profile.from_confidence([1, 1], [0.9, 0.8])).get_title() == "No errors: CSR = 0"


def test_histograms_sum_to_one_in_each_group(binary):
    outlines = [s for s in plot_confidence(binary).patches if not s.get_fill()]
    assert [s.get_data().values.sum() for s in outlines] == pytest.approx([1, 1])


def test_histogram_of_a_profile_without_errors():
    texts = [t.get_text() for t in plot_confidence(Profile.from_confidence([1, 1], [0.9, 0.8])).get_legend().get_texts()]
    assert texts == ["right: 2", "wrong: no rows"]


@pytest.mark.parametrize("plot", ALL)
def test_takes_a_profile(plot):
    with pytest.raises(InputError, match="takes a Profile first"):
        plot([0.9])
    assert plt.get_fignums() == []


def test_refusals_leave_no_figure():
    bare, event = Profile.from_confidence([1, 0], [0.9, 0.8]), Profile.from_event([1, 0], [0.9, 0.8])
    for call in (lambda: plot_roc(bare), lambda: plot_csr_terms(event), lambda: csr_terms_table(bare, eps=0), lambda: plot_reliability(bare, n_bins=0), lambda: plot_roc(event, label="x")):
        with pytest.raises(InputError):
            call()
    assert plt.get_fignums() == []
