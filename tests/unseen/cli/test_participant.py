"""The commands of a participant, and how those that go wrong end."""

import re
import shlex
import zipfile
from pathlib import Path

import pytest
from command_line import run

FAILING = """from baselines import Estimator


class Bad(Estimator):
    needs = ()

    def _fit(self, meta):
        self.mean_ = meta.target.mean()

    def _predict(self, observation):
        return self.mean_
"""


def test_a_new_method_goes_from_check_to_predictions(mixes):
    assert "--track ood" in run("new-method", "own_way", "--track", "ood").text
    assert run("check-method", "own_way:OwnWay", "--track", "ood").code == 0
    run("predict", "mixes", "own_way:OwnWay")
    assert run("validate", "mixes", "mixes/submissions/own_way.OwnWay.csv").text.startswith("valid: 32 of 32")


def test_a_regressor_goes_from_check_to_predictions_under_names_of_its_own(folder):
    assert "Next: unseen check-method own_model:model" in run("new-method", "own_model", "--sklearn").text
    assert "FAIL" not in run("check-method", "own_model:model").text
    alphas = ("--set", "weak.ridge__alpha=0.1", "--set", "strong.ridge__alpha=100")
    twice = ("own_model:model", "own_model:model", "--as", "weak", "--as", "strong", *alphas)
    run("predict", "contest", *twice, "--note", "two alphas")
    assert {path.name for path in Path("contest/submissions").iterdir()} == {"weak.csv", "strong.csv"}
    assert Path("contest/runs.csv").read_text().count(",two alphas,") == 2
    run("report", "contest", *twice)
    table = Path("contest/report.csv").read_text()
    assert {line.split(",")[0] for line in table.splitlines()[1:]} == {"weak", "strong", "constant"}
    head, *lines = run("runs", "contest").text.splitlines()
    assert head.split() == ["method", "val", "RMSE", "time", "set", "wrote", "note"]
    found = [line.split() for line in lines]
    rounded = {f"{float(line.split(',')[5]):.2f}" for line in table.splitlines()[1:]}
    assert {score for _, score, *_ in found} < rounded, "as in every table"
    assert [float(score) for _, score, *_ in found] == sorted(float(score) for _, score, *_ in found)
    assert ["StandardScaler+Ridge(alpha=100.0)", "submissions/strong.csv", "two", "alphas"] in [
        line[4:] for line in found
    ]


def test_what_comes_next_is_told_and_runs(folder):
    command, followed = ["new-method", "next_method"], []
    while lines := re.findall("^Next: unseen (.+)$", run(*command).text, re.MULTILINE):
        assert len(lines) == 1
        command = [{"DIR": "contest", "NAME": "Ada"}.get(word, word) for word in shlex.split(lines[0])]
        followed.append(command[0])
    assert followed == ["check-method", "predict", "validate", "score"]


def test_a_participants_copy_predicts_the_same(mixes):
    run("pack", "mixes", "--out", "mixes.zip")
    with zipfile.ZipFile("mixes.zip") as archive:
        names = archive.namelist()
        assert not any("private" in name or ("noise" in name and "val" not in name) for name in names)
    for root in ("mixes", "mixes.zip"):
        run("predict", root, "gscore-kmeans")
    mine, theirs = (Path(root, "submissions/gscore-kmeans.csv") for root in ("mixes", "unseen-mixes"))
    assert mine.read_bytes() == theirs.read_bytes()


def test_a_method_of_ones_own_that_fails_is_told_in_one_line(folder):
    Path("failing_method.py").write_text(FAILING)
    result = run("predict", "contest", "atc", "failing_method:Bad", check=False)
    line = (
        "error: failing_method:Bad fails in fit for tiny: AttributeError: 'MetaTrain' object has no attribute "
        "'target' (failing_method.py:8); --debug shows its traceback\n"
    )
    assert (result.code, result.text[-len(line) :]) == (2, line)
    assert sorted(path.name for path in folder.glob("contest/[sv]*/*")) == ["atc.csv", "atc.csv"]
    checked = run("check-method", "failing_method:Bad", check=False)
    assert (checked.code, checked.text.count("AttributeError")) == (1, 1), "an error is told once"
    assert "FAIL fit and predict give finite fractions: AttributeError" in checked.text.splitlines()[-1]
    for command in (["predict", "contest"], ["check-method"]):
        text = run(*command, "failing_method:Bad", "--debug", check=False).text
        assert "self.mean_ = meta.target.mean()\n" in text
    Path("needy_method.py").write_text(FAILING.replace("needs = ()", 'needs = "moments"'))
    for command in (["predict", "contest"], ["check-method"]):
        result = run(*command, "needy_method:Bad", check=False)
        told = "error: needy_method:Bad: Bad: needs must be a tuple" in result.text
        assert (result.code, told) == (2, True)


