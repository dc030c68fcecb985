import csv
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from large import PUBLIC, large_competition, noisy
from predicted import as_predicted
from rules import with_rules

from leaderboard.board.publish import Published, publish
from leaderboard.entry.select import select
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Entry, Ledger
from submission import Competition, UnusableInput, write_predictions
from submission.seal import DEVIATIONS
from submission.solution import solution_of

Clock = Callable[[], datetime]


def everything(published: Published) -> list[str]:
    """The published files."""
    files = (published.csv, published.html, published.markdown)
    return [file.read_text(encoding="utf-8") for file in files]


@pytest.fixture
def large(tmp_path: Path) -> Competition:
    return large_competition(tmp_path / "large")


@pytest.fixture
def hand_in(large: Competition, tmp_path: Path, clock: Clock) -> Callable[..., int]:
    """Submit predictions that are off by so many points, with a seed; the number."""

    def submitted(team: str, points: float, seed: int, part: str = "both") -> int:
        write_predictions(tmp_path / "file.csv", noisy(large, points, seed, part))
        return submit(Competition.open(large.root), tmp_path / "file.csv", team, clock).number

    return submitted


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
    as_predicted(competition)
    submit(competition, halves, "Team A", clock)
    submit(competition, perfect, "Team B", clock)
    submit(competition, halves, "team a", clock)
    published = publish(competition)
    assert [(line.rank, line.name, line.score.rmse) for line in published.standings] == [
        (1, "Team B", 0.0),
        (2, "Team A", 25.5),
    ]
    assert [warning.split(": ")[0] for warning in published.warnings] == [
        "the public score is computed from 4 predictions",
        f"left out {submissions / 'folder.csv'} is not a file",
        f"left out {submissions / 'old.csv'}",
    ]
    assert published.warnings[-1].endswith("line 2, id 'cnn/test_9': unknown id (and 8 more)")
    with published.csv.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["SubmissionCount"] for row in rows] == ["1", "2"]
    assert "Team B" in published.html.read_text(encoding="utf-8")


def test_after_the_end_the_kits_methods_are_shown_if_the_sets_are_retired(
    competition: Competition, halves: Path, perfect: Path, clock: Clock
) -> None:
    submissions, now = competition.root / "submissions", datetime(2027, 1, 1, tzinfo=timezone.utc)
    write_predictions(submissions / "constant.csv", dict.fromkeys(competition.ids("test"), 0.6))
    shutil.copy(perfect, submissions / "oracle.csv")
    as_predicted(competition)
    for path, team in ((halves, "Team A"), (perfect, "Team B")):
        submit(competition, path, team, clock)
    with pytest.raises(UnusableInput, match="test sets can be retired only after the end: give --final too"):
        publish(competition, retired=True)
    assert {line.kind for line in publish(competition, now).final} == {"team"}
    published = publish(competition, now, retired=True)
    assert [(line.rank, line.name, line.score.rmse) for line in published.standings] == [
        (None, "oracle", 0.0),
        (1, "Team B", 0.0),
        (None, "constant", 18.71),
        (2, "Team A", 25.5),
    ]
    assert [(line.rank, line.name) for line in published.final][:2] == [(None, "oracle"), (1, "Team B")]
    with published.csv.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["Skill"] for row in rows] == ["1.00", "1.00", "0.00", "-0.86"]
    assert {row["NoiseFloor"] for row in rows} == {"3.05"}  # sqrt((9e-4 + 6.25e-4 + 1.6e-3 + 6e-4) / 4)


def test_all_methods_stand_on_the_validation_sets(competition: Competition) -> None:
    for name, value in (("constant", 0.3), ("fd", 0.2)):
        for folder, part in (("submissions", "test"), ("validation", "val")):
            write_predictions(
                competition.root / folder / f"{name}.csv", dict.fromkeys(competition.ids(part), value)
            )
    as_predicted(competition)
    published = publish(competition)
    assert published.standings == ()
    table = (competition.root / "leaderboard_validation.csv").read_text()
    assert [line.split(",")[2] for line in table.splitlines()] == ["TeamName", "constant", "fd"]
    assert "On the validation sets" in published.html.read_text()
    assert "RMSE of accuracy in points on the validation sets; noise floor" in published.markdown.read_text()


def test_nothing_private_is_published(competition: Competition, halves: Path, clock: Clock) -> None:
    """Two submissions that differ in the private rows alone look the same but for their names."""
    other = halves.with_name("other.csv")
    private = {row.id for row in solution_of(competition) if row.usage == "Private"}
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
    before = everything(first)
    assert everything(publish(competition)) == before
    (competition.private / "predictions.bin").unlink()
    assert everything(publish(competition)) == before


