"""LAID's losses against a loop over the paper's formulas, training, files; texts; PCA against scikit-learn's.

Degrees of rendered sets against scikit-learn's neighbours, with and without the cache; the matrix by name.
"""

from functools import partial

import numpy as np
import pytest
import torch
from encoders import hasty_encoder, whole_laid
from laids import random_laid
from scipy.spatial.distance import cosine
from sklearn.neighbors import NearestNeighbors

from starter.data.images.imageset import ImageSet
from starter.data.sets.rendering import FromRecipe
from starter.models.encoders import EncoderPair
from starter.observing.cache import Cache
from starter.studies.shift import laid as laid_module
from starter.studies.shift.laid import (
    Laid,
    caption_templates,
    choose_prompts,
    measured_degrees,
    open_laid,
    orthogonality,
    read_laid,
    text_features,
    train_laid,
    triplet_losses,
)
from submission import UnusableInput

# Six numbers a text, so that either half is three long: the standard one, another meaning, another style.
TRIPLETS = np.array(
    [
        [[1, 0, 2, 1, 1, 0], [0, 1, 0, 1, 2, 0], [1, 1, 2, 0, 0, 1]],
        [[3, 1, 0, 0, 2, 1], [3, 1, 1, 0, 2, 2], [0, 1, 5, 4, 0, 0]],
    ],
    np.float64,
)


def by_formula(triplets, margin):
    """Equation 2, a triplet at a time."""
    meaning, style = [], []
    for st_, ss, cs in triplets:
        first = cosine(st_[:3], cs[:3]) - cosine(st_[:3], ss[:3]) + margin
        second = cosine(st_[3:], ss[3:]) - cosine(st_[3:], cs[3:]) + margin
        meaning.append(max(first, 0))
        style.append(max(second, 0))
    return sum(meaning) / len(meaning), sum(style) / len(style)


@pytest.mark.parametrize("margin", [0.0, 0.2, 1.0])
def test_the_losses_are_the_papers(margin):
    found = triplet_losses(*torch.tensor(TRIPLETS).unbind(1), margin)
    assert [*map(float, found)] == pytest.approx(by_formula(TRIPLETS, margin))
    # W'W - I = [[0, 2], [2, 4]]
    assert float(orthogonality(torch.tensor([[1.0, 2.0], [0.0, 1.0]]))) == 24


