"""The command as a user runs it: exit codes, one clear line for a fault, whole files or none."""
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from cwcal.cli import app
from cwcal.inputs import InputError
from cwcal.reporting.files import profile_from_frame, read_table


@pytest.fixture
def cwcal(tmp_path, monkeypatch, capsys):
    "Run the command in this process, in an empty folder: (exit code, output, errors)."
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments):
        "No colours: rich would break words apart."
        try:
            app([str(a) for a in arguments], standalone_mode=True)
            code = 0
        except SystemExit as e:
            code = e.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    run.folder = tmp_path
    return run


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


CASES = "y,p,group\n" + "1,0.9,a\n0,0.2,b\n0,0.8,a\n1,0.7,b\n" * 25


def test_report_from_start_to_end(cwcal):
    write(cwcal.folder, "cases.csv", CASES)
    code, out, err = cwcal("report", "cases.csv", "--y-true", "y", "--proba", "p", "--by", "group", "--html", "page.html", "--json", "numbers.json", "--decision", "whom to call")
    assert code == 0 and err == "" and "judged is the probability of the predicted class" in out.replace("\n", " ") and "whom to call" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    numbers = json.loads((cwcal.folder / "numbers.json").read_text(encoding="utf-8"))
    assert numbers["n"] == 100 and {g["group"] for g in numbers["groups"]} == {"a", "b"}
    value = next(m["value"] for m in numbers["metrics"] if m["metric"] == "csr")
    assert value == pytest.approx(0.25 / 0.2)  # one row in four is wrong, at confidence 0.8
    page = (cwcal.folder / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>") and "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize("name", ["cases.parquet", "cases.jsonl", "cases.tsv"])
def test_other_formats_give_the_same_numbers(cwcal, name):
    frame = pd.DataFrame({"y": [1, 0, 0, 1] * 25, "p": [0.9, 0.2, 0.8, 0.7] * 25})
    if name.endswith("parquet"):
        frame.to_parquet(cwcal.folder / name)
    elif name.endswith("jsonl"):
        frame.to_json(cwcal.folder / name, orient="records", lines=True)
    else:
        frame.to_csv(cwcal.folder / name, sep="\t", index=False)
    code, out, _ = cwcal("report", name, "--y-true", "y", "--proba", "p", "--json", "n.json")
    assert code == 0
    numbers = json.loads((cwcal.folder / "n.json").read_text(encoding="utf-8"))
    assert next(m["value"] for m in numbers["metrics"] if m["metric"] == "csr") == pytest.approx(1.25)


@pytest.mark.parametrize("text, arguments, said", [
    ("y,p\n1,0.9\n0,\n", ["--y-true", "y", "--proba", "p"], "column 'p' must hold numbers, got an empty cell at row 1, line 3"),
    ("y,p\n1,0.9\n0,high\n", ["--y-true", "y", "--proba", "p"], "column 'p' must hold numbers, got 'high' at row 1, line 3"),
    ("y,p\n1,0.9\n0,1.2\n", ["--y-true", "y", "--proba", "p"], "column 'p' must lie in [0, 1], got 1.2 at row 1, line 3"),
    ("y,p\n1,0.9\n0,nan\n", ["--y-true", "y", "--proba", "p"], "column 'p' must be finite, got nan at row 1, line 3"),
    ("y,p\n1,0.9\n0.5,0.3\n0,0.1\n", ["--y-true", "y", "--proba", "p"], "column 'y' must hold one of the classes '0', '1', got '0.5' at row 1, line 3; --drop-invalid-labels"),
    ("y,p\n1,0.9\n,0.3\n0,0.1\n", ["--y-true", "y", "--proba", "p"], "got a missing label at row 1, line 3"),
    ("y,p\nyes,0.9\nno,0.3\n", ["--y-true", "y", "--proba", "p"], "--pos-label must be given"),
    ("y,p\n1,0.9\n0,0.3\n", ["--y-true", "y", "--proba", "q"], "column 'q' is not in the file; the file has y, p"),
    ("y,p\n1,0.9\n0,0.3\n", ["--y-true", "y"], "exactly one of --proba, --event, --logits and --conf must be given, got none"),
    ("y,p\n1,0.9\n0,0.3\n", ["--proba", "p"], "--y-true or --one-hot must be given"),
    ("y,p\n1,0.9\n0,0.3\n", ["--conf", "p"], "--conf needs --correct"),
    ("y,p\n1,0.9\n2,0.3\n", ["--correct", "y", "--conf", "p"], "column 'y' must be 0 or 1, got '2' at row 1, line 3"),
    ("y,a,b\n1,3.2,-2.2\n0,-0.4,1.4\n", ["--y-true", "y", "--proba", "a", "--proba", "b"], "use --logits"),
    ("y,a,b\nx,0.5,0.5\n", ["--y-true", "y", "--proba", "a", "--proba", "b"], "--classes must name the columns a, b"),
    ("y,p\n", ["--y-true", "y", "--proba", "p"], "there are no rows"),
    ("", ["--y-true", "y", "--proba", "p"], "cases.csv: is empty"),
    ("y,p,p\n1,0.9,0.8\n", ["--y-true", "y", "--proba", "p"], "column 'p' stands in the header of cases.csv 2 times"),
    ("y,p\n\n1,0.9\n\n0,x\n", ["--y-true", "y", "--proba", "p"], "got 'x' at row 1, line 5"),
    ('y,p,note\n1,0.9,"two\nlines"\n0,x,\n', ["--y-true", "y", "--proba", "p"], "got 'x' at row 1, line 4"),
    ("y,p\n1,0_9\n0,0.3\n", ["--y-true", "y", "--proba", "p"], "must hold numbers, got '0_9' at row 0, line 2"),
    ("y,p\n1,90\n0,20\n", ["--y-true", "y", "--proba", "p"], "divide per cents by 100"),
    ("y;p\n1;0.9\n", ["--y-true", "y", "--proba", "p"], "its columns must be separated by commas"),
    ("y,a,b\n0,0.9,0.1\n", ["--y-true", "y", "--proba", "a,b"], "name one column at a time"),
    ("y,a,b\na,0.9,0.1\nb,0.2,0.8\n", ["--y-true", "y", "--proba", "a", "--proba", "b", "--classes", "b", "--classes", "a"], "--classes must follow the order of the columns a, b"),
    ("y,a,b\n0,0.9,0.1\n", ["--y-true", "y", "--proba", "a", "--proba", "a"], "column 'a' is named more than once"),
    ("y,p\nyes,0.9\nno,0.3\n", ["--y-true", "y", "--proba", "p", "--pos-label", "YES"], "--pos-label must be one of the labels 'yes', 'no', got 'YES'"),
    ("ok,c\n1,0.9\n", ["--correct", "ok", "--conf", "c", "--pos-label", "1"], "--pos-label does not go with --conf"),
    ("y,a,b\n0,0.9,0.1\n", ["--y-true", "y", "--proba", "a", "--proba", "b", "--pos-label", "1"], "--pos-label does not go with --proba of several columns"),
])
def test_bad_data_is_one_line_and_exit_code_two(cwcal, text, arguments, said):
    write(cwcal.folder, "cases.csv", text)
    code, out, err = cwcal("report", "cases.csv", *arguments, "--html", "page.html", "--json", "numbers.json")
    assert code == 2 and out == "" and err.count("\n") == 1 and err.startswith("cwcal: ") and said in err
    assert sorted(p.name for p in cwcal.folder.iterdir()) == ["cases.csv"]


@pytest.mark.parametrize("arguments, said", [
    (["report", "none.csv", "--y-true", "y", "--proba", "p"], "no such file"),
    (["report", "cases.csv", "--y-true", "y", "--proba", "p", "--html", "nowhere/page.html"], "--html: the folder nowhere does not exist"),
    (["report", "cases.csv", "--y-true", "y", "--proba", "p", "--n-bins", "1e1"], "--n-bins"),
    (["report", "cases.csv", "--y-true", "y", "--proba", "p", "--n-bins", "0"], "--n-bins"),
    (["report", "cases.csv", "--colour"], "--colour"),
    (["report"], "Missing argument"),
    (["repot"], "repot"),
])
def test_bad_usage_is_exit_code_two(cwcal, arguments, said):
    write(cwcal.folder, "cases.csv", CASES)
    code, _, err = cwcal(*arguments)
    assert code == 2 and said in ' '.join(err.replace('│', ' ').split())


def test_an_output_that_cannot_be_written_leaves_nothing(cwcal):
    write(cwcal.folder, "cases.csv", CASES)
    (cwcal.folder / "taken").mkdir()
    code, _, err = cwcal("report", "cases.csv", "--y-true", "y", "--proba", "p", "--html", "page.html", "--json", "taken")
    assert code == 2 and "taken is a folder" in err and not (cwcal.folder / "page.html").exists()


def test_labels_stay_text(cwcal):
    write(cwcal.folder, "regions.csv", "y,NA,EU,None\nNA,0.9,0.05,0.05\nEU,0.6,0.3,0.1\nNone,0.2,0.1,0.7\n")
    p = profile_from_frame(read_table(cwcal.folder / "regions.csv"), y_true="y", proba=["NA", "EU", "None"])
    assert p.classes == ("NA", "EU", "None") and p.mean(p.correct) == pytest.approx(2 / 3)
    write(cwcal.folder, "codes.csv", "y,p\n01,0.9\n1,0.2\n")
    p = profile_from_frame(read_table(cwcal.folder / "codes.csv"), y_true="y", proba=["p"], pos_label="01")
    assert p.classes == ("1", "01") and p.correct.all()


def test_event_and_logits_and_confidence(cwcal):
    write(cwcal.folder, "f.csv", "y,p,m,ok\n" + "1,0.9,2.2,true\n0,0.3,-0.85,true\n1,0.2,-1.4,false\n" * 20)
    for arguments, said in ((["--y-true", "y", "--event", "p"], "the probability that the event '1' happens"), (["--y-true", "y", "--logits", "m"], "the probability of the predicted class"),
                            (["--correct", "ok", "--conf", "p"], "the probability of the predicted class")):
        code, out, err = cwcal("report", "f.csv", *arguments)
        assert code == 0 and said in out.replace("\n", " "), err


def test_one_hot_cells_are_read_as_numbers():
    frame = pd.DataFrame({"a": ["0.9", "0.2"], "b": ["0.1", "0.8"], "is_a": ["1.0", "0"], "is_b": ["0.0", "1"]})
    p = profile_from_frame(frame, proba=["a", "b"], one_hot=["is_a", "is_b"])
    assert p.correct.all() and p.classes == ("is_a", "is_b")
    with pytest.raises(InputError, match="one column a class: 3 classes, got 2 columns"):
        profile_from_frame(frame, proba=["a", "b"], one_hot=["is_a", "is_b"], classes=["x", "y", "z"])


@pytest.mark.parametrize("labels, expected", [(["0", "1", "0.5"], ("0", "1")), (["0.0", "1.0"], ("0.0", "1.0")), (["True", "False"], ("False", "True")), (["-1", "1"], ("-1", "1"))])
def test_plain_binary_text_labels_need_no_positive_label(labels, expected):
    frame = pd.DataFrame({"y": labels, "p": np.linspace(0.1, 0.9, len(labels))})
    p = profile_from_frame(frame, y_true="y", proba=["p"], drop_invalid_labels=True)
    assert p.classes == expected and p.n == 2


def test_nfl_games(cwcal, shared):
    games = shared / "forecasts" / "nfl_games.csv"
    code, out, err = cwcal("report", games, "--y-true", "prob1_outcome", "--proba", "prob1")
    assert code == 2 and out == "" and "column 'prob1_outcome' must hold one of the classes '0', '1', got '0.5' at row 145, line 147 (7 rows)" in err
    code, out, err = cwcal("report", games, "--y-true", "prob1_outcome", "--proba", "prob1", "--drop-invalid-labels")
    assert code == 0 and "7 rows left out" in out and "1,882 rows" in out


def test_world_cup_matches(cwcal, shared):
    columns = [f"--{option}={column}" for option, names in (("one-hot", ("prob1_outcome", "probtie_outcome", "prob2_outcome")), ("proba", ("prob1", "probtie", "prob2")), ("classes", ("home", "tie", "away"))) for column in names]
    code, out, err = cwcal("report", shared / "forecasts" / "world_cup_matches_men.csv", *columns)
    assert code == 0 and "3 classes: home, tie, away" in out and "176 rows" in out


def test_demo(cwcal):
    pytest.importorskip("xgboost")
    code, out, err = cwcal("demo", "--html", "demo.html")
    assert code == 0 and all(name in out for name in ("raw", "isotonic", "platt", "wrote demo.html"))
    assert (cwcal.folder / "demo.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_version_and_entry_point():
    import cwcal

    done = subprocess.run([sys.executable, "-c", "from cwcal.cli import main; main()", "--version"], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}, check=True)
    assert done.stdout == f"cwcal {cwcal.__version__}\n"


def test_outputs_never_replace_the_input_or_each_other(cwcal):
    file = write(cwcal.folder, "cases.csv", CASES)
    for extra, said in ((["--html", "cases.csv"], "--html: cases.csv is the file of predictions"), (["--json", "./cases.csv"], "is the file of predictions"),
                        (["--html", "o.html", "--json", "o.html"], "--html and --json must name different files")):
        code, _, err = cwcal("report", "cases.csv", "--y-true", "y", "--proba", "p", *extra)
        assert code == 2 and said in err and file.read_text(encoding="utf-8") == CASES
    assert sorted(p.name for p in cwcal.folder.iterdir()) == ["cases.csv"]


def test_an_option_that_counts_once_is_refused_twice(cwcal, monkeypatch, capsys):
    from cwcal.cli import main

    monkeypatch.setattr(sys, "argv", ["cwcal", "report", "cases.csv", "--by", "a", "--by=b"])
    with pytest.raises(SystemExit) as e:
        main()
    assert e.value.code == 2 and "--by may be given once" in capsys.readouterr().err


def test_jsonl_rows_have_lines_and_distinct_keys(cwcal):
    write(cwcal.folder, "a.jsonl", '{"y": 1, "p": 0.9}\n\n{"y": 0, "p": 1.2}\n')
    assert "got 1.2 at row 1, line 3" in cwcal("report", "a.jsonl", "--y-true", "y", "--proba", "p")[2]
    write(cwcal.folder, "b.jsonl", '{"y": 1, "p": 0.9, "p": 0.3}\n')
    assert "line 1: the key 'p' stands in it more than once" in cwcal("report", "b.jsonl", "--y-true", "y", "--proba", "p")[2]
    write(cwcal.folder, "c.jsonl", "".join('{"y": true, "p": 0.9}\n{"y": false, "p": 0.2}\n' for _ in range(20)))
    assert "2 classes: False, True" in cwcal("report", "c.jsonl", "--y-true", "y", "--proba", "p")[1]


def test_text_that_is_not_utf8(cwcal):
    (cwcal.folder / "latin.csv").write_bytes("y,p\ncafé,0.9\n".encode("latin-1"))
    code, _, err = cwcal("report", "latin.csv", "--y-true", "y", "--proba", "p")
    assert code == 2 and "is not UTF-8 text" in err and "save it as UTF-8" in err
