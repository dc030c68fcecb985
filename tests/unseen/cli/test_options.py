"""What the options do that several commands share."""

from pathlib import Path

import pytest
from command_line import COMMANDS, run


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("ablate nowhere --seeds 0 --table 1", "error: --seeds must be at least 1, got 0"),
        ("train --arch small --out x.safetensors --epochs -1", "error: --epochs must be at least 0, got -1"),
        ("estimate --unlabelled x --fail-below -0.5", "error: --fail-below must be at least 0, got -0.5"),
        ("shift generate --per-cell 0 s --laid l", "error: --per-cell must be at least 1, got 0"),
        ("build contest --test-seed -1", "error: --test-seed must be at least 0, got -1"),
        ("shift laid laid --network no_such_module:net", "error: no_such_module:net"),
    ],
)
def test_a_value_that_cannot_be_is_refused_before_anything_is_done(arguments, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments.split(), check=False)
    assert (result.code, result.text.startswith(line)) == (2, True), result.text
    assert not list(tmp_path.iterdir())


def test_an_archive_is_opened_but_not_for_a_shell_that_completes(folder):
    run("pack", "contest")
    arguments = ["contest.zip", "contest/public/sample_submission.csv"]
    COMMANDS["validate"].load().make_context("validate", [*arguments], resilient_parsing=True)
    assert not Path("unseen-contest").exists()
    assert run("validate", *arguments).text.startswith("valid: ")
    assert Path("unseen-contest/public").is_dir()
