"""Report: verdict, table, groups, escaping, strict JSON, files that are whole."""
import json
import math
import os
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cwcal.inputs import InputError
from cwcal.metrics.csr import csr, csr_summary
from cwcal.profile import Profile
from cwcal.reporting import html, report as module
from cwcal.reporting.registry import METRICS, compute, metric
from cwcal.reporting.report import judge, report


def hundred(errors, q=0.1, n=100):
    return Profile.from_confidence(np.arange(n) >= errors, error_prob=np.full(n, q))


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(4)
    p = rng.beta(1.5, 1.5, 300)
    return np.where(rng.random(300) < p, "ill", "well"), p


def strict(text):
    return json.loads(text, parse_constant=lambda c: pytest.fail(f"{c} is no JSON"))


def page_of(r):
    "The page without its figures, which take most of the time."
    return html.html_page(r.to_dict())


class Page(HTMLParser):
    "Text, tags and attributes of a page; refuses tags that do not nest."
    VOID = {"meta", "img", "br", "link"}

    def __init__(self, text):
        super().__init__()
        self.text, self.tags, self.attributes, self.open = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


# --- verdict


@pytest.mark.parametrize("errors, level", [(15, "overconfident"), (14, "suspect"), (12, "no evidence"), (10, "no evidence"), (9, "too little data"), (0, "too little data")])
def test_verdict_by_hand(errors, level):
    """n = 100 at 0.9: z = (errors/10 - 1)/0.3, so 15 errors give 5/3 (0.952), 14 give 4/3 (0.909), 12 give 2/3."""
    assert judge(hundred(errors)).level == level


def test_thresholds_are_the_edges():
    for z, level in ((1.64, "suspect"), (1.65, "overconfident"), (0.99, "no evidence"), (1.01, "suspect")):
        n = 10**6
        p = hundred(round(n * 0.1 + z * 0.1 * n * csr_summary(hundred(1, n=n)).sigma), n=n)
        assert judge(p).level == level, csr_summary(p).p_risk


def test_one_term_with_over_half_of_csr():
    q = np.r_[1e-4, np.full(99, 0.1)]
    v = judge(Profile.from_confidence(np.arange(100) >= 12, error_prob=q))
    assert v.level == "too little data" and "A single wrong answer carries 99% of CSR" in v.text


def test_exactly_half_is_not_over_half():
    for first, level in ((1 / 64, "no evidence"), (1 / 128, "too little data")):  # sixteen terms of 4 are 64
        q = np.r_[first, np.full(127, 0.25)]
        v = judge(Profile.from_confidence(np.arange(128) >= 17, error_prob=q))
        assert v.level == level and v.basis.largest_share == (0.5 if level == "no evidence" else 128 / 192)


def test_no_spread_no_verdict():
    v = judge(Profile.from_confidence([0] * 20 + [1] * 20, error_prob=np.zeros(40)))
    assert v.level == "undecided" and "every row is clipped" in v.text and "`" not in v.text


# NUM-06
def test_an_artefact_of_the_clip_is_called_one():
    r = report(Profile.from_positive([1, 0], [0.0, 0.0]))
    assert "artefact of the clip: 1 wrong answer had 1 − conf below eps = 1e-08" in r.verdict.text
    note = r.table.loc["csr", "note"]
    assert "eps = 1e-08" in note and "5e+07" in note and "1 wrong answer had" in note
    loss = r.table.loc["log_loss"]
    assert math.isinf(loss["value"]) and "1 row gave what happened the probability 0" in loss["note"]
    for text in (page_of(r), r.to_markdown(), r.to_json()):
        assert "artefact of the clip" in text
    d = next(m for m in strict(r.to_json())["metrics"] if m["metric"] == "log_loss")
    assert d["value"] is None and d["reason"] == "the value is infinite"


