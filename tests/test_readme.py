"""The README's code gives the README's output, and its commands exist."""
import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_ten_lines_print_what_is_printed():
    code = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.S)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code[1], "README.md", "exec"), {})
    assert said.getvalue() == code[2]
    assert len([line for line in code[1].splitlines() if line.strip()]) <= 13


def test_what_the_figure_text_says():
    import numpy as np

    from cwcal import Profile, csr_summary, expected_calibration_error
    from cwcal.reporting.plots import csr_terms_table

    rng = np.random.default_rng(0)
    error_prob = rng.uniform(0.02, 0.3, 2000)
    wrong = rng.random(2000) < error_prob
    bold = Profile.from_confidence(~wrong, error_prob=np.where(error_prob < 0.08, error_prob / 5, error_prob))
    assert round(expected_calibration_error(bold), 3) == 0.015
    table = csr_terms_table(bold)
    sure = table["upper"] <= 0.1
    assert (table.loc[sure, "rows"].sum(), table.loc[sure, "errors"].sum(), round(table.loc[sure, "share_of_csr"].sum(), 2)) == (570, 35, 0.60)
    assert (error_prob < 0.08).sum() == 436 and csr_summary(bold).csr > 1.7
    assert "gap of 1.5 per cent" in README and "570 answers, of which 436" in README and "35 errors there carry 60 per cent" in README


def test_commands_and_files_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert set(re.findall(r"(?:\$ |`)make ([a-z-]+)", README)) <= targets
    assert (ROOT / "nbs" / "images" / "readme.png").is_file()
    for name in re.findall(r"`((?:nbs|cwcal|tests|benchmarks)/[^`]*)`", README):
        assert (ROOT / name).exists(), name