def test_few_public_predictions_are_warned_of_and_no_baseline_is_shown(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    write_predictions(
        competition.root / "submissions" / "fd.csv", dict.fromkeys(competition.ids("test"), 0.4)
    )
    as_predicted(competition)
    submit(competition, halves, "Team A", clock)
    published = publish(competition)
    assert published.warnings == (
        "the public score is computed from 4 predictions: a few submissions reveal their labels; "
        "build with more test sets (baselines are shown from 10 on)",
    )
    assert "fd" not in published.csv.read_text()


def test_a_baseline_that_comes_after_a_team_of_its_name_is_warned_of(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    submit(competition, halves, "Late", clock)
    assert not any("reads like" in warning for warning in publish(competition).warnings)
    (competition.root / "submissions").mkdir()
    shutil.copy(halves, competition.root / "submissions" / "late.csv")
    assert not any("reads like" in warning for warning in publish(competition).warnings), "anybody's file"
    as_predicted(competition)
    (warning,) = (warning for warning in publish(competition).warnings if "reads like" in warning)
    assert warning.startswith("team 'Late' reads like the baseline 'late': remove its file")


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


def test_intervals_ranks_and_history_are_published(large: Competition, hand_in: Callable[..., int]) -> None:
    for seed, (team, points) in enumerate([("a", 9), ("b", 12), ("a", 4), ("c", 20), ("b", 6)]):
        hand_in(team, points, seed)
    published = publish(large)
    assert [(line.name, line.rank) for line in published.standings] == [("a", 1), ("b", 2), ("c", 3)]
    assert not any("<details>" in text for text in everything(published))
    published = publish(large, datetime(2027, 1, 1, tzinfo=timezone.utc))
    assert [line.name for line in published.standings] == ["a", "b", "c"]
    for line in published.standings:
        assert line.rank is not None
        assert line.low < line.score.rmse < line.high
        assert (line.best or 0) <= line.rank <= (line.worst or 0)
        assert line.history[-1][1] == line.score.rmse
    assert [len(line.history) for line in published.standings] == [2, 2, 1]
    head = Ledger(large.private / "ledger.sqlite").head()
    csv_text, html, markdown = everything(published)
    assert head in html
    assert f"Ledger: `{head}`" in markdown
    assert html.count("<details>") == 3
    assert csv_text.count("\n") == 4


def test_nothing_published_depends_on_private_rows(large: Competition, tmp_path: Path, clock: Clock) -> None:
    """The same public predictions with other private ones, and other private labels, give the same tables."""
    texts = []
    for number, points in enumerate((3.0, 30.0)):
        competition = large_competition(tmp_path / f"other {number}")
        for seed in range(4):
            right = noisy(competition, 5, seed, "Public")
            off = noisy(competition, points, seed, "Private")
            mixed = {name: right[name] if name.split("/")[1] in PUBLIC else off[name] for name in right}
            write_predictions(tmp_path / "file.csv", mixed)
            times = datetime(2026, 1, 1 + seed, tzinfo=timezone.utc)
            submit(competition, tmp_path / "file.csv", f"team {seed}", lambda at=times: at)
        published = publish(competition)
        head = Ledger(competition.private / "ledger.sqlite").head()
        texts.append([text.replace(head, "") for text in everything(published)])
        assert not (competition.root / "leaderboard_private.csv").exists()
    assert texts[0] == texts[1]


def test_private_scores_come_after_the_deadline_with_the_finals(
    large: Competition, hand_in: Callable[..., int], clock: Clock
) -> None:
    deadline = datetime(2026, 3, 1, tzinfo=timezone.utc)
    with_rules(large, deadline=deadline)
    first = hand_in("a", 2, 0, "Public")  # private 0
    hand_in("a", 1, 1, "Private")
    hand_in("a", 9, 2)
    chosen = hand_in("b", 30, 3, "Private")
    hand_in("b", 1, 4, "Private")
    competition = Competition.open(large.root)
    select(competition, "b", [chosen], clock)
    with pytest.raises(
        UnusableInput, match="the deadline of large is 2026-03-01 00:00:00 UTC: private scores"
    ):
        publish(competition, datetime(2026, 2, 28, 23, 59, 59, tzinfo=timezone.utc))
    assert not (large.root / "leaderboard_private.csv").exists()
    published = publish(competition, deadline)
    assert [(line.name, line.rank, line.shake_up) for line in published.final] == [("a", 1, 0), ("b", 2, -1)]
    assert first == 1
    assert published.final[0].score.rmse == 0
    assert published.final[1].score.rmse > 20
    assert published.private_csv is not None
    with published.private_csv.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["PublicScore"], row["PublicRank"], row["ShakeUp"]) for row in rows] == [
        ("0.00", "1", "0"),
        ("0.00", "1", "-1"),
    ]
    assert "Final standing" in published.html.read_text(encoding="utf-8")
    assert "private part" in published.markdown.read_text(encoding="utf-8")
    again = (
        "leaderboard_private.csv is as the last `--final` wrote it: give --final again, or remove the file"
    )
    assert publish(competition).warnings[0].endswith(again)
    assert publish(competition, deadline).warnings == ()


