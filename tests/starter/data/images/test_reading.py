"""Images from a folder, a zip and a folder in a zip, read as Pillow reads them; what cannot be read is named."""

import io
import zipfile

import numpy as np
import pytest
from PIL import Image, ImageOps

from starter.data.images import reading
from starter.data.images.files import open_tree
from starter.data.images.reading import Fit, read_images
from submission.errors import UnusableInput

SHAPE = (6, 8)


def picture(seed, shape=(*SHAPE, 3)):
    return np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)


def smooth():
    """A picture without sharp edges, whose corners differ."""
    return Image.fromarray(picture(0, (3, 4, 3))).resize((48, 36), Image.Resampling.BICUBIC)


def saved(image, kind, **how):
    stream = io.BytesIO()
    image.save(stream, format=kind, **how)
    return stream.getvalue()


def png(seed, shape=SHAPE):
    return saved(Image.fromarray(picture(seed, (*shape, 3))), "PNG")


def zipped(path, members, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def read(folder, members, fit=None):
    with open_tree(zipped(folder / "photos.zip", members)) as tree:
        return read_images(tree, tree.images(1), fit)[0]


def test_zip_and_folder_give_the_same_whatever_the_order_of_members(tmp_path):
    members = {f"{label}/{i}.png": png(10 * k + i) for k, label in enumerate("ab") for i in range(3)}
    forward = zipped(tmp_path / "forward.zip", members)
    backward = zipped(tmp_path / "backward.zip", dict(reversed(members.items())), zipfile.ZIP_DEFLATED)
    for name, data in members.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(data)
    (tmp_path / "link").mkdir()
    for label in "ab":
        (tmp_path / "link" / label).symlink_to(tmp_path / "folder" / label)
    expected = np.stack([picture(10 * k + i) for k in range(2) for i in range(3)])
    for path in (forward, backward, tmp_path / "folder", tmp_path / "link"):
        with open_tree(path) as tree:
            np.testing.assert_array_equal(read_images(tree, tree.images(1))[0], expected)


def test_hidden_files_are_passed_over_and_a_folder_in_a_zip_is_a_tree(tmp_path):
    names = ("README.md", "one/a/.DS_Store", "__MACOSX/a/._0.png", "one/a/0.PNG", "two/b/1.png")
    path = zipped(tmp_path / "x.zip", dict.fromkeys(names, png(0)))
    with open_tree(path) as tree:
        assert tree.files == ("README.md", "one/a/0.PNG", "two/b/1.png")
        assert tree.folders(2) == ("one", "two")
        assert tree.second_folders() == {"one": {"a"}, "two": {"b"}}
        assert tree.images_anywhere() == {"one": ("one/a/0.PNG",), "two": ("two/b/1.png",)}
    with open_tree(path / "two") as tree:
        assert tree.files == ("b/1.png",)


def test_what_is_no_tree_of_images_is_named(tmp_path):
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


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_followed_as_pillow_does(tmp_path, orientation):
    exif = Image.Exif()
    exif[reading.ORIENTATION] = orientation
    data = saved(smooth(), "PNG", exif=exif)
    found = read(tmp_path, {"cat/0.png": data})[0]
    expected = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
    np.testing.assert_array_equal(found, np.asarray(expected))


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("PNG", "P"), ("GIF", "P"), ("JPEG", "CMYK"), ("PNG", "LA"), ("PNG", "1"), ("WEBP", "RGBA")],
)
def test_palettes_cmyk_grey_and_alpha_become_rgb(tmp_path, kind, mode):
    data = saved(smooth().convert("RGB").convert(mode), kind)
    found = read(tmp_path, {f"cat/0.{kind.lower()}": data})[0]
    np.testing.assert_array_equal(found, np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))


def test_the_first_picture_of_an_animation_is_taken(tmp_path):
    frames = [Image.new("RGB", (8, 6), colour) for colour in ("red", "lime", "blue")]
    moving = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    found = read(tmp_path, {"cat/0.gif": moving})
    np.testing.assert_array_equal(found[0], np.broadcast_to([255, 0, 0], (6, 8, 3)))


