"""The runner: what it refuses before anything runs, what reaches the notebook, what is kept, and that a killed run ends as an uninterrupted one."""
import datetime
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from cwcal.inputs import InputError
from cwcal.lab import runner
from cwcal.lab.runner import Parameter, RunFailed, describe, list_experiments, merge_parameters, run_command, run_experiment

ROOT = Path(__file__).resolve().parents[1]
MODES = ("perfect", "random_half")

DECLARED = '''"What the cell may hold beside assignments: a docstring."
n_bins: int = 15  # bins of the histogram
alpha: float = 0.5  # weight
seeds: list[int] = [0]  # one run per seed
names: list[str] = ["uniform",  # first half of the comment,
                    "bell"]  # second half; each of: uniform, skew_high, bell
mode: str = "perfect"  # one of: test_runner.MODES
alphas = [0.1, 2]
flag = False
label: str | None = None
cap: "float" = 1  # upper bound
extra: dict = {}
n_jobs: int = 1  # processes
out_dir: str = ""  # where results go; writes: tables/t.csv'''


def notebook(path, *cells, tag="parameters", title="# Title of it\n\n> One sentence.", **metadata):
    "Write a notebook; its first code cell is tagged."
    code = [nbformat.v4.new_code_cell(c) if isinstance(c, str) else c for c in cells]
    if tag:
        code[0].metadata["tags"] = [tag]
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(title), *code], metadata=metadata), path)
    return path


@pytest.fixture
def declared(tmp_path):
    return describe(notebook(tmp_path / "declared.ipynb", DECLARED))


def test_describe(declared):
    assert (declared.name, declared.title, declared.summary, declared.packaged) == ("declared", "Title of it", "One sentence.", False)
    assert [p.type for p in declared.parameters] == ["int", "float", "list[int]", "list[str]", "str", "list[float]", "bool", "str | None", "float", "dict", "int", "str"]
    assert declared["n_bins"] == Parameter("n_bins", "int", 15, "bins of the histogram", ("int",))
    assert declared["names"].comment == "first half of the comment, second half; each of: uniform, skew_high, bell"
    assert declared["names"].choices == ("uniform", "skew_high", "bell") and declared["mode"].choices == MODES and declared["alpha"].choices == ()
    assert declared["cap"].default == 1.0 and type(declared["cap"].default) is float and declared["alphas"].default == [0.1, 2.0]
    assert declared.writes == ("tables/t.csv",) and "cap" in declared and "cup" not in declared
    assert "n_bins: int = 15  # bins of the histogram" in str(declared) and "one of: perfect, random_half" in str(declared)
    assert "| `n_bins` | `int` | `15` | bins of the histogram |" in declared._repr_markdown_()


@pytest.mark.parametrize("setting, name, value", [
    ("n_bins=10", "n_bins", 10), ("n_bins=1e5", "n_bins", 100000), ("n_bins=1_000", "n_bins", 1000), ("alpha=1", "alpha", 1.0), ("alpha=1e-3", "alpha", 0.001), ("alpha=.inf", "alpha", math.inf),
    ("cap=inf", "cap", math.inf), ("cap=-inf", "cap", -math.inf), ("seeds=[3, 5, 8]", "seeds", [3, 5, 8]), ("seeds=[]", "seeds", []), ("names=[bell]", "names", ["bell"]),
    ("alphas=[1, .5]", "alphas", [1.0, 0.5]), ("flag=true", "flag", True), ("label=null", "label", None), ("label=10", "label", "10"), ("label=no", "label", "no"), ("label=a=b", "label", "a=b"),
    ("out_dir=12", "out_dir", "12"), ("out_dir=", "out_dir", ""), ("extra={a: [1, 2]}", "extra", {"a": [1, 2]}),
])
def test_settings_that_fit(declared, setting, name, value):
    got = merge_parameters(declared, settings=[setting])[name]
    assert got == value and type(got) is type(value)


