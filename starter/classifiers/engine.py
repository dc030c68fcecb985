"""Engines that run a network: PyTorch or, on CPUs, OpenVINO, each in several precisions.

OpenVINO compiles a network for the CPU that it runs on. Its results for an image are the same bits in every
batch and with every number of threads; those of PyTorch are not. The precisions of the CPU are read from
the library first, since OpenVINO silently replaces a precision that the CPU lacks.

OpenVINO is imported only when it is used. Its function `convert_model` reports usage to its makers; the
frontend called here does not.
"""

import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from starter.classifiers.networks.body import BodyNetwork
from starter.classifiers.networks.network import Part
from starter.classifiers.specs import Spec
from submission.competition import ENGINES
from submission.errors import UnusableInput, tell_once, why

TOLERANCES = {"float32": 1e-4, "float16": 0.01, "bfloat16": 0.05}
"""Largest difference from PyTorch's float32 results, by precision, as a fraction of the largest value."""
SLICE = 32
"""Number of images for each thread at a time: so few fit the CPU's cache."""
_CAPABILITIES = {"FP32": "float32", "FP16": "float16", "BF16": "bfloat16"}

Run = Callable[[Tensor], tuple[Tensor, ...]]
"""Function from inputs to the results of a part of a network, float32, with the shapes of `Part.forward`."""


def in_pytorch(part: Run, inputs: Tensor, precision: str) -> tuple[Tensor, ...]:
    """Returns the results of a part of a network, or of an encoder, computed in float32 or bfloat16."""
    with torch.autocast(inputs.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        return tuple(values.float() for values in part(inputs))


def compiled(part: Part, size: tuple[int, ...], precision: str, threads: int) -> Run:
    """Returns a part of a network, compiled for this CPU, this shape of an input, and these threads."""
    probe = torch.randn(2, *size, generator=torch.Generator().manual_seed(0))
    expected = part(probe)
    model = _compile(part, probe, precision, threads)
    step = SLICE * threads

    def run(inputs: Tensor) -> tuple[Tensor, ...]:
        request, numbers, results = model.create_infer_request(), inputs.contiguous().numpy(), []
        for start in range(0, len(numbers), step):
            found = request.infer([numbers[start : start + step]], share_inputs=True)
            results.append([torch.from_numpy(found[i].copy()) for i in range(len(found))])
        return tuple(torch.cat(parts) for parts in zip(*results, strict=True))

    for mine, theirs in zip(run(probe.flip(0)), expected, strict=True):
        moved, largest = float((mine.flip(0) - theirs).abs().max()), float(theirs.abs().max())
        if not moved <= TOLERANCES[precision] * largest:
            raise ValueError(f"its {precision} values of up to {largest:.2g} differ by {moved:.2g}")
    return run


def chosen(engine: str, precision: str, device: str) -> tuple[str, str]:
    """Returns the engine and the precision of a new competition; "" asks for the default.

    The default engine is PyTorch. The default precision is float16 if OpenVINO is asked for and can compute
    in it on this machine, else float32.
    """
    engine = engine or "torch"
    if engine not in ENGINES:
        raise UnusableInput(f"--engine must be one of {', '.join(ENGINES)}, got {engine!r}")
    if engine == "torch" and precision == "float16":
        raise UnusableInput("--precision float16 is of --engine openvino: add that, or leave it out")
    best = "float16" if engine == "openvino" and computing(engine, "float16", device)[1] == "float16" else ""
    return engine, precision or best or "float32"


def computing(engine: str, precision: str, device: str) -> tuple[str, str]:
    """Returns the engine and the precision that this machine uses if these are asked for."""
    if engine == "openvino" and _on_cpu(device) and not _missing():
        return engine, precision if precision in precisions() else "float32"
    return "torch", "bfloat16" if precision == "bfloat16" else "float32"


def tell_differences(engine: str, precision: str, device: str) -> None:
    """Tell the user, once per process, if this machine uses another engine or precision than is asked for."""
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
    """Returns a phrase on the largest difference of logits between engines.

    >>> may_differ("float32")
    'logits may differ by 0.01 % of the largest'
    """
    return f"logits may differ by {100 * TOLERANCES[precision]:g} % of the largest"


def arithmetic(engine: str, precision: str, device: str) -> str:
    """Returns the library, its version and the precision, on which the last digits of logits depend."""
    name, here = computing(engine, precision, device)
    return f"{name} {version(name).partition('+')[0]} in {here}"


@cache
def precisions() -> tuple[str, ...]:
    """Returns the precisions in which OpenVINO can compute on this CPU."""
    found = _core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return tuple(precision for name, precision in _CAPABILITIES.items() if name in found)


@cache
def _missing() -> str:
    """Returns the reason why OpenVINO cannot be used here; "" if it can."""
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

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # tracing is deprecated, and is what OpenVINO reads fastest
        traced = torch.jit.trace(part, (probe,), check_trace=False)
        decoder = TorchScriptPythonDecoder(traced, shared_memory=False)
    branches = any(issubclass(each.category, torch.jit.TracerWarning) for each in caught)
    if branches and isinstance(part.network, BodyNetwork) and Spec.parse(part.network.spec).own_code:
        raise ValueError("its code decides by what it is given, which a trace does not see")
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
        raise ValueError(f"it does not compute in {precision}")
    return compiled


def _on_cpu(device: str) -> bool:
    """Returns True for the CPU; a device that does not exist is refused where a network is to run on it."""
    return device.partition(":")[0] == "cpu"
