import io
import os
import socket
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, UnidentifiedImageError

from starter.images import arrays
from starter.images import files as imagefiles
from starter.images.arrays import read_arrays
from starter.images.files import open_tree
from starter.images.reading import Fit, read_images
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


def filled(folder: Path, *files: str) -> Path:
    """A folder of `files`, each the same picture."""
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(encoded(picture(0)))
    return folder


@contextmanager
def unprivileged(folder: Path) -> Iterator[None]:
    """In `folder`, as a user whom permissions concern: root becomes nobody."""
    user, before = os.geteuid(), Path.cwd()
    folder.chmod(0o755)
    os.chdir(folder)
    os.seteuid(user or 65534)
    try:
        yield
    finally:
        os.seteuid(user)
        os.chdir(before)


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
            np.testing.assert_array_equal(read_images(tree, tree.images(1)).images, expected)


@pytest.mark.parametrize("suffix", [".png", ".webp", ".bmp", ".tif", ".jpg", ".ppm"])
def test_formats_agree_with_pillow(tmp_path: Path, suffix: str) -> None:
    smooth = cv2.resize(picture(0), (32, 32), interpolation=cv2.INTER_CUBIC)
    data = encoded(smooth, suffix)
    with open_tree(zipped(tmp_path / "x.zip", {f"a/0{suffix}": data})) as tree:
        (image,) = read_images(tree, tree.images(1)).images.astype(int)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    assert abs(image - expected).max() <= (3 if suffix in (".jpg", ".webp") else 0)


def test_grey_images_get_three_channels_and_transparency_is_dropped(tmp_path: Path) -> None:
    grey, clear = picture(0, (6, 5)), picture(1, (6, 5, 4))
    with open_tree(zipped(tmp_path / "x.zip", {"a/0.png": encoded(grey), "a/1.png": encoded(clear)})) as tree:
        images = read_images(tree, tree.images(1)).images
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
        np.testing.assert_array_equal(read_images(tree, tree.files).images[0], picture(1))


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
    with pytest.raises(UnusableInput, match=r"'a/0\.png' is there twice"), open_tree(tmp_path / "x.zip"):
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
    arrays = read_arrays(saved(tmp_path / "x.npz", **wanted), ("a", "b"), ("c", "d"))
    assert sorted(arrays) == ["a", "b", "c"]
    for name, array in wanted.items():
        np.testing.assert_array_equal(arrays[name], array)
    np.savez_compressed(tmp_path / "y.npz", a=picture(0))
    np.testing.assert_array_equal(read_arrays(tmp_path / "y.npz", "a")["a"], picture(0))


def header(shape: str, descr: str = "'|u1'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (header("(1000000000000,)") + bytes(4), "does not fit its 4 bytes"),
        (header("(-2, -2)") + bytes(4), "(not a valid one|does not fit)"),
        (header("(5,)") + bytes(4), "does not fit its 4 bytes"),
        (header("(1,)", "'|O'") + bytes(8), "holds Python objects"),
        (header("__import__('os')"), "not a valid one"),
        (b"text", "magic string"),
    ],
)
def test_false_headers_are_refused_before_memory_is_set_aside(
    tmp_path: Path, data: bytes, message: str
) -> None:
    path = zipped(tmp_path / "x.npz", {"images.npy": data})
    with pytest.raises(UnusableInput, match=rf"x\.npz: array 'images' cannot be read .*{message}"):
        read_arrays(path, ["images"])


def test_damaged_and_missing_npz_are_named(tmp_path: Path) -> None:
    path = saved(tmp_path / "x.npz", images=picture(0))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UnusableInput, match=r"x\.npz: not an \.npz file"):
        read_arrays(path, ["images"])
    with pytest.raises(UnusableInput, match=r"y\.npz: no such file"):
        read_arrays(tmp_path / "y.npz", ["images"])


def read_all(path: Path) -> None:
    """What there is in an .npz of `images`, or a folder or zip of class folders, is read."""
    if path.suffix == ".npz":
        read_arrays(path, ["images"])
    else:
        with open_tree(path) as tree:
            read_images(tree, tree.images(1))


@pytest.mark.parametrize(
    ("closed", "mode", "source"),
    [
        ("x/b", 0, "x"),
        ("x/b", 0o400, "x"),
        ("x/b/0.png", 0, "x"),
        ("x", 0, "x"),
        ("x", 0, "x/a"),
        ("x.zip", 0, "x.zip"),
        ("x.npz", 0, "x.npz"),
    ],
)
def test_what_may_not_be_read_is_named(tmp_path: Path, closed: str, mode: int, source: str) -> None:
    filled(tmp_path / "x", "a/0.png", "b/0.png")
    zipped(tmp_path / "x.zip", {"a/0.png": encoded(picture(0))})
    saved(tmp_path / "x.npz", images=picture(0))
    usual = (tmp_path / closed).stat().st_mode
    (tmp_path / closed).chmod(mode)
    with (
        unprivileged(tmp_path),
        pytest.raises(
            UnusableInput,
            match=rf"^{source if source > closed else closed}.*Permission denied\)( \(--skip|$)",
        ),
    ):
        read_all(Path(source))
    (tmp_path / closed).chmod(usual)


