"""From labels to folders, with encoders and generators that are functions of the text; the embedded signs."""

import csv
from collections import Counter

import cv2
import numpy as np
import pytest
from built import contents
from hypothesis import given
from hypothesis import strategies as st

from starter.models.encoders import EncoderPair
from starter.studies import synis
from starter.studies.shift.laid import Laid
from submission.errors import UnusableInput

LABELS = ("cat", "dog", "ship")


def prompt(text="", seed=0):
    return synis.Prompt("s1_c1/00000.png", "", "", text, "", seed)


@given(seed=st.integers(0, 1000), per_cell=st.integers(1, 12))
def test_each_cell_is_filled_evenly_from_its_own_prompts(seed, per_cell):
    styles = synis.STYLES[:5]
    levels = np.random.default_rng(seed).integers(-1, 3, (len(LABELS) * 5, 2))
    prompts = synis.plan(LABELS, styles, levels, per_cell, seed)
    texts = [style.prompt(label) for label in LABELS for style in styles]
    cells: dict[str, list[str]] = {}
    for index, (semantic, covariate) in enumerate(levels):
        if min(semantic, covariate) >= 0:
            cells.setdefault(f"s{semantic + 1}_c{covariate + 1}", []).append(texts[index])
    assert Counter(each.file.partition("/")[0] for each in prompts) == dict.fromkeys(cells, per_cell)
    for cell, members in cells.items():
        used = Counter(each.prompt for each in prompts if each.file.startswith(f"{cell}/"))
        assert set(used) <= set(members)
        counts = [used[text] for text in members]
        assert max(counts) - min(counts) <= 1
    assert len({each.seed for each in prompts}) == len({each.file for each in prompts}) == len(prompts)
    assert prompts == synis.plan(LABELS, styles, levels, per_cell, seed)


def texts(prompts: list[str]) -> np.ndarray:
    """Meaning in the first two of four numbers, style in the last two."""
    angles = {"near": 0.1, "far": 1.5, "plain": 0.1, "odd": 1.5}
    turned = [[angles[word] for word in prompt.split()] for prompt in prompts]
    return np.array([[np.cos(a), np.sin(a), np.cos(b), np.sin(b)] for a, b in turned])


def test_prompts_land_in_the_cells_of_their_degrees():
    encoder = EncoderPair("angles", lambda images: np.tile([1.0, 0, 1, 0], (len(images), 1)), texts)
    styles = (synis.Style("plain", "{object} plain"), synis.Style("odd", "{object} odd"))
    known = np.zeros((12, 8, 8, 3), np.uint8)
    laid = Laid(np.eye(4, dtype=np.float32), "angles")
    prompts = ["near plain", "near odd", "far plain", "far odd"]
    grid = synis.prompt_grid(encoder, laid, known, prompts)
    assert grid.levels.tolist() == [[0, 0, 7, 7], [0, 7, 0, 7]]
    prompts = synis.plan(("near", "far"), styles, grid.levels.T, 3, seed=5)
    facts = {"identity": "12 images", "encoder": "angles", "generator": "noise", "seed": 5, "licence": "CC0"}
    text = synis.datasheet(prompts, grid, **facts)
    assert "12 images, generated" in text
    assert "the 4 cells into which prompts fall, with 3 images each" in text
    assert all(str(fact) in text for fact in (*facts.values(), f"{grid.edges[0, -1]:.4f}"))


def noise(prompts):
    return np.stack(
        [np.random.default_rng(each.seed).integers(0, 256, (6, 5, 3), dtype=np.uint8) for each in prompts]
    )


@pytest.fixture
def prompts():
    levels = np.array([(0, 0), (0, 7), (3, 3), (-1, 2), (0, 0), (3, 3)])
    return synis.plan(("cat", "dog"), synis.STYLES[:3], levels, 3, seed=5)