@pytest.mark.parametrize("errors", [0, 5, 10, 14, 15, 60])
def test_words_that_are_never_used(errors):
    for text in (report(hundred(errors)).to_markdown(), page_of(report(hundred(errors)))):
        text = text.lower()
        assert not re.search(r"probability (that|of) (the model|it|this model|being)[^.]*(risk|overconfident)", text)
        assert not re.search(r"(risky with|chance that the model)", text)
        assert "standard error of csr" not in text and "one minus a one-sided p-value" in text and "not its standard error" in text


def test_weights_are_rows_in_the_verdict():
    w = np.ones(100)
    w[:5], w[5:15] = 2, 0  # five errors twice
    assert judge(hundred(15)).level == "overconfident"
    assert judge(Profile.from_confidence(np.arange(100) >= 15, error_prob=np.full(100, 0.1), sample_weight=w)).basis.n_errors == 10


# --- opening


def test_opens_with_the_probability_and_the_decision(binary):
    y, p = binary
    top = report(Profile.from_positive(y, p, pos_label="ill"), decision="who is called | back")
    event = report(Profile.from_event(y, p, pos_label="ill"))
    assert top.judged == "the probability of the predicted class" and event.judged == "the probability that the event 'ill' happens"
    for r in (top, event):
        texts = Page(page_of(r)).text
        assert texts.index(r.judged) < next(i for i, t in enumerate(texts) if r.verdict.headline in t)
        assert r.to_markdown().index(r.judged) < r.to_markdown().index(r.verdict.headline)
    assert "who is called | back" in page_of(top) and r"who is called \| back" in top.to_markdown()
    assert "decision it serves" not in page_of(event)


def test_event_report_says_what_csr_is_about(binary):
    y, p = binary
    profile = Profile.from_event(y, p, pos_label="ill")
    r = report(profile)
    assert r.table.loc["csr", "value"] == csr(profile.top_label()) and r.table.loc["csr", "claim"] == "the class predicted at 0.5"
    assert r.table.loc["brier_score", "claim"] == "the event's probability" == r.table["claim"].iloc[0]
    assert r.verdict.sentences[0].startswith("CSR is about predicted classes")
    assert r.to_dict()["verdict"]["about"] == "the class predicted at 0.5"


def test_dropped_rows_and_notes_are_shown(binary):
    y, p = binary
    y = y.astype(object)
    y[[3, 7]] = None
    r = report(Profile.from_positive(y, p, pos_label="ill", drop_invalid_labels=True))
    assert "2 rows left out because the label is missing or no class" in page_of(r) and "2 rows left out" in r.to_markdown()
    assert r.to_dict()["n_dropped"] == 2 and r.to_dict()["n"] == 298
    with pytest.warns(UserWarning):
        noted = Profile.from_positive(["ill", "well"], [0.8, 0.7], pos_label="ill", y_pred=["ill", "well"])
    assert "is not the most probable class in 1 of 2 rows" in report(noted).to_markdown()


# --- table


def test_table_holds_the_registry(binary):
    y, p = binary
    profile = Profile.from_positive(y, p, pos_label="ill")
    r = report(profile)
    for m in METRICS:
        if m.name in r.table.index:
            assert r.table.loc[m.name, "value"] == compute(m, profile)[0] and r.table.loc[m.name, "direction"] == m.direction
    assert set(r.table.index) | {m.name for m in METRICS if m.label in sum(r.skipped.values(), [])} == {m.name for m in METRICS}


def test_what_cannot_be_computed_is_named():
    r = report(hundred(15))
    assert "auc" not in r.table.index and "AUC" in r.skipped["needs a score for every class"]
    assert "Not computed" in page_of(r) and "needs a score for every class" in r.to_markdown()


def test_intervals(binary):
    y, p = binary
    t = report(Profile.from_positive(y, p, pos_label="ill")).table
    assert t.loc["accuracy", ["low", "value", "high"]].is_monotonic_increasing and t.loc["brier_score", "se"] > 0
    assert math.isnan(t.loc["csr", "se"]), "sigma of CSR is no standard error"
    perfect = report(Profile.from_positive(["a", "b"] * 20, [0.1, 0.9] * 20, pos_label="b")).table
    assert perfect.loc["accuracy", "high"] == 1 and 0.9 < perfect.loc["accuracy", "low"] < 0.92  # Wilson: 40 / (40 + 3.84)
    assert math.isnan(perfect.loc["auc", "low"])


