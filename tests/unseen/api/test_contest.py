"""A competition as an object: its tables, its observations, and what a notebook shows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import unseen
from submission import UnusableInput
from submission.scoring import read_targets

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(contest):
    return unseen.open(contest.root)


def test_a_table_has_a_row_a_set_and_the_targets_where_they_are_public(opened):
    train, test = opened.features("train"), opened.features("test")
    assert tuple(train.index) == opened.ids("train")
    assert tuple(test.index) == opened.ids("test")
    assert list(train.columns) == [*test.columns, "target"]
    assert train.target.tolist() == list(read_targets(opened, "train").values())
    assert np.isfinite(train.to_numpy()).all()
    pd.testing.assert_series_equal(opened.targets("train"), train.target)
    LinearRegression().fit(train.drop(columns="target"), train.target).predict(test)


def test_a_table_of_the_ood_track_has_a_row_a_subject_and_mix(ood_contest):
    table = unseen.open(ood_contest.root).features("val")
    assert tuple(table.index) == ood_contest.ids("val")


def test_observations_hold_what_was_asked_for(opened):
    (first, *_), test = opened.observations("val", needs=()), opened.observations("test")
    assert first.features is None
    assert test[0].features.shape == (60, 64)
    assert test[0].moments is not None
    assert len(opened.observations("train")) == 12
    assert opened.meta_train().source.accuracy > 0.3


def test_a_field_that_is_not_there_is_named(opened):
    assert opened.observations("test", needs="features")[0].features is not None
    with pytest.raises(UnusableInput, match="there is no field 'feature': ask for any of moments, features"):
        opened.observations("test", needs=["feature"])
    with pytest.raises(UnusableInput, match="`peers` needs a second classifier, and the competition has one"):
        opened.meta_train(needs=["peers"])


def test_of_several_subjects_one_is_named(ood_contest):
    several = unseen.open(ood_contest.root)
    with pytest.raises(UnusableInput, match="name a subject: one of tiny:msp:fpr95, "):
        several.observations("test")
    assert len(several.observations("test", subject="tiny:msp:auroc")) == 8


@pytest.mark.parametrize("part", ["tests", ""])
def test_an_unknown_part_is_refused(opened, part):
    with pytest.raises(UnusableInput, match="there is no part"):
        opened.features(part)


def test_hidden_targets_stay_hidden(opened):
    with pytest.raises(UnusableInput, match="the targets of 'test' are not public"):
        opened.targets("test")


def test_a_notebook_shows_sizes_and_rules_and_escapes_names(opened):
    shown = opened.model_copy(update={"name": "<b>x</b>", "daily_limit": 5})._repr_html_()
    assert "&lt;b&gt;x&lt;/b&gt;" in shown
    assert "12 sets of 60 images" in shown
    assert "<th>submissions a day</th><td>5</td>" in shown