def test_an_interrupted_run_ends_with_the_same_bytes(tmp_path, prompts, monkeypatch):
    monkeypatch.setattr("starter.studies.synis.BATCH", 2)
    calls = 0

    def fails_later(some):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return noise(some)

    broken, whole = tmp_path / "broken", tmp_path / "whole"
    with pytest.raises(KeyboardInterrupt):
        synis.write_grid(broken, prompts, "noise", fails_later, "sheet")
    assert 1 < len(contents(broken)) < len(prompts)
    synis.write_grid(broken, prompts, "noise", fails_later, "sheet")
    synis.write_grid(whole, prompts, "noise", noise, "sheet")
    assert contents(broken) == contents(whole)
    assert calls == 3 + 5 - 2
    rows = list(csv.DictReader((whole / "prompts.csv").read_text().splitlines()))
    assert [row["file"] for row in rows] == [each.file for each in prompts]
    for row in rows:
        stored = cv2.imread(str(whole / row["file"]))[:, :, ::-1]
        np.testing.assert_array_equal(stored, noise([prompt(seed=int(row["seed"]))])[0])
    with pytest.raises(UnusableInput, match="holds other files"):
        synis.write_grid(broken, prompts[:2], "noise", noise, "sheet")


@pytest.mark.parametrize(
    ("function", "word"),
    [
        (lambda prompts: noise(prompts)[:1], "height, width, 3"),
        (lambda prompts: noise(prompts) / 255, "float64"),
        (lambda prompts: prompts[99], "IndexError"),
    ],
)
def test_a_function_that_makes_no_images(tmp_path, prompts, function, word):
    with pytest.raises(UnusableInput, match=word):
        synis.write_grid(tmp_path / "grid", prompts, "mine:draw", function, "sheet")
    assert not list((tmp_path / "grid").glob("s*"))


def test_every_meaning_in_every_style_is_drawn():
    pairs = zip(synis.MEANINGS, synis.GLYPH_STYLES, strict=False)
    texts = [style.prompt(meaning) for meaning, style in pairs]
    texts += [style.prompt("3") for style in synis.GLYPH_STYLES]
    images = synis.draw_glyphs([prompt(text, 7) for text in texts])
    assert images.shape == (len(texts), 32, 32, 3)
    assert images.dtype == np.uint8
    assert (images.std((1, 2, 3)) > 0).mean() > 0.95
    assert len(np.unique(images[len(synis.MEANINGS) :].reshape(len(synis.GLYPH_STYLES), -1), axis=0)) > 20
    np.testing.assert_array_equal(images[1:2], synis.draw_glyphs([prompt(texts[1], 7)]))
    with pytest.raises(UnusableInput, match="cannot draw 'a cat'"):
        synis.draw_glyphs([prompt("a cat")])


def test_labels_and_styles_by_default_and_from_files(tmp_path):
    assert synis.choose_prompts("glyphs", None, None, ("0", "1")) == (synis.MEANINGS, synis.GLYPH_STYLES)
    assert synis.choose_prompts("own:f", None, None, ("cat",)) == (("cat",), synis.STYLES)
    (tmp_path / "labels.txt").write_text("fox\n\n wolf \n")
    (tmp_path / "styles.csv").write_text("name,prompt,negative\nink,{object} in ink,colour\n")
    labels, (ink,) = synis.choose_prompts("own:f", tmp_path / "labels.txt", tmp_path / "styles.csv", ("0",))
    assert (labels, ink.prompt("fox"), ink.negative) == (("fox", "wolf"), "fox in ink", "colour")
    assert len({style.prompt("red fox") for style in synis.STYLES}) == len(synis.STYLES) == 51
    (tmp_path / "styles.csv").write_text("name,prompt\nink,no place\n")
    with pytest.raises(UnusableInput, match="line 2"):
        synis.read_styles(tmp_path / "styles.csv")
    with pytest.raises(UnusableInput, match="no_such_module"):
        synis.choose_generator("no_such_module:generate")
