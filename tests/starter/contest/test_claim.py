"""A claimed folder: one build at a time, the same settings, a record that is checked; licences."""

import multiprocessing
import os
import stat
import zipfile

import pytest
from asked import accuracy_settings

from starter.contest.build import NAMED, licences
from starter.contest.record import claim
from starter.data.sources.sources import SOURCES
from submission import UnusableInput
from submission.pack import write_archive

SETTINGS = accuracy_settings(train_sets=5)


def begin(root, settings=SETTINGS, seed=None, public=True):
    with claim(root, settings, seed) as (settled, test_seed):
        if public:
            (root / "public").mkdir(exist_ok=True)
    return settled, test_seed


def test_the_seed_is_drawn_once_and_kept(tmp_path):
    first = begin(tmp_path / "a")
    assert begin(tmp_path / "a") == first
    assert begin(tmp_path / "b")[1] != first[1]
    assert begin(tmp_path / "c", seed=3)[1] == 3
    record = tmp_path / "a/private/build.json"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(record.parent.stat().st_mode) == 0o700


def test_before_anything_is_public_the_settings_may_change(tmp_path):
    begin(tmp_path / "a", public=False)
    assert begin(tmp_path / "a", accuracy_settings(train_sets=6))[0].train_sets == 6
    with pytest.raises(UnusableInput, match=r"train_sets: 6 here, 5 asked for\n  test_seed: another"):
        begin(tmp_path / "a", seed=1)


def test_a_folder_with_other_things_is_refused_and_kept(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UnusableInput, match="not empty and was not made by"):
        begin(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def hold(root, entered, leave):
    with claim(root, SETTINGS, 1):
        entered.set()
        leave.wait(60)


def test_two_builds_at_once_are_refused_and_a_killed_one_leaves_no_lock(tmp_path):
    context = multiprocessing.get_context("fork" if os.name == "posix" else "spawn")
    entered, leave = context.Event(), context.Event()
    other = context.Process(target=hold, args=(tmp_path / "a", entered, leave))
    other.start()
    try:
        assert entered.wait(60)
        with pytest.raises(UnusableInput, match="another build is at work in"):
            begin(tmp_path / "a")
    finally:
        other.kill()
        other.join()
    assert begin(tmp_path / "a", seed=1)[1] == 1


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda text: "{", "damaged"),
        (lambda text: '{"test": []}', "damaged"),
        (lambda text: text + "\udc80", "damaged"),
        (lambda text: text.replace('"train_sets": 5', '"train_sets": "5"'), "train_sets"),
    ],
)
def test_a_damaged_record_is_refused(tmp_path, damage, word):
    begin(tmp_path / "a", seed=1)
    record = tmp_path / "a/private/build.json"
    text = damage(record.read_text(encoding="utf-8"))
    record.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnusableInput, match=word):
        begin(tmp_path / "a")


def test_temporary_files_of_a_killed_build_are_removed_wherever_they_are(tmp_path):
    begin(tmp_path / "a")
    strays = [
        tmp_path / "a" / part / ".x.00000000.tmp" for part in ("public/train", "private", "cache/logits")
    ]
    for stray in strays:
        stray.parent.mkdir(parents=True, exist_ok=True)
        stray.write_bytes(b"")
    begin(tmp_path / "a")
    assert not any(stray.exists() for stray in strays)


def test_every_source_has_its_line_and_paths_what_the_organizer_states(built, tmp_path):
    assert NAMED.keys() == SOURCES.keys()
    photos = str(tmp_path / "photos")
    for stated, shown in (("", "not stated"), ("CC BY 4.0", "CC BY 4.0")):
        assert licences(photos, stated, ("a/val1", "b/val2"), tested=True).splitlines() == [
            *(f"{name}: {shown}" for name in ("photos", "val1", "val2", "test sets from elsewhere"))
        ]
    with zipfile.ZipFile(write_archive(built, tmp_path / "a.zip")) as archive:
        text = archive.read("contest/public/LICENCES.txt").decode()
    assert text == f"glyphs: {NAMED['glyphs']}\n"
