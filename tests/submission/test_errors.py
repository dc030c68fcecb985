"""What messages name: options on the command line, parameters in Python; what a user typed stays."""

import pytest

from submission.errors import UnusableInput, naming_options


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("holds no probabilities: leave --probabilities out", "holds no probabilities: leave probabilities out"),
        ("--set-size must be 20, got 3", "set_size must be 20, got 3"),
        ("--classifier: tiny is given twice", "classifiers: tiny is given twice"),
        ("smaller ones (--set-size), or --metric.", "smaller ones (set_size), or metrics."),
        ("is it a column for --families?", "is it a column for families?"),
        ("x.pt: unseen train --arch a --start x.pt fits it; else --epochs", "x.pt: unseen train --arch a --start x.pt fits it; else epochs"),
        ("odd/--set-size/val.npy: no array", "odd/--set-size/val.npy: no array"),
        ("--classes.npy: no array", "--classes.npy: no array"),
        ("my--label.csv and 'a --b' -- and ---x", "my--label.csv and 'a --b' -- and ---x"),
    ],
)  # fmt: skip
def test_options_are_parameters_unless_a_command_runs(text, shown):
    assert str(UnusableInput(text)) == shown
    with naming_options():
        assert str(UnusableInput(text)) == text
    assert str(UnusableInput(text)) == shown


def test_a_command_that_fails_leaves_messages_as_they_are():
    with pytest.raises(ZeroDivisionError), naming_options():
        raise ZeroDivisionError
    assert str(UnusableInput("--out")) == "out"
