"""Observing: what the cache gives is what computing gives, whatever was interrupted, damaged or there before."""

import copy
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from built import contents
from PIL import Image

from starter.data.images.arrays import write_npz
from starter.data.images.imageset import ImageSet
from starter.data.sets.recipe import Recipe
from starter.data.sets.rendering import FromFile, FromRecipe
from starter.models.classifiers import Classifier
from starter.models.classifiers.networks.small import Small
from starter.observing.cache import Cache
from starter.observing.image_stats import image_stats
from starter.observing.observation import NEEDS, ROTATED
from starter.observing.observe import PARTS, Observer, aside, fit_rotation_head, observe_all, read
from submission.errors import UnusableInput
from submission.progress import progress

CLASSES = tuple("abcde")
TRAIN_REF = ImageSet(
    "train_ref", np.random.default_rng(1).integers(256, size=(60, 16, 16, 3), dtype=np.uint8)
)


class Counting(Small):
    """Counts the images it sees, and interrupts where there are none left to see."""

    seen = 0
    left = 10**9

    def folded(self):
        return copy.deepcopy(self)

    def stages(self, x):
        self.seen += len(x)
        if self.seen > self.left:
            raise KeyboardInterrupt
        return super().stages(x)


def classifier(seed=0, **changes):
    """An untrained network with a head that is far from constant."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Counting(len(CLASSES))
        torch.nn.init.normal_(network.fc.weight, std=3)
    return Classifier(
        **{
            **dict(name=f"net{seed}", arch="small", network=network, classes=CLASSES),
            **dict(mean=(0.5,) * 3, std=(0.25,) * 3),
            **changes,
        }
    )


def base(seed=0, n=700):
    return ImageSet("base", np.random.default_rng(seed).integers(256, size=(n, 16, 16, 3), dtype=np.uint8))


def rendering(name="s", seed=3, n=520, images=None):
    """More than one chunk of 500 images."""
    ops = (("sample", {"n": n}), ("color", {}), ("gaussian_noise", {"severity": 2}))
    return FromRecipe(Recipe(name, seed, ops), base() if images is None else images)


class Beside(Observer):
    """Looks at sets as a GPU does."""

    ahead = 2


@pytest.fixture(params=[Observer, Beside])
def observer(request, tmp_path):
    return request.param(classifier(), Cache(tmp_path / "cache"))


def seen(observer):
    return observer.classifier.deployed.seen


def entries(observer):
    return contents(observer.cache.root)


def test_gives_what_computing_it_directly_gives(observer):
    sets, passes = [rendering("r", n=30), rendering(), rendering("t", n=1)], []
    observer.classifier.deployed.fc.register_forward_pre_hook(lambda _, given: passes.append(len(given[0])))
    found = observe_all(sets, observer, ("moments", "features", "image_stats"))[1]
    assert passes == ([551] if observer.ahead else [30, 500, 20, 1])
    images = rendering().render()
    logits, features = (values.numpy() for values in observer.classifier(images))
    assert (found.set_name, found.classifier, len(found)) == ("s", "net0", 520)
    np.testing.assert_allclose(found.logits, logits, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.features, features, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found.moments.mean, features.mean(axis=0, dtype=np.float64), rtol=1e-5)
    np.testing.assert_allclose(
        found.moments.covariance, np.cov(features.T.astype(np.float64)), rtol=1e-4, atol=1e-7
    )
    assert found.moments.n == 520
    planar = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous()
    np.testing.assert_array_equal(found.image_stats, image_stats(planar).numpy())
    np.testing.assert_array_equal(found.images(), images)
    assert found.logits.dtype == found.image_stats.dtype == np.float32
    assert found.features.dtype == np.float16
    assert found.moments.mean.dtype == found.moments.covariance.dtype == np.float64


def test_rotation_is_the_share_of_turns_told_apart(observer):
    observer = observer.with_rotation_head(TRAIN_REF)
    found = read(rendering(n=40), observer, ("rotation",))
    expected = []
    for image in rendering(n=40).render():
        right = 0
        for turns in range(4):
            _, features = observer.classifier(np.rot90(image, turns)[None])
            scores = observer.head[0] @ features[0].numpy() + observer.head[1]
            right += int(scores.argmax() == turns)
        expected.append(right / 4)
    np.testing.assert_allclose(found.rotation, expected)
    assert found.rotation.dtype == np.float32
    assert 0 < found.rotation.mean() < 1
    before, (weight, bias) = seen(observer), observer.head
    assert np.array_equal(observer.with_rotation_head(TRAIN_REF).head[0], weight)
    assert seen(observer) == before
    (path,) = (observer.cache.root / "rotation_head").iterdir()
    observer.cache.store("rotation_head", path.stem, {"weight": weight[:3], "bias": bias})
    assert np.array_equal(observer.with_rotation_head(TRAIN_REF).head[0], weight)


def told_apart(head, features):
    """The share of rotations that a head recognises in features (4, n, d)."""
    return ((features @ head[0].T + head[1]).argmax(-1) == np.arange(4)[:, None]).mean()


def test_the_head_tells_apart_what_is_separate_whatever_its_scale_and_guesses_otherwise():
    rng = np.random.default_rng(0)
    learnt, others = rng.normal(size=(2, 4, 200, 6))
    apart = 8 * np.eye(4, 6)[:, None]
    assert told_apart(fit_rotation_head(learnt + apart), others + apart) > 0.99
    assert told_apart(fit_rotation_head(learnt), others) == pytest.approx(0.25, abs=0.06)
    scaled, moved = 1000 * (learnt + apart / 4) + 50, 1000 * (others + apart / 4) + 50
    plain = told_apart(fit_rotation_head(learnt + apart / 4), others + apart / 4)
    assert told_apart(fit_rotation_head(scaled), moved) == pytest.approx(plain)


def test_views_are_logits_of_the_images_turned_and_grey(observer):
    found = read(rendering(n=40), observer, ("rotations", "grey"))
    images = rendering(n=40).render()
    expected = {name: np.rot90(images, turns, axes=(1, 2)) for turns, name in enumerate(ROTATED, start=1)}
    expected["grey"] = np.stack(
        [np.asarray(Image.fromarray(image).convert("L").convert("RGB")) for image in images]
    )
    assert found.views.keys() == expected.keys()
    for name, view in expected.items():
        logits = observer.classifier(np.ascontiguousarray(view))[0].numpy()
        np.testing.assert_allclose(found.views[name], logits, rtol=1e-4, atol=1e-5)
        assert found.views[name].dtype == np.float32


@pytest.mark.parametrize(
    ("before", "needs", "passes"),
    [
        ((), ("rotations",), 4),
        ((), ("rotations", "grey", "moments", "features", "image_stats"), 5),
        (("moments",), ("moments", "rotations"), 3),
        (("moments",), ("moments", "grey"), 1),
        (("moments",), ("moments", "image_stats"), 0),
    ],
)
def test_no_more_forward_passes_than_needed(observer, before, needs, passes):
    observer = observer.with_rotation_head(TRAIN_REF)
    if before:
        observe_all([rendering(n=30)], observer, before)
    start = seen(observer)
    observe_all([rendering(n=30)], observer, needs)
    assert seen(observer) - start == 30 * passes


def test_peers_are_other_classifiers_logits_from_their_own_entries(observer):
    peers = tuple(replace(observer, classifier=classifier(seed)) for seed in (1, 2))
    expected = {f"peer:net{seed}": read(rendering(), peer).logits for seed, peer in enumerate(peers, 1)}
    before = [seen(peer) for peer in peers]
    found = read(rendering(), replace(observer, peers=peers), ("peers",))
    assert found.views.keys() == expected.keys()
    for name, logits in expected.items():
        np.testing.assert_array_equal(found.views[name], logits)
    assert [seen(peer) for peer in peers] == before
    assert {name.split("/")[0] for name in entries(observer)} == {"logits"}


def test_a_second_time_computes_nothing(observer):
    needs = ("moments", "image_stats")
    total = progress(None, "", 2 * 520, "images")
    observe_all([rendering()], observer, needs, total)
    before, files = seen(observer), entries(observer)
    assert before == 520
    assert {name.split("/")[0] for name in files} == {"logits", "moments", "image_stats"}
    observe_all([rendering()], observer, needs, total)
    assert total.n == total.total == 520
    read(rendering(), observer, needs)
    observe_all([rendering()], observer, needs)[0].images()
    assert seen(observer) == before
    assert entries(observer) == files
    bare = read(rendering(), observer)
    assert [getattr(bare, need) for need in NEEDS] == [None] * len(NEEDS)
    other = replace(observer, classifier=classifier(1))  # image statistics are shared between classifiers
    observe_all([rendering()], other, ("image_stats",))
    assert {name.split("/")[0] for name in entries(observer).keys() - files.keys()} == {"logits"}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("change", ["shape", "bit", "garbage"])
def test_a_foreign_or_damaged_entry_is_made_again(observer, part, change):
    observer = observer.with_rotation_head(TRAIN_REF)
    needs = set(PARTS) - {"logits"}
    read(rendering(n=20), observer, needs)
    files = entries(observer)
    key = observer.key(part, rendering(n=20))
    arrays = observer.cache.load(part, key, observer.layout(part, 20))
    if change == "shape":
        observer.cache.store(part, key, {name: array[:-1] for name, array in arrays.items()})
    elif change == "bit":
        data = bytearray((observer.cache.root / f"{part}/{key}.safetensors").read_bytes())
        data[-2] ^= 1
        observer.cache.write(f"{part}/{key}.safetensors", bytes(data))
    else:
        observer.cache.write(f"{part}/{key}.safetensors", b"garbage")
    read(rendering(n=20), observer, needs)
    assert entries(observer) == files


def scaled(factor):
    """A classifier whose features are as many times as large, and its logits the same."""
    changed = copy.deepcopy(classifier().network)
    with torch.no_grad():
        last = changed.blocks[-1][1]
        last.weight *= factor
        last.bias *= factor
        changed.fc.weight /= factor
    return classifier(network=changed)


def test_features_beyond_float16_are_cut_and_those_without_finite_moments_refused(tmp_path):
    found = read(rendering(n=20), Observer(scaled(1e8), Cache(tmp_path)), ("features", "moments"))
    assert found.features.max() == np.finfo(np.float16).max
    assert found.moments.mean.max() > 1e6
    observer = Observer(scaled(1e25), Cache(tmp_path))
    refused = pytest.raises(UnusableInput, match="gives no finite moments of 20 images for set 's'")
    with np.errstate(over="ignore"), refused:
        read(rendering(n=20), observer, ("moments",))


def test_keys_change_with_all_that_an_observation_depends_on(observer):
    def keys(observer, rendering):
        return {
            part: observer.key(part, rendering) for part in ("logits", "moments", "features", "image_stats")
        }

    one = keys(observer, rendering())
    assert len(set(one.values())) == 4
    other_images = [rendering(seed=4), rendering(n=519), rendering(images=base(seed=9))]
    for other in other_images:
        assert not set(keys(observer, other).values()) & set(one.values())
    for changed in (classifier(1), classifier(std=(0.2,) * 3), classifier(precision="bfloat16")):
        two = keys(replace(observer, classifier=changed), rendering())
        assert {part for part in one if one[part] == two[part]} == {"image_stats"}
    renamed = replace(observer, classifier=classifier(name="other"))
    assert keys(renamed, rendering("t")) == one


def test_an_interrupted_map_goes_on_to_the_same_files(observer, tmp_path, monkeypatch):
    monkeypatch.setattr("starter.observing.observe.TOGETHER", 520)
    sets = [rendering(f"s{i}", seed=i) for i in range(3)]
    needs = ("moments", "features", "image_stats")
    whole = replace(observer, cache=Cache(tmp_path / "whole"))
    observe_all(sets, whole, needs)
    stopped = replace(observer, classifier=classifier())
    stopped.classifier.deployed.left = 520 + 500  # in the second chunk of the second set
    with pytest.raises(KeyboardInterrupt):
        observe_all(sets, stopped, needs)
    assert 0 < len(entries(stopped)) < len(entries(whole))
    assert entries(stopped).items() <= entries(whole).items()
    resumed = replace(stopped, classifier=classifier())
    found = observe_all(sets, resumed, needs)
    assert seen(resumed) == 2 * 520
    assert entries(resumed) == entries(whole)
    assert [each.set_name for each in found[1:]] == ["s1", "s2"]


def test_what_a_network_does_not_bear_names_the_set(observer):
    broken = replace(observer, classifier=scaled(float("nan")))
    sets = [rendering("s0"), rendering("s1", seed=1)]
    with pytest.raises(UnusableInput, match=r"set s0( or s1)?: classifier 'net0' gives NaN or infinite"):
        observe_all(sets, broken, ("moments",))


def test_a_set_of_another_size_than_it_says_and_unknown_needs_are_refused(observer, tmp_path):
    write_npz(tmp_path / "val.npz", base(n=12))
    declared = FromFile("val", tmp_path / "val.npz", "0" * 64, 13)
    with pytest.raises(UnusableInput, match=r"of 13 images for set 'val'.* how many images"):
        read(declared, observer)
    with pytest.raises(ValueError, match="unknown need 'labels': an observation holds moments, features"):
        read(rendering(), observer, ("labels",))
    assert not observer.cache.root.exists()


@pytest.mark.parametrize("most", [0, 2])
def test_results_come_in_order_and_few_items_are_taken_ahead(most):
    taken = []
    items = (taken.append(n) or n for n in range(20))
    for number, (result, thread) in enumerate(aside(lambda n: (n * n, threading.get_ident()), items, most)):
        assert result == number * number
        assert (thread == threading.get_ident()) == (most == 0)
        assert len(taken) <= number + 1 + most
    assert number == 19


@pytest.mark.parametrize("most", [0, 2])
def test_an_error_comes_after_the_results_before_it(most):
    results = aside(lambda n: 1 // (2 - n), range(9), most)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_what_was_given_is_done_when_the_caller_stops():
    done = []
    results = aside(lambda n: (time.sleep(0.02), done.append(n)), range(9), 2)
    next(results)
    results.close()
    assert sorted(done) == [0, 1, 2]
