"""Tables, labels, scores and folders of images in the forms in which programs and people leave them."""

import json
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from brought import Brought, things
from PIL import Image

import unseen
from leaderboard.compare import compare
from starter.data.sources.sources import load_images

CLASSES = ["ash", "birch", "NA", "fir", "oak"]
KNOWN = 500
RNG = np.random.default_rng(59)
TRUTH = RNG.integers(5, size=KNOWN + 300)
ALL = 1.5 * RNG.normal(size=(len(TRUTH), 5)) + 3 * np.eye(5)[TRUTH]
LOGITS, NEW = ALL[:KNOWN], ALL[KNOWN:]
LABELS = TRUTH[:KNOWN]
WORDS = np.array(CLASSES)[LABELS]
Make = Callable[[Path], Any]
Form = Callable[[Path, Any], Any]


def estimate(logits: Any, labels: Any, new: Any, **options: Any) -> Any:
    """The accuracy, and the estimate with its ends; or the warning."""
    found = unseen.estimate(logits, labels, {"new": new}, **options)
    one = found.sets[0]
    return found.warning or [found.accuracy, one.accuracy, one.low, one.high]


def table(values: Any, **others: Any) -> pd.DataFrame:
    """Logits under the names of their classes, after columns of other things."""
    columns = {name: np.asarray(column)[: len(values)] for name, column in others.items()}
    return pd.DataFrame(columns | dict(zip(CLASSES, np.transpose(values), strict=True)))


def text(folder: Path, values: Any, name: str = "z.csv", index: bool = False, **form: Any) -> Path:
    path = folder / f"{len(values)}{name}"
    frame = values if isinstance(values, pd.DataFrame) else table(values)
    frame.to_csv(path, index=index, **form)
    return path


def changed(folder: Path, values: Any, change: Callable[[str], str], name: str = "z.csv") -> Path:
    path = text(folder, values, name)
    path.write_text(change(path.read_text()))
    return path


def saved(folder: Path, values: Any, most: int | None = None, **others: Any) -> Path:
    path = folder / f"{len(values)}{'.npz' if others else '.npy'}"
    np.savez(path, **others) if others else np.save(path, values)
    path.write_bytes(path.read_bytes()[:most])
    return path


SOUND: dict[str, Form] = {
    "headings": text,
    "decimal commas": partial(text, sep=";", decimal=","),
    "tabs": partial(text, name="z.tsv", sep="\t"),
    "UTF-16": partial(text, encoding="utf-16"),
    "Windows' UTF-8": partial(text, encoding="utf-8-sig", lineterminator="\r\n"),
    "index": partial(text, index=True),
    "quoted": partial(text, quoting=1),
    "capital ending": partial(text, name="Z.CSV"),
    "no headings": partial(text, header=False),
    "comment above": partial(changed, change="# epoch 3\n{}".format),
    "blank lines below": partial(changed, change="{}\n\n".format),
    "array of any name": lambda f, z: saved(f, z, arr=z),
    "array among others": lambda f, z: saved(f, z, logits=z, path=np.array(["a"])),
    "columns first": lambda f, z: saved(f, np.asfortranarray(z)),
    "big-endian": lambda f, z: saved(f, z.astype(">f8")),
    "offset": lambda f, z: saved(f, z + 1e7),
    "log-probabilities": lambda f, z: z - np.log(np.exp(z).sum(axis=1, keepdims=True)),
    "lists": lambda f, z: z.tolist(),
    "objects": lambda f, z: z.astype(object),
    "tensor with a gradient": lambda f, z: torch.tensor(z, requires_grad=True),
}
ODD: dict[str, Form] = {
    "id beside": lambda f, z: text(f, table(z, image_id=range(KNOWN))),
    "number beside": lambda f, z: text(f, table(z, shot=range(KNOWN))),
    "label beside": lambda f, z: text(f, table(z, label=LABELS)),
    "time beside": lambda f, z: text(f, table(z, taken=pd.date_range("2026-03-01", periods=KNOWN))),
    "word beside": lambda f, z: text(f, table(z, camera=["left"] * KNOWN)),
    "separator too many": partial(changed, change=lambda t: t.replace("\n", ",\n")),
    "heading twice": partial(changed, change=lambda t: t.replace("birch", "ash")),
    "empty cells": lambda f, z: text(f, np.where(z > 6, np.nan, z)),
    "thousands' commas": lambda f, z: text(f, 1e4 * z, float_format="{:,.2f}".format),
    "spreadsheet": partial(changed, change="PK\3\4{}".format, name="z.xlsx"),
    "empty": partial(changed, change=lambda t: ""),
    "turned": lambda f, z: z.T,
    "one column": lambda f, z: z[:, 0],
    "a column less": lambda f, z: z[:, 1:],
    "cut short": lambda f, z: saved(f, z, 900),
    "pickle": lambda f, z: saved(f, z.astype(object)),
    "not there": lambda f, z: f / "z.csv",
}
SOUND_LABELS: dict[str, Make] = {
    "column": lambda f: LABELS[:, None],
    "fractions": lambda f: LABELS.astype(float),
    "bytes": lambda f: LABELS.astype(np.uint8).tolist(),
    "one for each class": lambda f: np.eye(5)[LABELS],
    "words": lambda f: WORDS,
    "words in a file": lambda f: text(f, pd.DataFrame({"label": WORDS})),
    "beside files": lambda f: text(f, pd.DataFrame({"file": range(KNOWN), "label": WORDS})),
    "in another order": lambda f: pd.Series(LABELS).sample(frac=1, random_state=0),
}
ODD_LABELS: dict[str, Make] = {
    "from 1": lambda f: LABELS + 1,
    "from 1, the last one 0": lambda f: (LABELS + 1) % 5,
    "two exchanged": lambda f: np.array([1, 0, 2, 3, 4])[LABELS],
    "too few": lambda f: LABELS[:-1],
    "unknown word": lambda f: np.where(WORDS == "fir", "pine", WORDS),
    "missing": lambda f: np.where(LABELS == 2, np.nan, LABELS),
    "halves": lambda f: LABELS + 0.5,
}


