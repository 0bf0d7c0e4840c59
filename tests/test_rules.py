"""Rules of the house that a machine can check."""
import ast
import configparser
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted(p for p in (ROOT / "nbs").rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
MODULES = sorted(p for p in (ROOT / "cwcal").rglob("*.py") if p.name not in ("_modidx.py",))
IDS = [str(p.relative_to(ROOT / "nbs")) for p in NOTEBOOKS]
RANK = {"inputs": 0, "compiled": 0, "profile": 1, "metrics": 2, "recalibration": 3, "decisions": 3, "reporting": 4, "lab": 5, "cli": 6}


def cells(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def source(cell):
    return "".join(cell["source"])


def exports_to(path):
    found = [m for c in cells(path) if c["cell_type"] == "code" for m in re.findall(r"^#\| default_exp (\S+)", source(c), re.M)]
    assert len(found) <= 1
    return found[0] if found else None


def imported(path, top_level_only=False):
    "Full names of the modules that a file imports."
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            base = ".".join([*package, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{a.name}" for a in node.names)


def module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_one_notebook_per_module_and_one_module_per_notebook():
    targets = Counter(t for t in map(exports_to, NOTEBOOKS) if t)
    assert not [t for t, n in targets.items() if n > 1]
    written_by_hand = {"cwcal.__init__"}
    assert {module_name(p) for p in MODULES if p.name != "__init__.py" or p.parent.name == "cwcal"} - written_by_hand == {f"cwcal.{t}" for t in targets}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_notebook_mirrors_its_module(path):
    target = exports_to(path)
    if target:
        folder = path.relative_to(ROOT / "nbs").parts[:-1]
        assert target == ".".join([*folder, re.sub(r"^\d+_", "", path.stem)])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_notebook_hygiene(path):
    book = json.loads(path.read_text(encoding="utf-8"))
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    ids = [c["id"] for c in book["cells"]]
    assert len(ids) == len(set(ids))
    text = "".join(source(c) for c in book["cells"])
    assert "\u00a0" not in text, "a no-break space"
    assert "eval: false" not in text
    for c in book["cells"]:
        assert set(c["metadata"]) <= {"tags"}
        if c["cell_type"] == "code":
            assert not re.search(r"^%", source(c), re.M), "a magic"
            for o in c["outputs"]:
                assert o["output_type"] != "error"
                assert len(json.dumps(o)) < 200_000
    if "experiments" in path.parts:
        assert sum("parameters" in c["metadata"].get("tags", ()) for c in book["cells"]) == 1
    shown = [c for c in book["cells"] if c["cell_type"] == "code" and not re.match(r"#\| (hide|export|default_exp)", source(c))]
    assert not shown or any(c["outputs"] for c in shown), "no saved outputs: the site shows what is saved"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_title_cell_holds_title_and_sentence_alone(path):
    first = next(c for c in cells(path) if c["cell_type"] == "markdown")
    lines = [line for line in source(first).splitlines() if line.strip()]
    assert lines[0].startswith("# ") and all(line.startswith(">") for line in lines[1:]) and len(lines) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=IDS)
def test_imports_stand_alone_in_their_cells(path):
    "The site builder executes every cell that contains an import."
    for c in cells(path):
        if c["cell_type"] != "code" or not re.search(r"^(import|from) ", source(c), re.M):
            continue
        body = ast.parse(source(c)).body
        assert all(isinstance(n, (ast.Import, ast.ImportFrom)) for n in body), source(c)


@pytest.mark.parametrize("path", MODULES, ids=[module_name(p) for p in MODULES])
def test_imports_go_one_way(path):
    name = module_name(path)
    if name.count(".") == 1 and name.endswith("__init__"):
        return
    here = RANK[name.split(".")[1]]
    for other in imported(path):
        parts = other.split(".")
        if parts[0] == "cwcal" and len(parts) > 1 and parts[1] in RANK:
            assert RANK[parts[1]] <= here, f"{name} imports {other}"


def test_no_import_circles():
    names = {module_name(p).removesuffix(".__init__"): p for p in MODULES}
    graph = {n: {o for o in imported(p) if o in names and o != n and n != "cwcal"} for n, p in names.items()}
    done: set = set()

    def visit(n, path):
        assert n not in path, " -> ".join([*path, n])
        if n not in done:
            for o in graph[n]:
                if o != "cwcal":
                    visit(o, [*path, n])
            done.add(n)

    for n in graph:
        visit(n, [])


@pytest.mark.parametrize("path", [p for p in MODULES if p.parent.name == "metrics" or p.stem in ("inputs", "profile", "compiled")], ids=lambda p: module_name(p))
def test_metric_modules_load_little(path):
    allowed = {"numpy", "scipy", "cwcal", "dataclasses", "typing", "functools", "warnings", "math", "numbers", "collections", "itertools", "__future__"}
    found = {m.split(".")[0] for m in imported(path, top_level_only=True)}
    assert found <= allowed
    assert not any(m.startswith("scipy.") and not m.startswith("scipy.special") for m in imported(path, top_level_only=True))


def test_import_loads_neither_frames_nor_figures_nor_a_compiler():
    code = "import sys, cwcal; print([m for m in ('pandas', 'matplotlib', 'numba', 'sklearn', 'scipy.stats', 'polars', 'pyarrow', 'xgboost', 'narwhals', 'typer') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize("path", MODULES + sorted((ROOT / "tools").glob("*.py")), ids=lambda p: p.stem)
def test_text_files_are_opened_as_utf8(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in ("open", "read_text", "write_text") and not any(isinstance(a, ast.Constant) and "b" in str(a.value) for a in node.args[1:2]):
                assert any(k.arg == "encoding" for k in node.keywords) or any(k.arg == "mode" for k in node.keywords), f"line {node.lineno}"


@pytest.mark.parametrize("path", MODULES, ids=[module_name(p) for p in MODULES])
def test_no_assert_and_no_swallowed_exception(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not isinstance(node, ast.Assert), f"assert at line {node.lineno}"
        if isinstance(node, ast.ExceptHandler):
            assert not (len(node.body) == 1 and isinstance(node.body[0], ast.Pass) and node.type is None)


def test_public_functions_have_docstrings():
    import inspect

    import cwcal

    for name in cwcal.__all__:
        assert inspect.getdoc(getattr(cwcal, name)), name


def test_version_is_said_once():
    import cwcal

    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "settings.ini", encoding="utf-8")
    assert cwcal.__version__ == settings["DEFAULT"]["version"]
