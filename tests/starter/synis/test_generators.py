"""SDXL-Turbo's adapter on a pipeline of its kind with random weights, a few kilobytes; nothing is downloaded."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from starter.synis.generators import (
    GLYPH_STYLES,
    MEANINGS,
    GlyphGenerator,
    SDXLTurbo,
    choose_generator,
    choose_prompts,
)
from starter.synis.prompts import STYLES, Prompt
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


pytest.importorskip("diffusers", reason="the extra synis is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning:diffusers"),
    pytest.mark.filterwarnings("ignore::FutureWarning:diffusers"),
    pytest.mark.filterwarnings("ignore::FutureWarning:transformers"),
]
PROMPTS = (Prompt("a cat", "", 1), Prompt("a dog in ink", "colour", 2), Prompt("a cat", "", 3))


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from diffusers import EulerAncestralDiscreteScheduler, StableDiffusionXLPipeline
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("pipeline")
    tokenizer = _tokenizer(folder)
    unet, vae, text = _networks(len(tokenizer))
    StableDiffusionXLPipeline(
        vae=vae,
        text_encoder=CLIPTextModel(text),
        text_encoder_2=CLIPTextModelWithProjection(text),
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        unet=unet,
        scheduler=EulerAncestralDiscreteScheduler(timestep_spacing="trailing"),
    ).save_pretrained(folder / "pipe")
    return folder / "pipe"


def _tokenizer(folder: Path):
    from transformers import CLIPTokenizer

    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    (folder / "vocab.json").write_text(json.dumps({word: index for index, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=77)


def _networks(vocabulary: int):
    from diffusers import AutoencoderKL, UNet2DConditionModel
    from transformers import CLIPTextConfig

    unet = UNet2DConditionModel(
        block_out_channels=(8, 16),
        layers_per_block=1,
        sample_size=8,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=(1, 2),
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        transformer_layers_per_block=(1, 1),
        projection_class_embeddings_input_dim=6 * 8 + 16,
        cross_attention_dim=32,
        norm_num_groups=2,
    )
    vae = AutoencoderKL(
        block_out_channels=(8, 8),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        norm_num_groups=2,
    )
    text = CLIPTextConfig(
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
        hidden_size=16,
        intermediate_size=16,
        num_attention_heads=2,
        num_hidden_layers=2,
        vocab_size=vocabulary,
        projection_dim=16,
    )
    return unet, vae, text


@pytest.mark.slow
def test_images_depend_on_the_prompt_and_its_seed_not_on_the_batch(pipeline: Path):
    generator = SDXLTurbo(str(pipeline), size=16)
    images = generator.generate(PROMPTS)
    assert images.shape == (3, 16, 16, 3)
    assert images.dtype == np.uint8
    np.testing.assert_array_equal(images, generator.generate(PROMPTS))
    assert np.abs(images[0].astype(int) - images[2]).max() > 1  # one prompt, two seeds
    alone = generator.generate(PROMPTS[1:2])[0]
    assert np.abs(images[1].astype(int) - alone).max() <= 1  # rounding
    assert generator.name == "pipe, 1 step, 16 x 16 pixels"


def test_a_folder_that_is_no_pipeline(tmp_path: Path):
    (tmp_path / "model_index.json").write_text("{}")
    with pytest.raises(UnusableInput, match="cannot be loaded as a text-to-image pipeline"):
        SDXLTurbo(str(tmp_path))
    with pytest.raises(UnusableInput, match="--size must be a multiple of 8, got 30"):
        SDXLTurbo(str(tmp_path), size=30)
