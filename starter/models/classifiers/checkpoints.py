"""Opening a file of weights: every form of it that is known, as data, and what files that are none are.

Nothing is unpickled but tensors and plain values (`torch.load(weights_only=True)`).
"""

import re
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import safetensors
import torch
from torch import Tensor

from starter.models.classifiers.networks.body import BODY
from submission.errors import UnusableInput, tell_once, unusable, why

WRAPPERS = (
    *("state_dict", "model_state_dict", "model", "net", "network", "module", "weights", "model_state"),
    *("params", "state_dict_ema", "model_ema", "ema_state_dict", "ema", "params_ema"),
)
"""Keys of a checkpoint under which the state is, the first that is there counts."""
PREFIXES = (
    *("module.", "_orig_mod.", "model.", "_model.", "net.", "network.", "backbone.", "encoder."),
    *("ema_model.", "model_ema.", "ema.", "student."),
)
"""What programs put before the names of tensors: DataParallel, torch.compile, Lightning, and others."""
COUNTERS = ("num_batches_tracked", "n_averaged", "total_ops", "total_params")
"""Last parts of names of tensors that no logit depends on: they may be missing, and others are left out."""
_STATE = "save the network's state alone, torch.save(model.state_dict(), FILE)"
_AGAIN = "get the file itself, or save it again"
_OWN_CODE = "give the network as NAME=module:function, a function of yours that runs it"
FORMS = (
    (rb"\Z", "empty", _AGAIN),
    (rb"version https://git-lfs", "a pointer of Git LFS", "fetch the file with `git lfs pull`"),
    (rb"(\xef\xbb\xbf)?\s*<", "a page (HTML or XML)", _AGAIN),
    (rb"\s*[{\[]\s*[\"'{}\[\]\d]", "text (JSON)", "name the file of the weights beside it"),
    (rb"[\x08][\x01-\x14][\x12\x1a\x22\x3a\x42]", "a model of ONNX", _OWN_CODE),
    (rb"\x89HDF", "a file of HDF5, as Keras writes", _OWN_CODE),
    (rb".{4}TFL3", "a model of TensorFlow Lite", _OWN_CODE),
    (rb"\x93NUMPY", "an array of NumPy", _STATE),
    (rb"GGUF|ggml", "a model of GGUF", _OWN_CODE),
    (rb"\x1f\x8b|BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf|Rar!", "compressed", "unpack it first"),
    (rb".{257}ustar", "an archive (tar)", "unpack it first"),
    (rb"\x80[\x02-\x05](?!\x8a\x0a)", "a pickle, and to open it may run code", _STATE),
    (rb"[\t\r\n\x20-\x7e]+\Z", "text", _AGAIN),
)
"""How files begin that hold no weights, what they are, and what to do."""
MEMBERS = (
    (
        r"(.*/)?constants\.pkl|(.*/)?code/.+",
        "a program of TorchScript",
        f"load it by torch.jit.load, and {_STATE}",
    ),
    (r"(.*/)?(archive_format|serialized_exported_program\.json)", "an exported program of PyTorch", _STATE),
    (r"(.*/)?model\.weights\.h5|config\.json", "a model of Keras", _OWN_CODE),
    (r"[^/]+\.npy", "arrays of NumPy", _STATE),
)
"""Members of zips that hold no weights, what these are, and what to do."""
_DEEPEST = 4  # wrappers in each other
_ZIP = b"PK\x03\x04"


