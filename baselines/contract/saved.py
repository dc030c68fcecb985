"""Fitted methods on disk: a safetensors file with arrays, and all else as JSON in its metadata; no pickle."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from starter.observing.observation import Moments, Observation, ScoredMix, Source
from starter.observing.undeclared import Undeclared
from submission.errors import UnusableInput, unusable, why
from submission.files import write_bytes

if TYPE_CHECKING:
    from torch import nn

FORMAT = 2
KINDS: dict[str, type] = {kind.__name__: kind for kind in (Moments, Observation, ScoredMix, Source)}
"""The dataclasses that may be saved, without their callable fields (which render the images)."""
UNREADABLE = (SafetensorError, OSError, LookupError, TypeError, ValueError, AttributeError, RuntimeError)
"""What a file of other content makes the readers of safetensors, JSON and torch raise."""
State = Mapping[str, object]
"""State of a method: numbers, text, arrays, tensors, KINDS, modules of PyTorch and classifiers; lists, tuples
and dicts of these."""


def write_saved(path: Path, method: str, parameters: State, state: State) -> None:
    """Write a fitted method, atomically; equal methods give equal bytes, what cannot be saved is refused."""
    arrays: dict[str, NDArray[Any]] = {}
    document = {
        "format": FORMAT,
        "method": method,
        "parameters": _packed(dict(parameters), "parameters", arrays),
        "state": _packed(dict(state), "state", arrays),
    }
    write_bytes(path, save(arrays, {"unseen": json.dumps(document, sort_keys=True)}))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn every error that a file can cause while it is read into UnusableInput with its path."""
    try:
        yield
    except UNREADABLE as error:
        raise unusable(path, f"no saved method that can be used here ({why(error)})") from error


def read_saved(path: Path, method: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the parameters and the state of a method in a file that `write_saved` wrote."""
    with safe_open(path, "numpy") as stored:
        document = json.loads((stored.metadata() or {})["unseen"])
        arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
    if (document["method"], document["format"]) != (method, FORMAT):
        raise ValueError(f"it holds {document['method']}, not {method}, in format {document['format']}")
    return _unpacked(document["parameters"], arrays), _unpacked(document["state"], arrays)


def _packed(value: object, where: str, arrays: dict[str, NDArray[Any]]) -> object:
    """Returns `value` as JSON; arrays are added to `arrays`, under the place where they were found."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Undeclared):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays[where] = np.ascontiguousarray(value).reshape(value.shape)
        return {"array": where}
    if isinstance(value, list | tuple):
        sequence = "list" if isinstance(value, list) else "tuple"
        return {sequence: [_packed(each, f"{where}.{i}", arrays) for i, each in enumerate(value)]}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _packed(each, f"{where}.{key}", arrays) for key, each in value.items()}}
    if apart := _taken_apart(value):
        kind, parts = apart
        return {kind: _packed(parts, where, arrays)}
    raise UnusableInput(
        f"{where.removeprefix('state.')} is a {type(value).__name__}, which cannot be saved: use arrays, "
        "numbers and text, or define _state and _restore"
    )


def _taken_apart(value: object) -> tuple[str, object] | None:
    """Returns the kind of a tensor, module, classifier or one of KINDS, and its parts; None for all else."""
    from torch import Tensor, nn

    from starter.models.classifiers import Classifier, parts_of

    if isinstance(value, Tensor):
        return "Tensor", value.detach().cpu().numpy()
    if isinstance(value, nn.Module):
        return "Module", _module_parts(value)
    if isinstance(value, Classifier):
        return "Classifier", parts_of(value)
    if is_dataclass(value) and type(value).__name__ in KINDS:
        parts = {each.name: getattr(value, each.name) for each in fields(value)}
        return type(value).__name__, {name: part for name, part in parts.items() if not callable(part)}
    return None


def _unpacked(packed: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if not isinstance(packed, dict):
        return packed
    ((kind, value),) = packed.items()
    if kind == "array":
        return arrays[value]
    if kind in ("list", "tuple"):
        found = [_unpacked(each, arrays) for each in value]
        return found if kind == "list" else tuple(found)
    if kind == "dict":
        return {key: _unpacked(each, arrays) for key, each in value.items()}
    return _put_together(kind, _unpacked(value, arrays))


def _put_together(kind: str, parts: Any) -> object:
    """Returns what `_taken_apart` took apart."""
    from torch import from_numpy

    from starter.models.classifiers import classifier_of

    made: dict[str, Callable[[Any], object]]
    made = {"Tensor": from_numpy, "Module": _module_of, "Classifier": classifier_of}
    return made[kind](parts) if kind in made else KINDS[kind](**parts)


def _module_parts(module: "nn.Module") -> dict[str, object]:
    """Returns all that a module is made of; hooks are left out, and tied parameters become separate ones."""
    from torch import nn

    usual = vars(nn.Module()).keys() - {"training"}
    name = f"{type(module).__module__}:{type(module).__qualname__}"
    _class_of(name)
    return {
        "class": name,
        "settings": {key: value for key, value in vars(module).items() if key not in usual},
        "parameters": dict(module._parameters),
        "buffers": dict(module._buffers),
        "modules": [[key, child] for key, child in module._modules.items()],
    }


def _module_of(parts: Mapping[str, Any]) -> "nn.Module":
    """Returns the module from its `_module_parts`; its class is found, and no code of the file's runs."""
    from torch import nn

    kind = _class_of(parts["class"])
    module = kind.__new__(kind)
    nn.Module.__init__(module)
    for name, values in parts["parameters"].items():
        module.register_parameter(name, None if values is None else nn.Parameter(values))
    module._buffers.update(parts["buffers"])
    module._modules.update(parts["modules"])
    vars(module).update(parts["settings"])
    return module


def _class_of(name: str) -> "type[nn.Module]":
    """Returns a class of modules, ``module:class``, of a Python module that is imported."""
    from torch import nn

    place, _, title = name.partition(":")
    kind = getattr(sys.modules.get(place), title, None)
    if not isinstance(kind, type) or not issubclass(kind, nn.Module):
        fix = "define it at the top of a module that is imported"
        raise UnusableInput(f"{name} is no class of networks here: {fix}")
    return kind
