"""Code in a stranger's archive, in each of its forms, must not run: `unseen predict ARCHIVE` refuses them.

python benchmarks/attacks/archives.py

A participants' archive is altered, its hashes too, and put beside files with code that leaves a mark. Each
must end in a message without traceback or mark, and the archive as it was must work. Forms of open_clip and
timm are left out where these are not installed. Exit code 1 if a form is accepted.
"""

import json
import pickle
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from safetensors.torch import save

import unseen
from starter.models.classifiers.weights import WeightsFile, with_sorted_header
from starter.observing.referee import Probe
from submission.competition import DESCRIPTION
from submission.files import sha256
from submission.pack import write_archive

REFEREE = "referees/embedded"
PROBE, SEEN, ENCODER = (f"{REFEREE}{part}.safetensors" for part in ("", ".seen", ".encoder"))
CLASSIFIER = "classifiers/small.safetensors"
SIZES = {"train_sets": 4, "val_sets": 2, "test_sets": 3, "set_size": 40, "referees": ("embedded",)}
CODE = "from pathlib import Path\nPath({mark!r}).touch()\n"
TOWERS = {"vision_cfg": {"timm_model_name": "resnet18"}, "text_cfg": {"hf_model_name": "./clip"}}


@dataclass
class Payload:
    """Unpickled, leaves the mark."""

    mark: str

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return exec, (CODE.format(mark=self.mark),)


@dataclass(frozen=True)
class Attack:
    """An archive to alter: the folder of its files, and the mark that its code leaves."""

    root: Path
    mark: Path

    def remove(self, *names: str) -> None:
        """Remove public files, and their names from the description."""
        for name in names:
            (self.root / "public" / name).unlink()
        self.describe(lambda files: [files.pop(name) for name in names])

    def put(self, name: str, data: bytes) -> None:
        """Write a public file, and its hash into the description."""
        path = self.root / "public" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.describe(lambda files: files.update({name: sha256(path)}))

    def describe(self, change: Callable[[dict[str, str]], object]) -> None:
        """Change the listed files of the description."""
        text = json.loads((self.root / DESCRIPTION).read_text())
        change(text["files"])
        (self.root / DESCRIPTION).write_text(json.dumps(text))

    def name_encoder(self, spec: str) -> None:
        """Give the referee's encoder by a spec, and leave out what makes it superfluous."""
        self.remove(SEEN, ENCODER)
        path = self.root / "public" / PROBE
        replace(Probe.load(path, 10), spec=spec).save(path)
        self.put(PROBE, path.read_bytes())

    def pickled(self) -> bytes:
        """Returns a pickle that leaves the mark when it is opened."""
        return pickle.dumps(Payload(str(self.mark)))

    def name_network(self, arch: str) -> None:
        """Give the classifier's architecture."""
        file = WeightsFile.read(self.root / "public" / CLASSIFIER)
        self.put(CLASSIFIER, with_sorted_header(save(file.tensors, {**file.metadata, "arch": arch})))

    def object_array(self) -> None:
        """Put a pickled object into the reference images."""
        path = self.root / "public/reference.npz"
        with np.load(path) as arrays:
            changed = {**arrays, "images": np.array([Payload(str(self.mark))], dtype=object)}
        np.savez(path, **changed)
        self.put("reference.npz", path.read_bytes())