def test_brier_standard_error_by_hand():
    t = report(Profile.from_confidence([1, 1, 0, 1], [0.9, 0.8, 0.6, 0.7])).table
    loss = np.array([0.01, 0.04, 0.36, 0.09])
    assert t.loc["brier_score", "se"] == pytest.approx(loss.std() / 2)


def test_n_bins_reaches_the_number_and_the_figure(binary):
    y, p = binary
    profile = Profile.from_positive(y, p, pos_label="ill")
    assert report(profile, n_bins=4).table.loc["expected_calibration_error", "value"] == metric("expected_calibration_error").function(profile, n_bins=4)
    assert "4 equal-width bins" in report(profile, n_bins=4).to_markdown()


# --- groups


def test_group_rows_by_hand():
    y = np.r_[np.ones(85), np.zeros(15), np.ones(40)]
    p = Profile.from_confidence(y, error_prob=np.full(140, 0.1))
    g = report(p, by=["a"] * 100 + ["b"] * 25 + ["c"] * 15).groups
    assert g["n"].to_dict() == {"a": 100, "b": 25, "c": 15} and g["n_errors"].to_dict() == {"a": 15, "b": 0, "c": 0}
    assert g.loc["a", "csr"] == pytest.approx(1.5) and g["verdict"].to_dict() == {"a": "overconfident", "b": "too few", "c": "too few"}
    assert g.loc["b", "reason"].startswith("too few for a verdict: 25 rows of 30, 0 errors of 10")


# SUB-01
@pytest.mark.parametrize("by", [pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"]), pd.Series(pd.Categorical(["a", "b", "a"], categories=["a", "b", "c"])), pl.Series(["a", "b", "a"], dtype=pl.Enum(["a", "b", "c"])),
                                ["a", "b", "a"], np.array(["a", "b", "a"])], ids=["Categorical", "Series", "polars", "list", "array"])
def test_an_unused_level_is_no_group(by):
    assert report(Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9]), by=by).groups["n"].to_dict() == {"a": 2, "b": 1}


@pytest.mark.parametrize("by", [pd.Categorical(["a", None, "a"], categories=["a", "b"]), ["a", None, "a"], pd.Series(["a", pd.NA, "a"], dtype="string"), pl.Series(["a", None, "a"])], ids=["Categorical", "list", "string", "polars"])
def test_a_missing_label_forms_its_own_group(by):
    assert report(Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9]), by=by).groups["n"].to_dict() == {"a": 2, "missing": 1}


def test_missing_numbers_and_dates_too():
    p = Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9])
    assert report(p, by=[2.0, float("nan"), float("nan")]).groups["n"].to_dict() == {2.0: 1, "missing": 2}
    dates = pd.Series(pd.to_datetime(["2024-01-02", None, "2024-01-02"]))
    g = report(p, by=dates)
    assert g.groups["n"].tolist() == [2, 1] and g.groups.index[1] == "missing" and g.groups.index[0].startswith("2024-01-02")
    strict(g.to_json())


def test_a_group_called_missing_is_kept_apart():
    g = report(Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9]), by=["missing", None, "missing"]).groups
    assert g["n"].to_dict() == {"missing": 2, "missing (no value)": 1}


# SML-03
@pytest.mark.parametrize("make", [Profile.from_positive, Profile.from_event])
def test_one_class_in_a_group(make):
    r = report(make([1, 1, 0, 1], [0.7, 0.8, 0.2, 0.6]), by=["a", "a", "b", "b"])
    assert r.groups.loc["a", "n"] == 2 and math.isnan(r.groups.loc["a", "auc"]) and "AUC: there is no pair" in r.groups.loc["a", "reason"]
    assert r.groups.loc["a", "accuracy"] == 1 and r.groups.loc["b", "auc"] == 1
    rows = strict(r.to_json())["groups"]
    assert rows[0]["auc"] is None and "AUC" in rows[0]["reason"]
    assert "–" in page_of(r) and "nan" not in " ".join(Page(page_of(r)).text).lower()


