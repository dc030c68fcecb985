"""Tests for `starter.shift.prompts`: texts in order, captions' prompts, files of one's own."""

import numpy as np
import pytest
from encoders import hasty_encoder

from starter.encoders import EncoderPair
from starter.shift.prompts import Prompts, caption_prompts, choose_prompts
from submission import UnusableInput

TEXTS: list[str] = []


def remember(texts):
    TEXTS.extend(texts)
    return np.array([[len(text), 1.0] for text in texts])


MINE = EncoderPair("mine", lambda images: np.ones((len(images), 2)), remember)


def test_every_meaning_is_put_into_every_template():
    prompts = Prompts(("cat", "dog"), ("a {}", "{} in fog", "{}"))
    TEXTS.clear()

    found = prompts.features(MINE)

    assert TEXTS == ["a cat", "cat in fog", "cat", "a dog", "dog in fog", "dog"]
    assert found.shape == (2, 3, 2)
    assert prompts.plain(["bird"]) == ["a bird"]


def test_captions_prompts_begin_with_the_meaning_alone():
    phrases = (("cat", "dog"), ("in fog", "in snow"), ("small", "large"))
    found = caption_prompts(phrases, count=6)

    assert found.meanings == ("cat", "dog")
    assert found.covariates[0] == "{}"
    assert len(set(found.covariates)) == 6
    assert found == caption_prompts(phrases, count=6)


def test_captions_with_few_styles_give_what_there_is():
    assert len(caption_prompts((("a", "b"), ("c", "d")), count=150).covariates) == 3


def test_prompts_of_a_command(tmp_path):
    (tmp_path / "labels").write_text("cat\n\ndog\ncat\n")
    (tmp_path / "templates").write_text("a {}\nsmall {}\n")

    own = choose_prompts(hasty_encoder(), ["0", "1"])
    given = choose_prompts(MINE, ["x", "y"], templates=tmp_path / "templates")
    both = choose_prompts(hasty_encoder(), ["0"], tmp_path / "labels", tmp_path / "templates")

    assert own.meanings == ("0", "1")
    assert own.covariates == caption_prompts(hasty_encoder().phrases).covariates
    assert given == Prompts(("x", "y"), ("a {}", "small {}"))
    assert both == Prompts(("cat", "dog"), ("a {}", "small {}"))


@pytest.mark.parametrize(
    ("meanings", "covariates", "problem"),
    [
        (("cat",), ("{}", "a {}"), "two or more meanings"),
        (("cat", "dog"), ("{}",), "two or more covariates"),
        (("cat", "dog"), ("{}", "a photo"), r"the template 'a photo' must have \{\} once"),
    ],
)
def test_prompts_that_part_nothing_are_refused(meanings, covariates, problem):
    with pytest.raises(UnusableInput, match=problem):
        Prompts(meanings, covariates)
