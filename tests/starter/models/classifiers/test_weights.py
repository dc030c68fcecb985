"""Weights files: what is saved is read back, what torch or others saved is read, and the rest is refused."""

import hashlib
import json
import os
import pickle
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, safe_open, save_file

from starter.models.classifiers import (
    ARCHITECTURES,
    Classifier,
    Spec,
    load_classifier,
    read_classifier,
    save_classifier,
    weights,
)
from starter.models.classifiers.weights import OFFICIAL, fetch
from submission.errors import UnusableInput

CLASSES = ("null", "eins", "zwölf")
IMAGES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)


def network(arch="small"):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return ARCHITECTURES[arch](len(CLASSES))


@pytest.fixture
def state():
    return network().state_dict()


@pytest.mark.parametrize("arch", ["small", "resnet56", "repvgg_a0"])
@pytest.mark.slow
def test_what_is_saved_is_read_back(arch, tmp_path):
    classifier = Classifier("mine", arch, network(arch), CLASSES, (0.1, 1 / 3, 0.5), (0.2, 0.3, 0.7))
    save_classifier(classifier, tmp_path / "peer.safetensors")
    before = torch.get_rng_state()
    back = read_classifier(tmp_path / "peer.safetensors")
    assert torch.equal(torch.get_rng_state(), before)
    assert (back.name, back.arch, back.mean, back.std) == ("peer", arch, classifier.mean, classifier.std)
    assert back.digest == classifier.digest
    torch.testing.assert_close(back(IMAGES), classifier(IMAGES))
    loaded = load_classifier(f"other={tmp_path / 'peer.safetensors'}", CLASSES, precision="bfloat16")
    assert (loaded.name, loaded.arch, loaded.mean) == ("other", arch, classifier.mean)
    assert loaded.digest != classifier.digest


def test_saved_bytes_are_always_the_same_and_any_reader_reads_them(tmp_path):
    classifier = Classifier("mine", "small", network(), CLASSES, (0.1, 1 / 3, 0.5), (0.2, 0.3, 0.7))
    for index in range(4):
        save_classifier(classifier, tmp_path / f"{index}.safetensors")
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
    torch.testing.assert_close(load_file(tmp_path / "0.safetensors"), dict(classifier.network.state_dict()))
    with safe_open(tmp_path / "0.safetensors", "pt") as file:
        metadata = file.metadata()
    assert (metadata["arch"], metadata["mean"]) == ("small", "0.1,0.3333333333333333,0.5")
    assert json.loads(metadata["classes"]) == list(CLASSES)


@pytest.mark.parametrize("form", ["plain", "legacy", "double", "bfloat16"])
def test_state_dicts_of_pytorch_files(form, state, tmp_path):
    dtype = getattr(torch, form, torch.float32)
    saved = {name: t.to(dtype) if t.is_floating_point() else t for name, t in state.items()}
    torch.save(saved, tmp_path / "w.pt", _use_new_zipfile_serialization=form != "legacy")
    loaded = load_classifier(f"small={tmp_path / 'w.pt'}", CLASSES)
    assert (loaded.mean, loaded.std) == ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
    exact = {"atol": 0.01, "rtol": 0.01} if form == "bfloat16" else {}
    torch.testing.assert_close(dict(loaded.network.state_dict()), dict(state), check_stride=False, **exact)


class Evil:
    def __reduce__(self):
        return os.mkdir, ("made-by-a-pickle",)


def test_a_pickle_is_refused_and_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("plain.pt").write_bytes(pickle.dumps({"fc.weight": Evil()}))
    torch.save({"fc.weight": Evil()}, "zipped.pt")
    for name in ("plain.pt", "zipped.pt"):
        with pytest.raises(UnusableInput, match=rf"{name}: cannot be read.* code: save the .*state alone"):
            load_classifier(f"small={name}", CLASSES)
    assert not Path("made-by-a-pickle").exists()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda s: s | {"x.y": torch.zeros(2)}, "'x.y' is unexpected"),
        (lambda s: {n: t for n, t in s.items() if n != "fc.bias"}, "lacks fc.bias"),
        (lambda s: s | {"fc.weight": s["fc.weight"][:, 1:]}, "fc.weight has shape"),
        (lambda s: s | {"fc.weight": 1e39 + s["fc.weight"].double()}, "NaN or infinite"),
        (lambda s: {"a": torch.zeros(1)}, "problems in all"),
        (lambda s: s | {"fc.weight": s["fc.weight"][:2]}, "tells 2 classes apart, not 3: unseen train"),
    ],
)
def test_tensors_that_do_not_fit(change, problem, state, tmp_path):
    torch.save(change(state), tmp_path / "w.pt")
    with pytest.raises(UnusableInput, match=problem) as caught:
        load_classifier(f"small={tmp_path / 'w.pt'}", CLASSES)
    assert str(caught.value).startswith(str(tmp_path / "w.pt"))