@pytest.mark.parametrize("setting, message", [
    ("n_bin=10", "`n_bin` is no parameter of declared; did you mean `n_bins`?"), ("zzz=1", "`zzz` is no parameter of declared; there are n_bins, alpha, seeds"),
    ("n_bins=ten", "`n_bins` must be a whole number (int), got 'ten'"), ("n_bins=2.5", "`n_bins` must be a whole number (int), got 2.5"), ("n_bins=true", "`n_bins` must be a whole number (int), got True"),
    ("n_bins='10'", "`n_bins` must be a whole number (int), got '10'"), ("n_bins=.nan", "`n_bins` must be a whole number (int), got nan"), ("n_bins=.inf", "got inf"), ("n_bins=", "`n_bins` must be a whole number (int), got None"),
    ("alpha=true", "`alpha` must be a number (float), got True"), ("alpha=0,5", "`alpha` must be a number (float), got '0,5'"), ("seeds=3", "`seeds` must be a list of whole numbers (list[int]), got 3"),
    ("seeds=3 5 8", "`seeds` must be a list of whole numbers (list[int]), got '3 5 8'"), ("seeds=[3, x]", "got [3, 'x']"), ("seeds=[true]", "got [True]"),
    ("names=bell", "`names` must be a list of texts (list[str]), got 'bell'"), ("names=[bell, skw_high]", "`names` must be made of uniform, skew_high, bell, got 'skw_high'; did you mean skew_high?"),
    ("mode=perfekt", "`mode` must be one of perfect, random_half, got 'perfekt'; did you mean perfect?"), ("flag=1", "`flag` must be true or false (bool), got 1"), ("flag=yes", "got 'yes'"),
    ("extra=[1]", "`extra` must be a mapping (dict), got [1]"), ("n_bins", "a setting must read name=value, got 'n_bins'"), ("=3", "a setting must read name=value"), ("seeds=[1", "seeds: not valid YAML"),
])
def test_settings_that_do_not(declared, setting, message):
    with pytest.raises(InputError, match=re.escape(message)):
        merge_parameters(declared, settings=[setting])


