"""Trees of images: a folder, a zip and a folder in a zip give the same; what cannot be read is named."""

import io
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from starter.images.files import open_tree
from starter.images.reading import read_images
from submission.errors import UnusableInput


def encoded(image: np.ndarray, suffix: str = ".png") -> bytes:
    """The image file that Pillow writes."""
    stream = io.BytesIO()
    Image.fromarray(image).save(
        stream, format={".jpg": "JPEG", ".tif": "TIFF"}.get(suffix, suffix[1:].upper())
    )
    return stream.getvalue()


def picture(seed: int, shape: tuple[int, ...] = (6, 5, 3)) -> np.ndarray:
    return np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)


def zipped(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_zip_and_folder_give_the_same_whatever_the_order_of_members(tmp_path: Path) -> None:
    members = {
        f"{label}/{i}.png": encoded(picture(10 * k + i)) for k, label in enumerate("ab") for i in range(3)
    }
    forward = zipped(tmp_path / "forward.zip", members)
    backward = zipped(tmp_path / "backward.zip", dict(reversed(members.items())), zipfile.ZIP_DEFLATED)
    for name, data in members.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(data)
    (tmp_path / "link").mkdir()
    (tmp_path / "link/a").symlink_to(tmp_path / "folder/a")
    (tmp_path / "link/b").symlink_to(tmp_path / "folder/b")
    expected = np.stack([picture(10 * k + i) for k in range(2) for i in range(3)])
    for path in (forward, backward, tmp_path / "folder", tmp_path / "link"):
        with open_tree(path) as tree:
            np.testing.assert_array_equal(read_images(tree, tree.images(1)).images, expected)


@pytest.mark.parametrize("suffix", [".png", ".webp", ".bmp", ".tif", ".jpg", ".ppm"])
def test_formats_agree_with_opencv(tmp_path: Path, suffix: str) -> None:
    smooth = cv2.resize(picture(0), (32, 32), interpolation=cv2.INTER_CUBIC)
    data = encoded(smooth, suffix)
    with open_tree(zipped(tmp_path / "x.zip", {f"a/0{suffix}": data})) as tree:
        (image,) = read_images(tree, tree.images(1)).images.astype(int)
    expected = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[..., ::-1].astype(int)
    assert abs(image - expected).max() <= (3 if suffix in (".jpg", ".webp") else 0)


def test_grey_images_get_three_channels_and_transparency_is_dropped(tmp_path: Path) -> None:
    grey, clear = picture(0, (6, 5)), picture(1, (6, 5, 4))
    with open_tree(zipped(tmp_path / "x.zip", {"a/0.png": encoded(grey), "a/1.png": encoded(clear)})) as tree:
        images = read_images(tree, tree.images(1)).images
    np.testing.assert_array_equal(images[0], np.repeat(grey[..., None], 3, 2))
    np.testing.assert_array_equal(images[1], clear[..., :3])


def test_hidden_files_are_passed_over_and_a_folder_in_a_zip_is_a_tree(tmp_path: Path) -> None:
    names = ("README.md", "one/a/.DS_Store", "__MACOSX/a/._0.png", "one/a/0.PNG", "two/b/1.png")
    path = zipped(tmp_path / "x.zip", dict.fromkeys(names, encoded(picture(0))))
    with open_tree(path) as tree:
        assert tree.files == ("README.md", "one/a/0.PNG", "two/b/1.png")
        assert tree.folders(2) == ("one", "two")
        assert tree.second_folders() == {"one": {"a"}, "two": {"b"}}
        assert tree.images_anywhere() == {"one": ("one/a/0.PNG",), "two": ("two/b/1.png",)}
    with open_tree(path / "two") as tree:
        assert tree.files == ("b/1.png",)


def test_what_is_no_tree_of_images_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    flat = zipped(tmp_path / "flat.zip", {"0.png": b"", "a/1.png": b""})
    (tmp_path / "damaged.zip").write_bytes(flat.read_bytes()[:40])
    for path, message in (
        (tmp_path / "empty", "no images"),
        (flat, "0.png is in no folder"),
        (tmp_path / "damaged.zip", "not a folder, a zip"),
        (tmp_path / "none", "no such file or folder"),
    ):
        with pytest.raises(UnusableInput, match=message) as caught, open_tree(path) as tree:
            tree.images(1)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"not an image", encoded(picture(0))[:60]])
def test_a_file_that_is_no_image_is_named(tmp_path: Path, data: bytes) -> None:
    path, message = zipped(tmp_path / "x.zip", {"a/0.png": data}), r"x\.zip/a/0\.png: not an image"
    with open_tree(path) as tree, pytest.raises(UnusableInput, match=message):
        read_images(tree, tree.images(1))


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a/0.png": encoded(picture(0))})
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    with open_tree(path) as tree, pytest.raises(UnusableInput, match=r"a/0\.png: cannot be read"):
        read_images(tree, tree.images(1))
