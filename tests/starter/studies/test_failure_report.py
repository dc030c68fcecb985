"""Failure detection in a competition, against its parts taken one by one."""

import cv2
import numpy as np
import pandas as pd
import pytest

from starter.competition.mixes import MixSets
from starter.competition.scorer import Scorer
from starter.detectors.metrics import auroc
from starter.sets.rendering import FromRecipe
from starter.studies.failure import TABLES
from starter.studies.failure_report import (
    EXPLAINED,
    KINDS,
    failure_report,
    ood_kind,
    report_text,
    write_failure,
)
from submission.errors import UnusableInput


@pytest.fixture(scope="module")
def found(ood_built):
    """The tables of the built competition, with few corrupted images."""
    return failure_report(ood_built, images=20)


def test_every_table_is_written_with_its_figure(found, ood_built):
    tables, paths = found
    assert set(tables) == {*TABLES, "matched", "intercepts"}
    for table, plot in zip(paths[::2], paths[1::2], strict=True):
        assert table.parent == ood_built.root / "failure"
        assert len(pd.read_csv(table)) == len(tables[table.stem])
        assert plot.read_bytes().startswith(b"\x89PNG")


def test_every_column_that_is_shown_is_explained_below_its_table(found):
    keys = {"classifier", "detector", "ind", "ood", "kind", "subsets", "slope", "slope_se"}
    text = report_text(found[0])
    for name, explained in EXPLAINED.items():
        for column in set(found[0][name].columns) - keys:
            stem, _, end = column.partition("_")
            told = column in explained or (end in ("low", "high") and stem in explained)
            assert told or (name == "groups" and "X_Y" in explained), (name, column)
        assert 0 <= text.index(f"{name}\nclassifier") < text.index(explained)
    assert max(map(len, (*"\n".join(EXPLAINED.values()).splitlines(), KINDS))) <= 110


def test_clean_images_are_those_of_the_base(found, ood_built):
    rows = found[0]["auroc"]
    assert rows.columns.tolist() == ["classifier", "detector", "ind", "ood", "new_class", "failure"]
    assert set(rows.ind) == {"clean", "corrupted"}
    sets = MixSets(ood_built)
    view = Scorer.open(sets, "tiny", ["energy"])
    names = dict.fromkeys(mix.ood_set for mix in sets.mixes)
    ood = [view.scores("energy", FromRecipe.whole(sets.ood_pool(name))) for name in names]
    ind = view.scores("energy", FromRecipe.whole(sets.ind_pool))
    told = rows[(rows.detector == "energy") & (rows.ind == "clean")].new_class.item()
    assert told == pytest.approx(auroc(ind, np.concatenate(ood)))
    accuracy = found[0]["groups"].accuracy[0]
    right = view.observation(FromRecipe.whole(sets.ind_pool)).predicted == sets.base.labels
    assert accuracy == right.mean()
    assert found[0]["groups"].accuracy[1] < accuracy


def test_sets_of_ones_own_are_a_kind(ood_built, tmp_path):
    sets = MixSets(ood_built)
    for image, label in zip(sets.base.images[:40], sets.base.labels[:40], strict=True):
        folder = tmp_path / "mine" / sets.competition.classes[label]
        folder.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / f"{len(list(folder.iterdir()))}.png"), image[..., ::-1])
    tables, _ = failure_report(ood_built, ["mls", "msp"], [tmp_path / "mine"], images=30)
    assert tables["rejected"].ind.tolist() == ["clean", "corrupted", "mine"] * 2
    assert tables["rejected"].detector.tolist() == ["mls"] * 3 + ["msp"] * 3
    assert set(tables["differences"].detector) == {"msp"}
    (tmp_path / "mine").rename(tmp_path / "clean")
    with pytest.raises(UnusableInput, match="kind 'clean' already"):
        failure_report(ood_built, [], [tmp_path / "clean"], images=20)


def test_what_cannot_be_told_is_told(ood_built, built):
    with pytest.raises(UnusableInput, match="--track ood"):
        failure_report(built)
    with pytest.raises(UnusableInput, match="no detector is called 'psm'"):
        failure_report(ood_built, ["psm"])
    with pytest.raises(UnusableInput, match="nowhere"):
        failure_report(ood_built, [], [ood_built.root / "nowhere"])


def test_one_detector_alone_has_no_differences(found, tmp_path):
    alone = {name: frame[frame.detector == "msp"] for name, frame in found[0].items()}
    written = {path.name for path in write_failure(alone, tmp_path)}
    assert written.isdisjoint({"differences.csv", "differences.png"})
    assert len(written) == 2 * len(found[0]) - 2


def test_near_and_far_sets_are_kinds():
    assert [ood_kind(name) for name in ("bus_near_cifar100", "sea_far_tiny", "near_x", "a_b_c")] == [
        "near",
        "far",
        "ood",
        "ood",
    ]


def test_figures_of_several_classifiers(found, tmp_path):
    few = {name: frame[frame.detector.isin(["msp", "energy"])] for name, frame in found[0].items()}
    both = {name: pd.concat([frame, frame.assign(classifier="other")]) for name, frame in few.items()}
    assert all(path.exists() for path in write_failure(both, tmp_path / "new"))
