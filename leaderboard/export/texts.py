"""Texts of exports that are filled in with a competition's facts."""

import json
from datetime import datetime
from pathlib import Path

from submission import Competition
from submission.card import LICENCES
from submission.competition import VISIBILITIES
from submission.page import templates

EXAMPLES = {"accuracy": "fd", "ood": "plugin-mpe"}
"""A method of the kit that texts name, by track."""


def filled(name: str, competition: Competition, **times: datetime) -> bytes:
    """The text of the file `name` in ``templates/``, as UTF-8."""
    page = templates(Path(__file__).with_name("templates"), escape=False)  # YAML quotes every value
    page.filters["quoted"] = lambda value: json.dumps(str(value), ensure_ascii=False)
    listed = LICENCES in competition.files
    text = page.get_template(name).render(
        competition=competition,
        method=EXAMPLES[competition.track],
        visibility=VISIBILITIES[competition.visibility],
        licences=competition.file(LICENCES).read_text(encoding="utf-8").rstrip() if listed else "Not stated.",
        **times,
    )
    return text.encode()