def test_group_order_does_not_depend_on_row_order():
    rng = np.random.default_rng(0)
    y, conf, by = rng.random(200) < 0.8, rng.uniform(0.5, 1, 200), rng.choice(["b", "a", "c", None], 200)
    order = rng.permutation(200)
    a = report(Profile.from_confidence(y, conf), by=by).groups
    b = report(Profile.from_confidence(y[order], conf[order]), by=by[order]).groups
    pd.testing.assert_frame_equal(a, b, rtol=1e-12)
    assert a.index.tolist() == ["a", "b", "c", "missing"]


def test_labels_of_mixed_types():
    assert report(Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9]), by=np.array(["a", 1, True], dtype=object)).groups["n"].sum() == 3


def test_weight_0_rows_make_no_group():
    p = Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9], sample_weight=[1.0, 0.0, 2.0])
    assert report(p, by=["a", "b", "a"]).groups["n"].to_dict() == {"a": 3}


def test_several_groups_are_said_to_be_several():
    r = report(hundred(15), by=["a", "b"] * 50)
    assert "2 groups were looked at" in page_of(r) and "2 groups were looked at" in r.to_markdown() and "by chance" in r.to_dict()["groups_note"]
    assert report(hundred(15)).groups is None and report(hundred(15)).to_dict()["groups"] is None


def test_by_may_be_given_for_the_rows_that_were_left_out_too():
    dropped = Profile.from_positive([1, None, 0], [0.7, 0.4, 0.2], drop_invalid_labels=True)
    for by in (["a", "b", "c"], ["a", "c"]):
        assert report(dropped, by=by).groups["n"].to_dict() == {"a": 1, "c": 1}


def test_by_is_checked():
    for call, text in [(lambda: report(hundred(15), by=["a"] * 99), "`by` must have as many rows as `profile`, got 99 and 100"),
                       (lambda: report(hundred(15), by=np.ones((100, 2))), "`by` must have one value a row"), (lambda: report(hundred(15), by="ward"), "`by` must be an array"),
                       (lambda: report(hundred(15, n=2000), by=np.arange(2000.0)), "at most 1000 distinct values, got 2000")]:
        with pytest.raises(InputError, match=re.escape(text)) as caught:
            call()
        assert caught.value.argument == "by"


# --- files and names


