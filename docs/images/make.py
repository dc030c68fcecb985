"""Make the pictures of the README from a demo that was run: a leaderboard, and a contact sheet of its sets.

    unseen demo && python docs/images/make.py unseen-demo

The leaderboard is that of a copy of the demo after its end, in which teams have handed in methods of the kit.
Needs Chromium on the path. Pictures are PNG files beside this script.
"""

import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from PIL import Image, ImageChops

from leaderboard.publish import publish
from leaderboard.submissions import submit
from submission import Competition

HERE = Path(__file__).parent
SIZE = 960, 1600
"""Pixels of the window of the leaderboard's picture, which is cut where the page ends."""
SETS = ("train_0001", "train_0004", "val_0003", "test_0002")
"""Sets of the contact sheet."""
TEAMS = {
    **{"Ada": "agreement", "Blaise": "cott", "Carl Friedrich": "gated", "Emmy": "rotation"},
    **{"Florence": "atc", "Grace": "ora-a", "Hypatia": "fd", "Thomas": "confscore"},
}
"""Teams of the leaderboard, and what each hands in."""


def now() -> datetime:
    """Returns the present time, in UTC."""
    return datetime.now(timezone.utc)


def board(folder: Path, work: Path) -> Path:
    """Returns the page of a copy of the demo in `work`, after its end."""
    copy = work / folder.name
    others = shutil.ignore_patterns("cache", "contest.sqlite*", "receipts", "leaderboard*", "heads.json")
    shutil.copytree(folder, copy, ignore=others)
    competition = Competition.open(copy)
    for team, method in TEAMS.items():
        submit(competition, copy / "submissions" / f"{method}.csv", team, now)
    return publish(competition, now()).html


def main(folder: Path) -> None:
    """Write ``leaderboard.png`` and ``sets.png``."""
    with tempfile.TemporaryDirectory() as work:
        shot = Path(work) / "leaderboard.png"
        page = board(folder.resolve(), Path(work))
        command = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars"]
        command += [f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={shot}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
        with Image.open(shot) as picture:
            whole = picture.convert("RGB")
        bottom = ImageChops.invert(whole.convert("L")).getbbox()[3]
        whole.crop((0, 0, SIZE[0], bottom + 24)).quantize(64).save(HERE / "leaderboard.png", optimize=True)
        sheet = Path(work) / "sets.png"
        command = [sys.executable, "-m", "unseen", "show", str(folder), *SETS, "--out", str(sheet)]
        subprocess.run(command, check=True)
        shutil.copyfile(sheet, HERE / "sets.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
