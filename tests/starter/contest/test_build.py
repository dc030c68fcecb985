"""Building: what a folder holds, that it is true, and that an interruption changes nothing."""

import json
import re
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from built import contents, spoil
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from leaderboard.solutions import corrected, of_corrected_images
from starter.contest import build as build_module
from starter.contest.accuracy import observe as observe_module
from starter.contest.accuracy.observe import ClassifierSubject
from starter.contest.accuracy.plan import render
from starter.contest.audit import few_sets
from starter.contest.build import build, dry_run
from starter.contest.plan import PlannedSet
from starter.contest.record import read_record
from starter.data.images.arrays import read_npz
from starter.data.sets.recipe import Recipe
from starter.observing.sets import PublicSets
from submission import Competition, UnusableInput
from submission.solution import read_images, solution_of

SEED = 11


def files_of(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(root).items() if not name.endswith(".sqlite")}


def test_the_folder_holds_what_the_design_says(built):
    names = contents(built.root).keys()
    public = {name.removeprefix("public/") for name in names if name.startswith("public/")}
    assert public == {
        *("competition.json", "base.npz", "reference.npz", "train_ref.npz", "sample_submission.csv"),
        *("classifiers/tiny.safetensors", "train/recipes.jsonl", "train/targets.csv", "val/targets.csv"),
        *("val/groups.csv", "LICENCES.txt"),
        *(f"val/{name}.npz" for name in built.sets("val")),
        *(f"test/{name}.npz" for name in built.sets("test")),
    }
    private = {f"private/{name}" for name in (".lock", "build.json", "images.npz", "solution.csv")}
    assert {name for name in names if name.startswith("private/")} == private
    assert stat.S_IMODE(built.private.stat().st_mode) == 0o700
    assert set(built.files) == public - {"competition.json"}
    for name in (name for name in built.files if name.endswith(".npz")):
        labelled = name in ("base.npz", "reference.npz") or name.startswith("val/")
        assert (read_npz(built.file(name)).labels is not None) == labelled, "what methods learn from, no test"


def test_a_dry_run_tells_images_and_disk_and_warns_as_the_audit_does(built, settings):
    cost, (noise, *others) = dry_run(settings())
    assert noise.startswith("test sets of 60 images: chance moves their true values by about 6 points")
    drawn = re.compile(r"ranks: \d")  # other draws have other families
    assert [drawn.sub("", each) for each in others] == [drawn.sub("", each) for each in few_sets(built)]
    assert dry_run(settings(set_size=100, test_sets=40))[1] == []
    images, size = (float(number.replace(",", "")) for number in re.findall(r"[\d,]+", cost))
    sets = sum(sum(sizes.values()) for sizes in built.sizes.values())
    shown = [len(read_npz(built.file(f"{name}.npz"))) for name in ("base", "reference", "train_ref")]
    assert images == sets + sum(shown[1:])
    written = sum(len(data) for data in files_of(built.root.parent / "fresh").values()) / 1e6
    assert written - 0.5 <= size <= 1.5 * written  # the text has whole MB


def test_the_solution_is_true(built):
    """Render the test sets again from the private record, and compare images and accuracy."""
    record = json.loads((built.private / "build.json").read_text())
    base = build_module.load_source("glyphs", 0).test_base
    subject = ClassifierSubject.open(PublicSets(built), "tiny", ())
    observed = {observation.set_name: observation for observation in subject.observations("test")}
    for entry, row in zip(record["test"], solution_of(built), strict=True):
        recipe = Recipe.from_json(entry["recipe"])
        rendered = render(PlannedSet(recipe, entry["group"], entry["family"], entry["base"]), base)
        np.testing.assert_array_equal(read_npz(built.file(f"test/{row.set}.npz")).images, rendered.images)
        assert (observed[row.set].predicted == rendered.labels).mean() == row.prediction
        assert row.group == entry["group"]


def test_corrected_image_labels_give_the_accuracies(noisy, tmp_path):
    truth = {row.id: row.prediction for row in solution_of(noisy)}
    known = read_images(noisy)
    for name, value in truth.items():
        assert value == (known[name] == known[name.partition("/")[2]]).mean()
    places = [int(np.flatnonzero(known["test_0001"] != label)[label]) for label in range(3)]
    file = tmp_path / "images.csv"
    file.write_text("set,image,class\n" + f"test_0001,{places[0]},b\ntest_0001,{places[2]},2\n")
    classes = known["test_0001"].copy()
    classes[places[0]], classes[places[2]] = 0, 2
    _, found = of_corrected_images(noisy, [file])
    assert found == {
        f"{subject}/test_0001": (known[f"{subject}/test_0001"] == classes).mean()
        for subject in ("net", "net2")
    }
    assert {row.prediction for row in corrected(noisy, solution_of(noisy), found, ())} >= {*found.values()}
    for row in ("train_0001,0,b", "test_0001,50,b", "test_0001,-1,b", "test_0001,0,e"):
        file.write_text(f"set,image,class\n{row}\n")
        with pytest.raises(UnusableInput, match="line 2: "):
            of_corrected_images(noisy, [file])


def test_an_interrupted_build_goes_on_to_the_same_files(built, settings, tmp_path, monkeypatch):
    """Stopped while rendering, while observing and while writing targets; then finished."""
    root = tmp_path / "contest"
    for module, function, calls in (
        (build_module, "write_npz", 10),
        (observe_module, "make_id", 5),
        (build_module, "write_sample", 0),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, function, interrupt_after(calls, getattr(module, function)))
            with pytest.raises(KeyboardInterrupt):
                build(root, settings(), SEED)
        with pytest.raises(UnusableInput, match="unseen build"):
            Competition.open(root)
    build(root, settings(), SEED)
    expected, found = files_of(built.root), files_of(root)
    assert not [name for name in expected.keys() - found.keys() if not name.startswith("cache/")]
    assert [name for name in found if expected[name] != found[name]] == []


