import os
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from starter.classifiers.weightsfile import WeightsFile
from submission.errors import UnusableInput


@pytest.mark.parametrize(
    "classes", ["[" * 100_000, "[" + "9" * 5000 + "]", '{"a": 1}', "[1]", "null", "", '["a"', "NaN"]
)
def test_classes_that_are_no_list_of_names(classes: str, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_file({"a": torch.zeros(1)}, path, {"classes": classes})
    file = WeightsFile.read(path)
    with pytest.raises(
        UnusableInput, match=r"w\.safetensors: its metadata `classes` is not a JSON list of names"
    ):
        file.classes  # noqa: B018


@pytest.mark.parametrize("text", ["0.5", "a,b,c", "1,2,3,4", ",,", "9" * 10_000])
def test_triples_that_are_no_three_numbers(text: str, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    save_file({"a": torch.zeros(1)}, path, {"mean": text, "std": "0.1, 0.2,1e0"})
    file = WeightsFile.read(path)
    assert file.std == (0.1, 0.2, 1.0)
    with pytest.raises(UnusableInput, match="its metadata `mean` is not three numbers: ") as caught:
        file.mean  # noqa: B018
    assert len(str(caught.value)) < 300


def test_a_folder_and_a_name_that_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "w.pt").mkdir()
    with pytest.raises(UnusableInput, match=r"w\.pt: not a file"):
        WeightsFile.read(tmp_path / "w.pt")
    with pytest.raises(UnusableInput, match=r"cannot be read: .*File name too long"):
        WeightsFile.read(tmp_path / ("w" * 300 + ".pt"))
    with pytest.raises(UnusableInput, match="no such file"):
        WeightsFile.read(tmp_path / "w\0.pt")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads every file")
@pytest.mark.parametrize("name", ["w.pt", "w.safetensors"])
def test_a_file_without_permission(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"weights")
    path.chmod(0)
    with pytest.raises(UnusableInput, match=f"{name} cannot be read: .*Permission denied"):
        WeightsFile.read(path)


def test_a_file_that_unpacks_to_more_than_itself_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "w.pt"
    torch.save({"a": torch.zeros(1000)}, path)
    assert WeightsFile.read(path).tensors["a"].shape == (1000,)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, bytes(10**8) if name.endswith("data/0") else content)
    assert path.stat().st_size < 10**6
    with pytest.raises(UnusableInput, match=r"w\.pt is damaged or holds more than weights"):
        WeightsFile.read(path)


def test_a_storage_larger_than_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.pt"
    for new_format in (True, False):
        torch.save({"a": torch.zeros(1000)}, path, _use_new_zipfile_serialization=new_format)
        content = path.read_bytes()
        # The pickle's number 1000, in two bytes, becomes 2^40 in eight.
        assert b"M\xe8\x03" in content
        large = content.replace(b"M\xe8\x03", b"\x8a\x08" + (2**40).to_bytes(8, "little"))
        if new_format:
            with zipfile.ZipFile(path) as archive:
                entries = {name: archive.read(name) for name in archive.namelist()}
            with zipfile.ZipFile(path, "w") as archive:
                for name, entry in entries.items():
                    archive.writestr(
                        name, entry.replace(b"M\xe8\x03", b"\x8a\x08" + (2**40).to_bytes(8, "little"))
                    )
        else:
            path.write_bytes(large)
        with pytest.raises(UnusableInput, match=r"w\.pt is damaged or holds more than weights"):
            WeightsFile.read(path)
