"""The page and the Markdown of a leaderboard: what they hold of its lines, and in which columns."""

import base64
import hashlib
import math
import re
from dataclasses import replace
from datetime import datetime, timezone
from html.parser import HTMLParser

import pytest

from leaderboard.board.pages import leaderboard_html, leaderboard_markdown
from leaderboard.board.table import Board, Standing
from submission import Competition, Score

HISTORY = (("2026-01-01 03:04", 4.0), ("2026-01-02 03:04", 2.5))
DEADLINE = datetime(2026, 12, 31, 23, 59, tzinfo=timezone.utc)
HEAD = "c0ffee" * 10 + "cafe"
TEAM = Standing(
    name="Équipe & Cie",
    kind="team",
    score=Score(2.5, 2.0, 0.9, 10),
    skill=0.9375,
    rank=1,
    last_submission="2026-01-02 03:04:05",
    submissions=3,
    low=2.1,
    high=3.0,
    best=1,
    worst=2,
    first=0.7,
    above=0.05,
    groups=(1, 2),
    history=HISTORY,
)
KIT = Standing("fd", "baseline", Score(5.0, 4.0, math.nan, 10), math.nan, low=4.0, high=6.0, groups=(3,))
LINES = (TEAM, KIT)
BOARD = Board("public", LINES, 1.25)
VOID = {"meta", "rect", "polyline"}


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


def board(*lines: Standing) -> list[Board]:
    return [replace(BOARD, standings=lines)]


def test_the_page_shows_what_the_lines_hold(competition: Competition) -> None:
    text = leaderboard_html(competition, [BOARD], HEAD)
    page = Page(text)
    assert page.text["bdi"] == ["Équipe & Cie", "fd"]
    cells = [cell.strip() for cell in page.text["td"] if cell.strip()]
    statistics = ["2.1–3.0", "1–2", "70 %", "≤ 0.05", "1 2"]
    team = ["1", "2.50", *statistics, "2.00", "0.90", "0.94", "2026-01-02 03:04:05", "3"]
    assert cells == [*team, "–", "5.00", "4.0–6.0", "–", "–", "–", "3", "4.00", "–", "–", "–", "–", "–"]
    assert page.text["li"] == ["2026-01-01 03:04: 4.00", "2026-01-02 03:04: 2.50"]
    assert [a["points"] for tag, a in page.tags if tag == "polyline"] == ["0,0 100,20"]
    assert "Noise floor: 1.25</span> The paired test tells 1 of 1 pairs of lines (100 %) apart" in text
    assert "the sampling noise of the true values" in text
    assert "Practice: the test images are public" in text
    assert page.text["code"] == [HEAD]
    assert [a["class"] for tag, a in page.tags if tag == "tr" and "class" in a] == ["team", "baseline"]
    bars = {name: [a for _, a in page.tags if a.get("class") == name] for name in ("length", "range")}
    assert [bar["width"] for bar in bars["length"]] == ["41.2", "82.5"]
    assert [(bar["x"], bar["width"]) for bar in bars["range"]] == [("34.6", "14.8"), ("66.0", "33.0")]


def test_after_the_end_the_private_board_comes_first_with_the_shake_up(competition: Competition) -> None:
    last = replace(TEAM, score=Score(6.5, 5.0, 0.8, 20), rank=3, public=TEAM, history=())
    text = leaderboard_html(competition, [Board("private", (last, KIT), 1.0), BOARD], HEAD)
    page = Page(text)
    assert page.text["h2"][:3] == [
        "Private and public part side by side",
        "Final standing, on the private part",
        "On the public part",
    ]
    cells = [cell.strip() for cell in page.text["td"] if cell.strip()]
    beside = ["3", "6.50", "–", "5.00", "1", "2.50", "–", "5.00"]
    assert cells[: len(beside)] == beside
    assert cells[len(beside) + 12 : len(beside) + 15] == ["2.50", "1", "-2"]
    assert page.text["h3"] == ["Private part", "Public part"]
    assert [a["x"] for _, a in page.tags if a.get("class") == "lane"] == ["1", "7", "13"] * 2
    assert "Shake-up" in page.text["button"]
    assert [a["aria-label"] for _, a in page.tags if a.get("role") == "region"] == [
        "Leaderboard on the private part",
        "Leaderboard on the public part",
    ]


def test_a_hidden_competition_says_so_and_an_empty_board_is_a_page(competition: Competition) -> None:
    hidden = replace(competition, visibility="hidden", feedback="ladder", deadline=DEADLINE)
    text = leaderboard_html(hidden, board(), HEAD)
    assert "No team has submitted yet." in Page(text).text["p"]
    assert "unseen validate FOLDER FILE.csv" in Page(text).text["code"]
    assert "<table" not in text
    assert "Hidden: the test images are unpublished" in text
    assert "Deadline: 2026-12-31 23:59:00 UTC" in text
    assert "Feedback (ladder): a coarse score, if it beats the best" in text


def test_the_policy_allows_the_pages_own_style_and_script_alone(competition: Competition) -> None:
    text = leaderboard_html(competition, [BOARD], HEAD)
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
    text = leaderboard_html(competition, [BOARD], HEAD)
    names = {name for _, attributes in Page(text).tags for name in attributes}
    assert not names & {"src", "href", "srcset", "action", "data", "poster", "style"}
    assert not [name for name in names if name.startswith("on")]
    assert not re.search(r"https?:|//[a-z]|url\(|@import|fetch\(|<link|<img|<iframe", text)


