"""Settings of the OOD track: what is refused, and that a folder remembers them.

Presets: each is made of options that `unseen build` has, and of settings that can be used.
"""

import json

import pytest

from starter.build.plan import Settings, plan_train
from starter.build.settings import PRESETS, MixSettings, read_settings, settings_of, with_preset
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


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_settings_that_can_be_used(name):
    settings = Settings(**PRESETS[name])
    assert len(plan_train(settings)) == settings.train_sets


def test_datacv_is_as_large_as_the_challenge():
    preset = PRESETS["datacv2023"]
    assert (preset["train_sets"], preset["set_size"], preset["test_sets"]) == (1000, 10_000, 100)
    assert [spec.partition("=")[0] for spec in preset["classifiers"]] == ["resnet56", "repvgg_a0"]


def test_what_the_user_gives_goes_before_the_preset():
    options = {"source": "glyphs", "train_sets": 7, "seed": 3}
    assert with_preset(None, options, {"train_sets"}) == options
    found = with_preset("datacv2023", options, {"train_sets"})
    assert (found["source"], found["train_sets"], found["seed"]) == ("cifar10", 7, 3)
    with pytest.raises(UnusableInput, match="--preset 'tiny' is unknown; there are datacv2023, small"):
        with_preset("tiny", options, ())


def test_the_challenge_is_no_preset_of_the_other_track():
    with pytest.raises(
        UnusableInput, match="--preset datacv2023 is of the accuracy track, not of --track ood"
    ):
        with_preset("datacv2023", {}, (), "ood")
    assert with_preset("small", {}, (), "ood")["train_sets"] == 40
