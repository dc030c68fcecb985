"""The scoring program of an exported competition, its reference data, and texts of exports.

The program is a copy of the kit's own code, so that messages and numbers are the same.

Texts are templates that are filled in with a competition's facts.
"""

import csv
import hashlib
import io
import json
from datetime import datetime
from pathlib import Path

import submission
from submission import Competition
from submission.card import EXAMPLES, LICENCES, rules
from submission.page import templates
from submission.seal import DESCRIPTION
from submission.solution import solution_of

TARGETS, SUMS = "targets.csv", "sha256sums"
"""Files with the labels of one part, and with the hashes of the inputs, for ``sha256sum --check``."""
Files = dict[str, bytes]
"""The bytes of files by their path, with "/" between folders."""


def scoring_program() -> Files:
    """Returns ``score.py``, the package `submission`, and ``metadata.yaml``, which says how to run it."""
    package = Path(submission.__file__).parent
    files = {f"submission/{path.name}": path.read_bytes() for path in sorted(package.glob("*.py"))}
    program = Path(__file__).with_name("score.py").read_bytes()
    return {"metadata.yaml": b"command: python3 score.py\n", "score.py": program, **files}


def reference(competition: Competition, usage: str) -> Files:
    """Returns the reference data of the program: the hidden labels of one part, "Public" or "Private".

    Raises:
        UnusableInput: this is a participant's copy, or the solution or competition.json was changed.
    """
    rows = [row for row in solution_of(competition) if row.usage == usage]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([("id", "target"), *((row.id, repr(row.prediction)) for row in rows)])
    files = {
        DESCRIPTION: (competition.root / DESCRIPTION).read_bytes(),
        TARGETS: stream.getvalue().encode(),
    }
    sums = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    return {**files, SUMS: "".join(sums).encode()}


def filled(name: str, competition: Competition, **times: datetime) -> bytes:
    """Returns the text of the file `name` in ``templates/``, as UTF-8."""
    page = templates(Path(__file__).with_name("templates"), escape=False)  # YAML quotes every value
    page.filters["quoted"] = lambda value: json.dumps(str(value), ensure_ascii=False)
    listed = LICENCES in competition.files
    text = page.get_template(name).render(
        competition=competition,
        method=EXAMPLES[competition.track],
        rules=rules(competition),
        licences=competition.text(LICENCES).rstrip() if listed else "Not stated.",
        **times,
    )
    return text.encode()
