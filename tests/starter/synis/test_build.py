"""From labels to folders with encoders and generators that are functions of the text, so that all can be told."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from starter.encoders import EncoderPair
from starter.shift.laid import Laid
from starter.synis.build import Referee, build_grid
from starter.synis.generators import FunctionGenerator
from starter.synis.prompts import Prompt
from starter.synis.styles import Style
from submission.errors import UnusableInput

LABELS = ("near", "far")
STYLES = (Style("plain", "{object} plain"), Style("odd", "{object} odd"))
KNOWN = np.zeros((12, 8, 8, 3), np.uint8)


def texts(prompts: list[str]) -> np.ndarray:
    """Meaning in the first two of four numbers, style in the last two."""
    angles = {"near": 0.1, "far": 1.5, "plain": 0.1, "odd": 1.5}
    turned = [[angles[word] for word in prompt.split()] for prompt in prompts]
    return np.array([[np.cos(a), np.sin(a), np.cos(b), np.sin(b)] for a, b in turned])


def referee() -> Referee:
    images = np.tile([1.0, 0, 1, 0], (len(KNOWN), 1))
    encoder = EncoderPair("angles", lambda _: images, texts)
    return Referee(encoder, Laid(np.eye(4, dtype=np.float32), "angles"), KNOWN, "black images")


def lengths(prompts: Sequence[Prompt]) -> np.ndarray:
    return np.stack([np.full((8, 8, 3), len(prompt.text), np.uint8) for prompt in prompts])


def test_prompts_land_in_the_cells_of_their_degrees(tmp_path: Path):
    generator = FunctionGenerator("lengths", lengths)
    grid = build_grid(tmp_path / "grid", referee(), (LABELS, STYLES), generator, 3)
    assert grid.counts.sum() == 4
    rows = list(csv.DictReader(io.StringIO((tmp_path / "grid" / "prompts.csv").read_text())))
    cells = {row["prompt"]: row["file"].partition("/")[0] for row in rows}
    assert cells == {"near plain": "s1_c1", "near odd": "s1_c8", "far plain": "s8_c1", "far odd": "s8_c8"}
    assert len(list((tmp_path / "grid").glob("s*/*.png"))) == 4 * 3
    assert "12 black images" in (tmp_path / "grid" / "DATASHEET.md").read_text()


def test_only_prompts_inside_the_ranges_are_drawn(tmp_path: Path):
    generator, prompts = FunctionGenerator("lengths", lengths), (LABELS, STYLES)
    build_grid(tmp_path / "grid", referee(), prompts, generator, 2, ((0, 0.5), None))
    assert sorted(path.name for path in (tmp_path / "grid").glob("s*")) == ["s1_c1", "s1_c8"]
    with pytest.raises(UnusableInput, match="no prompt lies in the ranges"):
        build_grid(tmp_path / "none", referee(), prompts, generator, 2, ((1.5, 2), None))
    with pytest.raises(UnusableInput, match="give each label once"):
        build_grid(tmp_path / "none", referee(), (("near", "near"), STYLES), generator, 2)
    assert not (tmp_path / "none").exists()
