"""Renderings: the same images from a recipe, a file or pools; mixes of as many images of either kind as asked."""

from dataclasses import replace

import numpy as np
import pytest

from starter.contest.accuracy.observe import ClassifierSubject
from starter.data.images.arrays import read_npz, write_npz
from starter.data.images.imageset import ImageSet
from starter.data.sets.mix import FromPools, Mix
from starter.data.sets.recipe import Recipe
from starter.data.sets.rendering import FromFile, FromRecipe
from starter.observing.sets import PublicSets
from submission import UnusableInput
from submission.files import sha256

RECIPE = Recipe("train_0001", 5, (("sample", {"n": 620}), ("brightness", {})))


def base(seed=0, n=700):
    rng = np.random.default_rng(seed)
    return ImageSet("base", rng.integers(256, size=(n, 8, 6, 3), dtype=np.uint8), rng.integers(4, size=n))


def pixels(rendering):
    chunks = list(rendering.chunks())
    assert [len(chunk) for chunk in chunks[:-1]] == [500] * (len(chunks) - 1)
    return np.concatenate([chunk.permute(0, 2, 3, 1).numpy() for chunk in chunks])


@pytest.fixture
def stored(tmp_path):
    images = RECIPE.render(base())
    write_npz(tmp_path / "a.npz", images)
    return FromFile("val_0001", tmp_path / "a.npz", sha256(tmp_path / "a.npz"), len(images))


def test_a_whole_set_is_the_set_under_any_name():
    named = FromRecipe.whole(replace(base(), name="Tuesday, 8 o'clock"))
    assert (named.name, len(named)) == ("Tuesday, 8 o'clock", 700)
    assert named.digest == FromRecipe.whole(base()).digest
    np.testing.assert_array_equal(named.render(), base().images)
    np.testing.assert_array_equal(pixels(named), base().images)


def test_a_file_renders_as_what_was_written(stored):
    assert (stored.name, len(stored)) == ("val_0001", 620)
    np.testing.assert_array_equal(stored.render(), FromRecipe(RECIPE, base()).render())
    np.testing.assert_array_equal(pixels(stored), stored.render())


def test_digests_tell_pixels_apart_and_not_names(stored):
    one = FromRecipe(RECIPE, base())
    assert FromRecipe(Recipe("other", RECIPE.seed, RECIPE.ops), base()).digest == one.digest
    others = [FromRecipe(RECIPE, base(seed=1)), FromRecipe.whole(base()), stored]
    changed = (replace(RECIPE, seed=6), replace(RECIPE, ops=RECIPE.ops[:1]))
    others += [FromRecipe(recipe, base()) for recipe in changed]
    assert len({one.digest, *(other.digest for other in others)}) == 6
    assert FromFile("b", stored.path, stored.sha256, 3).digest == stored.digest
    assert FromFile("val_0001", stored.path, "0" * 64, 620).digest != stored.digest


def test_a_file_is_read_only_when_its_pixels_are_needed(tmp_path):
    missing = FromFile("val_0001", tmp_path / "no.npz", "0" * 64, 12)
    assert (missing.name, len(missing), len(missing.digest)) == ("val_0001", 12, 32)
    for pixels_of in (missing.render, lambda: next(missing.chunks())):
        with pytest.raises(UnusableInput, match=r"no\.npz: "):
            pixels_of()


def reachable(value, found=None):
    """Every object that attributes, closure cells, defaults and containers lead to from `value`, by id."""
    found = {} if found is None else found
    if id(value) in found or isinstance(value, type):
        return found
    found[id(value)] = value
    leads = [getattr(value, name, None) for name in ("__self__", "__func__", "__closure__", "__defaults__")]
    leads += [getattr(value, name, None) for name in ("func", "args", "keywords", "cell_contents", "base")]
    leads += vars(value).values() if hasattr(value, "__dict__") else ()
    leads += value.values() if isinstance(value, dict) else ()
    leads += value if isinstance(value, list | tuple) else ()
    for lead in leads:
        reachable(lead, found)
    return found


def arrays(value):
    return [array for array in reachable(value).values() if isinstance(array, np.ndarray)]


def holds(value, wanted):
    return any(np.array_equal(array, wanted) for array in arrays(value))


def test_what_renders_an_observation_leads_to_no_label(built):
    sets = PublicSets(built)
    subject = ClassifierSubject.open(sets, "tiny", ())
    train, val = subject.meta_train().sets, subject.observations("val")
    assert holds(sets.train[0], sets.base.labels), "the walk misses what is there"
    assert holds(train[0].render, sets.base.images), "the walk misses what is there"
    for i in range(3):
        assert not holds(train[i].render, sets.base.labels)
        assert not holds(train[i].render, sets.train[i].labels())
        assert not arrays(val[i].render)
    stored = sets.stored("val")[0]
    assert read_npz(stored.path).labels is not None
    assert not arrays(stored)
    assert stored._read().labels is None


def numbered(name, start, n):
    """Images whose first pixel tells their number."""
    images = np.zeros((n, 8, 8, 3), np.uint8)
    images[:, 0, 0, 0], images[:, 0, 0, 1] = np.arange(n) % 256, np.arange(n) // 256
    images[:, 0, 0, 2] = start
    return ImageSet(name, images)


MIX = Mix("mix_0001", 7, "letters", 30, 50)


@pytest.mark.parametrize("line", ["", "{}", "null", "["])
def test_a_mix_is_a_line_of_json_and_others_are_refused(line):
    assert Mix.from_json(MIX.to_json()) == MIX
    with pytest.raises(UnusableInput, match="not a mix"):
        Mix.from_json(line)


def test_images_are_drawn_without_replacement_and_shuffled():
    mix = FromPools(MIX, numbered("ind", 0, 300), numbered("letters", 9, 60))
    images, is_ood = mix.render(), mix.rows[1]
    assert len(images) == len(mix) == 80
    assert is_ood.sum() == 50
    np.testing.assert_array_equal(images[:, 0, 0, 2] == 9, is_ood)
    assert len({image.tobytes() for image in images}) == 80
    assert np.abs(np.diff(is_ood.astype(int))).sum() > 10  # in no order of origin
    np.testing.assert_array_equal(
        np.concatenate([c.numpy() for c in mix.chunks()]), images.transpose(0, 3, 1, 2)
    )
    assert (mix.labelled().labels == is_ood).all()
    assert "30 IND, 50 letters" in mix.made_of
    with pytest.raises(UnusableInput, match="50 OOD images without replacement, there are 49"):
        MIX.rows(300, 49)


def test_the_digest_tells_mixes_apart():
    pools = numbered("ind", 0, 300), numbered("letters", 9, 60)
    mixes = [MIX, Mix("other_name", 7, "letters", 30, 50), Mix("m", 8, "letters", 30, 50)]
    digests = [FromPools(mix, *pools).digest for mix in mixes]
    assert digests[0] == digests[1] != digests[2]
    assert FromPools(MIX, pools[0], numbered("letters", 8, 60)).digest != digests[0]