def open_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Returns the named tensors in a file, and the metadata of safetensors (none for another form)."""
    if path.is_dir():
        raise unusable(path, "is a folder: name the file of the weights in it")
    try:
        with path.open("rb") as stream:
            head = stream.read(512)
    except OSError as error:
        raise unusable(path, f"cannot be read ({why(error)})") from error
    other = next(((what, fix) for begin, what, fix in FORMS if re.match(begin, head, re.DOTALL)), None)
    known = other or head.startswith((_ZIP, b"\x80"))
    if head[8:9] == b"{" or (path.suffix.lower() == ".safetensors" and not known):
        return _safetensors(path)
    if other:
        raise unusable(path, f"cannot be read as weights, it is {other[0]}: {other[1]}")
    if head.startswith(_ZIP):
        _check_members(path)
    state = _state(path, _loaded(path))
    if not state:
        raise unusable(path, f"holds no state_dict: {_STATE}")
    return state, {}


def _safetensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return tensors, file.metadata() or {}
    except Exception as error:  # a damaged file
        raise unusable(
            path, f"cannot be read as safetensors, it is damaged or cut short: {_AGAIN}"
        ) from error


def _check_members(path: Path) -> None:
    """Raise an error for a zip that is another thing than a state that torch.save wrote."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise unusable(path, f"cannot be read, it is damaged or cut short: {_AGAIN}") from error
    for member, what, fix in MEMBERS:
        if any(re.fullmatch(member, name) for name in names):
            raise unusable(path, f"cannot be read as weights, it is {what}: {fix}")


def _loaded(path: Path) -> Any:
    """Returns what torch.save wrote, if it is tensors and plain values."""
    try:
        with path.open("rb") as stream:  # by its content: torch goes by the suffix of a path
            return torch.load(stream, map_location="cpu", weights_only=True)
    except Exception as error:  # the restricted unpickler can raise anything; its advice is to load unsafely
        refused = re.search(r"GLOBAL ([\w.]+)", str(error))
        if refused is not None:
            objects = f"it holds Python objects ({refused[1]}), as a whole model that is pickled"
            raise unusable(path, f"cannot be read, since {objects}, and would run code: {_STATE}") from error
        raise unusable(
            path, f"cannot be read as weights; it is damaged, or of a form that is unknown here: {_STATE}"
        ) from error


def _state(path: Path, loaded: Any, depth: int = 0) -> dict[str, Tensor]:
    """Returns the tensors of the state in a checkpoint; none if there is no state."""
    if not isinstance(loaded, Mapping) or depth > _DEEPEST:
        return {}
    named = {str(name): value for name, value in loaded.items()}
    tensors = {name: value for name, value in named.items() if isinstance(value, Tensor)}
    rest = [value for name, value in named.items() if name not in tensors]
    if tensors and all(value is None or isinstance(value, int | float | str) for value in rest):
        return tensors
    below = {name: _state(path, named[name], depth + 1) for name in WRAPPERS if name in named}
    below = below or {name: _state(path, value, depth + 1) for name, value in named.items()}
    full = [name for name, state in below.items() if state]
    if len(full) > 1:
        tell_once(f"{path}: holds {', '.join(full)}; {full[0]} is read")
    return below[full[0]] if full else {}


def renamed(path: Path, tensors: Mapping[str, Tensor], expected: Collection[str]) -> dict[str, Tensor]:
    """Returns tensors under the names that a network has for them, without counters that it lacks."""
    found: dict[str, Tensor] = {}
    source: dict[str, str] = {}
    for name, tensor in tensors.items():
        own = _name_among(name, expected)
        if own not in expected and name.rpartition(".")[2] in COUNTERS:
            continue
        if own in found:
            both = f"its {source[own]!r} and {name!r} are both {own}"
            raise UnusableInput(f"{path}: {both}: keep the weights of one network")
        found[own] = tensor
        source[own] = name
    return found


def _name_among(name: str, expected: Collection[str]) -> str:
    """Returns the name among the `expected` ones that differs by known prefixes only, or the name itself."""
    bare = [name]
    while prefix := next((each for each in (*PREFIXES, BODY) if bare[-1].startswith(each)), ""):
        bare.append(bare[-1].removeprefix(prefix))
    begins = ("", BODY, *PREFIXES, *(BODY + each for each in PREFIXES))
    candidates = (f"{begin}{each}" for each in bare for begin in begins)
    return next((each for each in candidates if each in expected), name)
