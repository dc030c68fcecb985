"""Estimates: the images that a build and its methods observe, the bytes of its folder, and no file written."""

import numpy as np
import pytest
import torch
from asked import accuracy_settings, changed, ood_settings

from baselines import Constant
from baselines.run.predict import predict
from starter.build import cost as cost_module
from starter.build.build import build
from starter.build.cost import NAMED, Cost, cost
from starter.build.folder import TRAIN_REF
from starter.classifiers import Classifier, save_classifier
from starter.classifiers.networks.small import Small
from starter.observing import observe as observe_module
from starter.sets.recipe import Recipe
from starter.sources import sources
from starter.sources.glyphs.digits import CLASSES
from submission import UnusableInput


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def settings(tmp_path):
    """A source of 1200 images of 16 x 16 pixels, two untrained networks, and two natural sets of 9 images."""
    rng = np.random.default_rng(0)

    def pixels(n):
        return rng.integers(256, size=(n, 16, 16, 3), dtype=np.uint8)

    np.savez(tmp_path / "source.npz", images=pixels(1200), labels=np.arange(1200) % 3)
    (tmp_path / "natural").mkdir()
    for name in "ab":
        np.savez(tmp_path / "natural" / f"{name}.npz", images=pixels(9), labels=np.arange(9) % 3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = Classifier("x", "small", Small(3), ("0", "1", "2"), (0.5,) * 3, (0.25,) * 3)
    save_classifier(network, tmp_path / "x.safetensors")
    return accuracy_settings(
        source=str(tmp_path / "source.npz"),
        classifiers=(f"one={tmp_path / 'x.safetensors'}", f"two={tmp_path / 'x.safetensors'}"),
        train_sets=7,
        val_sets=3,
        test_sets=5,
        set_size=20,
        test_from=(str(tmp_path / "natural"),),
    )


def test_the_sets_of_a_named_source_are_counted():
    found = cost(accuracy_settings(train_sets=10, val_sets=3, test_sets=4, set_size=50))
    assert found.images == (10 + 3 + 4) * 50 + 2000 + TRAIN_REF
    more = cost(accuracy_settings(train_sets=11, val_sets=3, test_sets=4, set_size=50))
    assert more.images - found.images == 50
    assert more.disk - found.disk < 50 * 32 * 32 * 3  # meta-train sets are recipes, not pixels


def test_candidates_of_cells_are_counted(monkeypatch):
    monkeypatch.setattr(cost_module, "_seconds_per_image", lambda classifier, size: 0.0)
    sizes = {"train_sets": 2, "val_sets": 1, "test_sets": 2}
    assert cost(accuracy_settings(**sizes)).candidates == 0
    assert cost(accuracy_settings(**sizes, set_size=50, grid="embedded")).candidates == 3 * 64 * 50
    mixes = ood_settings(**sizes, sizes=(40, 80), grid="embedded")
    assert cost(mixes).candidates == 3 * 64 * 80


def test_natural_sets_are_counted_and_cut_to_size(settings, tmp_path):
    """The source holds 600 images to train, and of 600 others a fifth as the reference."""
    assert cost(settings).images == (7 + 3 + 5) * 20 + 2 * 9 + 120 + 600
    cut = accuracy_settings(**{**settings.values(), "set_size": 4})
    assert cost(cut).images == (7 + 3 + 5) * 4 + 2 * 4 + 120 + 600


def test_it_is_what_a_build_and_a_prediction_observe(settings, tmp_path, monkeypatch):
    seen = {"one": 0, "two": 0}
    compute = observe_module.compute

    def counting(rendering, classifier, parts, head):
        seen[classifier.name] += len(rendering)
        return compute(rendering, classifier, parts, head)

    monkeypatch.setattr(observe_module, "compute", counting)
    # Two networks of the same weights would share their cache.
    found = cost(settings)
    competition = build(tmp_path / "contest", settings, test_seed=1)
    predict(competition, {"constant": Constant()}, progress=False)
    assert seen["one"] == found.images
    assert seen["two"] == 0


def test_the_disk_is_the_folder(settings, tmp_path):
    """Within a tenth; what is left is the headers of many small files, and CSV and JSON."""
    one = accuracy_settings(**{**settings.values(), "classifiers": settings.classifiers[:1], "set_size": 60})
    expected = cost(one).disk
    competition = build(tmp_path / "contest", one, test_seed=1)
    predict(competition, {"constant": Constant()}, progress=False)
    found = sum(path.stat().st_size for path in files_of(competition.root))
    assert expected == pytest.approx(found, rel=0.1)


def test_every_classifier_adds_time_and_disk_but_no_images(monkeypatch):
    monkeypatch.setattr(cost_module, "_seconds_per_image", lambda classifier, size: 0.001)
    one = cost(accuracy_settings(train_sets=2, val_sets=0, test_sets=2, set_size=2))
    two = cost(
        accuracy_settings(
            train_sets=2, val_sets=0, test_sets=2, set_size=2, classifiers=("small", "resnet56")
        )
    )
    assert two.images == one.images
    assert one.seconds == pytest.approx(0.001 * one.images)
    assert two.seconds == pytest.approx(0.002 * one.images)
    assert two.disk > one.disk


def test_time_is_measured_on_images_of_the_sources_size(settings, monkeypatch):
    sizes = []
    call = Classifier.__call__

    def noting(self, images):
        sizes.append(images.shape[1:])
        return call(self, images)

    monkeypatch.setattr(Classifier, "__call__", noting)
    assert cost(settings).seconds > 0
    assert set(sizes) == {(16, 16, 3)}


@pytest.mark.slow
def test_nothing_is_written_downloaded_or_drawn(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sources, "SOURCES", dict.fromkeys(sources.SOURCES, lambda root, seed: pytest.fail("loaded"))
    )
    before, state = files_of(tmp_path), torch.random.get_rng_state()
    cost(settings)
    cost(
        accuracy_settings(
            source="cifar10", classifiers=("resnet56=official",), train_sets=2, test_sets=2, set_size=2
        )
    )
    assert files_of(tmp_path) == before
    assert torch.equal(torch.random.get_rng_state(), state)


def test_named_sources_are_known_as_they_are():
    assert NAMED.keys() == sources.SOURCES.keys()
    assert NAMED["glyphs"] == CLASSES
    assert len(set(NAMED["cifar10"])) == 10


def test_reads_as_text():
    text = str(Cost(images=1_234_567, seconds=5400, disk=25_600_000))
    assert text.splitlines() == [
        "images  1,234,567 per classifier",
        "time    about 1.50 h of forward passes on this machine",
        "disk    about 26 MB",
    ]
    with_grid = str(Cost(images=1, seconds=5400, disk=0, candidates=9600))
    assert with_grid.endswith("\ngrid    about 9,600 candidates to render and to encode, beside that time")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": "gone.npz"}, r"gone\.npz"),
        ({"test_from": ("gone",)}, "gone: no such file or folder"),
        ({"classifiers": ("net",)}, "there is no architecture net; the kit has"),
        ({"classifiers": ("small=gone.pt",)}, r"gone\.pt"),
        ({"classifiers": ("net=official",)}, "official weights exist for"),
        ({"classifiers": ("resnet18=official",)}, "official weights exist for resnet56, repvgg_a0 only"),
    ],
)
def test_what_a_build_would_refuse_is_refused(settings, changes, message):
    with pytest.raises(UnusableInput, match=message):
        cost(accuracy_settings(**{**settings.values(), **changes}))


