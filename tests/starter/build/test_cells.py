"""Cells as the sets of a competition, in either track: what is in them, what is public, and the same again."""

import json

import numpy as np
import pytest
from laids import random_laid

from starter.build.build import build
from starter.build.cells import Candidates, cell_pools, plan_cells
from starter.competition.accuracy import ClassifierSubject
from starter.competition.sets import PublicSets, read_groups
from starter.images.arrays import read_npz
from starter.images.imageset import ImageSet
from starter.observing.cache import Cache
from starter.sets.mix import Mix
from starter.shift.grid import cell_of
from starter.shift.ruler import Ruler
from submission import UnusableInput
from submission.scoring import read_targets
from submission.solution import solution_of

pytestmark = pytest.mark.usefixtures("few_training_images")
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def laid(tmp_path_factory):
    """A LAID matrix in a file."""
    path = tmp_path_factory.mktemp("laid") / "laid.safetensors"
    random_laid()[1].save(path)
    return path


@pytest.fixture(scope="module")
def grid_built(tmp_path_factory, settings, laid):
    root = tmp_path_factory.mktemp("grid") / "contest"
    return build(root, settings(grid="laids:encoder", laid=str(laid), set_size=30), 11)


@pytest.fixture(scope="module")
def mixes_built(tmp_path_factory, mix_settings, laid):
    root = tmp_path_factory.mktemp("grid") / "mixes"
    return build(root, mix_settings(grid="laids:encoder", laid=str(laid), set_size=40), 11)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Candidates of random images."""
    images = ImageSet(
        "base", RNG.integers(256, size=(200, 8, 8, 3), dtype=np.uint8), RNG.integers(3, size=200)
    )
    ruler = Ruler.of(*random_laid(), ImageSet("ind", images.images[:50]))
    return Candidates.of(
        "val", images, {}, 20, 0, ruler, Cache(tmp_path_factory.mktemp("cache")), embedded=False
    )


def test_a_set_holds_images_of_its_cell_alone(found):
    planned = plan_cells(found, found.ranges, 30, 20, seed=1)
    assert len({plan.recipe.name for plan in planned}) == 30
    images, levels = found.take(np.arange(len(found.semantic)), "all"), []
    for degrees, (low, high) in zip((found.semantic, found.covariate), found.ranges, strict=True):
        levels.append(np.floor((degrees - low) / (high - low) * 8).astype(int))
    rows = {image.tobytes(): i for i, image in enumerate(images.images)}
    for plan in planned:
        drawn = plan.render(images)
        assert len(drawn) == 20
        mine = [rows[image.tobytes()] for image in drawn.images]
        np.testing.assert_array_equal(drawn.labels, images.labels[mine])
        cells = {(int(levels[0][row]), int(levels[1][row])) for row in mine}
        assert cells == {cell_of(plan.family)}
        assert plan.group == f"c{cell_of(plan.family)[1] + 1}"


def test_cells_take_turns(found):
    families = [plan.family for plan in plan_cells(found, found.ranges, 40, 20, seed=1)]
    counts = np.unique(families, return_counts=True)[1]
    assert counts.max() - counts.min() <= 1
    assert plan_cells(found, found.ranges, 0, 20, seed=1) == []


def test_pools_are_of_one_cell_and_of_bounded_size(found):
    pools = cell_pools(found, found.ranges, 20, seed=1)
    assert all(20 <= len(images) <= 40 and images.labels is None for images in pools.values())
    assert {cell_of(name) for name in pools} >= {
        (cell_of(plan.family)) for plan in plan_cells(found, found.ranges, 9, 20, 1)
    }


def test_too_few_full_cells_are_told(found):
    with pytest.raises(UnusableInput, match="--grid: 0 cells of the val images hold the 900 images of a set"):
        plan_cells(found, found.ranges, 2, 900, seed=1)


def test_a_grid_competition_has_true_accuracies_and_neutral_names(grid_built):
    groups = read_groups(grid_built)
    assert all(cell_of(family) and group == f"c{cell_of(family)[1] + 1}" for group, family in groups.values())
    assert all(name.startswith("test_0") for name in grid_built.sets("test"))
    assert grid_built.settings["grid"] == "laids:encoder"
    record = json.loads((grid_built.private / "build.json").read_text())
    assert {entry["family"] for entry in record["test"]} == {
        entry["base"].removeprefix("cell:") for entry in record["test"]
    }
    solution = {row.set: row for row in solution_of(grid_built)}
    assert {row.usage for row in solution.values()} == {"Public", "Private"}
    subject = ClassifierSubject.open(PublicSets(grid_built), "tiny", ())
    targets = read_targets(grid_built, "val")
    for observed, name in zip(
        subject.observations("val", progress=False), grid_built.sets("val"), strict=True
    ):
        labels = read_npz(grid_built.file(f"val/{name}.npz")).labels
        assert targets[f"tiny/{name}"] == pytest.approx((observed.predicted == labels).mean())
    for name in grid_built.sets("test"):
        assert read_npz(grid_built.file(f"test/{name}.npz")).labels is None


def test_hidden_cells_are_named_in_private_alone(grid_built, mixes_built):
    for competition in (grid_built, mixes_built):
        text = (competition.public / "competition.json").read_text()
        record = json.loads((competition.private / "build.json").read_text())
        assert not any(f'"{entry["family"]}"' in text for entry in record["test"])


def test_mixes_of_cells(mixes_built):
    record = json.loads((mixes_built.private / "build.json").read_text())
    groups = {row.set: row.group for row in solution_of(mixes_built)}
    for entry in record["test"]:
        mix = Mix.from_json(entry["recipe"])
        assert entry["family"] == mix.ood_set
        assert groups[mix.name] == f"s{cell_of(mix.ood_set)[0] + 1}"
    public = set().union(
        *(
            set(read_npz(mixes_built.file(f)).hashes())
            for f in mixes_built.files
            if f.startswith(("ood/", "val/val"))
        )
    )
    for name in mixes_built.sets("test"):
        assert not public & set(read_npz(mixes_built.file(f"test/{name}.npz")).hashes())


def test_the_same_seeds_give_the_same_files(grid_built, settings, laid, tmp_path):
    again = build(tmp_path / "contest", settings(grid="laids:encoder", laid=str(laid), set_size=30), 11)
    assert again.files == grid_built.files
    with pytest.raises(UnusableInput, match="--grid: laids:encoder here,  asked for"):
        build(tmp_path / "contest", settings(set_size=30), 11)


def test_mistakes_get_one_clear_line(settings, mix_settings):
    for changed, message in (
        ({"laid": "x"}, "--laid belongs to --grid ENCODER"),
        ({"grid": "embedded", "val_from": ("x",)}, "leave --val-from out"),
        ({"grid": "embedded", "test_from": ("x",)}, "leave --test-from out"),
    ):
        with pytest.raises(UnusableInput, match=message):
            settings(**changed)
    assert mix_settings(grid="embedded").public()["grid"] == "embedded"
    assert "grid" not in settings().public()
