"""Every way in which a label could be revealed, and every accident of a ranking, is found, graded and named."""

import json
import re
from collections import Counter
from dataclasses import replace

import cv2
import numpy as np
import pytest
from audits import unguessable
from rules import with_fields, with_rules

from starter.contest.audit import (
    ACCIDENTS,
    audit,
    computed_by,
    few_sets,
    near_chance,
    permissions,
    practice,
    rank_warnings,
    shared_patches,
    telling_statistics,
)
from starter.data.images.arrays import read_npz, write_npz
from starter.data.images.imageset import ImageSet
from starter.data.sets.mix import Mix
from starter.observing.cache import place_cache
from starter.observing.sets import PublicSets
from submission import Competition, UnusableInput
from submission.files import sha256
from submission.predictions import write_predictions
from submission.solution import SolutionRow, solution_of, whole_solution, write_solution

PRACTICE = "practice: the test images are public, so that labels can be looked up"


@pytest.fixture
def contest(contest):
    """A copy whose test seed cannot be guessed."""
    unguessable(contest.root)
    return contest


@pytest.fixture
def mixes(ood_contest):
    """The same of the OOD track."""
    unguessable(ood_contest.root)
    return ood_contest


def leaks(competition):
    """The findings on leaks, as "grade: text" with the folder cut off, without those of every practice competition."""
    others = {PRACTICE, *rank_warnings(competition), *(text for _, text in computed_by(competition))}
    found = [f"{grade}: {text}" for grade, text in audit(competition) if text not in others]
    return [line.replace(f"{competition.root}/", "") for line in found]


def saved(competition, **changes):
    """The competition with other fields, as a build would have written it."""
    changed = with_fields(competition, **changes)
    files = {file: sha256(changed.public / file) for file in changed.files}
    with_fields(changed, files=files).save()
    return Competition.open(competition.root)


def with_images(competition, name, images):
    """The competition with other images at the start of a test set."""
    path = competition.public / f"test/{name}.npz"
    write_npz(path, ImageSet(name, np.concatenate([images, read_npz(path).images[len(images) :]])))
    return saved(competition)


def test_a_fresh_build_is_practice_and_no_more(contest):
    assert audit(contest)[0] == ("warning", PRACTICE)
    rows = solution_of(contest)
    write_solution(contest.private / "solution.csv", [replace(rows[0], usage="Ignored"), *rows[1:]])
    assert leaks(saved(contest)) == [], "voided sets are audited too"


def test_open_folders(contest, mixes, tmp_path):
    contest.private.chmod(0o710)
    (contest.root / "cache").chmod(0o750)  # nothing hidden is in it
    assert leaks(contest) == ["error: private is open to others (mode 0710): chmod 700 private"]
    (mixes.root / "cache").chmod(0o750)
    (mixes.root / "cache").rename(tmp_path / "away")
    place_cache(mixes.root, str(tmp_path / "away"))
    assert [text.partition(" is ")[0] for _, text in permissions(mixes)] == [f"{tmp_path}/away"]


def test_a_seed_that_can_be_guessed_and_a_damaged_record(contest):
    record = contest.private / "build.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "test_seed": 2**32 - 1}))
    (found,) = leaks(contest)
    assert found.startswith("error: the test seed is below 2^32")
    record.write_text("{")
    with pytest.raises(UnusableInput, match=r"build\.json"):
        audit(contest)


@pytest.mark.parametrize("around", [100, 5, 2, 1])
def test_base_images_of_several_test_sets(contest, around):
    """Test sets take turns: every so many, the base images come round again."""
    record = contest.private / "build.json"
    known = json.loads(record.read_text())
    origins = [test["base"] for test in known["test"] if test["base"]["kind"] == "turn"]
    for origin in origins:
        origin["turns"] = around
    record.write_text(json.dumps(known))
    turns = [origin["turn"] for origin in origins]
    assert len(turns) > 5
    most = max(Counter(turn % around for turn in turns).values())
    warned = [text.partition(", ")[0] for _, text in practice(contest) if text != PRACTICE]
    assert warned == [f"each base image stands in {most} of {len(turns)} test sets"] * (most > 1)


