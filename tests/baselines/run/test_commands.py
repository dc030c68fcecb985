"""`new-method`."""

import pytest
from command_line import run


def test_a_new_method_goes_from_check_to_predictions(mixes):
    assert "--track ood" in run("new-method", "own_way", "--track", "ood").text
    assert run("check-method", "own_way:OwnWay", "--track", "ood").code == 0
    run("predict", "mixes", "own_way:OwnWay")
    assert run("validate", "mixes", "mixes/submissions/own_way.OwnWay.csv").text.startswith("valid\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["new-method", "Not A Name"], 2, "cannot name a module"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text
