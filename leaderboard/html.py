"""``leaderboard.html``: one self-contained page that loads nothing and runs nothing but its own script."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from leaderboard.table import FEW, Standing, shown
from submission.competition import VISIBILITIES, Competition


def leaderboard_html(competition: Competition, standings: Sequence[Standing], noise_floor: float) -> str:
    """The text of ``leaderboard.html``, every value escaped.

    Its Content-Security-Policy allows the page's own style and script, by their SHA-256, and nothing else.

    Args:
        competition: whose name, visibility, sizes and decimals are shown.
        standings: the lines, best first.
        noise_floor: of the public part, in points.
    """
    page = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    page.filters["source_hash"] = _source_hash
    return page.get_template("template.html").render(
        competition=competition,
        visibility=VISIBILITIES[competition.visibility],
        standings=standings,
        noise_floor=noise_floor,
        longest=max([noise_floor, *(line.score.rmse for line in standings)]) or 1.0,
        few=FEW,
        shown=lambda value: shown(value, competition.decimals),
    )


def _source_hash(text: str) -> str:
    """The hash by which a Content-Security-Policy names an inline script or style (CSP 3, 2.3.1)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