@pytest.mark.parametrize("engine", ["", "openvino"])
@pytest.mark.parametrize("classifier", [0, "small"])
def test_a_device_that_is_not_there_is_named(settings, classifier, engine):
    classifiers = ("small",) if classifier == "small" else settings.classifiers[:1]
    with pytest.raises(UnusableInput, match="device 'abacus' cannot be used here"):
        cost(changed(settings, classifiers=classifiers, engine=engine), device="abacus")


def test_referees_look_at_what_they_learn_from_too(settings):
    """Their time, and what they have seen, in the cache and packed."""
    plain = cost(settings)
    found = cost(changed(settings, referees=("referees:blind",)))
    assert (plain.refereed, found.images) == (0.0, plain.images)
    assert found.refereed > 0
    assert found.disk - plain.disk == 2 * 4 * plain.images * 3
    assert "\nreferee about " in str(found)
    assert "referee" not in str(plain)


def test_what_referees_learn_from_is_counted_by_recipe(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(cost_module, "_seconds_per_image", lambda look, size: 1.0)
    lines = [Recipe(f"set{i}", i, (("sample", {"n": 20}), ("color", {}))).to_json() for i in range(2)]
    (tmp_path / "own.jsonl").write_text("\n".join(lines))
    asked = {"referees": ("referees:blind",), "recipes": str(tmp_path / "own.jsonl")}
    few, many = (cost(changed(settings, train_sets=sets, **asked)) for sets in (2, 100))
    assert few.refereed == many.refereed


def test_a_referee_that_takes_other_sizes_is_refused(settings):
    with pytest.raises(UnusableInput, match="fussy cannot encode images of 16 x 16 pixels: 64 x 64 pixels"):
        cost(changed(settings, referees=("referees:fussy",)))
