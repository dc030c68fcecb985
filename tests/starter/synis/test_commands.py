"""`shift generate`."""

import pytest
from command_line import run
from prepared import hasty_referee


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--referee", "nothing"), "nothing is no LAID matrix"),
        (("--referee", "referee", "--per-cell", "0"), "--per-cell"),
        (("--referee", "referee", "--source", "nowhere"), "nowhere"),
    ],
)
def test_mistakes_get_one_clear_message(options, message, folder, monkeypatch):
    hasty_referee(folder, monkeypatch)
    found = run("shift", "generate", "made", *options, check=False)
    assert (found.code, message in found.text) == (2, True), found.text
    assert not (folder / "made").exists()