def interrupt_after(calls, function):
    left = iter([False] * calls)

    def wrapped(*args, **kwargs):
        if next(left, True):
            raise KeyboardInterrupt
        return function(*args, **kwargs)

    return wrapped


def test_a_base_too_small_for_the_sets_is_refused_before_anything_is_made(settings, tmp_path):
    asked = settings(set_size=2000)
    for act in (lambda: build(tmp_path / "contest", asked), lambda: dry_run(asked)):
        with pytest.raises(UnusableInput, match="of 2,000 each: use set_size 1000"):
            act()
    assert not (tmp_path / "contest/public").exists()


def natural(path, built, keep, own=None):
    """60 images of some classes, none of them public: one grey level off those of the base, but for `own`."""
    images = read_npz(built.file("base.npz"))
    chosen = np.flatnonzero(keep(images.labels))[:60]
    pixels = np.bitwise_xor(images.images[chosen], 1)
    pixels[:own] = images.images[chosen][:own] if own else pixels[:own]
    np.savez(path, images=pixels, labels=images.labels[chosen])
    return str(path)


def test_natural_sets_of_ones_own_and_hidden(built, settings, tmp_path):
    (tmp_path / "again").mkdir()
    paths = tuple(
        natural(tmp_path / f"{name}.npz", built, lambda labels, most=most: labels < most)
        for name, most in (("few", 3), ("a_1", 10), ("again/a_1", 10))
    )
    asked = settings(test_sets=0, test_from=paths, hidden=True)
    with pytest.raises(UnusableInput, match=r"the test seed is below 2\^32"):
        build(tmp_path / "contest", asked, SEED)
    competition = build(tmp_path / "contest", asked, SEED + 2**32, reads=("grey", "peers"))
    assert len(list((competition.root / "cache/grey").iterdir())) == 12 + 6 + 3 + 2, "all sets and references"
    families = Counter(test["family"] for test in read_record(competition.root)["test"])
    assert families == {"few": 1, "a_1": 2}, "sets of one name are one family"
    assert competition.visibility == "hidden"
    assert {row.group for row in solution_of(competition)} == {"natural", "natural-few"}
    assert "test_from" not in competition.settings
    assert str(tmp_path) not in (competition.public / "competition.json").read_text()


def test_a_finished_competition_is_never_built_again(contest, settings, monkeypatch):
    """Not even where the weights behind the same path have changed: the solution stays what it was scored with."""
    monkeypatch.setattr(build_module, "load_source", interrupt_after(0, None))
    assert build(contest.root, settings()) == contest
    spoil(contest.public / "base.npz")
    with pytest.raises(UnusableInput, match="was changed or is damaged"):
        build(contest.root, settings())


def test_test_images_that_are_public_are_refused_or_told(built, settings, tmp_path, capsys):
    """One image of 60: where images are hidden it is refused, else told; more than a twentieth is refused."""
    one, ten, none = (
        natural(tmp_path / f"{own}.npz", built, lambda labels: labels >= 0, own) for own in (1, 10, None)
    )
    with pytest.raises(UnusableInput, match="1 of its 60 images are public with labels, in meta_base; take"):
        build(tmp_path / "a", settings(test_sets=0, test_from=(one, none), hidden=True), 2**62)
    with pytest.raises(UnusableInput, match=f"test_from {ten}: 10 of its 60 images"):
        build(tmp_path / "b", settings(test_from=(ten,)), SEED)
    copy = natural(tmp_path / "copy.npz", built, lambda labels: labels >= 0)
    with pytest.raises(UnusableInput, match=f"60 of its 60 images are public with labels, in {none}"):
        build(tmp_path / "c", settings(test_from=(copy,), val_from=(none,)), SEED)
    build(tmp_path / "d", settings(val_sets=0, test_sets=2, train_sets=2, test_from=(one,)), SEED)
    assert "warning: --test-from" in capsys.readouterr().err


def test_weights_that_changed_since_an_interruption_are_refused(weights, settings, tmp_path, monkeypatch):
    mine = tmp_path / "mine.safetensors"
    mine.write_bytes(weights.read_bytes())
    asked = settings(classifiers=(f"tiny={mine}",))
    with monkeypatch.context() as patch:
        patch.setattr(build_module, "write_npz", interrupt_after(7, build_module.write_npz))
        with pytest.raises(KeyboardInterrupt):
            build(tmp_path / "contest", asked, SEED)
    changed = load_file(mine)
    changed["fc.bias"] += 1
    save_file(changed, mine, metadata=safe_open(mine, "numpy").metadata())
    with pytest.raises(UnusableInput, match="classifiers tiny has changed since"):
        build(tmp_path / "contest", asked, SEED)


def test_the_advice_on_a_broken_seal_brings_back_what_was_built(contest, settings):
    solution, description = contest.private / "solution.csv", contest.public / "competition.json"
    before = solution.read_bytes(), description.read_bytes()
    solution.write_bytes(before[0].replace(b"Public", b"Private", 1))
    description.unlink()
    build(contest.root, settings())
    assert (solution.read_bytes(), description.read_bytes()) == before
    assert solution_of(Competition.open(contest.root))
