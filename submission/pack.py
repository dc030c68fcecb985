"""The participants' archive: what a competition's ``public/`` holds, and nothing else."""

import zipfile
from pathlib import Path

from submission.competition import Competition
from submission.files import replacing

_EPOCH = (1980, 1, 1, 0, 0, 0)


def pack(competition: Competition, out: Path) -> Path:
    """Write the participants' archive as a zip; the same competition gives the same bytes.

    Only the files that ``public/competition.json`` lists go in, each after a check of its hash, with
    competition.json itself, all below ``<folder name>/public/``. Nothing is read from ``private/``.

    Raises:
        UnusableInput: a listed file is missing or was changed.
    """
    top = competition.root.resolve().name
    with (
        replacing(out) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        paths = {name: competition.file(name) for name in sorted(competition.files)}
        paths["competition.json"] = competition.public / "competition.json"
        for name, path in paths.items():
            entry = zipfile.ZipInfo(f"{top}/public/{name}", _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                while block := source.read(1 << 20):
                    target.write(block)
    return out
