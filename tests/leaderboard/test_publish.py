"""What is published before and after the end: of teams, of the kit's methods, of private rows."""

import csv
import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from large import PUBLIC, large_competition, noisy
from predicted import as_predicted
from rules import with_rules

from leaderboard.methods import read_methods
from leaderboard.publish import organizer_table, publish
from leaderboard.submissions import select, submit
from submission import Competition, UnusableInput
from submission.files import sha256
from submission.predictions import write_predictions
from submission.scoretable import legend
from submission.solution import solution_of, write_solution

END = datetime(2027, 1, 1, tzinfo=timezone.utc)


def rows(path):
    """The lines of a published CSV."""
    assert path is not None
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def everything(published):
    """The published files, without the head of the ledger."""
    files = (published.csv, published.html, published.markdown)
    return [re.sub("[0-9a-f]{64}", "", file.read_text(encoding="utf-8")) for file in files]


@pytest.fixture
def large(tmp_path):
    return large_competition(tmp_path / "large")


@pytest.fixture
def hand_in(large, tmp_path, clock):
    """Submit predictions that are off by so many points, with a seed; the number."""

    def submitted(team, points, seed, part="both"):
        write_predictions(tmp_path / "file.csv", noisy(large, points, seed, part))
        return submit(Competition.open(large.root), tmp_path / "file.csv", team, clock).number

    return submitted


@pytest.fixture
def methods(competition, halves, perfect, clock):
    """Two teams, the methods `constant` and `oracle` of the kit, and what is none."""
    submissions = competition.root / "submissions"
    write_predictions(submissions / "constant.csv", dict.fromkeys(competition.ids("test"), 0.6))
    shutil.copy(perfect, submissions / "oracle.csv")
    as_predicted(competition)
    (submissions / "old.csv").write_text("id,prediction\ncnn/test_9,0.5\n")
    (submissions / "folder.csv").mkdir()
    for path, team in ((halves, "Team A"), (perfect, "Team B"), (halves, "team a")):
        submit(competition, path, team, clock)
    return competition


def test_in_practice_the_methods_stand_below_the_teams(methods):
    published = publish(methods)
    assert [(line.rank, line.name, line.score.rmse) for line in published.standings] == [
        (1, "Team B", 0.0),
        (2, "Team A", 25.5),
        (None, "oracle", 0.0),
        (None, "constant", 18.71),
    ]
    assert [row["SubmissionCount"] for row in rows(published.csv)] == ["1", "2", "", ""]
    folder, old = published.warnings[-2:]
    assert "folder.csv is not a file" in folder
    assert "old.csv" in old
    assert "Team B" in published.html.read_text(encoding="utf-8")
    assert "Team B" in published._repr_html_()


def test_after_the_end_they_have_all_scores(methods):
    with pytest.raises(UnusableInput, match="give final too"):
        publish(methods, retired=True)
    published = publish(methods, END)
    assert [(line.rank, line.name) for line in published.final][::2] == [(1, "Team B"), (None, "oracle")]
    assert [row["Skill"] for row in rows(published.csv)] == ["1.00", "-0.86", "1.00", "0.00"]
    assert {row["NoiseFloor"] for row in rows(published.csv)} == {"3.05"}  # of 9e-4 6.25e-4 1.6e-3 6e-4


def test_in_hidden_competitions_they_stand_by_themselves_on_the_validation_sets(large):
    targets = large.public / "val/targets.csv"
    write_predictions(targets, {"cnn/val_a": 0.2, "cnn/val_b": 0.4}, column="target")
    sizes = {**large.sizes, "val": {"val_a": 100, "val_b": 200}}
    files = {"val/targets.csv": sha256(targets)}
    hidden = with_rules(large, visibility="hidden", sizes=sizes, files=files)
    for name, value in (("constant", 0.3), ("fd", 0.2)):
        for folder, part in (("submissions", "test"), ("validation", "val")):
            path = hidden.root / folder / f"{name}.csv"
            write_predictions(path, dict.fromkeys(hidden.ids(part), value))
    as_predicted(hidden)
    published = publish(hidden)
    assert published.standings == ()
    table = hidden.root / "leaderboard_validation.csv"
    assert [(row["TeamName"], row["Score"]) for row in rows(table)] == [
        ("constant", "10.0"),
        ("fd", "14.1"),
    ]
    assert "on the validation sets; noise floor" in published.markdown.read_text()
    assert {line.kind for line in publish(hidden, END).final} == set()
    assert {line.name for line in publish(hidden, END, retired=True).final} == {"constant", "fd"}
    with pytest.raises(UnusableInput, match="the leaderboard is final"):
        publish(hidden)


def test_publishing_twice_writes_the_same_files(methods):
    assert everything(publish(methods)) == everything(publish(methods))


def test_intervals_and_ranks_are_published_after_the_end(large, hand_in):
    for seed, (team, points) in enumerate([("a", 9), ("b", 12), ("a", 4), ("c", 20), ("b", 6)]):
        hand_in(team, points, seed)
    published = publish(large)
    assert [(line.name, line.rank) for line in published.standings] == [("a", 1), ("b", 2), ("c", 3)]
    assert "All numbers" not in published.html.read_text(encoding="utf-8")
    published = publish(large, END)
    for line in published.standings:
        assert line.low < line.score.rmse < line.high


def test_nothing_published_depends_on_private_rows(tmp_path):
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
        texts.append(everything(publish(competition)))
        assert not (competition.root / "leaderboard_private.csv").exists()
    assert texts[0] == texts[1]


