"""Building mixes: true metrics computed anew, what is public, what stays hidden, and that it is the same again."""

import json
import shutil
import stat

import cv2
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from starter.contest import build as build_module
from starter.contest.accuracy.observe import ClassifierSubject
from starter.contest.audit import audit
from starter.contest.build import build
from starter.contest.ood.plan import GROUPS
from starter.data.images.arrays import read_npz
from starter.data.images.imageset import ImageSet
from starter.data.images.reading import Fit
from starter.data.sets.mix import Mix, family
from starter.data.sets.rendering import FromRecipe
from starter.data.sources.oodsets import load_ind_images, load_ood_sets
from starter.data.sources.sources import load_source
from starter.observing.detectors import DETECTORS
from starter.observing.sets import PublicSets
from submission import UnusableInput
from submission.predictions import read_predictions
from submission.scoring import read_targets
from submission.solution import solution_of

SEED = 11
FEW = {"train_sets": 6, "val_sets": 2, "test_sets": 6, "detectors": ("msp",)}


@pytest.fixture(scope="module")
def scored(ood_built):
    """The scores of any images by a detector, computed without the cache of mixes."""
    subject = ClassifierSubject.open(PublicSets(ood_built), "tiny", ())
    fitted = {name: DETECTORS[name].fit(subject.source) for name in ("msp", "energy")}

    def score(detector, images):
        observed = subject.observe((FromRecipe.whole(ImageSet("x", images)),))
        return fitted[detector].score(observed[0])

    return score


@pytest.fixture(scope="module")
def pools(ood_built, ood_folder):
    """IND images by part, and every OOD set."""
    splits = load_source("glyphs", 0)
    bases = {"train": splits.meta_base, "val": splits.val_base, "test": splits.test_base}
    return bases, load_ood_sets(str(ood_folder), splits.classes, Fit((32, 32)))


def expected(metric, pool, scores, is_ood):
    """By scikit-learn: the threshold that keeps 95 % of the whole IND pool, on the mix's OOD images."""
    if metric == "auroc":
        return roc_auc_score(is_ood, scores)
    truth = np.r_[np.ones(len(pool)), np.zeros(is_ood.sum())]
    false, true, _ = roc_curve(truth, -np.r_[pool, scores[is_ood]], drop_intermediate=False)
    return false[np.argmax(true >= 0.95 - 1e-12)]


def test_meta_train_targets_are_those_of_their_images(ood_built, pools, scored):
    bases, ood = pools
    lines = ood_built.file("train/mixes.jsonl").read_text().splitlines()
    whole = {detector: scored(detector, bases["train"].images) for detector in ("msp", "energy")}
    for line in lines[:3]:
        mix = Mix.from_json(line)
        rows, is_ood = mix.rows(len(bases["train"]), len(ood[mix.ood_set]))
        two = bases["train"].images, ood[mix.ood_set].images
        images = np.stack([two[int(o)][row] for row, o in zip(rows, is_ood, strict=True)])
        for subject in ood_built.subjects:
            _, detector, metric = subject.split(":")
            found = read_targets(ood_built, "train")[f"{subject}/{mix.name}"]
            truth = expected(metric, whole[detector], scored(detector, images), is_ood)
            assert found == pytest.approx(truth, abs=0.005)


def test_hidden_targets_are_those_of_the_test_images(ood_built, pools, scored):
    bases, ood = pools
    shown = {name: set(images.hashes()) for name, images in ood.items()}
    for row in (*solution_of(ood_built, "fpr95")[:4], *solution_of(ood_built, "auroc")[:4]):
        images = read_npz(ood_built.file(f"test/{row.set}.npz")).images
        truth = [set(ImageSet("x", image[None]).hashes()) for image in images]
        (origin,) = [name for name, hashes in shown.items() if any(each <= hashes for each in truth)]
        is_ood = np.array([each <= shown[origin] for each in truth])
        detector = row.subject.split(":")[1]
        whole = scored(detector, bases["test"].images)
        found = expected(row.subject.split(":")[2], whole, scored(detector, images), is_ood)
        assert row.prediction == pytest.approx(found, abs=0.005)
        share = 1 - is_ood.mean()
        assert 0.2 <= share <= 0.8
        assert GROUPS[row.group] >= share


def test_ood_images_of_public_parts_stand_in_no_test_mix(ood_built):
    public = set()
    for file in ood_built.files:
        if file.startswith(("ood/", "val/", "base", "reference", "train_ref")) and file.endswith(".npz"):
            public |= set(read_npz(ood_built.file(file)).hashes())
    for name in ood_built.sets("test"):
        assert not public & set(read_npz(ood_built.file(f"test/{name}.npz")).hashes())


def test_families_are_disjoint_and_hidden_and_usages_divide_none(ood_built):
    record = json.loads((ood_built.private / "build.json").read_text())
    mixes = [Mix.from_json(entry["recipe"]) for entry in record["test"]]
    public = {path.stem for path in (ood_built.public / "ood").iterdir()}
    train = {family(name) for name in public}
    test = {family(mix.ood_set) for mix in mixes}
    val = {line.split(",")[2] for line in ood_built.file("val/groups.csv").read_text().splitlines()[1:]}
    assert not train & test
    assert not val & (train | test)
    hidden = {mix.ood_set for mix in mixes} - public
    assert hidden
    text = (ood_built.public / "competition.json").read_text()
    assert not any(f'"{name}"' in text or f"{name}.npz" in text for name in hidden)
    usages = {}
    for row in solution_of(ood_built):
        origin = next(mix.ood_set for mix in mixes if mix.name == row.set)
        usages.setdefault(family(origin), set()).add(row.usage)
    assert all(len(found) == 1 for found in usages.values())
    assert {row.usage for row in solution_of(ood_built)} == {"Public", "Private"}


