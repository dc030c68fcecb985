"""What changes while a competition runs is recorded, counts from then on, and is said to the teams."""

import json
import re
import shutil
from datetime import datetime, timedelta, timezone

import pytest
from rules import with_rules

from leaderboard.changes import amend
from leaderboard.changes import team as change_team
from leaderboard.history import history, history_table
from leaderboard.ledger import opened
from leaderboard.publish import publish
from leaderboard.solutions import rescore
from leaderboard.submissions import select, submit
from leaderboard.verify import verify
from submission import Competition, UnusableInput
from submission.card import cards
from submission.pack import unpacked, write_archive

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def names(competition):
    return [line.name for line in publish(competition).standings if line.kind == "team"]


def test_an_amendment_holds_at_once_and_is_told_everywhere(competition, halves, clock):
    before = with_rules(competition, deadline=START + timedelta(hours=3), daily_limit=1)
    submit(before, halves, "A", clock)
    values = {"daily_limit": 2, "total_limit": 9, "contact": "ada@example.org"}
    amended = amend(before, "a holiday", clock, deadline="2026-02-01", **values)
    assert amended == Competition.open(before.root)
    assert f"{amended.deadline}"[:16] == "2026-02-01 23:59"
    assert (amended.daily_limit, amended.total_limit) == (2, 9)
    submit(before, halves, "A", clock)  # by who still has the old rules in hand
    with pytest.raises(UnusableInput, match="has made its 2 submissions"):
        submit(before, halves, "A", clock)
    published = publish(before)
    notice = "2026-01-01: the deadline is now 2026-02-01 23:59:00 UTC (before: 2026-01-01 03:00:00 UTC)"
    readme = cards(amended)["README.md"].replace("\\", "")
    for text in (published.html.read_text(), published.markdown.read_text().replace("\\", ""), readme):
        assert f"{notice}. Reason: a holiday" in text
    assert "The deadline is 2026-02-01 23:59:00 UTC." in readme
    assert "ada@example.org" in readme
    with pytest.raises(UnusableInput, match="nothing would change"):
        amend(amended, "again", clock, daily_limit=2)
    freed = amend(amended, "no end", clock, deadline="none", daily_limit=0, total_limit=0, contact="")
    assert (freed.deadline, freed.daily_limit, freed.total_limit) == (None, None, None)
    assert "contact" not in freed.settings
    assert verify(freed).problems == ()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "nothing would change"),
        ({"deadline": "20301231"}, "--deadline: a time as 2026"),
        ({"deadline": "2025-12-31"}, "--deadline 2025-12-31 23:59 has passed"),
        ({"deadline": "2026-13-01"}, "is no time"),
        ({"daily_limit": -1}, "--daily-limit"),
        ({"contact": "a\nb"}, "--contact must be a line"),
        ({"total_limit": 4}, "more than 3 could"),
        ({"total_limit": 0}, "more than 3 could"),
    ],
)
def test_what_an_amendment_cannot_be(competition, clock, values, message):
    hidden = with_rules(competition, visibility="hidden", total_limit=2)
    with pytest.raises(UnusableInput) as refused:
        amend(hidden, "why", clock, **values)
    assert message.replace("--", "").replace("-", "_") in str(refused.value).replace("-", "_")
    with opened(hidden) as ledger:
        assert ledger.rows() == []
    assert amend(hidden, "why", clock, total_limit=3).total_limit == 3


