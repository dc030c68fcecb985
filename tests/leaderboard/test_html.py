import base64
import hashlib
import math
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from leaderboard.html import leaderboard_html
from leaderboard.table import Standing
from submission import Competition, Score

LINES = (
    Standing("Équipe & Cie", "team", Score(2.5, 2.0, 0.9, 10), 0.9375, 1, "2026-01-02 03:04:05", 3),
    Standing("fd", "baseline", Score(5.0, 4.0, math.nan, 10), math.nan),
)
VOID = {"meta", "rect"}


class Page(HTMLParser):
    """The elements of a page: tags with attributes, text by tag; fails where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)


def test_the_page_shows_what_the_lines_hold(competition: Competition) -> None:
    text = leaderboard_html(competition, LINES, 1.25)
    page = Page(text)
    assert page.text["bdi"] == ["Équipe & Cie", "fd"]
    cells = [cell.strip() for cell in page.text["td"] if cell.strip()]
    team = ["1", "2.50", "2.00", "0.90", "0.94", "2026-01-02 03:04:05", "3"]
    assert cells == [*team, "–", "5.00", "4.00", "–", "–", "–", "–"]
    assert "Noise floor: 1.25" in text
    assert "differences below it are ties" in text
    assert "Practice: the test images are public" in text
    assert [attributes["class"] for tag, attributes in page.tags if tag == "tr" and attributes] == [
        "team",
        "baseline",
    ]
    widths = [attributes["width"] for tag, attributes in page.tags if attributes.get("class") == "length"]
    assert widths == ["50.00", "100.00"]


def test_a_hidden_competition_says_so_and_an_empty_board_is_a_page(competition: Competition) -> None:
    text = leaderboard_html(replace(competition, visibility="hidden"), (), 0.0)
    assert "No submissions yet." in Page(text).text["td"]
    assert "Hidden: the test images are unpublished" in text


def test_the_policy_allows_the_pages_own_style_and_script_alone(competition: Competition) -> None:
    text = leaderboard_html(competition, LINES, 1.25)
    page = Page(text)
    (policy,) = [a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"]
    hashes = [
        base64.b64encode(hashlib.sha256("".join(page.text[tag]).encode()).digest()).decode()
        for tag in ("style", "script")
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert [tag for tag, _ in page.tags].count("script") == 1


def test_the_page_requests_nothing(competition: Competition) -> None:
    text = leaderboard_html(competition, LINES, 1.25)
    names = {name for _, attributes in Page(text).tags for name in attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "poster", "style"}
    assert not [name for name in names if name.startswith("on")]
    assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|<link|<img|<iframe", text)


@pytest.mark.parametrize(
    "name", ['<script>alert("1")</script>', "\"><img src=x onerror='a()'>", "{{ 7 * 7 }}", "&lt;"]
)
def test_hostile_names_are_text(competition: Competition, name: str) -> None:
    hostile = replace(competition, name=name, source=name)
    page = Page(leaderboard_html(hostile, (replace(LINES[0], name=name), replace(LINES[1], name=name)), 1.0))
    assert page.text["bdi"] == [name, name]
    assert page.text["title"] == [f"{name}: leaderboard"]
    assert [a["data-value"] for tag, a in page.tags if tag == "th" and a.get("scope") == "row"] == [
        name,
        name,
    ]
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "img" not in [tag for tag, _ in page.tags]


def test_the_table_can_be_used_with_a_keyboard_and_a_screen_reader(competition: Competition) -> None:
    page = Page(leaderboard_html(competition, LINES, 1.25))
    tags = [tag for tag, _ in page.tags]
    headers = [a for tag, a in page.tags if tag == "th" and a.get("scope") == "col"]
    assert len(headers) == 9
    assert tags.count("button") == 8
    assert tags.count("caption") == tags.count("h1") == tags.count("main") == 1
    assert dict(page.tags[0][1]) == {"lang": "en"}
    assert [a.get("aria-sort") for a in headers].count("ascending") == 1


MEASURE = """<!DOCTYPE html><pre></pre><script>
const widths = [320, 360, 600, 800, 1000, 1100, 1300];
function next() {
  const width = widths.shift();
  if (!width) return;
  const frame = document.createElement("iframe");
  frame.style = `border: 0; height: 800px; width: ${width}px`;
  frame.onload = () => {
    const page = frame.contentDocument.documentElement, box = frame.contentDocument.querySelector(".scroll");
    const sizes = [width, page.clientWidth, page.scrollWidth, box.clientWidth, box.scrollWidth];
    document.querySelector("pre").append(`${sizes.join(" ")}\\n`);
    frame.remove();
    next();
  };
  frame.src = "leaderboard.html";
  document.body.append(frame);
}
next();
</script>"""


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_the_page_fits_a_phone_and_the_table_scrolls_in_its_box(
    competition: Competition, tmp_path: Path
) -> None:
    lines = (replace(LINES[0], name="x" * 40), *LINES)
    (tmp_path / "leaderboard.html").write_text(leaderboard_html(competition, lines, 1.25), encoding="utf-8")
    (tmp_path / "measure.html").write_text(MEASURE, encoding="utf-8")
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}/profile",
    ]
    command += ["--allow-file-access-from-files", "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run(
        [*command, (tmp_path / "measure.html").as_uri()], capture_output=True, text=True, timeout=120
    )
    (measured,) = re.findall(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    sizes = [[int(size) for size in line.split()] for line in measured.splitlines()]
    assert [width for width, *_ in sizes] == [320, 360, 600, 800, 1000, 1100, 1300]
    for width, page, content, box, table in sizes:
        assert content <= page, f"the page is wider than its window of {width}"
        assert table <= box or width < 800, f"the table is cut in a window of {width}"
