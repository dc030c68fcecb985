"""Every way in which a label could be told is found, graded and named; a fresh build has none but being practice."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest
from audits import unguessable

from starter.competition.accuracy import ClassifierSubject
from starter.competition.audit import alike_neighbours, audit
from starter.competition.sets import PublicSets
from starter.images.arrays import read_npz, write_npz
from starter.images.imageset import ImageSet
from starter.observing.cache import keep_elsewhere
from submission import Competition, UnusableInput, write_solution
from submission.files import sha256
from submission.solution import solution_of


@pytest.fixture
def contest(contest):
    """A copy whose test seed is none to guess."""
    unguessable(contest.root)
    return contest


PRACTICE = "practice: the test images are public, so that labels can be looked up"


def told(competition):
    """The findings but for that of every practice competition, as "grade: text" with the folder cut off."""
    found = [f"{each.grade}: {each.text}".replace(f"{competition.root}/", "") for each in audit(competition)]
    return [line for line in found if PRACTICE not in line]


def saved(competition, **changes):
    """The competition with other fields, as a build would have written it."""
    changed = replace(competition, **changes)
    files = {file: sha256(changed.public / file) for file in changed.files}
    replace(changed, files=files).save()
    return Competition.open(competition.root)


def with_images(competition, name, images):
    """The competition whose test set `name` shows other images."""
    write_npz(competition.public / f"test/{name}.npz", ImageSet(name, images))
    sizes = {**competition.sizes, "test": {**competition.sizes["test"], name: len(images)}}
    return saved(competition, sizes=sizes)


def renamed(competition, names):
    """The competition whose test sets have other names, in the order of `names` {old: new}."""
    rows = {row.set: row for row in solution_of(competition)}
    (subject,) = competition.subjects
    solution = [replace(rows[old], set=new, id=f"{subject}/{new}") for old, new in names.items()]
    files = [file for file in competition.files if not file.startswith("test/")]
    for old, new in names.items():
        (competition.public / f"test/{old}.npz").rename(competition.public / f"test/~{new}.npz")
    for new in names.values():
        (competition.public / f"test/~{new}.npz").rename(competition.public / f"test/{new}.npz")
        files.append(f"test/{new}.npz")
    write_solution(competition.private / "solution.csv", solution)
    sizes = {new: competition.sizes["test"][old] for old, new in names.items()}
    return saved(
        competition, sizes={**competition.sizes, "test": sizes}, files=dict.fromkeys(files, "0" * 64)
    )


def test_a_fresh_build_is_practice_and_nothing_worse(contest):
    assert [(each.grade, each.text) for each in audit(contest)] == [("warning", PRACTICE)]


def test_voided_sets_are_audited_too(contest):
    rows = solution_of(contest)
    write_solution(contest.private / "solution.csv", [replace(rows[0], usage="Ignored"), *rows[1:]])
    assert told(saved(contest)) == []


def test_it_needs_the_organizers_copy(contest, tmp_path):
    contest.private.rename(tmp_path / "away")
    with pytest.raises(UnusableInput, match="only the organizer"):
        audit(contest)


@pytest.mark.parametrize("mode", [0o755, 0o710])
def test_an_open_private_folder(contest, mode):
    contest.private.chmod(mode)
    assert told(contest) == [f"error: private is open to others (mode {mode:04o}): chmod 700 private"]


def test_an_open_cache_of_mixes(ood_contest, contest, tmp_path):
    unguessable(ood_contest.root)
    assert told(ood_contest) == []
    (ood_contest.root / "cache").chmod(0o750)
    assert told(ood_contest) == ["error: cache is open to others (mode 0750): chmod 700 cache"]
    (contest.root / "cache").chmod(0o750)  # nothing hidden is in it
    assert told(contest) == []
    (ood_contest.root / "cache").rename(tmp_path / "away")
    keep_elsewhere(ood_contest.root, str(tmp_path / "away"))
    assert told(ood_contest) == [
        f"error: {tmp_path}/away is open to others (mode 0750): chmod 700 {tmp_path}/away"
    ]


def test_a_seed_that_can_be_guessed_and_a_missing_record(contest):
    record = contest.private / "build.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "test_seed": 2**32 - 1}))
    (found,) = told(contest)
    assert (
        found
        == "error: the test seed is below 2^32 and can be guessed: build another folder without --test-seed"
    )
    record.write_text("{}")
    with pytest.raises(UnusableInput, match=r"build\.json is damaged: restore it from a backup"):
        audit(contest)
    record.unlink()
    assert told(contest) == ["warning: private/build.json is missing: recipes and seeds were not looked for"]


def as_csv(rows):
    return "".join(f"{row.id},{row.prediction}\n" for row in rows)


def as_json(rows):
    return json.dumps({row.set: row.prediction for row in reversed(rows)}, indent=1)


def as_answer(rows):
    return "".join(f"{row.prediction:.6f}\n" for row in rows)


@pytest.mark.parametrize("form", [as_csv, as_json, as_answer])
def test_targets_of_test_sets_in_public(contest, form):
    (contest.public / "notes.txt").write_text(form(solution_of(contest)))
    assert told(contest) == [
        "error: public/notes.txt holds hidden targets of test sets: remove it",
        "warning: public/notes.txt is not part of the competition: remove it",
    ]


def test_predictions_and_samples_are_no_targets(contest):
    rng = np.random.default_rng(0)
    values = rng.random(12)
    text = "".join(f"{name},{value}\n" for name, value in zip(contest.ids("test"), values, strict=True))
    (contest.public / "predictions.csv").write_text(text)
    assert told(contest) == ["warning: public/predictions.csv is not part of the competition: remove it"]


def test_recipes_of_test_sets_and_their_sources_in_public(contest):
    record = contest.private / "build.json"
    document = json.loads(record.read_text())
    (contest.public / "test.jsonl").write_text(document["test"][3]["recipe"])
    document["settings"]["test_from"] = ["/data/sketches"]
    record.write_text(json.dumps(document))
    (contest.public / "notes.md").write_text("made of /data/sketches")
    assert told(contest) == [
        "error: public/test.jsonl holds a seed of the test sets: remove it",
        "warning: public/notes.md is not part of the competition: remove it",
        "warning: public/test.jsonl is not part of the competition: remove it",
        "warning: public/notes.md says where test images come from (--test-from)",
    ]


def test_a_link_into_private(contest):
    (contest.public / "link.csv").symlink_to(contest.private / "solution.csv")
    (contest.public / "loop").symlink_to(contest.public / "loop")
    assert told(contest) == ["error: public/link.csv leads into private: remove the link"]


def test_labels_beside_the_images_of_a_test_set(contest):
    path = contest.public / "test/test_0002.npz"
    write_npz(path, replace(read_npz(path), labels=np.zeros(60, np.int64)))
    found = told(saved(contest))
    assert found == ["error: public/test/test_0002.npz holds labels.npy besides the images: build again"]


def test_telling_names(contest):
    names = {name: name for name in contest.sets("test")}
    names["test_0001"], names["test_0002"] = "hard", "NATURAL-7"
    assert told(renamed(contest, names)) == [
        "error: test set 'NATURAL-7': its name tells 'natural'",
        "warning: test set 'hard': its name is not neutral, as test_0001 is",
    ]


@pytest.mark.parametrize(
    ("what", "key"), [("group", lambda row: row.group), ("target", lambda row: row.prediction)]
)
def test_a_telling_order(contest, what, key):
    ordered = sorted(solution_of(contest), key=key)
    names = {row.set: f"test_{number:04d}" for number, row in enumerate(ordered, start=1)}
    assert told(renamed(contest, names)) == [
        f"error: the order of the test sets tells their {what}: shuffle them, build again"
    ]


def test_telling_sizes(contest):
    for row in solution_of(contest):
        if row.group == "natural":
            images = read_npz(contest.public / f"test/{row.set}.npz").images[:40]
            contest = with_images(contest, row.set, images)
    text = "the number of images tells which test sets are {}: use one size"
    assert sorted(told(contest)) == sorted(
        f"warning: {text.format(group)}"
        for group in {row.group for row in solution_of(contest)}
        if group == "natural"
    )


@pytest.mark.parametrize(
    ("count", "visibility", "grade"),
    [(3, "practice", "warning"), (4, "practice", "error"), (1, "hidden", "error")],
)
def test_public_images_in_a_test_set(contest, count, visibility, grade):
    images = read_npz(contest.public / "test/test_0005.npz").images.copy()
    images[:count] = read_npz(contest.public / "reference.npz").images[:count]
    changed = saved(with_images(contest, "test_0005", images), visibility=visibility)
    assert told(changed) == [
        f"{grade}: {count} of the 60 images of test set test_0005 stand in public/reference.npz, pixel for pixel: "
        "take them out, build again"
    ]


def test_images_of_one_colour_come_from_anywhere(contest):
    images = read_npz(contest.public / "test/test_0005.npz").images.copy()
    images[:9] = np.array([255, 0, 7], np.uint8)
    write_npz(contest.public / "train_ref.npz", ImageSet("train_ref", images[:9]))
    assert told(with_images(contest, "test_0005", images)) == []


def test_images_in_the_order_of_their_classes(contest):
    subject = ClassifierSubject.open(PublicSets(contest), "tiny", ())
    observed = {each.set_name: each for each in subject.observations("test", progress=False)}
    name = max(
        observed, key=lambda name: -np.bincount(observed[name].predicted).max()
    )  # of the most even classes
    order = np.argsort(observed[name].predicted, kind="stable")
    contest = with_images(contest, name, read_npz(contest.public / f"test/{name}.npz").images[order])
    (found,) = told(contest)
    assert found.startswith(f"error: test set {name}: its images stand in the order of classes (")


def test_chance_alone_is_no_order():
    rng = np.random.default_rng(0)
    found = [alike_neighbours(rng.integers(10, size=500)) for _ in range(400)]
    assert abs(np.mean(found)) < 0.2
    assert 0.8 < np.std(found) < 1.2
    assert alike_neighbours(np.zeros(9, np.int64)) == alike_neighbours(np.arange(2)) == 0


def test_a_leaderboard_that_does_not_say_practice(contest):
    (contest.root / "leaderboard.html").write_text("<h1>Results</h1>")
    assert told(contest) == [
        "error: leaderboard.html does not say that this is practice: run `unseen leaderboard`"
    ]
    from leaderboard import publish

    publish(contest)
    assert told(contest) == []


def test_what_is_no_text_is_not_searched(contest):
    (contest.public / "fifo.txt").unlink(missing_ok=True)
    os.mkfifo(contest.public / "fifo.txt")
    assert told(contest) == []
