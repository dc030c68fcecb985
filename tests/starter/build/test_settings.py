"""Settings: what is refused, that a folder remembers them, and that each is declared in one place."""

import json

import pytest
from asked import accuracy_settings, ood_settings

from starter.build.declared import flag_of, told
from starter.build.presets import PRESETS, preset
from starter.build.settings import (
    PLANS,
    RECORDED,
    AccuracyPlan,
    OodPlan,
    every_field,
    fields_of,
    read_settings,
    settings_of,
)
from submission import UnusableInput


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"detectors": ("msp", "psm")}, "--detector 'psm' is unknown; there are msp"),
        ({"detectors": ("msp", "msp")}, "--detector msp is given twice"),
        ({"detectors": ()}, "at least one --detector"),
        ({"metrics": ("f1",)}, "--metric 'f1' is unknown; there are fpr95"),
        ({"fpr": "own"}, "--fpr must be pool or mix"),
        ({"sizes": (10, 100)}, "--sizes"),
        ({"ratio": "1"}, "--ratio"),
        ({"set_size": 30}, "--set-size"),
        (
            {"recipes": "mine.jsonl"},
            "--recipes is for the accuracy track, and this competition is of the ood track",
        ),
        ({"val_from": ("x",)}, "--val-from is for the accuracy track"),
        ({"hidden": True}, "--hidden needs test images of your own: --test-from PATH for OOD sets and"),
        ({"hidden": True, "test_from": ("x",)}, "and --test-ind PATH for IND images"),
        ({"test_ind": "x"}, "--test-ind belongs to --test-from PATH"),
        ({"test_from": ("x", "y")}, "--test-from: name one folder or zip"),
        ({"test_sets": 1}, "--test-sets must be at least 2"),
        ({"test_sets": 0, "test_from": ("x",)}, "--test-sets must be at least 2"),
        ({"train_sets": "many"}, "--train-sets must be a whole number, got 'many'"),
        ({"train_sets": True}, "--train-sets must be a whole number, got True"),
        ({"nonsense": 1}, "there is no setting 'nonsense'"),
    ],
)
def test_what_cannot_be_built_is_refused(changes, message):
    with pytest.raises(UnusableInput, match=message):
        ood_settings(**changes)


def test_settings_of_the_other_track_and_unknown_tracks_are_refused():
    with pytest.raises(UnusableInput, match="--detector is for the ood track"):
        accuracy_settings(detectors=("msp",))
    with pytest.raises(UnusableInput, match="--track 'x' is unknown"):
        settings_of("x", {})


def test_each_track_has_a_plan_of_its_own():
    assert isinstance(accuracy_settings().plan, AccuracyPlan)
    assert isinstance(ood_settings().plan, OodPlan)


def test_a_subject_is_a_classifier_a_detector_and_a_metric():
    settings = ood_settings(
        classifiers=("small", "b=weights"), detectors=("msp",), metrics=("auroc", "fpr95")
    )
    assert settings.subjects == ("small:msp:auroc", "small:msp:fpr95", "b:msp:auroc", "b:msp:fpr95")
    assert settings.classifier_names == ("small", "b")


@pytest.mark.parametrize(
    "settings", [accuracy_settings(set_size=60), ood_settings(sizes=(50, 800), exclude=("a",))]
)
def test_settings_of_either_track_are_remembered(settings):
    assert read_settings(json.loads(json.dumps(settings.record()))) == settings


def test_a_record_has_the_first_releases_order_and_all_that_it_had():
    record = ood_settings().record()
    assert list(record)[: len(RECORDED)] == list(RECORDED)
    assert (record["group"], record["ops_per_set"], record["val_from"]) == ("default", [], [])
    assert list(accuracy_settings().record())[: len(RECORDED) - 1] == list(RECORDED[1:])


@pytest.mark.parametrize("change", [{"nonsense": 1}, {"set_size": "60"}, {"classifiers": "small"}])
def test_a_record_of_another_version_is_refused(change):
    with pytest.raises(UnusableInput, match="this version has no setting"):
        read_settings({**accuracy_settings().record(), **change})


def test_every_setting_is_told_of_once():
    """A setting's help names no other option, and its option is its own."""
    flags = [flag_of(name, field) for name, field in every_field().items()]
    assert len(set(flags)) == len(flags)
    for name, field in every_field().items():
        assert told(field).help, name
        assert not any(told(field).help.startswith(flag) for flag in flags), name
    common = set.intersection(*(set(fields_of(track)) for track in PLANS))
    assert set(every_field()) == common.union(*(plan.model_fields for plan in PLANS.values()))


@pytest.mark.parametrize(("name", "track"), [(name, track) for name in PRESETS for track in PRESETS[name]])
def test_a_preset_is_settings_that_can_be_used(name, track):
    assert settings_of(track, preset(name, track)).train_sets >= 40


def test_datacv_is_as_large_as_the_challenge():
    chosen = preset("datacv2023", "accuracy")
    assert (chosen["train_sets"], chosen["set_size"], chosen["test_sets"]) == (1000, 10_000, 100)
    assert [spec.partition("=")[0] for spec in chosen["classifiers"]] == ["resnet56", "repvgg_a0"]


def test_a_preset_of_another_track_or_name_is_refused():
    with pytest.raises(
        UnusableInput, match="--preset datacv2023 is of the accuracy track, not of --track ood"
    ):
        preset("datacv2023", "ood")
    with pytest.raises(UnusableInput, match="--preset 'tiny' is unknown; there are datacv2023, small"):
        preset("tiny", "accuracy")
