"""Presets: each is made of options that `unseen build` has, and of settings that can be used."""

import pytest

from starter.build.plan import Settings, plan_train
from starter.build.presets import PRESETS, with_preset
from submission import UnusableInput


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
