"""The participants' archive: what competition.json lists, the same bytes every time, nothing of private/."""

import os
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from submission import Competition, UnusableInput, pack, score_validation, write_predictions
from submission.files import sha256

LISTED = ("sample_submission.csv", "val/targets.csv")


def names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return archive.namelist()


@pytest.fixture
def packed(competition: Competition, tmp_path: Path) -> Path:
    return pack(competition, tmp_path / "out" / "comp.zip")


def test_holds_the_listed_files_and_the_description_as_they_are(
    competition: Competition, packed: Path
) -> None:
    expected = {f"comp/public/{name}" for name in (*LISTED, "competition.json")}
    assert sorted(names(packed)) == sorted(
        expected | {"comp/README.md", "comp/card.md", "comp/croissant.json"}
    )
    with zipfile.ZipFile(packed) as archive:
        for name in expected:
            assert archive.read(name) == (competition.root.parent / name).read_bytes()


def test_repeated_it_has_the_same_bytes(competition: Competition, packed: Path, tmp_path: Path) -> None:
    """Whatever the files' times and modes, and wherever the folder is opened from."""
    for name in LISTED:
        os.utime(competition.public / name, (1, 1))
        (competition.public / name).chmod(0o600)
    again = pack(competition, tmp_path / "again.zip")
    assert again.read_bytes() == packed.read_bytes()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    competition.root.rename(moved / "comp")
    assert pack(Competition.open(moved / "comp"), again).read_bytes() == packed.read_bytes()


def test_entries_are_plain_files_of_one_time(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        for info in archive.infolist():
            assert info.date_time == (1980, 1, 1, 0, 0, 0)
            assert info.external_attr >> 16 == 0o644
            assert not info.is_dir()


def test_it_unpacks_to_a_participants_copy(competition: Competition, packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "participant")
    copy = Competition.open(tmp_path / "participant" / "comp")
    assert replace(copy, root=competition.root) == competition
    write_predictions(tmp_path / "a.csv", dict(zip(copy.ids("val"), (0.3, 0.2, 0.1, 0.4), strict=True)))
    mine, theirs = (score_validation(each, tmp_path / "a.csv") for each in (competition, copy))
    assert str(mine) == str(theirs)
    with pytest.raises(UnusableInput, match="only the organizer"):
        copy.require_private()
    assert sorted(names(pack(copy, tmp_path / "b.zip"))) == sorted(names(packed))


def test_nothing_else_goes_in(competition: Competition, packed: Path, tmp_path: Path) -> None:
    """Neither strays in public/ nor what links there lead to."""
    (competition.public / "notes.txt").write_text("ask me for the labels")
    (competition.public / "val" / "solution.csv").write_bytes(
        (competition.private / "solution.csv").read_bytes()
    )
    (competition.public / "link.csv").symlink_to(competition.private / "solution.csv")
    (competition.public / "hidden").symlink_to(competition.private, target_is_directory=True)
    (competition.root / "cache").mkdir()
    (competition.root / "cache" / "x").write_text("x")
    again = pack(competition, tmp_path / "again.zip")
    assert again.read_bytes() == packed.read_bytes()
    with zipfile.ZipFile(again) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    solution = (competition.private / "solution.csv").read_bytes()
    assert not any(line in content for line in solution.splitlines() if b"," in line)


def test_private_is_never_opened(competition: Competition, packed: Path, tmp_path: Path) -> None:
    competition.private.rename(tmp_path / "put_away")
    assert pack(competition, tmp_path / "again.zip").read_bytes() == packed.read_bytes()


@pytest.mark.parametrize("name", LISTED)
def test_a_changed_file_is_refused_and_the_old_archive_kept(
    competition: Competition, packed: Path, name: str
) -> None:
    before = packed.read_bytes()
    (competition.public / name).write_text("id,target\n")
    with pytest.raises(
        UnusableInput, match=rf"{name} was changed or is damaged: unpack .* again, or build it"
    ):
        pack(competition, packed)
    assert packed.read_bytes() == before
    assert [path.name for path in packed.parent.iterdir()] == ["comp.zip"]


def test_a_missing_file_is_refused(competition: Competition, tmp_path: Path) -> None:
    (competition.public / "sample_submission.csv").unlink()
    with pytest.raises(UnusableInput, match=r"sample_submission\.csv is missing"):
        pack(competition, tmp_path / "a.zip")
    assert not list(tmp_path.glob("*.zip"))


def test_a_listed_file_put_in_place_of_by_a_link_to_private_is_refused(
    competition: Competition, tmp_path: Path
) -> None:
    (competition.public / "sample_submission.csv").unlink()
    (competition.public / "sample_submission.csv").symlink_to(competition.private / "solution.csv")
    with pytest.raises(UnusableInput, match="was changed or is damaged"):
        pack(competition, tmp_path / "a.zip")


def test_even_a_private_file_that_the_description_lists_stays_out(
    competition: Competition, tmp_path: Path
) -> None:
    """A build that found a link in public/ would list what the link leads to, with its hash."""
    linked = competition.public / "more"
    linked.symlink_to(competition.private, target_is_directory=True)
    files = {**competition.files, "more/solution.csv": sha256(linked / "solution.csv")}
    with pytest.raises(
        UnusableInput, match=r"public/more/solution\.csv is a link into .*private: remove the link"
    ):
        pack(replace(competition, files=files), tmp_path / "a.zip")
    assert not list(tmp_path.glob("*.zip"))


@pytest.mark.parametrize("place", ["public/a.zip", "public/val/targets.csv", "private/solution.csv"])
def test_the_archive_lies_outside_of_what_is_packed_and_of_private(
    competition: Competition, place: str
) -> None:
    """It would take a file's place there, or be listed when the build is run again."""
    before = sorted((path, path.is_file() and path.read_bytes()) for path in competition.root.rglob("*"))
    with pytest.raises(UnusableInput, match=rf"{place} is inside .*comp/p[a-z]+: choose a path outside it"):
        pack(competition, competition.root / place)
    after = sorted((path, path.is_file() and path.read_bytes()) for path in competition.root.rglob("*"))
    assert after == before


def test_a_folder_whose_name_acts_on_terminals_is_not_packed(
    competition: Competition, tmp_path: Path
) -> None:
    odd = Competition.open(competition.root.rename(tmp_path / "comp\x1b[2J"))
    with pytest.raises(
        UnusableInput, match=r"comp\\x1b\[2J: its name, which archives hold, cannot be printed"
    ):
        pack(odd, tmp_path / "out.zip")


def test_the_archive_is_named_as_a_zip(competition: Competition) -> None:
    with pytest.raises(UnusableInput, match=r"leaderboard\.csv: the file's name must end in \.zip"):
        pack(competition, competition.root / "leaderboard.csv")


def test_a_lost_solution_is_told_as_such(competition: Competition) -> None:
    competition.private.mkdir(exist_ok=True)
    (competition.private / "seal.sha256").write_text("")
    (competition.private / "solution.csv").unlink(missing_ok=True)
    with pytest.raises(UnusableInput, match=r"solution\.csv is missing: restore it from a backup"):
        competition.require_private()
