import csv
import math
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.ledger import Ledger
from leaderboard.publish import publish
from leaderboard.submit import submit
from submission import Competition, UnusableInput, write_predictions

Clock = Callable[[], datetime]


def test_what_cannot_be_used_is_not_entered(competition: Competition, halves: Path, clock: Clock) -> None:
    with pytest.raises(UnusableInput, match="team name"):
        submit(competition, halves, "<b>", clock)
    with pytest.raises(UnusableInput, match="cannot be read"):
        submit(competition, halves.with_name("nowhere.csv"), "Team A", clock)
    assert Ledger(competition.private / "ledger.sqlite").entries() == ()
    shutil.rmtree(competition.private)
    for call in (lambda: submit(competition, halves, "Team A", clock), lambda: publish(competition)):
        with pytest.raises(UnusableInput, match="only the organizer"):
            call()
    assert not competition.private.exists()


def test_the_published_files_hold_teams_and_baselines(
    competition: Competition, halves: Path, perfect: Path, clock: Clock
) -> None:
    submissions = competition.root / "submissions"
    write_predictions(submissions / "constant.csv", dict.fromkeys(competition.ids("test"), 0.6))
    shutil.copy(perfect, submissions / "oracle.csv")
    (submissions / "old.csv").write_text("id,prediction\ncnn/test_9,0.5\n")
    (submissions / "folder.csv").mkdir()
    (submissions / "notes.txt").write_text("not a method")
    submit(competition, halves, "Team A", clock)
    submit(competition, perfect, "Team B", clock)
    submit(competition, halves, "team a", clock)
    published = publish(competition)
    assert [(line.rank, line.name, line.score.rmse) for line in published.standings] == [
        (None, "oracle", 0.0),
        (1, "Team B", 0.0),
        (None, "constant", 18.71),
        (2, "Team A", 25.5),
    ]
    assert [warning.split(": ")[0] for warning in published.warnings] == [
        "the public score rests on 4 predictions",
        f"left out {submissions / 'folder.csv'} is not a file",
        f"left out {submissions / 'old.csv'}",
    ]
    assert published.warnings[-1].endswith("line 2, id 'cnn/test_9': unknown id (and 8 more)")
    with published.csv.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["SubmissionCount"] for row in rows] == ["", "1", "", "2"]
    assert [row["Skill"] for row in rows] == ["1.00", "1.00", "0.00", "-0.86"]
    assert {row["NoiseFloor"] for row in rows} == {"3.05"}  # sqrt((9e-4 + 6.25e-4 + 1.6e-3 + 6e-4) / 4)
    assert "Team B" in published.html.read_text(encoding="utf-8")


def test_nothing_private_is_published(competition: Competition, halves: Path, clock: Clock) -> None:
    """Two submissions that differ in the private rows alone look the same but for their names."""
    other = halves.with_name("other.csv")
    private = {row.id for row in competition.solution() if row.usage == "Private"}
    write_predictions(other, {name: 0.9 if name in private else 0.5 for name in competition.ids("test")})
    submit(competition, halves, "one", clock)
    submit(competition, other, "two", clock)
    one, two = publish(competition).standings
    assert one.score.rmse == two.score.rmse
    assert repr(one.score) == repr(two.score)
    assert (one.rank, two.rank) == (1, 1)


def test_publishing_twice_writes_the_same_files(competition: Competition, halves: Path, clock: Clock) -> None:
    submit(competition, halves, "Team A", clock)
    first = publish(competition)
    before = (first.csv.read_bytes(), first.html.read_bytes())
    second = publish(competition)
    assert (second.csv.read_bytes(), second.html.read_bytes()) == before


def test_few_public_predictions_are_warned_of_and_only_their_rmse_is_published(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    write_predictions(
        competition.root / "submissions" / "fd.csv", dict.fromkeys(competition.ids("test"), 0.4)
    )
    found = submit(competition, halves, "Team A", clock).public
    assert math.isnan(found.mae)
    assert math.isnan(found.spearman)
    published = publish(competition)
    assert published.warnings == (
        "the public score rests on 4 predictions: a few submissions tell their labels; "
        "build with more test sets (MAE and Spearman are published from 10 on)",
    )
    with published.csv.open(newline="") as stream:
        assert {(row["MAE"], row["Spearman"]) for row in csv.DictReader(stream)} == {("", "")}
    assert "20.00" not in published.html.read_text(encoding="utf-8")


def test_a_baseline_that_comes_after_a_team_of_its_name_is_warned_of(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    submit(competition, halves, "Late", clock)
    assert not any("reads like" in warning for warning in publish(competition).warnings)
    (competition.root / "submissions").mkdir()
    shutil.copy(halves, competition.root / "submissions" / "late.csv")
    (warning,) = (warning for warning in publish(competition).warnings if "reads like" in warning)
    assert warning == "team 'Late' reads like the baseline 'late': rename that file in submissions/"


@pytest.mark.parametrize("name", ["public/competition.json", "private/solution.csv"])
def test_nothing_is_entered_or_published_from_changed_files(
    competition: Competition, halves: Path, clock: Clock, name: str
) -> None:
    with (competition.root / name).open("a") as stream:
        stream.write("\n")
    opened = Competition.open(competition.root)
    for call in (lambda: submit(opened, halves, "Team A", clock), lambda: publish(opened)):
        with pytest.raises(UnusableInput, match=f"{name} is not the file that the build sealed"):
            call()
    assert Ledger(competition.private / "ledger.sqlite").entries() == ()
    assert not (competition.root / "leaderboard.csv").exists()
