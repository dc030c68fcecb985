"""PyTorch's modules as plain data: the class of each, its settings, parameters, buffers and submodules."""

import sys
from collections.abc import Mapping
from typing import Any

from torch import nn

from submission.errors import UnusableInput


def module_parts(module: nn.Module) -> dict[str, object]:
    """Returns all that a module is made of; hooks are left out, and tied parameters become separate ones."""
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


def module_of(parts: Mapping[str, Any]) -> nn.Module:
    """Returns the module from its `module_parts`; its class is found, and no code of the file's runs."""
    kind = _class_of(parts["class"])
    module = kind.__new__(kind)
    nn.Module.__init__(module)
    for name, values in parts["parameters"].items():
        module.register_parameter(name, None if values is None else nn.Parameter(values))
    module._buffers.update(parts["buffers"])
    module._modules.update(parts["modules"])
    vars(module).update(parts["settings"])
    return module


def _class_of(name: str) -> type[nn.Module]:
    """Returns a class of modules, ``module:class``, of a Python module that is imported."""
    place, _, title = name.partition(":")
    kind = getattr(sys.modules.get(place), title, None)
    if not isinstance(kind, type) or not issubclass(kind, nn.Module):
        fix = "define it at the top of a module that is imported"
        raise UnusableInput(f"{name} is no class of networks here: {fix}")
    return kind