@pytest.mark.parametrize(
    "name", ['<script>alert("1")</script>', "\"><img src=x onerror='a()'>", "{{ 7 * 7 }}", "&lt;"]
)
def test_hostile_names_are_text(competition: Competition, name: str) -> None:
    hostile = replace(competition, name=name, source=name)
    boards = board(replace(TEAM, name=name), replace(KIT, name=name))
    page = Page(leaderboard_html(hostile, boards, HEAD))
    assert page.text["bdi"] == [name, name]
    assert page.text["title"] == [f"{name}: leaderboard"]
    assert [a["data-value"] for tag, a in page.tags if tag == "th" and a.get("scope") == "row"] == [
        name,
        name,
    ]
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "img" not in [tag for tag, _ in page.tags]


def test_the_table_can_be_used_with_a_keyboard_and_a_screen_reader(competition: Competition) -> None:
    page = Page(leaderboard_html(competition, [BOARD], HEAD))
    tags = [tag for tag, _ in page.tags]
    headers = [a for tag, a in page.tags if tag == "th" and a.get("scope") == "col"]
    assert len(headers) == 15
    assert tags.count("button") == 13
    assert tags.count("caption") == tags.count("h1") == tags.count("main") == tags.count("summary") == 1
    assert dict(page.tags[0][1]) == {"lang": "en"}
    assert [a.get("aria-sort") for a in headers].count("ascending") == 1


TEAM_OF_MARKDOWN = Standing(
    "Team", "team", Score(2.5, 2.0, 0.9, 10), 0.9375, 1, "2026-01-02 03:04:05", 3, 2.1, 3.0, 1, 2
)
KIT_OF_MARKDOWN = Standing("fd", "baseline", Score(5.0, 4.0, math.nan, 10), math.nan)


def test_the_table_stands_between_name_and_ledger(competition: Competition) -> None:
    assert leaderboard_markdown(
        competition, [Board("public", (TEAM_OF_MARKDOWN, KIT_OF_MARKDOWN), 1.25)], "c0ffee"
    ) == (
        "**Two classifiers** (practice)\n\n"
        "RMSE of accuracy in points on the public part; noise floor 1.25.\n\n"
        "| Rank | Team | Public score | 95 % interval | Rank interval | MAE | Spearman | Skill | Submissions |\n"
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| 1 | Team | 2.50 | 2.1–3.0 | 1–2 | 2.00 | 0.90 | 0.94 | 3 |\n"
        "|  | fd (baseline) | 5.00 |  |  | 4.00 |  |  |  |\n\n"
        "Ledger: `c0ffee`\n"
    )


def test_while_it_runs_the_page_and_the_table_hold_rank_team_score_and_count(
    competition: Competition,
) -> None:
    running = Board("public", (TEAM_OF_MARKDOWN, KIT_OF_MARKDOWN), detailed=False)
    text = leaderboard_html(competition, [running], HEAD)
    page = Page(text)
    cells = [cell.strip() for cell in page.text["td"] if cell.strip()]
    assert cells == ["1", "2.50", "2026-01-02 03:04:05", "3", "–", "5.0", "–", "–"]
    assert page.text["button"] == [*("Rank", "Team", "Public score", "Last submission (UTC)", "Submissions")]
    assert "noise floor" not in text.casefold()
    assert leaderboard_markdown(competition, [running], "c0ffee") == (
        "**Two classifiers** (practice)\n\n"
        "RMSE of accuracy in points on the public part.\n\n"
        "| Rank | Team | Public score | Submissions |\n"
        "| ---: | --- | ---: | ---: |\n"
        "| 1 | Team | 2.50 | 3 |\n"
        "|  | fd (baseline) | 5.0 |  |\n\n"
        "Ledger: `c0ffee`\n"
    )


def test_the_validation_sets_have_a_table_of_methods_alone(competition: Competition) -> None:
    boards = [Board("public", (), detailed=False), Board("validation", (KIT,), 1.5)]
    _, _, empty, _, table, _ = leaderboard_markdown(competition, boards, HEAD).split("\n\n")
    assert empty == "No submission yet."
    assert table.splitlines()[0] == "| Method | Validation score | 95 % interval | Group | MAE |"
    page = Page(leaderboard_html(competition, boards, HEAD))
    assert page.text["h2"][:2] == ["Hand in the first submission", "On the validation sets"]
    assert page.text["button"] == ["Method", "Validation score", "95 % interval", "Group", "MAE"]
    assert "Noise floor: 1.50" in page.text["span"]


def test_columns_with_nothing_in_them_are_not_drawn(competition: Competition) -> None:
    bare = replace(TEAM, low=math.nan, high=math.nan, best=None, worst=None, first=math.nan, above=math.nan)
    page = Page(leaderboard_html(competition, board(replace(bare, groups=(), history=())), HEAD))
    assert page.text["button"] == [
        *("Rank", "Team", "Public score", "MAE", "Spearman", "Skill", "Last submission (UTC)", "Submissions")
    ]