def test_links_to_folders_are_followed(tmp_path: Path) -> None:
    filled(tmp_path / "photos", "0.png", "1.png")
    filled(tmp_path / "x", "a/0.png")
    (tmp_path / "x" / "b").symlink_to(tmp_path / "photos")
    with open_tree(tmp_path / "x") as tree:
        assert tree.images(1) == ("a/0.png", "b/0.png", "b/1.png")


@pytest.mark.parametrize("target", [".", "..", "../.."])
def test_links_that_lead_back_are_named(tmp_path: Path, target: str) -> None:
    for label in "abc":
        filled(tmp_path / "y" / "x", f"{label}/0.png")
        (tmp_path / "y" / "x" / label / "back").symlink_to(target)
    with (
        pytest.raises(UnusableInput, match=r"/back/.*: over 8 folders deep; does a link lead back"),
        open_tree(tmp_path / "y" / "x"),
    ):
        pass


def test_pipes_sockets_and_devices_are_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(tmp_path / "socket"))
    for path in (tmp_path / "pipe.npz", tmp_path / "socket", Path("/dev/null"), Path("/dev/null/below")):
        with pytest.raises(UnusableInput, match="not a regular file or folder"), open_tree(path):
            pass
    with pytest.raises(UnusableInput, match=r"pipe\.npz: not a regular file or folder"):
        read_arrays(tmp_path / "pipe.npz", ["images"])


def test_pipes_and_broken_links_in_a_folder_are_named(tmp_path: Path) -> None:
    filled(tmp_path / "x", "a/0.png")
    os.mkfifo(tmp_path / "x" / "a" / ".hidden")
    with open_tree(tmp_path / "x") as tree:
        assert tree.files == ("a/0.png",)
    os.mkfifo(tmp_path / "x" / "a" / "1.png")
    (tmp_path / "x" / "a" / "2.png").symlink_to("nowhere")
    (tmp_path / "x" / "a" / "3.png").symlink_to("3.png")
    for name, reason in (("1", "not a regular file"), ("2", "not a regular file"), ("3", "cannot be read")):
        with pytest.raises(UnusableInput, match=rf"a/{name}\.png: {reason}"), open_tree(tmp_path / "x"):
            pass
        (tmp_path / "x" / "a" / f"{name}.png").unlink()


@pytest.mark.parametrize("name", [b"\xff\n.png", "\u202f \x1b[31m.png".encode()])
def test_file_names_that_cannot_be_printed_are_read_and_escaped(tmp_path: Path, name: bytes) -> None:
    filled(tmp_path / "x", f"a/{os.fsdecode(name)}")
    with open_tree(tmp_path / "x") as tree:
        np.testing.assert_array_equal(read_images(tree, tree.images(1)).images[0], picture(0))
        (tmp_path / "x" / tree.files[0]).write_bytes(b"damaged")
        with pytest.raises(UnusableInput, match="not an image") as error:
            read_images(tree, tree.images(1))
    assert str(error.value).isprintable()


def bomb(suffix: str, side: int) -> bytes:
    """A small file that declares side x side pixels."""
    data = bytearray(encoded(picture(0), suffix))
    if suffix == ".png":
        data[16:24] = struct.pack(">II", side, side)
        data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    elif suffix == ".jpg":
        at = data.index(b"\xff\xc0") + 5
        data[at : at + 4] = struct.pack(">HH", side, side)
    elif suffix == ".bmp":
        data[18:26] = struct.pack("<II", side, side)
    else:  # TIFF: the values of tags 256 and 257, width and height
        for tag in (b"\x00\x01", b"\x01\x01"):
            at = (
                data.index(tag + b"\x04\x00\x01\x00\x00\x00" if tag + b"\x04" in data else tag + b"\x03\x00")
                + 8
            )
            data[at : at + 4] = struct.pack("<I", side)
    return bytes(data)


@pytest.mark.parametrize("side", [9000, 10_000, 60_000])
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".tif"])
def test_images_of_too_many_pixels_are_not_decoded(tmp_path: Path, suffix: str, side: int) -> None:
    path = zipped(tmp_path / "x.zip", {f"a/0{suffix}": bomb(suffix, side)})
    with (
        open_tree(path) as tree,
        pytest.raises(UnusableInput, match=rf"a/0\{suffix}: over 64 megapixels; make it smaller"),
    ):
        read_images(tree, tree.images(1), Fit((8, 8)))


