""""""

import math
import os
import shutil
import time
from pathlib import Path

import pytest
from predicted import as_predicted

from leaderboard.board.results import UNKNOWN, baseline_names, read_methods, results
from submission import Competition, SolutionRow, UnusableInput, write_predictions, write_solution
from submission.solution import solution_of


@pytest.fixture
def scored(competition: Competition) -> Competition:
    """Targets: seen .9 .7 .8 .8, unseen .5 .3 .6 .1; constant .5; half: twice as near as the constant."""
    folder = competition.root / "submissions"
    truth = {row.id: row.prediction for row in solution_of(competition)}
    write_predictions(folder / "constant.csv", dict.fromkeys(truth, 0.5))
    write_predictions(folder / "half.csv", {name: (value + 0.5) / 2 for name, value in truth.items()})
    (folder / "old.csv").write_text("id,prediction\n")
    as_predicted(competition)
    return competition


def test_numbers_worked_out_by_hand(scored: Competition) -> None:
    """The constant's errors in points: seen 40 20 30 30, unseen 0 -20 10 -40; sizes 100 and 400."""
    found = results(scored)
    half, constant, floor = found.rows
    assert [row.method for row in found.rows] == ["half", "constant", "noise floor"]
    assert constant.rmse == pytest.approx(math.sqrt((1600 + 400 + 900 + 900 + 0 + 400 + 100 + 1600) / 8))
    assert constant.mae == pytest.approx(190 / 8)
    assert constant.skill == 0
    assert math.isnan(constant.spearman)
    assert dict(constant.groups) == pytest.approx(
        {"seen": math.sqrt(3800 / 4), "unseen": math.sqrt(2100 / 4)}
    )
    assert half.rmse == pytest.approx(constant.rmse / 2)
    assert half.skill == pytest.approx(0.75)
    assert half.spearman == pytest.approx(1)
    seen, unseen = (0.09 + 0.21 + 0.16 + 0.16) / 100, (0.25 + 0.21 + 0.24 + 0.09) / 400
    assert floor.rmse == pytest.approx(100 * math.sqrt((seen + unseen) / 8))
    assert dict(floor.groups) == pytest.approx(
        {"seen": 50 * math.sqrt(seen), "unseen": 50 * math.sqrt(unseen)}
    )
    assert [warning.rsplit("/")[-1] for warning in found.warnings] == ["test_0001' is missing (and 7 more)"]


def test_the_table_in_a_terminal(scored: Competition) -> None:
    assert results(scored).table() == (
        "method        RMSE  skill    MAE  Spearman   seen  unseen\n"
        "half         13.58   0.75  11.88      1.00  15.41   11.46\n"
        "constant     27.16   0.00  23.75            30.82   22.91\n"
        "noise floor   3.20                           3.94    2.22\n"
        "\n"
        "RMSE and MAE in percentage points, lower is better; the noise floor is the sampling noise of the true values."
    )


def test_the_table_in_markdown(scored: Competition) -> None:
    lines = results(scored).table(markdown=True).splitlines()
    assert lines[:3] == [
        "| method | RMSE | skill | MAE | Spearman | seen | unseen |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| half | 13.58 | 0.75 | 11.88 | 1.00 | 15.41 | 11.46 |",
    ]
    assert lines[-1].endswith("sampling noise of the true values.")


def test_methods_that_the_paired_test_does_not_part_are_named(fields: dict[str, object]) -> None:
    """Twelve sets, each a family: `near` and `twin` err alike, `far` by ten points more."""
    sizes = {**fields["sizes"], "test": {f"test_{i:04d}": 100 for i in range(12)}}  # type: ignore[dict-item]
    competition = Competition(**{**fields, "sizes": sizes, "subjects": ("cnn",)})  # type: ignore[arg-type]
    truth = dict.fromkeys(competition.ids("test"), 0.5)
    rows = [
        SolutionRow(name, target, usage, "cnn", competition.set_of(name), "seen")
        for (name, target), usage in zip(truth.items(), ("Public", "Private") * 6, strict=True)
    ]
    write_solution(competition.private / "solution.csv", rows)
    competition.save()
    signs = [(-1) ** i for i in range(12)]
    for name, error in {"near": 0.03, "twin": -0.03, "far": 0.13}.items():
        found = {each: 0.5 + sign * error for each, sign in zip(truth, signs, strict=True)}
        write_predictions(competition.root / "submissions" / f"{name}.csv", found)
    as_predicted(competition)
    assert results(competition).table().splitlines()[-2:] == [
        "The paired test tells 2 of 3 pairs of lines (67 %) apart, at .05 over all pairs (Holm).",
        "Not told apart: near, twin.",
    ]


def test_without_methods_only_the_noise_floor_is_left(competition: Competition) -> None:
    found = results(competition)
    assert [row.method for row in found.rows] == ["noise floor"]
    assert found.table().splitlines()[1].startswith("noise floor  3.20")


