"""The model card: six lines, never five; what is not said is shown as missing."""
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from cwcal.cli import app
from cwcal.decisions.thresholds import ThresholdRule
from cwcal.inputs import InputError
from cwcal.metrics.binned import expected_calibration_error, reliability_table
from cwcal.metrics.csr import csr_summary
from cwcal.metrics.weighted import accuracy, cw_accuracy
from cwcal.profile import Profile
from cwcal.reporting.card import ModelCard, model_card

TITLES = ["Accuracy on held-out data", "Reliability table", "ECE as a summary, beside CSR, P_risk and cwA", "Per-class thresholds, with their rule and fitting set", "What calibration was fitted and evaluated on", "Subgroups checked"]


@pytest.fixture(scope="module")
def both():
    rng = np.random.default_rng(4)
    p = rng.beta(1.5, 1.5, 800)
    return Profile.from_positive(np.where(rng.random(800) < p, "ill", "well"), p, pos_label="ill")


@pytest.fixture(scope="module")
def fit(both):
    return both.subset(np.arange(400))


@pytest.fixture(scope="module")
def held_out(both):
    return both.subset(np.arange(400, 800))


@pytest.fixture(scope="module")
def rule(fit):
    return ThresholdRule.fit(fit, fitted_on="first 400", rule="youden", date="2024-05-02")


def strict(text):
    return json.loads(text, parse_constant=lambda c: pytest.fail(f"{c} is no JSON"))


class Page(HTMLParser):
    "Tags and text; refuses tags that do not nest."

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self.open = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)


def test_six_lines_whatever_is_given(held_out, rule):
    for options in ({}, dict(by=["g"] * 400), dict(thresholds=rule), dict(evaluated_on="x", calibration="none", thresholds=rule, by=["g"] * 400)):
        card = model_card(held_out, **options)
        assert [x.title for x in card.lines] == TITLES and [x.number for x in card.lines] == [1, 2, 3, 4, 5, 6]
        for text in (card.to_markdown(), " ".join(Page(card.to_html()).text)):
            assert [f"{k}. {t}" in text.replace("\\", "") for k, t in enumerate(TITLES, 1)] == [True] * 6
        assert len(card.to_dict()["lines"]) == 6


def test_missing_lines_say_so(held_out):
    card = model_card(held_out)
    assert [x.status for x in card.lines] == ["incomplete", "stated", "stated", "missing", "missing", "missing"] and card.summary.startswith("2 of 6 lines")
    assert card.to_markdown().count("**Missing:**") == len(card.missing) == 5 and "Missing:" in card.to_html()
    for name in ("evaluated_on", "thresholds", "calibration", "by"):
        assert f"`{name}`" in card.to_markdown() and f"<code>{name}</code>" in card.to_html()
    d = card.to_dict()
    assert d["complete"] is False and d["lines"][3]["missing"] and d["lines"][3]["status"] == "missing"


def test_complete_card(held_out, rule):
    card = model_card(held_out, by=np.repeat(["a", "b"], 200), thresholds=rule, calibration="temperature scaling on the first 400", evaluated_on="last 400", decision="whom to call", title="T")
    assert card.missing == [] and card.summary == "All six lines are stated." and card.to_dict()["complete"] is True
    text = card.to_markdown()
    assert text.startswith("# T\n") and "whom to call" in text and "Evaluated on: last 400." in text and "Fitted: temperature scaling on the first 400." in text


def test_numbers_are_the_metrics(held_out):
    d = model_card(held_out, n_bins=7).to_dict()["lines"]
    s = csr_summary(held_out)
    assert d[0]["data"]["accuracy"] == accuracy(held_out) and d[2]["data"]["expected_calibration_error"] == expected_calibration_error(held_out, n_bins=7)
    assert (d[2]["data"]["csr"], d[2]["data"]["p_risk"], d[2]["data"]["cw_accuracy"]) == (s.csr, s.p_risk, cw_accuracy(held_out))
    table = reliability_table(held_out, n_bins=7)
    assert d[1]["data"]["n_bins"] == 7 and [b["count"] for b in d[1]["data"]["bins"]] == table["count"].tolist()
    assert "7 equal-width bins" in model_card(held_out, n_bins=7).to_markdown() and "ECE, 7 bins" in model_card(held_out, n_bins=7).to_markdown()


def test_every_row_is_in_the_table(held_out):
    line = model_card(held_out).lines[1]
    assert sum(int(r[1].replace(",", "")) for r in line.rows) == 400 and "not listed" in line.text[0]
    one = model_card(Profile.from_confidence([1, 0], error_prob=[1.0, 0.0])).lines[1]
    assert [r[0] for r in one.rows] == ["[0, 0.06667)", "[0.9333, 1]"] and [r[1] for r in one.rows] == ["1", "1"]


# --- thresholds


