"""A study: tables and figures of a paper, and the folder that they are written to."""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from starter.images.figure import png
from submission.files import replacing, write_text

PAGE = "report.html"


@dataclass(frozen=True)
class Study:
    """Tables and figures of one study.

    Attributes:
        tables: Tables by name; each is written as NAME.csv.
        figures: Functions that draw figures, by name; each is written as NAME.png.
        page: Function of the encoded figures (base64) that returns the text of report.html; None for no page.
    """

    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Callable[[], Figure]] = field(default_factory=dict)
    page: Callable[[Mapping[str, str]], str] | None = None

    def write(self, folder: Path) -> list[Path]:
        """Write all files into the folder, made if needed, each atomically, and return their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        texts = {
            f"{name}.csv": table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
            for name, table in self.tables.items()
        }
        encoded = {}
        for name, figure in self.figures.items():
            encoded[name] = png(figure(), dpi=110)
            with replacing(folder / f"{name}.png") as temporary:
                temporary.write_bytes(encoded[name])
        if self.page:
            texts[PAGE] = self.page({name: base64.b64encode(each).decode() for name, each in encoded.items()})
        for name, text in texts.items():
            write_text(folder / name, text)
        return sorted(folder / name for name in (*texts, *(f"{name}.png" for name in encoded)))
