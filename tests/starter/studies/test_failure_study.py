"""Failure detection in a competition, against its parts taken one by one."""

import cv2
import numpy as np
import pandas as pd
import pytest

from starter.contest.ood.observe import DetectorSubject, MixSets
from starter.data.sets.rendering import FromRecipe
from starter.observing.detectors.metrics import auroc
from starter.studies.failure import TABLES
from starter.studies.failure_study import failure_study, report_text
from submission.errors import UnusableInput


@pytest.fixture(scope="module")
def study(ood_built):
    """The study of the built competition, with few corrupted images."""
    return failure_study(ood_built, images=20)


def test_tables_are_written(study, tmp_path):
    assert set(study.tables) == {*TABLES, "contrasts", "zoom", "matched", "intercepts"}
    assert "new_class: IND against OOD images" in report_text(study.tables)
    study.write(tmp_path)
    for name, table in study.tables.items():
        assert len(pd.read_csv(tmp_path / f"{name}.csv")) == len(table)
    assert {path.name for path in tmp_path.glob("*.png")} == {"contrasts_tiny_energy.png", "zoom_tiny.png"}


def test_clean_images_are_those_of_the_base(study, ood_built):
    rows = study.tables["auroc"]
    assert rows.columns.tolist() == ["classifier", "detector", "ind", "ood", "new_class", "failure"]
    assert set(rows.ind) == {"clean", "corrupted", "nearer"}
    sets = MixSets(ood_built)
    view = DetectorSubject.open(sets, "tiny", detectors=["energy"])
    names = dict.fromkeys(mix.ood_set for mix in sets.mixes)
    ood = [view.scores("energy", FromRecipe.whole(sets.ood_pools[name])) for name in names]
    ind = view.scores("energy", FromRecipe.whole(sets.ind_pool))
    found = rows[(rows.detector == "energy") & (rows.ind == "clean")].new_class.item()
    assert found == pytest.approx(auroc(ind, np.concatenate(ood)))
    accuracy = study.tables["groups"].accuracy
    right = view.observation(FromRecipe.whole(sets.ind_pool)).predicted == sets.base.labels
    assert accuracy[0] == right.mean() > accuracy[1]


def test_sets_of_ones_own_are_a_kind(ood_built, tmp_path):
    sets = MixSets(ood_built)
    for image, label in zip(sets.base.images[:40], sets.base.labels[:40], strict=True):
        folder = tmp_path / "mine" / sets.competition.classes[label]
        folder.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / f"{len(list(folder.iterdir()))}.png"), image[..., ::-1])
    tables = failure_study(ood_built, ["mls", "msp"], shifted=[tmp_path / "mine"], images=30).tables
    assert tables["rejected"].ind.tolist() == ["clean", "corrupted", "nearer", "mine"] * 2
    assert tables["rejected"].detector.tolist() == ["mls"] * 4 + ["msp"] * 4
    assert set(tables["contrasts"].detector) == {"msp"}
    (tmp_path / "mine").rename(tmp_path / "clean")
    with pytest.raises(UnusableInput, match="'clean' already"):
        failure_study(ood_built, shifted=[tmp_path / "clean"], images=20)