def test_thresholds_carry_rule_set_size_and_date(held_out, rule):
    line = model_card(held_out, thresholds=rule, evaluated_on="last 400").lines[3]
    assert line.text[0] == "Rule: youden; fitted on: first 400, 400 rows, 2024-05-02." and line.status == "stated"
    assert [r[0] for r in line.rows] == ["ill"] and float(line.rows[0][1]) == pytest.approx(rule["ill"].threshold, abs=1e-4)
    assert ThresholdRule.from_dict(strict(model_card(held_out, thresholds=rule).to_json())["lines"][3]["data"]["rule"]) == rule


def test_thresholds_in_sample_and_elsewhere(fit, held_out, rule):
    assert any("in-sample" in t for t in model_card(fit, thresholds=rule).lines[3].text)
    assert not any("in-sample" in t for t in model_card(held_out, thresholds=rule, evaluated_on="last 400").lines[3].text)
    rare = held_out.subset(np.flatnonzero(held_out.y_true == 0).tolist() + np.flatnonzero(held_out.y_true == 1)[:5].tolist())
    assert any("The prevalence is not that of" in t for t in model_card(rare, thresholds=rule).lines[3].text)


def test_thresholds_of_other_classes_are_incomplete(rule):
    line = model_card(Profile.from_confidence([1, 0, 1], [0.8, 0.7, 0.9]), thresholds=rule).lines[3]
    assert line.status == "incomplete" and "what the thresholds do on these rows" in line.missing[0] and line.rows[0][3] == "–"


def test_several_classes():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 500)
    y = np.array([rng.choice(3, p=r) for r in proba])
    p = Profile.from_proba(np.array(["a", "b", "c"])[y], proba, classes=("a", "b", "c"))
    line = model_card(p.subset(np.arange(250)), thresholds=ThresholdRule.fit(p.subset(np.arange(250, 500)), fitted_on="other half")).lines[3]
    assert [r[0] for r in line.rows] == ["a", "b", "c"] and all(float(r[4]) > 0 for r in line.rows)


# --- calibration


def test_calibration_lines(held_out):
    class Temperature:
        class_counts_ = np.array([100.0, 200.0])
        notes_ = ("few rows",)

    def line(calibration, evaluated_on="last 400"):
        return model_card(held_out, calibration=calibration, evaluated_on=evaluated_on).lines[4]

    assert line("none").text[0].startswith("No calibration was fitted") and line("none").status == "stated"
    assert line((Temperature(), "first 400")).text[:2] == ("Fitted: Temperature on first 400, 300 rows.", "The fit noted: few rows.")
    assert line(Temperature()).status == "incomplete" and "on which rows" in line(Temperature()).missing[0]
    assert line("Platt on the first 400", None).status == "incomplete" and line(None).status == "missing" and line(None, None).status == "missing"


def test_calibration_that_the_profile_records(held_out):
    from dataclasses import replace

    p = replace(held_out, notes=("confidences recalibrated by TemperatureScaling", "in-sample: fitted on the same rows"))
    line = model_card(p, evaluated_on="last 400").lines[4]
    assert line.status == "incomplete" and "recalibrated by TemperatureScaling" in line.text[0] and any("same rows" in t for t in line.text)
    assert any("But the profile records" in t for t in model_card(p, calibration="none").lines[4].text)


# --- subgroups


# SUB-01, SML-03
def test_subgroups(held_out):
    by = np.array(["a"] * 380 + [None] * 20, dtype=object)
    line = model_card(held_out, by=by).lines[5]
    assert [r[0] for r in line.rows] == ["a", "missing"] and line.rows[1][4:7] == ("too few",) * 3 and re.match(r"0\.\d{4} \(0\.\d{4} – ", line.rows[1][3])
    assert line.data["worst"] == "a" and "2 groups were looked at" in line.text[0]
    assert model_card(held_out, by=np.arange(400)).lines[5].status == "incomplete", "no group with enough data"


# --- kinds, weights, degenerate profiles


def test_event_card(held_out):
    e = Profile.from_event(np.asarray(held_out.classes)[held_out.y_true], held_out.scores(1), pos_label="ill")
    card = model_card(e)
    assert "the probability that the event 'ill' happens" in card.judged and "Brier score" in card.lines[0].text[1]
    assert card.lines[1].columns[3] == "event rate" and card.lines[2].rows[0][0].startswith("ECE of the event") and "class predicted at 0.5" in card.lines[2].rows[1][0]


# WGT-01
def test_weights_are_rows(held_out):
    w = np.random.default_rng(1).integers(0, 3, 400)
    y, proba, by = np.asarray(held_out.classes)[held_out.y_true], held_out.scores(1), np.repeat(["a", "b"], 200)
    rows = np.repeat(np.arange(400), w)
    a = model_card(Profile.from_positive(y, proba, pos_label="ill", sample_weight=w), by=by)
    b = model_card(Profile.from_positive(y[rows], proba[rows], pos_label="ill"), by=by[rows])
    for x, z in zip(a.lines, b.lines):
        assert [[float(v) if re.fullmatch(r"\d[\d.]*", v) else v for v in r] for r in x.rows] == [[float(v) if re.fullmatch(r"\d[\d.]*", v) else v for v in r] for r in z.rows]


