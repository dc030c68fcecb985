"""The cache: what goes in comes out, entries that are damaged or not what was asked for are as good as none.

Url: what a cache asks of a Path, on a real S3 server and in memory; failures name the address.
"""

import stat

import numpy as np
import pytest
import torch
from bucket import BUCKET, s3_server
from safetensors.torch import save_file

from starter.observing.cache import ELSEWHERE, Cache, at, cache_of, keep_elsewhere, open_url
from submission import UnusableInput
from submission.files import digest_of

LAYOUT = {"a": (np.float16, (2, 3)), "b": (np.float64, (1,))}


def arrays(**changes):
    return {"a": np.arange(6, dtype=np.float16).reshape(2, 3), "b": np.array([1.5]), **changes}


def test_gives_back_what_was_stored(tmp_path):
    cache = Cache(tmp_path)
    assert cache.load("logits", "k", LAYOUT) is None
    cache.store("logits", "k", arrays())
    found = cache.load("logits", "k", LAYOUT)
    assert found.keys() == LAYOUT.keys()
    for name, array in arrays().items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


def test_a_folder_is_made_for_its_owner_alone_and_one_that_is_there_stays_as_it_is(tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o750)
    for folder, mode in ((tmp_path / "new/cache", 0o700), (shared, 0o750)):
        Cache(folder).store("logits", "k", arrays())
        Cache(folder).put("name", b"")
        assert stat.S_IMODE(folder.stat().st_mode) == mode


def test_stores_views_that_are_not_contiguous(tmp_path):
    array = np.arange(12.0).reshape(3, 4).T
    Cache(tmp_path).store("x", "k", {"a": array})
    found = Cache(tmp_path).load("x", "k", {"a": (np.float64, (4, 3))})
    np.testing.assert_array_equal(found["a"], array)


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff" * 100])
def test_a_damaged_entry_counts_as_missing(tmp_path, content):
    cache = Cache(tmp_path)
    cache.store("logits", "k", arrays())
    cache.path("logits", "k").write_bytes(content)
    assert cache.load("logits", "k", LAYOUT) is None


@pytest.mark.parametrize(
    "foreign",
    [
        {},
        {"a": arrays()["a"]},
        arrays(c=np.zeros(1)),
        arrays(a=np.zeros((3, 2), np.float16)),
        arrays(a=np.zeros((2, 3), np.float32)),
        arrays(b=np.array([True])),
        arrays(b=np.array([np.nan])),
        arrays(a=np.full((2, 3), np.inf, np.float16)),
    ],
)
def test_an_entry_of_other_names_types_shapes_or_values_counts_as_missing(tmp_path, foreign):
    cache = Cache(tmp_path)
    cache.store("logits", "k", foreign)
    assert cache.load("logits", "k", LAYOUT) is None


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float8_e4m3fn])
def test_an_entry_of_numbers_that_numpy_does_not_have_counts_as_missing(tmp_path, kind):
    cache = Cache(tmp_path)
    cache.path("x", "k").parent.mkdir()
    save_file({"a": torch.ones(3).to(kind)}, cache.path("x", "k"))
    assert cache.load("x", "k", {"a": (np.float32, (3,))}) is None


def test_a_failed_write_leaves_the_old_entry_and_no_litter(tmp_path):
    cache = Cache(tmp_path)
    cache.store("logits", "k", arrays())
    with pytest.raises(Exception, match="object"):
        cache.store("logits", "k", {"a": np.array([object()])})
    np.testing.assert_array_equal(cache.load("logits", "k", LAYOUT)["a"], arrays()["a"])
    assert [path.name for path in (tmp_path / "logits").iterdir()] == ["k.safetensors"]


def test_what_a_killed_write_left_behind_is_never_read(tmp_path):
    cache = Cache(tmp_path)
    stray = tmp_path / "logits/.k.safetensors.0123abcd.tmp"
    stray.parent.mkdir()
    stray.write_bytes(b"half an ent")
    assert cache.load("logits", "k", LAYOUT) is None
    cache.store("logits", "k", arrays())
    assert cache.load("logits", "k", LAYOUT) is not None
    assert stray.read_bytes() == b"half an ent"