def test_files_that_the_build_did_not_write_and_links_in_public(contest):
    (contest.public / "notes.txt").write_text(
        "".join(f"{row.id},{row.prediction}\n" for row in solution_of(contest))
    )
    (contest.public / "link.csv").symlink_to(contest.private / "solution.csv")
    (contest.public / "loop").symlink_to(contest.public / "loop")
    assert leaks(contest) == [
        "error: public/link.csv leads into private: remove the link",
        "error: public/notes.txt is not part of the competition: remove it",
    ]


@pytest.mark.parametrize(
    ("count", "visibility", "grade"),
    [(3, "practice", "warning"), (4, "practice", "error"), (1, "hidden", "error")],
)
def test_public_images_in_a_test_set(contest, count, visibility, grade):
    images = read_npz(contest.public / "reference.npz").images[:count]
    (found,) = leaks(saved(with_images(contest, "test_0005", images), visibility=visibility))
    assert found.startswith(
        f"{grade}: {count} of the 60 images of test set test_0005 stand in public/reference"
    )


def test_images_in_two_test_mixes_are_an_error(mixes):
    first, second = mixes.sets("test")[:2]
    found = leaks(with_images(mixes, second, read_npz(mixes.file(f"test/{first}.npz")).images[:5]))
    (error,) = [line for line in found if line.startswith("error")]
    assert error.startswith(
        "error: 5 images of a mix and fewer, in 2 of 8 test mixes, stand in other test mixes"
    )


def is_ood(competition, name):
    """True for the OOD images of a test mix, by the private record."""
    tests = json.loads((competition.private / "build.json").read_text())["test"]
    (mix,) = (mix for mix in (Mix.from_json(test["recipe"]) for test in tests) if mix.name == name)
    return mix.rows(mix.ind, mix.ood)[1]


def test_crops_of_one_photograph_in_two_mixes_are_named_and_only_these(mixes):
    assert list(shared_patches(mixes)) == []
    scene = np.random.default_rng(0).integers(256, size=(64, 64, 3), dtype=np.uint8)
    for name, count in (("test_0001", 3), ("test_0002", 2)):
        images = read_npz(mixes.file(f"test/{name}.npz")).images.copy()
        for number, row in enumerate(np.flatnonzero(is_ood(mixes, name))[:count]):
            images[row] = scene[number : number + 32, 3 * number : 3 * number + 32]
        mixes = with_images(mixes, name, images)
    assert [text.split(" share")[0] for _, text in shared_patches(mixes)] == [
        "3 OOD images of test mix test_0001",
        "2 OOD images of test mix test_0002",
    ]


def test_png_against_jpeg_is_told_by_statistics(mixes):
    """All images are of one kind; the IND images were then compressed by JPEG."""
    rng, sets = np.random.default_rng(0), mixes.sets("test")
    images = {name: rng.integers(256, size=(80, 32, 32, 3), dtype=np.uint8) for name in sets}
    images = {name: np.stack([cv2.GaussianBlur(each, (0, 0), 2) for each in images[name]]) for name in sets}
    for name in sets:
        mixes = with_images(mixes, name, images[name])
    assert list(telling_statistics(mixes)) == []
    for name in sets:
        for row in np.flatnonzero(~is_ood(mixes, name)):
            encoded = cv2.imencode(".jpg", images[name][row], (cv2.IMWRITE_JPEG_QUALITY, 85))[1]
            images[name][row] = cv2.imdecode(encoded, cv2.IMREAD_COLOR)
        mixes = with_images(mixes, name, images[name])
    found = {text.partition(" alone")[0]: text for _, text in telling_statistics(mixes)}
    assert float(found["change by JPEG at quality 85"].partition("AUC ")[2][:5]) > 0.95


