"""The paper's ablations on a small competition: their rows, their numbers, and going on after an interruption."""

import csv
import math

import numpy as np
import pytest
from sklearn.base import clone

from baselines import BASELINES
from baselines.report.report import run_report
from oracle import ORACLES, OraA
from oracle.ablate import METHODS, PAPER, TABLES, ablate, published, rows_of, table_text
from oracle.runs import TRAINING
from starter.contest.accuracy.observe import ClassifierSubject
from starter.observing.sets import PublicSets
from submission import UnusableInput
from submission.scoring import read_targets
from submission.solution import solution_of

KIT = {**BASELINES, **ORACLES}


@pytest.fixture
def methods():
    quick = {name: clone(KIT[name]) for name in METHODS}
    for name in ("ora-a", "ora-b", "syp"):
        quick[name].set_params(iterations=6, batch_size=50, positive_weight=3.0, estimate="mean")
    return quick


def test_rows_vary_what_the_paper_varies(methods):
    def values(table, parameter):
        return [method.get_params().get(parameter) for method in rows_of(table, methods).values()]

    assert list(rows_of("1", methods)) == list(METHODS)
    assert values("2", "positive_weight") == [1.0, 3.0, 3.0]
    assert [value.count(",") for value in values("3", "indicators")] == [0, 1, 2, 5]
    assert values("4", "expansion") == [2, 4, 6, 8, 10]
    assert values("5", "normalisation") == ["set", "global", "none"]
    assert values("fig10", "iterations")[:5] == [2, 4, 6, 8, 10]
    assert values("fig10", "learning_rate")[5:] == [0.01, 0.05, 0.1, 0.2, 0.5]
    assert set(values("4", "iterations")) == {6}
    assert all(rows_of(table, methods) for table in TABLES)


def test_every_number_of_the_paper_has_a_row(methods):
    assert {table for table, _ in PAPER} == {"1", "2", "3", "4", "5"}
    assert all(row in rows_of(table, methods) for table, row in PAPER)
    assert (published("1", "ora-a", "repvgg_a0"), published("4", "r = 2", "small")) == (3.65, 3.22)
    assert math.isnan(published("1", "syp", "resnet56"))


def read(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_numbers_are_the_reports_and_the_papers_stand_beside_them(contest, methods):
    made, (table, plot) = ablate(contest, "1", methods)
    chosen = {name: methods[name] for name in ("fd", "ora-a")}
    expected = {(line.method, line.group): line for line in run_report(contest, chosen).lines}
    lines = read(table)
    for line in lines:
        if line["row"] in chosen:
            other = expected[line["row"], line["group"]]
            assert float(line["rmse"]) == pytest.approx(other.rmse, abs=0.006)
            assert abs(float(line["bias"])) <= float(line["rmse"]) + 0.01
            assert float(line["noise"]) == pytest.approx(other.noise, abs=0.006)
            assert line["low"] == ("" if math.isnan(other.low) else f"{other.low:.2f}")
    paper = {line["row"]: line["paper"] for line in lines if line["group"] == "all"}
    assert list(paper) == list(METHODS)
    assert (paper["fd"], paper["syp"]) == ("4.99", "")
    assert {line["paper"] for line in lines if line["group"] != "all"} == {""}
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "paper: the RMSE that the paper gives" in table_text(made)


def test_seeds_give_a_deviation_and_networks_that_did_not_learn_are_named(contest, methods, monkeypatch):
    monkeypatch.setattr(OraA, "_says_one_thing", lambda oracle, *_: oracle.normalisation == "none")
    methods["ora-a"].set_params(iterations=1)
    made, (table, _) = ablate(contest, "5", methods, seeds=2)
    rows = {(line["row"], line["group"]): line["undertrained"] for line in made}
    assert (rows["set", "all"], rows["none", "all"]) == ("", "one answer 2 of 2")
    assert all(line["seeds"] == "2" and float(line["sd"]) >= 0 for line in read(table))


def test_an_interrupted_ablation_goes_on(contest, methods):
    first, (table, _) = ablate(contest, "3", methods)
    assert all(0 < float(line[name]) < 100 for line in read(table) for name in TRAINING)
    kept = sorted((contest.root / "ablation/runs").iterdir())
    assert len(kept) == 4
    kept[0].write_text('{"predicted": [0.1], "train')
    kept[1].unlink()
    before = {path: path.stat().st_mtime_ns for path in kept[2:]}
    assert table_text(ablate(contest, "3", methods)[0]) == table_text(first)
    assert {path: path.stat().st_mtime_ns for path in kept[2:]} == before
    methods["ora-a"].set_params(iterations=7)
    ablate(contest, "3", methods)
    assert len(list((contest.root / "ablation/runs").iterdir())) == 8


@pytest.mark.parametrize(
    ("table", "seeds", "steps", "word"),
    [("6", 1, 6, "no table '6'"), ("3", 0, 6, "seeds"), ("3", 1, 0, "entropy: iterations")],
)
def test_refuses(contest, methods, table, seeds, steps, word):
    methods["ora-a"].set_params(iterations=steps)
    with pytest.raises(UnusableInput, match=word):
        ablate(contest, table, methods, seeds=seeds)


@pytest.mark.parametrize(("table", "part"), [("fig4", "train"), ("fig6", "val")])
def test_figures_have_a_point_and_images_for_each_set(contest, methods, table, part):
    made, (points, plot, images) = ablate(contest, table, methods)
    subject, names = contest.subjects[0], contest.sets(part)
    found = {line["set"]: line for line in read(points) if line["subject"] == subject}
    assert [*found] == list(names)[:100]
    truth = read_targets(contest, part)
    for name, line in found.items():
        assert float(line["true"]) == pytest.approx(100 * truth[f"{subject}/{name}"], abs=0.006)
    if part == "val":
        (run,) = [
            run for run in run_report(contest, {"ora-a": methods["ora-a"]}).runs if run.subject == subject
        ]
        predicted = [float(line["predicted"]) for line in found.values()]
        assert predicted == pytest.approx((100 * run.predicted).tolist(), abs=0.006)
    assert plot.read_bytes()[:4] == images.read_bytes()[:4] == b"\x89PNG"
    assert "predicted" in table_text(made)


def test_table_2_of_the_hidden_test_sets_is_the_organizers(contest, methods):
    lines = read(ablate(contest, "2-test", methods)[1][0])
    whole = {line["row"]: line for line in lines if line["group"] == "all"}
    assert (whole["+ ora-b"]["sets"], whole["+ ora-b"]["paper"]) == (str(len(contest.sets("test"))), "6.37")
    subject = contest.subjects[0]
    opened = ClassifierSubject.open(PublicSets(contest), subject, methods["ora-a"].needs)
    plain = clone(methods["ora-a"]).set_params(positive_weight=1.0).fit(opened.meta_train())
    truth = {row.id: row.prediction for row in solution_of(contest)}
    errors = plain.predict(opened.observations("test")) - [
        truth[f"{subject}/{name}"] for name in contest.sets("test")
    ]
    expected = 100 * np.sqrt(np.mean(errors**2))
    assert float(whole["six indicators"]["rmse"]) == pytest.approx(expected, abs=0.006)
    for file in contest.private.iterdir():
        file.unlink()
    with pytest.raises(UnusableInput, match="only the organizer"):
        ablate(contest, "2-test", methods)
