"""Settings of the OOD track: what is refused, and that a folder remembers them."""

import json

import pytest

from starter.build.plan import Settings
from starter.build.settings import MixSettings, read_settings, settings_of
from submission import UnusableInput


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"detectors": ("msp", "psm")}, "--detector 'psm' is unknown; there are msp"),
        ({"detectors": ("msp", "msp")}, "--detector msp stands there twice"),
        ({"detectors": ()}, "at least one --detector"),
        ({"metrics": ("f1",)}, "--metric 'f1' is unknown; there are fpr95"),
        ({"fpr": "own"}, "--fpr must be pool or mix"),
        ({"sizes": (10, 100)}, "--sizes"),
        ({"ratio": "1"}, "--ratio"),
        ({"set_size": 30}, "--set-size"),
        ({"recipes": "mine.jsonl"}, "--recipes is of the accuracy track"),
        ({"val_from": ("x",)}, "--val-from is of the accuracy track: validation mixes are made from --ood"),
        ({"hidden": True}, "--hidden needs test images of your own: --test-from PATH for OOD sets and"),
        ({"hidden": True, "test_from": ("x",)}, "and --test-ind PATH for IND images"),
        ({"test_ind": "x"}, "--test-ind belongs to --test-from PATH"),
        ({"test_from": ("x", "y")}, "--test-from: name one folder or zip"),
        ({"test_sets": 1}, "--test-sets must be at least 2"),
        ({"test_sets": 0, "test_from": ("x",)}, "--test-sets must be at least 2"),
    ],
)
def test_what_cannot_be_built_is_refused(changes, message):
    with pytest.raises(UnusableInput, match=message):
        MixSettings(**changes)


def test_a_subject_is_a_classifier_a_detector_and_a_metric():
    settings = MixSettings(classifiers=("small", "b=weights"), detectors=("msp",), metrics=("auroc", "fpr95"))
    assert settings.subjects == ("small:msp:auroc", "small:msp:fpr95", "b:msp:auroc", "b:msp:fpr95")
    assert settings.classifier_names == ("small", "b")


@pytest.mark.parametrize("settings", [Settings(set_size=60), MixSettings(sizes=(50, 800), exclude=("a",))])
def test_settings_of_either_track_are_remembered(settings):
    assert read_settings(json.loads(json.dumps(settings.record()))) == settings


def test_options_of_the_other_track_are_refused_only_where_they_were_given():
    options = {"ood": "", "group": "default", "datacv_splits": False, "set_size": 100}
    assert isinstance(settings_of("ood", options, {"set_size"}), MixSettings)
    assert type(settings_of("accuracy", options, {"set_size"})) is Settings
    with pytest.raises(UnusableInput, match="--ood is of the ood track"):
        settings_of("accuracy", options, {"ood"})
    with pytest.raises(UnusableInput, match="--detector is of the ood track"):
        settings_of("accuracy", {**options, "detectors": ("msp",)}, {"detectors"})
    with pytest.raises(UnusableInput, match="--group is of the accuracy track"):
        settings_of("ood", options, {"group"})
    with pytest.raises(UnusableInput, match="--track 'x' is unknown"):
        settings_of("x", {})
