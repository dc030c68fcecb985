"""Sets as files: the pixels, labels and accuracies of the competition, the same bytes however often interrupted."""

import json

import cv2
import numpy as np
import pytest
import torch
from asked import accuracy_settings
from built import contents
from command_line import run
from rules import with_fields
from sklearn.linear_model import LinearRegression

from baselines import BASELINES
from baselines.run.predict import predict
from starter.contest.build import build
from starter.contest.materialize import materialize
from starter.data.images.arrays import read_npz
from starter.data.sources.npy_sets import load_stored, stored_sets
from starter.data.sources.sources import load_images, set_names
from starter.models.classifiers import read_classifier, save_classifier
from starter.observing.sets import PublicSets
from submission import UnusableInput
from submission.predictions import read_predictions
from submission.scoring import read_targets


def write_sighted(folder, images, labels):
    """Write a classifier that tells the classes apart: the untrained network with a fitted last layer."""
    sighted = read_classifier(folder / "net.safetensors", "sighted")
    features = np.c_[sighted(images)[1].numpy(), np.ones(len(images))]
    head = 9 * np.linalg.lstsq(features, np.eye(3)[labels], rcond=None)[0].T
    sighted.network.head.weight.copy_(torch.from_numpy(head[:, :-1]))
    sighted.network.head.bias.copy_(torch.from_numpy(head[:, -1]))
    save_classifier(sighted, folder / "sighted.safetensors")


@pytest.fixture(scope="module")
def whole(noisy, tmp_path_factory):
    """As in the challenge: all labelled images in every set, in one order in the meta-train sets, and as the source."""
    folder = noisy.root.parent
    rng = np.random.default_rng(0)
    labels = np.arange(1200) % 3
    colours = rng.uniform(0, 90, size=(1200, 1, 1, 1)) * np.eye(3)[labels][:, None, None]  # a channel a class
    images = (100 + colours + rng.uniform(-60, 60, size=(1200, 16, 16, 3))).astype(np.uint8)
    np.savez(folder / "colours.npz", images=images, labels=labels, classes=["b", "a", "c d"])
    write_sighted(folder, images[:300], labels[:300])
    files = tuple(f"{name}={folder / name}.safetensors" for name in ("sighted", "net"))
    sets = {"train_sets": 12, "val_sets": 2, "test_sets": 2, "set_size": 600, "datacv_splits": True}
    settings = accuracy_settings(source=str(folder / "colours.npz"), classifiers=files, **sets)
    return build(tmp_path_factory.mktemp("whole") / "contest", settings, test_seed=1)


def expected(noisy, part):
    """The sets as the competition has them, in its order."""
    if part == "train":
        return [rendering.recipe.render(rendering.base) for rendering in PublicSets(noisy).train]
    return [read_npz(noisy.file(f"{part}/{name}.npz"), name) for name in noisy.sets(part)]


def assert_same(found, wanted):
    np.testing.assert_array_equal(found.images, wanted.images)
    np.testing.assert_array_equal(found.labels, wanted.labels)