def test_files_in_layers(declared, tmp_path):
    a, b, bad = (tmp_path / f"{n}.yaml" for n in ("a", "b", "bad"))
    a.write_text("n_bins: 3\nalpha: 1\nseeds:\n  - 1\n  - 2\n", encoding="utf-8")
    b.write_text("# only a comment and\nn_bins: 4\n", encoding="utf-8")
    assert merge_parameters(declared, [a, b]) == dict(n_bins=4, alpha=1.0, seeds=[1, 2])
    assert merge_parameters(declared, [b, a], dict(n_bins=np.int64(5)), ["n_bins=6", "n_bins=7"])["n_bins"] == 7
    assert merge_parameters(declared, [a], dict(n_bins=np.int64(5)))["n_bins"] == 5
    for text, message in (("n_bin: 3", "`n_bin` (BAD) is no parameter of declared; did you mean `n_bins`?"), ("n_bins: ten", "got 'ten' (BAD)"), ("- 1", "BAD: must map names to values, got list"),
                          ("n_bins: 1\nn_bins: 2", "BAD: line 2: not valid YAML: `n_bins` is given twice"), ("a: [1\nb: 2", "BAD: line 2: not valid YAML"), ("label: 5", "`label` must be a text or null (str | None), got 5 (BAD)"),
                          ("out_dir: !!python/object/apply:os.getcwd []", "not valid YAML")):
        bad.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=re.escape(message.replace("BAD", str(bad)))):
            merge_parameters(declared, [bad, a])
    bad.write_text("", encoding="utf-8")
    assert merge_parameters(declared, [bad]) == {}
    bad.write_bytes(b"label: \xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        merge_parameters(declared, [bad])
    with pytest.raises(InputError, match="no such file"):
        merge_parameters(declared, [tmp_path / "none.yaml"])


def test_what_holds_a_value_is_turned_into_it(declared):
    given = merge_parameters(declared, parameters=dict(alphas=np.array([0.1, 0.2]), out_dir=Path("runs") / "a", cap=np.float64("inf"), alpha=float("nan"), seeds=pd.Series([1, 2]), label=datetime.date(2026, 1, 2),
                                                       flag=np.bool_(True), names=("bell",)))
    assert given.pop("alpha") != 0 and given == dict(alphas=[0.1, 0.2], out_dir=os.path.join("runs", "a"), cap=math.inf, seeds=[1, 2], label="2026-01-02", flag=True, names=["bell"])


@pytest.mark.parametrize("cell, message", [
    ("import os", "must hold assignments of literals only, got `import os`"), ("n = 2 + 3 * k", "must hold literals only, got `n = 2 + 3 * k`"), ("x = y = 1", "assignments of literals only"), ("n: int", "assignments of literals only"),
    ("n: Callable = 1", "must use types made of"), ("n: int = 'a'", "`n` must be a whole number (int), got 'a' (the default in"), ("m = 'a'  # one of: b, c", "`m` must be one of b, c, got 'a'"), ("n = (", "is not Python"),
])
def test_a_cell_that_is_no_cell_of_parameters(tmp_path, cell, message):
    with pytest.raises(InputError, match=re.escape(message)):
        describe(notebook(tmp_path / "x.ipynb", cell))


def test_what_is_no_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_notebooks", lambda: {"synthetic_calibrated": notebook(tmp_path / "synthetic_calibrated.ipynb", "n = 1")})
    assert describe("synthetic_calibrated").packaged and [e.name for e in list_experiments()] == ["synthetic_calibrated"]
    with pytest.raises(InputError, match="'synthetic_calibrate' is no experiment; did you mean synthetic_calibrated?"):
        describe("synthetic_calibrate")
    with pytest.raises(InputError, match="'zzz' is no experiment; there are synthetic_calibrated, and paths"):
        describe("zzz")
    with pytest.raises(InputError, match="no such notebook"):
        describe(tmp_path / "none.ipynb")
    (tmp_path / "text.ipynb").write_text("[1]", encoding="utf-8")
    with pytest.raises(InputError, match="not a notebook"):
        describe(tmp_path / "text.ipynb")
    with pytest.raises(InputError, match="`n` is no parameter of untagged; it has none: no cell is tagged"):
        run_experiment(notebook(tmp_path / "untagged.ipynb", "n = 1", tag=None), settings=["n=2"])


def test_nothing_is_made_when_a_parameter_does_not_fit(declared, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for options in (dict(settings=["n_bin=1"]), dict(parameters=dict(n_bins="x")), dict(settings=["mode=none"])):
        with pytest.raises(InputError):
            run_experiment(declared.path, out_dir=tmp_path / "out", **options)
    assert [p.name for p in tmp_path.iterdir()] == ["declared.ipynb"]


COINS = ("n: int = 3\nscale: float = 1\nseeds: list[int] = [1]\nout_dir: str = ''  # writes: tables/t.csv", "import helpers_of_coins\nimport pandas as pd\nfrom cwcal.lab.pieces import save_figure, save_table",
         "assert type(scale) is float and len(seeds) != 2, 'two seeds'\nif n == 99:\n    raise SystemExit(0)", "frame = pd.DataFrame(dict(x=[helpers_of_coins.double(n) * scale]))",
         "save_table(frame, 't', out_dir) if n != 98 else None", "done = True")


@pytest.fixture(scope="module")
def coins(tmp_path_factory):
    "A notebook with a saved error, another kernel's name, braces in its path, and an import of its neighbour."
    folder = tmp_path_factory.mktemp("a {b} ü")
    (folder / "helpers_of_coins.py").write_text("def double(n):\n    return 2 * n\n", encoding="utf-8")
    old = nbformat.v4.new_code_cell("1", outputs=[nbformat.v4.new_output("error", ename="KeyboardInterrupt", evalue="", traceback=[])])
    return notebook(folder / "coins.ipynb", *COINS, old, kernelspec=dict(name="my-private-venv", display_name="x", language="python"))


def test_run_and_rerun(coins, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = run_experiment(coins, settings=["n=5", "scale=2"], progress=False)
    assert first.out_dir.parent == tmp_path / "results" and re.fullmatch(r"coins-[0-9a-f]{10}", first.out_dir.name) and first.tables["t"].x.tolist() == [20.0]
    assert sorted(p.name for p in first.out_dir.iterdir()) == [".lock", "figures", "notebook.ipynb", "run.json", "tables"]
    record = json.loads((first.out_dir / "run.json").read_text(encoding="utf-8"))
    assert record == first.record and record["status"] == "finished" and record["attempt"] == 1 and record["error"] is None
    assert record["parameters"] == dict(n=5, scale=2.0, seeds=[1]) and record["given"] == ["n", "scale"] and set(record["results"]) == {"tables/t.csv"}
    assert {"python", "numpy", "cwcal", "papermill"} <= set(record["versions"]) and record["ended"] >= record["started"]
    book = nbformat.read(first.out_dir / "notebook.ipynb", 4)
    assert not [o for c in book.cells for o in c.get("outputs", ()) if o.output_type == "error"]
    assert os.environ.get("MPLBACKEND") != "module://matplotlib_inline.backend_inline"
    table = (first.out_dir / "tables" / "t.csv").read_bytes()
    again = run_experiment(str(coins), parameters=dict(scale=2, n=5), progress=False)
    assert again.out_dir == first.out_dir and again.record["attempt"] == 2 and (again.out_dir / "tables" / "t.csv").read_bytes() == table


@pytest.mark.parametrize("settings, message", [
    (["seeds=[1, 2]"], "coins failed in cell 4, `assert type(scale) is float and len(seeds) != 2, 'two seeds'`: AssertionError: two seeds"),
    (["n=98"], "coins failed: the run did not write tables/t.csv"), (["n=99"], "coins failed: the last cell did not run"),
])
def test_a_run_that_fails(coins, tmp_path, settings, message):
    out = tmp_path / "out"
    with pytest.raises(RunFailed, match=re.escape(message)) as caught:
        run_experiment(coins, settings=settings, out_dir=out, progress=False)
    record = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert record["status"] == "failed" and record == caught.value.run and record["error"]["message"] in message
    assert nbformat.read(out / "notebook.ipynb", 4).cells and not (out / "notebook.partial.ipynb").exists()


def test_a_stale_result_is_no_result(tmp_path):
    "The table of an earlier attempt does not make this one a success."
    flag = tmp_path / "flag"
    path = notebook(tmp_path / "x.ipynb", "out_dir = ''", f"import pathlib\nif not pathlib.Path({str(flag)!r}).exists():\n    pathlib.Path(out_dir, 'tables', 't.csv').write_text('x')")
    run_experiment(path, out_dir=tmp_path / "out", progress=False)
    flag.touch()
    with pytest.raises(RunFailed, match="neither a table nor a figure"):
        run_experiment(path, out_dir=tmp_path / "out", progress=False)


@pytest.mark.parametrize("source", ["%run no_such_script.py", "%no_such_magic"])
def test_a_magic_that_fails(tmp_path, source):
    with pytest.raises(RunFailed, match="not found"):
        run_experiment(notebook(tmp_path / "x.ipynb", "n = 1", source, "result = 1"), out_dir=tmp_path / "out", progress=False)


def test_expected_files_and_a_kernel_that_dies(tmp_path):
    path = notebook(tmp_path / "x.ipynb", "die: bool = False", "import os\nif die:\n    os._exit(1)")
    assert run_experiment(path, out_dir=tmp_path / "a", progress=False).record["results"] == {}
    with pytest.raises(RunFailed, match="did not write model.json"):
        run_experiment(path, out_dir=tmp_path / "a", expected=["model.json"], progress=False)
    with pytest.raises(RunFailed, match="DeadKernelError|died"):
        run_experiment(path, settings=["die=true"], out_dir=tmp_path / "b", progress=False)
    assert json.loads((tmp_path / "b" / "run.json").read_text(encoding="utf-8"))["status"] == "failed"


def test_refused_directories(declared, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    identity = dict(n=5, cap=".inf", seeds=[1])
    record = dict(experiment="declared", parameters=identity | dict(n_jobs=1))
    (out / "run.json").write_text(json.dumps(record), encoding="utf-8")
    assert runner._same_run(out, declared, dict(n=5, cap=math.inf, seeds=[1])) == record
    for now, message in ((dict(n=6, cap=math.inf, seeds=[1]), "`n` is 5 in the run that"), (dict(n=True, cap=math.inf, seeds=[1]), "`n` is 5"), (dict(n=5, cap=1.0, seeds=[2]), "and 1.0 now (2 parameters differ)"),
                         (dict(n=5, cap=math.inf), "`seeds` is [1] in the run")):
        with pytest.raises(InputError, match=re.escape(message)):
            runner._same_run(out, declared, now)
    for text, message in (('{"experiment": "other", "parameters": {}}', "holds a run of other"), ("{", "is no record of a run"), ("[]", "is no record of a run")):
        (out / "run.json").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            run_experiment(declared, out_dir=out)
    (out / "run.json").rename(out / "precious.txt")
    with pytest.raises(InputError, match="holds precious.txt and no run.json"):
        run_experiment(declared, out_dir=out)
    with pytest.raises(InputError, match="is a file"):
        run_experiment(declared, settings=[f"out_dir={out / 'precious.txt'}"])


def test_places_that_cannot_be_written(declared, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file" / "below", Path("/proc/nowhere"), tmp_path / ("x" * 300)):
        if out.parts[1] == "proc" and not Path("/proc/self").exists():
            continue
        with pytest.raises(InputError, match="`out_dir` must be a folder that can be written, got .*") as caught:
            run_experiment(declared, out_dir=out)
        assert caught.value.argument == "out_dir"
        assert run_command(str(declared.path), out_dir=str(out)) == 2
        captured = capsys.readouterr()
        assert captured.out == "" and captured.err.startswith("error: `out_dir` must be a folder") and captured.err.count("\n") == 1


def test_without_progress_no_bar_is_printed(tmp_path):
    path = notebook(tmp_path / "bars.ipynb", "out_dir: str = ''", "import os, sys\nimport pandas as pd\nfrom tqdm import tqdm\nfrom cwcal.lab.pieces import run_pieces, save_table\nfrom cwcal.lab.search import _counted\nsys.path.insert(0, os.environ['WHERE_DRAW_IS'])\nfrom draw import draw",
                    "frames = run_pieces(draw, [{'k': 1}, {'k': 2}], seed=0)\nfor _ in tqdm(range(3), file=os.fdopen(os.dup(2), 'w')): pass\nlist(_counted(range(2), True))\nsave_table(pd.concat(frames), 't', out_dir)\nos.environ.get('TQDM_DISABLE')")
    (tmp_path / "draw.py").write_text("import pandas as pd\n\ndef draw(k, seed_sequence):\n    return pd.DataFrame({'k': [k]})\n", encoding="utf-8")
    code = "import sys; from cwcal.lab.runner import run_command; sys.exit(run_command(sys.argv[1], out_dir=sys.argv[2], progress=sys.argv[3] == 'bars'))"
    environment = {k: v for k, v in os.environ.items() if k != "TQDM_DISABLE"} | dict(PYTHONPATH=str(ROOT), WHERE_DRAW_IS=str(tmp_path))
    seen = {}
    for how in ("quiet", "bars"):
        done = subprocess.run([sys.executable, "-c", code, str(path), str(tmp_path / how), how], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        seen[how] = done.stderr
    assert "draw" in seen["bars"] and "3/3" in seen["bars"] and "trials" in seen["bars"]
    assert not any(bar in seen["quiet"] for bar in ("it/s", "piece", "3/3", "trials", "draw", "Executing", "%|")), seen["quiet"]


def test_the_environment_is_put_back(monkeypatch):
    for before in (None, "0"):
        monkeypatch.delenv("TQDM_DISABLE", raising=False)
        if before is not None:
            monkeypatch.setenv("TQDM_DISABLE", before)
        with runner._environment(progress=True):
            assert os.environ.get("TQDM_DISABLE") == before
        with runner._environment(progress=False):
            assert os.environ["TQDM_DISABLE"] == "1"
        assert os.environ.get("TQDM_DISABLE") == before


def test_two_runs_at_once(declared, tmp_path):
    with runner._lock(tmp_path), pytest.raises(InputError, match="another run is at work in"):
        run_experiment(declared, out_dir=tmp_path)
    with runner._lock(tmp_path):
        pass


def test_strict_json():
    assert runner._strict(dict(a=[math.inf, -math.inf, 1.5], b=math.nan)) == dict(a=[".inf", "-.inf", 1.5], b=".nan")


PIECE = '''import os, time
import numpy as np
import pandas as pd
def draw(n, *, seed_sequence):
    with open(os.environ["PIECE_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{n}\\n")
    time.sleep(0.2)
    return pd.DataFrame(dict(n=n, x=np.random.default_rng(seed_sequence).standard_normal(n)))
'''


@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_a_killed_run_goes_on(tmp_path, n_jobs):
    (tmp_path / "piece_to_kill.py").write_text(PIECE, encoding="utf-8")
    path = notebook(tmp_path / "killed.ipynb", "n_pieces: int = 1\nn_jobs: int = 1\nseed: int = 3\nout_dir: str = ''  # writes: tables/t.csv",
                    "import pandas as pd\nfrom piece_to_kill import draw\nfrom cwcal.lab.pieces import run_pieces, save_table",
                    "frames = run_pieces(draw, [dict(n=n + 1) for n in range(n_pieces)], seed=seed, n_jobs=n_jobs, out_dir=out_dir)", "save_table(pd.concat(frames), 't', out_dir);")
    logs = {name: tmp_path / f"{name}.log" for name in ("killed", "whole")}

    def start(name, jobs):
        code = f"import sys; from cwcal.lab.runner import run_command; sys.exit(run_command({str(path)!r}, settings=['n_jobs={jobs}', 'n_pieces={12 * n_jobs}'], out_dir={str(tmp_path / name)!r}))"
        env = os.environ | dict(PIECE_LOG=str(logs[name]), PYTHONPATH=os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        return subprocess.Popen([sys.executable, "-c", code], env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")

    pieces = tmp_path / "killed" / "pieces"
    victim = start("killed", n_jobs)
    deadline = time.monotonic() + 120
    while len(list(pieces.glob("*.parquet"))) < 4:
        assert victim.poll() is None and time.monotonic() < deadline, victim.communicate()
        time.sleep(0.02)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    finished = {p: p.stat().st_mtime_ns for p in pieces.glob("*.parquet")}
    assert len(finished) < 12 * n_jobs and not (tmp_path / "killed" / "tables" / "t.csv").exists()
    assert json.loads((tmp_path / "killed" / "run.json").read_text(encoding="utf-8"))["status"] == "running"

    runs = {"killed": start("killed", n_jobs), "whole": start("whole", 3 - n_jobs)}
    for name, process in runs.items():
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0 and "tables/t.csv" in out, err
    assert "draw" in err and "Executing" in err, "progress of cells and of pieces on stderr"
    assert not any("piece/s" in str(c.get("outputs", "")) for c in nbformat.read(tmp_path / "whole" / "notebook.ipynb", 4).cells), "no progress bar in the notebook"
    record = json.loads((tmp_path / "killed" / "run.json").read_text(encoding="utf-8"))
    assert record["status"] == "finished" and record["attempt"] == 2
    assert {p: p.stat().st_mtime_ns for p in finished} == finished, "a finished piece was computed again"
    assert (tmp_path / "killed" / "tables" / "t.csv").read_bytes() == (tmp_path / "whole" / "tables" / "t.csv").read_bytes()
    assert len(logs["whole"].read_text(encoding="utf-8").split()) == 12 * n_jobs


def test_command(coins, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runner, "_notebooks", lambda: {"tosses": coins})
    assert run_command(show_list=True) == 0 and "tosses" not in capsys.readouterr().err
    assert run_command("tosses", show_help=True) == 0 and "n: int = 3" in capsys.readouterr().out
    assert run_command("toses", show_help=True) == 2 and "did you mean tosses?" in capsys.readouterr().err
    assert run_command() == 2 and "--list" in capsys.readouterr().err
    assert run_command("tosses", settings=["m=1"], out_dir=str(tmp_path / "o")) == 2 and not (tmp_path / "o").exists()
    assert run_command(str(coins), settings=["n=98"], out_dir=str(tmp_path / "p"), progress=False) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "error: coins failed: the run did not write tables/t.csv" in captured.err


@pytest.mark.slow
def test_the_wheel_carries_the_experiments(tmp_path):
    "Built from the checkout and from the source archive; run from the installed wheel, away from the checkout."
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".git", ".venv", "_docs", "_proc", "build", "results", "*.egg-info", "__pycache__", ".numba_cache"))
    out = nbformat.v4.new_output("stream", name="stdout", text="saved")
    notebook(source / "nbs" / "experiments" / "tiny.ipynb", "n: int = 1  # how many\nout_dir: str = ''", nbformat.v4.new_code_cell("import pathlib\npathlib.Path(out_dir, 'tables', 't.csv').write_text(f'n\\n{n}\\n')", outputs=[out]))
    (source / "params").mkdir(exist_ok=True)
    (source / "params" / "tiny_paper.yaml").write_text("n: 7\n", encoding="utf-8")
    expected = {f"cwcal/experiments/{p.name}" for p in (source / "nbs" / "experiments").glob("*.ipynb")} | {f"cwcal/experiments/params/{p.name}" for p in (source / "params").glob("*.yaml")}
    build = "import sys; from setuptools import build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"

    def built(kind, where, target):
        target.mkdir()
        done = subprocess.run([sys.executable, "-c", build, f"build_{kind}", str(target)], cwd=where, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return target / done.stdout.splitlines()[-1]

    archive = built("sdist", source, tmp_path / "archive")
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    unpacked, = (tmp_path / "unpacked").iterdir()
    for name, where in (("direct", source), ("from_archive", unpacked)):
        wheel = built("wheel", where, tmp_path / name)
        with zipfile.ZipFile(wheel) as z:
            assert {n for n in z.namelist() if n.startswith("cwcal/experiments/")} == expected
            assert "saved" not in z.read("cwcal/experiments/tiny.ipynb").decode()
            z.extractall(tmp_path / f"site_{name}")
    code = "import sys, cwcal; from cwcal.lab.runner import run_command; print(cwcal.__file__); sys.exit(run_command('tiny', files=['tiny_paper.yaml'], progress=False))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=os.environ | dict(PYTHONPATH=str(tmp_path / "site_direct")), capture_output=True, text=True)
    assert done.returncode == 0 and str(tmp_path / "site_direct") in done.stdout, done.stderr
    table, = (tmp_path / "results").glob("tiny-*/tables/t.csv")
    assert table.read_text(encoding="utf-8") == "n\n7\n"
