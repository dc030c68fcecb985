"""A sandbox for a stranger's method: a command of the kit, run by bubblewrap on a copy of ``public/``."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from site import getuserbase

from submission import Competition
from submission.errors import UnusableInput

HIDDEN = ("/dev", "/run", "/tmp")
"""Folders that are new in the sandbox: their sockets would lead out of it."""


def run_confined(competition: Competition, visible: Sequence[Path], arguments: Sequence[str]) -> int:
    """Returns the exit code of ``unseen COMMAND DIR ...``, where DIR is a participant's copy.

    The command has no network, files are read-only, ``private/`` and the cache are empty, and what it writes
    goes to a folder that is removed. It runs in the working folder, and sees what is in `visible`.
    """
    command, *others = arguments
    with tempfile.TemporaryDirectory(prefix="unseen-sandbox-") as name:
        start = sandbox(competition, visible, Path(name).resolve())
        if reason := _obstacle(start):
            raise UnusableInput(
                f"a team's code runs in bubblewrap alone ({reason}): install that, or read the code and add "
                "--trust, with which it can read the hidden labels"
            )
        copy = str(Path(name).resolve() / competition.root.resolve().name)
        kit = [sys.executable, "-m", "unseen", command, copy, *others]
        return subprocess.run([*start, *kit], check=False).returncode


def sandbox(competition: Competition, visible: Sequence[Path], scratch: Path) -> list[str]:
    """Returns the start of a command line that confines what follows; it may write to `scratch` alone."""
    copy = scratch / competition.root.resolve().name
    python = map(Path, (sys.prefix, sys.base_prefix, *sys.path))
    places = dict.fromkeys(each.resolve() for each in (*python, Path.cwd(), *visible) if each.exists())
    secret = (competition.private, competition.out / "cache")
    own = {"HOME": scratch, "TMPDIR": scratch, "NUMBA_CACHE_DIR": scratch, "PYTHONUSERBASE": getuserbase()}
    return [
        *("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/"),
        *("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/tmp"),
        *_bound("--dev-bind", sorted(Path("/dev").glob("nvidia*"))),
        *_bound("--ro-bind", [each for each in places if str(each).startswith(HIDDEN)]),
        *(word for each in secret if each.exists() for word in ("--tmpfs", str(each.resolve()))),
        *("--bind", str(scratch), str(scratch)),
        *("--ro-bind", str(competition.public.resolve()), str(copy / "public")),
        *(word for name, value in own.items() for word in ("--setenv", name, str(value))),
    ]


def _obstacle(start: Sequence[str]) -> str:
    """Returns why no sandbox can be made; "" if one can."""
    if not shutil.which("bwrap"):
        return "bubblewrap is not installed"
    tried = subprocess.run([*start, "true"], check=False, capture_output=True, text=True)
    return tried.stderr.strip() if tried.returncode else ""


def _bound(option: str, paths: Sequence[Path]) -> list[str]:
    """Returns the options that show paths where they are."""
    return [word for path in paths for word in (option, str(path), str(path))]
