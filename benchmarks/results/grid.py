"""Detectors over the grid of shifts, on the embedded data.

    python benchmarks/results/grid.py DIR [--images 12000]

All 18 on `small`: correlation and sensitivity of AUROC along either axis. Wanted: a positive semantic
correlation for 15 of 18. DIR keeps encoder, competition and observations, so that a second run only reads
them. The table is that of docs/results/incremental-shift.md.
"""

import argparse
from pathlib import Path

from starter.making.build import build
from starter.making.settings import settings_of
from starter.studies.grid import grid_study, grid_text

SETTINGS = {"ops_per_set": (1, 3), "train_sets": 40, "val_sets": 8, "test_sets": 16, "set_size": 200}
WANTED = 15


def detectors(folder: Path, images: int) -> None:
    """Every detector over the grid."""
    competition = build(folder / "detectors", settings_of("accuracy", SETTINGS))
    study = grid_study(competition, images=images)
    print(grid_text(study.tables))
    trends = study.tables["trends"]
    found = trends[trends.metric == "auroc"].semantic_correlation
    print(
        f"\nsemantic correlation positive for {(found > 0).sum()} of {len(found)} detectors ({WANTED} wanted)"
    )
    print(*study.write(folder / "grid"), sep="\n")


def main() -> None:
    """Measure and print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--images", type=int, default=12_000, help="shifted images")
    options = parser.parse_args()
    detectors(options.folder, options.images)


if __name__ == "__main__":
    main()