def test_an_entry_is_verified_or_not(folder):
    run("new-method", "handed_in")
    run("predict", "contest", "constant", "handed_in:HandedIn")
    verify = ("verify-entry", "contest", "contest/submissions/handed_in.HandedIn.csv", "--method")
    found = run(*verify, "handed_in:HandedIn", "--trust").text
    assert "verified: the method predicts all 12 submitted numbers" in found
    other = run(*verify, "constant", check=False)
    assert (other.code, "not verified: " in other.text, "warning" in other.text) == (1, True, False)


def test_a_validation_is_told_in_words(host):
    validate = ("validate", "comp", "comp/public/sample_submission.csv")
    Path("bad.csv").write_text("id,prediction\n")
    result = run("validate", "comp", "bad.csv", check=False)
    assert (result.code, "id 'cnn/test_0001' is missing" in result.text) == (1, True)
    Path("bad.csv").write_bytes(b"\x89PNG")
    assert "is this a CSV?" in run("validate", "comp", "bad.csv", check=False).text
    Path("comp/private").rename("kept")
    told = "valid: 8 of 8 predictions, 0.50 to 0.50\n"
    assert run(*validate).text == told, "a participant is not told to score"
    assert run("pack", "comp").text == f"{host / 'comp.zip'}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("validate", "nowhere", "x.csv"), 2, "nowhere is not a competition: there is no such folder\n"),
        (
            ("validate", "cmp", "x.csv"),
            2,
            "cmp is not a competition: there is no such folder; did you mean comp?",
        ),
        (("validate", "comp/public", "x.csv"), 2, "; did you mean comp?"),
        (("runs", "comp"), 2, "runs.csv is missing"),
        (("validate", "comp", "nowhere.csv"), 2, "nowhere.csv cannot be read"),
        (("validate", "comp/public/sample_submission.csv", "comp"), 2, "a file; the competition comes first"),
        (("validate", "comp", "comp/sample_submission.csv"), 2, "mean comp/public/sample_submission.csv?"),
        (("validate", "comp", "comp"), 2, "comp is not a file"),
        (("pack", "comp", "--out", "comp.zip/a.zip"), 2, "comp.zip"),
        (("frobnicate",), 2, "frobnicate"),
    ],
)
def test_mistakes_are_refused(arguments, code, word, host):
    Path("comp.zip").touch()
    result = run(*arguments, check=False)
    assert (result.code, word in result.text) == (code, True), result.text


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("atk",), "did you mean atc?"),
        (("own_way",), "did you mean own_way:NAME, by the name of its class or pipeline?"),
        (("own_wey:OwnWay",), "No module named 'own_wey'; did you mean own_way?"),
        (("atc", "gde+lr"), "gde+lr cannot run on contest: `peers` needs a second classifier"),
        (("ora-a", "--set", "ora-a.iterations=0"), "iterations"),
        (("ora-a", "--set", "ora-a.learning_rate=NaN"), "learning_rate must be a number"),
        *((("atc", "--device", name), f"device {name!r} cannot") for name in ("abacus", "cuda:99", "")),
        (("fd", "atc", "--as", "one"), "give --as once per METHOD, in the same order: 2, not 1"),
        (("fd", "atc", "--as", "one", "--as", "one"), "two methods are called one"),
    ],
)
def test_methods_that_cannot_run_are_refused_and_other_names_before_anything_is_said(arguments, word, folder):
    Path("own_way.py").touch()
    result = run("predict", "contest", *arguments, check=False)
    assert (result.code, word in result.text) == (2, True), result.text
    if not {"--set", "--device"} & {*arguments}:  # found wrong by the method that is fitted
        assert "Observes" not in result.text
