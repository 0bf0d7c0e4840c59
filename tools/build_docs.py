"""Build the docs site into _docs/, without Quarto and without a network.

nbdev turns nbs/ into _proc/ (`nbdev.serve.proc_nbs`; its commands would fetch Quarto), a copy of which gets the names that nbdev's links use,
smalldocs renders it, and KaTeX comes from tools/katex. Any warning, missing page or address outside the site stops the build;
the old site stays until the new one is whole. `--partial` is for branches whose pages do not exist yet: what is missing is printed and left out.
"""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
NBS, PROC, KATEX = ROOT / "nbs", ROOT / "_proc", ROOT / "tools" / "katex"
KATEX_CDN = re.compile(r"https://cdn\.jsdelivr\.net/npm/katex@[^/\"]+/dist")
NESTED = re.compile(r"\[\[(`[^`\]]+`)\]\([^)]*\)\]\(")  # nbdev links a name inside a link that is there already
LINK = re.compile(r"""(\]\(|href=["'])([^)\s"'#:]+\.ipynb)(?=[#)\s"'])""")  # a link to a notebook of this site, in Markdown or HTML
FROM_DISK = 'if(location.protocol==="file:")document.write(\'<script src="%ssite_libs/search-index.js"><\\/script>\')'


class DocsError(Exception):
    "The site cannot be built; the message says why."


def notebooks(folder=NBS):
    "Paths of the notebooks under a folder, relative to it, those that nbdev renders."
    paths = (p.relative_to(folder) for p in folder.rglob("*.ipynb"))
    return sorted(p.as_posix() for p in paths if not any(part[0] in "._" for part in p.parts))


# ---- navigation

def expand(entries, pages):
    "Sidebar or navbar entries with globs replaced by the pages they match, and the list of entries that match nothing."
    out, missing = [], []
    for entry in [entries] if isinstance(entries, (str, dict)) else entries:
        if isinstance(entry, dict) and "contents" in entry:
            inner, lost = expand(entry["contents"], pages)
            missing += lost
            out += [{**entry, "contents": inner}] if inner else []
            continue
        name = entry if isinstance(entry, str) else entry.get("auto") or entry.get("href", "")
        found = [p for p in pages if PurePosixPath(p).match(name) and p.count("/") == name.count("/")] if "*" in name else [name] if name in pages else None
        if found is None and not name.endswith(".ipynb"):  # an address elsewhere
            out.append(entry)
        elif not found:
            missing.append(name)
        else:
            out += found if isinstance(entry, str) or "auto" in entry else [entry]
    return out, missing


def linked(entries):
    "The pages that expanded entries name, in order."
    for entry in entries:
        if isinstance(entry, dict) and "contents" in entry:
            yield from linked(entry["contents"])
        else:
            yield entry if isinstance(entry, str) else entry["href"]


def navigation(pages):
    "_quarto.yml with its navigation expanded, and what in it matches no page."
    import yaml

    config = yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))
    site = config["website"]
    site["sidebar"]["contents"], missing = expand(site["sidebar"]["contents"], pages)
    for side in ("left", "right"):
        site["navbar"][side], lost = expand(site["navbar"][side], pages)
        missing += lost
    return config, list(dict.fromkeys(missing))


# ---- nbs/ -> _proc/ -> stage

