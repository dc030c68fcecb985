"""Prompts: the texts on which LAID is trained, every meaning with every covariate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.encoders import Encoder, TwoTowerEncoder
from starter.encoders.clip import clip_templates
from submission.errors import UnusableInput
from submission.files import read_text
from submission.random import PROMPTS

_TEXTS = 1000
COVARIATES = 150


@dataclass(frozen=True)
class Prompts:
    """Texts of all combinations of meanings and covariates.

    Attributes:
        meanings: At least 2 names of classes, such as "the digit 7"; s is their number.
        covariates: At least 2 templates with one "{}" for the meaning, such as "a drawing of {}"; c is their
            number.

    Raises:
        UnusableInput: There are too few, or a template has no "{}".
    """

    meanings: tuple[str, ...]
    covariates: tuple[str, ...]

    def __post_init__(self) -> None:
        if min(len(self.meanings), len(self.covariates)) < 2:
            raise UnusableInput("LAID needs two or more meanings and two or more covariates")
        for template in self.covariates:
            if template.count("{}") != 1:
                raise UnusableInput(f"the template {template!r} must have {{}} once, where the meaning goes")

    def plain(self, classes: Sequence[str]) -> list[str]:
        """Returns the first template filled with each class, for zero-shot classification."""
        return [self.covariates[0].replace("{}", name) for name in classes]

    def features(self, encoder: Encoder, progress: bool = False) -> NDArray[np.float32]:
        """Returns the encoder's features of every text, float32 (s, c, l), l their dimension."""
        texts = [cov.replace("{}", meaning) for meaning in self.meanings for cov in self.covariates]
        starts = tqdm(range(0, len(texts), _TEXTS), desc="texts", disable=None if progress else True)
        rows = np.concatenate([encoder.encode_texts(texts[start : start + _TEXTS]) for start in starts])
        return rows.reshape(len(self.meanings), len(self.covariates), -1)


def caption_prompts(phrases: Sequence[Sequence[str]], seed: int = 0, count: int = COVARIATES) -> Prompts:
    """Returns prompts from captions' phrases: the meanings, and `count` covariates drawn at random.

    The first template is "{}", the meaning alone.
    """
    rng, drawn = PROMPTS(seed), dict.fromkeys(["{}"])
    while len(drawn) < min(count, math.prod(len(some) + 1 for some in phrases[1:])):
        told = [str(rng.choice(some)) for some in phrases[1:] if rng.random() < 0.5]
        drawn[", ".join(["{}", *told])] = None
    return Prompts(tuple(phrases[0]), tuple(drawn))


def choose_prompts(
    encoder: Encoder,
    classes: Sequence[str],
    labels: Path | None = None,
    templates: Path | None = None,
    seed: int = 0,
) -> Prompts:
    """Returns a command's prompts: the classes with the covariates of the encoder's captions or CLIP's 80.

    Args:
        encoder: Encoder of the texts.
        classes: Names of the source's classes.
        labels: File with a meaning per line, which replaces the classes.
        templates: File with a template per line, with "{}" for the meaning, the plainest first.
        seed: Seed of the draw of captions.

    Raises:
        UnusableInput: A file cannot be read or has too few lines, or open_clip's templates are needed and it
            is not installed.
    """
    if templates:
        covariates = _lines(templates)
    elif isinstance(encoder, TwoTowerEncoder):
        covariates = caption_prompts(encoder.phrases, seed).covariates
    else:
        covariates = clip_templates()
    return Prompts(_lines(labels) if labels else tuple(classes), covariates)


def _lines(path: Path) -> tuple[str, ...]:
    found = (line.strip() for line in read_text(path).splitlines())
    return tuple(dict.fromkeys(line for line in found if line))
