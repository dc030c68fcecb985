import zipfile
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.board.publish import publish
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.rescore import corrected, rescore
from leaderboard.ledger.verify import verify
from submission import Competition, UnusableInput, score_submission, validate, write_predictions
from submission.datacv import write_answer
from submission.solution import solution_of, whole_solution

Clock = Callable[[], datetime]


def ledger_of(competition: Competition) -> Ledger:
    return Ledger(competition.private / "ledger.sqlite")


def test_a_corrected_label_scores_every_submission_anew(
    competition: Competition, halves: Path, perfect: Path, clock: Clock
) -> None:
    """Errors of halves, in points: public 40 0 30 10, private 20 20 30 40; the first becomes 0."""
    submit(competition, halves, "A", clock)
    submit(competition, perfect, "B", clock)
    before = ledger_of(competition).entries()
    done = rescore(competition, {"cnn/test_0001": 0.5}, set(), "a mix-up", clock)
    assert (done.entries, done.head) == (2, ledger_of(competition).head())
    after = ledger_of(competition).entries()
    assert [entry.public for entry in after] == pytest.approx([250**0.5, 20.0])
    assert [entry.private for entry in after] == [entry.private for entry in before]
    assert {entry.solution for entry in after} == {done.solution}
    assert [(e.number, e.time, e.digest, e.hash) for e in after] == [
        (e.number, e.time, e.digest, e.hash) for e in before
    ]
    assert score_submission(competition, halves).public.rmse == after[0].public
    assert [line.score.rmse for line in publish(competition).standings] == [15.81, 20.0]
    assert submit(competition, halves, "C", clock).answer.score == 15.81
    assert verify(competition).problems == ()


def test_a_voided_set_counts_for_no_classifier(competition: Competition, halves: Path, clock: Clock) -> None:
    submit(competition, halves, "A", clock)
    rescore(competition, {}, {"test_0001", "test_0002"}, "mislabelled", clock)
    (entry,) = ledger_of(competition).entries()
    assert entry.public == pytest.approx(((0 + 100) / 2) ** 0.5)
    assert entry.private == pytest.approx(((400 + 1600) / 2) ** 0.5)
    assert len(solution_of(competition)) == 4
    assert [row.usage for row in whole_solution(competition)].count("Ignored") == 4
    assert list(validate(competition, halves)) == list(competition.ids("test"))
    assert verify(competition).problems == ()


@pytest.mark.parametrize(
    ("labels", "voids", "reason", "message"),
    [
        ({"cnn/test_9": 0.5}, set(), "r", "--label cnn/test_9: there is no such id in the test sets"),
        ({"cnn/test_0001": 1.5}, set(), "r", r"--label cnn/test_0001: a label is a fraction in \[0, 1\]"),
        ({"cnn/test_0001": float("nan")}, set(), "r", "a label is a fraction"),
        (
            {"cnn/test_0001": 0.533},
            set(),
            "r",
            "--label cnn/test_0001: 0.533 is not a fraction of the set's 100 images, such as 0.530000 or",
        ),
        ({"cnn/test_0001": 0.4}, {"test_0001"}, "r", "--label cnn/test_0001: its set is voided in the same"),
        ({}, {"test_9"}, "r", "--void test_9: there is no such test set"),
        ({}, {"test_0001", "test_0003"}, "r", "--void: no public set would be left to score on"),
        ({}, {"test_0002", "test_0004"}, "r", "--void: no private set would be left to score on"),
        (
            {},
            set(),
            "r",
            "nothing would change: give a --label ID=FRACTION or a --void SET that is not recorded yet",
        ),
        ({"cnn/test_0001": 0.9}, set(), "r", "nothing would change"),
        ({}, {"test_0001"}, " ", "--reason must be a line of up to 500 characters"),
        ({}, {"test_0001"}, "a\nb", "--reason must be a line"),
        ({}, {"test_0001"}, "r" * 501, "--reason must be a line"),
    ],
)
def test_what_cannot_be_corrected_changes_nothing(
    competition: Competition, clock: Clock, labels: dict, voids: set, reason: str, message: str
) -> None:
    before = sorted(path.name for path in competition.private.iterdir())
    solution = (competition.private / "solution.csv").read_bytes()
    with pytest.raises(UnusableInput, match=message):
        rescore(competition, labels, voids, reason, clock)
    assert (competition.private / "solution.csv").read_bytes() == solution
    assert ledger_of(competition).entries() == ()
    assert not (competition.private / "solutions").exists()
    assert [name for name in before if name != "ledger.sqlite"] == before


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("")])
def test_a_kept_file_that_is_not_there_is_named_and_scored_once_it_is_back(
    competition: Competition, halves: Path, perfect: Path, clock: Clock, damage: Callable[[Path], object]
) -> None:
    submit(competition, halves, "A", clock)
    submit(competition, perfect, "B", clock)
    ledger = ledger_of(competition)
    path = ledger.file(ledger.entries()[0])
    damage(path)
    done = rescore(competition, {"cnn/test_0001": 0.5}, set(), "r", clock)
    assert done.entries == 1
    (told,) = done.unread
    assert told.startswith("submission 1 keeps its old score: ")
    assert told.endswith("is missing, or is not the file of submission 1: restore it from a backup")
    assert [entry.public for entry in ledger.entries()] == pytest.approx([650**0.5, 20.0])
    path.write_bytes(halves.read_bytes())
    again = rescore(competition, {"cnn/test_0001": 0.5}, set(), "the file is back", clock)
    assert (again.entries, again.unread, again.solution) == (1, (), done.solution)
    assert [entry.public for entry in ledger.entries()] == pytest.approx([250**0.5, 20.0])
    with pytest.raises(UnusableInput, match="nothing would change"):
        rescore(competition, {"cnn/test_0001": 0.5}, set(), "r", clock)
    assert verify(competition).problems == ()


