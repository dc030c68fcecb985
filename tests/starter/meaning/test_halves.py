"""Balanced halves as files: labels, counts, and what is written."""

import numpy as np
import pandas as pd
from taxonomy import write_class_zip

from starter.images.arrays import read_npz
from starter.meaning.halves import write_halves
from starter.meaning.manifest import ClassEntry

ENTRIES = [
    ClassEntry("zoo", "fox", "", None, None, "near"),
    ClassEntry("zoo", "bear", "", None, None, "dropped"),
    ClassEntry("street", "car", "", None, None, "ID"),
    ClassEntry("zoo", "chair", "", None, None, "far"),
]


def test_halves_are_files_of_as_many_id_as_ood_images(tmp_path):
    write_class_zip(tmp_path / "zoo.zip", ("fox", "bear", "chair"), count=5)
    write_class_zip(tmp_path / "street.zip", ("car",), count=7, size=40)
    lines = write_halves(ENTRIES, tmp_path, tmp_path / "out", image_size=(32, 32))
    assert lines[0] == "validation: 3 images of 1 ID classes, 3 of 2 OOD classes"
    table = pd.read_csv(tmp_path / "out/classes.csv")
    assert table["class"].tolist() == ["fox", "car", "chair"]
    for name in ("validation", "test"):
        half = read_npz(tmp_path / f"out/{name}.npz")
        assert half.images.shape == (6, 32, 32, 3)
        in_order = np.repeat(table["assignment"] != "ID", table[name]).astype(int)
        assert half.labels.tolist() == in_order.tolist()
    first = (tmp_path / "out/test.npz").read_bytes()
    write_halves(ENTRIES, tmp_path, tmp_path / "again", image_size=(32, 32))
    assert (tmp_path / "again/test.npz").read_bytes() == first
    assert write_halves(ENTRIES, tmp_path, tmp_path / "out", (32, 32), limit=1)[1].startswith("test: 1 image")
