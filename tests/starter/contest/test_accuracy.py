"""Subjects: what methods get of a competition, and what is refused when its files were changed."""

import shutil

import numpy as np
import pytest
import torch
from built import spoil
from rules import with_fields

from starter.contest.accuracy.observe import ClassifierSubject
from starter.observing.observation import unmet
from starter.observing.sets import PublicSets
from submission import UnusableInput
from submission.scoretable import validation_groups


def test_meta_train_is_in_the_order_of_the_sets_and_its_targets_are_their_accuracies(built):
    subject = ClassifierSubject.open(PublicSets(built), "tiny", ("moments", "image_stats"))
    meta = subject.meta_train()
    assert [observation.set_name for observation in meta.sets] == list(built.sets("train"))
    for seen, right, rendering in zip(meta.sets, meta.correct, subject.sets.train, strict=True):
        labels = rendering.recipe.render(rendering.base).labels
        np.testing.assert_array_equal(seen.predicted == labels, right)
    np.testing.assert_allclose(meta.targets, [right.mean() for right in meta.correct], atol=1e-12)
    assert all(1 <= len(family) <= 3 for family in meta.families)
    assert meta.sets[0].moments is not None
    assert meta.sets[0].rotation is None


def test_the_source_is_labelled_its_observation_is_not_and_the_network_is_a_copy(built):
    subject = ClassifierSubject.open(PublicSets(built), "tiny", ())
    source = subject.source
    assert 0.5 < source.accuracy < 1
    assert source.head_weight.shape == (10, 64)
    assert len(source.train_ref) == 1000
    assert not hasattr(source.observation, "labels")
    network, observed = source.classifier.network, subject.observer.classifier  # a method may train its copy
    before = observed(subject.sets.base.images[:10])[0]
    with torch.no_grad():
        network.fc.weight.zero_()
    assert torch.equal(observed(subject.sets.base.images[:10])[0], before)


@pytest.mark.parametrize(
    ("need", "reason"),
    [
        ("peers", "`peers` needs a second classifier, and the competition has one"),
        ("referee", "`referee` needs a competition built with --referee"),
        ("referee_features", "`referee_features` needs a competition built with --referee"),
    ],
)
def test_what_a_competition_was_built_without_is_refused(built, need, reason):
    assert unmet(iter(("moments", need)), built) == reason
    with pytest.raises(UnusableInput, match=f"contest: {reason.replace('--referee', 'referees')}"):
        ClassifierSubject.open(PublicSets(built), "tiny", (need,))
    settings = {**built.settings, "referees": [{"name": "lite0"}]}
    assert unmet(("moments", "referee"), with_fields(built, settings=settings)) == ""


def test_peers_are_the_other_classifiers(contest):
    folder = contest.public / "classifiers"
    shutil.copy(folder / "tiny.safetensors", folder / "twin.safetensors")
    files = {**contest.files, "classifiers/twin.safetensors": contest.files["classifiers/tiny.safetensors"]}
    pair = with_fields(contest, subjects=("tiny", "twin"), files=files)
    assert unmet(("peers",), pair) == ""
    observation = ClassifierSubject.open(PublicSets(pair), "twin", ("peers",)).observations("test")[0]
    assert list(observation.peers) == ["tiny"]
    np.testing.assert_array_equal(observation.peers["tiny"], observation.logits)


@pytest.mark.parametrize(
    "name", ["base.npz", "test/test_0001.npz", "classifiers/tiny.safetensors", "train/recipes.jsonl"]
)
def test_a_changed_file_is_refused_by_name(contest, name):
    path = contest.public / name
    spoil(path, path.read_bytes()[:-1] + b"!")
    with pytest.raises(UnusableInput, match=f"{name} was changed or is damaged"):
        everything(contest)


def everything(competition):
    subject = ClassifierSubject.open(PublicSets(competition), "tiny", ())
    return subject.meta_train(), subject.observations("test")


def test_a_built_competition_tells_the_groups_of_its_validation_sets(built):
    groups = validation_groups(built)
    assert tuple(groups) == built.sets("val")
    assert {group for group, _ in groups.values()} == {"seen", "new", "natural"}
    assert not any("test" in name for name in groups)