def noted(root, place):
    """A competition's folder with a note of where its cache is."""
    root.mkdir(exist_ok=True)
    (root / ELSEWHERE).write_text(f"{place}\n")
    return root


def test_a_note_that_came_with_an_archive_is_not_followed(tmp_path, capsys):
    root = noted(tmp_path / "copy", "ftp://attacker.invalid/x")
    assert cache_of(root) == Cache(root / "cache")
    assert "cache.txt is not followed, for it may have come with the archive" in capsys.readouterr().err
    assert cache_of(noted(tmp_path / "other", tmp_path / "elsewhere")) == Cache(tmp_path / "other/cache")
    assert not (tmp_path / "elsewhere").exists()


def test_a_note_of_the_organizers_is_followed_and_told(tmp_path, capsys):
    root = noted(tmp_path / "contest", tmp_path / "elsewhere")
    (root / "private").mkdir()
    assert cache_of(root) == Cache(tmp_path / "elsewhere")
    assert f"the cache is at {tmp_path / 'elsewhere'}" in capsys.readouterr().err


@pytest.mark.parametrize("organizer", [False, True])
def test_a_place_that_is_asked_for_is_used_and_kept_only_by_the_organizer(tmp_path, capsys, organizer):
    root = tmp_path / "contest"
    (root / "private" if organizer else root).mkdir(parents=True)
    keep_elsewhere(root, str(tmp_path / "elsewhere"))
    assert cache_of(root) == Cache(tmp_path / "elsewhere")
    assert (root / ELSEWHERE).exists() == organizer
    assert f"the cache is at {tmp_path / 'elsewhere'}" in capsys.readouterr().err


def test_keys_depend_on_every_part_and_their_order():
    keys = {digest_of(*parts) for parts in [("a", "b"), ("b", "a"), ("ab",), ("a", None), ("a", "b", 1)]}
    assert len(keys) == 5


pytest.importorskip("fsspec", reason="needs unseen[cluster]")


@pytest.fixture(scope="module")
def s3():
    with s3_server():
        yield f"s3://{BUCKET}/url"


@pytest.fixture(params=["memory", "s3"])
def place(request):
    if request.param == "s3":
        return open_url(request.getfixturevalue("s3"))
    return open_url("memory://url")


def test_gives_back_what_was_written(place):
    path = place / "a" / "b.bin"
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        path.read_bytes()
    path.write_bytes(b"one")
    path.write_bytes(b"two")
    assert path.exists()
    assert path.read_bytes() == b"two"
    path.unlink()
    assert not path.exists()
    path.unlink(missing_ok=True)


def test_a_store_with_folders_gets_the_one_that_an_object_needs(tmp_path):
    cache = at(tmp_path.as_uri())
    for key in "ab":
        cache.store("logits", key, arrays())
        assert cache.load("logits", key, LAYOUT) is not None
    at(f"{tmp_path.as_uri()}/new").put("probe", b"x")
    assert (tmp_path / "new/probe").read_bytes() == b"x"
    with pytest.raises(OSError, match="none/logits"):
        at(f"{tmp_path.as_uri()}/none").store("logits", "a", arrays())
    assert not (tmp_path / "none").exists()


def test_looking_learns_what_is_there(place):
    (place / "c" / "d").write_bytes(b"")
    other = type(place)(place.url, place.files, set())
    other.look()
    assert str(place / "c" / "d") in other.known
    assert not (other / "c" / "e").exists()


def test_what_another_process_writes_is_seen(s3):
    import s3fs

    path = open_url(s3) / "late"
    assert not path.exists()
    s3fs.S3FileSystem().pipe_file(f"{BUCKET}/url/late", b"x")
    assert path.exists()


@pytest.mark.parametrize("place", ["s3://no-such-bucket/x", "s3://no-such-bucket"])
def test_a_failure_names_the_address_and_makes_no_bucket(s3, place):
    for _ in range(2):
        with pytest.raises(OSError, match=place):
            (open_url(place) / "y").write_bytes(b"x")


def test_an_unknown_kind_of_address_is_refused():
    with pytest.raises(UnusableInput, match="nosuch://x is no address that can be used"):
        open_url("nosuch://x")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(UnusableInput, match=r'pip install "unseen\[cluster\]"'):
        open_url("s3://another/bucket")
