"""Descriptions of a competition by ``public/`` alone: README, data card, Croissant 1.0 (mlcommons.org)."""

import json
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from submission.competition import Competition
from submission.files import sha256
from submission.page import escaped, templates
from submission.tracks import TRACKS

HERE = Path(__file__).parent
README, CARD, CROISSANT = "README.md", "card.md", "croissant.json"
LICENCES = "LICENCES.txt"
"""Name of the file below ``public/`` in which a build states the licences of its sources."""
FORMATS = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/jsonlines",
    ".npz": "application/zip",
    ".txt": "text/plain",
}
"""The media types of files by their suffix; ``.npz`` is a zip of NumPy's arrays."""
TABLES = {
    "train/targets.csv": ("target", "the targets of the meta-train sets"),
    "val/targets.csv": ("target", "the targets of the validation sets"),
    "sample_submission.csv": ("prediction", "a valid submission; the targets of the test sets are hidden"),
}
"""Name of the column next to ``id``, and description, of each table of a competition."""


def cards(competition: Competition, beside: Sequence[str] = ()) -> dict[str, str]:
    """Returns the text of each description by its file's name; files of the names `beside` go with them."""
    return {
        README: archive_readme(competition, beside),
        CARD: filled(HERE / "card.md", competition),
        CROISSANT: croissant(competition),
    }


def archive_readme(competition: Competition, beside: Sequence[str] = ()) -> str:
    """Returns the README for participants, Markdown: the task, the rules, the format, the commands."""
    sample = competition.text("sample_submission.csv").splitlines()[1:4]
    values = {"version": version("unseen"), "sample": sample, "beside": beside}
    return filled(HERE / "archive_readme.md", competition, **values)


def filled(template: Path, competition: Competition, **values: object) -> str:
    """Returns the text of a template about a competition."""
    page = templates(template.parent, escape=False)
    page.filters |= {"literal": escaped, "json": json.dumps}
    track = TRACKS[competition.track]
    words = "".join(f" --network {name}" for name in competition.networks)
    licences = licence_lines(competition)
    return page.get_template(template.name).render(
        competition=competition, track=track, licences=licences, networks=words, **values
    )


def licence_lines(competition: Competition) -> list[str]:
    """Returns a line for each source of the images, with its licence as the organizer states it."""
    if LICENCES not in competition.files:
        return [f"{competition.source}: not stated"]
    return competition.text(LICENCES).splitlines()


def croissant(competition: Competition) -> str:
    """Returns the Croissant metadata, JSON-LD: every public file with its SHA-256, and the tables."""
    description = competition.public / "competition.json"
    files = {**competition.files, description.name: sha256(description)}
    document = {
        "@context": json.loads((HERE / "croissant_context.json").read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": competition.name,
        "description": competition.describe(),
        "license": licence_lines(competition),
        "keywords": ["label-free evaluation", "unsupervised accuracy estimation", competition.track],
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": f"public/{name}",
                "encodingFormat": FORMATS.get(Path(name).suffix, "application/octet-stream"),
                "sha256": digest,
            }
            for name, digest in sorted(files.items())
        ],
        "recordSet": [_table(name) for name in TABLES if name in competition.files],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _table(name: str) -> dict[str, object]:
    column, description = TABLES[name]
    record = name.removesuffix(".csv").replace("/", "_")
    columns = (("id", "sc:Text", "<subject>/<set>"), (column, "sc:Float", "a fraction in [0, 1]"))
    return {
        "@type": "cr:RecordSet",
        "@id": record,
        "name": record,
        "description": description,
        "key": {"@id": f"{record}/id"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{record}/{title}",
                "name": title,
                "description": meaning,
                "dataType": kind,
                "source": {"fileObject": {"@id": name}, "extract": {"column": title}},
            }
            for title, kind, meaning in columns
        ],
    }
