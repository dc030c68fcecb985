"""Engines that run classifiers and encoders: OpenVINO on CPUs, PyTorch elsewhere, in several precisions.

OpenVINO's results for an image are the same bits in every batch and with every number of threads; those of
PyTorch are not. The precisions of the CPU are read from the library first, since OpenVINO silently replaces a
precision that the CPU lacks, and PyTorch emulates it. OpenVINO's `convert_model` reports usage to its makers;
the frontend called here does not.
"""

import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from starter.models.classifiers.networks.libraries import unlogged
from submission.competition import ENGINES
from submission.errors import UnusableInput, tell_once, why

TOLERANCES = {"float32": 1e-4, "float16": 0.01, "bfloat16": 0.05}
"""Largest difference from PyTorch's float32 results, by precision, as a fraction of the largest value."""
SLICE = 32
"""Number of images for each thread at a time: so few fit the CPU's cache."""
_CAPABILITIES = {"FP32": "float32", "FP16": "float16", "BF16": "bfloat16"}

Run = Callable[[Tensor], tuple[Tensor, ...]]


class Runner:
    """A part of a network, or an encoder, run by the engine that this machine uses; messages have the title.

    OpenVINO compiles it once for each size of an input and number of threads; what it cannot take runs in
    PyTorch, and one line says so. `part` maps float32 (n, ...) to one tensor, or a tuple of them. With
    `own_code`, a user's, it may decide by values.
    """

    def __init__(
        self, part: nn.Module, title: str, engine: str, precision: str, device: str, own_code: bool = False
    ) -> None:
        self.part, self.title, self.own_code = part, title, own_code
        self.asked = engine, precision, device
        self.left_to_torch = False  # whether OpenVINO could not take the part
        self._compiled: dict[tuple[int, ...], Run | None] = {}

    def __call__(self, inputs: Tensor) -> tuple[Tensor, ...]:
        """Returns the results, float32, for inputs (n, ...) on the device."""
        engine, precision = computing(*self.asked)
        if engine == "openvino" and (run := self._fitting(tuple(inputs.shape[1:]), precision)):
            return run(inputs)
        return self._in_pytorch(inputs, precision)

    def _in_pytorch(self, inputs: Tensor, precision: str) -> tuple[Tensor, ...]:
        with torch.autocast(inputs.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            found = self.part(inputs)
        return tuple(values.float() for values in (found if isinstance(found, tuple) else (found,)))

    def _fitting(self, size: tuple[int, ...], precision: str) -> Run | None:
        """Returns what was compiled for inputs of this size; None to use PyTorch."""
        key = (*size, torch.get_num_threads())
        if key not in self._compiled:
            try:
                self._compiled[key] = self._compile(size, precision, torch.get_num_threads())
            except Exception as error:  # the libraries raise whatever they like
                tell_once(f"{self.title}: openvino cannot take its network ({why(error)}): torch computes")
                self._compiled[key] = None
                self.left_to_torch = True
        return self._compiled[key]

    def _compile(self, size: tuple[int, ...], precision: str, threads: int) -> Run:
        """Returns the part compiled for this CPU, after comparing it with PyTorch on other noise."""
        probe, other = torch.randn(5, *size, generator=torch.Generator().manual_seed(0)).split([2, 3])
        expected = self._in_pytorch(other, "float32")
        model = _compile(self.part, probe, precision, threads, self.own_code)
        step = SLICE * threads

        def run(inputs: Tensor) -> tuple[Tensor, ...]:
            request, numbers, results = model.create_infer_request(), inputs.contiguous().numpy(), []
            for start in range(0, len(numbers), step):
                found = request.infer([numbers[start : start + step]], share_inputs=True)
                results.append([torch.from_numpy(found[i].copy()) for i in range(len(found))])
            return tuple(torch.cat(parts) for parts in zip(*results, strict=True))

        for mine, theirs in zip(run(other), expected, strict=True):
            moved, largest = float((mine - theirs).abs().max()), float(theirs.abs().max())
            if not moved <= TOLERANCES[precision] * largest:
                raise ValueError(f"its {precision} values of up to {largest:.2g} differ by {moved:.2g}")
        return run


def chosen(engine: str, precision: str, device: str) -> tuple[str, str]:
    """Returns engine and precision of a new competition; by default OpenVINO on its CPUs, in float32."""
    engine = engine or ("openvino" if not _unsuited(device) else "torch")
    if engine not in ENGINES:
        raise UnusableInput(f"--engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "openvino" and (problem := _unsuited(device)):
        raise UnusableInput(f"--engine openvino: {problem}: leave it out, or take --engine torch")
    if engine == "torch" and precision == "float16":
        raise UnusableInput("--precision float16 is of --engine openvino: add that, or leave it out")
    if not _unsuited(device) and precision not in ("", *precisions()):
        raise UnusableInput(f"--precision {precision}: this CPU would emulate it slowly: leave it out")
    return engine, precision or "float32"


def computing(engine: str, precision: str, device: str) -> tuple[str, str]:
    """Returns the engine and the precision that this machine uses if these are asked for."""
    if engine == "openvino" and not _unsuited(device):
        return engine, precision if precision in precisions() else "float32"
    return "torch", "bfloat16" if precision == "bfloat16" else "float32"


def place(engine: str, precision: str, device: str) -> str:
    """Returns the device that computes and, if that is not PyTorch, engine and precision."""
    engine, precision = computing(engine, precision, device)
    return device if engine == "torch" else f"{device} {engine} {precision}"


def tell_differences(engine: str, precision: str, device: str) -> None:
    """Tell the user, once per process, if this machine uses another engine or precision than is asked for."""
    here = computing(engine, precision, device)
    if here == (engine, precision):
        return
    reason = f"this CPU has no {precision}" if here[0] == engine else _unsuited(device)
    instead = f"{here[0]} computes in {here[1]} instead of {engine} in {precision}"
    tell_once(f"{reason}: {instead}; {may_differ(precision)}")


def may_differ(precision: str) -> str:
    """Returns a phrase on the largest difference of logits between engines."""
    return f"logits may differ by {100 * TOLERANCES[precision]:g} % of the largest"


def arithmetic(engine: str, precision: str, device: str) -> str:
    """Returns the library, its version and the precision, on which the last digits of logits depend."""
    name, here = computing(engine, precision, device)
    return f"{name} {version(name).partition('+')[0]} in {here} {float32_on(device)}".rstrip()


def float32_on(device: str) -> str:
    """Returns what float32 is in the convolutions of a GPU, "TF32" or "IEEE"; "" for other devices."""
    if not device.startswith("cuda"):
        return ""
    rounding = torch.backends.cudnn.allow_tf32 and not torch.version.hip
    return "TF32" if rounding and torch.cuda.get_device_capability(device) >= (8, 0) else "IEEE"


@cache
def precisions() -> tuple[str, ...]:
    """Returns the precisions in which OpenVINO can compute on this CPU."""
    found = _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return tuple(precision for name, precision in _CAPABILITIES.items() if name in found)


def training_precision(device: str) -> str:
    """Returns bfloat16 for GPUs and for CPUs that compute in it, else float32."""
    return "bfloat16" if not _on_cpu(device) or (not _missing() and "bfloat16" in precisions()) else "float32"


def _unsuited(device: str) -> str:
    """Returns the reason why OpenVINO cannot compute on a device; "" if it can."""
    return _missing() if _on_cpu(device) else f"openvino is for CPUs, not for {device}"


@cache
def _missing() -> str:
    """Returns the reason why OpenVINO cannot be used here; "" if it can."""
    if find_spec("openvino") is None:
        return "openvino is not installed"
    try:
        precisions()
    except Exception as error:  # a library that it needs, a CPU that it does not know
        return f"openvino does not run here ({why(error)})"
    return ""


@cache
def _core() -> Any:
    import openvino

    return openvino.Core()


def _compile(part: nn.Module, probe: Tensor, precision: str, threads: int, own_code: bool) -> Any:
    """Returns OpenVINO's compiled model, for batches of any number of images."""
    from openvino import Type
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # tracing is deprecated, and is what OpenVINO reads fastest
        traced = torch.jit.trace(part, (probe,), check_trace=False)
        decoder = TorchScriptPythonDecoder(traced, shared_memory=False)
    if own_code and any(issubclass(each.category, torch.jit.TracerWarning) for each in caught):
        _check_traceable(part, probe)
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
    return _core().compile_model(model, "CPU", settings)


def _check_traceable(part: nn.Module, probe: Tensor) -> None:
    """Raise an error if the results depend on more than the operations on one batch; sizes may decide."""
    number = torch.ops.aten.item.default
    sizes = ({0: torch.export.Dim("n")},)
    with unlogged(), suppress(Exception):  # of many kinds, in words for those who export
        program = torch.export.export(part, (probe,), dynamic_shapes=sizes, strict=False)
        if all(node.target is not number for node in program.graph.nodes):
            return
    reason = "its code decides by values in the images or by their number, or leaves PyTorch"
    raise ValueError(f"{reason}, which a trace does not see")


def _on_cpu(device: str) -> bool:
    """Returns True for the CPU; a device that does not exist is refused where a network is to run on it."""
    return device.partition(":")[0] == "cpu"
