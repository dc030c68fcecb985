"""The command line as a whole, the commands that need the methods, and how any of them ends."""

import contextlib
import csv
import errno
import io
import os
import re
import subprocess
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from audits import unguessable
from command_line import COMMANDS, run
from pages import unknown
from prepared import class_files, embedded_laid
from slow import some_slow
from smaller import shorter, smaller

import unseen
import unseen.cli
from starter.contest.build import build
from submission.errors import InvalidSubmission, UnusableInput
from unseen.api.methods import DEFAULT
from unseen.cli import command_line as ending

METHODS = ("constant", "auto-eval", "gscore-kmeans", "gscore-ude-w", "plugin-mpe")


def test_the_first_screen_has_thirty_lines_and_every_command():
    assert run("--version").text == f"unseen {version('unseen')}\n"
    text = run("--help").text
    assert len(text.splitlines()) <= 30
    assert all(heading in text for heading in unseen.cli.PANELS)
    assert {name.split()[0] for name in COMMANDS} <= set(re.findall(r"[\w-]+", text))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_begins_as_it_is_listed_and_tells_every_option_in_words_of_readers(name):
    text = run(*name.split(), "--help").text
    assert text.startswith(f"Usage: unseen {name} ")
    assert "Example: unseen " + name in text
    assert not re.search("<(str|int|float|path|list)", text)
    options = COMMANDS[name].load().params
    assert options
    assert not [each.name for each in options if not (each.help or "").strip()]
    line = unseen.cli.COMMANDS[name].__doc__.splitlines()[0]
    assert len(line) <= 60
    *group, _ = name.split()
    if group:
        assert line in run(*group, "--help").text
        assert run(*group, check=False).text == run(*group, "--help").text


def test_a_mistyped_command_is_corrected():
    assert run("buidl", check=False).text.endswith("No such command 'buidl'. Did you mean 'build'?\n")
    assert "Did you mean 'laid'?" in run("shift", "leid", check=False).text


def test_the_help_of_build_shows_what_a_first_competition_needs():
    short, whole = run("build", "--help").text, run("build", "--help-all").text
    settings = short.partition("\nSettings:\n")[2]
    assert len(re.findall(r"^  --", settings, re.MULTILINE)) == 12
    assert {"--referee", "--precision", "--metric"} <= set(re.findall("--[a-z]+", whole)) - set(
        re.findall("--[a-z]+", short)
    )


@pytest.mark.parametrize(
    "command", ["demo new", "new-method own", "methods", "check-method fd", "build new --preset digits"]
)
def test_a_track_that_is_none_is_refused_before_anything_is_written(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = run(*command.split(), "--track", "speed", check=False).text
    assert text.splitlines()[-1] == "error: --track 'speed' is unknown; there are accuracy, ood"
    assert not [*tmp_path.iterdir()]


def started(code, folder, **environment):
    """A Python of its own that runs code, or the script of these words, in a folder."""
    command = [sys.executable, *(("-c", code) if isinstance(code, str) else code)]
    given = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"), [("unseen shift gr", "grid"), ("unseen select --te", "--team")]
)
def test_a_shell_completes_commands_groups_and_options(words, expected, tmp_path):
    """As its script asks: the words so far in one variable, the word to complete by its number."""
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = started(("-m", "unseen"), tmp_path, _UNSEEN_COMPLETE="complete_bash", **asked)
    assert done.stdout.split() == [expected]


def test_public_names_are_there_when_they_are_asked_for():
    from baselines import Estimator
    from starter.observing.observation import Observation

    assert unseen.Estimator is Estimator
    assert unseen.Observation is Observation
    assert set(dir(unseen)) == {*unseen.NAMES}
    assert all(getattr(unseen, name).__doc__ for name in dir(unseen))
    with pytest.raises(AttributeError, match="module 'unseen' has no attribute 'Estimators'"):
        _ = unseen.Estimators


def test_windows_is_refused_in_a_line_before_anything_is_opened(tmp_path):
    code = "import os, sys; sys.platform = 'win32'; del os.O_NONBLOCK, os.O_NOFOLLOW; import unseen\n"
    code += "try: unseen.estimate\nexcept ImportError as error: print(error)\nunseen.main()"
    done, line = started(code, tmp_path), f"{unseen.NO_WINDOWS}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, line, f"error: {line}")


