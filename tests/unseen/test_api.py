"""The library's functions: a competition as an object, methods beside each other, submissions, and the board."""

import csv
import html
import os
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unseen
from baselines.report.report import run_report
from leaderboard.teams import METHODS
from submission.errors import UnusableInput
from submission.metrics import Score
from submission.predictions import write_predictions
from submission.scoretable import validation_groups
from submission.scoring import read_targets, validate
from unseen.api.methods import DEFAULT, SLOW, methods_of


class Mean(unseen.Estimator):
    def __init__(self, shift=0.0):
        self.shift = shift

    def _fit(self, meta):
        self.mean_ = float(meta.targets.mean()) + self.shift

    def _predict(self, observation):
        return self.mean_


@pytest.fixture
def opened(contest):
    return unseen.open(contest.root)


@pytest.mark.slow
def test_a_table_has_a_row_a_set_and_the_targets_where_they_are_public(opened, ood_contest):
    train, test = opened.features("train"), opened.features("test")
    assert tuple(train.index) == opened.ids("train")
    assert tuple(test.index) == opened.ids("test")
    assert list(train.columns) == [*test.columns, "family", "target"]
    assert list(opened.columns.index) == list(test.columns)
    assert list(unseen.open(ood_contest.root).columns) == ["meaning", "direction"]
    assert train.target.tolist() == list(read_targets(opened, "train").values())
    rows = train[[*test.columns]]
    assert np.isfinite(rows.to_numpy()).all()
    assert train.family.tolist() == ["+".join(sorted(each)) for each in opened.meta_train().families]
    pd.testing.assert_series_equal(opened.targets("train"), train.target)
    LinearRegression().fit(rows, train.target).predict(test)
    for known, tested in GroupKFold(2).split(rows, train.target, groups=train.family):
        assert not {*train.family.iloc[known]} & {*train.family.iloc[tested]}
    mixes, val = (unseen.open(ood_contest.root).features(part) for part in ("train", "val"))
    assert tuple(val.index) == ood_contest.ids("val")
    assert {*val.family} == {family for _, family in validation_groups(ood_contest).values()}
    assert len([*GroupKFold(2).split(mixes, groups=mixes.family)]) == 2


@pytest.mark.slow
def test_observations_hold_what_was_asked_for(opened, ood_contest):
    (first, *_), test = opened.observations("val", needs=()), opened.observations("test")
    with pytest.raises(UnusableInput, match="features is not in needs"):
        first.features.mean()
    assert test[0].features.shape == (60, 64)
    assert test[0].moments is not None
    assert opened.observations("test", needs=["features"])[0].features is not None
    assert len(opened.observations("train")) == 12
    assert opened.meta_train().source.accuracy > 0.3
    several = unseen.open(ood_contest.root)
    assert len(several.observations("test", subject="tiny:msp:auroc")) == 8
    with pytest.raises(UnusableInput, match="name a subject: one of tiny:msp:fpr95, "):
        several.observations("test")


@pytest.mark.slow
def test_a_table_of_methods_has_the_reports_numbers(opened):
    methods = ["constant", "fd", Mean(), Mean(shift=0.1), make_pipeline(StandardScaler(), Ridge())]
    scores = unseen.evaluate(opened, methods, note="both shifts")
    kit = {name: methods_of("accuracy")[name] for name in ("constant", "fd")}
    lines = {(line.method, line.group): line for line in run_report(opened, kit).lines}
    for row in scores[scores.method.isin(kit)].itertuples():
        expected = lines[row.method, row.group]
        assert (row.rmse, row.mae) == (expected.rmse, expected.mae)
    overall = scores[scores.group == "all"].set_index("method")
    assert overall.loc["Mean", "rmse"] == pytest.approx(overall.loc["constant", "rmse"])
    assert "StandardScaler+Ridge" in overall.index
    alone = unseen.evaluate(str(opened.root), "fd").set_index(["group", "method"])
    assert alone.loc[("all", "fd"), "skill"] == overall.loc["fd", "skill"] != 0
    assert alone.loc[("all", "constant"), "rmse"] == overall.loc["constant", "rmse"]
    with (opened.root / "runs.csv").open() as stream:
        logged = {row["method"]: row for row in csv.DictReader(stream)}
    assert logged["Mean(shift=0.1)"]["note"] == "both shifts"
    assert float(logged["fd"]["score"]) == pytest.approx(overall.loc["fd", "rmse"], abs=1e-4)
    predictions = scores.predictions()
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(scores)).predictions(), predictions)
    assert tuple(predictions.index) == opened.ids("val")
    error = 100 * np.sqrt(((predictions.constant - predictions.target) ** 2).mean())
    assert error == pytest.approx(overall.loc["constant", "rmse"])
    assert scores.plot()._repr_png_().startswith(b"\x89PNG")
    assert type(scores[scores.group == "all"]) is pd.DataFrame
    head, *lines = str(scores).splitlines()[1:8]
    assert head.split()[:5] == ["method", "RMSE", "skill", "MAE", "Spearman"], "six families: no interval"
    assert {line.split("  ")[0] for line in lines} == {*overall.index, "noise floor"}
    assert scores._repr_html_().count("<tr>") == 7


@pytest.mark.slow
def test_a_prediction_is_a_valid_submission_where_it_is_asked_for(opened, tmp_path):
    file = unseen.predict(opened, Ridge(alpha=2), out=tmp_path / "mine.csv", note="first")
    assert file == tmp_path / "mine.csv"
    assert list(validate(opened, file)) == list(opened.ids("test"))
    assert (opened.root / "submissions/Ridge(alpha=2).csv").read_bytes() == file.read_bytes()
    assert (opened.root / "validation/Ridge(alpha=2).csv").is_file()
    assert unseen.predict(opened.root, {"two": Ridge(2)}) == opened.root / "submissions/two.csv"


