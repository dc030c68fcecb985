"""What scores an exported competition on another host: the program, and what it scores with.

The program is the kit's own code, copied, so that its messages and numbers are the kit's.

Texts of exports that are filled in with a competition's facts.
"""

import json
from datetime import datetime
from pathlib import Path

import submission
from submission import Competition
from submission.card import LICENCES
from submission.competition import VISIBILITIES
from submission.page import templates
from submission.seal import DESCRIPTION, SEAL, SOLUTION
from submission.solution import solution_of

Files = dict[str, bytes]
"""The bytes of files, by their path with "/"."""


def scoring_program() -> Files:
    """``score.py``, the package `submission` beside it, and ``metadata.yaml``, which tells how to run it."""
    package = Path(submission.__file__).parent
    files = {f"submission/{path.name}": path.read_bytes() for path in sorted(package.glob("*.py"))}
    program = Path(__file__).with_name("score.py").read_bytes()
    return {"metadata.yaml": b"command: python3 score.py\n", "score.py": program, **files}


def reference(competition: Competition, usage: str) -> Files:
    """The hidden labels as the program reads them; `usage` is the part that counts, "Public" or "Private".

    Raises:
        UnusableInput: this is a participant's copy, or the solution or competition.json was changed.
    """
    solution_of(competition)
    files = {name: (competition.root / name).read_bytes() for name in (DESCRIPTION, SOLUTION, SEAL)}
    return {"usage": f"{usage}\n".encode(), **files}


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
