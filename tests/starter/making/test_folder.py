"""Claiming: one build at a time, the same settings and inputs, a record that is checked.

Every source has its line, the test sets' own names stay hidden, and the archive holds the file.

What the builds share: which test sets count for the public score.
"""

import json
import multiprocessing
import os
import stat
import zipfile
from types import SimpleNamespace

import pytest
from asked import accuracy_settings, changed

from starter.making.folder import (
    NAMED,
    add_to_record,
    check_inputs,
    claimed,
    licences,
    public_sets,
)
from starter.observing.cache import place_cache
from starter.sources.sources import SOURCES
from starter.tracks.accuracy.plan import plan_part
from submission import UnusableInput
from submission.files import write_text
from submission.pack import write_archive

SETTINGS = accuracy_settings(train_sets=5)


def begin(root, settings=SETTINGS, seed=None, public=True):
    with claimed(root, settings, seed) as (settled, test_seed):
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
    with pytest.raises(UnusableInput, match="--train-sets: 6 here, 5 asked for"):
        begin(tmp_path / "a")


def fail(root, during=lambda: None):
    def refused():
        with claimed(root, SETTINGS, None):
            during()
            raise UnusableInput("mistyped")

    with pytest.raises(UnusableInput, match="mistyped"):
        refused()


def test_a_build_that_made_nothing_leaves_the_place_as_it_was(tmp_path):
    fail(tmp_path / "new")
    (tmp_path / "mine").mkdir()
    fail(tmp_path / "mine", lambda: place_cache(tmp_path / "mine", str(tmp_path / "elsewhere")))
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["elsewhere", "mine"]


def test_what_was_made_or_put_there_by_others_stays(tmp_path):
    for name in ("public/LICENCES.txt", "cache/laid/encoder-0.safetensors"):
        root = tmp_path / name.partition("/")[0]
        fail(root, lambda root=root, name=name: write_text(root / name, ""))
        assert {"private/build.json", name} <= {str(path.relative_to(root)) for path in root.rglob("*")}
    fail(tmp_path / "new", lambda: write_text(tmp_path / "new/mine.txt", ""))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["mine.txt"]
    first = begin(tmp_path / "begun")
    fail(tmp_path / "begun")
    assert begin(tmp_path / "begun") == first


def hold(root, entered, leave):
    with claimed(root, SETTINGS, 1):
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
        (lambda text: text.replace('"train_sets": 5', '"train_sets": "5"'), "--train-sets"),
        (lambda text: text.replace('"train_sets": 5', '"trains": 5'), "no setting 'trains'"),
    ],
)
def test_a_damaged_record_is_refused(tmp_path, damage, word):
    begin(tmp_path / "a", seed=1)
    record = tmp_path / "a/private/build.json"
    text = damage(record.read_text(encoding="utf-8"))
    record.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnusableInput, match=word):
        begin(tmp_path / "a")


@pytest.mark.parametrize("name", ["two\nlines", "x" * 201])
def test_a_name_that_cannot_be_shown_is_refused(tmp_path, name):
    with pytest.raises(UnusableInput, match="cannot name a competition"):
        begin(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_inputs_are_kept_and_compared(tmp_path):
    root = tmp_path / "a"
    with claimed(root, SETTINGS, 1):
        check_inputs(root, {"--source x": "1", "--classifier y": "2"})
        check_inputs(root, {"--classifier y": "2", "--source x": "1"})
        with pytest.raises(UnusableInput, match="--classifier y has changed since"):
            check_inputs(root, {"--source x": "1", "--classifier y": "3"})
        with pytest.raises(UnusableInput, match="--test-from z has changed since"):
            check_inputs(root, {"--source x": "1", "--classifier y": "2", "--test-from z": "3"})
        add_to_record(root, test=[])
    record = json.loads((root / "private/build.json").read_text())
    assert sorted(record) == ["inputs", "settings", "test", "test_seed"]


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


def test_every_source_with_a_name_has_a_line():
    assert NAMED.keys() == SOURCES.keys()
    for name, licence in NAMED.items():
        assert licences(name, "") == f"{name}: {licence}\n"


def test_paths_have_what_the_organizer_states(tmp_path):
    photos = str(tmp_path / "photos")
    assert licences(photos, "", ("a/val1", "b/val2"), tested=True).splitlines() == [
        "photos: not stated",
        "val1: not stated",
        "val2: not stated",
        "test sets from elsewhere: not stated",
    ]
    stated = licences("glyphs", "CC BY 4.0", ("a/val1",), tested=True)
    assert stated.splitlines()[1:] == ["val1: CC BY 4.0", "test sets from elsewhere: CC BY 4.0"]


def test_the_archive_holds_the_licences(built, tmp_path):
    with zipfile.ZipFile(write_archive(built, tmp_path / "a.zip")) as archive:
        text = archive.read("contest/public/LICENCES.txt").decode()
    assert text == f"glyphs: {NAMED['glyphs']}\n"


def planned(*families):
    return [(f"test_{i:04d}", *key) for i, key in enumerate(families)]


@pytest.mark.parametrize(
    ("families", "most"),
    [
        ([("seen", f"f{i}") for i in range(10)] + [("unseen", f"g{i}") for i in range(10)], 6),
        ([("natural", "a"), ("unseen", "b")], 1),
        ([("natural", "a")] * 3, 1),
        ([("natural", "a"), ("natural", "a"), ("natural", "b")], 2),
    ],
)
def test_every_split_has_a_public_and_a_private_part(families, most):
    for seed in range(20):
        public = public_sets(planned(*families), seed)
        assert 0 < len(public) <= most
        assert len(public) < len(families)


@pytest.mark.parametrize(
    "settings",
    [
        accuracy_settings(),
        accuracy_settings(source="cifar10"),
        accuracy_settings(source="cifar10", group="wide"),
    ],
)
@pytest.mark.parametrize("sets", [100, 101, 137, 400])
def test_a_hundred_sets_have_thirty_public_and_seventy_private_in_every_group_alike(settings, sets):
    like = SimpleNamespace(test_base=range(3000))
    for seed in range(10):
        plan = plan_part(changed(settings, test_sets=sets), "test", like, seed, (), {})
        public = public_sets([each.key for each in plan], seed)
        assert len(public) == round(0.3 * sets) >= 30
        assert sets - len(public) >= 70
        straddling = {entry.family for entry in plan if entry.recipe.name in public} & {
            entry.family for entry in plan if entry.recipe.name not in public
        }
        assert not straddling
        for group in {entry.group for entry in plan}:
            names = [entry.recipe.name for entry in plan if entry.group == group]
            assert 0.15 < len(public.intersection(names)) / len(names) < 0.45


def test_one_large_family_is_worked_around():
    plan = planned(*[("natural", "big")] * 40, *[("natural", f"f{i % 7}") for i in range(60)])
    sizes = {len(public_sets(plan, seed)) for seed in range(20)}
    assert all(20 <= size <= 30 for size in sizes)