def test_private_scores_come_after_the_deadline_with_the_finals(large, hand_in, clock):
    deadline = datetime(2026, 3, 1, tzinfo=timezone.utc)
    with_rules(large, deadline=deadline)
    hand_in("a", 2, 0, "Public")  # private 0
    hand_in("a", 1, 1, "Private")
    hand_in("a", 9, 2)
    chosen = hand_in("b", 30, 3, "Private")
    hand_in("b", 1, 4, "Private")
    competition = Competition.open(large.root)
    select(competition, "b", [chosen], clock)
    with pytest.raises(UnusableInput, match="private scores can be published only after it"):
        publish(competition, datetime(2026, 2, 28, 23, 59, 59, tzinfo=timezone.utc))
    assert not (large.root / "leaderboard_private.csv").exists()
    published = publish(competition, deadline)
    assert [(line.name, line.rank, line.shake_up) for line in published.final] == [("a", 1, 0), ("b", 2, -1)]
    assert published.final[0].score.rmse == 0
    assert published.final[1].score.rmse > 20
    assert [(row["PublicScore"], row["ShakeUp"]) for row in rows(published.private_csv)] == [
        ("0.0", "0"),
        ("0.0", "-1"),
    ]
    assert "<strong><bdi>a</bdi></strong> won with 0.0 points" in published.html.read_text(encoding="utf-8")
    assert publish(competition, deadline).warnings == ()
    assert "RSquared" not in rows(published.private_csv)[0]
    asking = publish(competition, deadline, asked=("R squared",))
    exact, other = (float(row["RSquared"]) for row in rows(asking.private_csv))
    assert other < exact == 1
    with pytest.raises(UnusableInput, match="choose from R squared"):
        publish(competition, deadline, asked=("R2",))


def test_publishing_ends_though_others_submit_all_the_time(competition, halves, clock, monkeypatch):
    """One submission comes in while the table is written: it is written again; with more it ends anyway."""
    module, read = sys.modules["leaderboard.publish"], read_methods
    for coming, counted in ((1, 1), (9, 3)):
        left = iter(range(coming))

        def busy(*arguments, left=left):
            if "test" in arguments and next(left, None) is not None:
                submit(competition, halves, "Team A", clock)
            return read(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(module, "read_methods", busy)
            assert publish(competition).standings[0].submissions == counted


STRANGE: dict[str, Callable[[Path, Path], object]] = {
    "no record": lambda good, private: shutil.copy(good, good.with_name("mine.csv")),
    "cannot be printed": lambda good, private: shutil.copy(good, good.with_name("\x1b[2J.csv")),
    "symbolic links": lambda good, private: good.with_name("loop.csv").symlink_to("loop.csv"),
    "not a file": lambda good, private: good.with_name("device.csv").symlink_to("/dev/zero"),
    "link into": lambda good, private: good.with_name("a.csv").symlink_to(shutil.copy(good, private)),
}


@pytest.mark.parametrize("word", STRANGE)
def test_files_that_are_no_method_of_the_kit_are_left_out(competition, word):
    good = competition.root / "submissions/good.csv"
    write_predictions(good, dict.fromkeys(competition.ids("test"), 0.5))
    as_predicted(competition)
    STRANGE[word](good, competition.private)
    found = read_methods(competition)
    assert list(found.predictions) == ["good"]
    (warning,) = found.warnings
    assert word in warning
    assert warning.isprintable()


def test_the_organizers_table_has_the_scores_by_group(competition):
    """Targets: seen .9 .7 .8 .8, new .5 .3 .6 .1; constant .5; half: twice as near as the constant."""
    submissions = competition.root / "submissions"
    truth = {row.id: row.prediction for row in solution_of(competition)}
    write_predictions(submissions / "constant.csv", dict.fromkeys(truth, 0.5))
    write_predictions(submissions / "half.csv", {name: (value + 0.5) / 2 for name, value in truth.items()})
    as_predicted(competition)
    assert organizer_table(competition) == (
        "method        RMSE  skill    MAE  Spearman  by group   seen    new\n"
        "half         13.58   0.75  11.88      1.00     13.58  15.41  11.46\n"
        "constant     27.16   0.00  23.75               27.16  30.82  22.91\n"
        "noise floor   3.20                                     3.94   2.22\n"
        f"\n{legend(['seen', 'new'])}\n"
        "No pair of methods is told apart: that needs 10 sets of 6 families."
    )


def test_pairs_that_the_paired_test_parts_are_counted(tmp_path):
    """Sets of a family each: `near` and `twin` err alike, `far` by ten points more."""
    competition = large_competition(tmp_path / "large")
    truth = dict.fromkeys(competition.ids("test"), 0.5)
    solution = [replace(row, prediction=0.5) for row in solution_of(competition)]
    write_solution(competition.private / "solution.csv", solution)
    competition.save()
    for name, error in {"near": 0.03, "twin": -0.03, "far": 0.13}.items():
        found = {each: 0.5 + (-1) ** i * error for i, each in enumerate(truth)}
        write_predictions(competition.root / "submissions" / f"{name}.csv", found)
    as_predicted(competition)
    assert organizer_table(competition).splitlines()[-1] == (
        "For 2 of 3 pairs (67 %) the difference is significant (paired test, 5 % over all pairs by Holm). "
        "Not told apart from near: twin."
    )


def test_every_file_of_a_method_is_read_once(competition, monkeypatch):
    folder = competition.root / "submissions"
    for name in ("constant", "half"):
        write_predictions(folder / f"{name}.csv", dict.fromkeys(competition.ids("test"), 0.5))
    as_predicted(competition)
    opened: list[str] = []
    real = os.open

    def counted(path, *arguments, **named):
        opened.append(str(path))
        return real(path, *arguments, **named)

    monkeypatch.setattr(os, "open", counted)
    assert len(publish(competition).standings) == 2
    assert [opened.count(str(folder / f"{name}.csv")) for name in ("constant", "half")] == [1, 1]