def test_a_test_mix_tells_no_labels(ood_built):
    with np.load(ood_built.file("test/test_0001.npz"), allow_pickle=False) as file:
        assert file.files == ["images"]
    assert set(ood_built.sizes["test"].values()) == {80}


def test_noise_is_that_of_the_binomial_for_fpr(ood_built):
    """A bootstrap of the OOD images moves an FPR by about sqrt(p (1 - p) / n)."""
    path = ood_built.private / "noise.csv"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    spread = read_predictions(path, ood_built.ids("test"), column="deviation")
    rows = [row for row in solution_of(ood_built, "fpr95") if 0.1 < row.prediction < 0.9]
    for row in rows:
        most = np.sqrt(row.prediction * (1 - row.prediction) / 20)
        assert 0 < spread[row.id] < 1.5 * most
    assert ood_built.file("val/noise.csv").is_file()


def test_an_interrupted_build_ends_in_the_same_files(ood_built, mix_settings, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    for function in ("csv_text", "write_sample"):
        with monkeypatch.context() as patch:
            patch.setattr(build_module, function, interrupt)
            with pytest.raises(KeyboardInterrupt):
                build(tmp_path / "mixes", mix_settings(), SEED)
    again = build(tmp_path / "mixes", mix_settings(), SEED)
    assert again.files == ood_built.files
    assert solution_of(again, "auroc") == solution_of(ood_built, "auroc")
    assert (again.private / "noise.csv").read_bytes() == (ood_built.private / "noise.csv").read_bytes()


@pytest.fixture(scope="module")
def kept_back(tmp_path_factory):
    """Images of an organizer's own: three families of OOD sets, and IND images in folders, 100 of them twice."""
    root, splits = tmp_path_factory.mktemp("kept_back"), load_source("glyphs", 0)
    sets = {f"ood/{name}_1": splits.train.images[i::40, ::-1][:200] for i, name in enumerate("xyz")}
    for name, images in {**sets, "ind/some/deep": splits.test_base.images[:500]}.items():
        (root / name).mkdir(parents=True)
        for i, image in enumerate(images):
            cv2.imwrite(str(root / name / f"{i:03d}.png"), image[..., ::-1])
    for i in range(100):
        shutil.copy(root / f"ind/some/deep/{i:03d}.png", root / f"ind/{i}.png")
    return root


def test_a_hidden_competition_tests_on_the_organizers_own_images_each_once(
    kept_back, mix_settings, tmp_path, capsys
):
    own = {"test_from": (str(kept_back / "ood"),), "test_ind": str(kept_back / "ind")}
    settings = mix_settings(hidden=True, **own, **FEW)
    found = build(tmp_path / "mixes", settings, 2**32)
    assert found.visibility == "hidden"
    assert "IND images of the test: 100 of 600 images left out" in capsys.readouterr().err
    record = json.loads((found.private / "build.json").read_text())
    assert {Mix.from_json(entry["recipe"]).ood_set for entry in record["test"]} == {"x_1", "y_1", "z_1"}
    own_sets = load_ood_sets(str(kept_back / "ood"), (), Fit((32, 32)))
    own_sets["ind"] = load_ind_images(str(kept_back / "ind"), Fit((32, 32)))
    theirs = {name: set(images.hashes()) for name, images in own_sets.items()}
    shown = [read_npz(found.file(f"test/{name}.npz")).hashes() for name in found.sets("test")]
    assert set().union(*shown) <= set().union(*theirs.values())
    assert len(set().union(*shown)) == sum(map(len, shown))
    assert all(len(theirs["ind"].intersection(each)) >= 16 for each in shown)
    public = (found.public / "competition.json").read_text() + (found.public / "LICENCES.txt").read_text()
    assert not any(word in public for word in ("x_1", "kept_back"))
    assert "test sets from elsewhere" in public
    assert not [text for grade, text in audit(found) if grade == "error"]


def test_public_images_are_refused_as_hidden_ones(kept_back, mix_settings, ood_folder, tmp_path):
    public = load_source("glyphs", 0).reference.images[0]
    shutil.copytree(kept_back / "ind", tmp_path / "ind")
    cv2.imwrite(str(tmp_path / "ind/one.png"), public[..., ::-1])
    own = mix_settings(test_from=(str(kept_back / "ood"),), test_ind=str(tmp_path / "ind"))
    with pytest.raises(UnusableInput, match=r"ind: 1 of its 601 images are public, in source: take them out"):
        build(tmp_path / "a", own, SEED)
    same = mix_settings(test_from=(str(ood_folder),))
    with pytest.raises(UnusableInput, match="set 'a_1' is of the family 'a', as"):
        build(tmp_path / "b", same, SEED)
