"""Tracks: subjects taken apart, metrics in order, and the noise floor of either kind."""

import numpy as np
import pytest

from submission import Competition, UnusableInput
from submission.predictions import write_predictions
from submission.scoretable import Targets
from submission.solution import solution_of


@pytest.mark.parametrize(
    ("subject", "message"),
    [("cnn:msp", "is not of the form <classifier>"), ("cnn:msp:accuracy", "metric must be")],
)
def test_an_ood_subject_names_classifier_detector_and_metric(fields, subject, message):
    with pytest.raises(ValueError, match=message):
        Competition(**{**fields, "track": "ood", "subjects": (subject,)})


def test_fpr95_ranks_and_ids_are_told_apart_by_metric(ood_competition):
    assert ood_competition.metrics == ("fpr95", "auroc")
    groups = ood_competition.by_metric(ood_competition.ids("test"))
    assert {len(names) for names in groups.values()} == {8}
    assert all(name.split("/")[0].endswith(metric) for metric, names in groups.items() for name in names)
    assert ood_competition.classifiers == ("vit:b", "cnn")
    assert ood_competition.quantity("cnn:energy:fpr95") == "FPR@95"
    assert ood_competition.labels == ("ind", "ood")


def test_the_solution_of_a_metric_is_its_rows_alone(ood_competition):
    rows = {metric: solution_of(ood_competition, metric) for metric in ood_competition.metrics}
    assert solution_of(ood_competition) == rows["fpr95"]
    for metric, found in rows.items():
        assert {row.subject.split(":")[-1] for row in found} == {metric}
    assert sum(map(len, rows.values())) == len(ood_competition.ids("test"))


def test_the_noise_floor_comes_from_measured_deviations(ood_competition):
    rows, path = solution_of(ood_competition), ood_competition.private / "noise.csv"
    spread = dict.fromkeys(ood_competition.ids("test"), 0.01) | {row.id: 0.03 for row in rows}
    write_predictions(path, spread, column="deviation")
    with pytest.raises(UnusableInput, match=r"noise\.csv is not the file that the build recorded"):
        Targets.of_solution(ood_competition, rows)
    ood_competition.save()
    assert Targets.of_solution(ood_competition, rows).noise_floor == pytest.approx(3.0)
    path.unlink()
    assert np.isnan(Targets.of_solution(ood_competition, rows).noise_floor)
