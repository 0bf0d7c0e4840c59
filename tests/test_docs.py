"""The docs site: navigation, and a full build that a browser opens with no network."""
import functools
import html
import http.server
import json
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import build_docs  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGES = ("index.html", "profile.html", "metrics/csr.html")


# ---- navigation

def test_every_notebook_stands_in_the_sidebar_exactly_once():
    pages = build_docs.notebooks()
    config, _ = build_docs.navigation(pages)
    assert Counter(build_docs.linked(config["website"]["sidebar"]["contents"])) == Counter(pages)


def test_navigation_names_no_page_that_is_not_there():
    assert build_docs.navigation(build_docs.notebooks())[1] == []


def test_globs_stay_in_their_folder_and_keep_the_order_of_the_numbers():
    pages = ["01_a.ipynb", "m/01_b.ipynb", "m/02_a.ipynb", "m/x/01_c.ipynb"]
    assert build_docs.expand(["01_a.ipynb", {"section": "M", "contents": [{"auto": "m/*.ipynb"}]}, "gone.ipynb", {"href": "https://x.org"}], pages) == (
        ["01_a.ipynb", {"section": "M", "contents": ["m/01_b.ipynb", "m/02_a.ipynb"]}, {"href": "https://x.org"}], ["gone.ipynb"])


def test_the_quarto_file_of_the_notebooks_is_the_top_level_one():
    assert (ROOT / "nbs" / "_quarto.yml").is_symlink() and (ROOT / "nbs" / "_quarto.yml").resolve() == ROOT / "_quarto.yml"


def test_katex_comes_with_its_licence_and_every_font():
    katex = ROOT / "tools" / "katex"
    assert "MIT License" in (katex / "LICENSE").read_text(encoding="utf-8")
    fonts = set(re.findall(r"fonts/[\w-]+\.woff2", (katex / "katex.min.css").read_text(encoding="utf-8")))
    assert fonts == {f"fonts/{p.name}" for p in (katex / "fonts").iterdir()} and fonts


# ---- the built site