@pytest.mark.slow
def test_files_of_the_packages_names_break_nothing(tmp_path):
    for name in ("submission", "oracle", "leaderboard"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the own file was imported')\n")
    for name in ("baselines", "starter"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
    done = started("import unseen; print(unseen.Observation.__module__, unseen.Score.__module__)", tmp_path)
    assert done.stdout == "starter.observing.observation submission.metrics\n"
    assert [line.partition(" is not imported")[0] for line in done.stderr.splitlines()] == [
        str(tmp_path / name)
        for name in ("submission.py", "starter", "baselines", "oracle.py", "leaderboard.py")
    ]
    script = Path(sys.executable).with_name("unseen")
    for words, code, said in (
        (("-m", "unseen", "methods"), 0, "gated"),
        ((script, "validate", "none", "none.csv"), 2, "error: none is not a competition"),
    ):
        done = started(words, tmp_path)
        assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("file", ["submission.py", "submission/__init__.py"])
def test_an_own_module_with_a_packages_name_is_named_in_any_order(tmp_path, file, first):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("MINE = 1\n")
    lines = ["import unseen", "import submission"]
    (tmp_path / "script.py").write_text("\n".join(lines if first else reversed(lines)))
    done = started(("script.py",), tmp_path)
    line = done.stderr.splitlines()[-1]
    where = tmp_path / (file.partition("/")[0] if first else file)
    assert line.removeprefix("ImportError: ").startswith(f"{where} "), done.stderr
    assert line.endswith("rename that file")
    assert (done.returncode == 0) == first


def test_a_script_elsewhere_and_a_folder_of_scripts_are_looked_at(tmp_path):
    (tmp_path / "baselines.py").write_text("MINE = 1\n")
    (tmp_path / "script.py").write_text("import unseen\nfrom baselines import MINE\n")
    (tmp_path / "starter").mkdir()
    (tmp_path / "starter" / "mine.py").write_text("")
    done = started((tmp_path / "script.py",), "/")
    told = "is not imported, since a package of Unseen has its name: rename that file"
    lines = "".join(f"{tmp_path / name} {told}\n" for name in ("starter", "baselines.py"))
    assert done.stderr.startswith(f"{lines}Traceback")


def test_results_and_clones_are_no_modules_of_ones_own(tmp_path):
    for name in ("leaderboard", "submission"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "board.csv").write_text("")
    assert started("import unseen", tmp_path).stderr == ""
    assert started("import unseen", unseen.HERE).stderr == ""
    clone = tmp_path / "clone"
    for name in ("unseen", *unseen.PACKAGES):
        (clone / name).mkdir(parents=True)
        (clone / name / "__init__.py").write_text("")
    code = f"import sys; sys.path[:0] = [{str(unseen.HERE)!r}]; import unseen"
    assert started(code, clone).stderr == ""


def example(name):
    """The example of a command's help, without `unseen`."""
    return re.search(r"Example: unseen (.+)", COMMANDS[name].load().help)[1].split()


DEAR = ("demo", "ablate", "detectors failure", "detectors sanity")
DEAR += ("shift generate", "shift grid", "shift laid")
"""Commands that other tests run on less; of their examples it is enough that the options exist."""
EXAMPLES = some_slow((name for name in COMMANDS if name not in DEAR), "train", "shift encoder")


@pytest.mark.parametrize("name", DEAR)
def test_a_dear_example_has_options_that_exist(name):
    assert not unknown(" ".join(["unseen", *example(name)]))


def save_logits():
    np.save("val.npy", 9 * np.eye(3)[np.arange(60) % 3])
    np.save("val_labels.npy", np.arange(60) % 3)
    np.save("today.npy", 9 * np.eye(3)[np.arange(30) % 3])


def save_models():
    labels = np.arange(60) % 3
    np.save("y.npy", labels)
    for first, name in enumerate(("a.npy", "b.npy", "a2.npy", "b2.npy")):
        np.save(name, 9 * np.eye(3)[np.where(np.arange(60) == first, 0, labels)])


def write_scores():
    Path("scores.csv").write_text("subject,a,b\n" + "".join(f"s{i},{i},{2 * i}\n" for i in range(9)))


def write_manifest():
    Path("manifest.csv").write_text("source,class,oodness\ncifar10,cat,0\ntiny_imagenet,fox,3\n")


predict_by_atc = partial(run, "predict", "contest", "atc")
hand_in = partial(run, "score", "contest", "contest/public/sample_submission.csv", "--team", "ada")
PREPARED = {
    "estimate": save_logits,
    "rank": save_models,
    "compare": write_scores,
    "classes halves": write_manifest,
    **dict.fromkeys(("runs", "validate", "score", "verify-entry"), predict_by_atc),
    **dict.fromkeys(("select", "history", "team"), hand_in),
}
"""What is there before the example of a command runs."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_help_run(name, folder, weights, monkeypatch):
    if name == "build":
        (folder / "elsewhere").mkdir()
        monkeypatch.chdir(folder / "elsewhere")
        monkeypatch.setattr("starter.contest.build.build", smaller)
    if name == "train":
        monkeypatch.setattr("starter.models.classifiers.train.train", shorter)
    if name == "audit":
        unguessable(folder / "contest")
    if name.startswith("classes "):
        class_files(folder, weights, monkeypatch)
    if name == "shift encoder":
        embedded_laid(folder, monkeypatch)
    if name in PREPARED:
        PREPARED[name]()
    arguments = [re.sub(r"iterations=\d+", "iterations=20", each) for each in example(name)]
    assert run(*arguments).text


@pytest.mark.slow
def test_from_prediction_to_leaderboard(folder):
    text = run("predict", "contest").text
    assert "submissions/gated.csv" in text
    assert "accuracy on 6 validation sets\nmethod " in text
    assert "ora-a" not in text
    text = run("predict", "contest", "--all").text
    assert "not run: gde, gde+lr, aline: `peers` needs a second classifier, and the competition has" in text
    assert "submissions/cot.csv" in text
    assert "names of methods or --all" in run("predict", "contest", "fd", "--all", check=False).text
    text = run("validate", "contest", "contest/submissions/fd.csv").text
    assert re.match(r"valid: 12 of 12 predictions, 0\.\d\d to \d\.\d\d\nNext: unseen score contest ", text)
    assert "public RMSE" in run("score", "contest", "contest/submissions/fd.csv", "--team", "Ada & Co").text
    assert "noise floor" in run("leaderboard", "contest", "--table").text
    assert "Ada & Co" in Path("contest/leaderboard.csv").read_text()
    assert "Ada &amp; Co" in Path("contest/leaderboard.html").read_text()
    assert "| 1 | Ada \\& Co |" in Path("contest/leaderboard.md").read_text()
    assert "private scores: contest/leaderboard_private.csv" in run("leaderboard", "contest", "--final").text


@pytest.mark.slow
def test_from_the_demo_of_the_ood_track_to_its_leaderboard(mixes, mix_settings, monkeypatch):
    """The demo finds its competition built, a smaller one."""
    again = partial(build, settings=mix_settings())
    monkeypatch.setattr("starter.contest.build.build", lambda folder, _, reads: again(folder, reads=reads))
    monkeypatch.setitem(DEFAULT, "ood", METHODS)
    text = run("demo", "mixes", "--track", "ood").text
    assert text.index("FPR@95\n\nmethod") < text.index("AUROC\n\nmethod")
    assert all(name in text for name in (*METHODS, "noise floor"))
    assert run("validate", "mixes", "mixes/submissions/plugin-mpe.csv").text.startswith("valid: 32 of 32")
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
    run("report", "mixes", "constant", "gscore-kmeans")
    assert "tiny:energy:auroc" in (mixes / "mixes/report.csv").read_text()


def test_an_export_in_datacvs_form_holds_the_sets_in_its_layout(folder):
    for _ in range(2):  # the second time over the first
        assert run("export", "datacv", "contest", "out").text.endswith("out/README.md\n")
    answers = Path("out/participants/answer.txt").read_text().splitlines()
    assert len(list(Path("out/participants/test_data").iterdir())) == len(answers) == 12
    assert {path.name for path in Path("out/participants").iterdir()} == {
        *("answer.txt", "order.csv", "temp", "test_data", "train_data", "val")
    }


def test_what_comes_next_is_no_part_of_the_output(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["unseen", "pack", "contest"])
    with contextlib.suppress(SystemExit):
        unseen.main()
    told = "Next: unseen score contest FILE --team NAME\n"
    assert capsys.readouterr() == (f"{folder / 'contest.zip'}\n", told)


def test_a_closed_pipe_ends_without_a_word(folder):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "unseen", "validate", "contest", "contest/public/sample_submission.csv"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.stderr == b""


def test_an_interrupt_says_how_to_go_on(folder, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("starter.contest.show.contact_sheet", stop)
    result = run("show", "contest", check=False)
    assert (result.code, "run the same command again to continue" in result.text) == (130, True)


FULL = "No space left on device"
ACTING = "a\x1b[2J\u202e.csv"
ESCAPED = "a\\x1b[2J\\u202e.csv"
"""A name that a terminal acts on, as it is printed."""


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InvalidSubmission("a.csv", ["line 2: no"]), 1, "a.csv is not a valid submission: 1 problem\n  line"),
        (UnusableInput("no such thing"), 2, "error: no such thing\n"),
        (OSError(errno.ENOSPC, FULL), 2, f"{FULL}\n"),
        (OSError(errno.ENOSPC, FULL, "a/b"), 2, f"{FULL}: 'a/b'\n"),
        (OSError("the cache cannot be written"), 2, "error: the cache cannot be written\n"),
        (ModuleNotFoundError("No module named 'torch'"), 2, "error: No module named 'torch'\n"),
        (SystemExit(130), 130, "interrupted; run the same command again to continue\n"),
        (SystemExit(1), 1, ""),
        (UnusableInput(f"{ACTING} is not a file"), 2, ESCAPED),
        (InvalidSubmission(ACTING, ["line 1: no"]), 1, ESCAPED),
        (
            OSError(errno.EACCES, "Permission denied", ACTING),
            2,
            f"{ESCAPED}: no permission; to write, run in",
        ),
    ],
)
def test_an_error_is_a_code_and_a_line(error, code, message, capsys):
    def fail():
        raise error

    with pytest.raises(SystemExit) as end:
        ending.run(fail)
    told = capsys.readouterr().err
    assert (end.value.code, message in told, bool(told)) == (code, True, bool(message))
    assert told.replace("\n", "").isprintable()


def test_what_is_no_mistake_of_the_users_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        ending.run(lambda: 1 / 0)


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_what_the_terminal_cannot_show_is_escaped(monkeypatch, errors):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii", errors=errors))
    ending.run(lambda: print("é", end="", flush=True))
    assert buffer.getvalue() == b"\\xe9"
