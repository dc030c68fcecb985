"""Engine: what computes a network's maps, PyTorch or, on CPUs, OpenVINO, and in which precision.

OpenVINO compiles a network for the CPU that it runs on. An image's maps are the same bits whatever batch it
is in and however many threads compute, which is not so in PyTorch. What the CPU computes in is asked of the
library first: where a precision is asked for that the CPU lacks, it would take another one in silence.

The library is imported where it is used. Its `convert_model` reports its use to its makers; the frontend that
is called here does not.
"""

import warnings
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from starter.classifiers.networks.network import Network
from starter.classifiers.networks.user import UserNetwork
from submission.competition import ENGINES, PRECISIONS
from submission.errors import UnusableInput, tell_once, why

TOLERANCES = {"float32": 1e-4, "float16": 0.01, "bfloat16": 0.05}
"""By precision: how far maps may lie from PyTorch's in float32, as a share of the largest value."""
SLICE = 32
"""Images that a thread is given at a time: they stay in the CPU's cache."""
_CAPABILITIES = {"FP32": "float32", "FP16": "float16", "BF16": "bfloat16"}


class NotCompiled(Exception):
    """OpenVINO cannot convert a network, or what it computes is not what PyTorch does; the reason, a line."""


class Part(nn.Module):
    """A part of a network as a module that can be traced.

    Attributes:
        network: whose part it is, in evaluation mode and without gradients.
        name: "features" or "stages", of images (n, 3, h, w); or "head", of features (n, d).
    """

    def __init__(self, network: Network, name: str) -> None:
        super().__init__()
        self.network = network
        self.name = name

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Returns features (n, d), the maps (n, c, h', w') of each stage, or logits (n, k)."""
        if self.name == "stages":
            return tuple(self.network.stages(x))
        if self.name == "features":
            return (self.network.features(x),)
        assert self.network.head is not None
        return (self.network.head(x),)


class Compiled:
    """A part of a network, compiled for this CPU, one size of inputs and so many threads.

    Args:
        part: what is compiled.
        size: the shape of one input: (3, h, w), or (d,).
        precision: one of `precisions()`.
        threads: how many compute.

    Raises:
        NotCompiled: it cannot be converted, or what two inputs of noise give differs from PyTorch's by more
            than the precision's tolerance.
    """

    def __init__(self, part: Part, size: tuple[int, ...], precision: str, threads: int) -> None:
        probe = torch.randn(2, *size, generator=torch.Generator().manual_seed(0))
        expected = part(probe)
        self.slice = SLICE * threads
        try:
            self._model = _compile(part, probe, precision, threads)
            found = self(probe.flip(0))
        except Exception as error:  # the libraries raise whatever they like
            raise NotCompiled(why(error)) from error
        for mine, theirs in zip(found, expected, strict=True):
            moved, largest = float((mine.flip(0) - theirs).abs().max()), float(theirs.abs().max())
            if not moved <= TOLERANCES[precision] * largest:
                raise NotCompiled(f"its {precision} values of up to {largest:.2g} differ by {moved:.2g}")

    def __call__(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """Returns what the part gives of n inputs, float32, each as `Part.forward`."""
        request = self._model.create_infer_request()
        numbers = inputs.contiguous().numpy()
        given = []
        for start in range(0, len(numbers), self.slice):
            found = request.infer([numbers[start : start + self.slice]], share_inputs=True)
            given.append([torch.from_numpy(found[i].copy()) for i in range(len(found))])
        return tuple(torch.cat(parts) for parts in zip(*given, strict=True))


def chosen(engine: str, precision: str, device: str) -> tuple[str, str]:
    """Returns the engine and the precision of a new competition: those asked for, "" being left open.

    Left open, the engine is PyTorch, and the precision float16 where OpenVINO is asked for and can compute in
    it here, else float32.

    Raises:
        UnusableInput: there is no such engine or precision, or PyTorch is to compute in float16.
    """
    if engine not in ("", *ENGINES):
        raise UnusableInput(f"--engine must be {' or '.join(ENGINES)}, got {engine!r}")
    if precision not in ("", *PRECISIONS):
        raise UnusableInput(f"--precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    engine = engine or "torch"
    if engine == "torch" and precision == "float16":
        raise UnusableInput("--precision float16 is of --engine openvino: add that, or leave it out")
    best = "float16" if engine == "openvino" and computing(engine, "float16", device)[1] == "float16" else ""
    return engine, precision or best or "float32"


def computing(engine: str, precision: str, device: str) -> tuple[str, str]:
    """Returns the engine and the precision that compute here where these are asked for."""
    if engine == "openvino" and _on_cpu(device) and not _missing():
        return engine, precision if precision in precisions() else "float32"
    return "torch", "bfloat16" if precision == "bfloat16" else "float32"


def tell_differences(engine: str, precision: str, device: str) -> None:
    """Tell the user, once a process, where something else computes than a competition names."""
    here = computing(engine, precision, device)
    if here == (engine, precision):
        return
    if here[0] == engine:
        reason = f"this CPU has no {precision}"
    elif not _on_cpu(device):
        reason = f"{engine} is for CPUs"
    else:
        reason = _missing()
    instead = f"{here[0]} computes in {here[1]} instead of {engine} in {precision}"
    tell_once(f"{reason}: {instead}; {may_differ(precision)}")


def may_differ(precision: str) -> str:
    """Returns by how much another engine may move logits, for people.

    >>> may_differ("float32")
    'logits may differ by 0.01 % of the largest'
    """
    return f"logits may differ by {100 * TOLERANCES[precision]:g} % of the largest"


def arithmetic(engine: str, precision: str, device: str) -> str:
    """Returns what the last digits of logits depend on: the library with its version, and the precision."""
    name, here = computing(engine, precision, device)
    return f"{name} {version(name).partition('+')[0]} in {here}"


@cache
def precisions() -> tuple[str, ...]:
    """Returns the precisions that OpenVINO can compute in on this CPU."""
    found = _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return tuple(precision for told, precision in _CAPABILITIES.items() if told in found)


@cache
def _missing() -> str:
    """Returns why OpenVINO cannot be used here; "" where it can."""
    if find_spec("openvino") is None:
        return 'openvino is not installed (pip install "unseen[fast]")'
    try:
        precisions()
    except Exception as error:  # a library that it needs, a CPU that it does not know
        return f"openvino does not run here ({why(error)})"
    return ""


@cache
def _core() -> Any:
    import openvino

    return openvino.Core()


def _compile(part: Part, probe: Tensor, precision: str, threads: int) -> Any:
    """Returns OpenVINO's compiled model, for batches of any number of images."""
    from openvino import Type
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")  # tracing is deprecated, and is what OpenVINO reads fastest
        traced = torch.jit.trace(part, (probe,), check_trace=False)
        decoder = TorchScriptPythonDecoder(traced, shared_memory=False)
    doubts = [each.message for each in told if issubclass(each.category, torch.jit.TracerWarning)]
    if isinstance(part.network, UserNetwork) and doubts:
        raise NotCompiled("its code decides by what it is given, which a trace does not see")
    frontend = FrontEndManager().load_by_framework("pytorch")
    model = frontend.convert(frontend.load(decoder))
    model.reshape([-1, *probe.shape[1:]])
    settings = {
        "INFERENCE_PRECISION_HINT": getattr(
            Type, {"float32": "f32", "float16": "f16"}.get(precision, "bf16")
        ),
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "ENABLE_CPU_PINNING": False,  # several processes would be pinned to the same core
    }
    compiled = _core().compile_model(model, "CPU", settings)
    if compiled.get_property("INFERENCE_PRECISION_HINT") != settings["INFERENCE_PRECISION_HINT"]:
        raise NotCompiled(f"it does not compute in {precision}")
    return compiled


def _on_cpu(device: str) -> bool:
    return torch.device(device).type == "cpu"
