"""LAID's losses against a loop over the paper's formulas, training, files; texts; PCA against scikit-learn's."""

import numpy as np
import pytest
import torch
from encoders import hasty_encoder
from sklearn.decomposition import PCA

from starter.encoders import EncoderPair
from starter.shift.laid import (
    Laid,
    Prompts,
    caption_prompts,
    choose_prompts,
    orthogonality,
    text_pca,
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


def cosine_distance(a, b):
    """1 - cos, by sums."""
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return 1 - dot / (sum(x * x for x in a) ** 0.5 * sum(y * y for y in b) ** 0.5)


def by_formula(triplets, margin):
    """Equation 2, a triplet at a time."""
    meaning, style = [], []
    for st_, ss, cs in triplets:
        first = cosine_distance(st_[:3], cs[:3]) - cosine_distance(st_[:3], ss[:3]) + margin
        second = cosine_distance(st_[3:], ss[3:]) - cosine_distance(st_[3:], cs[3:]) + margin
        meaning.append(max(first, 0))
        style.append(max(second, 0))
    return sum(meaning) / len(meaning), sum(style) / len(style)


def losses(triplets, margin):
    return [float(each) for each in triplet_losses(*torch.tensor(triplets).unbind(1), margin)]


@pytest.mark.parametrize("margin", [0.0, 0.2, 1.0])
def test_the_losses_are_the_papers(margin):
    assert losses(TRIPLETS, margin) == pytest.approx(by_formula(TRIPLETS, margin))


def test_orthogonality_is_the_squared_norm():
    matrix = torch.tensor([[1.0, 2.0], [0.0, 1.0]])
    # W'W - I = [[0, 2], [2, 4]]
    assert float(orthogonality(matrix)) == 24
    assert float(orthogonality(torch.eye(5))) == 0


def texts(meanings=12, covariates=9, length=16, seed=0):
    """Features in which a meaning and a covariate add up, in mixed directions."""
    rng = np.random.default_rng(seed)
    first = rng.standard_normal((meanings, 1, length)) * (np.arange(length) < length // 2)
    second = rng.standard_normal((1, covariates, length)) * (np.arange(length) >= length // 2)
    mixed = (first + second) @ np.linalg.qr(rng.standard_normal((length, length)))[0]
    return (mixed / np.linalg.norm(mixed, axis=2, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def learnt():
    return train_laid(texts(), "made up", steps=800, progress=False)


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


def test_the_matrix_is_orthogonal_so_that_nothing_is_lost(learnt):
    features = texts(seed=5).reshape(-1, 16)
    semantic, covariate = learnt.decompose(features)

    assert learnt.error < 1e-6
    assert semantic.shape == covariate.shape == (108, 8)
    np.testing.assert_allclose(np.hstack([semantic, covariate]) @ learnt.matrix.T, features, atol=1e-6)


def test_a_seed_gives_a_matrix_and_a_file(tmp_path):
    first, second, other = (train_laid(texts(), "x", seed, 20, progress=False) for seed in (0, 0, 1))
    first.save(tmp_path / "first")
    second.save(tmp_path / "second")

    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert (first.matrix != other.matrix).any()


def test_a_file_goes_back_and_belongs_to_one_encoder(learnt, tmp_path):
    learnt.save(tmp_path / "w.safetensors")
    mine = EncoderPair("made up", lambda images: images, lambda words: words)
    found = Laid.load(tmp_path / "w.safetensors", mine)

    assert (found.matrix == learnt.matrix).all()
    assert found.encoder == "made up"
    other = EncoderPair("another", lambda images: images, lambda words: words)
    with pytest.raises(UnusableInput, match="belongs to the encoder made up, not to another"):
        Laid.load(tmp_path / "w.safetensors", other)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "bad").write_bytes(b"not this")
    for name in ("bad", "none"):
        with pytest.raises(UnusableInput, match=f"{name} is no LAID matrix"):
            Laid.load(tmp_path / name)


@pytest.mark.parametrize("matrix", [1.01 * np.eye(4), np.full((4, 4), np.nan)])
def test_only_orthogonal_matrices(matrix):
    with pytest.raises(UnusableInput, match="orthogonal"):
        Laid(matrix.astype(np.float32), "x")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_a_gpu_gives_the_same_within_rounding(learnt):
    found = train_laid(texts(), "made up", steps=50, device="cuda", progress=False)
    here = train_laid(texts(), "made up", steps=50, progress=False)
    np.testing.assert_allclose(found.matrix, here.matrix, atol=1e-3)


def texts_of_pca(seed=0):
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((7, 1, 12)), rng.standard_normal((1, 5, 12))
    return (first + second + 0.1 * rng.standard_normal((7, 5, 12))).astype(np.float32)


def test_parts_are_projections_on_scikit_learns_components():
    features, others = texts_of_pca(), texts_of_pca(1).reshape(-1, 12)
    parts = text_pca(features, 0.9)(others)
    for part, axis in zip(parts, (0, 1), strict=True):
        deviations = (features - features.mean(axis, keepdims=True)).reshape(-1, 12)
        reference = PCA(0.9, svd_solver="full").fit(deviations.astype(np.float64)).components_
        assert part.shape == (35, len(reference))
        np.testing.assert_allclose(part @ part.T, (others @ reference.T) @ (reference @ others.T), atol=1e-4)


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
    assert len(caption_prompts((("a", "b"), ("c", "d"))).covariates) == 3
    assert found == caption_prompts(phrases, count=6)


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
        (("cat",), ("{}", "a {}"), "two or more"),
        (("cat", "dog"), ("{}",), "two or more"),
        (("cat", "dog"), ("{}", "a photo"), "'a photo'"),
    ],
)
def test_prompts_that_part_nothing_are_refused(meanings, covariates, problem):
    with pytest.raises(UnusableInput, match=problem):
        Prompts(meanings, covariates)
