"""Degrees of rendered sets against scikit-learn's neighbours, with and without the cache."""

import numpy as np
import pytest
from laids import random_laid
from sklearn.neighbors import NearestNeighbors

from starter.images.imageset import ImageSet
from starter.observing.cache import Cache
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromRecipe
from starter.shift.ruler import Ruler
from submission import UnusableInput

IMAGES = np.random.default_rng(0).integers(256, size=(640, 8, 8, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def ruler():
    return Ruler.of(*random_laid(), ImageSet("ind", IMAGES[:40]))


def test_degrees_are_the_tenth_neighbours_distances(ruler):
    rendering = FromRecipe.whole(ImageSet("x", IMAGES[40:]))
    encoder, laid = random_laid()
    known, queries = (encoder.encode_images(part) @ laid.matrix for part in (IMAGES[:40], IMAGES[40:]))
    half = known.shape[1] // 2
    for found, part in zip(ruler.degrees(rendering), (slice(half), slice(half, None)), strict=True):
        neighbours = NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute").fit(known[:, part])
        assert found == pytest.approx(neighbours.kneighbors(queries[:, part])[0][:, -1], abs=1e-5)


def test_what_is_cached_is_not_encoded_again(ruler, tmp_path):
    rendering, cache = FromRecipe.whole(ImageSet("x", IMAGES[40:50])), Cache(tmp_path)
    first = ruler.degrees(rendering, cache)
    blind = Ruler(None, None, ruler.known, ruler.digest)
    np.testing.assert_array_equal(first, blind.degrees(rendering, cache))
    other = FromRecipe(Recipe("x", 1, (("sample", {"n": 5}),)), ImageSet("x", IMAGES))
    with pytest.raises(AttributeError):
        blind.degrees(other, cache)


def test_a_ruler_of_other_images_or_matrix_has_another_digest(ruler):
    encoder, laid = random_laid()
    assert Ruler.of(encoder, laid, ImageSet("other", IMAGES[:40])).digest == ruler.digest
    assert Ruler.of(encoder, laid, ImageSet("ind", IMAGES[:39])).digest != ruler.digest
    assert Ruler.of(encoder, random_laid(seed=1)[1], ImageSet("ind", IMAGES[:40])).digest != ruler.digest


def test_too_few_id_images_are_told():
    few = Ruler.of(*random_laid(), ImageSet("ind", IMAGES[:9]))
    with pytest.raises(UnusableInput, match="needs that many ID images, got 9"):
        few.degrees(FromRecipe.whole(ImageSet("x", IMAGES[:2])))
