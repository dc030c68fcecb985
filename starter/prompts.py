"""Prompts: the texts that LAID learns from, every meaning under every covariate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from starter.encoders import Encoder
from starter.recipes import generator
from submission.errors import UnusableInput

_TEXTS = 1000
COVARIATES = 150


@dataclass(frozen=True)
class Prompts:
    """Meanings times covariates.

    Attributes:
        meanings: s >= 2 names of classes, as "the digit 7".
        covariates: c >= 2 templates with one "{}" for the meaning, as "a drawing of {}".

    Raises:
        UnusableInput: too few, or a template without "{}".
    """

    meanings: tuple[str, ...]
    covariates: tuple[str, ...]

    def __post_init__(self) -> None:
        if min(len(self.meanings), len(self.covariates)) < 2:
            raise UnusableInput("LAID needs two or more meanings and two or more covariates")
        for template in self.covariates:
            if template.count("{}") != 1:
                raise UnusableInput(f"the template {template!r} must have {{}} once, where the meaning goes")

    def features(self, encoder: Encoder, progress: bool = False) -> NDArray[np.float32]:
        """The features of every text, float32 (s, c, l)."""
        texts = [cov.replace("{}", meaning) for meaning in self.meanings for cov in self.covariates]
        starts = tqdm(range(0, len(texts), _TEXTS), desc="texts", disable=not progress)
        rows = np.concatenate([encoder.encode_texts(texts[start : start + _TEXTS]) for start in starts])
        return rows.reshape(len(self.meanings), len(self.covariates), -1)


def caption_prompts(phrases: Sequence[Sequence[str]], seed: int = 0, count: int = COVARIATES) -> Prompts:
    """Prompts of captions' phrases: the meanings, and `count` draws of covariates, each told or not by chance."""
    rng, drawn = generator(seed, "prompts"), dict.fromkeys(["{}"])
    while len(drawn) < count:
        told = [str(rng.choice(some)) for some in phrases[1:] if rng.random() < 0.5]
        drawn[", ".join(["{}", *told])] = None
    return Prompts(tuple(phrases[0]), tuple(drawn))