# CAL-18
@pytest.mark.parametrize("names", [["<b>bold</b>", "a|b"], ["", "if"], ["</td></table><script>alert(1)</script>", "& \\ ` * _x_ [y](z)"], ["'", '"'], ["a\nb", "\ud800"], ["not ok", "2"]])
def test_any_string_is_a_class_name(names, tmp_path):
    y = np.array(names, dtype=object)[[0, 1, 1, 0, 1]]
    plain = report(Profile.from_event(np.array([0, 1, 1, 0, 1]), [0.1, 0.8, 0.7, 0.6, 0.9], pos_label=1), by=list("aabbb"), decision="x", title="t")
    r = report(Profile.from_event(y, [0.1, 0.8, 0.7, 0.6, 0.9], pos_label=names[1]), by=y, decision=names[0] + ".", title=names[0] or "t")
    r.to_html(tmp_path / "r.html"), r.to_markdown(tmp_path / "r.md"), r.to_json(tmp_path / "r.json")
    page = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert set(page.tags) == set(Page(page_of(plain)).tags) | {"figure", "img", "figcaption"} and page.tags.count("script") == 0
    if names[0].startswith("<"):
        assert any(names[0] in t for t in page.text)
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["classes"] == names
    rows = [line for line in (tmp_path / "r.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    blocks = [len(re.findall(r"(?<!\\)\|", line)) for line in rows]
    assert set(blocks) == {6, len(r.to_dict()["group_columns"]) + 6}, "a name must not make a column"
    assert not any("<" in line for line in rows)


# REP-01, REP-02
def test_json_is_strict_and_plain():
    rng = np.random.default_rng(0)
    p32 = rng.random(40).astype(np.float32)
    profiles = [Profile.from_positive(np.array([1, 1, 1]), [0.9, 0.8, 0.7]), Profile.from_confidence([0, 1], error_prob=[0.0, 0.0]), Profile.from_positive((p32 > 0.4).astype(np.int8), p32, sample_weight=np.ones(40, np.float32)),
                Profile.from_event(np.array(["BaNaNa", "Infinity"], dtype=object)[(p32 > 0.5).astype(int)], p32, pos_label="Infinity")]
    for p in profiles:
        r = report(p, by=np.arange(p.n) % 2, title="BaNaNa-Infinity")
        d = r.to_dict()
        walk(d)
        assert strict(r.to_json()) == json.loads(json.dumps(d, allow_nan=False)) and d["title"] == "BaNaNa-Infinity"
        for m in d["metrics"]:
            assert m["value"] is not None or m["reason"]
        for g in d["groups"]:
            assert all(g[c] is not None for c in d["group_columns"]) or g["reason"]


def walk(x):
    assert type(x) in (dict, list, str, int, float, bool, type(None)), type(x)
    for v in x.values() if isinstance(x, dict) else x if isinstance(x, list) else ():
        walk(v)


def test_page_needs_no_network(binary):
    y, p = binary
    page = Page(report(Profile.from_positive(y, p, pos_label="ill")).to_html())
    assert not {"script", "link", "iframe"} & set(page.tags)
    assert all(v.startswith("data:image/png;base64,") for k, v in page.attributes if k in ("src", "href"))
    assert page.tags.count("img") == 4 and all(v for k, v in page.attributes if k == "alt")
    text = report(Profile.from_positive(y, p, pos_label="ill")).to_html()
    assert "prefers-color-scheme: dark" in text and "url(" not in text and "@import" not in text and len(text) < 600_000


def test_figures_are_opaque(binary):
    from io import BytesIO

    from matplotlib.image import imread

    y, p = binary
    for png in report(Profile.from_positive(y, p, pos_label="ill")).figures().values():
        image = imread(BytesIO(png))
        assert image.shape[2] == 3 or image[..., 3].min() == 1.0


def test_files_are_whole_or_absent(tmp_path, monkeypatch):
    r, file = report(hundred(15)), tmp_path / "r.html"
    assert r.to_html(file) == file and os.listdir(tmp_path) == ["r.html"]
    before = file.read_text()

    def broken(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    for write in (r.to_html, r.to_json, r.to_markdown):
        with pytest.raises(OSError, match="disk full"):
            write(file)
        assert file.read_text() == before and os.listdir(tmp_path) == ["r.html"]
    monkeypatch.undo()
    monkeypatch.setattr(module, "_png", broken)
    with pytest.raises(OSError):
        r.to_html(tmp_path / "other.html")
    assert os.listdir(tmp_path) == ["r.html"]


def test_files_keep_link_and_mode_and_go_to_devices(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("{}")
    target.chmod(0o640)
    link.symlink_to(target)
    r = report(hundred(15))
    r.to_json(link)
    assert link.is_symlink() and strict(target.read_text())["n"] == 100 and target.stat().st_mode & 0o777 == 0o640
    r.to_json("/dev/null")
    with pytest.raises(FileNotFoundError):
        r.to_json(tmp_path / "no" / "r.json")
    with pytest.raises(OSError):
        r.to_json(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["link.json", "target.json"]


def test_notebook_views(binary):
    y, p = binary
    r = report(Profile.from_positive(y, p, pos_label="ill"))
    assert "<img" not in r._repr_html_() and len(r._repr_html_()) < 50_000 and r._repr_markdown_() == r.to_markdown()
    Page(r._repr_html_())
    assert "CSR" in repr(r) and "n=300" in repr(r) and "\n" not in repr(r)


@pytest.mark.parametrize("rows", [dict(y_true=[1], p_pos=[0.7]), dict(y_true=[1, 0], p_pos=[1.0, 0.0]), dict(y_true=[0, 1], p_pos=[1.0, 0.0]), dict(y_true=[1, 1], p_pos=[0.5, 0.5], sample_weight=[0.5, 0.25])])
@pytest.mark.parametrize("make", [Profile.from_positive, Profile.from_event])
def test_degenerate_profiles_are_reported(make, rows):
    rows = dict(rows) | ({"p_event": rows["p_pos"]} if make is Profile.from_event else {})
    if make is Profile.from_event:
        rows.pop("p_pos")
    r = report(make(**rows), by=["g"] * len(rows["y_true"]))
    Page(page_of(r)), strict(r.to_json()), r.to_markdown()
    assert all(r.figures().values())
    assert r.verdict.level == "too little data"


def test_many_classes():
    rng = np.random.default_rng(0)
    r = report(Profile.from_proba(rng.integers(0, 40, 300), rng.dirichlet(np.ones(40), 300), classes=range(40)))
    assert "40 classes: 0, 1" in page_of(r) and "…" in page_of(r)


@pytest.mark.parametrize("value, text", [(1.0, "1.0000"), (0.99999, "> 0.9999"), (0.99994, "0.9999"), (0, "0"), (1e-5, "1.00e−05"), (-7e-16, "≈ 0"), (123456.7, "123,457"), (2e8, "2.00e+08"), (float("nan"), "–"), (float("-inf"), "−∞"), (12345, "12,345")])
def test_numbers(value, text):
    assert html.number(value) == text


def test_arguments():
    for call, name in [(lambda: report([1]), "profile"), (lambda: report(hundred(15), decision=1), "decision"), (lambda: report(hundred(15), title=1), "title"), (lambda: report(hundred(15), n_bins=0), "n_bins"),
                       (lambda: judge(Profile.from_event([1], [0.4])), "profile")]:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.argument == name


def test_sure_rows_that_hide_an_excess_are_named():
    "999 rows at q = 0.1 with 130 errors, and one right row at 1 - 1e-8 whose variance covers everything: exact p-value 0.0011, P_risk 0.512."
    q, right = np.full(999, 0.1), np.arange(999) >= 130
    text = judge(Profile.from_confidence(np.r_[right, True], error_prob=np.r_[q, 1e-8])).text
    assert "1 row with 1 − conf up to 1e-08 carries 100% of the variance" in text and "CSR = 1.3013" in text and "P_risk = 0.9992" in text
    assert "carry" not in judge(Profile.from_confidence(np.arange(1000) >= 90, error_prob=q[:1].repeat(1000))).text.replace("carries", "")


def test_few_errors_that_chance_does_not_explain():
    text = judge(Profile.from_confidence(np.arange(1000) >= 9, error_prob=np.full(1000, 1e-6))).text
    assert "not by chance: the claims allow 0.001 errors on average" in text
    assert "not by chance" not in judge(Profile.from_confidence(np.arange(1000) >= 9, error_prob=np.full(1000, 0.009))).text


def test_intervals_on_the_log_odds_scale():
    "cwA with its standard error: logit(v) +- 1.96 se / (v (1 - v)), by hand."
    import math

    p = hundred(10)
    row = next(m for m in report(p).metrics if m["metric"] == "cw_accuracy")
    v, se = row["value"], row["se"]
    low = 1 / (1 + math.exp(-(math.log(v / (1 - v)) - 1.959963984540054 * se / (v * (1 - v)))))
    assert row["low"] == pytest.approx(low, rel=1e-12) and 0 < row["low"] < v < row["high"] < 1
