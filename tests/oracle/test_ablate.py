"""The paper's ablations on a small competition: their rows, their numbers, and going on after an interruption."""

import csv
import math

import pytest
from sklearn.base import clone

from baselines import BASELINES
from baselines.report.report import run_report
from oracle import ORACLES, OraA, OraB, Syp
from oracle.ablate import METHODS, TABLES, ablate, rows_of
from oracle.published import PAPER, published
from oracle.runs import TRAINING, _key
from submission import UnusableInput

KIT = {**BASELINES, **ORACLES}


@pytest.fixture
def methods():
    quick = {name: clone(KIT[name]) for name in METHODS}
    for name in ("ora-a", "ora-b", "syp"):
        quick[name].set_params(iterations=6, batch_size=50, positive_weight=3.0)
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


def test_numbers_are_the_reports_and_the_plot_is_written(contest, methods):
    found = ablate(contest, "1", methods, progress=False)
    chosen = {name: methods[name] for name in ("fd", "ora-a")}
    expected = {
        (line.method, line.group): line for line in run_report(contest, chosen, progress=False).lines()
    }
    lines = list(csv.DictReader(found.table.read_text().splitlines()))
    for line in lines:
        if line["row"] in chosen:
            other = expected[line["row"], line["group"]]
            assert float(line["rmse"]) == pytest.approx(other.rmse, abs=0.006)
            assert abs(float(line["bias"])) <= float(line["rmse"]) + 0.01
            assert float(line["noise"]) == pytest.approx(other.noise, abs=0.006)
            assert line["low"] == ("" if math.isnan(other.low) else f"{other.low:.2f}")
    assert [line["row"] for line in lines if line["group"] == "all"] == list(METHODS)
    assert found.plot.read_bytes().startswith(b"\x89PNG")
    assert "rotation" in str(found)


def test_every_number_of_the_paper_has_a_row(methods):
    assert {table for table, _ in PAPER} == {"1", "2", "3", "4", "5"}
    assert all(row in rows_of(table, methods) for table, row in PAPER)


def test_the_papers_numbers_stand_beside_those_over_all_sets(contest, methods):
    found = ablate(contest, "3", methods, progress=False)
    lines = list(csv.DictReader(found.table.read_text().splitlines()))
    paper = {(line["row"], line["group"]): line["paper"] for line in lines}
    assert (paper["entropy", "all"], paper["+ atc", "all"], paper["+ fd", "all"]) == ("6.11", "6.11", "2.92")
    assert {number for (_, group), number in paper.items() if group != "all"} == {""}
    assert published("1", "ora-a", "repvgg_a0") == 3.65
    assert published("1", "atc-datacv", "resnet56") == 7.77  # by the starter kit, with the threshold as there
    assert published("4", "r = 2", "small") == 3.22
    assert math.isnan(published("1", "atc+lr", "resnet56"))
    assert math.isnan(published("1", "syp", "resnet56"))
    text = str(found)
    assert "paper: the RMSE that the paper gives" in text
    assert ("undertrained: fits in which" in text) == any(line["undertrained"] for line in lines)


def test_networks_that_did_not_learn_are_named(contest, methods, monkeypatch):
    says = OraA._says_one_thing
    monkeypatch.setattr(OraA, "_says_one_thing", lambda oracle, *_: oracle.normalisation == "none")
    methods["ora-a"].set_params(iterations=1)
    found = ablate(contest, "5", methods, seeds=2, progress=False)
    rows = {(line["row"], line["group"]): line["undertrained"] for line in found.lines}
    assert (rows["set", "all"], rows["none", "all"]) == ("", "one answer 2 of 2")
    monkeypatch.setattr(OraA, "_says_one_thing", says)
    assert str(ablate(contest, "5", methods, seeds=2, progress=False)) == str(found)


def test_training_errors_stand_beside_the_steps(contest, methods):
    text = ablate(contest, "fig10", methods, progress=False).table.read_text()
    lines = [line for line in csv.DictReader(text.splitlines()) if line["group"] == "all"]
    assert [line["row"] for line in lines][:2] == ["2 iterations", "4 iterations"]
    assert all(0 < float(line[name]) < 100 for line in lines for name in TRAINING)


def test_seeds_give_a_mean_and_a_deviation(contest, methods):
    methods["ora-a"].set_params(learning_rate=2.0)
    text = ablate(contest, "5", methods, seeds=2, progress=False).table.read_text()
    lines = list(csv.DictReader(text.splitlines()))
    assert {line["seeds"] for line in lines} == {"2"}
    assert all(float(line["sd"]) >= 0 for line in lines)


@pytest.mark.slow
def test_an_interrupted_ablation_goes_on(contest, methods):
    first = ablate(contest, "3", methods, progress=False)
    kept = sorted((contest.root / "ablation/runs").iterdir())
    assert len(kept) == 4
    kept[0].write_text('{"predicted": [0.1], "training": [1, 2]}')
    kept[1].unlink()
    before = {path: path.stat().st_mtime_ns for path in kept[2:]}
    again = ablate(contest, "3", methods, progress=False)
    assert str(again) == str(first)
    assert {path: path.stat().st_mtime_ns for path in kept[2:]} == before
    methods["ora-a"].set_params(iterations=7)
    ablate(contest, "3", methods, progress=False)
    assert len(list((contest.root / "ablation/runs").iterdir())) == 8


def test_syp_is_not_trained_where_its_members_were(contest, methods, monkeypatch):
    trained = []
    learn = OraA._learn
    monkeypatch.setattr(OraA, "_learn", lambda oracle, table: (trained.append(oracle), learn(oracle, table)))
    found = str(ablate(contest, "1", methods, progress=False))
    assert [type(oracle) for oracle in trained] == [OraA, OraB] * len(contest.subjects)
    key = _key(methods["syp"].set_params(seed=0), contest.subjects[0], contest)
    (contest.root / "ablation/runs" / f"{key}.json").unlink()
    assert str(ablate(contest, "1", methods, progress=False)) == found
    assert type(trained[-1]) is Syp


def test_refuses(contest, methods):
    with pytest.raises(UnusableInput, match="there is no table '6'; choose from 1, 2, 3, 4, 5, fig10"):
        ablate(contest, "6", methods)
    with pytest.raises(UnusableInput, match="--seeds must be at least 1, got 0"):
        ablate(contest, "3", methods, seeds=0)
    methods["ora-a"].set_params(iterations=0)
    with pytest.raises(UnusableInput, match="entropy: iterations must be a whole number"):
        ablate(contest, "3", methods, progress=False)
