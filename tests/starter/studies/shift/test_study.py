"""A grid of a built competition: its images, its cells and its files, on a small scale; degrees of sets."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from built import linked
from laids import random_laid

from starter.contest.ood.observe import MixSets
from starter.models.classifiers import read_classifier
from starter.observing.detectors.metrics import auroc
from starter.studies.shift.study import Shifts, grid_images, grid_study, grid_text
from starter.studies.synis import Request, synis
from submission import Competition, UnusableInput

FEW = ("msp", "energy", "knn")


@pytest.fixture(scope="module")
def built(built, tmp_path_factory):
    """A copy: a grid writes to its cache."""
    return Competition.open(linked(built.root, tmp_path_factory.mktemp("grid") / "contest"))


@pytest.fixture(scope="module")
def arguments(tmp_path_factory):
    laid = tmp_path_factory.mktemp("laid") / "laid.safetensors"
    random_laid()[1].save(laid)
    return {"encoder": "laids:encoder", "laid": str(laid), "detectors": FEW}


def study_of(built, ood_folder, shifts, arguments):
    shifts = {"ood": str(ood_folder), "group": "corruptions", "images": 1000, **shifts}
    return grid_study(built, Shifts(**shifts), **arguments)


@pytest.fixture(scope="module")
def study(built, arguments, ood_folder):
    return study_of(built, ood_folder, {}, arguments)


def images_of(built, ood_folder, group="corruptions"):
    return grid_images(MixSets(built), Shifts(ood=str(ood_folder), group=group, images=1000))


def test_no_id_image_stands_on_both_sides(built, ood_folder):
    ind, renderings = images_of(built, ood_folder)
    (mine,) = [each for each in renderings if each.name == "ind_1"]
    others = set().union(*(set(part.base.hashes()) for part in mine.parts))
    assert len(ind) == 2000
    assert not set(ind.hashes()) & others
    assert {each.name for each in renderings} >= {"a_1_1", "stix_1", "g_1"}
    assert sum(map(len, renderings)) == pytest.approx(1000, rel=0.15)


def test_natural_images_stand_alone_unless_a_group_is_named(built, ood_folder):
    renderings = {each.name: each for each in images_of(built, ood_folder, "")[1]}
    assert {part.recipe.ops[1:] for each in renderings.values() for part in each.parts} == {()}
    assert {"a_1_1", "stix_1"} <= renderings.keys()
    assert "ind_1" not in renderings
    assert len(Shifts().operations) == 19
    assert Shifts(group="none").operations == ()


def test_generated_images_are_in_the_cells_of_their_prompts(built, arguments, tmp_path):
    made = tmp_path / "made"
    synis(made, Path(arguments["laid"]), Request(per_cell=2), encoder="laids:encoder")
    cells = study_of(built, made, {"group": ""}, arguments).tables["cells"].query("detector == 'msp'")
    folders = {each.name: len(list(each.iterdir())) for each in made.iterdir() if each.is_dir()}
    counted = {f"s{row.semantic}_c{row.covariate}": row.images for row in cells.itertuples() if row.images}
    assert counted == folders
    with pytest.raises(UnusableInput, match="cells of a grid"):
        Shifts(ood=str(made), group="a")


def test_a_cell_is_what_its_images_score(built, study, ood_folder):
    """Degrees, scores and AUROC of the largest cell anew, without the cache."""
    ind, renderings = images_of(built, ood_folder)
    encoder, laid = random_laid()
    images = np.concatenate([each.render() for each in renderings])
    known = encoder.encode_images(MixSets(built).train_ref.images) @ laid.matrix
    queries = encoder.encode_images(images) @ laid.matrix
    edges, levels = study.tables["edges"], []
    for part, axis in ((slice(8), "semantic"), (slice(8, None), "covariate")):
        near, far = (
            each[:, part] / np.linalg.norm(each[:, part], axis=1, keepdims=True) for each in (known, queries)
        )
        own = edges[edges.axis == axis]
        ends = [*own.low, own.high.iloc[-1]]
        levels.append(np.digitize(np.sort(1 - far @ near.T, axis=1)[:, 9], ends))
    cells = study.tables["cells"].query("detector == 'msp'")
    largest = cells.loc[cells.images.idxmax()]
    rows = np.flatnonzero((levels[0] == largest.semantic) & (levels[1] == largest.covariate))
    assert len(rows) == pytest.approx(largest.images, abs=1)
    classifier = read_classifier(built.file("classifiers/tiny.safetensors"), "tiny", "float32", "cpu")
    scores = [1 - classifier(part)[0].softmax(1).amax(1).numpy() for part in (ind.images, images[rows])]
    assert largest.auroc == pytest.approx(auroc(*scores), abs=0.02)


def test_everything_is_written_and_shown(study, tmp_path):
    names = {path.name for path in study.write(tmp_path)}
    figures = {
        f"{kind}_{metric}.png" for kind in ("map", "curve") for metric in ("auroc", "fpr95", "aupr-in")
    }
    tables = {"cells.csv", "edges.csv", "trends.csv"}
    assert names == {path.name for path in tmp_path.iterdir()} == {*figures, *tables, "counts.png"}
    cells = pd.read_csv(tmp_path / "cells.csv")
    assert len(cells) == len(FEW) * 64
    assert cells.loc[cells.images < 10, "auroc"].isna().all()
    assert cells.loc[cells.images >= 10, "auroc"].between(0, 1).all()
    assert list(pd.read_csv(tmp_path / "trends.csv").metric.unique()) == ["auroc", "fpr95", "aupr-in"]
    assert all(word in grid_text(study.tables) for word in (*FEW, "AUROC", "semantic_correlation"))


def test_the_second_run_reads_the_cache(built, study, arguments, ood_folder, monkeypatch):
    monkeypatch.setattr("starter.observing.observe.Observer.compute", None)
    monkeypatch.setattr("starter.studies.shift.laid.shift_degrees", None)
    again = study_of(built, ood_folder, {}, arguments)
    pd.testing.assert_frame_equal(again.tables["cells"], study.tables["cells"])


@pytest.mark.parametrize(
    ("shifts", "changes", "word"),
    [
        ({"group": "z"}, {}, "z.*corruptions"),
        ({"ood": "nowhere"}, {}, "nowhere"),
        ({"images": 3}, {}, "too few"),
        ({}, {"classifier": "huge"}, "huge.*tiny"),
        ({}, {"detectors": ("psm",)}, "psm.*msp"),
    ],
)
def test_a_choice_that_is_none_gets_one_clear_line(built, arguments, ood_folder, shifts, changes, word):
    with pytest.raises(UnusableInput, match=word) as found:
        study_of(built, ood_folder, shifts, {**arguments, **changes})
    assert "\n" not in str(found.value)
