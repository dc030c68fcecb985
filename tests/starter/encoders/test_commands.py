"""`shift encoder`."""

from pathlib import Path

from command_line import run


def test_an_encoder_that_is_there_is_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.safetensors").write_text("weights")
    found = run("shift", "encoder", "nowhere.zip", "--out", "mine.safetensors", check=False)
    assert (found.code, found.text) == (
        2,
        "error: mine.safetensors exists already: name another file, or take it away\n",
    )
    assert Path("mine.safetensors").read_text() == "weights"
