"""Shifted images: how many of what, under what, and the same again."""

import numpy as np
import pytest

from starter.images.imageset import ImageSet
from starter.operations import GROUPS, OPERATIONS
from starter.sets.rendering import FromRecipe
from starter.shift.images import IND, STRENGTHS, Joined, embedded_shifts, is_embedded, shifted
from submission import UnusableInput

RNG = np.random.default_rng(0)


def images(name, n=300, labels=None):
    return ImageSet(name, RNG.integers(256, size=(n, 8, 8, 3), dtype=np.uint8), labels)


@pytest.fixture(scope="module")
def sets():
    known = {IND: images(IND, 500, RNG.integers(3, size=500)), "faint": images("faint", 500)}
    return known, {name: images(name) for name in ("a", "b_1", "b_2")}


def operations(joined):
    return [tuple(name for name, _ in part.recipe.pixel_ops) for part in joined.parts]


def test_shares_and_sizes(sets):
    found = shifted(*sets, 4000, "corruptions", seed=0)
    sizes = {
        name: sum(len(each) for each in found if each.name.startswith(f"{name}_"))
        for name in ("ind", "faint", "a", "b_1", "b_2")
    }
    assert sizes["ind"] == pytest.approx(500, rel=0.05)
    assert sizes["faint"] == pytest.approx(500, rel=0.05)
    assert all(sizes[name] == pytest.approx(1000, rel=0.05) for name in ("a", "b_1", "b_2"))
    alone = shifted(sets[0], {}, 4000, "corruptions", seed=0)
    assert sum(map(len, alone)) == pytest.approx(4000, rel=0.05)


def test_operations_are_of_the_group_at_growing_strength(sets):
    for joined in shifted(*sets, 4000, "corruptions", seed=0):
        named = operations(joined)
        assert ((),) * (IND not in joined.name) == tuple(each for each in named if not each)
        assert {name for each in named for name in each} <= set(GROUPS["corruptions"])
        severities = [
            dict(part.recipe.pixel_ops).popitem()[1]["severity"]
            for part in joined.parts
            if part.recipe.pixel_ops
        ]
        assert len(severities) % len(STRENGTHS) == 0
    weak, strong = [], []
    for joined in shifted({IND: sets[0][IND]}, {}, 2560, "default", seed=1):
        for number, part in enumerate(joined.parts):
            ((name, params),) = part.recipe.pixel_ops
            if OPERATIONS[name].neutral:
                (weak if number % 4 == 0 else strong).append(params.get("strength", 1.0))
    assert set(weak) == {0.25}
    assert set(strong) == {0.5, 0.75, 1.0}


def test_the_same_seed_gives_the_same_images(sets):
    first, again, other = ([each.digest for each in shifted(*sets, 600, "a", seed)] for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_joined_sets_are_their_parts(sets):
    joined = shifted(*sets, 2000, "corruptions", seed=0)[0]
    rendered = [part.labelled() for part in joined.parts]
    expected = np.concatenate([each.images for each in rendered])
    np.testing.assert_array_equal(joined.render(), expected)
    chunks = np.concatenate([chunk.permute(0, 2, 3, 1).numpy() for chunk in joined.chunks()])
    np.testing.assert_array_equal(chunks, expected)
    np.testing.assert_array_equal(joined.labels(), np.concatenate([each.labels for each in rendered]))
    assert len(joined) == len(expected)
    assert Joined("other", joined.parts).digest == joined.digest != Joined("x", joined.parts[:-1]).digest


def test_many_images_come_in_several_renderings(sets):
    found = shifted({IND: sets[0][IND]}, {}, 12_000, "corruptions", seed=0)
    assert [each.name for each in found] == ["ind_1", "ind_2", "ind_3", "ind_4"]
    assert max(map(len, found)) <= 4000


def test_embedded_families_have_labels_where_asked():
    found = embedded_shifts("val_base", 760, seed=0, labelled=True)
    assert all(each.labels is None for each in embedded_shifts("val_base", 760, 0, labelled=False).values())
    assert "stix" in found
    assert all(len(each) == 20 and each.labels is not None for each in found.values())
    assert is_embedded("glyphs", tuple("0123456789"))
    assert not is_embedded("glyphs", ("cat", "dog"))


def test_too_few_images_are_told(sets):
    with pytest.raises(UnusableInput, match="4 shifted images of 5 sets are too few: ask for 32 or more"):
        shifted(*sets, 4, "a", 0)
    with pytest.raises(UnusableInput, match="31 shifted images of 5 sets are too few: ask for 32 or more"):
        shifted(*sets, 31, "a", 0)
    assert shifted(*sets, 32, "a", 0)


def test_a_set_smaller_than_its_share_is_shown_whole():
    (joined,) = shifted({"few": images("few", 5)}, {}, 400, "a", 0)
    assert {len(part) for part in joined.parts} == {5}
    assert isinstance(joined.parts[0], FromRecipe)
