"""The command line as a whole, the commands that need the methods, and how any of them ends."""

import csv
import os
import re
import shlex
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from audits import unguessable
from command_line import COMMANDS, run
from laids import random_laid
from prepared import class_files, hasty_laid
from slow import some_slow
from smaller import shorter, smaller

import unseen
import unseen.cli
from starter.classifiers import read_classifier

METHODS = ("constant", "auto-eval", "gscore-kmeans", "gscore-ude-w", "plugin-mpe")


def test_commands_are_the_designs():
    listed = [name for name in COMMANDS if " " not in name]
    assert " ".join(listed) == (
        "demo build train show materialize methods new-method check-method predict report ablate estimate validate score select "
        "history leaderboard rescore verify backup verify-entry audit pack export"
    )
    assert [name for name in COMMANDS if " " in name] == [
        "team add",
        *(f"classes {name}" for name in ("similarity", "pruning", "halves", "graph")),
        *(f"shift {name}" for name in ("encoder", "laid", "measure", "grid", "generate")),
        *(f"detectors {name}" for name in ("failure", "sanity")),
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_as_its_own_help_begins(name):
    text = run(*name.split(), "--help").text
    assert text.startswith(f"Usage: unseen {name} ")
    assert "Example: unseen " + name in text
    help_of = COMMANDS[name].load().help
    assert help_of.splitlines()[0] == unseen.cli.COMMANDS[name][1]
    assert len(unseen.cli.COMMANDS[name][1]) <= 60
    *group, own = name.split()
    assert f"  {own} " in run(*group, "--help").text
    assert unseen.cli.COMMANDS[name][1] in run(*group, "--help").text


@pytest.mark.parametrize("group", unseen.cli.GROUPS)
def test_a_group_is_listed_with_its_line(group):
    assert unseen.cli.GROUPS[group] in run("--help").text
    assert unseen.cli.GROUPS[group] in run(group, "--help").text
    assert run(group, check=False).text == run(group, "--help").text


def test_a_mistyped_command_is_corrected():
    assert run("buidl", check=False).text.endswith("No such command 'buidl'. Did you mean 'build'?\n")
    assert "Did you mean 'laid'?" in run("shift", "leid", check=False).text


@pytest.mark.slow
def test_a_shell_completes_commands_groups_and_options():
    """As its script asks: the words so far in one variable, the word to complete by its number."""
    for words, expected in (
        ("unseen ver", ["verify", "verify-entry"]),
        ("unseen shift m", ["measure"]),
        ("unseen validate --he", ["--help"]),
        ("unseen select --cl", ["--clear"]),
    ):
        environment = {
            **os.environ,
            "_UNSEEN_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        }
        done = subprocess.run(
            [sys.executable, "-m", "unseen"], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == expected


def test_public_names_are_there_when_they_are_asked_for():
    from baselines import Estimator
    from starter.observing import Observation

    assert unseen.Estimator is Estimator
    assert unseen.Observation is Observation
    assert set(dir(unseen)) == {*unseen.NAMES, *unseen.TYPES}
    assert all(getattr(unseen, name).__doc__ for name in dir(unseen))
    with pytest.raises(AttributeError, match="module 'unseen' has no attribute 'Estimators'"):
        _ = unseen.Estimators


def started(code, folder, **environment):
    """A Python of its own that runs code in a folder, as a notebook does."""
    command = [sys.executable, "-c", code]
    given = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


def test_importing_the_library_loads_no_library(tmp_path):
    code = "import sys, unseen; print({'numpy', 'typer', 'submission', 'pandas'} & set(sys.modules))"
    assert started(code, tmp_path).stdout == "set()\n"


@pytest.fixture
def notebooks(tmp_path):
    """A folder whose files have the names of the kit's packages."""
    for name in ("submission", "oracle", "leaderboard"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the own file was imported')\n")
    for name in ("baselines", "starter"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    return tmp_path


@pytest.mark.slow
def test_files_of_the_packages_names_break_nothing(notebooks):
    done = started("import unseen; print(unseen.Observation.__module__, unseen.Score.__module__)", notebooks)
    assert (done.stdout, done.stderr) == ("starter.observing.observation submission.metrics\n", "")
    for command in ([sys.executable, "-m", "unseen"], [Path(sys.executable).with_name("unseen")]):
        done = subprocess.run(
            [*command, "methods"], cwd=notebooks, capture_output=True, text=True, check=False
        )
        assert (done.stderr, "unseen-best" in done.stdout) == ("", True)


def test_a_file_that_was_imported_before_is_named(tmp_path):
    (tmp_path / "submission.py").write_text("")
    done = started("import submission, unseen", tmp_path)
    line = "was imported as `submission`, a package of Unseen: rename that file\n"
    assert done.stderr.endswith(line)
    assert f"ImportError: {tmp_path / 'submission.py'} was" in done.stderr


@pytest.mark.slow
def test_another_distribution_of_a_packages_name_is_told_in_a_line(tmp_path):
    (tmp_path / "site-packages/baselines").mkdir(parents=True)
    (tmp_path / "site-packages/baselines/__init__.py").write_text("")
    found = f"{tmp_path / 'site-packages'}{os.pathsep}{Path(unseen.__file__).parent}"
    done = started("import unseen; unseen.Estimator", tmp_path, PYTHONPATH=found)
    assert done.returncode == 0
    assert f"{tmp_path / 'site-packages'} has a package `baselines` that is not Unseen's" in done.stderr


def example(name):
    """The example of a command's help, without `unseen`."""
    return re.search(r"Example: unseen (.+)", COMMANDS[name].load().help)[1].split()


SLOW = ("ablate", "train", "detectors sanity", "shift encoder", "shift laid", "shift grid", "shift generate")
EXAMPLES = some_slow((name for name in COMMANDS if name != "demo"), *SLOW)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_help_run(name, folder, weights, monkeypatch, request):
    arguments = example(name)
    if name == "build":
        (folder / "elsewhere").mkdir()
        monkeypatch.chdir(folder / "elsewhere")
        monkeypatch.setattr("starter.making.build.kept_small", trained(weights))
        monkeypatch.setattr("starter.making.build.build", smaller)
    if name == "train":
        monkeypatch.setattr("starter.classifiers.train.train", shorter)
    if name == "audit":
        unguessable(folder / "contest")
    if name == "estimate":
        np.save("val.npy", 9 * np.eye(3)[np.arange(60) % 3])
        np.save("val_labels.npy", np.arange(60) % 3)
        np.save("today.npy", 9 * np.eye(3)[np.arange(30) % 3])
    if name in ("validate", "score", "verify-entry"):
        run("predict", "contest", "atc")
    if name == "detectors failure":
        request.getfixturevalue("ood_contest")
        arguments = [*arguments, "--images", "20"]
    if name.startswith("classes "):
        class_files(folder, weights, monkeypatch)
    if name in ("shift encoder", "shift laid", "shift measure", "shift generate"):
        hasty_laid(folder, monkeypatch)
    if name == "shift generate":
        arguments = [*arguments[:-1], "1"]
    if name == "shift grid":
        random_laid()[1].save(folder / "laid")
        quick = "--images 600 --encoder laids:encoder --laid laid --detector msp"
        arguments = [*arguments, *quick.split()]
    if name == "classes halves":
        Path("manifest.csv").write_text("source,class,oodness\ncifar10,cat,0\ntiny_imagenet,fox,3\n")
    if name in ("select", "history"):
        run("score", "contest", "contest/public/sample_submission.csv", "--team", "ada")
    arguments = [re.sub(r"iterations=\d+", "iterations=20", each) for each in arguments]
    assert run(*arguments).text


def test_the_version_is_that_of_the_package():
    assert run("--version").text == f"unseen {version('unseen')}\n"


@pytest.mark.slow
def test_the_demo_ends_in_a_table_and_a_leaderboard(folder, weights, monkeypatch):
    monkeypatch.setattr("starter.making.build.kept_small", trained(weights))
    monkeypatch.setattr("starter.making.build.build", smaller)
    monkeypatch.setattr("unseen.cli.demo.DEMO_ORACLE", {"iterations": 20, "batch_size": 100})
    text = run(*example("demo")).text
    assert "the sampling noise of the true values" in text
    assert all(name in text for name in ("constant", "fd", "rotation", "ora-a", "noise floor"))
    assert (folder / "unseen-demo/leaderboard.html").exists()


@pytest.mark.slow
def test_the_demo_of_the_ood_track_has_a_table_a_metric(folder, weights, monkeypatch):
    monkeypatch.setattr("starter.making.build.kept_small", trained(weights))
    monkeypatch.setattr("starter.making.build.build", smaller)
    monkeypatch.setattr("starter.detectors.metrics.DRAWS", 2)
    text = run("demo", "mixes", "--track", "ood").text
    assert text.index("FPR@95\n\nmethod") < text.index("AUROC\n\nmethod")
    assert all(name in text for name in ("constant", "gscore-ude-w", "plugin-mpe", "odin", "noise floor"))


def trained(weights):

    return lambda *arguments, **options: read_classifier(weights).network


@pytest.mark.slow
def test_from_prediction_to_leaderboard(folder):
    text = run("predict", "contest").text
    assert "not run: ora-a" in text
    assert "not run: gde, gde+lr, aline: `peers` needs a second classifier, and the competition has" in text
    text = run("validate", "contest", "contest/submissions/fd.csv").text
    assert text == "valid\nNext: unseen score contest contest/submissions/fd.csv --team NAME\n"
    assert "public RMSE" in run("score", "contest", "contest/submissions/fd.csv", "--team", "Ada & Co").text
    assert "noise floor" in run("leaderboard", "contest", "--table").text
    assert "Ada & Co" in Path("contest/leaderboard.csv").read_text()
    assert "Ada &amp; Co" in Path("contest/leaderboard.html").read_text()
    assert "| method" in run("leaderboard", "contest", "--table", "--markdown").text
    assert "| 1 | Ada \\& Co |" in Path("contest/leaderboard.md").read_text()
    assert "private scores: contest/leaderboard_private.csv" in run("leaderboard", "contest", "--final").text


def test_from_prediction_to_leaderboard_in_the_ood_track(mixes):
    run("predict", "mixes", *METHODS)
    assert run("validate", "mixes", "mixes/submissions/plugin-mpe.csv").text.startswith("valid\n")
    scores = run("score", "mixes", "mixes/validation/plugin-mpe.csv", "--val").text
    assert scores.index("FPR@95") < scores.index("AUROC")
    assert scores.count("noise floor") >= 2
    run("score", "mixes", "mixes/submissions/plugin-mpe.csv", "--team", "One")
    text = run("leaderboard", "mixes", "--table").text
    for word in ("FPR@95", "AUROC", *METHODS, "noise floor"):
        assert word in text
    with (mixes / "mixes/leaderboard.csv").open() as file:
        lines = {row["TeamName"]: row for row in csv.DictReader(file)}
    assert lines.keys() == {"One", *METHODS}  # images that are public: practice
    assert 0 < float(lines["One"]["Score"]) < 100
    assert run("verify", "mixes").code == 0


def test_a_participants_copy_predicts_the_same(mixes):
    run("pack", "mixes", "--out", "mixes.zip")
    with zipfile.ZipFile("mixes.zip") as archive:
        assert not any(
            "private" in name or ("noise" in name and "val" not in name) for name in archive.namelist()
        )
        archive.extractall("copy")  # the test's own archive
    for root in ("mixes", "copy/mixes"):
        run("predict", root, "gscore-kmeans")
    mine, theirs = (
        (mixes / root / "submissions/gscore-kmeans.csv").read_bytes() for root in ("mixes", "copy/mixes")
    )
    assert mine == theirs


def test_methods_of_the_other_track_are_unknown(mixes):
    assert "'atc' is of the accuracy track" in run("predict", "mixes", "atc", check=False).text
    assert "gscore-ude-w" in run("methods", "--track", "ood").text
    assert run("methods", "--track", "x", check=False).code == 2


def test_an_export_in_datacvs_form_holds_the_sets_in_its_layout(folder):
    assert run("export", "datacv", "contest", "out").text.endswith("out/README.md\n")
    answers = Path("out/participants/answer.txt").read_text().splitlines()
    assert len(list(Path("out/participants/test_data").glob("[!.]*.npy"))) == len(answers) == 12
    assert {path.name for path in Path("out/participants").glob("[!.]*")} == {
        *("answer.txt", "order.csv", "temp", "test_data", "train_data", "val"),
    }


def test_a_report_holds_the_methods_asked_for(folder):
    run("report", "contest", "constant", "atc")
    table = Path("contest/report.csv").read_text()
    assert {line.split(",")[0] for line in table.splitlines()[1:]} == {"constant", "atc"}


def test_a_method_that_the_competition_lacks_something_for_is_refused_by_name(folder):
    result = run("predict", "contest", "atc", "gde+lr", check=False)
    assert result.code == 2
    assert "gde+lr cannot run on contest: `peers` needs a second classifier" in result.text


def test_a_method_of_ones_own(folder):
    assert "Next: unseen check-method mean_margin:MeanMargin" in run("new-method", "mean_margin").text
    assert "FAIL" not in run("check-method", "mean_margin:MeanMargin").text
    run("predict", "contest", "mean_margin:MeanMargin", "--set", "mean_margin:MeanMargin.degree=2")
    assert list(Path("contest/submissions").glob("*MeanMargin*.csv"))


def test_what_comes_next_is_told_and_runs(folder):
    command, followed = ["new-method", "my_method"], []
    while lines := re.findall("^Next: unseen (.+)$", run(*command).text, re.MULTILINE):
        assert len(lines) == 1
        command = [{"DIR": "contest", "NAME": "Ada"}.get(word, word) for word in shlex.split(lines[0])]
        followed.append(command[0])
    assert followed == ["check-method", "predict", "score", "validate", "score", "leaderboard"]


def test_what_comes_next_is_no_part_of_the_output(folder):
    command = [sys.executable, "-m", "unseen", "pack", "contest"]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert done.stdout == f"{folder / 'contest.zip'}\n"
    assert done.stderr == "Next: unseen score contest FILE --team NAME\n"


def test_a_method_that_breaks_the_contract_exits_with_1(folder):
    source = "from baselines import Estimator\n\n\nclass Bad(Estimator):\n    def _predict(self, o):\n        return None\n"
    Path("bad_method.py").write_text(source)
    result = run("check-method", "bad_method:Bad", check=False)
    assert result.code == 1
    assert "FAIL" in result.text


def test_methods_lists_every_method():
    from baselines import BASELINES
    from oracle import ORACLES

    text = run("methods").text
    assert all(f"{name} " in text for name in (*BASELINES, *ORACLES))
    assert "ora-a.iterations=30000" in text


def test_a_report_of_the_ood_track(mixes):
    run("report", "mixes", "constant", "gscore-kmeans")
    assert "tiny:energy:auroc" in (mixes / "mixes/report.csv").read_text()


DEVICES = ("abacus", "meta", "cpu:7", "cuda:99", "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["predict", "contest", "atk"], 2, "there is no method 'atk': did you mean atc? the kit has"),
        (["predict", "contest", "nothing:There"], 2, "No module named 'nothing'"),
        (["predict", "contest", "atc", "--set", "atc"], 2, "is not METHOD.PARAM=VALUE"),
        (["predict", "contest", "atc", "--set", "fd.x=1"], 2, "not among the methods"),
        (
            ["predict", "contest", "ora-a", "--set", "ora-a.steps=1"],
            2,
            "has no such parameter; it has batch_size",
        ),
        (["predict", "contest", "ora-a", "--set", "ora-a.iterations=many"], 2, "'many' is no int"),
        (
            ["predict", "contest", "ora-a", "--set", "ora-a.iterations=0"],
            2,
            "error: ora-a: iterations must be a whole number in 1..10,000,000, got 0\n",
        ),
        (["predict", "contest", "ora-a", "--set", "ora-a.seed=-1"], 2, "error: ora-a: seed must be"),
        (["predict", "contest", "ora-a", "--set", "ora-a.learning_rate=NaN"], 2, "nan is no finite number"),
        (["predict", "contest", "ora-a", "--set", "ora-a.learning_rate=1e6"], 2, "lower learning_rate"),
        (["predict", "contest", "ora-a", "--set", "ora-a.iterations="], 2, "is not METHOD.PARAM=VALUE"),
        (["predict", "contest", "ora-a", "--set", f"ora-a.iterations={'9' * 10_000}"], 2, "is no int"),
        (["predict", "contest", "ora-a", "--set", f"ora-a.iterations={'[' * 100_000}"], 2, "is no int"),
        *(
            (["predict", "contest", "atc", "--device", device], 2, f"device {device!r} cannot be used")
            for device in DEVICES
        ),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text


FAILING = """from baselines import Estimator


class Bad(Estimator):
    needs = ()

    def _fit(self, meta):
        self.mean_ = meta.target.mean()
"""


def test_a_method_of_ones_own_that_fails_is_told_in_one_line(folder):
    Path("failing_method.py").write_text(FAILING)
    result = run("predict", "contest", "atc", "failing_method:Bad", check=False)
    line = (
        "error: failing_method:Bad fails in fit for tiny: AttributeError: 'MetaTrain' object has no attribute "
        "'target' (failing_method.py:8); see `unseen check-method`\n"
    )
    assert (result.code, result.text[-len(line) :]) == (2, line)
    assert sorted(path.name for path in folder.glob("contest/[sv]*/*")) == ["atc.csv", "atc.csv"]
    checked = run("check-method", "failing_method:Bad", check=False)
    assert checked.code == 1
    assert "FAIL fit and predict give finite fractions: AttributeError" in checked.text
    assert "(failing_method.py:8)" in checked.text


def test_a_method_whose_needs_are_no_fields_is_refused_before_anything_runs(folder):
    Path("needy_method.py").write_text(FAILING.replace("needs = ()", 'needs = "moments"'))
    for command in (["predict", "contest"], ["check-method"]):
        result = run(*command, "needy_method:Bad", check=False)
        assert (
            result.code,
            result.text.startswith("error: needy_method:Bad: ValueError: needs must be a tuple"),
        ) == (
            2,
            True,
        )


def test_a_closed_pipe_ends_without_a_word(folder):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "unseen", "validate", "contest", "contest/public/sample_submission.csv"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""


@pytest.mark.parametrize(("encoding", "shown"), [("ascii", "ж"), ("latin-1", "\\u0436")])
def test_a_terminal_without_a_letter_is_no_traceback(folder, encoding, shown):
    command = [sys.executable, "-m", "unseen", "pack", "contest", "--out", "ж.zip"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout.decode() == f"{shown}.zip\n"  # Typer takes ASCII for a mistake and writes UTF-8


def test_a_file_system_error_names_the_file(folder, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device", "contest/sheet.png")

    monkeypatch.setattr("starter.competition.show.contact_sheet", full)
    result = run("show", "contest", check=False)
    assert (result.code, result.text) == (2, "error: No space left on device: contest/sheet.png\n")


def test_an_interrupt_says_how_to_go_on(folder, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("starter.competition.show.contact_sheet", stop)
    result = run("show", "contest", check=False)
    assert (result.code, "run the same command again to continue" in result.text) == (130, True)


def test_an_entry_is_verified_or_not(folder):
    run("new-method", "handed_in")
    run("predict", "contest", "constant", "handed_in:HandedIn")
    entry = "contest/submissions/handed_in.HandedIn.csv"
    found = run("verify-entry", "contest", entry, "--method", "handed_in:HandedIn").text
    assert (
        "warning: handed_in:HandedIn can read the labels in contest/private: use a participant's copy"
        in found
    )
    assert "verified: the method predicts all 12 submitted numbers" in found
    other = run("verify-entry", "contest", entry, "--method", "constant", check=False)
    assert (other.code, "not verified: " in other.text, "warning" in other.text) == (1, True, False)
