"""Files of weights, networks and loaders as training programs leave them."""

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from brought import Brought, things
from files import LABELS, LOGITS, NEW, estimate
from safetensors.torch import save_file
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from starter.models.classifiers import load_classifier, new_network

torch.manual_seed(59)
SMALL = new_network("small", 3)
STATE = SMALL.state_dict()
FLOATS = {name: tensor for name, tensor in STATE.items() if tensor.is_floating_point()}
SHOWN = np.random.default_rng(0).integers(256, size=(8, 32, 32, 3), dtype=np.uint8)


def written(folder: Path, thing: Any, **form: Any) -> Path:
    torch.save(thing, folder / "w.pt", **form)
    return folder / "w.pt"


def of_bytes(folder: Path, data: bytes, name: str = "w.pt") -> Path:
    (folder / name).write_bytes(data)
    return folder / name


def named(prefix: str) -> dict[str, torch.Tensor]:
    return {f"{prefix}{name}": tensor for name, tensor in STATE.items()}


SOUND: dict[str, Callable[[Path], Path]] = {
    "state of a run": lambda f: written(f, {"epoch": 3, "state_dict": named("model."), "lr": 0.1}),
    "in parallel, compiled": lambda f: written(f, named("module._orig_mod.")),
    "averaged": lambda f: written(f, {"n_averaged": torch.tensor(2), **named("module.")}),
    "no counters": lambda f: written(f, FLOATS),
    "old form": lambda f: written(f, STATE, _use_new_zipfile_serialization=False),
    "doubles": lambda f: written(f, STATE | {name: each.double() for name, each in FLOATS.items()}),
    "safetensors": lambda f: save_file(named("module."), f / "w.safetensors") or f / "w.safetensors",
}
ODD: dict[str, Callable[[Path], Path]] = {
    "whole network": lambda f: written(f, SMALL),
    "pickle": lambda f: of_bytes(f, pickle.dumps(FLOATS), "w.pkl"),
    "web page": lambda f: of_bytes(f, b"<!doctype html><html>Sign in</html>"),
    "pointer": lambda f: of_bytes(f, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
    "ONNX": lambda f: of_bytes(f, b"\x08\x07\x12\x07pytorch\x1a\x051.8.0:\x10", "w.onnx"),
    "cut short": lambda f: of_bytes(f, written(f, STATE).read_bytes()[:9000]),
    "other classes": lambda f: written(f, new_network("small", 7).state_dict()),
    "another network": lambda f: written(f, nn.Linear(3, 3).state_dict()),
    "not finite": lambda f: written(f, STATE | {name: each / 0 for name, each in FLOATS.items()}),
    "optimizer alone": lambda f: written(f, {"optimizer": {"lr": 0.1}, "epoch": 3}),
}


class Net(nn.Module):
    """Gives back its input as logits in a form, and halves it while it is trained."""

    def __init__(self, form: Callable[[torch.Tensor], Any] = lambda z: z) -> None:
        super().__init__()
        self.last = nn.Linear(5, 5)
        self.last.load_state_dict({"weight": torch.eye(5), "bias": torch.zeros(5)})
        self.form = form

    def forward(self, x: torch.Tensor) -> Any:
        return self.form(self.last(x / 2 if self.training else x).float())


KNOWN = TensorDataset(torch.tensor(LOGITS).float(), torch.tensor(LABELS))
TODAY = torch.tensor(NEW).float()
NETWORKS: dict[str, Callable[[Path], Any]] = {
    "network": lambda f: Net(),
    "in training": lambda f: Net().train(),
    "tuple": lambda f: Net(lambda z: (z, z[:, :1])),
    "dictionary": lambda f: Net(lambda z: {"logits": z, "loss": z.sum()}),
    "object": lambda f: Net(lambda z: SimpleNamespace(logits=z, hidden=None)),
}
ODD_NETWORKS: dict[str, Callable[[Path], Any]] = {
    "regression": lambda f: Net(lambda z: z[:, :1]),
    "maps": lambda f: Net(lambda z: z[:, :, None, None].expand(-1, -1, 4, 4)),
    "classes": lambda f: Net(lambda z: z.argmax(dim=1)),
    "nothing": lambda f: Net(lambda z: None),
    "text": lambda f: Net(lambda z: "ash"),
    "not finite": lambda f: Net(lambda z: z / 0),
}
LOADERS: dict[str, Callable[[Path], Any]] = {
    "Dataset": lambda f: KNOWN,
    "dictionaries": lambda f: [{"pixel_values": x, "labels": y} for x, y in DataLoader(KNOWN, 64)],
    "three items": lambda f: [(x, y, ["path"] * len(x)) for x, y in DataLoader(KNOWN, 64)],
    "doubles": lambda f: [(x.double(), y) for x, y in DataLoader(KNOWN, 64)],
    "arrays": lambda f: (LOGITS, LABELS),
}
ODD_LOADERS: dict[str, Callable[[Path], Any]] = {
    "no labels": lambda f: DataLoader(KNOWN.tensors[0], 64),
    "empty": lambda f: [],
    "labels of several classes": lambda f: [(x, torch.eye(5)[y] + 1) for x, y in DataLoader(KNOWN, 64)],
}


def models() -> Iterator[Brought]:
    """Weights: the logits that they give. Networks and loaders: the estimates from them."""

    def logits(path: Path) -> Any:
        return load_classifier(f"small={path}", ("a", "b", "c"))(SHOWN)[0].numpy()

    with TemporaryDirectory() as folder:
        plain = logits(written(Path(folder), STATE))
    yield from things(SOUND, logits, plain)
    yield from things(ODD, logits)
    right = estimate(Net(), KNOWN, TODAY)
    for networks, answer in ((NETWORKS, right), (ODD_NETWORKS, None)):
        yield from things(
            networks, lambda net: estimate(net, DataLoader(KNOWN, 64), DataLoader(TODAY, 64)), answer
        )
    for loaders, answer in ((LOADERS, right), (ODD_LOADERS, None)):
        yield from things(loaders, lambda loader: estimate(Net(), loader, TODAY), answer)