FORMS: dict[str, Callable[[Attack], object]] = {
    "nothing": lambda each: None,
    "referee module:function": lambda each: each.name_encoder("evil:make"),
    "referee clip:local-dir": lambda each: each.name_encoder("clip:local-dir:clip"),
    "referee clip:hf-hub": lambda each: each.name_encoder("clip:hf-hub:evil/clip"),
    "referee clip, file of weights": lambda each: each.name_encoder("clip:ViT-B-32=evil.pt"),
    "referee timm:local-dir": lambda each: each.name_encoder("timm:local-dir:clip"),
    "referee torchvision, file of weights": lambda each: each.name_encoder("torchvision:resnet18=evil.pt"),
    "referee at a path": lambda each: each.name_encoder("evil.pt"),
    "encoder that is a pickle": lambda each: (each.remove(SEEN), each.put(ENCODER, each.pickled())),
    "referee that is a pickle": lambda each: each.put(PROBE, each.pickled()),
    "what a referee saw is a pickle": lambda each: each.put(SEEN, each.pickled()),
    "classifier module:function": lambda each: each.name_network("evil:make"),
    "classifier timm:hf-hub": lambda each: each.name_network("timm:hf-hub:evil/net"),
    "classifier that is a pickle": lambda each: each.put(CLASSIFIER, each.pickled()),
    "images that are pickled objects": Attack.object_array,
    "a Python module among the files": lambda each: each.put("evil.py", b""),
    "zeros that fill the disk": lambda each: each.put("zeros.txt", bytes(1 << 30)),
}


def write_beside(folder: Path, mark: Path) -> None:
    """Write files with code where the archive's specs lead: a module, a pickle, and a model's folder."""
    code = CODE.format(mark=str(mark))
    (folder / "clip").mkdir(parents=True)
    for path in (folder / "evil.py", folder / "clip/modeling.py", folder / "clip/tokenization.py"):
        path.write_text(code)
    (folder / "evil.pt").write_bytes(pickle.dumps(Payload(str(mark))))
    shutil.copy(folder / "evil.pt", folder / "clip/open_clip_pytorch_model.bin")
    own = {"AutoConfig": "modeling.C", "AutoModel": "modeling.M", "AutoTokenizer": ["tokenization.T", None]}
    (folder / "clip/config.json").write_text(json.dumps({"model_type": "evil", "auto_map": own}))
    config = {"model_cfg": {"embed_dim": 16, **TOWERS}, "preprocess_cfg": {}}
    (folder / "clip/open_clip_config.json").write_text(json.dumps(config))


def outcome(whole: Path, name: str, folder: Path) -> tuple[bool, str]:
    """Returns True if an attack is accepted, and the last line that is printed."""
    root, mark, at = folder / "contest", folder / "mark", folder / "work"
    shutil.copytree(whole, root)
    write_beside(at, mark)
    FORMS[name](Attack(root, mark))
    with zipfile.ZipFile(at / "new.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((root / "public").rglob("*.*")):
            archive.write(path, f"contest/{path.relative_to(root)}")
    command = [sys.executable, "-m", "unseen", "predict", "new.zip", "agreement"]
    ended = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    text = ended.stdout + ended.stderr
    accepted = mark.exists() or ended.returncode == 0 or "Traceback" in text
    return accepted, text.strip().splitlines()[-1][:110]


def tried() -> Iterator[tuple[str, bool, str]]:
    """Yields each form that can be made here, True if it is accepted, and the last line that is printed."""
    needs = {"clip": "open_clip", "timm": "timm"}
    with tempfile.TemporaryDirectory() as name:
        built = unseen.build(Path(name) / "contest", settings=SIZES, test_seed=1)
        write_archive(built, Path(name) / "contest.zip")
        shutil.unpack_archive(Path(name) / "contest.zip", Path(name) / "archive")
        for number, form in enumerate(FORMS):
            if missing := [lib for word, lib in needs.items() if f" {word}" in form and not find_spec(lib)]:
                print(f"left out  {form}: {missing[0]} is not installed")
                continue
            yield form, *outcome(Path(name) / "archive/contest", form, Path(name) / str(number))


def main() -> None:
    accepted = {}
    for form, accepted[form], line in tried():
        print(f"{'accepted' if accepted[form] else 'refused '}  {form}: {line}", flush=True)
    works = accepted.pop("nothing")
    print(f"{len(accepted) - sum(accepted.values())} of {len(accepted)} forms refused")
    sys.exit(not works or any(accepted.values()))


if __name__ == "__main__":
    main()
