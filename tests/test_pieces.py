"""Pieces: seeds by content, files that are whole or absent, the same frames for every number of processes."""
import datetime
import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config

from cwcal.inputs import InputError, InputTypeError
from cwcal.lab.pieces import canonical, piece_seed, plain, run_pieces, save_figure, save_table


def draws(n, mode, *, seed_sequence):
    "Numbers, texts and an infinity: what a tidy frame of an experiment holds."
    x = np.random.default_rng(seed_sequence).standard_normal(n)
    return pd.DataFrame(dict(mode=mode, repetition=np.arange(n), x=x, y=np.where(x > 1, np.inf, x), flag=x > 0))


def fails(n, *, seed_sequence):
    if n == 3:
        raise InputError("`n` must not be 3", "n")
    return pd.DataFrame(dict(n=[n]))


LOG = None


def logged(n, mode, *, seed_sequence):
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(f"{n} {mode}\n")
    return draws(n, mode, seed_sequence=seed_sequence)


@pytest.fixture
def log(tmp_path):
    global LOG
    LOG = tmp_path / "log.txt"
    LOG.touch()
    return lambda: LOG.read_text(encoding="utf-8").splitlines()


PIECES = [dict(n=n, mode=mode) for n in (1, 5, 40) for mode in ("perfect", "random half / ü")]


def same(a, b):
    return all(pd.testing.assert_frame_equal(x, y, check_exact=True) is None for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("value, expected", [
    (np.float64(0.1), 0.1), (np.int32(3), 3), (np.bool_(True), True), (np.array([[1, 2]]), [[1, 2]]), (np.str_("a"), "a"), (Path("a") / "b", str(Path("a") / "b")),
    ((1, "x"), [1, "x"]), ({3, 1}, [1, 3]), (datetime.date(2026, 1, 2), "2026-01-02"), (np.datetime64("2026-01-02"), "2026-01-02"), (pd.Timestamp("2026-01-02"), "2026-01-02T00:00:00"),
    (pd.Series([1.5, 2.0]), [1.5, 2.0]), (pl.Series([1, 2]), [1, 2]), (np.float32(0.5), 0.5), ({"a": np.arange(2)}, {"a": [0, 1]}), (float("inf"), float("inf")), (None, None),
    (np.array(3.0), 3.0), (np.array(["u", "v"]), ["u", "v"]),
])
def test_plain(value, expected):
    assert plain(value) == expected and type(plain(value)) is type(expected)


def test_plain_keeps_nan_and_refuses_the_rest():
    assert np.isnan(plain(np.array([np.nan]))[0])
    for bad in (len, object(), b"x", 1j, np.complex128(1j), {1: 2}, [len]):
        with pytest.raises(InputTypeError, match="`p"):
            plain(bad, "p")


def test_plain_agrees_with_an_independent_json_round_trip():
    value = dict(a=(1, 2.5), b=[True, None, "ü"], c=dict(d=np.arange(3)))
    assert json.loads(canonical(value)) == {"a": [1, 2.5], "b": [True, None, "ü"], "c": {"d": [0, 1, 2]}}


def test_seed_by_hand():
    digest = hashlib.sha256('{"mode":"perfect","n":5}'.encode()).digest()
    words = [int.from_bytes(digest[i:i + 4], "big") for i in range(0, 32, 4)]
    ours = np.random.default_rng(piece_seed(9, dict(n=5, mode="perfect"))).random(4)
    assert np.array_equal(ours, np.random.default_rng(np.random.SeedSequence([9, *words])).random(4))


def test_seeds_differ_by_seed_type_and_value():
    states = {tuple(piece_seed(s, x).generate_state(4)) for s in (0, 1, 2**40) for x in ({}, dict(n=1), dict(n=1.0), dict(n=True), dict(n="1"), dict(m=1), dict(n=[1]))}
    assert len(states) == 21


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", None])
def test_bad_seed(seed):
    with pytest.raises(InputError, match="`seed` must be a whole number of at least 0"):
        run_pieces(draws, [], seed=seed)


def test_n_jobs_order_and_company_do_not_matter(tmp_path):
    alone = run_pieces(draws, PIECES, seed=4, progress=False)
    same(run_pieces(draws, PIECES, seed=4, n_jobs=2, progress=False), alone)
    same(run_pieces(draws, PIECES, seed=np.int64(4), n_jobs=2, out_dir=tmp_path, progress=False), alone)
    order = random.Random(1).sample(range(6), 6)
    same(run_pieces(draws, [PIECES[i] for i in order], seed=4, progress=False), [alone[i] for i in order])
    same(run_pieces(draws, PIECES[2:3], seed=4, progress=False), alone[2:3])
    assert not run_pieces(draws, PIECES, seed=5, progress=False)[2].x.equals(alone[2].x)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing", "sequential"])
def test_any_active_backend(backend):
    with parallel_config(backend=backend, n_jobs=2 if backend != "sequential" else 1):
        same(run_pieces(draws, PIECES, seed=4, n_jobs=None, progress=False), run_pieces(draws, PIECES, seed=4, n_jobs=1, progress=False))


def test_dask_backend():
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None), parallel_config(backend="dask"):
        same(run_pieces(draws, PIECES, seed=4, n_jobs=None, progress=False), run_pieces(draws, PIECES, seed=4, progress=False))


def test_equal_pieces_are_computed_once_and_returned_apart(log):
    a, b = run_pieces(logged, [PIECES[0], dict(reversed(PIECES[0].items()))], seed=0, progress=False)
    assert len(log()) == 1 and a.equals(b) and a is not b