READ_ONLY = """
import os, sys, unseen
root = sys.argv[1]
assert not os.access(root, os.W_OK)
contest = unseen.open(root)
assert len(contest.features("val")) == len(unseen.evaluate(contest, "constant").predictions())
unseen.predict(contest, "constant", out="mine.csv")
for command in ("predict {} atc", "report {} atc", "show {}", "score {} unseen-contest/validation/atc.csv --val"):
    sys.argv = ["unseen", *command.format(root).split()]
    try:
        unseen.main()
    except SystemExit as end:
        assert not end.code
os.chdir(root)
for command in ("new-method own_way", "demo", "predict . atc", "report . atc", "show .", "build new"):
    sys.argv = ["unseen", *command.split()]
    try:
        unseen.main()
    except SystemExit as end:
        assert end.code == 2
"""


def read_only(folder):
    """The words before a command for which a folder is read-only: to root only a file system can be that."""
    if os.geteuid():
        for each in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            each.chmod(0o555)
        return []
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    return ["unshare", "-rm", "sh", "-c", mount, str(folder)]


@pytest.mark.slow
def test_what_a_read_only_competition_cannot_take_goes_to_the_working_folder(contest, tmp_path):
    here, cache = tmp_path / "here", tmp_path / "here/unseen-contest/cache"
    cache.parent.mkdir(parents=True)
    shutil.move(contest.root / "cache", cache)
    observed = sorted((cache / "logits").iterdir())
    for path in observed[::4]:
        path.unlink()
    command = [*read_only(contest.root), sys.executable, "-c", READ_ONLY, str(contest.root)]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"error: cannot write in {contest.root}: run in a folder of your own\n") == 6
    assert sorted((cache / "logits").iterdir()) == observed
    written = {path.relative_to(here).parts[:2] for path in here.rglob("*.*") if path.is_file()}
    names = ("submissions", "validation", "runs.csv", "report.html", "report.csv", "sheet.png")
    assert {("mine.csv",), *(("unseen-contest", name) for name in names)} <= written


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found: found.features("tests"), "there is no part 'tests'"),
        (lambda found: found.targets("test"), "the targets of 'test' are not public"),
        (lambda found: found.observations("test", needs=["feature"]), "there is no field 'feature'"),
        (lambda found: found.meta_train(needs=["peers"]), "`peers` needs a second classifier"),
        (lambda found: unseen.evaluate(found, Mean(73)), r"^Mean\(shift=73\) fails in predict for tiny/"),
        (lambda found: unseen.predict(found, "constant", out=found.public / "mine.csv"), "outside it"),
        (lambda found: unseen.predict(found, "constant", out="mine.txt"), r"must end in \.csv"),
        (lambda found: unseen.predict(found, {"a": "constant", "b": "fd"}), "by one method, not by 2"),
    ],
)
@pytest.mark.slow
def test_what_cannot_be_is_refused(call, message, opened):
    with pytest.raises(UnusableInput, match=message):
        call(opened)


def test_a_file_is_scored_and_a_team_stands_on_the_board_as_a_notebook_shows_it(competition, tmp_path):
    for part in ("val", "test"):
        write_predictions(tmp_path / f"{part}.csv", dict.fromkeys(competition.ids(part), 0.5))
    found = unseen.score(competition, tmp_path / "val.csv")
    assert isinstance(found, Score)
    assert str(found).split()[:4] == ["RMSE", "MAE", "Spearman", "predictions"]
    table = pd.read_csv(tmp_path / "val.csv")
    advised = {"index=False": table, "index=True": table.set_index("id"), "not a ndarray$": np.ones(3)}
    for fix, given in advised.items():
        with pytest.raises(UnusableInput, match=fix):
            unseen.score(competition, given)
    with pytest.raises(UnusableInput, match="give a competition, or its folder's path, first, not a float"):
        unseen.leaderboard(0.5)
    receipt = unseen.score(str(competition.root), tmp_path / "test.csv", team="A & B")
    assert receipt.number == 1
    assert f"<td>{receipt.answer}</td>" in receipt._repr_html_()
    assert unseen.amend(str(competition.root), "more time", daily_limit=9).daily_limit == 9
    board = unseen.leaderboard(competition.root)
    assert repr(board) == str(board)
    assert str(board).splitlines()[1].split("  ")[0] == "A & B"
    assert [line.name for line in board.standings if line.kind == "team"] == ["A & B"]
    assert "A &amp; B" in html.unescape(board._repr_html_())
    assert board.html.is_file()
    shown = unseen.open(competition.root).model_copy(update={"name": "<b>x</b>", "daily_limit": 5})
    assert "&lt;b&gt;x&lt;/b&gt;" in shown._repr_html_()
    assert "5 submissions per day" in shown._repr_html_()


def test_no_team_may_take_the_name_of_a_method():
    assert sorted(METHODS) == sorted({*methods_of("accuracy"), *methods_of("ood")})


@pytest.mark.parametrize("track", ["accuracy", "ood"])
def test_every_method_has_a_row(track):
    table = unseen.methods(track)
    assert list(table.index) == list(methods_of(track))
    assert {name for name in table.index if table.runs[name] == "by default"} == {*DEFAULT[track]} - {*SLOW}