def texts(meanings=12, covariates=9, length=16, seed=0):
    """Features in which a meaning and a covariate add up, in mixed directions."""
    rng = np.random.default_rng(seed)
    first = rng.standard_normal((meanings, 1, length)) * (np.arange(length) < length // 2)
    second = rng.standard_normal((1, covariates, length)) * (np.arange(length) >= length // 2)
    mixed = (first + second) @ np.linalg.qr(rng.standard_normal((length, length)))[0]
    return (mixed / np.linalg.norm(mixed, axis=2, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def learnt():
    return train_laid(texts(), "made up", steps=800)


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.slow
def test_halves_part_what_was_mixed(learnt):
    features = texts()
    semantic, covariate = learnt.decompose(features.reshape(-1, 16))
    shape = (12, 9, 12, 9)
    meaning, style = cosines(semantic).reshape(shape), cosines(covariate).reshape(shape)

    assert np.mean([meaning[i, :, i, :].mean() for i in range(12)]) > 0.9
    assert np.mean([style[:, j, :, j].mean() for j in range(9)]) > 0.9
    assert abs(np.mean([meaning[:, j, :, j].mean() for j in range(9)])) < 0.3
    assert abs(np.mean([style[i, :, i, :].mean() for i in range(12)])) < 0.3


@pytest.mark.slow
def test_the_matrix_is_orthogonal_so_that_nothing_is_lost(learnt, tmp_path):
    features = texts(seed=5).reshape(-1, 16)
    semantic, covariate = learnt.decompose(features)

    assert semantic.shape == covariate.shape == (108, 8)
    np.testing.assert_allclose(np.hstack([semantic, covariate]) @ learnt.matrix.T, features, atol=1e-6)
    learnt.save(tmp_path / "w.safetensors")
    found = Laid.load(tmp_path / "w.safetensors")
    assert (found.matrix == learnt.matrix).all()
    assert found.encoder == "made up"
    first, again, other = (train_laid(texts(), "made up", seed, 20) for seed in (0, 0, 1))
    assert (first.matrix == again.matrix).all()
    assert (first.matrix != other.matrix).any()


def test_prompts_of_a_command(tmp_path):
    (tmp_path / "labels").write_text("cat\n\ndog\ncat\n")

    own = choose_prompts(hasty_encoder(), ["0", "1"])
    listed = choose_prompts(hasty_encoder(), ["0"], tmp_path / "labels")
    by_length = EncoderPair("mine", None, lambda texts: np.array([[len(text), 1.0] for text in texts]))
    lengths = text_features(by_length, ("x", "y"), ("a {}", "small {}"))

    templates = caption_templates(hasty_encoder().phrases)
    assert own == (("0", "1"), templates)
    assert templates[0] == "{}"
    assert len(caption_templates((("a", "b"), ("c", "d")))) == 3
    assert listed == (("cat", "dog"), templates)
    assert (lengths[..., 0] / lengths[..., 1]).round().tolist() == [[3, 7], [3, 7]]
    with pytest.raises(UnusableInput, match="two meanings"):
        choose_prompts(hasty_encoder(), ["cat"])


IMAGES = np.random.default_rng(0).integers(256, size=(640, 8, 8, 3), dtype=np.uint8)
IND = ImageSet("ind", IMAGES[:40])


def test_degrees_are_the_tenth_neighbours_distances_and_cached(tmp_path):
    (encoder, laid), cache = random_laid(), Cache(tmp_path)
    sets = [FromRecipe.whole(ImageSet("x", part)) for part in (IMAGES[40:600], IMAGES[600:])]
    degrees = measured_degrees(sets, IND, encoder, laid, cache)
    known, queries = (encoder.encode_images(part) @ laid.matrix for part in (IMAGES[:40], IMAGES[40:]))
    for found, part in zip(degrees, (slice(8), slice(8, None)), strict=True):
        neighbours = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute").fit(known[:, part])
        assert found == pytest.approx(neighbours.kneighbors(queries[:, part])[0][:, -1], abs=1e-5)
    again = measured_degrees(sets, ImageSet("other", IMAGES[:40]), encoder, laid, cache)
    np.testing.assert_array_equal(degrees, again)
    assert len([*tmp_path.rglob("*.safetensors")]) == 2
    measured_degrees(sets, ImageSet("ind", IMAGES[:39]), encoder, laid, cache)
    measured_degrees(sets, IND, *random_laid(seed=1), cache)
    assert len([*tmp_path.rglob("*.safetensors")]) == 6


CLASSES = ("0", "1")


def test_a_matrix_is_trained_once_and_kept(tmp_path, monkeypatch):
    file = tmp_path / "encoder.safetensors"
    hasty_encoder().save(file)
    monkeypatch.setattr(laid_module, "train_laid", partial(train_laid, steps=3))
    encoder, laid = open_laid(str(file), "", CLASSES, tmp_path / "kept")
    assert laid.encoder == encoder.name
    monkeypatch.delattr(laid_module, "train_laid")
    again = open_laid(str(file), "", CLASSES, tmp_path / "kept")[1]
    np.testing.assert_array_equal(again.matrix, laid.matrix)
    (kept,) = (tmp_path / "kept").iterdir()
    assert open_laid(str(file), str(kept), CLASSES, tmp_path)[1].matrix.shape == laid.matrix.shape


def test_a_matrix_belongs_to_one_encoder_and_other_files_are_refused(tmp_path):
    whole_laid().save(tmp_path / "laid.safetensors")
    for path in (tmp_path, tmp_path / "laid.safetensors"):
        encoder, laid = read_laid(path, "embedded")
        assert encoder.name == laid.encoder
    with pytest.raises(UnusableInput, match="name that one"):
        open_laid("laids:encoder", str(tmp_path), CLASSES, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
    (tmp_path / "bad").write_bytes(b"not this")
    for name in ("bad", "none"):
        with pytest.raises(UnusableInput, match=f"{name} is no LAID matrix"):
            Laid.load(tmp_path / name)
