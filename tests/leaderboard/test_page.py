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

HEAD = "c0ffee" * 10 + "cafe"
VOID = {"meta", "rect", "path"}
LINES = (replace(TEAM, name="Équipe & Cie"), replace(KIT, name="fd", skill=math.nan, low=4.0, high=6.0))
PUBLIC = replace(BOARD, standings=LINES)


class Page(HTMLParser):
    """The elements of a page: tags with attributes, text by tag; fails where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)

    def all(self, tag):
        """The attributes of every element of a tag."""
        return [attributes for name, attributes in self.tags if name == tag]

    def cells(self):
        """The texts of the tables' cells that hold some."""
        return [cell.strip() for cell in self.text["td"] if cell.strip()]


def test_the_page_shows_what_the_lines_hold(competition):
    text = leaderboard_html(competition, [PUBLIC], HEAD, 4)
    page = Page(text)
    assert page.text["bdi"] == ["Équipe & Cie"] * 2 + ["fd"]
    assert "2026-01-02" in page.text["span"]
    team = ["1", "03:04:05", "2.50", "2.1–3.0", "3", "2.00", "0.90", "0.94"]
    assert page.cells() == ["1", "2.50", *team, "5.00", "4.0–6.0", "4.00"]
    assert "noise floor</span> of 1.25 is" in text
    assert page.text["code"] == [HEAD]
    assert [a["class"] for a in page.all("tr") if "class" in a] == ["team", "team", "baseline"]
    assert [a["x"] for a in page.all("rect") if a["class"] == "dot"] == ["82.5", "82.5", "82.5"]
    assert [a["d"] for a in page.all("path")] == [
        *["M69.3 2.5H99.0v1H69.3z"] * 2,  # 2.1 to 3.0 of 3.0
        "M66.0 2.5H99.0v1H66.0z",
    ]
    assert "chi-square" in text


def test_a_long_interval_is_cut_with_an_arrow(competition):
    wide = replace(LINES[0], high=100.0)
    text = leaderboard_html(competition, [replace(PUBLIC, standings=(wide, LINES[1]))], HEAD, 4)
    paths = [a["d"] for a in Page(text).all("path")]
    assert [path.count("L") for path in paths if path] == [2, 2, 0]  # the two tables of teams
    assert "an arrow: it goes on" in text


def test_teams_come_first_and_methods_are_folded_below(competition):
    own = replace(LINES[1], name="my_method.MyMethod", kind="yours")
    text = leaderboard_html(competition, [replace(RUNNING, standings=(*LINES, own))], HEAD, 4)
    page, (teams, methods) = Page(text), text.split("<details>", 1)
    assert "1 team, on the public part" in teams
    assert "Methods, by public score" in methods
    assert ("fd" in methods, "fd</bdi>" in teams) == (True, False)
    assert page.text["span"][-1] == "yours"
    assert "baseline" not in page.text["span"]


def test_the_legend_explains_the_columns_that_are_there(competition):
    full, running = (Page(leaderboard_html(competition, [board], HEAD, 4)) for board in (PUBLIC, RUNNING))
    assert set(full.text["dt"]) < {*full.text["button"]}
    assert running.text["dt"] == ["Rank"]
    assert running.text["button"] == [
        *("Rank", "Team", "Last submission (UTC)", "Public score", "Submissions"),
        *("Method", "Public score"),
    ]


def test_at_the_end_it_says_who_won_with_the_change_of_rank(competition):
    first, last = (
        replace(LINES[0], name=name, rank=rank, public=replace(LINES[0], rank=3 - rank))
        for rank, name in ((1, "a"), (2, "b"))
    )
    boards = [Board("private", (first, last, LINES[1]), 2, 1.0), PUBLIC]
    text = leaderboard_html(competition, boards, HEAD, 4)
    page = Page(text)
    assert "Final" in page.text["span"]
    assert "<strong><bdi>a</bdi></strong> won with 2.50 points on the private part." in text
    assert "cannot tell 1 other team apart" in text
    tied = [
        replace(first, rank_groups=(1,)),
        replace(first, name="c", rank_groups=(1, 2)),
        replace(last, rank_groups=(2, 3)),
    ]
    both = leaderboard_html(competition, [replace(boards[0], standings=tuple(tied)), PUBLIC], HEAD, 4)
    assert ("<bdi>c</bdi></strong> won" in both, "cannot tell 1 other team apart" in both) == (True, True)
    alone = leaderboard_html(competition, [replace(boards[0], standings=(first, LINES[1])), PUBLIC], HEAD, 4)
    assert ("a</bdi></strong> won" in alone, "apart from the winner" in alone) == (True, False)
    assert page.text["h2"][0] == "2 teams, on the private part"
    assert page.cells()[:8] == ["1", "2.50", "2.50", "+1", "2", "2.50", "2.50", "-1"]
    assert [a["x"] for a in page.all("rect") if a["class"] == "lane"][:4] == ["1", "7"] * 2
    assert leaderboard_markdown(competition, boards, HEAD).split("\n\n")[1] == "Final: a won."


def test_a_hidden_competition_says_so_and_an_empty_board_says_how_to_hand_in(competition):
    deadline = datetime(2026, 12, 31, 23, 59, tzinfo=timezone.utc)
    text = leaderboard_html(
        with_fields(competition, visibility="hidden", deadline=deadline),
        [replace(RUNNING, standings=())],
        HEAD,
        4,
    )
    assert "No team has submitted yet." in Page(text).text["p"]
    assert "<table" not in text
    assert "Hidden: the test images are unpublished" in text
    assert "Deadline: 2026-12-31 23:59:00 UTC" in text


def test_the_markdown_stands_between_name_and_ledger(competition):
    boards = [replace(RUNNING, standings=()), Board("validation", LINES[1:], 2, 1.5)]
    blocks = leaderboard_markdown(competition, boards, "c0ffee").split("\n\n")
    assert blocks[0] == "**Two classifiers** (practice)"
    assert blocks[1:4] == [
        "RMSE of accuracy in points on the public part.",
        "No submission yet.",
        "RMSE of accuracy in points on the validation sets; noise floor 1.50.",
    ]
    assert blocks[-1] == "Ledger: `c0ffee`\n"


def test_the_policy_allows_the_pages_own_style_and_script_alone(competition):
    page = Page(leaderboard_html(competition, [PUBLIC], HEAD, 4))
    (policy,) = [a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    hashes = [
        base64.b64encode(hashlib.sha256("".join(page.text[tag]).encode()).digest()).decode()
        for tag in ("style", "script")
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_the_page_requests_nothing(competition):
    text = leaderboard_html(competition, [PUBLIC], HEAD, 4)
    names = {name for _, attributes in Page(text).tags for name in attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "poster", "style"}
    assert not [name for name in names if name.startswith("on")]
    assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|<link|<img|<iframe", text)


@pytest.mark.parametrize(
    "name", ['<script>alert("1")</script>', "\"><img src=x onerror='a()'>", "{{ 7 * 7 }}"]
)
def test_hostile_names_are_text(competition, name):
    lines = tuple(replace(line, name=name) for line in LINES)
    hostile = with_fields(competition, name=name, source=name)
    page = Page(leaderboard_html(hostile, [replace(PUBLIC, standings=lines)], HEAD, 4))
    assert page.text["bdi"] == [name] * 3
    assert page.text["title"] == [f"{name}: leaderboard"]
    assert [a["data-value"] for a in page.all("th") if a.get("scope") == "row"] == [name] * 3
    assert len(page.all("script")) == 1
    assert not page.all("img")