def test_finished_pieces_are_read_back(tmp_path, log):
    first = run_pieces(logged, PIECES, seed=4, out_dir=tmp_path, progress=False)
    files = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "pieces").iterdir()}
    assert len(files) == 6 and all(name.endswith(".parquet") for name in files) and any(name.startswith("40_perfect-") for name in files)
    same(run_pieces(logged, PIECES, seed=4, out_dir=str(tmp_path), progress=False), first)
    assert len(log()) == 6 and files == {p.name: p.stat().st_mtime_ns for p in (tmp_path / "pieces").iterdir()}
    same(first, run_pieces(draws, PIECES, seed=4, progress=False))
    run_pieces(logged, PIECES, seed=5, out_dir=tmp_path, progress=False)
    assert len(log()) == 12


def test_a_damaged_file_is_computed_again(tmp_path, log):
    "Cut anywhere, emptied, garbage, another piece's file: never used. Flipped bytes: found or harmless."
    pieces = [dict(n=40, mode="perfect"), dict(n=5, mode="perfect")]
    (first, _), rng = run_pieces(logged, pieces, seed=4, out_dir=tmp_path, progress=False), random.Random(0)
    folder = tmp_path / "pieces"
    target, = folder.glob("40_*")
    whole = target.read_bytes()
    damaged = [b"", b"PAR1", whole[:-1], whole[: len(whole) // 2], whole[8:], b"garbage" * 100, next(folder.glob("5_*")).read_bytes()]
    for data in damaged:
        target.write_bytes(data)
        before = len(log())
        same(run_pieces(logged, pieces[:1], seed=4, out_dir=tmp_path, progress=False), [first])
        assert len(log()) == before + 1
    for _ in range(60):
        i = rng.randrange(len(whole))
        target.write_bytes(whole[:i] + bytes([whole[i] ^ (1 << rng.randrange(8))]) + whole[i + 1:])
        same(run_pieces(logged, pieces[:1], seed=4, out_dir=tmp_path, progress=False), [first])


def test_edited_code_is_computed_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    source = "import pandas as pd\ndef f(n, seed_sequence):\n    return pd.DataFrame({'x': [n + 1]})\n"
    out, results = tmp_path / "out", []
    for text in (source, "# a comment\n" + source, source.replace("+ 1", "+ 2")):
        (tmp_path / "edited_piece.py").write_text(text, encoding="utf-8")
        sys.modules.pop("edited_piece", None)
        import importlib
        import linecache

        linecache.clearcache()
        importlib.invalidate_caches()
        results.append(run_pieces(importlib.import_module("edited_piece").f, [dict(n=1)], seed=0, out_dir=out, progress=False)[0].x[0])
        results.append(len(list((out / "pieces").iterdir())))
    assert results == [2, 1, 2, 1, 3, 2]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failing_piece_is_named_and_the_finished_ones_stay(tmp_path, n_jobs):
    with pytest.raises(InputError, match="must not be 3") as caught:
        run_pieces(fails, [dict(n=n) for n in (1, 2, 3)], seed=0, out_dir=tmp_path, n_jobs=n_jobs, progress=False)
    assert caught.value.__notes__ == ['in the piece {"n":3}']
    kept = {p.name[:2] for p in (tmp_path / "pieces").glob("[!.]*")}
    assert kept == {"1-", "2-"} if n_jobs == 1 else kept <= {"1-", "2-"}  # the second process may have been at work on one of them


def test_what_a_killed_process_left_is_cleared(tmp_path):
    folder = tmp_path / "pieces"
    folder.mkdir()
    for name, age in ((".old.parquet.1.tmp", 100), (".new.parquet.2.tmp", 0)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() - age,) * 2)
    run_pieces(draws, PIECES[:1], seed=0, out_dir=tmp_path, progress=False)
    assert [p.name for p in folder.glob(".*")] == [".new.parquet.2.tmp"]


def test_what_a_piece_must_be():
    with pytest.raises(InputTypeError, match=r"`piece\['mode'\]` must be a plain value .*got function"):
        run_pieces(draws, [dict(n=1, mode=fails)], seed=0, progress=False)
    with pytest.raises(InputError, match="`seed_sequence` must not be part of a piece"):
        run_pieces(draws, [dict(seed_sequence=1)], seed=0, progress=False)
    with pytest.raises(InputTypeError, match="`<lambda>` must return a pandas DataFrame, got float"):
        run_pieces(lambda n, seed_sequence: 1.0, [dict(n=1)], seed=0, progress=False)


def test_progress_on_stderr_only(capfd):
    run_pieces(draws, PIECES, seed=4)
    out, err = capfd.readouterr()
    assert out == "" and "draws" in err and "0/6" in err
    run_pieces(draws, PIECES, seed=4, progress=False)
    assert capfd.readouterr() == ("", "")


def test_tables_and_figures(tmp_path):
    import matplotlib.pyplot as plt

    frame = pd.DataFrame(dict(name=["a, b", "ü"], x=[1 / 3, np.inf]))
    assert save_table(frame, "t", tmp_path) is frame and save_table(frame, "t") is frame
    save_table(frame.set_index("name"), "i", tmp_path)
    text = 'name,x\n"a, b",0.3333333333333333\nü,inf\n'.encode()
    assert (tmp_path / "tables" / "t.csv").read_bytes() == (tmp_path / "tables" / "i.csv").read_bytes() == text
    figure, _ = plt.subplots()
    save_figure(figure, "f", tmp_path)
    save_figure(figure, "f")
    plt.close(figure)
    assert (tmp_path / "figures" / "f.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in tmp_path.rglob("*.*")) == ["f.png", "i.csv", "t.csv"]
