"""Descriptions of a competition: a README for participants, a data card, Croissant metadata for programs.

All are made from ``public/`` alone, so every participant can make them, and they contain nothing hidden.
Croissant: mlcommons.org/croissant, format 1.0, JSON-LD.
"""

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from string import Template

from submission.competition import PARTS, VISIBILITIES, Competition
from submission.files import sha256
from submission.page import escaped
from submission.scoring import read_targets
from submission.tracks import TRACKS

README, CARD, CROISSANT = "README.md", "card.md", "croissant.json"
PARTS_SCORED = (
    "While the competition runs, scores are computed from the public part of the test sets, about three in\n"
    "ten; final ranks are computed from the others. It is secret which sets are public."
)
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
CONTENTS = {
    "val": "images and targets are given",
    "test": "images are given; predict the hidden targets",
}
TRAIN = {
    "accuracy": "recipes, rendered from the base; targets are given",
    "ood": "mixes, drawn from the base and from `public/ood/`; targets are given",
}
"""The contents of the meta-train sets of each track."""
TEMPLATE = Path(__file__).with_name("card.md")
README_TEMPLATE = Path(__file__).with_name("archive_readme.md")
EXAMPLES = {"accuracy": "fd", "ood": "plugin-mpe"}
"""The method of the kit that texts use as an example, by track."""
SHOWN = 3
"""Number of lines of a submission in the README for participants."""
CONTEXT = Path(__file__).with_name("croissant_context.json")
"""Path of the JSON-LD context of Croissant, which defines the keys of the metadata."""


def cards(competition: Competition) -> dict[str, str]:
    """Returns the text of each description, by the name of its file.

    Raises:
        UnusableInput: a public file that they describe is missing or was changed.
    """
    return {
        README: archive_readme(competition),
        CARD: data_card(competition),
        CROISSANT: croissant(competition),
    }


def archive_readme(competition: Competition) -> str:
    """Returns the README for participants, Markdown: the task, the rules, the format, the commands.

    Raises:
        UnusableInput: the sample submission is missing or was changed.
    """
    lines = competition.text("sample_submission.csv").splitlines()
    return Template(README_TEMPLATE.read_text(encoding="utf-8")).substitute(
        name=escaped(competition.name),
        asks=TRACKS[competition.track].asks,
        version=version("unseen"),
        method=EXAMPLES[competition.track],
        track="" if competition.track == "accuracy" else f" --track {competition.track}",
        example="\n".join(lines[1 : SHOWN + 1]),
        scored=PARTS_SCORED,
        rules="\n".join(f"- {rule}" for rule in rules(competition)),
        precision=competition.computes,
        contact=competition.settings.get("contact", "Ask the person who gave you this archive."),
    )


def rules(competition: Competition) -> list[str]:
    """Returns the competition's rules, one sentence each: feedback, limits, deadline, metrics, visibility."""
    decimals = "1 decimal" if competition.decimals == 1 else f"{competition.decimals} decimals"
    told = {
        "rounded": f"The answer to a submission is its public score, rounded to {decimals}.",
        "ladder": "The answer to a submission is its public score, if that is better than the team's best.",
        "guarded": "The answer to a submission is its public score, as long as scores reveal little about "
        "the labels.",
    }
    limits = {"per day (UTC)": competition.daily_limit, "in total": competition.total_limit}
    found = [told[competition.feedback]]
    found += [f"Each team may make {count} submissions {when}." for when, count in limits.items() if count]
    end = competition.deadline
    found += [f"The deadline is {end:%Y-%m-%d %H:%M} UTC." if end else "There is no deadline."]
    if len(competition.metrics) > 1:
        found.append(f"{competition.titles[0]} ranks; the other metrics are scored separately.")
    return [*found, f"{competition.visibility.capitalize()}: {VISIBILITIES[competition.visibility]}."]


def licence_lines(competition: Competition) -> list[str]:
    """Returns a line for each source of the images, with its licence as the organizer states it."""
    if LICENCES not in competition.files:
        return [f"{competition.source}: not stated"]
    return competition.text(LICENCES).splitlines()


def data_card(competition: Competition) -> str:
    """Returns the data card, Markdown.

    Raises:
        UnusableInput: a file of targets or licences is missing or was changed.
    """
    name, *facts = competition.describe().splitlines()
    sizes = competition.sizes
    contents = {**CONTENTS, "train": TRAIN[competition.track]}
    parts = [
        f"| {part} | {len(sizes[part]):,} | {sum(sizes[part].values()):,} | {contents[part]} |"
        for part in PARTS
    ]
    facts.append(f"  classes      {', '.join(competition.classes)}")
    settings = [f"{key}: {json.dumps(value)}" for key, value in competition.settings.items()]
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        name=escaped(name),
        asks=TRACKS[competition.track].asks,
        facts="\n".join(facts),
        parts="\n".join(parts),
        targets=_spread(competition),
        settings="\n".join(settings),
        seed=competition.seed,
        licences="\n".join(licence_lines(competition)),
    )


def croissant(competition: Competition) -> str:
    """Returns the Croissant metadata, JSON-LD: every public file with its SHA-256, the tables as record sets.

    Paths are relative to the competition's folder, where the metadata file belongs.

    Raises:
        UnusableInput: a file of licences is missing or was changed.
    """
    description = competition.public / "competition.json"
    files = {**competition.files, description.name: sha256(description)}
    document = {
        "@context": json.loads(CONTEXT.read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": competition.name,
        "description": competition.describe(),
        "license": licence_lines(competition),
        "keywords": ["label-free evaluation", "unsupervised accuracy estimation", competition.track],
        "distribution": [_file(name, digest) for name, digest in sorted(files.items())],
        "recordSet": [_table(name) for name in TABLES if name in competition.files],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _file(name: str, digest: str) -> Mapping[str, str]:
    suffix = Path(name).suffix
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": f"public/{name}",
        "encodingFormat": FORMATS.get(suffix, "application/octet-stream"),
        "sha256": digest,
    }


def _table(name: str) -> Mapping[str, object]:
    column, description = TABLES[name]
    record = name.removesuffix(".csv").replace("/", "_")
    columns = (
        ("id", "sc:Text", "<subject>/<set>"),
        (column, "sc:Float", "a fraction in [0, 1]"),
    )
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


def _spread(competition: Competition) -> str:
    """Returns text with the smallest and the largest known target of each metric and part."""
    found = []
    for part in ("train", "val"):
        known = f"{part}/targets.csv" in competition.files
        targets = read_targets(competition, part) if known else {}
        for metric, names in competition.by_metric(targets).items():
            values = [targets[name] for name in names]
            title = TRACKS[competition.track].metrics[metric]
            if values:
                found.append(f"{title} {min(values):.3f} to {max(values):.3f} ({part})")
    return ", ".join(found) or "none"
