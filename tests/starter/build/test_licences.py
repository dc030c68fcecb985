"""Every source has its line, the test sets' own names stay hidden, and the archive holds the file."""

import zipfile

import pytest

from starter.build.licences import NAMED, UNKNOWN, licences
from starter.build.plan import Settings
from starter.sources.sources import SOURCES
from submission import UnusableInput, pack


def test_every_source_with_a_name_has_a_line():
    assert NAMED.keys() == SOURCES.keys()
    for name, licence in NAMED.items():
        assert licences(Settings(source=name)) == f"{name}: {licence}\n"


def test_paths_have_what_the_organizer_states(tmp_path):
    asked = Settings(
        source=str(tmp_path / "photos"), val_from=("a/val1", "b/val2"), test_from=("x/sketches",)
    )
    assert licences(asked).splitlines() == [
        f"photos: {UNKNOWN}",
        f"val1: {UNKNOWN}",
        f"val2: {UNKNOWN}",
        f"test sets from elsewhere: {UNKNOWN}",
    ]
    stated = licences(Settings(val_from=("a/val1",), test_from=("x/sketches",), licence="CC BY 4.0"))
    assert stated.splitlines()[1:] == ["val1: CC BY 4.0", "test sets from elsewhere: CC BY 4.0"]
    assert "sketches" not in stated


@pytest.mark.parametrize("licence", ["two\nlines", "x" * 501])
def test_a_licence_is_one_line(licence):
    with pytest.raises(UnusableInput, match="--licence must be a line of at most 500 printable characters"):
        Settings(licence=licence)


def test_the_archive_holds_the_licences(built, tmp_path):
    with zipfile.ZipFile(pack(built, tmp_path / "a.zip")) as archive:
        text = archive.read("contest/public/LICENCES.txt").decode()
    assert text == f"glyphs: {NAMED['glyphs']}\n"
