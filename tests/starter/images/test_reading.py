import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from starter.images import reading
from starter.images.files import open_tree
from starter.images.reading import Fit, Read, read_images
from submission.errors import UnusableInput

SHAPE = (6, 8)


def picture(seed: int, shape: tuple[int, ...] = (*SHAPE, 3)) -> np.ndarray:
    return np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)


def smooth() -> Image.Image:
    """A picture without sharp edges, whose corners differ."""
    return Image.fromarray(picture(0, (3, 4, 3))).resize((48, 36), Image.Resampling.BICUBIC)


def saved(image: Image.Image, kind: str, **how: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, format=kind, **how)  # type: ignore[arg-type]
    return stream.getvalue()


def png(seed: int, shape: tuple[int, int] = SHAPE) -> bytes:
    return saved(Image.fromarray(picture(seed, (*shape, 3))), "PNG")


def read(folder: Path, members: dict[str, bytes], fit: Fit | None = None) -> Read:
    path = folder / "photos.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with open_tree(path) as tree:
        return read_images(tree, tree.images(1), fit)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_exif_orientation_is_followed_as_pillow_does(tmp_path: Path, kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[reading.ORIENTATION] = orientation
    data = saved(smooth(), kind, exif=exif)
    found = read(tmp_path, {f"cat/0.{kind.lower()}": data}).images[0].astype(int)
    expected = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 6


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("PNG", "P"), ("GIF", "P"), ("JPEG", "CMYK"), ("TIFF", "CMYK"), ("PNG", "LA"), ("PNG", "1")],
)
def test_palettes_cmyk_and_alpha_become_rgb(tmp_path: Path, kind: str, mode: str) -> None:
    data = saved(smooth().convert("RGB").convert(mode), kind)
    found = read(tmp_path, {f"cat/0.{kind.lower()}": data}).images[0].astype(int)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    assert np.abs(found - expected).mean() <= 3


def test_sixteen_bits_are_reduced_to_eight(tmp_path: Path) -> None:
    deep = np.random.default_rng(0).integers(65536, size=SHAPE).astype(np.uint16)
    found = read(tmp_path, {"cat/0.png": saved(Image.fromarray(deep), "PNG")}).images[0]
    assert np.abs(found[..., 0].astype(int) - deep // 256).max() <= 1


def test_of_an_animation_the_first_picture_is_taken(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (8, 6), colour) for colour in ("red", "lime", "blue")]
    data = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    found = read(tmp_path, {"cat/0.gif": data}).images[0]
    np.testing.assert_array_equal(found, np.broadcast_to([255, 0, 0], (6, 8, 3)))


def test_mixed_sizes_get_the_commonest_and_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = [(9, 7), SHAPE, (4, 4), SHAPE]
    images = read(tmp_path, {f"cat/{i}.png": png(i, shape) for i, shape in enumerate(shapes)}).images
    assert images.shape == (4, *SHAPE, 3)
    np.testing.assert_array_equal(images[1], picture(1))
    assert "images of 3 sizes; all are made 8 x 6 pixels, the commonest, by crop" in capsys.readouterr().err


def test_a_photograph_that_is_turned_counts_as_it_is_seen(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[reading.ORIENTATION] = 6
    turned = saved(Image.fromarray(picture(0)), "PNG", exif=exif)
    upright = [png(i, (8, 6)) for i in range(2)]
    images = read(tmp_path, {"cat/0.png": turned, "cat/1.png": png(3, (5, 5)), **_named(upright)}).images
    assert images.shape[1:3] == (8, 6)


def _named(images: list[bytes]) -> dict[str, bytes]:
    return {f"dog/{i}.png": data for i, data in enumerate(images)}


def test_crop_pad_and_stretch_do_as_they_say() -> None:
    image = np.zeros((4, 8, 3), np.uint8)
    image[:, :4] = 200
    crop, pad, stretch = (Fit((4, 4), how)(image) for how in reading.RESIZES)
    np.testing.assert_array_equal(crop, image[:, 2:6])
    assert not pad[[0, 3]].any()
    np.testing.assert_array_equal(pad[1:3, :2], 200)
    np.testing.assert_array_equal(stretch[:, :2], 200)
    assert not stretch[:, 2:].any()


@pytest.mark.parametrize("how", reading.RESIZES)
def test_images_of_the_size_stay_as_they_are(how: str) -> None:
    images = picture(0, (3, *SHAPE, 3))
    assert Fit(SHAPE, how).all(images) is images


def test_halving_averages_blocks_of_four() -> None:
    image = picture(0, (8, 12, 3))
    blocks = image.reshape(4, 2, 6, 2, 3).mean((1, 3))
    assert abs(Fit((4, 6))(image) - blocks).max() <= 0.5


@pytest.mark.parametrize("size", [(1, 200), (200, 1), (3, 5)])
@pytest.mark.parametrize("how", reading.RESIZES)
def test_any_shape_gets_the_size(how: str, size: tuple[int, int]) -> None:
    for shape in ((1, 50, 3), (50, 1, 3), (7, 3, 3)):
        assert Fit(size, how)(picture(0, shape)).shape == (*size, 3)


def test_unreadable_images_are_left_out_up_to_a_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    members = {f"cat/{i}.png": png(i) for i in range(10)} | {"cat/3.png": b"damaged"}
    with pytest.raises(
        UnusableInput, match=r"cat/3\.png: not an image.* \(--skip-unreadable 0\.1 leaves it out\)"
    ):
        read(tmp_path, members)
    found = read(tmp_path, members, Fit(skip=0.1))
    assert found.rows.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    np.testing.assert_array_equal(found.images[3], picture(4))
    assert "left out" in capsys.readouterr().err
    members["cat/5.png"] = b""
    with pytest.raises(
        UnusableInput, match=r"2 of 10 images cannot be read; --skip-unreadable 0\.2 leaves .*3\.png"
    ):
        read(tmp_path, members, Fit(skip=0.1))
    assert len(read(tmp_path, members, Fit(skip=0.2)).images) == 8
    members = {f"dog/{i}.png": b"damaged" for i in range(30)}
    with pytest.raises(
        UnusableInput, match=r"20 or more of 30 images cannot be read\. The first: .*dog/0\.png"
    ):
        read(tmp_path, members, Fit(skip=0))


def test_strays_are_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = {"notes.txt": b"", "cat/notes.txt": b"", "cat/.DS_Store": b"", "cat/deep/0.png": png(0)}
    for _ in range(2):
        assert len(read(tmp_path, members).images) == 1
    assert capsys.readouterr().err.count("2 files that are no images left out: cat/notes.txt, notes.txt") == 1


def test_what_only_telephones_write_is_told_as_unreadable(tmp_path: Path) -> None:
    members = {"cat/0.png": png(0), "cat/1.heic": b"not read without a plugin of Pillow"}
    with pytest.raises(UnusableInput, match=r"cat/1\.heic: not an image"):
        read(tmp_path, members)


def test_half_a_file_is_told_in_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stream = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(255, size=(64, 64, 3), dtype=np.uint8)).save(
        stream, "TIFF"
    )
    with pytest.raises(UnusableInput, match=r"cat/1\.tif: not an image"):
        read(tmp_path, {"cat/0.png": png(0), "cat/1.tif": stream.getvalue()[:5000]})
    assert capfd.readouterr().err == ""
