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


def test_meta_train_is_in_the_order_of_the_sets(built):
    subject = ClassifierSubject.open(PublicSets(built), "tiny", ("moments", "image_stats"))
    meta = subject.meta_train()
    assert [observation.set_name for observation in meta.sets] == list(built.sets("train"))
    assert [len(right) for right in meta.correct] == list(built.sizes["train"].values())
    assert all(1 <= len(family) <= 3 for family in meta.families)
    assert meta.sets[0].moments is not None
    assert meta.sets[0].rotation is None


def test_the_source_is_labelled_and_its_observation_is_not(built):
    source = ClassifierSubject.open(PublicSets(built), "tiny", ()).source
    assert 0.5 < source.accuracy < 1
    assert source.head_weight.shape == (10, 64)
    assert len(source.train_ref) == 1000
    features_only = source.observation
    assert not hasattr(features_only, "labels")


def test_the_source_holds_a_copy_of_the_network(built):
    """A method may train it; what is observed stays as it is."""
    subject = ClassifierSubject.open(PublicSets(built), "tiny", ())
    network, observed = subject.source.classifier.network, subject.observer.classifier
    before = observed(subject.sets.base.images[:10])[0]
    with torch.no_grad():
        network.fc.weight.zero_()
    assert torch.equal(observed(subject.sets.base.images[:10])[0], before)


def test_a_peer_needs_a_second_classifier(built):
    reason = "`peers` needs a second classifier, and the competition has one"
    assert unmet(("moments", "peers"), built) == reason
    assert unmet(("moments",), built) == ""
    with pytest.raises(UnusableInput, match=f"contest: {reason}"):
        ClassifierSubject.open(PublicSets(built), "tiny", ("peers",))


@pytest.mark.parametrize("need", ["referee", "referee_features"])
def test_a_referee_is_what_the_competition_was_built_with(built, need):
    reason = f"`{need}` needs a competition built with "
    assert unmet(iter(("moments", need)), built) == f"{reason}--referee"
    with pytest.raises(UnusableInput, match=f"contest: {reason}referees"):
        ClassifierSubject.open(PublicSets(built), "tiny", (need,))
    settings = {**built.settings, "referees": [{"name": "lite0"}]}
    assert unmet((need,), with_fields(built, settings=settings)) == ""


def test_peers_are_the_other_classifiers(contest):
    shutil.copy(
        contest.public / "classifiers/tiny.safetensors", contest.public / "classifiers/twin.safetensors"
    )
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