# Accidents of rankings

ROWS = 40


@pytest.fixture
def sensible(fields):
    """Forty test sets of ten families and two sources, half of them public, one decimal."""
    names = [f"test_{i:04d}" for i in range(ROWS)]
    sizes = {**fields["sizes"], "test": dict.fromkeys(names, 400)}
    competition = Competition(**{**fields, "sizes": sizes, "subjects": ("cnn",), "decimals": 1})
    rows = [
        SolutionRow(f"cnn/{name}", 0.2 + 0.6 * i / ROWS, ("Public", "Private")[i % 2], "cnn", name, "natural")
        for i, name in enumerate(names)
    ]
    write_solution(competition.private / "solution.csv", rows)
    tests = [
        {"recipe": json.dumps({"name": name}), "family": f"f{i // 2 % 10}", "group": "natural"}
        for i, name in enumerate(names)
    ]
    (competition.private / "build.json").write_text(json.dumps({"test": tests}))
    for part in ("train", "val"):
        targets = dict(zip(competition.ids(part), (0.3, 0.7), strict=True))
        write_predictions(competition.public / part / "targets.csv", targets, column="target")
    return saved(competition, files=dict.fromkeys(("train/targets.csv", "val/targets.csv"), "0" * 64))


def accidents(competition):
    """The warnings that need no classifier."""
    return [text for check in ACCIDENTS for text in check(competition)]


def test_digits_that_the_public_rows_do_not_allow(sensible):
    (found,) = accidents(with_rules(sensible, decimals=2))
    assert "about 3.2 points" in found
    assert found.endswith("build with --decimals 1")


def test_one_source_and_few_families(sensible):
    path = sensible.private / "build.json"
    path.write_text(path.read_text().replace('"family": "f', '"family": "svhn", "x": "f'))
    families, source = accidents(sensible)
    assert "final ranks: 1, fewer than 10: scores have no interval" in families
    assert source.startswith("all 40 natural test sets come from one collection, svhn")


@pytest.mark.parametrize("groups", [1, 2])
def test_a_family_in_two_groups_counts_as_two_as_on_the_board(sensible, groups):
    path = sensible.private / "build.json"
    path.write_text(re.sub(r'"f([5-9])"', lambda found: f'"f{int(found[1]) - 5}"', path.read_text()))
    rows = [replace(row, group=str(i // 10 % groups)) for i, row in enumerate(whole_solution(sensible))]
    write_solution(sensible.private / "solution.csv", rows)
    sensible.save()
    assert ["final ranks: 5" in text for text in few_sets(sensible)] == [True] * (2 - groups)


@pytest.mark.parametrize("track", ["competition", "ood_competition"])
def test_truths_that_hardly_spread_and_few_sets(track, request):
    competition = request.getfixturevalue(track)
    rows = [
        replace(row, prediction=0.5 + 0.01 * (i % 2)) for i, row in enumerate(whole_solution(competition))
    ]
    write_solution(competition.private / "solution.csv", rows)
    competition.save()
    found = accidents(competition)
    assert "(they spread by 0.5 points" in found[0]
    assert ("OOD sets (--ood)" in found[0]) == (track == "ood_competition")
    if track == "competition":
        assert found[1].startswith("public sets: 2, fewer than 10: the public order is an accident")
        (told, *_) = few_sets(with_rules(competition, visibility="hidden"))
        assert "fewer than 10: there are no scores before the end" in told


def test_a_classifier_near_chance(contest):
    assert list(near_chance(contest)) == []
    reference = PublicSets(contest).reference
    wrong = replace(reference, labels=(reference.labels + 1) % len(contest.classes))
    write_npz(contest.public / "reference.npz", wrong)
    (found,) = near_chance(saved(contest))
    assert found.startswith("classifier tiny is right on ")
