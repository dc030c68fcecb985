"""Every table of docs/results is what its CSV holds, and every CSV says what it comes from."""

import csv
import json
import re
import runpy
import subprocess
import sys

import pandas as pd
import pytest
from pages import ROOT

RENDERER = runpy.run_path(str(ROOT / "benchmarks/results/pages.py"))
FOLDER = ROOT / "docs" / "results"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.name != "trust.md")
"""All but the one that says what each script of benchmarks/attacks printed."""
DATA = sorted((FOLDER / "data").glob("*.csv"))
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)*( ?%)?( \(.*\))?")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_its_csvs_hold_and_no_number_written_by_hand(page):
    text = page.read_text(encoding="utf-8")
    assert RENDERER["rendered"](text) == text, "run: python benchmarks/results/pages.py"
    lines = RENDERER["TABLE"].sub("", text).splitlines()
    cells = [cell.strip() for line in lines if line.startswith("| ") for cell in line.split("|")]
    assert [cell for cell in cells if NUMBER.fullmatch(cell)] == []


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_a_csv_is_whole_and_says_what_it_comes_from(path):
    with path.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    told = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert {*told} - {"note"} == {"command", "commit", "date"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", told["date"])
    assert re.fullmatch(r"[0-9a-f]{7,40}\+?", told["commit"])


def test_what_a_benchmark_records_is_what_a_page_shows(tmp_path, monkeypatch):
    """An infinite number and nan are left empty, a bar is no column, a column of text is flush left."""
    monkeypatch.setitem(RENDERER["record"].__globals__, "DATA", tmp_path)
    lines = [{"a": "x|y", "b": 1.234, "c": float("nan")}, {"a": "z", "b": 2, "c": 0.5}]
    RENDERER["record"]("made", lines, command="python made.py")
    table = RENDERER["rendered"]("A\n<!-- table: made -->\nold\n<!-- end -->\nB\n").splitlines()[3:7]
    assert table == ["| a | b | c |", "| --- | ---: | ---: |", "| x\\|y | 1.23 |  |", "| z | 2 | 0.50 |"]
    assert json.loads((tmp_path / "made.json").read_text())["command"] == "python made.py"


def test_the_check_lists_each_table_and_finds_all_commits_and_numbers():
    command = [sys.executable, ROOT / "benchmarks/results/pages.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for path in DATA:
        origin = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        assert f"  {path.stem}  {origin['commit']}  {origin['date']}  {origin['command']}\n" in done.stdout


def test_a_page_may_name_no_other_commit_and_no_other_number():
    """Numbers of images, settings, code, and numbers of tables and figures are no results."""
    history = "0123abcdee\n89abcdef01\n"
    named = "Of 89abcde+ and 0123abcdef: 1234567 images, 0.1234abc, a decade, a facade."
    assert RENDERER["unknown_commits"](named, history) == ["0123abcdef"]
    text = "<!-- settings: .05 -->\n| 0.937 |\n\nOf 999 sets at .05, in table 3.7 and `1.5`, 93.7 % and .94 were "
    wrong = ["77.7", ".123", "98,765"]
    assert RENDERER["unsupported_numbers"](f"{text} {', '.join(wrong)} % off.") == wrong


def test_the_readmes_table_is_that_of_gated():
    """ResNet-56's / RepVGG-A0's number of the row and the column of the same name."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Results\n")[2]
    table = [line.strip("|").split("|") for line in readme.splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip() for cell in row] for row in table]
    data = [pd.read_csv(FOLDER / f"data/gated-rmse-{name}.csv", dtype=str) for name in ("resnet56", "repvgg")]
    found = [each.set_index("method") for each in data]
    for name, *cells in rows:
        method = name.split("`")[1]
        assert cells == [" / ".join(each.loc[method, column] for each in found) for column in header[1:]]


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.name)
def test_a_page_is_short_and_links_csvs_that_exist(page):
    """At most 700 words outside of tables, and four tables; further ones are CSVs."""
    text = page.read_text(encoding="utf-8")
    assert sum(len(line.split()) for line in text.splitlines() if not line.startswith("|")) <= 700
    assert len(re.findall(r"^\|[-: |]+\|$", text, re.MULTILINE)) <= 4
    assert [name for name in re.findall(r"\((data/[^)]+)\)", text) if not (FOLDER / name).is_file()] == []
