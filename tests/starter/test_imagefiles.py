import io
import struct
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from starter import imagefiles
from starter.imagefiles import open_tree, read_arrays, read_images, resize
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


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
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
    expected = np.stack([picture(10 * k + i) for k in range(2) for i in range(3)])
    for path in (forward, backward, tmp_path / "folder"):
        with open_tree(path) as tree:
            np.testing.assert_array_equal(read_images(tree, tree.images(1)), expected)


@pytest.mark.parametrize("suffix", [".png", ".webp", ".bmp", ".tif", ".jpg", ".ppm"])
def test_formats_agree_with_pillow(tmp_path: Path, suffix: str) -> None:
    smooth = cv2.resize(picture(0), (32, 32), interpolation=cv2.INTER_CUBIC)
    data = encoded(smooth, suffix)
    with open_tree(zipped(tmp_path / "x.zip", {f"a/0{suffix}": data})) as tree:
        (image,) = read_images(tree, tree.images(1)).astype(int)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    assert abs(image - expected).max() <= (3 if suffix in (".jpg", ".webp") else 0)


def test_grey_images_get_three_channels_and_transparency_is_dropped(tmp_path: Path) -> None:
    grey, clear = picture(0, (6, 5)), picture(1, (6, 5, 4))
    with open_tree(zipped(tmp_path / "x.zip", {"a/0.png": encoded(grey), "a/1.png": encoded(clear)})) as tree:
        images = read_images(tree, tree.images(1))
    np.testing.assert_array_equal(images[0], np.repeat(grey[..., None], 3, 2))
    np.testing.assert_array_equal(images[1], clear[..., :3])


def test_hidden_files_are_passed_over_and_texts_beside_the_folders_too(tmp_path: Path) -> None:
    members = {
        "README.md": b"x",
        "a/.DS_Store": b"x",
        "__MACOSX/a/._0.png": b"x",
        "a/0.png": encoded(picture(0)),
    }
    with open_tree(zipped(tmp_path / "x.zip", members)) as tree:
        assert tree.images(1) == ("a/0.png",)
        assert tree.folders(1) == ("a",)


def test_folder_inside_a_zip(tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "x.zip", {"one/a/0.png": encoded(picture(0)), "two/a/0.png": encoded(picture(1))}
    )
    with open_tree(path / "two") as tree:
        assert tree.files == ("a/0.png",)
        np.testing.assert_array_equal(read_images(tree, tree.files)[0], picture(1))


@pytest.mark.parametrize(
    "name", ["../a/0.png", "/a/0.png", "a//0.png", "a\\0.png", "C:/a/0.png", "a/./0.png"]
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path / "x.zip", {name: encoded(picture(0))})
    with (
        pytest.raises(UnusableInput, match=r"x\.zip: member .* is not a plain relative path"),
        open_tree(path),
    ):
        pass


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_stands_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for _ in range(2):
            archive.writestr("a/0.png", b"x")
    with pytest.raises(UnusableInput, match=r"'a/0\.png' stands there twice"), open_tree(tmp_path / "x.zip"):
        pass


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    data = encoded(picture(0))
    path = zipped(tmp_path / "x.zip", {"a/0.png": data})
    path.write_bytes(path.read_bytes().replace(data, data[:-20] + bytes(20)))
    with pytest.raises(UnusableInput, match=r"x\.zip/a/0\.png: cannot be read"), open_tree(path) as tree:
        read_images(tree, tree.images(1))


@pytest.mark.parametrize("data", [b"", b"not an image", encoded(picture(0))[:30]])
def test_a_file_that_is_no_image_is_named(tmp_path: Path, data: bytes) -> None:
    path = zipped(tmp_path / "x.zip", {"a/0.png": encoded(picture(0)), "a/1.png": data})
    with pytest.raises(UnusableInput, match=r"x\.zip/a/1\.png: not an image"), open_tree(path) as tree:
        read_images(tree, tree.images(1))