def process():
    "Run nbdev over nbs/."
    shadow = NBS / "_quarto.yml"
    if shadow.resolve() != ROOT / "_quarto.yml":
        raise DocsError("nbs/_quarto.yml must be a symbolic link to ../_quarto.yml, else it shadows it")
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))  # the package of this checkout
    os.environ["MPLBACKEND"] = "agg"
    import nbdev.showdoc
    from nbdev.serve import proc_nbs

    from tools.show_doc import ParameterTable

    nbdev.showdoc.BasicMarkdownRenderer = ParameterTable
    shutil.rmtree(PROC, ignore_errors=True)  # its cache knows notebooks only, not the renderer nor the package
    try:
        proc_nbs(n_workers=0)  # in this process: the renderer holds, and imports are paid once
    except Exception as e:
        raise DocsError(f"nbdev: {str(e).splitlines()[0]} {e.__cause__ or ''}") from e
    lost = [p for p in notebooks() if not (PROC / p).is_file()]
    if lost:
        raise DocsError(f"nbdev left out {', '.join(lost)}; it skips every path with a part that begins with a dot, or that is called _proc, _docs or _site: {ROOT}")

    for path in (PROC / p for p in notebooks()):
        nb = json.loads(path.read_text(encoding="utf-8"))
        for cell in nb["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = NESTED.sub(r"[\1](", "".join(cell["source"]))
        path.write_text(json.dumps(nb), encoding="utf-8")


def front_matter(nb, page):
    "The front matter cell that nbdev wrote, and the file name it asks for."
    cell = nb["cells"][0]
    text = "".join(cell["source"])
    found = re.search(r"^output-file: *(\S+)\n", text, re.M)
    if cell["cell_type"] != "raw" or not found:
        raise DocsError(f"nbs/{page} has no title: its first markdown cell must be `# Title` and `> one sentence`")
    return cell, text.replace(found[0], ""), found[1]


def stage(folder):
    "Copy _proc/ into a folder, each notebook under the name of its output-file, and every link with it; returns old name -> new name."
    pages = notebooks()
    loaded = {p: json.loads((PROC / p).read_text(encoding="utf-8")) for p in pages}
    new_name = {}
    for page, nb in loaded.items():
        cell, cell["source"], out = front_matter(nb, page)
        new_name[page] = PurePosixPath(page).with_name(out).with_suffix(".ipynb").as_posix()
    twice = [p for p in pages if list(new_name.values()).count(new_name[p]) > 1]
    if twice:
        raise DocsError(f"these notebooks would write one and the same page: {', '.join(twice)}")

    def rename(text, page):
        def link(m):
            target = os.path.normpath(os.path.join(os.path.dirname(page), m[2])).replace(os.sep, "/")
            return m[1] + (os.path.join(os.path.dirname(m[2]), PurePosixPath(new_name[target]).name) if target in new_name else m[2])
        return LINK.sub(link, text)

    for page, nb in loaded.items():
        for cell in nb["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = rename("".join(cell["source"]), page)
            for output in cell.get("outputs", []):
                for kind in {"text/markdown", "text/html"} & set(output.get("data", {})):
                    output["data"][kind] = rename("".join(output["data"][kind]), page)
        dest = folder / new_name[page]
        dest.parent.mkdir(parents=True, exist_ok=True)
        dest.write_text(json.dumps(nb), encoding="utf-8")
    for source in NBS.rglob("*"):  # style sheets and pictures
        path = source.relative_to(NBS)
        if source.is_file() and source.suffix != ".ipynb" and not any(part[0] in "._" for part in path.parts):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / path)
    return new_name


def write_config(folder, config, new_name):
    "Write _quarto.yml for smalldocs: pages by their new names, the facts of settings.ini; returns the site's address."
    import yaml
    from nbdev.config import get_config

    cfg = get_config()
    address = f"{cfg.doc_host}{cfg.doc_baseurl}".rstrip("/")

    def renamed(entry):
        if isinstance(entry, str):
            return new_name.get(entry, entry)
        return {k: [renamed(e) for e in v] if k == "contents" else new_name.get(v, v) if k == "href" else v for k, v in entry.items()}

    site = config["website"]
    site["sidebar"]["contents"] = [renamed(e) for e in site["sidebar"]["contents"]]
    for side in ("left", "right"):
        site["navbar"][side] = [renamed(e) for e in site["navbar"][side]]
    site.update({"title": cfg.title, "description": cfg.description, "site-url": address, "repo-url": cfg.git_url, "repo-branch": cfg.branch})
    config.pop("metadata-files", None)
    config["project"]["output-dir"] = "_docs"
    (folder / "_quarto.yml").write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return address


# ---- the rendered site

def finish(site, address):
    "KaTeX and the search index from the site itself, links to the published site made relative, nothing loaded from elsewhere."
    shutil.copytree(KATEX, site / "site_libs" / "katex")
    index = (site / "search.json").read_text(encoding="utf-8").replace("</", "<\\/")
    shim = "const found=%s,ask=window.fetch;window.fetch=(u,...a)=>String(u).endsWith('search.json')?Promise.resolve(new Response(JSON.stringify(found))):ask(u,...a);"
    (site / "site_libs" / "search-index.js").write_text(shim % index, encoding="utf-8")
    for path in site.rglob("*.css"):  # the themes ask Google for fonts; they name others to fall back on
        text = path.read_text(encoding="utf-8")
        if (kept := re.sub(r"@import url\([\"']?https?:[^)]*\);?", "", text)) != text:
            path.write_text(kept, encoding="utf-8")
    for path in sorted(site.rglob("*.html")):
        up = "../" * (len(path.relative_to(site).parts) - 1)
        text = KATEX_CDN.sub(f"{up}site_libs/katex", path.read_text(encoding="utf-8"))
        text = re.sub(rf'(<a\b[^>]*\bhref="){re.escape(address)}/', rf"\g<1>{up or './'}", text)
        text = text.replace("</head>", f"<script>{FROM_DISK % up}</script></head>", 1)  # a page opened from disk may not fetch
        outside = re.findall(r'<(?:script|img|link rel="stylesheet"|iframe)\b[^>]*?(?:src|href)="(?:https?:)?//[^"]*"', text)
        if outside:
            raise DocsError(f"{path.relative_to(site)} loads from the network: {outside[0]}")
        path.write_text(text, encoding="utf-8")
    unheaded(site)


def unheaded(site):
    "nbdev links every exported name to its heading; a name that is exported but not shown has none, and its link goes to the page."
    text = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    ids = {path.resolve(): set(re.findall(r'\bid="([^"]+)"', page)) for path, page in text.items()}
    for path, page in text.items():
        def link(m):
            target = (path.parent / m[2]).resolve()
            return m[0] if target not in ids or m[3] in ids[target] else f"{m[1]}{m[2]}{m[4]}"
        changed = re.sub(r'(<a\b[^>]*\bhref=")([^"#:]+\.html)#([^"]+)("[^>]*><code>)', link, page)
        if changed != page:
            path.write_text(changed, encoding="utf-8")


def build(out=ROOT / "_docs", partial=False):
    "Build the whole site into `out`; returns what was missing (always nothing unless partial)."
    from smalldocs.site import build as render

    config, missing = navigation(notebooks())
    if missing and not partial:
        raise DocsError(f"_quarto.yml names pages that do not exist: {', '.join(missing)}")
    process()
    with tempfile.TemporaryDirectory(prefix="cwcal-docs-") as tmp:
        tmp = Path(tmp).resolve()
        new_name = stage(tmp)
        address = write_config(tmp, config, new_name)
        warnings = [str(w) for w in render(tmp, quiet=True).warnings]
        if warnings and not partial:
            raise DocsError("smalldocs warns:\n  " + "\n  ".join(warnings))
        finish(tmp / "_docs", address)
        if out.exists():
            shutil.rmtree(out)
        shutil.move(tmp / "_docs", out)
    return missing + warnings


def main():
    parser = argparse.ArgumentParser(description="Build the docs site without Quarto and without a network.")
    parser.add_argument("--out", type=Path, default=ROOT / "_docs", help="where the site goes (default: _docs)")
    parser.add_argument("--partial", action="store_true", help="print what is missing instead of stopping")
    args = parser.parse_args()
    out = args.out.resolve()
    try:
        for line in build(out, args.partial):
            print("missing:", line, file=sys.stderr)
    except DocsError as e:
        sys.exit(f"build_docs: {e}")
    print(f"{len(list(out.rglob('*.html')))} pages in {out}; open {out / 'index.html'}")


if __name__ == "__main__":
    main()
