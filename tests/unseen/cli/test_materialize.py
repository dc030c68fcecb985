"""`show`, `materialize` and `audit`."""

from pathlib import Path

import pytest
from audits import unguessable
from command_line import run


def test_sets_are_written_out_in_every_layout(folder):
    for layout in ("npz", "folders", "datacv"):
        text = run(
            "materialize", "contest", "--out", f"out-{layout}", "--layout", layout, "--part", "val"
        ).text
        assert "6 sets in " in text
    assert "there are" in run("materialize", "contest", "--out", "x", "--layout", "tar", check=False).text


def test_an_audit_ends_with_1_where_there_is_an_error(folder):
    unguessable(folder / "contest")
    clean = run("audit", "contest").text
    assert (
        "warning  public predictions: 4, fewer than 10: the order on the public board is an accident" in clean
    )
    assert clean.endswith("errors: 0, warnings: 3\nNext: unseen pack contest\n")
    Path("contest/private").chmod(0o755)
    found = run("audit", "contest", check=False)
    assert (found.code, found.text.splitlines()[-1]) == (1, "errors: 1, warnings: 3")
    assert "error    contest/private is open to others (mode 0755)" in found.text


def test_sets_are_shown_and_written_out(mixes):
    shown = run("show", "mixes", "train_0001", "test_0001").text
    assert "tiny:msp:fpr95: 12 meta-train sets, FPR@95" in shown
    run("materialize", "mixes", "--out", "sets", "--layout", "folders", "--part", "val")
    assert {path.name for path in (mixes / "sets/val/val_0001").iterdir()} == {"ind", "ood"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "contest", "train_9999"], 2, "there is no set 'train_9999'"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text
