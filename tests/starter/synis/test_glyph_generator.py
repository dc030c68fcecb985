from pathlib import Path

import numpy as np
import pytest

from starter.synis.choose import choose_generator, choose_prompts
from starter.synis.glyph_generator import GLYPH_STYLES, MEANINGS, GlyphGenerator
from starter.synis.prompts import Prompt
from starter.synis.styles import STYLES
from submission.errors import UnusableInput


def test_every_meaning_in_every_style_is_drawn():
    texts = [style.prompt(meaning) for meaning, style in zip(MEANINGS, GLYPH_STYLES, strict=False)]
    texts += [style.prompt("3") for style in GLYPH_STYLES]
    images = GlyphGenerator().generate([Prompt(text, "", 7) for text in texts])
    assert images.shape == (len(texts), 32, 32, 3)
    assert images.dtype == np.uint8
    assert (images.std((1, 2, 3)) > 0).mean() > 0.95
    assert len(np.unique(images[len(MEANINGS) :].reshape(len(GLYPH_STYLES), -1), axis=0)) > 20


def test_an_image_depends_on_its_prompt_alone():
    prompts = [Prompt("3, stix face, on china", "", seed) for seed in (1, 2)]
    together = GlyphGenerator().generate(prompts)
    np.testing.assert_array_equal(together[1:], GlyphGenerator().generate(prompts[1:]))
    assert (together[0] != together[1]).any()
    with pytest.raises(UnusableInput, match="cannot draw 'a cat'"):
        GlyphGenerator().generate([Prompt("a cat", "", 0)])


def test_labels_and_styles_by_default_and_from_files(tmp_path: Path):
    assert choose_prompts("glyphs", None, None, ("0", "1")) == (MEANINGS, GLYPH_STYLES)
    assert choose_prompts("sdxl-turbo", None, None, ("cat",)) == (("cat",), STYLES)
    (tmp_path / "labels.txt").write_text("fox\n\n wolf \n")
    (tmp_path / "styles.csv").write_text("name,prompt\nink,{object} in ink\n")
    labels, (ink,) = choose_prompts("own:f", tmp_path / "labels.txt", tmp_path / "styles.csv", ("0",))
    assert (labels, ink.prompt("fox")) == (("fox", "wolf"), "fox in ink")
    assert isinstance(choose_generator("glyphs", "cpu", 512, 1), GlyphGenerator)
    with pytest.raises(UnusableInput, match="glyphs draws no 'fox', but 0, 1"):
        choose_prompts("glyphs", tmp_path / "labels.txt", None, ("0",))
    with pytest.raises(UnusableInput, match="--generator glyph: there is no such folder"):
        choose_generator("glyph", "cpu", 512, 1)
    with pytest.raises(UnusableInput, match="no_such_module"):
        choose_generator("no_such_module:generate", "cpu", 512, 1)
