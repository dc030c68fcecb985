"""Gbench: the OOD data sets of Zhang, Deng & Zheng, by name and address (``gbench.csv``; their appendix K).

The appendix counts 200 data sets and lists 201 entries; all are kept. Where it lost a hyphen at the end of a
line, an address was mended as far as it is plain what stood there.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starter.sources.oodsets import set_name


@dataclass(frozen=True)
class DataSet:
    """One data set of Gbench.

    Attributes:
        name: as in the paper.
        address: where it is published.
        overlaps: the IND data that it shares classes with (appendix F): cifar100, clothing1m, face, medical.
    """

    name: str
    address: str
    overlaps: tuple[str, ...]

    @property
    def folder(self) -> str:
        """The name of its folder, in lower case: "tally-marks"."""
        return set_name(self.name).casefold()


@cache
def gbench() -> tuple[DataSet, ...]:
    """Every data set, in the paper's order."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as stream:
        return tuple(
            DataSet(row["name"], row["address"], tuple(row["overlaps"].split()))
            for row in csv.DictReader(stream)
        )


def missing(folders: Iterable[str]) -> tuple[DataSet, ...]:
    """The data sets that none of these folders holds; case, spaces and other marks in names do not matter."""
    here = {set_name(folder).casefold() for folder in folders}
    return tuple(each for each in gbench() if each.folder not in here)


def listing(folders: Iterable[str] | None = None) -> str:
    """The manifest as a table: name, address and, given folders, whether each data set is among them."""
    absent = set() if folders is None else {each.name for each in missing(folders)}
    width = max(len(each.name) for each in gbench())
    mark = (
        (lambda name: "")
        if folders is None
        else (lambda name: "missing  " if name in absent else "here     ")
    )
    lines = [f"{mark(each.name)}{each.name:<{width}}  {each.address}" for each in gbench()]
    total = len(gbench())
    return "\n".join([*lines, "", f"{total} data sets" + (f", {len(absent)} missing" if absent else "")])
