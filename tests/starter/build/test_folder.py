"""Claiming: one build at a time, the same settings and inputs, a record that is checked."""

import json
import multiprocessing
import os
import stat

import pytest

from starter.build.folder import claimed
from starter.build.plan import Settings
from starter.observing.cache import keep_elsewhere
from submission import UnusableInput
from submission.files import write_text

SETTINGS = Settings(train_sets=5)


def begin(root, settings=SETTINGS, seed=None, public=True):
    with claimed(root, settings, seed) as claim:
        if public:
            (root / "public").mkdir(exist_ok=True)
    return claim


def test_the_seed_is_drawn_once_and_kept(tmp_path):
    first = begin(tmp_path / "a")
    assert begin(tmp_path / "a") == first
    assert begin(tmp_path / "b").test_seed != first.test_seed
    assert begin(tmp_path / "c", seed=3).test_seed == 3
    assert stat.S_IMODE(first.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(first.path.parent.stat().st_mode) == 0o700


def test_before_anything_is_public_the_settings_may_change(tmp_path):
    begin(tmp_path / "a", public=False)
    assert begin(tmp_path / "a", Settings(train_sets=6)).settings.train_sets == 6
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
    fail(tmp_path / "mine", lambda: keep_elsewhere(tmp_path / "mine", str(tmp_path / "elsewhere")))
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["elsewhere", "mine"]


def test_what_was_made_or_put_there_by_others_stays(tmp_path):
    for name in ("public/LICENCES.txt", "cache/referee/encoder-0.safetensors"):
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
    assert begin(tmp_path / "a", seed=1).test_seed == 1


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "{",
        lambda text: "{}",
        lambda text: "[1]",
        lambda text: "[" * 100_000,
        lambda text: text.replace('"train_sets": 5', '"train_sets": "5"'),
        lambda text: text.replace('"train_sets": 5', '"trains": 5'),
        lambda text: text.replace('"train_sets": 5', '"train_sets": -5'),
        lambda text: text.replace('"test_seed": 1', '"test_seed": "1"'),
        lambda text: text.replace('"test_seed": 1', '"test_seed": -1'),
        lambda text: text + "\udc80",
    ],
)
def test_a_damaged_record_is_told(tmp_path, damage):
    claim = begin(tmp_path / "a", seed=1)
    text = damage(claim.path.read_text(encoding="utf-8"))
    claim.path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnusableInput, match=r"private/build.json is damaged .*restore it from a copy"):
        begin(tmp_path / "a")


@pytest.mark.parametrize("name", ["two\nlines", "x" * 201])
def test_a_name_that_cannot_be_shown_is_refused(tmp_path, name):
    with pytest.raises(UnusableInput, match="cannot name a competition"):
        begin(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_inputs_are_kept_and_compared(tmp_path):
    with claimed(tmp_path / "a", SETTINGS, 1) as claim:
        claim.check_inputs({"--source x": "1", "--classifier y": "2"})
        claim.check_inputs({"--source x": "1", "--classifier y": "2"})
        with pytest.raises(UnusableInput, match="--classifier y has changed since"):
            claim.check_inputs({"--source x": "1", "--classifier y": "3"})
        with pytest.raises(UnusableInput, match="--test-from z has changed since"):
            claim.check_inputs({"--source x": "1", "--classifier y": "2", "--test-from z": "3"})
        claim.record(test=[])
    assert sorted(json.loads(claim.path.read_text())) == ["inputs", "settings", "test", "test_seed"]


def test_temporary_files_of_a_killed_build_are_removed_wherever_they_are(tmp_path):
    begin(tmp_path / "a")
    strays = [tmp_path / "a" / part / ".x.0.tmp" for part in ("public/train", "private", "cache/logits")]
    for stray in strays:
        stray.parent.mkdir(parents=True, exist_ok=True)
        stray.write_bytes(b"")
    begin(tmp_path / "a")
    assert not any(stray.exists() for stray in strays)
