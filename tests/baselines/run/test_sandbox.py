"""The sandbox: a team's method neither reads hidden labels nor writes, and does not run where there is none."""

import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import run

from baselines.run.sandbox import run_confined, sandbox
from submission import UnusableInput

REACHING = """from pathlib import Path
from socket import if_nameindex

from baselines import Estimator


class Reaching(Estimator):
    def _fit(self, meta):
        self.mean_ = float(meta.targets.mean())
        private = list(Path("contest/private").iterdir())
        try:
            Path("written").touch()
            print("writes")
        except OSError:
            print("reads only")
        print(f"sees {len(private)} private files, {len(list(Path('contest/cache').iterdir()))} of the cache")
        print("networks:", *(name for _, name in if_nameindex()))

    def _predict(self, observation):
        return self.mean_
"""
COMMAND = ("verify-entry", "contest", "contest/submissions/reaching.Reaching.csv", "--method")


@pytest.fixture
def entry(folder):
    Path("reaching.py").write_text(REACHING)
    run("predict", "contest", "reaching:Reaching")
    Path("written").unlink()
    return Path(COMMAND[2])


def test_a_teams_method_reaches_neither_labels_nor_network_nor_files(contest, entry, capfd):
    start = sandbox(contest, [entry], entry.parent.resolve())
    if not shutil.which("bwrap") or subprocess.run([*start, "true"], check=False).returncode:
        pytest.skip("bubblewrap is not installed, or may not make a sandbox")
    assert run(*COMMAND, "reaching:Reaching", check=False).code == 0
    text = capfd.readouterr().out
    assert "reads only\nsees 0 private files, 0 of the cache\nnetworks: lo\nverified: " in text
    assert not Path("written").exists()
    Path("reaching.py").write_text(REACHING.replace("return self.mean_", "return 0.5"))
    assert run(*COMMAND, "reaching:Reaching", check=False).code == 1


def test_without_bubblewrap_it_is_refused_unless_trusted(contest, entry, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnusableInput, match="bubblewrap is not installed"):
        run_confined(contest, [entry], ["verify-entry", str(entry)])
    refused = run(*COMMAND, "reaching:Reaching", check=False)
    assert (refused.code, "add --trust" in refused.text, Path("written").exists()) == (2, True, False)
    assert "verified: " in run(*COMMAND, "reaching:Reaching", "--trust").text


def test_what_is_hidden_comes_after_what_is_shown(contest, tmp_path, monkeypatch):
    """Later options cover earlier ones: the working folder and the team's file are no way to the labels."""
    monkeypatch.chdir(contest.private)
    start = sandbox(contest, [contest.root, contest.private], tmp_path / "scratch")
    binds = [place for place, word in enumerate(start) if word == "--ro-bind"]
    last = max(place for place in binds if "public" not in start[place + 2])
    assert start.index(str(contest.private.resolve()), last + 3) > last
    assert start[start.index(str(contest.private.resolve()), last + 3) - 1] == "--tmpfs"
    assert {"--unshare-all", "--die-with-parent", "--new-session"} <= {*start}
