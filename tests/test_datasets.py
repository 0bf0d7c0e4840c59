"""Data sets: what is loaded is what is registered, downloads end whole or not at all, splits are the paper's."""
import gzip
import hashlib
import http.server
import io
import json
import os
import socket
import tarfile
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cwcal.cli import app
from cwcal.inputs import InputError, InputWarning
from cwcal.lab import datasets, download
from cwcal.lab.dataset_registry import DATASETS, dataset_info
from cwcal.lab.datasets import Dataset, as_in_paper, dataset_table, load_dataset, locate, verify_dataset
from cwcal.lab.download import UPSTREAM, DownloadError, Source, cache_home, cached_problem, fetch, read_upstream
from cwcal.lab.splits import SHIFTS, shifted_split, stratified_split, stratified_subset


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        answers = self.server.answers.get(self.path)
        answer = (answers.pop(0) if len(answers) > 1 else answers[0]) if answers else 404
        if isinstance(answer, int):
            self.send_error(answer)
        elif answer == "silence":
            self.server.stop.wait(20)
        else:
            body, length = answer if isinstance(answer, tuple) else (answer, len(answer))
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    "A loopback publisher: server.answers[path] = list of bodies, (body, claimed length), status codes or 'silence'; the last one stays."
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    httpd.asked, httpd.answers, httpd.stop = [], {}, threading.Event()
    threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setenv("CWCAL_MIRROR", f"http://127.0.0.1:{httpd.server_port}")
    monkeypatch.setenv("CWCAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("CWCAL_DATA_HOME", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download.time, "sleep", lambda s: None)
    yield httpd
    httpd.stop.set()
    httpd.shutdown()
    httpd.server_close()


def zipped(**members):
    box = io.BytesIO()
    with zipfile.ZipFile(box, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return box.getvalue()


def wine_zip(counts=(30, 216, 2138, 2836, 1079, 193, 5)):
    "Random features with the registered class counts, in the publisher's format."
    rng = np.random.default_rng(0)
    quality = rng.permutation(np.repeat(np.arange(3, 10), counts))
    names = ["fixed acidity", "volatile acidity", "citric acid", "residual sugar", "chlorides", "free sulfur dioxide", "total sulfur dioxide", "density", "pH", "sulphates", "alcohol"]
    frame = pd.DataFrame(rng.random((len(quality), 11)).round(3), columns=names).assign(quality=quality)
    return zipped(**{"winequality-red.csv": frame[:1599].to_csv(sep=";", index=False), "winequality-white.csv": frame[1599:].to_csv(sep=";", index=False), "winequality.names": "text"})


WINE = "/wine/wine+quality.zip"


def left_behind():
    return sorted(p.name for p in cache_home().iterdir()) if cache_home().is_dir() else []


# downloads

def test_download_then_cache(server):
    server.answers[WINE] = [wine_zip()]
    first = load_dataset("wine")
    assert first.n == 6497 and first.X.shape == (6497, 11) and first.origin.startswith("download ") and first.notes == () and first.label == "wine"
    assert left_behind() == ["wine.json", "wine.parquet"]
    record = json.loads((cache_home() / "wine.json").read_text(encoding="utf-8"))
    assert record["sha256"] == hashlib.sha256((cache_home() / "wine.parquet").read_bytes()).hexdigest() == first.sha256
    server.answers.clear()
    again = load_dataset("wine", download=False)
    assert again.origin.startswith("cache ") and len(server.asked) == 1
    pd.testing.assert_frame_equal(first.X, again.X)


@pytest.mark.parametrize("answer, said, asked", [
    (404, "answered 404 (Not Found)", 1),
    (503, "answered 503 (Service Unavailable)", 2),
    ((b"PK half of it", 5000), "broke off before the end", 2),
    ("silence", "gave no answer for 0.2 s", 2),
    (b"<html>maintenance</html>", "is not the file it should be (File is not a zip file)", 1),
])
def test_failures_leave_nothing_and_say_why(server, answer, said, asked):
    server.answers[WINE] = [answer]
    with pytest.raises(DownloadError) as caught:
        load_dataset("wine", timeout=0.2)
    assert str(caught.value).startswith("wine: ") and said in str(caught.value) and "\n" not in str(caught.value)
    assert left_behind() == [] and len(server.asked) == asked


def test_second_attempt_can_succeed(server):
    server.answers[WINE] = [(wine_zip()[:1000], 50000), 500, wine_zip()]
    path = fetch("wine", attempts=3)
    assert cached_problem(path) == "" and len(server.asked) == 3


def test_truncated_file_without_a_length_is_no_zip(server):
    server.answers[WINE] = [wine_zip()[:-100]]
    with pytest.raises(DownloadError, match="is not the file it should be"):
        load_dataset("wine")
    assert left_behind() == []


def test_checksum(server, monkeypatch):
    body = wine_zip()
    server.answers[WINE] = [body]
    for algorithm in ("md5", "sha256"):
        right = getattr(hashlib, algorithm)(body).hexdigest()
        monkeypatch.setitem(UPSTREAM, "wine", (replace(UPSTREAM["wine"][0], checksum=f"{algorithm}:{right}"),))
        assert fetch("wine").is_file()
        (cache_home() / "wine.parquet").unlink()
        monkeypatch.setitem(UPSTREAM, "wine", (replace(UPSTREAM["wine"][0], checksum=f"{algorithm}:{'0' * len(right)}"),))
        with pytest.raises(DownloadError, match=f"is not the registered file: its {algorithm} is not 000"):
            fetch("wine")
    assert left_behind() == ["wine.json"]


def test_download_with_other_class_counts_is_refused(server):
    server.answers[WINE] = [wine_zip((30, 216, 2138, 2836, 1079, 192, 6))]
    with pytest.raises(InputError, match="wine: the download has other class counts than registered: 30, 216, 2138, 2836, 1079, 192, 6"):
        load_dataset("wine")
    assert left_behind() == []


def test_nobody_listens(server, monkeypatch):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    monkeypatch.setenv("CWCAL_MIRROR", f"http://127.0.0.1:{port}")
    with pytest.raises(DownloadError, match=r"cannot be reached \(Connection refused\); CWCAL_DATA_HOME"):
        load_dataset("wine")


def test_cache_that_cannot_be_written(server, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("CWCAL_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"the cache .* cannot be written \(Not a directory\); CWCAL_CACHE can name another folder"):
        load_dataset("wine")
    monkeypatch.setenv("CWCAL_CACHE", str(tmp_path / "cache"))

    def refuse(*args, **kwargs):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(download.tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(InputError, match=r"cannot be written \(Read-only file system\)"):
        load_dataset("wine")
    assert server.asked == []  # found out before the download


def test_read_only_cache_is_read(server, monkeypatch):
    server.answers[WINE] = [wine_zip()]
    fetch("wine")
    monkeypatch.setattr(download.tempfile, "TemporaryDirectory", None)
    assert load_dataset("wine").n == 6497


@pytest.mark.parametrize("damage", ["cut", "bit", "record", "no record", "other data"])
def test_damaged_cache_is_replaced_not_used(server, damage):
    server.answers[WINE] = [wine_zip()]
    path = fetch("wine")
    good = path.read_bytes()
    if damage == "cut":
        path.write_bytes(good[:-50])
    elif damage == "bit":
        path.write_bytes(good[:900] + bytes([good[900] ^ 1]) + good[901:])
    elif damage == "record":
        path.with_suffix(".json").write_text("{")
    elif damage == "no record":
        path.with_suffix(".json").unlink()
    else:
        pd.DataFrame({"target": [3, 4]}).to_parquet(path)
        path.with_suffix(".json").write_text(json.dumps({"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}))
    with pytest.raises(InputError, match="is damaged .* `cwcal data fetch wine` replaces it"):
        load_dataset("wine", download=False)
    assert "is damaged" in verify_dataset("wine").problem
    with pytest.warns(InputWarning, match="is damaged .* and is downloaded anew"):
        d = load_dataset("wine")
    assert d.n == 6497 and path.read_bytes() == good and cached_problem(path) == ""


def test_interrupted_download_leaves_the_old_file(server, monkeypatch):
    server.answers[WINE] = [wine_zip()]
    good = fetch("wine").read_bytes()

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(download, "read_upstream", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch("wine")
    assert (cache_home() / "wine.parquet").read_bytes() == good and left_behind() == ["wine.json", "wine.parquet"]


def test_missing_pooch_says_what_to_install(server, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pooch", None)
    with pytest.raises(InputError, match=r"pip install 'cwcal\[lab\]'"):
        load_dataset("wine")


def test_cache_places(monkeypatch):
    monkeypatch.delenv("CWCAL_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.setenv("LOCALAPPDATA", "/l")
    for platform, place in (("linux", Path("/x/cwcal/datasets")), ("darwin", Path.home() / "Library/Caches/cwcal/datasets"), ("win32", Path("/l/cwcal/datasets"))):
        monkeypatch.setattr(download.sys, "platform", platform)
        assert cache_home() == place


# readers: the publishers' formats in miniature

def save(tmp_path, name, body):
    path = tmp_path / name
    path.write_bytes(body)
    return path


def idx(values, shape):
    head = bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape)
    return gzip.compress(head + bytes(values))


def test_reader_adult(tmp_path):
    row = "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, United-States, "
    body = zipped(**{"adult.data": row + "<=50K\n" + row + ">50K\n\n", "adult.test": "|1x3 Cross validator\n" + row + "<=50K.\n", "old.adult.names": ""})
    f = read_upstream("adult_income", save(tmp_path, "a.zip", body))
    assert f["target"].tolist() == ["<=50K", ">50K", "<=50K"] and f["split"].tolist() == ["train", "train", "test"] and f["occupation"].isna().all()
    assert f["workclass"].dtype == "category" and f["workclass"].tolist() == ["State-gov"] * 3 and f["education-num"].dtype == np.int64 and f.shape == (3, 16)


def test_reader_bank(tmp_path):
    inner = zipped(**{"bank-additional/bank-additional-full.csv": '"age";"job";"pdays";"y"\n56;"unknown";999;"no"\n', "bank-additional/bank-additional.csv": "x"})
    f = read_upstream("bank_marketing", save(tmp_path, "b.zip", zipped(**{"bank.zip": "", "bank-additional.zip": inner})))
    assert f.to_dict("records") == [{"age": 56, "job": "unknown", "pdays": 999, "target": "no"}]


def test_reader_credit(tmp_path):
    head = ",".join(["ID", *(f"X{k}" for k in range(1, 24)), "Y"])
    f = read_upstream("credit", save(tmp_path, "data.csv", f"{head}\n{','.join(map(str, range(25)))}\n".encode()))
    assert list(f)[:6] == ["LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", "PAY_0"] and f["LIMIT_BAL"][0] == 1 and f["PAY_AMT6"][0] == 23 and f["target"][0] == 24 and f.shape == (1, 24)


def test_reader_diabetes_and_phishing_arff(tmp_path):
    names = "preg plas pres skin insu mass pedi age".split()
    text = "% comment\n@relation pima\n" + "".join(f"@attribute '{n}' numeric\n" for n in names) + "@attribute 'class' { tested_negative, tested_positive}\n@data\n6,148,72,35,0,33.6,0.627,50,tested_positive\n1,85,66,29,0,26.6,0.351,31,tested_negative\n"
    f = read_upstream("diabetes", save(tmp_path, "d.arff", text.encode()))
    assert list(f) == ["Pregnancies", "Glucose", "BloodPressure", "SkinThickness", "Insulin", "BMI", "DiabetesPedigreeFunction", "Age", "target"] and f["target"].tolist() == [1, 0]
    text = "@relation phishing\n\n@attribute having_IP_Address  { -1,1 }\n@attribute URL_Length   { 1,0,-1 }\n@attribute Result  { -1,1 }\n\n\n@data\n-1,1,-1\n1,1,1\n\n"
    f = read_upstream("phishing", save(tmp_path, "p.zip", zipped(**{"Training Dataset.arff": text, ".old.arff": ""})))
    assert f.to_dict("list") == {"having_IP_Address": [-1, 1], "URL_Length": [1, 1], "target": [-1, 1]}


def test_reader_liver_accelerometer_obesity_naticusdroid(tmp_path):
    f = read_upstream("liver", save(tmp_path, "l.zip", zipped(**{"Indian Liver Patient Dataset (ILPD).csv": "65,Female,0.7,0.1,187,16,18,6.8,3.3,0.9,1\n62,Male,10.9,5.5,699,64,100,7.5,3.2,,2\n"})))
    assert f["target"].tolist() == [1, 2] and f["Gender"].dtype == "category" and f["A/G Ratio"].isna().tolist() == [False, True]
    f = read_upstream("accelerometer", save(tmp_path, "a.zip", zipped(**{"accelerometer_gyro_mobile_phone_dataset.csv": "accX,timestamp,Activity\n0.1,34:22.9,1\n"})))
    assert f["timestamp"].tolist() == ["34:22.9"] and f["timestamp"].dtype != "category" and f["target"].tolist() == [1]
    f = read_upstream("obesity", save(tmp_path, "o.zip", zipped(**{"ObesityDataSet_raw_and_data_sinthetic.csv": "Gender,Age,NObeyesdad\nFemale,21,Normal_Weight\n"})))
    assert f["Gender"].dtype == "category" and f["target"].tolist() == ["Normal_Weight"]
    f = read_upstream("naticusdroid", save(tmp_path, "n.zip", zipped(**{"data.csv": "android.permission.INTERNET,Result\n1,0\n"})))
    assert f.to_dict("list") == {"android.permission.INTERNET": [1], "target": [0]}


def test_reader_covertype_and_higgs(tmp_path):
    f = read_upstream("covertype", save(tmp_path, "c.gz", gzip.compress((",".join(map(str, range(55))) + "\n").encode())))
    assert f["Elevation"][0] == 0 and f["Wilderness_Area1"][0] == 10 and f["Soil_Type40"][0] == 53 and f["target"][0] == 54
    text = "EventId,DER_mass_MMC,PRI_jet_num,Weight,Label,KaggleSet,KaggleWeight\n1,138.4,2,0.1,s,t,0.2\n2,-999.0,0,0.1,b,b,0.2\n"
    f = read_upstream("higgs_boson", save(tmp_path, "h.csv.gz", gzip.compress(text.encode())))
    assert f.to_dict("records") == [{"DER_mass_MMC": 138.4, "PRI_jet_num": 2, "target": "s"}]


def test_reader_images(tmp_path):
    files = [save(tmp_path, f"{k}.gz", b) for k, b in enumerate((idx(range(256), (0,)) and idx([7] * 784 * 2, (2, 28, 28)), idx([5, 0], (2,)), idx([9] * 784, (1, 28, 28)), idx([7], (1,))))]
    f = read_upstream("mnist", *files)
    assert f.shape == (3, 786) and f["target"].tolist() == [5, 0, 7] and f["split"].tolist() == ["train", "train", "test"] and f["pixel783"].tolist() == [7, 7, 9] and f["pixel0"].dtype == np.uint8
    box = io.BytesIO()
    with tarfile.open(fileobj=box, mode="w:gz") as archive:
        for k, name in enumerate([*(f"data_batch_{b}.bin" for b in range(1, 6)), "test_batch.bin"]):
            body = bytes([k]) + bytes([10] * 1024 + [20] * 1024 + [30] * 1024)
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
    f = read_upstream("cifar10", save(tmp_path, "c.tar.gz", box.getvalue()))
    assert f["target"].tolist() == ["airplane", "automobile", "bird", "cat", "deer", "dog"] and f["split"].tolist() == ["train"] * 5 + ["test"]
    assert (f["r1023"] == 10).all() and (f["g0"] == 20).all() and (f["b0"] == 30).all() and f.shape == (6, 3074)


@pytest.mark.parametrize("name", sorted(UPSTREAM))
def test_garbage_is_one_line(tmp_path, name):
    with pytest.raises(DownloadError) as caught:
        read_upstream(name, *(save(tmp_path, s.filename, b"<html>\nsorry\n</html>") for s in UPSTREAM[name]))
    assert str(caught.value).startswith(f"{name}: ") and "\n" not in str(caught.value)


# loading

def test_registry():
    assert len(DATASETS) == 15 and set(DATASETS) - set(UPSTREAM) == {"breast_cancer"}
    for info in DATASETS.values():
        assert list(info.classes) == sorted(info.classes) and (info.pos_label in info.classes) == (info.task == "binary")
        assert info.licence and info.citation and info.upstream and info.in_paper.complete
        for v in info.versions:
            assert v.counts is None or sum(v.counts) == v.rows
            assert (v.test_counts is not None) == info.official_split
    for near, name in (("higgs", "higgs_boson"), ("adult", "adult_income"), ("Bank", "bank_marketing"), ("wines", "wine"), ("cifar-10", "cifar10"), ("covtype", "covertype")):
        assert f"did you mean '{name}'?" in str(pytest.raises(InputError, dataset_info, near).value)
    for far in ("iris", "titanic", "x", "breast_reading", "income"):  # no guess is better than a far one
        assert "did you mean" not in str(pytest.raises(InputError, dataset_info, far).value) and "they are accelerometer" in str(pytest.raises(InputError, dataset_info, far).value)
    for nothing in (None, 3, "", ["wine"]):
        caught = pytest.raises(InputError, dataset_info, nothing).value
        assert caught.argument == "name" and str(caught).startswith("`name` must be text, got")


def test_breast_cancer_needs_no_network(server):
    from sklearn.datasets import load_breast_cancer

    d = load_dataset("breast_cancer")
    X, y = load_breast_cancer(return_X_y=True)
    assert server.asked == [] and np.array_equal(d.X.to_numpy(), X) and np.array_equal(d.codes, 1 - y) and d.classes == ("B", "M")


def test_order_of_places(server, tmp_path, monkeypatch):
    server.answers[WINE] = [wine_zip()]
    assert locate("wine") == ("download", None)
    path = fetch("wine")
    assert locate("wine") == ("cache", path)
    home, other = tmp_path / "home", tmp_path / "other"
    for folder in (home, other):
        folder.mkdir()
        (folder / "wine.parquet").write_bytes(path.read_bytes())
    monkeypatch.setenv("CWCAL_DATA_HOME", str(home))
    assert locate("wine") == ("data_home", home / "wine.parquet") and locate("wine", other) == ("data_home", other / "wine.parquet")
    assert load_dataset("wine").origin == f"data_home {home / 'wine.parquet'}"
    (home / "wine.parquet").write_bytes(b"nonsense")  # the user's own file is never replaced
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        load_dataset("wine")
    assert (home / "wine.parquet").read_bytes() == b"nonsense"
    monkeypatch.setenv("CWCAL_DATA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="CWCAL_DATA_HOME must be a folder"):
        load_dataset("wine")


def test_not_here_and_not_wanted(server):
    with pytest.raises(InputError, match="wine is not on this machine; `cwcal data fetch wine` downloads it"):
        load_dataset("wine", download=False)
    assert server.asked == [] and verify_dataset("wine") is None


@pytest.mark.parametrize("change, said", [
    (lambda f: f.rename(columns={"target": "label"}), "has no column 'target'"),
    (lambda f: f.assign(target=f.target.replace({"M": "malignant"})), "has 212 labels that are none of B, M"),
    (lambda f: f.assign(extra=0), "has 569 × 31 values, registered are 569 × 30"),
    (lambda f: f.assign(target=["B"] + f.target.tolist()[1:]), "has other class counts than registered: 358, 211"),
])
def test_wrong_files_are_refused(tmp_path, change, said):
    d = load_dataset("breast_cancer", download=False)
    change(d.X.assign(target=d.y)).to_parquet(tmp_path / "breast_cancer.parquet")
    with pytest.raises(InputError) as caught:
        load_dataset("breast_cancer", tmp_path)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert said in verify_dataset("breast_cancer", tmp_path).problem


def miniature(n=400, seed=0, name="adult_income", split=True):
    "Random rows in the shape of adult: a category with missing values, an official test part."
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(17, 91, n), "native-country": pd.Categorical(rng.choice(["United-States", "Cuba", "?"], n, p=[0.7, 0.2, 0.1])).remove_categories("?")})
    y = pd.Series(np.where(rng.random(n) < 0.25, ">50K", "<=50K"), name="target")
    parts = pd.Series(np.where(np.arange(n) < n * 2 // 3, "train", "test"), name="split")
    return Dataset(X, y, parts if split else None, DATASETS[name], DATASETS[name].versions[0])


def test_as_in_paper_and_notes_travel():
    d = miniature()
    whole = as_in_paper(d)
    complete = d.X.notna().all(axis=1)
    assert whole.n == complete.sum() < d.n and whole.X.index.tolist() == np.flatnonzero(complete).tolist() and whole.split.index.equals(whole.X.index)
    assert whole.subset([0, 1]).notes == whole.notes and "in the paper" in whole.notes[0]
    assert whole.X["native-country"].dtype == "category" and as_in_paper(whole) is whole
    cancer = load_dataset("breast_cancer", download=False)
    assert as_in_paper(cancer) is cancer


def test_stratified_split_is_deterministic_and_a_partition():
    d = miniature(401, split=False)
    a, b, other = stratified_split(d, 3), stratified_split(d, 3), stratified_split(d, 4)
    assert all(np.array_equal(getattr(a, k), getattr(b, k)) for k in ("train", "validation", "test")) and not np.array_equal(a.test, other.test)
    assert sorted([*a.train, *a.validation, *a.test]) == list(range(401)) and a.sizes == {"train": 240, "validation": 80, "test": 81}
    for part in (a.train, a.validation, a.test):
        for k in (0, 1):
            assert abs((d.codes[part] == k).sum() - len(part) * (d.codes == k).mean()) <= 1 + 1e-9


def test_official_test_part_is_kept():
    d = miniature(400)
    s = stratified_split(d, 0)
    assert np.array_equal(s.test, np.flatnonzero(d.split == "test")) and s.sizes == {"train": 199, "validation": 67, "test": 134}


def test_subset_keeps_classes_and_parts():
    d = miniature(1000)
    s = stratified_subset(d, 200, seed=1)
    assert s.n == 200 and abs((s.split == "test").sum() - 200 * (d.split == "test").mean()) <= 2 and stratified_subset(d, 0) is d and stratified_subset(d, 1000) is d
    for part in ("train", "test"):
        assert abs(s.codes[s.split == part].mean() - d.codes[d.split == part].mean()) < 0.02
    assert s.notes == ("200 of 1,000 rows, stratified, seed 1",) and stratified_split(s).notes == s.notes


@pytest.mark.parametrize("left_out", [1, 2, 3, 4])
def test_a_subset_may_leave_out_fewer_rows_than_there_are_strata(left_out):
    d = miniature(60)
    cells = set(zip(d.codes, d.split))
    kept = [stratified_subset(d, 60 - left_out, seed=s) for s in range(20)]
    assert len(cells) == 4 and all(s.n == 60 - left_out and len(set(s.X.index)) == s.n and set(zip(s.codes, s.split)) == cells for s in kept)
    assert len({tuple(s.X.index) for s in kept}) > 10 and kept[3].X.index.equals(stratified_subset(d, 60 - left_out, seed=3).X.index)
    assert stratified_subset(load_dataset("breast_cancer", download=False), 568).n == 568


def test_the_label_shows_what_was_drawn():
    def of(name, which, n):
        info = DATASETS[name]
        X = pd.DataFrame({"a": np.arange(float(n))})
        y = pd.Series(np.resize(np.array(info.classes, dtype=object), n), name="target")
        return Dataset(X, y, None, info, next(v for v in info.versions if which(v)))

    older = of("bank_marketing", lambda v: not v.paper, 45211)
    assert older.label == f"bank_marketing ({older.version.what})" and stratified_subset(older, 20000).label == f"bank_marketing ({older.version.what}; 20,000 of 45,211 rows)"
    part = of("cifar10", lambda v: v.of, 18000)
    assert part.label == "cifar10 (18,000 of 60,000 rows)" and stratified_subset(part, 5000).label == "cifar10 (5,000 of 60,000 rows)"
    d = miniature(1000)
    adult = as_in_paper(d)
    assert d.label == adult.label == "adult_income"  # what the paper left out is no draw
    assert stratified_subset(adult, 200).label == f"adult_income (200 of {adult.n} rows)" and stratified_subset(adult, adult.n - 1).label == f"adult_income ({adult.n - 1} of {adult.n} rows)"
    assert stratified_subset(adult, 200).subset(np.arange(10)).label == f"adult_income (10 of {adult.n} rows)" and adult.subset(np.arange(adult.n)).label == "adult_income"
    assert as_in_paper(stratified_subset(d, 200)).label.endswith("of 1,000 rows)")


@pytest.mark.parametrize("rows", [[400], [-401], [0.5], [True, False], [], [[0]], "first", None])
def test_a_subset_names_rows_that_are_none(rows):
    d = miniature(400)
    assert d.subset([0, -1]).X.index.tolist() == [0, 399] and d.subset(np.arange(400) < 3).n == 3
    with pytest.raises(InputError) as caught:
        d.subset(rows)
    assert caught.value.argument == "rows"


def test_shifted_split():
    d = miniature(600)
    s = shifted_split(d, "age", seed=2)
    assert (d.X["age"].iloc[s.shifted] > 50).all() and all((d.X["age"].iloc[part] <= 50).all() for part in (s.train, s.validation, s.test))
    assert sorted([*s.train, *s.validation, *s.test, *s.shifted]) == list(range(600)) and "older" in s.what
    assert np.array_equal(shifted_split(d, seed=2).shifted, s.shifted)  # the first shift is the default
    country = shifted_split(d, "country")
    assert (d.X["native-country"].iloc[country.shifted] == "Cuba").all()
    with pytest.raises(InputError, match="must be 'age' or 'country', or a mask for adult_income, got 'sex'"):
        shifted_split(d, "sex")


def test_classes_that_training_never_saw_are_named():
    d = miniature(300)
    mask = (d.codes == 1) & (np.arange(300) > 10)
    d = d.subset(np.flatnonzero((d.codes == 0) | mask))
    assert shifted_split(d, by=(d.codes == 1)).notes[-1].endswith("never saw: >50K")


# the prepared files

@pytest.fixture(scope="module")
def prepared(shared):
    if not (shared / "data" / "MANIFEST.csv").is_file():
        pytest.skip("the prepared data sets are not beside the repository")
    return shared / "data"


def test_registry_agrees_with_the_manifest(prepared):
    manifest = pd.read_csv(prepared / "MANIFEST.csv").set_index("name")
    assert set(manifest.index) == set(DATASETS)
    for name, row in manifest.iterrows():
        info = DATASETS[name]
        v = next(v for v in info.versions if v.sha256)
        counts = dict(part.rsplit(":", 1) for part in row.class_counts.split(" | ")[0].split(";"))
        assert (v.rows, v.features, len(info.classes), v.sha256) == (row["rows"], row.features, row.classes, row.sha256)
        assert [int(counts[str(c)]) for c in info.classes] == list(v.counts) and (row.complete == "yes") == v.complete and (row.official_split == "yes") == info.official_split


def test_list_marks_what_is_not_the_papers(prepared):
    rows = {r["name"]: r for r in dataset_table(prepared)}
    assert {r["where"] for r in rows.values()} == {"data_home"}
    assert {n for n, r in rows.items() if r["note"].startswith("incomplete")} == {"cifar10", "higgs_boson", "naticusdroid"}
    assert rows["bank_marketing"]["note"].startswith("not the paper's file") and rows["cifar10"]["rows"] == 18000


@pytest.mark.parametrize("name", [n for n in DATASETS if n not in ("cifar10", "mnist", "covertype")])
def test_prepared_files(prepared, name):
    d = load_dataset(name, prepared)
    assert d.sha256 == d.version.sha256 and (d.codes >= 0).all() and d.X.shape == (d.version.rows, d.version.features)
    assert bool(d.notes) == (d.label != d.name) == (name in ("bank_marketing", "higgs_boson", "naticusdroid"))
    part = as_in_paper(d)
    assert ("timestamp" in d.X) == (name == "accelerometer") and "timestamp" not in part.X and (part is d) == (name not in ("accelerometer", "adult_income"))
    s = stratified_split(part)
    if name == "adult_income":
        assert s.sizes == {"train": 22621, "validation": 7541, "test": 15060}
    else:
        assert len(s.test) == -(-d.n // 5)
    for by in SHIFTS.get(name, {}):
        s = shifted_split(d, by)
        assert not any("never saw" in n for n in s.notes) and min(s.sizes.values()) > 0.04 * d.n, (by, s)


def test_what_the_table_of_shifts_says(prepared):
    def rates(name, by):
        d = load_dataset(name, prepared)
        s, positive = shifted_split(d, by), d.classes.index(d.info.pos_label)
        return (d.codes[s.test] == positive).mean(), (d.codes[s.shifted] == positive).mean()

    same, shifted = rates("diabetes", "age")
    assert 1.8 < shifted / same < 2.2
    same, shifted = rates("bank_marketing", "month")
    assert shifted > 1.5 * same
    assert rates("naticusdroid", "permissions")[1] > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cifar10", "mnist", "covertype"])
def test_prepared_large_files(prepared, name):
    d = load_dataset(name, prepared)
    assert d.sha256 == d.version.sha256 and d.label == ("cifar10 (18,000 of 60,000 rows)" if name == "cifar10" else name)
    assert len(stratified_split(d).test) == {"cifar10": 3000, "mnist": 10000, "covertype": 116203}[name]
    for by in SHIFTS[name]:
        assert not any("never saw" in n for n in shifted_split(d, by).notes)


def test_pretended_publisher_gives_the_prepared_rows(prepared, server):
    frame = pd.read_parquet(prepared / "wine.parquet").rename(columns={"target": "quality"})
    server.answers[WINE] = [zipped(**{"winequality-red.csv": frame[:1599].to_csv(sep=";", index=False), "winequality-white.csv": frame[1599:].to_csv(sep=";", index=False)})]
    pd.testing.assert_frame_equal(load_dataset("wine").X, load_dataset("wine", prepared).X)


# the command

def run(capsys, *arguments):
    try:
        app(["data", *map(str, arguments)], standalone_mode=True)
        code = 0
    except SystemExit as e:
        code = e.code or 0
    said = capsys.readouterr()
    return code, said.out, said.err


def test_command(server, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    server.answers[WINE] = [wine_zip()]
    code, out, err = run(capsys, "list")
    assert code == 0 and out.count("download: ") == 14 and all(len(line) <= 80 for line in out.splitlines())
    code, out, err = run(capsys, "fetch", "wine", "breast_cancer")
    assert code == 0 and err == "" and "wine: 6,497 rows × 11 features, from download" in out and "from scikit-learn" in out
    code, out, err = run(capsys, "verify", "wine", "liver")
    assert code == 0 and "wine: shape and class counts as registered, from cache" in out and "liver: not on this machine" in out
    (cache_home() / "wine.parquet").write_bytes(b"")
    code, out, err = run(capsys, "verify", "wine")
    assert code == 2 and err.startswith("cwcal: wine: ") and err.count("\n") == 1
    code, out, err = run(capsys, "fetch", "wine")
    assert code == 0 and "is downloaded anew" in err and "6,497 rows" in out


def test_command_goes_on_after_a_failure(server, capsys):
    server.answers[WINE] = [wine_zip()]
    code, out, err = run(capsys, "fetch", "liver", "wine")
    assert code == 2 and "liver: http" in err and "404" in err and err.count("\n") == 1 and "wine: 6,497" in out


@pytest.mark.parametrize("arguments, said", [(("fetch",), "name the data sets, or give --all"), (("fetch", "wines"), "did you mean 'wine'?"), (("verify", "wines"), "did you mean 'wine'?"),
                                             (("list", "--data-home", "/nowhere/at/all"), "must be a folder")])
def test_command_errors(server, capsys, arguments, said):
    code, out, err = run(capsys, *arguments)
    assert code == 2 and said in err and err.count("\n") == 1
