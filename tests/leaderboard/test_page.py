"""The page of a leaderboard: what it holds of its lines, and that nothing in it runs or is loaded."""

import base64
import hashlib
import math
import re
from dataclasses import replace
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest
from boards import BOARD, KIT, RUNNING, TEAM
from rules import with_fields

from leaderboard.columns import Board
from leaderboard.publish import leaderboard_html, leaderboard_markdown
from submission import Competition
from submission.metrics import Score

HEAD = "c0ffee" * 10 + "cafe"
VOID = {"meta", "rect", "polyline"}
LINES = (replace(TEAM, name="Équipe & Cie"), replace(KIT, name="fd", skill=math.nan, low=4.0, high=6.0))
PUBLIC = replace(BOARD, standings=LINES)


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

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element of a tag."""
        return [attributes for name, attributes in self.tags if name == tag]

    def cells(self) -> list[str]:
        """The texts of the tables' cells that hold some."""
        return [cell.strip() for cell in self.text["td"] if cell.strip()]


def test_the_page_shows_what_the_lines_hold(competition: Competition) -> None:
    text = leaderboard_html(competition, [PUBLIC], HEAD)
    page = Page(text)
    assert page.text["bdi"] == ["Équipe & Cie", "fd"]
    team = ["1", "2026-01-02 03:04:05", "2.50", "2.1–3.0", "3", "2.00", "0.90", "0.94", "1–2", "≤ 0.05"]
    team.append("1 2")
    assert page.cells() == [*team, "–", "–", "5.00", "4.0–6.0", "–", "4.00", "–", "–", "–", "–", "3", "–"]
    assert page.text["li"] == ["2026-01-01 03:04: 4.00", "2026-01-02 03:04: 2.50"]
    assert [a["points"] for a in page.all("polyline")] == ["0,0 100,20"]
    assert "Noise floor: 1.25</span> The paired test tells 1 of 1 pairs of lines (100 %) apart" in text
    assert page.text["code"] == [HEAD]
    assert [a["class"] for a in page.all("tr") if "class" in a] == ["team", "baseline"]
    bars = {name: [a for a in page.all("rect") if a["class"] == name] for name in ("length", "range")}
    assert [bar["width"] for bar in bars["length"]] == ["41.2", "82.5"]
    assert [(bar["x"], bar["width"]) for bar in bars["range"]] == [("34.6", "14.8"), ("66.0", "33.0")]
    assert "chi-square" in text


def test_the_legend_explains_the_columns_that_are_there(competition: Competition) -> None:
    full, running = (Page(leaderboard_html(competition, [board], HEAD)) for board in (PUBLIC, RUNNING))
    assert set(full.text["dt"]) < {*full.text["button"]}
    assert running.text["dt"] == ["Rank"]
    assert running.text["button"] == [
        *("Rank", "Team", "Last submission (UTC)", "Public score", "Submissions"),
    ]


def test_after_the_end_the_private_board_comes_first_with_the_shake_up(competition: Competition) -> None:
    last = replace(LINES[0], score=Score(6.5, 5.0, 0.8, 20), rank=3, public=LINES[0], history=())
    text = leaderboard_html(competition, [Board("private", (last, LINES[1]), 2, 1.0), PUBLIC], HEAD)
    page = Page(text)
    assert page.text["h2"][:3] == [
        "Private and public part side by side",
        "Final standing, on the private part",
        "On the public part",
    ]
    assert page.cells()[:8] == ["3", "6.50", "–", "5.00", "1", "2.50", "–", "5.00"]
    assert page.cells()[19:22] == ["2.50", "1", "-2"]
    assert [a["x"] for a in page.all("rect") if a["class"] == "lane"] == ["1", "7", "13"] * 2
    assert "Shake-up" in page.text["button"]


def test_a_hidden_competition_says_so_and_an_empty_board_says_how_to_hand_in(
    competition: Competition,
) -> None:
    deadline = datetime(2026, 12, 31, 23, 59, tzinfo=timezone.utc)
    text = leaderboard_html(
        with_fields(competition, visibility="hidden", deadline=deadline),
        [replace(RUNNING, standings=())],
        HEAD,
    )
    assert "No team has submitted yet." in Page(text).text["p"]
    assert "<table" not in text
    assert "Hidden: the test images are unpublished" in text
    assert "Deadline: 2026-12-31 23:59:00 UTC" in text


def test_the_markdown_stands_between_name_and_ledger(competition: Competition) -> None:
    boards = [replace(RUNNING, standings=()), Board("validation", LINES[1:], 2, 1.5)]
    blocks = leaderboard_markdown(competition, boards, "c0ffee").split("\n\n")
    assert blocks[0] == "**Two classifiers** (practice)"
    assert blocks[1:4] == [
        "RMSE of accuracy in points on the public part.",
        "No submission yet.",
        "RMSE of accuracy in points on the validation sets; noise floor 1.50.",
    ]
    assert blocks[-1] == "Ledger: `c0ffee`\n"


def test_the_policy_allows_the_pages_own_style_and_script_alone(competition: Competition) -> None:
    page = Page(leaderboard_html(competition, [PUBLIC], HEAD))
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    hashes = [
        base64.b64encode(hashlib.sha256("".join(page.text[tag]).encode()).digest()).decode()
        for tag in ("style", "script")
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_the_page_requests_nothing(competition: Competition) -> None:
    text = leaderboard_html(competition, [PUBLIC], HEAD)
    names = {name for _, attributes in Page(text).tags for name in attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "poster", "style"}
    assert not [name for name in names if name.startswith("on")]
    assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|<link|<img|<iframe", text)


@pytest.mark.parametrize(
    "name", ['<script>alert("1")</script>', "\"><img src=x onerror='a()'>", "{{ 7 * 7 }}"]
)
def test_hostile_names_are_text(competition: Competition, name: str) -> None:
    lines = tuple(replace(line, name=name) for line in LINES)
    hostile = with_fields(competition, name=name, source=name)
    page = Page(leaderboard_html(hostile, [replace(PUBLIC, standings=lines)], HEAD))
    assert page.text["bdi"] == [name, name]
    assert page.text["title"] == [f"{name}: leaderboard"]
    assert [a["data-value"] for a in page.all("th") if a.get("scope") == "row"] == [name, name]
    assert len(page.all("script")) == 1
    assert not page.all("img")
