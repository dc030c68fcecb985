"""The participants' archive: the files of a competition's ``public/``, and descriptions made from them."""

import shutil
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from submission.competition import DESCRIPTION, LARGEST_DESCRIPTION, RECORD, Competition
from submission.errors import UnusableInput, unusable, why
from submission.files import replacing, write_bytes

RATIO, SMALL = 100, 64 << 20
"""A file of an archive may be this many times its packed size, and this many bytes more; usual is 1.2."""


def write_archive(competition: Competition, out: Path, beside: Sequence[Path] = ()) -> Path:
    """Write the archive, the same bytes each time; files `beside` keep their folders below this one."""
    from submission.card import cards  # whose Jinja2 no other command of a participant needs

    top = competition.root.resolve().name
    private = competition.private.resolve()
    competition.check_output(out, ".zip")
    if (competition.root / RECORD).exists():
        competition.sealed(DESCRIPTION)
    paths = {name: competition.file(name) for name in sorted(competition.files)}
    paths["competition.json"] = competition.public / "competition.json"
    names = [path.name if path.is_absolute() or ".." in path.parts else path.as_posix() for path in beside]
    with (
        replacing(out, within=competition.root) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for path in (*paths.values(), *beside):
            if path.resolve().is_relative_to(private):
                raise UnusableInput(f"{path} is in {competition.private}, or a link into it: leave it out")
        for name, path in paths.items():
            add_file(archive, f"{top}/public/{name}", path)
        for name, path in zip(names, beside, strict=True):
            add_file(archive, name, path)
        for name, text in cards(competition, names).items():
            archive.writestr(file_entry(f"{top}/{name}"), text)
    return out


AnyCompetition = Competition | Path | str
"""A competition, or the path of its folder or archive."""


def competition_of(given: AnyCompetition) -> Competition:
    """Returns a competition as it is, or the one in a folder or in a participants' archive."""
    if isinstance(given, Competition):
        return given
    if not isinstance(given, Path | str):
        raise UnusableInput(f"give a competition, or its folder's path, first, not a {type(given).__name__}")
    return Competition.open(unpacked(given))


def unpacked(path: Path | str) -> Path:
    """Returns `path`, or if it is a participants' archive the folder of its files, ``unseen-NAME`` here."""
    # An archive is unpacked once: the files that its competition.json lists, and that one last.
    path = Path(path)
    if path.suffix.lower() != ".zip" or not path.is_file():
        return path
    folder = Path(f"unseen-{path.stem}")
    try:
        with zipfile.ZipFile(path) as archive:
            named = next((name for name in archive.namelist() if name.endswith(DESCRIPTION)), DESCRIPTION)
            with archive.open(named) as stream:
                text = stream.read(LARGEST_DESCRIPTION)
            files = Competition.read(text, path).files
            if (known := folder / DESCRIPTION).is_file():
                if Competition.read(known.read_bytes(), known).files != files:
                    raise UnusableInput(f"{folder} has another competition than {path}: rename one of them")
                write_bytes(known, text)  # deadline, limits and notices may be newer
                return folder
            _check_size(archive, path)
            for name in files:
                with (
                    archive.open(f"{named.removesuffix(DESCRIPTION)}public/{name}") as source,
                    replacing(folder / "public" / name) as temporary,
                    temporary.open("wb") as target,
                ):
                    shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, LookupError, RuntimeError) as error:
        raise unusable(path, f"this is no competition's archive ({why(error)})") from error
    write_bytes(known, text)
    return folder


def _check_size(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse an archive that would unpack to more than is plausible, or than there is room for here."""
    entries = archive.infolist()
    size = sum(entry.file_size for entry in entries)
    if any(entry.file_size > RATIO * entry.compress_size + SMALL for entry in entries):
        raise UnusableInput(f"{path} would unpack to {size:,} bytes, more than a competition's archive does")
    if size > (free := shutil.disk_usage(".").free):
        raise UnusableInput(f"{path} unpacks to {size:,} bytes, and {free:,} are free here: make room")


def add_file(
    archive: zipfile.ZipFile, name: str, path: Path, compression: int = zipfile.ZIP_DEFLATED
) -> None:
    """Add a file of any size under this name."""
    entry = file_entry(name, compression)
    with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
        shutil.copyfileobj(source, target, 1 << 20)


def file_entry(name: str, compression: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    """Returns the entry of a plain file, with a fixed time so that equal contents give equal zips."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = compression
    entry.external_attr = 0o644 << 16
    return entry