def stop(*arguments: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("scored", [False, True])
def test_stopped_before_it_is_recorded_nothing_has_changed(
    competition: Competition, halves: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, scored: bool
) -> None:
    if scored:
        submit(competition, halves, "A", clock)
    before, head = solution_of(competition), ledger_of(competition).head()
    with monkeypatch.context() as patch:
        patch.setattr("leaderboard.ledger.ledger.Transaction.rescore", stop)
        with pytest.raises(KeyboardInterrupt):
            rescore(competition, {"cnn/test_0001": 0.5}, set(), "r", clock)
    assert (solution_of(competition), ledger_of(competition).head()) == (before, head)
    assert submit(competition, halves, "B", clock).answer.score == 25.5


def test_a_label_of_a_set_that_was_voided_before_is_refused(competition: Competition, clock: Clock) -> None:
    rescore(competition, {}, {"test_0002"}, "r", clock)
    with pytest.raises(
        UnusableInput, match="--label cnn/test_0002: its set was voided before and no longer counts"
    ):
        rescore(competition, {"cnn/test_0002": 0.4}, set(), "r", clock)


def test_six_decimals_are_enough_for_a_label(competition: Competition, clock: Clock) -> None:
    sizes = {**competition.sizes, "test": dict.fromkeys(competition.sizes["test"], 600)}
    rows = whole_solution(competition)
    (found, *_) = corrected(replace(competition, sizes=sizes), rows, {"cnn/test_0001": 0.533333}, set())
    assert (found.id, found.prediction) == ("cnn/test_0001", 0.533333)


def test_targets_of_the_other_track_are_no_shares(ood_competition: Competition) -> None:
    rows = whole_solution(ood_competition)
    name = rows[0].id
    assert corrected(ood_competition, rows, {name: 0.1234567}, set())[0].prediction == 0.1234567


def test_every_format_is_scored_anew_as_it_was_handed_in(
    competition: Competition, tmp_path: Path, clock: Clock
) -> None:
    values = dict(zip(competition.ids("test"), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), strict=True))
    write_predictions(tmp_path / "a.csv", values)
    write_answer(tmp_path / "answer.txt", values)
    write_answer(tmp_path / "answer.zip", values)
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.write(tmp_path / "a.csv", "a.csv")
    for name in ("a.csv", "answer.txt", "answer.zip", "b.zip"):
        submit(competition, tmp_path / name, "A", clock)
    rescore(competition, {"cnn/test_0001": 0.1}, set(), "r", clock)
    entries = ledger_of(competition).entries()
    assert len({entry.digest for entry in entries}) == 4
    assert {entry.public for entry in entries} == {
        score_submission(competition, tmp_path / "a.csv").public.rmse
    }
    assert verify(competition).problems == ()