def test_what_is_stopped_between_ledger_and_folder_follows(competition, clock, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Competition, "save", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            amend(competition, "why", clock, daily_limit=2)
    assert Competition.open(competition.root).daily_limit is None
    publish(competition)
    assert Competition.open(competition.root).daily_limit == 2


def test_a_team_gets_another_name_and_keeps_its_id(competition, halves, perfect, clock):
    submit(competition, halves, "ada", clock)
    board = publish(competition).csv.read_text()
    change_team(competition, "ADA", "rename", "Ada L.", "a misspelling", clock)
    assert publish(competition).csv.read_text() == board.replace(",ada,", ",Ada L.,")
    with pytest.raises(UnusableInput, match=r"team 'ada' is now 'Ada L.'"):
        submit(competition, perfect, "ada", clock)
    with pytest.raises(UnusableInput, match="reads like team 'ada'"):
        submit(competition, perfect, "a-d-a", clock)
    submit(competition, perfect, "Ada L.", clock)
    shown = [(each["team"], each["counts_for"]) for each in history(competition, "ada")]
    assert shown == [("ada", "Ada L."), ("Ada L.", "Ada L.")]
    submit(competition, halves, "bob", clock)
    with pytest.raises(UnusableInput, match=r"reads like team 'Ada L\.'"):
        change_team(competition, "bob", "rename", "ada l", "envy", clock)
    change_team(competition, "Ada L.", "rename", "ADA", "its first name", clock)
    assert names(competition) == ["ADA", "bob"]


def test_merged_teams_count_as_one(competition, halves, perfect, clock):
    limited = with_rules(competition, total_limit=3)
    submit(limited, halves, "a", clock)
    submit(limited, perfect, "b", clock)
    select(limited, "b", [2], clock)
    submit(limited, halves, "c", clock)
    change_team(limited, "b", "merge", "a", "one laboratory", clock)
    change_team(limited, "a", "merge", "c", "another", clock)
    (line,) = publish(limited).standings
    assert (line.name, line.score.rmse, line.submissions) == ("c", 0.0, 3)
    with pytest.raises(UnusableInput, match="team 'b' is now 'c'"):
        submit(limited, halves, "b", clock)
    with pytest.raises(UnusableInput, match="has made all of its 3 submissions"):
        submit(limited, halves, "c", clock)
    select(limited, "c", [2, 3], clock)
    with opened(limited) as ledger:
        shown = [(each.handed_in_by, each.team, each.final) for each in ledger.entries()]
    assert shown == [("a", "c", False), ("b", "c", True), ("c", "c", True)]
    with pytest.raises(UnusableInput, match="with itself"):
        change_team(limited, "c", "merge", "C", "why", clock)
    assert verify(limited).problems == ()


@pytest.mark.parametrize(("action", "state"), [("withdraw", "withdrawn"), ("disqualify", "disqualified")])
def test_a_team_that_is_gone_counts_no_more(competition, halves, clock, action, state):
    submit(competition, halves, "a", clock)
    submit(competition, halves, "b", clock)
    change_team(competition, "a", action, None, "it asked", clock)
    assert names(competition) == ["b"]
    assert f"2026-01-01: &#39;a&#39; is {state}. Reason: it asked" in publish(competition).html.read_text()
    for command, *values in ((submit, halves, "a", clock), (change_team, "b", "merge", "a", "why", clock)):
        with pytest.raises(UnusableInput, match=f"team 'a' is {state}"):
            command(competition, *values)
    shown = history_table(Competition.open(competition.root), history(competition))
    assert [line.split()[0] for line in shown.splitlines()[1:3]] == ["1", "2*"]
    assert "a (does not count)" in shown
    assert "Reason: it asked" in shown
    assert verify(competition).problems == ()


def test_a_team_gets_a_late_day_and_private_scores_wait_for_it(competition, halves, clock):
    ended = with_rules(competition, deadline=START + timedelta(hours=3))
    for team in ("a", "b"):
        submit(ended, halves, team, clock)
    change_team(ended, "a", "extend", "2026-01-02T00:00", "ill", clock)
    with pytest.raises(UnusableInput, match="was 2026-01-01 03:00:00"):
        submit(ended, halves, "b", clock)
    submit(ended, halves, "a", clock)
    with pytest.raises(UnusableInput, match="deadline of team 'a' is 2026-01-02 00:00:00"):
        publish(ended, START + timedelta(hours=23))
    assert publish(ended, START + timedelta(hours=24)).private_csv
    with pytest.raises(UnusableInput, match="give a later time"):
        change_team(ended, "a", "extend", "2026-01-01T12:00", "ill", clock)
    with pytest.raises(UnusableInput, match="no deadline"):
        change_team(amend(ended, "why", clock, deadline="none"), "b", "extend", "2026-03-01", "ill", clock)


def test_what_cannot_be_done_with_a_team(competition, halves, clock):
    submit(competition, halves, "a", clock)
    for action, to in (("rename", None), ("withdraw", "b"), ("delete", None), ("extend", "soon")):
        with pytest.raises(UnusableInput):
            change_team(competition, "a", action, to, "why", clock)
    with pytest.raises(UnusableInput, match="give a reason"):
        change_team(competition, "a", "withdraw", None, "  ", clock)
    assert names(competition) == ["a"]


def test_a_rescore_is_told(competition, halves, clock):
    submit(competition, halves, "a", clock)
    for reason in ("", "a\nb"):
        with pytest.raises(UnusableInput, match="reason"):
            rescore(competition, {"cnn/test_0001": 0.5}, set(), reason, clock)
    rescore(competition, {"cnn/test_0001": 0.5}, {"test_0002"}, "a mix-up", clock)
    assert "<p>3 test sets of" in publish(competition).html.read_text()
    (notice,) = Competition.open(competition.root).notices
    assert re.fullmatch("2026-01-01: corrected test_0001; voided test_0002; the .* Reason: a mix-up", notice)


def test_an_edited_description_is_not_packed(competition, tmp_path):
    path = competition.public / "competition.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"daily_limit": 99}))
    with pytest.raises(UnusableInput, match="is not the file that the build recorded"):
        write_archive(Competition.open(competition.root), tmp_path / "a.zip")
    assert list(tmp_path.glob("*.zip*")) == []
    shutil.rmtree(competition.private)  # a participant has no record
    assert write_archive(Competition.open(competition.root), tmp_path / "a.zip").exists()


def test_a_newer_archive_brings_the_rules_of_now(competition, clock, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    archive = write_archive(competition, tmp_path / "a.zip")
    assert Competition.open(unpacked(archive)).daily_limit is None
    write_archive(amend(competition, "why", clock, daily_limit=2), archive)
    assert Competition.open(unpacked(archive)).daily_limit == 2