def test_the_first_image_of_another_size_is_named(tmp_path: Path) -> None:
    shapes = [(6, 5, 3), (6, 5, 3), (7, 9, 3), (8, 8, 3)]
    members = {f"a/{i}.png": encoded(picture(i, shape)) for i, shape in enumerate(shapes)}
    with open_tree(zipped(tmp_path / "x.zip", members)) as tree:
        with pytest.raises(UnusableInput, match=r"a/2\.png: 9 x 7 pixels, but a/0\.png has 5 x 6"):
            read_images(tree, tree.images(1))
        images = read_images(tree, tree.images(1), size=(6, 5))
    np.testing.assert_array_equal(images[0], picture(0))
    np.testing.assert_array_equal(images[2], resize(picture(2, (7, 9, 3)), (6, 5)))


def test_halving_averages_blocks_of_four() -> None:
    image = picture(0, (8, 12, 3))
    blocks = image.reshape(4, 2, 6, 2, 3).mean((1, 3))
    assert abs(resize(image, (4, 6)) - blocks).max() <= 0.5


def test_a_file_beyond_the_bound_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imagefiles, "MAX_FILE_BYTES", 50)
    path = zipped(tmp_path / "x.zip", {"a/0.png": bytes(51)}, zipfile.ZIP_DEFLATED)
    with (
        pytest.raises(UnusableInput, match=r"a/0\.png: 0 MiB; an image file has at most"),
        open_tree(path) as tree,
    ):
        read_images(tree, tree.images(1))


def test_images_in_the_wrong_place_and_none_at_all(tmp_path: Path) -> None:
    flat = zipped(tmp_path / "flat.zip", {"0.png": b"", "a/1.png": b""})
    with (
        open_tree(flat) as tree,
        pytest.raises(UnusableInput, match=r"flat\.zip/0\.png: images are expected as .*<class>"),
    ):
        tree.images(1)
    (tmp_path / "empty").mkdir()
    with open_tree(tmp_path / "empty") as tree, pytest.raises(UnusableInput, match="empty: no images"):
        tree.images(1)


def test_what_is_no_tree_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(UnusableInput, match=r"nowhere: no such file or folder"),
        open_tree(tmp_path / "nowhere"),
    ):
        pass
    (tmp_path / "text.zip").write_text("text")
    with (
        pytest.raises(UnusableInput, match=r"text\.zip: not a folder, a zip"),
        open_tree(tmp_path / "text.zip"),
    ):
        pass


def test_arrays_are_read_as_numpy_does(tmp_path: Path) -> None:
    wanted = {"a": picture(0), "b": np.array(["x", "yz"]), "c": np.asfortranarray(picture(1).astype(float))}
    arrays = read_arrays(saved(tmp_path / "x.npz", **wanted))
    for name, array in wanted.items():
        np.testing.assert_array_equal(arrays[name], array)
    np.savez_compressed(tmp_path / "y.npz", a=picture(0))
    np.testing.assert_array_equal(read_arrays(tmp_path / "y.npz")["a"], picture(0))


def header(shape: str, descr: str = "'|u1'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (header("(1000000000000,)") + bytes(4), "does not fit its 4 bytes"),
        (header("(-2, -2)") + bytes(4), "does not fit its 4 bytes"),
        (header("(5,)") + bytes(4), "does not fit its 4 bytes"),
        (header("(1,)", "'|O'") + bytes(8), "holds Python objects"),
        (header("__import__('os')"), "cannot|Cannot|malformed|valid"),
        (b"text", "magic string"),
    ],
)
def test_false_headers_are_refused_before_memory_is_set_aside(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = zipped(tmp_path / "x.npz", {"images.npy": data})
    with pytest.raises(UnusableInput, match=rf"x\.npz: not an \.npz file that can be read .*({message})"):
        read_arrays(path)


def test_damaged_and_missing_npz_are_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.npz", images=picture(0))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UnusableInput, match=r"x\.npz: not an \.npz file"):
        read_arrays(path)
    with pytest.raises(UnusableInput, match=r"y\.npz: no such file"):
        read_arrays(tmp_path / "y.npz")
