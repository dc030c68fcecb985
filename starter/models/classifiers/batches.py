"""Batches: the images and labels in what a loader gives, and the logits in what a network returns."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook
from torch.utils.data import Dataset

from submission.errors import UnusableInput, printable, why

IMAGES = ("images", "image", "pixel_values", "x", "inputs", "input", "imgs", "img", "data")
LABELS = ("labels", "label", "targets", "target", "y", "label_ids", "classes")
LOGITS = ("logits", "out", "output", "outputs", "scores", "predictions", "preds", "pred")
BATCH = 64
"""Number of images in a batch that is made of single items or of one array."""

Call = tuple[nn.Linear, Tensor, Tensor]
"""A linear layer, what it read, and what it gave."""
Batch = tuple[Any, Any]
"""Images, and their labels or None."""


def run_batches(
    model: Callable[[Any], Any], loader: Any, what: str = "the loader"
) -> tuple[Tensor, Tensor | None, NDArray[Any] | None]:
    """Returns the logits (n, k) of a loader's images, their features (n, d), and the loader's labels.

    A network in training is put in evaluation meanwhile. Features are the input of the linear layer that
    gives the logits; None without one. Labels are None if a batch has none. Messages begin with `what`.
    """
    logits, features, labels = list[Tensor](), list[Tensor](), list[Any]()
    with _evaluating(model), linear_calls() as calls, torch.inference_mode():
        for images, classes in batches_of(loader, what):
            calls.clear()
            rows = _rows(logits_of(_run(model, images, what), calls), images, what)
            logits.append(rows.to("cpu", copy=True))
            features += [call[1].cpu() for call in calls if gives(call, rows)][-1:]
            labels += [] if classes is None else [_array(classes)]
    if not logits:
        raise UnusableInput(f"{what}: {_type(loader)} gives no batch: is it empty, or was it used up before?")
    complete = len(features) == len(logits)
    return (
        torch.cat(logits),
        torch.cat(features) if complete else None,
        np.concatenate(labels) if len(labels) == len(logits) else None,
    )


def logits_of(output: Any, calls: Sequence[Call] = (), who: str = "the model") -> Tensor:
    """Returns the logits in what a network or a function returned, of any shape; messages begin with `who`.

    Of several arrays they are the first that one of the `calls` of linear layers gave, else the first.
    """
    if isinstance(output, Mapping):
        inside = next((output[name] for name in LOGITS if name in output), None)
    elif is_array(output):
        inside = output
    else:
        inside = getattr(output, "logits", output)
    if isinstance(inside, tuple | list):
        arrays = [_tensor(each) for each in inside if is_array(each) and each.ndim > 1]
        linear = [each for each in arrays if any(gives(call, each) for call in calls)]
        inside = next(iter((*linear, *arrays)), inside)
    rows = isinstance(inside, tuple | list) and inside and isinstance(inside[0], list | tuple | float)
    if not is_array(inside) and not rows:
        raise UnusableInput(
            f"{who} returns {_type(output)}: it must return logits (n, k), a tensor or an array, alone, "
            f"in a tuple, in a dictionary as {_either(LOGITS)}, or as .logits"
        )
    return _tensor(inside)


def images_and_labels(batch: Any) -> Batch:
    """Returns the images and the labels, None without, in what a loader gives."""
    labels = None
    if isinstance(batch, Mapping):
        images = next((batch[name] for name in IMAGES if name in batch), None)
        labels = next((batch[name] for name in LABELS if name in batch), None)
    elif isinstance(batch, tuple | list) and len(batch):
        images, labels = (*batch, None)[:2]
    else:
        images = batch if is_array(batch) else None
    if isinstance(labels, Mapping):
        labels = next((labels[name] for name in LABELS if name in labels), None)
    if images is None:
        raise UnusableInput(
            f"the loader gives {_type(batch)}: it must give images, (images, labels), or a dictionary with "
            f"the images as {_either(IMAGES)}, and labels as {_either(LABELS)}"
        )
    return images, labels


def batches_of(loader: Any, what: str) -> Iterator[Batch]:
    """Yields the batches of a loader; of single items, as a `Dataset` gives, and whole arrays, makes some."""
    if _is_whole(loader):
        images, labels = images_and_labels(loader)
        for first in range(0, len(images), BATCH):
            rows = slice(first, first + BATCH)
            yield images[rows], None if labels is None else labels[rows]
        return
    indexed = hasattr(loader, "__getitem__") and not isinstance(loader, Iterable)
    if isinstance(loader, str | bytes) or not (indexed or isinstance(loader, Iterable)):
        raise UnusableInput(f"{what}: beside a model give a DataLoader or a Dataset, not {_type(loader)}")
    items = map(images_and_labels, (loader[i] for i in range(len(loader))) if indexed else loader)
    alone = indexed or isinstance(loader, Dataset)
    for item in islice(items, 1):
        joined = chain([item], items)
        yield from _joined(joined, what) if _is_single(*item, alone) else joined


def gives(call: Call, logits: Tensor) -> bool:
    """Returns True if the call of a layer gives the logits, from rows of features."""
    _, features, output = call
    if features.ndim != 2 or output.shape != logits.shape:
        return False
    return output is logits or torch.equal(output.to(logits), logits)


def is_array(given: Any) -> bool:
    """Returns True for a tensor of any library, an array or a table."""
    return isinstance(given, Tensor) or hasattr(given, "__array__")


@contextmanager
def _evaluating(model: object) -> Iterator[None]:
    """Put a network that is in training in evaluation, and back at the end, each of its modules as it was."""
    modules = list[nn.Module]()
    if isinstance(model, nn.Module) and model.training:
        modules = [each for each in model.modules() if each.training]
        model.eval()
    try:
        yield
    finally:
        for each in modules:
            each.training = True


@contextmanager
def linear_calls() -> Iterator[list[Call]]:
    """Yields a list to which each call of a linear layer, of any network, is added."""
    calls = list[Call]()

    def keep(layer: nn.Module, read: Any, output: Any) -> None:
        if isinstance(layer, nn.Linear) and read:
            calls.append((layer, read[0], output))

    with register_module_forward_hook(keep):
        yield calls


def _run(model: Callable[[Any], Any], images: Any, what: str) -> Any:
    """Returns what the model gives; a network gets tensors on its device, floats in its precision."""
    if isinstance(model, nn.Module) and is_array(images):
        images = _tensor(images)
        own = next(filter(torch.is_floating_point, chain(model.parameters(), model.buffers())), images)
        images = images.to(own) if images.is_floating_point() else images.to(own.device)
    try:
        return model(images)
    except Exception as error:
        in_bytes = isinstance(images, Tensor) and images.dtype == torch.uint8
        fix = "divide the images by 255, as in training" if in_bytes else "the loader must give what it takes"
        raise UnusableInput(
            f"{what}: {type(model).__name__} fails on {_type(images)} "
            f"({type(error).__name__}: {why(error)}): {fix}"
        ) from error


def _rows(outputs: Tensor, images: Any, what: str) -> Tensor:
    """Returns outputs (n, k), single ones (n,) as (n, 1); refuses what has no row for each image."""
    if outputs.ndim in (1, 2) and not (is_array(images) and len(outputs) != len(images)):
        return outputs if outputs.ndim == 2 else outputs[:, None]
    of = f" of {len(images)} images" if is_array(images) else ""
    raise UnusableInput(
        f"{what}: the model gives outputs {tuple(outputs.shape)} for a batch{of}: the kit estimates the "
        "accuracy of classes, from logits (n, k), a row for each image"
    )


def _is_whole(loader: Any) -> bool:
    """Returns True for images in one array, alone, in a dictionary, or in a pair with as many labels."""
    if isinstance(loader, tuple | list) and len(loader) == 2 and is_array(loader[0]):
        return loader[0].ndim > _dimensions(loader[1]) > 0 and len(loader[0]) == len(loader[1])
    return is_array(loader) or isinstance(loader, Mapping)


def _is_single(images: Any, labels: Any, alone: bool) -> bool:
    """Returns True if this is one image with its label, no batch; `alone` if a Dataset gave it."""
    if labels is not None and _dimensions(labels) == 0:
        return True
    return alone and not (is_array(images) and images.ndim > 3)


def _dimensions(given: Any) -> int:
    return int(given.ndim) if is_array(given) else np.ndim(given)


def _joined(items: Iterator[Batch], what: str) -> Iterator[Batch]:
    """Yields batches of single images and labels."""
    while several := list(islice(items, BATCH)):
        images, labels = ([item[side] for item in several] for side in (0, 1))
        try:
            if not is_array(images[0]):
                raise TypeError(f"an image is {_type(images[0])}, no tensor")
            joined = torch.stack([_tensor(image) for image in images])
        except (TypeError, ValueError, RuntimeError) as error:
            raise UnusableInput(
                f"{what}: single images make no batch ({why(error)}): let the Dataset transform them to "
                "tensors of one size"
            ) from error
        yield joined, None if labels[0] is None else [_array(label) for label in labels]


def _tensor(given: Any) -> Tensor:
    try:
        return given if isinstance(given, Tensor) else torch.tensor(np.asarray(given))
    except (TypeError, ValueError) as error:
        raise UnusableInput(f"{_type(given)} holds no numbers that make one array ({why(error)})") from error


def _array(labels: Any) -> NDArray[Any]:
    return labels.cpu().numpy() if isinstance(labels, Tensor) else np.asarray(labels)


def _type(given: Any) -> str:
    """Returns the type of what came, with the keys or the members that it has, for a message."""
    name = type(given).__name__
    if isinstance(given, Mapping):
        return printable(f"{name} with the keys {', '.join(map(str, islice(given, 10))) or 'none'}")
    if isinstance(given, tuple | list):
        return f"{name} of {', '.join(type(each).__name__ for each in given[:5]) or 'nothing'}"
    if is_array(given):
        return f"{name}, {getattr(given, 'dtype', 'mixed')}, of shape {tuple(given.shape)}"
    return name


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
