import os
import shutil
import time
from pathlib import Path

import pytest

from leaderboard.board.methods import read_methods
from submission import Competition, write_predictions


def test_valid_files_are_read_by_name_and_others_are_told(competition: Competition) -> None:
    folder = competition.root / "submissions"
    for name in ("fd", "atc"):
        write_predictions(folder / f"{name}.csv", dict.fromkeys(competition.ids("test"), 0.5))
    (folder / "empty.csv").touch()
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
    return folder


@pytest.mark.parametrize("name", [b"\xff\xfe.csv", b"\x1b[2J.csv", b"a\nb.csv", "\u202efd.csv".encode()])
def test_a_file_whose_name_cannot_be_shown_is_left_out(
    competition: Competition, folder: Path, name: bytes
) -> None:
    shutil.copy(folder / "good.csv", os.fsencode(folder) + b"/" + name)
    found = read_methods(competition)
    assert list(found.predictions) == ["good"]
    (warning,) = found.warnings
    assert warning.startswith(f"left out '{folder}/")
    assert warning.endswith("its name cannot be shown; rename it")
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
    found = read_methods(competition)
    assert list(found.predictions) == ["good", "good2"]
    assert found.warnings == tuple(
        f"left out {folder / name}.csv: it leads into {competition.private}" for name in ("direct", "twice")
    )


def test_a_thousand_files_take_seconds(competition: Competition, folder: Path) -> None:
    for number in range(1000):
        shutil.copy(folder / "good.csv", folder / f"m{number}.csv")
    began = time.process_time()
    assert len(read_methods(competition).predictions) == 1001
    assert time.process_time() - began < 5
