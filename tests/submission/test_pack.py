"""The participants' archive: what competition.json lists, the same bytes every time, nothing of private/."""

import os
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from rules import with_fields

from submission import Competition, UnusableInput
from submission.files import sha256
from submission.pack import SMALL, unpacked, write_archive

LISTED = ("sample_submission.csv", "val/targets.csv")


@pytest.fixture
def packed(competition, tmp_path):
    return write_archive(competition, tmp_path / "out" / "comp.zip")


def test_it_unpacks_once_to_a_participants_copy_in_the_working_folder(competition, packed, monkeypatch):
    monkeypatch.chdir(packed.parent)
    copy = Competition.open(unpacked("comp.zip"))
    assert with_fields(copy, root=competition.root) == competition
    expected = {f"public/{name}" for name in (*LISTED, "competition.json")}
    assert {path.relative_to(copy.root).as_posix() for path in copy.root.rglob("*.*")} == expected
    with zipfile.ZipFile(packed) as archive:
        cards = {"comp/README.md", "comp/card.md", "comp/croissant.json"}
        assert {*archive.namelist()} == cards | {f"comp/{name}" for name in expected}
    assert all((copy.root / name).read_bytes() == (competition.root / name).read_bytes() for name in expected)
    (copy.public / LISTED[0]).unlink()
    assert not list(unpacked("comp.zip").rglob(LISTED[0])), "what is there is not unpacked again"
    (copy.public / "competition.json").unlink()
    assert Competition.open(unpacked("comp.zip")).text(LISTED[0]), "what was interrupted is"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda text: text.replace(b"val/targets", b"../targets"), "is damaged"),
        (lambda text: text.replace(b"val/targets", b"val/missing"), "val/missing"),
        (lambda text: b"{}", "is damaged"),
        (None, "no item named 'public/competition.json'"),
    ],
)
def test_another_zip_is_refused(packed, monkeypatch, change, word):
    monkeypatch.chdir(packed.parent)
    with zipfile.ZipFile(packed) as archive, zipfile.ZipFile("other.zip", "w") as other:
        for name in archive.namelist():
            text = archive.read(name)
            if not name.endswith("competition.json"):
                other.writestr(name, text)
            elif change:
                other.writestr(name, change(text))
    with pytest.raises(UnusableInput, match=word):
        unpacked("other.zip")
    assert not Path("unseen-other/public/competition.json").exists()
    assert {path.name for path in packed.parents[1].iterdir()} == {"comp", "out"}
    unpacked(packed.rename("other.zip"))
    known = Path("unseen-other/public/competition.json")
    known.write_bytes(known.read_bytes().replace(b"val/targets", b"val/others"))
    with pytest.raises(UnusableInput, match="another competition"):
        unpacked("other.zip")
    Path("other.zip").write_bytes(b"PK")
    with pytest.raises(UnusableInput, match="not a zip file"):
        unpacked("other.zip")


@pytest.mark.parametrize(("room", "word"), [(1 << 40, "more than a competition's"), (9, "make room")])
def test_an_archive_that_is_too_large_is_not_unpacked(packed, monkeypatch, room, word):
    """A competition's own archive needs room alone; zeros take a thousandth of their size."""
    monkeypatch.chdir(packed.parent)
    monkeypatch.setattr("submission.pack.shutil.disk_usage", lambda _: SimpleNamespace(free=room))
    if room > 9:
        with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("zeros", bytes(SMALL * 2))
    with pytest.raises(UnusableInput, match=word):
        unpacked("comp.zip")
    assert not Path("unseen-comp").exists()


def test_a_file_beside_keeps_the_folders_by_which_it_is_imported(competition, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pkg").mkdir()
    Path("pkg/nets.py").touch()
    archive = write_archive(competition, Path("a.zip"), [Path("pkg/nets.py")])
    assert "pkg/nets.py" in zipfile.ZipFile(archive).namelist()


def test_repeated_it_has_the_same_bytes(competition, packed, tmp_path):
    """Whatever files' times and modes, what strays or links lie in public/, from anywhere, without private/."""
    (competition.public / "notes.txt").write_text("ask me for the labels")
    (competition.public / "val" / "solution.csv").write_bytes(b"stray")
    (competition.public / "link.csv").symlink_to(competition.private / "solution.csv")
    (competition.public / "hidden").symlink_to(competition.private, target_is_directory=True)
    for name in LISTED:
        os.utime(competition.public / name, (1, 1))
        (competition.public / name).chmod(0o600)
    again = write_archive(competition, tmp_path / "again.zip")
    assert again.read_bytes() == packed.read_bytes()
    (tmp_path / "elsewhere").mkdir()
    moved = Competition.open(competition.root.rename(tmp_path / "elsewhere/comp"))
    moved.private.rename(tmp_path / "put_away")
    assert write_archive(moved, again).read_bytes() == packed.read_bytes()


@pytest.mark.parametrize("linked", [False, True])
def test_a_changed_file_is_refused_and_the_old_archive_kept(competition, packed, linked):
    before, path = packed.read_bytes(), competition.public / LISTED[1]
    path.unlink()
    if linked:
        path.symlink_to(competition.private / "solution.csv")
    with pytest.raises(UnusableInput, match=r"targets.csv (was changed|is missing)"):
        write_archive(competition, packed)
    assert packed.read_bytes() == before
    assert [path.name for path in packed.parent.iterdir()] == ["comp.zip"]


def test_a_private_file_that_the_description_lists_stays_out(competition, tmp_path):
    """A build that found a link in public/ would list what the link leads to, with its hash."""
    linked = competition.public / "more"
    linked.symlink_to(competition.private, target_is_directory=True)
    files = {**competition.files, "more/solution.csv": sha256(linked / "solution.csv")}
    with pytest.raises(UnusableInput, match=r"public/more/solution\.csv is in .*private, or a link into it"):
        write_archive(with_fields(competition, files=files), tmp_path / "a.zip")
    assert not list(tmp_path.glob("*.zip"))


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("public/a.zip", "is inside"),
        ("private/solution.csv", "is inside"),
        ("leaderboard.csv", r"must end in \.zip"),
    ],
)
def test_the_archive_lies_outside_of_what_is_packed_and_is_a_zip(competition, place, problem):
    with pytest.raises(UnusableInput, match=problem):
        write_archive(competition, competition.root / place)
