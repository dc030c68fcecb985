"""Spec: what a command's argument says of a network, its weights or an encoder; and the import of own code.

| spec | network |
|---|---|
| ``NAME=PATH``, ``NAME=official`` | the architecture of the file, or else NAME; the published weights |
| ``timm:NET``, ``torchvision:NET``, ``clip:MODEL`` | a library's; ``=WEIGHTS`` after it: a file or tag |
| ``module:function`` | the result of the user's function; ``=FILE`` after it: with these weights |

``NAME=`` before either of the last two gives it a name, ``@LAYER`` after it names the layer of the logits.
``zero-shot:`` before an encoder makes it use the names of the classes in place of a probe.
"""

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from submission.errors import UnusableInput

LIBRARIES = ("timm", "torchvision")
CLIP = "clip"
ZERO_SHOT = "zero-shot:"
_OWN = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*)(?:@([\w.]+))?(?:=(.+))?")


@dataclass(frozen=True)
class Spec:
    """A parsed spec: the classifier's name, the network in one of the forms above, its layer, and weights.

    >>> Spec.parse("mine=timm:resnet18@fc=a.pt")
    Spec(name='mine', network='timm:resnet18', layer='fc', weights='a.pt')
    """

    name: str
    network: str = ""
    layer: str = ""
    weights: str = ""

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """Returns the spec in a text; any text is one."""
        text = text.removeprefix(ZERO_SHOT)
        named = "=" in text and not text.startswith(_PREFIXES) and not _OWN.fullmatch(text)
        name, rest = text.split("=", 1) if named else ("", text)
        if rest.startswith(_PREFIXES):
            found, _, weights = rest.partition("=")
            network, _, layer = found.partition("@")
            return cls(name or network.partition(":")[2], network, layer, weights)
        if own := _OWN.fullmatch(rest):
            return cls(name, own[1], own[2] or "", own[3] or "")
        return cls(name, weights=rest) if named else cls(text)

    @property
    def arch(self) -> str:
        """The network with its layer, as weights files name it."""
        return f"{self.network}@{self.layer}" if self.layer else self.network

    @property
    def library(self) -> str:
        """The library of the network: timm, torchvision or clip; "" for others."""
        before = self.network.partition(":")[0]
        return before if before in (*LIBRARIES, CLIP) else ""

    @property
    def own_code(self) -> str:
        """The user's ``module:function``; "" for others."""
        return "" if self.library else self.network


_PREFIXES = tuple(f"{library}:" for library in (*LIBRARIES, CLIP))


def user_function(spec: str, example: str, does: str) -> Callable[..., object]:
    """Import the function that ``module:function`` names; messages show the `example` and what it `does`."""
    # The working folder is last on the import path: a file there cannot take an installed module's place.
    module, _, name = spec.partition(":")
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    importlib.invalidate_caches()  # the file may be newer than Python's list of the folder's files
    try:
        function = getattr(importlib.import_module(module), name)
        if not callable(function):
            raise TypeError(f"{name} is no function: it must {does}")
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}; name it as in {example}"
        raise UnusableInput(f"{spec} cannot be imported, installed or from {Path.cwd()}: {reason}") from error
    return function