def tables() -> Iterator[Brought]:
    """Logits and labels of five classes, and of two."""
    right = estimate(LOGITS, LABELS, NEW)
    for name, form in SOUND.items():
        yield Brought(name, lambda f, form=form: estimate(form(f, LOGITS), LABELS, form(f, NEW)), right)
    for name, form in ODD.items():
        yield Brought(name, lambda f, form=form: estimate(form(f, LOGITS), LABELS, NEW))
        yield Brought(f"new: {name}", lambda f, form=form: estimate(LOGITS, LABELS, form(f, NEW)))
    known, mirrored = table(LOGITS), table(NEW)[CLASSES[::-1]]
    yield from things(SOUND_LABELS, lambda y: estimate(known, y, NEW), right)
    yield from things(ODD_LABELS, lambda y: estimate(known, y, NEW))
    yield Brought("columns in another order", lambda f: estimate(known, LABELS, mirrored), right)
    yield Brought("another class", lambda f: estimate(known, LABELS, mirrored.rename(columns={"oak": "elm"})))
    two = np.exp(LOGITS[:, :2])
    two /= two.sum(axis=1, keepdims=True)
    of_two = partial(estimate, labels=(RNG.random(KNOWN) < two[:, 1]).astype(int), probabilities=True)
    yield Brought("one probability", lambda f: of_two(two[:, 1], new=two[:, 1]), of_two(two, new=two))
    yield Brought("percentages", lambda f: of_two(100 * two, new=100 * two))


ITEMS = pd.DataFrame((RNG.random((200, 4)) < [0.5, 0.55, 0.65, 0.8]).astype(int), columns=list("abcd"))
LONG = ITEMS.rename_axis("item").reset_index().melt("item", var_name="model", value_name="score")
SOUND_SCORES: dict[str, Make] = {
    "wide": lambda f: text(f, ITEMS),
    "keys": lambda f: text(f, ITEMS.set_axis([f"q{i}" for i in range(200)]), index=True),
    "numbers": lambda f: text(f, ITEMS.rename_axis("doc_id"), index=True),
    "long": lambda f: text(f, LONG),
    "JSON lines": lambda f: changed(f, LONG, lambda t: LONG.to_json(orient="records", lines=True), "s.jsonl"),
    "truths": lambda f: text(f, ITEMS > 0),
    "tabs": partial(text, values=ITEMS, sep="\t"),
    "verdicts": lambda f: text(f, ITEMS.replace({1: "PASS", 0: "FAIL"})),
    "percentages": lambda f: text(f, ITEMS.replace({1: "100%", 0: "0%"})),
}
ODD_SCORES: dict[str, Make] = {
    "two items": lambda f: text(f, ITEMS[:2]),
    "a word": lambda f: text(f, ITEMS.astype(object).replace({1: "good"})),
    "infinite": lambda f: text(f, ITEMS.assign(e=np.inf)),
    "models as rows": lambda f: text(f, ITEMS.T.rename_axis("model").assign(mean=ITEMS.mean()), index=True),
    "empty": lambda f: changed(f, ITEMS, lambda t: ""),
}


