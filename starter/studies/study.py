"""A study: tables and figures of a paper, and the folder that they are written to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from starter.data.images.figure import save_png
from submission.files import write_text


@dataclass(frozen=True)
class Study:
    """Tables and figures by name, what a reader sees first, and the folder unless the reader names one."""

    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Callable[[], Figure]]
    text: str
    folder: Path

    def write(self, folder: Path) -> list[Path]:
        """Write all files into the folder, made if needed, each atomically, and return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in self.tables.items():
            text = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
            write_text(folder / f"{name}.csv", text)
        drawn = [save_png(draw(), folder / f"{name}.png", 110) for name, draw in self.figures.items()]
        return sorted([*drawn, *(folder / f"{name}.csv" for name in self.tables)])
