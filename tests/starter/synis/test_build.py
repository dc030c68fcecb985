"""From labels to folders with encoders and generators that are functions of the text, so that all can be told."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
import pytest

from starter.encoders import EncoderPair
from starter.shift.laid import Laid
from starter.synis.build import Measure, Origin, build_grid, datasheet, write_grid
from starter.synis.generators import FunctionGenerator
from starter.synis.prompts import STYLES, PlannedImage, Prompt, Style, plan
from submission.errors import UnusableInput

LABELS = ("near", "far")
PLAIN_AND_ODD = (Style("plain", "{object} plain"), Style("odd", "{object} odd"))
KNOWN = np.zeros((12, 8, 8, 3), np.uint8)


def texts(prompts: list[str]) -> np.ndarray:
    """Meaning in the first two of four numbers, style in the last two."""
    angles = {"near": 0.1, "far": 1.5, "plain": 0.1, "odd": 1.5}
    turned = [[angles[word] for word in prompt.split()] for prompt in prompts]
    return np.array([[np.cos(a), np.sin(a), np.cos(b), np.sin(b)] for a, b in turned])


def measure() -> Measure:
    images = np.tile([1.0, 0, 1, 0], (len(KNOWN), 1))
    encoder = EncoderPair("angles", lambda _: images, texts)
    return Measure(encoder, Laid(np.eye(4, dtype=np.float32), "angles"), KNOWN, "black images")


def lengths(prompts: Sequence[Prompt]) -> np.ndarray:
    return np.stack([np.full((8, 8, 3), len(prompt.text), np.uint8) for prompt in prompts])


def test_prompts_land_in_the_cells_of_their_degrees(tmp_path: Path):
    generator = FunctionGenerator("lengths", lengths)
    grid = build_grid(tmp_path / "grid", measure(), (LABELS, PLAIN_AND_ODD), generator, 3)
    assert grid.counts.sum() == 4
    rows = list(csv.DictReader(io.StringIO((tmp_path / "grid" / "prompts.csv").read_text())))
    cells = {row["prompt"]: row["file"].partition("/")[0] for row in rows}
    assert cells == {"near plain": "s1_c1", "near odd": "s1_c8", "far plain": "s8_c1", "far odd": "s8_c8"}
    assert len(list((tmp_path / "grid").glob("s*/*.png"))) == 4 * 3
    assert "12 black images" in (tmp_path / "grid" / "DATASHEET.md").read_text()


def test_only_prompts_inside_the_ranges_are_drawn(tmp_path: Path):
    generator, prompts = FunctionGenerator("lengths", lengths), (LABELS, PLAIN_AND_ODD)
    build_grid(tmp_path / "grid", measure(), prompts, generator, 2, ((0, 0.5), None))
    assert sorted(path.name for path in (tmp_path / "grid").glob("s*")) == ["s1_c1", "s1_c8"]
    with pytest.raises(UnusableInput, match="no prompt lies in the ranges"):
        build_grid(tmp_path / "none", measure(), prompts, generator, 2, ((1.5, 2), None))
    with pytest.raises(UnusableInput, match="give each label once"):
        build_grid(tmp_path / "none", measure(), (("near", "near"), PLAIN_AND_ODD), generator, 2)
    with pytest.raises(UnusableInput, match=r"--covariate 1 0\.5: the first number must be below the second"):
        build_grid(tmp_path / "none", measure(), prompts, generator, 2, (None, (1, 0.5)))
    assert not (tmp_path / "none").exists()


LABELS_OF_WRITE = ("cat", "dog")
LEVELS = np.array([(0, 0), (0, 7), (3, 3), (-1, 2), (0, 0), (3, 3)])
ORIGIN = Origin("noise", "an encoder", "10 images of contest", ((0, 1), (0.25, 0.5)), "CC0", 5)


def noise(prompts: Sequence[Prompt]) -> np.ndarray:
    return np.stack(
        [np.random.default_rng(each.seed).integers(0, 256, (6, 5, 3), dtype=np.uint8) for each in prompts]
    )


def planned(per_cell: int = 3) -> tuple[PlannedImage, ...]:
    return plan(LABELS_OF_WRITE, STYLES[:3], LEVELS, per_cell, seed=5)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_folders_of_cells_with_prompts_and_a_datasheet(tmp_path: Path):
    images, generator = planned(), FunctionGenerator("noise", noise)
    out = write_grid(tmp_path / "grid", images, generator, datasheet(images, ORIGIN), batch=4)
    assert sorted(path.name for path in out.iterdir()) == [
        "DATASHEET.md", "prompts.csv", "s1_c1", "s1_c8", "s4_c4"
    ]  # fmt: skip
    rows = list(csv.DictReader(io.StringIO((out / "prompts.csv").read_text())))
    assert [row["file"] for row in rows] == [image.file for image in images]
    for row in rows:
        stored = cv2.imread(str(out / row["file"]))[:, :, ::-1]
        np.testing.assert_array_equal(stored, noise([Prompt("", "", int(row["seed"]))])[0])
    text = (out / "DATASHEET.md").read_text()
    assert "9 images" in text
    assert "| s1 | 3 | - | - | - | - | - | - | 3 |" in text
    assert "0.2500 to 0.5000" in text


def test_an_interrupted_run_ends_with_the_same_bytes(tmp_path: Path):
    images = planned()
    calls = 0

    def fails_later(prompts: Sequence[Prompt]) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return noise(prompts)

    broken, whole = tmp_path / "broken", tmp_path / "whole"
    with pytest.raises(KeyboardInterrupt):
        write_grid(broken, images, FunctionGenerator("noise", fails_later), "sheet", batch=2)
    kept = set(tree(broken))
    assert 1 < len(kept) < len(images)
    write_grid(broken, images, FunctionGenerator("noise", fails_later), "sheet", batch=2)
    write_grid(whole, images, FunctionGenerator("noise", noise), "sheet", batch=2)
    assert tree(broken) == tree(whole)
    assert calls == 3 + 5 - 2
    with pytest.raises(UnusableInput, match="holds other files"):
        write_grid(broken, planned(2), FunctionGenerator("noise", noise), "sheet", batch=2)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda prompts: noise(prompts)[:1], r"must return uint8 images \(4, height, width, 3\)"),
        (lambda prompts: noise(prompts) / 255, "got float64"),
        (lambda prompts: None, "got NoneType"),
        (lambda prompts: prompts[99], "mine:draw fails: IndexError"),
    ],
)
def test_a_function_that_makes_no_images(tmp_path: Path, function, message: str):
    with pytest.raises(UnusableInput, match=message):
        write_grid(tmp_path / "grid", planned(), FunctionGenerator("mine:draw", function), "sheet", batch=4)
    assert not list(tmp_path.iterdir())