def test_mixed_sizes_get_the_commonest_as_they_are_seen_and_it_is_told(tmp_path, capsys):
    exif = Image.Exif()
    exif[reading.ORIENTATION] = 6
    turned = saved(Image.fromarray(picture(9, (8, 6, 3))), "PNG", exif=exif)
    members = {f"cat/{i}.png": png(i, shape) for i, shape in enumerate([(9, 7), SHAPE, (4, 4)])}
    images = read(tmp_path, {**members, "dog/0.png": turned})
    assert images.shape == (4, *SHAPE, 3)
    np.testing.assert_array_equal(images[1], picture(1))
    assert "images of 3 sizes; all are made 8 x 6 pixels, the commonest, by crop" in capsys.readouterr().err


def test_crop_pad_and_stretch_do_as_they_say():
    image = np.zeros((4, 8, 3), np.uint8)
    image[:, :4] = 200
    crop, pad, stretch = (Fit((4, 4), how)(image) for how in ("crop", "pad", "stretch"))
    assert Fit((4, 8)).all(image[None]).base is image
    np.testing.assert_array_equal(crop, image[:, 2:6])
    assert not pad[[0, 3]].any()
    np.testing.assert_array_equal(pad[1:3, :2], 200)
    np.testing.assert_array_equal(stretch[:, :2], 200)
    assert not stretch[:, 2:].any()
    blocks = picture(0, (8, 12, 3)).reshape(4, 2, 6, 2, 3).mean((1, 3))
    assert abs(Fit((4, 6))(picture(0, (8, 12, 3))) - blocks).max() <= 0.5


@pytest.mark.parametrize(
    ("name", "data"), [("1.png", b""), ("1.heic", b"of a telephone"), ("1.png", png(0)[:60])]
)
def test_a_file_that_is_no_image_is_named(tmp_path, name, data):
    with pytest.raises(UnusableInput, match=rf"photos\.zip/cat/{name}: not an image"):
        read(tmp_path, {"cat/0.png": png(0), f"cat/{name}": data})


def test_a_damaged_member_is_named(tmp_path):
    path = zipped(tmp_path / "x.zip", {"a/0.png": png(0)})
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)
    with open_tree(path) as tree, pytest.raises(UnusableInput, match=r"a/0\.png: cannot be read"):
        read_images(tree, tree.images(1))


def test_unreadable_images_are_left_out_up_to_a_share(tmp_path, capsys):
    members = {f"cat/{i}.png": png(i) for i in range(10)} | {"cat/3.png": b"damaged"}
    found = read(tmp_path, members, Fit(skip=0.1))
    assert len(found) == 9
    np.testing.assert_array_equal(found[3], picture(4))
    assert "left out" in capsys.readouterr().err
    with pytest.raises(UnusableInput, match=r"2 of 10 images .*; skip_unreadable 0\.2 leaves .*3\.png"):
        read(tmp_path, members | {"cat/5.png": b""}, Fit(skip=0.1))
    with pytest.raises(UnusableInput, match=r"30 of 30 images .* The first: .*dog/0\.png"):
        read(tmp_path, {f"dog/{i}.png": b"damaged" for i in range(30)}, Fit(skip=0))


def test_strays_are_told_once(tmp_path, capsys):
    members = {"notes.txt": b"", "cat/notes.txt": b"", "cat/.DS_Store": b"", "cat/deep/0.png": png(0)}
    for _ in range(2):
        assert len(read(tmp_path, members)) == 1
    assert capsys.readouterr().err.count("2 files that are no images left out: cat/notes.txt, notes.txt") == 1


def test_blank_and_repeated_images_are_said(tmp_path, capsys):
    blank = {f"a/{i}.png": saved(Image.new("RGB", (8, 6), (i, i, 200)), "PNG") for i in range(3)}
    for name, members, message in (
        ("blank", blank, "3 of 20 images are of about one colour"),
        ("same", {f"a/{i}.png": png(1) for i in range(3)}, "one image stands 4 times among the 20"),
        ("fine", {}, ""),
    ):
        (tmp_path / name).mkdir()
        read(tmp_path / name, {f"b/{i}.png": png(i) for i in range(20 - len(members))} | members)
        said = capsys.readouterr().err
        assert message in said
        assert bool(said) == bool(message)