def test_baselines_that_are_shown_have_no_numbers_of_the_other_metric(tmp_path: Path, clock: Clock) -> None:
    """In the OOD track, after the end, while the kit's other methods stay hidden."""
    subjects, end = ("cnn:msp:fpr95", "cnn:msp:auroc"), datetime(2026, 3, 1, tzinfo=timezone.utc)
    mixes = large_competition(tmp_path / "mixes", track="ood", subjects=subjects, deadline=end)
    deviations = dict.fromkeys(mixes.ids("test"), 0.02)
    write_predictions(mixes.root / DEVIATIONS, deviations, column="deviation")
    mixes.save()
    write_predictions(mixes.root / "submissions/confident.csv", dict.fromkeys(mixes.ids("test"), 0.6))
    as_predicted(mixes)
    write_predictions(tmp_path / "file.csv", dict.fromkeys(mixes.ids("test"), 0.5))
    submit(mixes, tmp_path / "file.csv", "Ada", clock)
    published = publish(mixes, end)
    with published.csv.open(newline="") as stream:
        lines = {row["TeamName"]: row["Score AUROC"] for row in csv.DictReader(stream)}
    assert (float(lines["Ada"]) > 0, lines["confident"]) == (True, "")


def test_private_scores_without_a_deadline_are_warned_of(large: Competition) -> None:
    now = datetime(2026, 1, 1, tzinfo=timezone.utc)
    (warning,) = publish(large, now).warnings
    assert warning.startswith("there is no deadline: submissions are still taken")
    assert publish(with_rules(large, deadline=now), now).warnings == ()


def test_probing_is_told_to_the_organizer_alone(large: Competition, tmp_path: Path, clock: Clock) -> None:
    base = dict.fromkeys(large.ids("test"), 0.6)
    for name in ("", *large.ids("test")[:6]):
        write_predictions(tmp_path / "file.csv", {**base, **({name: 1.0} if name else {})})
        submit(large, tmp_path / "file.csv", "Prober", clock)
    published = publish(large)
    (warning,) = published.warnings
    assert warning.startswith(
        "team 'Prober': 6 of 7 submissions differ from an earlier one, but for small changes, in at most 6 of 60"
    )
    assert not any("differ from an earlier" in text for text in everything(published))


def test_publishing_ends_though_others_submit_all_the_time(
    competition: Competition, halves: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One submission comes in while the table is written: it is written again; with more it ends anyway."""
    ledger = Ledger(competition.private / "ledger.sqlite")
    entries = Ledger.entries
    for coming, counted in ((1, 1), (9, 3)):
        left = iter(range(coming))

        def busy(ledger: Ledger, left: Iterator[int] = left) -> tuple[Entry, ...]:
            found = entries(ledger)
            if next(left, None) is not None:
                submit(competition, halves, "Team A", clock)
            return found

        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "entries", busy)
            found = publish(competition)
        assert found.standings[0].submissions == counted
        assert len(ledger.entries()) == {1: 1, 9: 4}[coming]


def test_a_file_that_cannot_be_read_is_named_and_everything_else_published(
    competition: Competition, halves: Path, perfect: Path, clock: Clock
) -> None:
    submit(competition, halves, "A", clock)
    submit(competition, perfect, "B", clock)
    ledger = Ledger(competition.private / "ledger.sqlite")
    ledger.file(ledger.entries()[0]).write_text("damaged")
    found = publish(competition)
    assert [line.name for line in found.standings] == ["B", "A"]
    assert any("is missing, or is not the file of submission 1" in warning for warning in found.warnings)


def test_what_a_killed_run_left_is_gone(competition: Competition) -> None:
    stray = competition.root / ".leaderboard.csv.12ab34cd.tmp"
    stray.write_text("half")
    os.utime(stray, (1e9, 1e9))
    publish(competition)
    assert not stray.exists()


def test_submitting_takes_away_what_a_killed_run_left(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    strays = [competition.private / name for name in (".head.12ab34cd.tmp", "shown/.0-x.csv.12ab34cd.tmp")]
    for stray in strays:
        stray.parent.mkdir(exist_ok=True)
        stray.write_text("half")
        os.utime(stray, (1e9, 1e9))
    submit(competition, halves, "A", clock)
    assert not any(stray.exists() for stray in strays)
