"""The command line in the OOD track, from a build to a leaderboard with a score per metric."""

import csv
import zipfile

import pytest
from command_line import run

from submission import Competition, write_predictions
from submission.solution import solution_of

METHODS = ("constant", "auto-eval", "gscore-kmeans", "gscore-ude-w", "plugin-mpe")


@pytest.fixture
def folder(ood_contest, monkeypatch):
    """The working folder, with an OOD competition in `mixes`."""
    monkeypatch.chdir(ood_contest.root.parent)
    return ood_contest.root.parent


def test_from_prediction_to_leaderboard(folder):
    run("predict", "mixes", *METHODS)
    assert run("validate", "mixes", "mixes/submissions/plugin-mpe.csv").text.startswith("valid\n")
    scores = run("score", "mixes", "mixes/validation/plugin-mpe.csv", "--val").text
    assert scores.index("FPR@95") < scores.index("AUROC")
    assert scores.count("noise floor") == 2
    run("score", "mixes", "mixes/submissions/plugin-mpe.csv", "--team", "One")
    text = run("leaderboard", "mixes").text
    for word in ("FPR@95", "AUROC", *METHODS, "noise floor"):
        assert word in text
    with (folder / "mixes/leaderboard.csv").open() as file:
        lines = {row["TeamName"]: row for row in csv.DictReader(file)}
    assert lines["One"]["Score"] == lines["plugin-mpe"]["Score"]
    assert lines["One"]["Score AUROC"] == lines["plugin-mpe"]["Score AUROC"]
    assert float(lines["constant"]["NoiseFloor"]) > 1
    assert "RMSE AUROC" in (folder / "mixes/leaderboard.html").read_text()
    assert run("verify", "mixes").code == 0


def test_auroc_counts_for_no_rank(folder):
    competition = Competition.open(folder / "mixes")
    right = {
        row.id: row.prediction for metric in competition.metrics for row in solution_of(competition, metric)
    }
    for name, wrong in (("Good", "auroc"), ("Bad", "fpr95")):
        spoilt = {key: 0.0 if f":{wrong}/" in key else value for key, value in right.items()}
        write_predictions(folder / "mine.csv", spoilt)
        run("score", "mixes", "mine.csv", "--team", name)
    with (folder / "mixes/leaderboard.csv").open() as file:
        lines = {row["TeamName"]: row for row in csv.DictReader(file)}
    assert (lines["Good"]["Rank"], lines["Good"]["Score"]) == ("1", "0.00")
    assert (lines["Bad"]["Rank"], float(lines["Bad"]["Score"]) > 10) == ("2", True)


def test_sets_are_shown_written_out_and_reported(folder):
    shown = run("show", "mixes", "train_0001", "test_0001").text
    assert "tiny:msp:fpr95: 12 meta-train sets, FPR@95" in shown
    run("materialize", "mixes", "--out", "sets", "--layout", "folders", "--part", "val")
    assert {path.name for path in (folder / "sets/val/val_0001").iterdir()} == {"ind", "ood"}
    run("report", "mixes", "constant", "gscore-kmeans")
    assert "tiny:energy:auroc" in (folder / "mixes/report.csv").read_text()


def test_a_table_of_the_paper(folder):
    text = run("ablate", "mixes", "--table", "4").text
    assert "mixes/ablation/gscore-4.csv" in text
    assert "fig3" in run("ablate", "mixes", "--table", "9", check=False).text
    assert run("ablate", "mixes", "--table", "4", "--seeds", "2", check=False).code == 2
    assert "random" in run("ablate", "mixes", "--table", "4", "--splits", "5").text
    assert (
        "--splits is for tables 1, 2, 4"
        in run("ablate", "mixes", "--table", "fig7", "--splits", "5", check=False).text
    )


def test_failure_detection(folder):
    text = run("failure", "mixes", "msp", "--images", "20").text
    assert "new_class" in text
    assert "mixes/failure/auroc.csv" in text


def test_a_participants_copy_predicts_the_same(folder):
    run("pack", "mixes", "--out", "mixes.zip")
    with zipfile.ZipFile("mixes.zip") as archive:
        assert not any(
            "private" in name or ("noise" in name and "val" not in name) for name in archive.namelist()
        )
        archive.extractall("copy")  # the test's own archive
    for root in ("mixes", "copy/mixes"):
        run("predict", root, "gscore-kmeans")
    mine, theirs = (
        (folder / root / "submissions/gscore-kmeans.csv").read_bytes() for root in ("mixes", "copy/mixes")
    )
    assert mine == theirs


def test_methods_of_the_other_track_are_unknown(folder):
    assert "there is no method 'atc'" in run("predict", "mixes", "atc", check=False).text
    assert "gscore-ude-w" in run("methods", "--track", "ood").text
    assert run("methods", "--track", "x", check=False).code == 2


def test_a_new_method_goes_from_check_to_predictions(folder):
    assert "--track ood" in run("new-method", "own_way", "--track", "ood").text
    assert run("check-method", "own_way:OwnWay", "--track", "ood").code == 0
    run("predict", "mixes", "own_way:OwnWay")
    assert run("validate", "mixes", "mixes/submissions/own_way.OwnWay.csv").text.startswith("valid\n")


def test_a_dry_run_tells_the_cost_and_writes_nothing(folder, ood_folder):
    text = run("build", "new", "--track", "ood", "--ood", ood_folder, "--set-size", "80", "--dry-run").text
    assert "images" in text
    assert not (folder / "new").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ood", "nowhere"), "nowhere"),
        (("--exclude", "zebra"), "--exclude zebra: no such OOD set"),
        (("--ratio", "2"), "--ratio must be"),
        (("--detector", "psm"), "--detector 'psm' is unknown"),
        (("--preset", "datacv2023"), "--preset datacv2023 is of the accuracy track"),
        (("--group", "a"), "--group is of the accuracy track"),
    ],
)
def test_mistakes_get_one_clear_message(folder, options, message):
    found = run("build", "new", "--track", "ood", *options, "--dry-run", check=False)
    assert found.code == 2
    assert message in found.text


def test_options_of_this_track_are_refused_in_the_other(folder):
    found = run("build", "new", "--ratio", "1:1", "--dry-run", check=False)
    assert (found.code, "--ratio is of the ood track" in found.text) == (2, True)


def test_what_gbench_lacks_is_told(folder, ood_folder):
    text = run("gbench", ood_folder).text
    assert text.endswith("201 data sets, 201 missing\n")
    assert "missing  Rock " in text
