"""Url: what a cache asks of a Path, on a real S3 server and in memory; failures name the address."""

import pytest
from bucket import BUCKET, s3_server

from starter.observing.url import open_url
from submission import UnusableInput

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


def test_a_failure_names_the_address(s3):
    place = open_url("s3://no-such-bucket/x")
    with pytest.raises(OSError, match="s3://no-such-bucket/x/y"):
        (place / "y").write_bytes(b"x")


def test_an_unknown_kind_of_address_is_refused():
    with pytest.raises(UnusableInput, match="nosuch://x is no address that can be used"):
        open_url("nosuch://x")


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(UnusableInput, match=r'pip install "unseen\[cluster\]"'):
        open_url("s3://another/bucket")
