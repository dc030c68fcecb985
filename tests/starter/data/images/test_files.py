"""What counts as an image below a folder or in a zip: each once, whatever lies beside it and however it is named."""

import io
import os
import unicodedata
import zipfile

import numpy as np
import pytest
from PIL import Image

from starter.data.images.files import open_tree
from starter.data.images.reading import read_images
from submission.errors import UnusableInput

ACCENT = "café"
SPLIT = unicodedata.normalize("NFD", ACCENT)


def image(kind, shade=7):
    stream = io.BytesIO()
    Image.new("RGB", (6, 5), (shade, 90, 200)).save(stream, kind)
    return stream.getvalue()


PNG = image("PNG")


def lay(root, *names, data=PNG):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def images(path):
    with open_tree(path) as tree:
        return tree.every_image


def test_links_into_the_tree_add_nothing(tmp_path, capsys):
    today = lay(tmp_path / "today", "a/0.png", "a/1.png", "b/2.png")
    (today / "latest").symlink_to(".")
    (today / "a/up").symlink_to("../..")
    (today / "first").symlink_to("a")
    (today / "b/copy.png").symlink_to("../a/0.png")
    assert images(today) == ("a/0.png", "a/1.png", "b/2.png")
    assert "4 links to what is there anyhow passed over: " in capsys.readouterr().err
    with open_tree(today) as tree:
        assert tree.empty_folders() == ()


def test_links_to_elsewhere_count_once_each(tmp_path):
    lay(tmp_path / "store", "cats/0.png", "cats/1.png", "dog.png", "dogs/3.png")
    today = lay(tmp_path / "today", "own/0.png")
    (today / "cat").symlink_to(tmp_path / "store/cats")
    (today / "dog").mkdir()
    (today / "dog/0.png").symlink_to(tmp_path / "store/dog.png")
    (tmp_path / "store/dogs/up").symlink_to(tmp_path / "store")
    (today / "other").symlink_to(tmp_path / "store/dogs")
    (tmp_path / "today2").symlink_to(today)
    expected = ("cat/0.png", "cat/1.png", "dog/0.png", "other/3.png", "own/0.png")
    assert images(today) == images(tmp_path / "today2") == expected


def test_what_systems_and_file_servers_leave_is_no_image(tmp_path):
    strays = [
        *("@eaDir/0.png/SYNOPHOTO_THUMB_S.jpg", "__MACOSX/a/0.png", "a/lost+found/0.png"),
        *("a/._0.png", ".Trash-1000/files/0.png", "$RECYCLE.BIN/0.png", ".DS_Store", "Thumbs.db"),
        *("a/.ipynb_checkpoints/0-checkpoint.png", "a/#recycle/0.png", "a/0.png~", "a/desktop.ini"),
        *(".@__thumb/0.png", ".thumbnails/0.png", "System Volume Information/0.png"),
    ]
    lay(tmp_path / "x", "a/0.png", *strays)
    names_in(tmp_path / "x.zip", *((name, PNG) for name in ("a/0.png", *strays)))
    for path in (tmp_path / "x", tmp_path / "x.zip"):
        assert images(path) == ("a/0.png",)
        with open_tree(path) as tree:
            assert tree.files == ("a/0.png",)
            assert tree.folders(1) == ("a",)
            assert tree.empty_folders() == ()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("0.jpe", "JPEG"), ("0.jfif", "JPEG"), ("0.JPEG", "JPEG"), ("0.Jfif", "JPEG"), ("0.TIF", "TIFF")),
        *(("0", "JPEG"), ("2026.01.31", "PNG"), ("0.jpg_large", "JPEG"), ("0.webp?w=300", "WEBP")),
        *((f"f{i}", kind) for i, kind in enumerate(("GIF", "BMP", "WEBP", "TIFF", "PPM", "JPEG2000"))),
    ],
)
def test_every_form_of_name_is_read_beside_others(tmp_path, name, kind):
    lay(tmp_path, "cat/1.png")
    lay(tmp_path, "cat/README", data=b"P1 of the photographs: BMP and JPEG")
    lay(tmp_path, "cat/raw.cr2", data=image("TIFF"))
    lay(tmp_path, f"cat/{name}", data=image(kind))
    with open_tree(tmp_path) as tree:
        assert set(tree.every_image) == {"cat/1.png", f"cat/{name}"}
        found, _ = read_images(tree, tree.images(1))
    assert np.abs(found.astype(int) - (7, 90, 200)).max() <= 3


def test_where_no_name_has_the_suffix_of_an_image_first_bytes_decide(tmp_path):
    lay(tmp_path, "a/0.dat", "a/1.dat")
    lay(tmp_path, "a/notes.txt", data=b"of these")
    assert images(tmp_path) == ("a/0.dat", "a/1.dat")


def names_in(path, *members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    with open_tree(path) as tree:
        assert all(tree.read(file) == PNG for file in tree.files)
        return tree


def test_zips_of_other_programs(tmp_path):
    windows = names_in(tmp_path / "w.zip", ("a\\", b""), ("a\\0.png", PNG), ("a\\b\\1.png", PNG))
    dotted = names_in(tmp_path / "d.zip", ("./a/0.png", PNG), ("./a/b/1.png", PNG), ("./empty/", b""))
    assert windows.files == dotted.files == ("a/0.png", "a/b/1.png")
    assert (windows.empty_folders(), dotted.empty_folders()) == ((), ("empty",))


def test_utf_8_that_a_zip_does_not_declare_is_read(tmp_path):
    names_in(tmp_path / "m.zip", ("cafXX/0.png", PNG))
    data = (tmp_path / "m.zip").read_bytes().replace(b"cafXX", ACCENT.encode())
    (tmp_path / "m.zip").write_bytes(data)
    with open_tree(tmp_path / "m.zip") as tree:
        assert tree.files == (f"{ACCENT}/0.png",)
        assert tree.read(tree.files[0]) == PNG


def test_accents_may_be_composed_or_not(tmp_path):
    lay(tmp_path, f"x/{SPLIT}/0.png")
    with open_tree(tmp_path / "x") as tree:
        assert tree.files == (f"{ACCENT}/0.png",)
        assert tree.read(f"{ACCENT}/0.png") == PNG
    for name in (ACCENT, SPLIT):
        assert images(tmp_path / "x" / name) == ("0.png",)
    zipped = names_in(tmp_path / "x.zip", (f"{SPLIT}/0.png", PNG))
    assert zipped.files == (f"{ACCENT}/0.png",)
    assert images(tmp_path / "x.zip" / SPLIT) == images(tmp_path / "x.zip" / ACCENT) == ("0.png",)
    lay(tmp_path, f"x/{ACCENT}/0.png")
    with pytest.raises(UnusableInput, match=r"cafe\\u0301.* and .*caf\\xe9.* are one name") as caught:
        images(tmp_path / "x")
    assert str(caught.value).isascii()


def test_pipes_are_not_waited_for_and_broken_links_are_named(tmp_path):
    lay(tmp_path, "a/0.png")
    os.mkfifo(tmp_path / "a/pipe.png")
    (tmp_path / "a/1.png").symlink_to("nowhere.png")
    (tmp_path / "a/2.png").symlink_to("2.png")
    assert images(tmp_path) == ("a/0.png", "a/1.png", "a/2.png")
    with open_tree(tmp_path) as tree, pytest.raises(UnusableInput, match=r"1\.png: cannot be read \(No such"):
        read_images(tree, tree.every_image)