def means(path: Path) -> list[float]:
    """The means of the systems in a table, the best first."""
    return [system["mean"] for system in json.loads(compare(path, as_json=True))["systems"]]


def scores() -> Iterator[Brought]:
    """Tables of items and systems."""
    yield from things(SOUND_SCORES, means, sorted(ITEMS.mean(), reverse=True))
    yield from things(ODD_SCORES, means)


PIXELS = RNG.integers(256, size=(24, 12, 12, 3), dtype=np.uint8)
NUMBERED = tuple(map(str, range(12)))


def folder(root: Path, suffix: str = ".png", change: Form = lambda i, x: Image.fromarray(x)) -> Path:
    """Two images of each class, in folders whose names are numbers."""
    for i, pixels in enumerate(PIXELS):
        path = root / f"set/{i // 2}/{i}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        change(i, pixels).save(path, format="tiff" if suffix == ".tif" else "png")
    return root / "set"


def beside(root: Path, *names: str, data: bytes = b"") -> Path:
    """The folder with other files, images where no data are given."""
    at = folder(root)
    for name in names:
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).write_bytes(data or (at / "5/10.png").read_bytes())
    return at


def linked(root: Path) -> Path:
    at = folder(root)
    (at / "6/latest").symlink_to(at / "6", target_is_directory=True)
    return at


def zipped(root: Path, separator: str = "/") -> Path:
    at = folder(root)
    with zipfile.ZipFile(root / "set.zip", "w") as archive:
        for path in at.rglob("*.png"):
            member = zipfile.ZipInfo()
            member.filename = separator.join(path.relative_to(at).parts)
            archive.writestr(member, path.read_bytes())
    return root / "set.zip"


SOUND_FOLDERS: dict[str, Make] = {
    "numbers": folder,
    "capital endings": partial(folder, suffix=".PNG"),
    "no endings": partial(folder, suffix=""),
    "TIFF": partial(folder, suffix=".tif"),
    "opaque": partial(folder, change=lambda i, x: Image.fromarray(x).convert("RGBA")),
    "thumbnails": lambda root: beside(root, "3/@eaDir/6.png", "__MACOSX/3/6.png", "4/.thumbnails/8.png"),
    "notes of systems": lambda root: beside(root, "5/Thumbs.db", ".DS_Store", "6/desktop.ini"),
    "link to itself": linked,
    "zip": zipped,
    "backslashes": partial(zipped, separator="\\"),
}
ODD_FOLDERS: dict[str, Make] = {
    "class too many": lambda root: beside(root, "12/0.png"),
    "web page": lambda root: beside(root, "1/2.png", data=b"<html>"),
    "half an image": lambda root: beside(root, "1/2.png", data=(folder(root) / "1/3.png").read_bytes()[:99]),
    "blank": partial(folder, change=lambda i, x: Image.new("RGB", (12, 12))),
    "equal": partial(folder, change=lambda i, x: Image.fromarray(PIXELS[0])),
    "other sizes": partial(folder, change=lambda i, x: Image.fromarray(x[: 12 - i % 3])),
    "not there": lambda root: root / "set",
}


def seen(path: Path) -> list[tuple[int, float]]:
    """The class and the mean pixel of each image."""
    found = load_images(path, NUMBERED)
    return sorted(zip(found.truth.tolist(), found.images.mean(axis=(1, 2, 3)).tolist(), strict=True))


def images() -> Iterator[Brought]:
    """Folders and zips of labelled images."""
    yield from things(
        SOUND_FOLDERS, seen, sorted(zip(np.arange(24) // 2, PIXELS.mean(axis=(1, 2, 3)), strict=True))
    )
    yield from things(ODD_FOLDERS, seen)