def test_it_is_for_the_organizer_only(scored: Competition) -> None:
    shutil.rmtree(scored.private)
    with pytest.raises(UnusableInput, match="only the organizer"):
        results(scored)


def test_valid_files_are_read_by_name_and_others_are_told(competition: Competition) -> None:
    folder = competition.root / "submissions"
    for name in ("fd", "atc"):
        write_predictions(folder / f"{name}.csv", dict.fromkeys(competition.ids("test"), 0.5))
    (folder / "empty.csv").touch()
    as_predicted(competition)
    found = read_methods(competition)
    assert list(found.predictions) == ["atc", "fd"]
    assert list(found.predictions["fd"]) == list(competition.ids("test"))
    assert found.warnings == (
        f"left out {folder / 'empty.csv'}: the file is empty: expected the header 'id,prediction'",
    )


def test_no_folder_means_no_methods(competition: Competition) -> None:
    found = read_methods(competition)
    assert (found.predictions, found.warnings) == ({}, ())


@pytest.fixture
def folder(competition: Competition) -> Path:
    """``submissions/`` with one valid file, good.csv."""
    folder = competition.root / "submissions"
    write_predictions(folder / "good.csv", dict.fromkeys(competition.ids("test"), 0.5))
    as_predicted(competition)
    return folder


def test_what_predict_did_not_write_is_shown_as_nothing(competition: Competition, folder: Path) -> None:
    """A participant's file, one changed since, and another's under a recorded name."""
    shutil.copy(folder / "good.csv", folder / "mine.csv")
    write_predictions(folder / "changed.csv", dict.fromkeys(competition.ids("test"), 0.5))
    as_predicted(competition)
    (competition.private / "predicted/submissions/mine.csv").unlink()
    write_predictions(folder / "changed.csv", dict.fromkeys(competition.ids("test"), 0.6))
    found = read_methods(competition)
    assert list(found.predictions) == ["good"]
    assert found.warnings == tuple(f"left out {folder / name}.csv: {UNKNOWN}" for name in ("changed", "mine"))
    assert set(baseline_names(competition).values()) == {"constant", "good", "changed"}


def test_a_competition_of_before_the_record_says_what_to_do(competition: Competition, folder: Path) -> None:
    shutil.rmtree(competition.private / "predicted")
    found = read_methods(competition)
    assert found.predictions == {}
    assert "predict the method again" in found.warnings[0]


@pytest.mark.parametrize("name", [b"\xff\xfe.csv", b"\x1b[2J.csv", b"a\nb.csv", "\u202efd.csv".encode()])
def test_a_file_whose_name_cannot_be_shown_is_left_out(
    competition: Competition, folder: Path, name: bytes
) -> None:
    shutil.copy(folder / "good.csv", os.fsencode(folder) + b"/" + name)
    found = read_methods(competition)
    assert list(found.predictions) == ["good"]
    (warning,) = found.warnings
    assert warning.startswith(f"left out '{folder}/")
    assert warning.endswith("its name cannot be printed; rename it")
    assert warning.isprintable()


def test_what_is_no_file_is_left_out_at_once(competition: Competition, folder: Path) -> None:
    (folder / "folder.csv").mkdir()
    os.mkfifo(folder / "pipe.csv")
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "nowhere.csv").symlink_to("nowhere")
    (folder / "device.csv").symlink_to("/dev/zero")
    found = read_methods(competition)
    assert list(found.predictions) == ["good"]
    assert [warning.removeprefix(f"left out {folder}/") for warning in found.warnings] == [
        "device.csv is not a file",
        "folder.csv is not a file",
        "loop.csv cannot be read: Too many levels of symbolic links",
        "nowhere.csv cannot be read: No such file or directory",
        "pipe.csv is not a file",
    ]


def test_a_link_into_the_private_folder_is_not_read(competition: Competition, folder: Path) -> None:
    """It would be valid if it were read."""
    shutil.copy(folder / "good.csv", competition.private / "good.csv")
    (folder / "direct.csv").symlink_to("../private/good.csv")
    (folder / "twice.csv").symlink_to(folder / "direct.csv")
    (folder / "good2.csv").symlink_to("good.csv")
    as_predicted(competition)
    found = read_methods(competition)
    assert list(found.predictions) == ["good", "good2"]
    assert found.warnings == tuple(
        f"left out {folder / name}.csv: it is a link into {competition.private}"
        for name in ("direct", "twice")
    )


@pytest.mark.slow
def test_a_thousand_files_take_seconds(competition: Competition, folder: Path) -> None:
    for number in range(1000):
        shutil.copy(folder / "good.csv", folder / f"m{number}.csv")
    as_predicted(competition)
    began = time.process_time()
    assert len(read_methods(competition).predictions) == 1001
    assert time.process_time() - began < 5