def test_a_png_that_declares_a_chunk_of_4_gb_is_not_decoded(tmp_path: Path) -> None:
    data = bytearray(encoded(picture(0)))
    data[33] = 0xFF
    with (
        open_tree(zipped(tmp_path / "x.zip", {"a/0.png": bytes(data)})) as tree,
        pytest.raises(UnusableInput, match=r"a/0\.png: not an image that is whole"),
    ):
        read_images(tree, tree.images(1))


@pytest.mark.parametrize("ending", [".hdr", ".png"])
def test_what_opencv_knows_and_pillow_does_not_is_refused(tmp_path: Path, ending: str) -> None:
    """A Radiance file of 84 kB may declare 192 megapixels."""
    data = cv2.imencode(".hdr", np.ones((6, 5, 3), np.float32))[1].tobytes()
    with pytest.raises(UnidentifiedImageError):
        Image.open(io.BytesIO(data))
    with (
        open_tree(zipped(tmp_path / "x.zip", {f"a/0{ending}": data})) as tree,
        pytest.raises(UnusableInput, match="not an image that Pillow can read; convert it or take it away"),
    ):
        read_images(tree, tree.images(1))


PIXELS = """
import starter, cv2, numpy as np, sys
side = int(sys.argv[1])
row = b"\\x02\\x02" + (side).to_bytes(2, "big") + 4 * (side // 127 * b"\\xff\\x01" + bytes([128 + side % 127, 1]))
data = f"#?RADIANCE\\nFORMAT=32-bit_rle_rgbe\\n\\n-Y {side} +X {side}\\n".encode() + side * row
try:
    print(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR).shape)
except cv2.error as error:
    print("pixels" in str(error) or "validateInputImageSize" in str(error))
"""


@pytest.mark.parametrize(("side", "found"), [(1000, "(1000, 1000, 3)"), (9000, "True")])
def test_opencv_itself_decodes_no_more_pixels(side: int, found: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PIXELS, str(side)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == found, done.stderr


def test_arrays_that_unpack_to_far_more_than_their_file_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "MAX_RATIO", 4)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, size in (("large", 5 << 20), ("small", 5)):
            with archive.open(f"{name}.npy", "w") as member:
                member.write(header(f"({size},)") + bytes(size))
    assert read_arrays(tmp_path / "x.npz", ["small"])["small"].shape == (5,)
    with pytest.raises(UnusableInput, match=r"x\.npz: 5 MiB of arrays; such a file may hold 4"):
        read_arrays(tmp_path / "x.npz", ["small", "large"])


def test_arrays_together_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "x.npz", a=np.zeros(1 << 20, np.uint8), b=np.zeros(1 << 20, np.uint8))
    monkeypatch.setattr(arrays, "MAX_BYTES", 3 << 19)
    assert read_arrays(path, ["b"])["b"].shape == (1 << 20,)
    with pytest.raises(UnusableInput, match=r"x\.npz: 2 MiB of arrays; such a file may hold 1"):
        read_arrays(path, ["a"], ["b"])


def test_an_encrypted_member_is_named(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a/0.png": encoded(picture(0))})
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flags of the member, and of its entry in the directory
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with (
        pytest.raises(UnusableInput, match=r"x\.zip/a/0\.png: cannot be read .*encrypted"),
        open_tree(path) as tree,
    ):
        read_images(tree, tree.images(1))


def test_a_zip_in_a_zip_and_a_folder_named_as_a_file(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"a/0.png": encoded(picture(0))})
    outer = zipped(tmp_path / "outer.zip", {"inner.zip": inner.read_bytes()})
    for path in (outer, outer / "inner.zip"):
        with (
            open_tree(path) as tree,
            pytest.raises(UnusableInput, match=r"zip: no images; they are expected"),
        ):
            tree.images(1)
    (tmp_path / "x.npz").mkdir()
    with pytest.raises(UnusableInput, match=r"x\.npz: not an \.npz file .*Is a directory"):
        read_arrays(tmp_path / "x.npz", ["images"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A tree and an array in zips of every compression."""
    folder, array = tmp_path_factory.mktemp("whole"), io.BytesIO()
    np.lib.format.write_array(array, picture(0))
    members = {"a/0.png": encoded(picture(0)), "images.npy": array.getvalue()}
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
    return [zipped(folder / f"{method}.zip", members, method) for method in methods]


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(data=st.data(), suffix=st.sampled_from([".zip", ".npz"]))
def test_damaged_files_are_read_or_refused_in_a_line(
    whole: list[Path], data: st.DataObject, suffix: str
) -> None:
    damaged = bytearray(data.draw(st.sampled_from(whole)).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(damaged) - 1))
        damaged[start : start + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    path = whole[0].with_name(f"damaged{suffix}")
    end = data.draw(st.just(len(damaged)) | st.integers(1, len(damaged)))
    path.write_bytes(damaged[:end])
    refusals = []
    try:
        read_all(path)
    except UnusableInput as error:
        refusals.append(str(error))
    assert all(text.isprintable() and text.startswith(str(path)) for text in refusals)
