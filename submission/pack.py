"""The participants' archive: the files of a competition's ``public/``, and descriptions made from them."""

import zipfile
from pathlib import Path

from submission.competition import Competition
from submission.errors import UnusableInput, unusable
from submission.files import replacing

_EPOCH = (1980, 1, 1, 0, 0, 0)


def pack(competition: Competition, out: Path) -> Path:
    """Write the participants' archive as a zip; the same competition gives the same bytes.

    The archive holds the files that ``public/competition.json`` lists, each after a check of its hash, and
    competition.json itself, all below ``<folder name>/public/``, and next to that the descriptions of
    `submission.card`. Nothing is read from ``private/``.

    Raises:
        UnusableInput: a listed file is missing, was changed or leads into ``private/``; `out` lies in
            ``public/`` or ``private/`` or is not named as a zip; or the folder's name cannot be printed.
    """
    from submission.card import cards  # whose Jinja2 no other command of a participant needs

    top, private = competition.root.resolve().name, competition.private.resolve()
    competition.check_output(out, ".zip")
    if not top.isprintable():
        raise unusable(
            competition.root, "its name, which archives hold, cannot be printed: rename the folder"
        )
    with (
        replacing(out) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        paths = {name: competition.file(name) for name in sorted(competition.files)}
        paths["competition.json"] = competition.public / "competition.json"
        for name, path in paths.items():
            if path.resolve().is_relative_to(private):
                raise UnusableInput(
                    f"{path} is a link into {competition.private}: remove the link, build again"
                )
            with (
                path.open("rb") as source,
                archive.open(_entry(f"{top}/public/{name}"), "w", force_zip64=True) as target,
            ):
                while block := source.read(1 << 20):
                    target.write(block)
        for name, text in cards(competition).items():
            archive.writestr(_entry(f"{top}/{name}"), text)
    return out


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry
