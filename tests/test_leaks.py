"""Public files never determine hidden labels: a participant who knows the source tries to find them."""

import json
import zipfile

import numpy as np
import pytest
from built import fewer_images

from starter.contest.build import build
from starter.data.images.arrays import read_npz
from submission import Competition
from submission.pack import write_archive
from submission.scoring import read_targets
from submission.solution import solution_of

HIDDEN_SEED = 987_654_321


@pytest.fixture(scope="module")
def organizer(settings, tmp_path_factory):
    """A competition with enough test sets to tell a good guess from a bad one."""
    with fewer_images():
        return build(tmp_path_factory.mktemp("organizer") / "contest", settings(test_sets=40), HIDDEN_SEED)


@pytest.fixture(scope="module")
def participant(organizer, tmp_path_factory):
    """What a participant has: the packed archive, unpacked elsewhere."""
    folder = tmp_path_factory.mktemp("participant")
    with zipfile.ZipFile(write_archive(organizer, folder / "contest.zip")) as archive:
        archive.extractall(folder)
    return Competition.open(folder / "contest")


def test_the_archive_holds_nothing_private(organizer, participant):
    assert not participant.private.exists()
    names = {path.name for path in participant.root.iterdir()}
    assert names == {"public", "README.md", "card.md", "croissant.json"}
    files = [path for path in participant.public.rglob("*") if path.is_file() and path.suffix != ".npz"]
    text = b"".join(path.read_bytes() for path in files)
    record = json.loads((organizer.private / "build.json").read_text())
    assert str(HIDDEN_SEED).encode() not in text
    assert str(organizer.root.parent.parent).encode() not in text, "a path of the organizer's"
    assert not any(str(json.loads(entry["recipe"])["seed"]).encode() in text for entry in record["test"])


@pytest.mark.slow
def test_building_again_from_all_that_is_public_does_not_give_the_solution(
    organizer, participant, settings, tmp_path
):
    """The participant knows the code, the settings and the public seed, and builds with test seeds of their own."""
    known = settings(test_sets=40)
    assert participant.settings == known.public()
    truth = np.array([row.prediction for row in solution_of(organizer)])
    constant = np.full(len(truth), np.mean(list(read_targets(participant, "train").values())))
    rebuilt = build(tmp_path / "guess", known, participant.seed)
    stolen = np.array([row.prediction for row in solution_of(rebuilt)])
    assert np.mean((stolen - truth) ** 2) > 0.64 * np.mean((constant - truth) ** 2)
    theirs, mine = (
        {read_npz(each.file(f"test/{name}.npz")).digest for name in each.sets("test")}
        for each in (rebuilt, participant)
    )
    assert not theirs & mine


def test_no_test_set_is_ordered_by_class(organizer):
    """Neighbouring images share a class no more often than chance would have it."""
    record = json.loads((organizer.private / "build.json").read_text())
    from starter.contest.accuracy.plan import render
    from starter.contest.build import load_source
    from starter.contest.plan import PlannedSet
    from starter.data.sets.recipe import Recipe

    base = load_source("glyphs", 0).test_base
    repeats = []
    for entry in record["test"]:
        recipe = Recipe.from_json(entry["recipe"])
        labels = render(PlannedSet(recipe, entry["group"], entry["family"], entry["base"]), base).labels
        shares = np.bincount(labels) / len(labels)
        repeats.append((labels[1:] == labels[:-1]).mean() - (shares**2).sum())
    assert abs(np.mean(repeats)) < 0.03


def test_public_and_private_sets_look_alike(organizer):
    """File sizes and times inside the archives do not depend on what a set is."""
    files = [organizer.file(f"test/{name}.npz") for name in organizer.sets("test")]
    assert len({path.stat().st_size for path in files}) == 1
    for path in files:
        with zipfile.ZipFile(path) as archive:
            assert [entry.date_time for entry in archive.infolist()] == [(1980, 1, 1, 0, 0, 0)]
