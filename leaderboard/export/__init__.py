"""Exports of a competition to other platforms, ready to upload."""

from datetime import datetime
from pathlib import Path

from leaderboard.export import codabench, datacv, kaggle
from leaderboard.export.program import filled, write_private
from leaderboard.solutions import counting_solution
from submission import Competition, UnusableInput
from submission.files import claim_folder, sha256

PLATFORMS = {"codabench": codabench, "datacv": datacv, "kaggle": kaggle}
"""Modules with a function `write`, and `LIMITS`, a sentence about what the platform does not keep."""


def export(competition: Competition, platform: str, out: Path, start: datetime) -> Path:
    """Write a competition for a platform, with a README.md that explains which files to upload where.

    The same competition and start give the same bytes; an export to the same folder is overwritten.

    Args:
        competition: Organizer's copy of the competition.
        platform: Name of the platform, a key of `PLATFORMS`.
        out: New or empty folder, or that of an earlier export of this competition; it gets mode 0700, since
            it holds hidden labels.
        start: Time, in UTC, at which a platform with dates begins to accept submissions.

    Returns: The path `out`.

    Raises:
        UnusableInput: the platform is unknown, `out` holds something else or is inside the competition, this
            is a participant's copy, or one of its files was changed.
    """
    if platform not in PLATFORMS:
        raise UnusableInput(f"platform {platform!r} is unknown; there are {', '.join(PLATFORMS)}")
    if out.resolve().is_relative_to(competition.root.resolve()):
        raise UnusableInput(f"{out} is inside the competition {competition.root}: name a folder elsewhere")
    counting_solution(competition)
    claim_folder(out, f"{platform} {sha256(competition.public / 'competition.json')}\n")
    out.chmod(0o700)
    PLATFORMS[platform].write(competition, out, start)
    write_private(out, {"README.md": filled(f"{platform}.md", competition)})
    return out