@pytest.mark.parametrize(
    ("spec", "metadata", "message"),
    [
        ("resnet9", {}, "'resnet9' is no architecture of the kit.*are NAME=module:function=FILE"),
        ("mine", {"arch": "os:system"}, "'os:system' is not the kit's"),
        ("mine", {"arch": "le\nnet" * 10_000}, "is no architecture"),
        ("small", {"classes": '["a", "b", "c"]'}, "made for the classes"),
        ("small", {"classes": "["}, "`classes` cannot be read"),
        ("small", {"mean": "0.5"}, "`mean` cannot be read"),
        ("small", {"std": "1,1,0"}, "std three positive"),
    ],
)
def test_metadata_that_do_not_fit(spec, metadata, message, state, tmp_path):
    save_file(state, tmp_path / "w.safetensors", metadata)
    with pytest.raises(UnusableInput, match=message) as caught:
        load_classifier(f"{spec}={tmp_path / 'w.safetensors'}", CLASSES)
    assert len(str(caught.value)) < 400
    with pytest.raises(UnusableInput):
        read_classifier(tmp_path / "w.safetensors")


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("small=a.pt", Spec("small", weights="a.pt")),
        ("small", Spec("small")),
        ("timm:resnet18@fc=a=b.pt", Spec("resnet18", "timm:resnet18", "fc", "a=b.pt")),
        ("m=torchvision:vit_b_16=a.pt", Spec("m", "torchvision:vit_b_16", "", "a.pt")),
        ("m=nets.sub:make@top.fc", Spec("m", "nets.sub:make", "top.fc")),
        ("zero-shot:a:b", Spec("", "a:b")),
        ("m=nets:make@fc=w/a=b.pt", Spec("m", "nets:make", "fc", "w/a=b.pt")),
        ("clip:ViT-B-32=laion2b", Spec("ViT-B-32", "clip:ViT-B-32", "", "laion2b")),
        ("m=a/b:c.pt", Spec("m", weights="a/b:c.pt")),
    ],
)
def test_specs_are_parsed(text, spec):
    assert Spec.parse(text) == spec
    own = "" if spec.library else spec.network
    assert (spec.own_code, spec.arch) == (own, spec.network + f"@{spec.layer}" * bool(spec.layer))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("small", "has no weights: pass small=PATH$"),
        ("resnet56", "pass resnet56=PATH or resnet56=official"),
        ("small=official", "official weights exist for resnet56, repvgg_a0 only"),
        ("vgg16=nets:make", "otherwise than the kit's networks"),
        ("nets:make@fc", "name it, NAME=nets:make@fc"),
        ("a/b=w.pt", "a name has letters"),
    ],
)
def test_specs_that_name_no_weights(spec, message):
    with pytest.raises(UnusableInput, match=message):
        load_classifier(spec, CLASSES)


def test_official_weights_come_from_the_cache_and_carry_the_start_of_their_hash(tmp_path, monkeypatch):
    def fetched(url, digest, folder):
        assert (url, digest) == OFFICIAL["resnet56"]
        torch.save(network("resnet56").state_dict(), tmp_path / "weights.pt")
        return tmp_path / "weights.pt"

    monkeypatch.setattr(weights, "fetch", fetched)
    loaded = load_classifier("resnet56=official", CLASSES)
    assert (loaded.name, loaded.arch) == ("resnet56", "resnet56")
    assert all(url.endswith(f"-{digest[:8]}.pt") for url, digest in OFFICIAL.values())


PUBLISHED = bytes(range(256)) * 2048
SHA256 = hashlib.sha256(PUBLISHED).hexdigest()


class Handler(BaseHTTPRequestHandler):
    requests: list[str]

    def do_GET(self):
        self.requests.append(self.path)
        if self.path == "/gone.pt":
            self.send_error(404)
            return
        body = b"<!doctype html><title>Sign in</title>" if self.path == "/page.pt" else PUBLISHED
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path == "/cut.pt" else body)

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    Handler.requests = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_good_file_is_downloaded_once(server, tmp_path):
    good = f"{server}/good.pt", SHA256, tmp_path / "new"
    path = fetch(*good)
    assert path == tmp_path / "new" / "good.pt"
    assert path.read_bytes() == PUBLISHED
    assert fetch(*good) == path
    assert Handler.requests == ["/good.pt"]
    path.write_bytes(b"damaged")
    assert fetch(*good).read_bytes() == PUBLISHED
    assert Handler.requests == ["/good.pt"] * 2


@pytest.mark.parametrize("name", ["gone.pt", "page.pt", "cut.pt", "no network"])
def test_anything_else_leaves_no_file(server, tmp_path, name):
    url = "http://127.0.0.1:9/none.pt" if name == "no network" else f"{server}/{name}"
    with pytest.raises(UnusableInput, match=rf"cannot download {url} .*pass NAME=PATH"):
        fetch(url, SHA256[:8], tmp_path)
    assert list(tmp_path.iterdir()) == []