# SML-01, SML-05, SML-11
@pytest.mark.parametrize("p", [Profile.from_positive([1], [0.7], pos_label=1), Profile.from_positive([1, 1, 1], [0.2, 0.6, 0.9], pos_label=1), Profile.from_confidence([0, 1], error_prob=[0.0, 0.0]), Profile.from_event([1, 1], [1.0, 1.0], pos_label=1)])
def test_degenerate_profiles(p):
    card = model_card(p, by=["g"] * p.n)
    d = strict(card.to_json())
    assert d["lines"][0]["data"]["n"] == p.n and "nan" not in (card.to_markdown() + "".join(Page(card.to_html()).text)).lower()


@pytest.mark.parametrize("names", [["<b>bold</b>", "a|b"], ["", "if"], ["</td></table><script>alert(1)</script>", "& \\ ` * _x_"], ["a\nb", "c"]])
def test_any_string_is_a_name(names, tmp_path):
    y = np.array(names, dtype=object)[[0, 1, 1, 0, 1] * 20]
    proba = np.array([0.1, 0.8, 0.7, 0.6, 0.9] * 20)
    p = Profile.from_positive(y, proba, pos_label=names[1], classes=tuple(names))
    said = names[1] or "x"
    card, plain = (model_card(q, by=q_by, thresholds=ThresholdRule.fit(q, fitted_on=word), calibration=word, evaluated_on=word, decision=word, title=word) for q, q_by, word in
                   ((p, y, said), (Profile.from_positive(y == names[1], proba, pos_label=True), y == names[1], "x")))
    page = Page(card.to_html())
    assert page.tags == Page(plain.to_html()).tags, "a name must not make a tag"
    card.to_html(tmp_path / "c.html"), card.to_markdown(tmp_path / "c.md"), card.to_json(tmp_path / "c.json")
    rows = [line for line in (tmp_path / "c.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    widths = {len(x.columns) + 1 for x in card.lines if x.rows}
    assert {len(re.findall(r"(?<!\\)\|", r)) for r in rows} == widths and not any("<" in r for r in rows)


def test_views(held_out):
    card = model_card(held_out)
    assert isinstance(card, ModelCard) and card._repr_markdown_() == card.to_markdown() and "\n" not in repr(card)
    text = card.to_html()
    assert text.startswith("<!doctype html>") and not {"script", "link", "iframe", "img"} & set(Page(text).tags) and "http" not in text and "prefers-color-scheme: dark" in text


@pytest.mark.parametrize("options, argument", [(dict(evaluated_on=3), "evaluated_on"), (dict(evaluated_on=""), "evaluated_on"), (dict(decision=1), "decision"), (dict(title=" "), "title"), (dict(thresholds=0.5), "thresholds"), (dict(thresholds={"ill": 0.5}), "thresholds"),
                                               (dict(calibration=True), "calibration"), (dict(calibration=("a", "b", "c")), "calibration"), (dict(calibration=" "), "calibration"), (dict(by=["a"]), "by"), (dict(n_bins=0), "n_bins")])
def test_errors_name_the_argument(held_out, options, argument):
    with pytest.raises(InputError) as caught:
        model_card(held_out, **options)
    assert caught.value.argument == argument


def test_command(tmp_path, monkeypatch, capsys, held_out, rule):
    monkeypatch.chdir(tmp_path)
    rows = [f"{held_out.classes[y]},{p!r},{'ab'[i % 2]}" for i, (y, p) in enumerate(zip(held_out.y_true, held_out.scores(1).tolist()))]
    (tmp_path / "c.csv").write_text("y,p,ward\n" + "\n".join(rows), encoding="utf-8")
    (tmp_path / "rule.json").write_text(json.dumps(rule.to_dict()), encoding="utf-8")
    (tmp_path / "bad.json").write_text("[1]", encoding="utf-8")
    columns = ["card", "c.csv", "--y-true", "y", "--proba", "p", "--pos-label", "ill"]
    with pytest.raises(SystemExit) as end:
        app([*columns, "--by", "ward", "--thresholds", "rule.json", "--calibration", "none", "--evaluated-on", "last 400", "--html", "c.html", "--json", "c.json"])
    said = capsys.readouterr()
    assert not end.value.code and "All six lines are stated." in said.out and said.err == ""
    assert strict((tmp_path / "c.json").read_text(encoding="utf-8"))["complete"] and (tmp_path / "c.html").exists()
    with pytest.raises(SystemExit) as end:
        app([*columns, "--thresholds", "bad.json"])
    assert end.value.code == 2 and "is no threshold rule" in capsys.readouterr().err


def test_world_cup(shared):
    from cwcal.reporting.files import profile_from_frame, read_table, texts

    frame = read_table(shared / "forecasts" / "world_cup_matches_men.csv")
    p = profile_from_frame(frame, proba=["prob1", "probtie", "prob2"], one_hot=["prob1_outcome", "probtie_outcome", "prob2_outcome"])
    card = model_card(p, by=texts(frame, "season"), evaluated_on="176 matches", calibration="none")
    assert [m[0] for m in card.missing] == [4] and card.lines[0].data["n"] == 176 and [r[0] for r in card.lines[5].rows] == ["2014", "2018", "2022"]