@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("smalldocs", reason="smalldocs is not installed (extra dev)")
    pytest.importorskip("nbdev", reason="nbdev is not installed (extra dev)")
    out = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run([sys.executable, ROOT / "tools" / "build_docs.py", "--out", out], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return out


class Links(HTMLParser):
    "What a page links to and loads, and the ids it offers."

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids |= {attrs[k] for k in ("id", "name") if attrs.get(k)}
        if tag in ("a", "link", "script", "img", "iframe", "source"):
            self.links += [(tag, attrs[k]) for k in ("href", "src") if attrs.get(k)]


@pytest.mark.slow
def test_every_internal_link_and_asset_exists(site):
    pages = {p: Links(p.read_text(encoding="utf-8")) for p in site.rglob("*.html")}
    assert len(pages) == len(build_docs.notebooks())
    bad, followed = [], 0
    for page, found in pages.items():
        for tag, link in found.links:
            url = urlsplit(link)
            if url.scheme in ("data", "mailto", "http", "https") or url.netloc:
                if tag != "a":
                    bad.append(f"{page.relative_to(site)} loads {link[:80]}")
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            target = target / "index.html" if target.is_dir() else target
            followed += 1
            if site.resolve() not in target.parents or not target.is_file():
                bad.append(f"{page.relative_to(site)} -> {link}")
            elif url.fragment and target in pages and unquote(url.fragment) not in pages[target].ids:
                bad.append(f"{page.relative_to(site)} -> {link}: no such heading")
    bad = [b for b in bad if " loads data:" not in b]
    assert not bad, "\n".join(bad)
    assert followed > 20 * len(pages)


@pytest.mark.slow
def test_a_metric_page_has_its_parameter_table_and_its_formula(site):  # nbdev lost the tables in an upgrade
    text = (site / "metrics" / "csr.html").read_text(encoding="utf-8")
    doc = text[text.index('id="csr"'):text.index("Exported source")]
    rows = re.findall(r"<tr>\s*(.*?)\s*</tr>", re.sub(r"</?a\b[^>]*>", "", doc), re.S)
    assert [re.findall(r"<t[hd]>(.*?)</t[hd]>", r)[:3] for r in rows] == [
        ["parameter", "type", "default"], ["<code>p</code>", "<code>Profile</code>", ""], ["<code>eps</code>", "<code>float</code>", "<code>1e-08</code>"], ["<strong>returns</strong>", "<code>float</code>", ""]]
    assert "smallest error probability" in rows[2]
    assert re.search(r'<span class="math display">\\\[.*mathrm\{CSR\}', text, re.S)


PROBE = """<!doctype html><meta charset=utf-8><pre id=out></pre><script>
const jobs = JOBS; localStorage.setItem("smalldocs-scheme", "SCHEME");  // as the reader's switch does; frames do not always take the browser's preference
const sleep = ms => new Promise(r => setTimeout(r, ms)), out = [];
const shown = (w, n) => { for (let p = n.parentElement; p && p.tagName !== "BODY"; p = p.parentElement) { const s = w.getComputedStyle(p); if (/auto|scroll/.test(s.overflowX) || s.display === "none" || p.classList.contains("katex")) return false } return n.getBoundingClientRect().width > 0 };
(async () => {
  for (const [page, width] of jobs) {
    const f = document.createElement("iframe"); f.style.cssText = `border:0;width:${width}px;height:900px`; f.src = page; document.body.append(f);
    await new Promise(r => f.onload = r); const w = f.contentWindow, d = f.contentDocument; await d.fonts.ready; await sleep(300);
    const box = [...d.querySelectorAll(".smalldocs-search")][0], input = box.querySelector("input");
    input.value = "Calibrated Size Ratio"; input.dispatchEvent(new Event("input")); for (let i = 0; i < 40 && !box.querySelector(".search-result, .search-none"); i++) await sleep(50);
    out.push({page, width, formulas: d.querySelectorAll(".katex-html").length, errors: d.querySelectorAll(".katex-error").length, raw: /\\\\\\(|\\\\\\[|\\$\\$|\\]\\(/.test([...d.querySelectorAll("main p, main li, main td, main th, main h1, main h2, main h3")].map(n => { n = n.cloneNode(true); n.querySelectorAll("code").forEach(c => c.remove()); return n.textContent }).join("\\n")),
      font: [...d.fonts].some(x => x.family.includes("KaTeX") && x.status === "loaded"), images: [...d.querySelectorAll("main img")].map(i => i.naturalWidth), hits: box.querySelectorAll("a.search-result").length,
      overflow: d.documentElement.scrollWidth - width, wide: [...d.querySelectorAll("main *")].filter(n => n.getBoundingClientRect().right > width + 1 && shown(w, n)).map(n => n.outerHTML.slice(0, 90)).slice(0, 5),
      dark: d.documentElement.classList.contains("quarto-dark"), outside: w.performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith(location.origin) && !n.startsWith("data:"))});
    f.remove();
  }
  document.getElementById("out").textContent = JSON.stringify(out); document.title = "done";
})();
</script>"""


BROWSER = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=1400,1000", "--virtual-time-budget=60000", "--dump-dom"]


def browse(site, tmp_path, jobs, dark=False):
    "Open pages of the site in frames of a given width, in Chromium that can reach nothing but this site; what each page looks like from inside."
    (site / "probe.html").write_text(PROBE.replace("JOBS", json.dumps(jobs)).replace("SCHEME", "alternate" if dark else "default"), encoding="utf-8")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        done = subprocess.run(
            [*BROWSER, f"--user-data-dir={tmp_path}", f"http://127.0.0.1:{server.server_port}/probe.html"],
            capture_output=True, text=True, timeout=180)
    finally:
        server.shutdown()
        server.server_close()
        (site / "probe.html").unlink()
    found = re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.S)
    assert found and found[1], done.stderr[-2000:] + done.stdout[-500:]
    return json.loads(html.unescape(found[1]))


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("dark", [False, True])
def test_formulas_figures_and_search_work_without_a_network_at_two_widths(site, tmp_path, dark):
    seen = browse(site, tmp_path, [[page, width] for page in PAGES for width in (1280, 390)], dark)
    assert len(seen) == 2 * len(PAGES)
    for s in seen:
        assert s["formulas"] > 0 and s["errors"] == 0 and not s["raw"] and s["font"], s
        assert s["hits"] > 0 and s["outside"] == [], s
        assert all(width > 0 for width in s["images"]), s
        assert s["overflow"] <= 0 and s["wide"] == [], s
        assert s["dark"] == dark, s
    assert any(s["images"] for s in seen)


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_search_and_formulas_work_for_a_page_opened_from_disk(site, tmp_path):
    ask = "<script>addEventListener('load', () => { const i = document.querySelector('.smalldocs-search input'); i.value = 'Calibrated Size Ratio'; i.dispatchEvent(new Event('input')) })</script></body>"
    page = site / "metrics" / "from_disk.html"
    page.write_text((site / "metrics" / "csr.html").read_text(encoding="utf-8").replace("</body>", ask), encoding="utf-8")
    try:
        done = subprocess.run([*BROWSER, f"--user-data-dir={tmp_path}", page.as_uri()], capture_output=True, text=True, timeout=180)
    finally:
        page.unlink()
    assert 'class="search-result"' in done.stdout and 'class="katex-html"' in done.stdout, done.stderr[-2000:]