def listed(folder):
    """The names in a folder, hidden ones too, sorted."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("part", ["train", "val"])
@pytest.mark.parametrize("layout", ["npz", "folders"])
def test_sets_and_their_accuracies_are_read_back(noisy, tmp_path, part, layout):
    folder = materialize(noisy, out=tmp_path, layout=layout, part=part)
    paths = set_names(folder)
    assert [path.removeprefix(f"{folder}/").removesuffix(".npz") for path in paths] == list(noisy.sets(part))
    for path, wanted in zip(paths, expected(noisy, part), strict=True):
        found = load_images(path, noisy.classes)
        order = np.lexsort((np.arange(50), np.array(noisy.classes)[wanted.labels]))
        assert_same(found, wanted if layout == "npz" else wanted.take(order))
    ids = noisy.ids(part)
    assert read_predictions(folder / "targets.csv", ids, "target") == read_targets(noisy, part)


def test_datacv_has_one_file_of_labels_where_all_sets_show_the_same_images(whole, tmp_path):
    folder = materialize(whole, out=tmp_path, layout="datacv", part="train")
    files = [name for name in listed(folder) if name.startswith("new_data")]  # as its kit finds them
    assert files == [f"new_data_{i:03d}.npy" for i in range(12)]
    assert set(listed(folder)) == {*files, "labels.npy"}
    labels = np.load(folder / "labels.npy", allow_pickle=False)
    for file, stored, wanted in zip(files, stored_sets(folder), expected(whole, "train"), strict=True):
        np.testing.assert_array_equal(np.load(folder / file, allow_pickle=False), wanted.images)
        np.testing.assert_array_equal(labels, wanted.labels)
        assert_same(load_stored(stored, whole.classes), wanted)
    for planned in json.loads((whole.root / "private/build.json").read_text())["test"]:
        assert json.loads(planned["recipe"])["ops"][0] == ["sample", {"n": 600}], "labels.npy tells no others"


def test_datacv_has_a_folder_a_set_where_they_differ_and_accuracies_in_their_order(noisy, tmp_path):
    for part, place, file in (("train", "train_data", "train_data"), ("val", "val", "val_sets")):
        folder = materialize(noisy, out=tmp_path, layout="datacv", part=part)
        assert folder == tmp_path / place
        assert listed(folder) == list(noisy.sets(part))
        for stored, wanted in zip(stored_sets(folder), expected(noisy, part), strict=True):
            found = load_stored(stored, noisy.classes)
            assert found.name == wanted.name
            assert_same(found, wanted)
        accuracies = [np.load(tmp_path / f"temp/{each}/acc/{file}.npy") for each in noisy.subjects]
        targets = [*read_targets(noisy, part).values()]
        np.testing.assert_allclose(np.concatenate(accuracies), targets, rtol=0, atol=5e-7)


def test_test_sets_are_numbered_from_1_and_have_no_labels(noisy, tmp_path):
    assert materialize(noisy, out=tmp_path, layout="datacv", part="test") == tmp_path / "test_data"
    assert listed(tmp_path / "test_data") == ["001.npy", "002.npy"]
    files = listed(materialize(noisy, out=tmp_path, layout="npz", part="test"))
    assert files == ["test_0001.npz", "test_0002.npz"]
    for number, wanted in enumerate(expected(noisy, "test"), 1):
        found = np.load(tmp_path / f"test_data/00{number}.npy", allow_pickle=False)
        np.testing.assert_array_equal(found, wanted.images)
        np.testing.assert_array_equal(read_npz(tmp_path / f"test/test_000{number}.npz").images, found)
        assert read_npz(tmp_path / f"test/test_000{number}.npz").labels is None


def entropy_scores(network, images):
    """Minus the entropy of the softmax of each image, in float64, and the predicted class."""
    logits = network(images)[0].double()
    p = logits.softmax(1)
    return (p * p.log()).sum(1).numpy(), logits.argmax(1).numpy()


def test_a_reader_of_the_documented_layout_predicts_as_the_kit_on_the_same_source(whole, tmp_path):
    """Written from the page of github.com/xingjianleng/autoeval_baselines: names, order, and its form of ATC."""
    run("export", "datacv", whole.root, tmp_path / "out")
    top = tmp_path / "out/participants"
    labels = np.load(top / "train_data/labels.npy").astype(np.int64)
    source = read_npz(whole.file("reference.npz"))
    np.testing.assert_array_equal(source.labels, labels)  # the original images, all of them
    answer = []
    for model in whole.subjects:
        network = read_classifier(whole.file(f"classifiers/{model}.safetensors"), model)
        known = {name: np.load(top / f"temp/{model}/acc/{name}.npy") for name in ("train_data", "val_sets")}
        scores, predicted = entropy_scores(network, source.images)
        threshold = np.sort(scores)[int(np.ceil((predicted == source.labels).mean() * len(scores)))]
        train = [
            entropy_scores(network, np.load(file)) for file in sorted(top.glob("train_data/new_data*.npy"))
        ]
        accuracies = [(predicted == labels).mean() for _, predicted in train]
        np.testing.assert_allclose(accuracies, known["train_data"], rtol=0, atol=1e-6)
        accuracies = [
            (entropy_scores(network, np.load(each / "data.npy"))[1] == np.load(each / "labels.npy")).mean()
            for each in sorted(top.glob("val/*"))
        ]
        np.testing.assert_allclose(accuracies, known["val_sets"], rtol=0, atol=1e-6)
        line = LinearRegression().fit([[(s < threshold).mean()] for s, _ in train], known["train_data"])
        for file in sorted(top.glob("test_data/*.npy")):
            answer += [*line.predict([[(entropy_scores(network, np.load(file))[0] < threshold).mean()]])]
    assert np.std(answer) > 0.001
    path = predict(whole, {"atc-datacv": BASELINES["atc-datacv"]})["atc-datacv"]["test"]
    np.testing.assert_allclose(
        answer, [*read_predictions(path, whole.ids("test")).values()], rtol=0, atol=1e-5
    )


def test_after_an_interruption_it_goes_on_and_ends_in_the_same_bytes(noisy, tmp_path, monkeypatch):
    encode, left = cv2.imencode, iter(range(120))

    def interrupted(*arguments):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return encode(*arguments)

    monkeypatch.setattr("cv2.imencode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        materialize(noisy, out=tmp_path / "stopped", layout="folders")
    monkeypatch.undo()
    folder = tmp_path / "stopped/train"
    written = {path: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_dir()}
    assert 0 < len(written) < len(noisy.sets("train"))
    (folder / ".train_0012.tmp").mkdir()  # as a kill leaves one
    materialize(noisy, out=tmp_path / "stopped", layout="folders")
    assert written == {path: path.stat().st_mtime_ns for path in written}
    materialize(noisy, out=tmp_path / "whole", layout="folders")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    ("changes", "arguments", "word"),
    [
        ({}, {"layout": "png"}, "there are npz, folders, datacv"),
        ({}, {"part": "base"}, "there are train, val, test"),
        *(({"classes": ("a", name, "c")}, {"layout": "folders"}, "class") for name in ("a/b", "a\\b", "..")),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_written(noisy, tmp_path, changes, arguments, word):
    with pytest.raises(UnusableInput, match=word):
        materialize(with_fields(noisy, **changes), out=tmp_path / "new", **arguments)
    with pytest.raises(UnusableInput, match="is inside the competition"):
        materialize(noisy, out=noisy.public / "sets")
    without = with_fields(noisy, sizes={**noisy.sizes, "val": {}})
    with pytest.raises(UnusableInput, match="no val sets"):
        materialize(without, out=tmp_path / "new", part="val")
    assert not list(tmp_path.glob("new/*/*"))


def test_a_folder_with_something_else_is_left_alone(noisy, whole, tmp_path):
    (tmp_path / "mine/train").mkdir(parents=True)
    (tmp_path / "mine/train/thesis.txt").write_text("mine")
    with pytest.raises(
        UnusableInput, match=r"mine/train holds other files, or was made with other settings: name"
    ):
        materialize(noisy, out=tmp_path / "mine")
    materialize(noisy, out=tmp_path / "sets", layout="npz", part="val")
    before = contents(tmp_path / "sets")
    for other, layout in ((noisy, "folders"), (noisy, "datacv"), (whole, "npz")):
        with pytest.raises(UnusableInput, match=r"sets/val holds other files"):
            materialize(other, out=tmp_path / "sets", layout=layout, part="val")
    assert contents(tmp_path / "sets") == before
    assert contents(tmp_path / "mine") == {"train/thesis.txt": b"mine"}
