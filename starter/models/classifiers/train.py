"""Training a classifier: ResNet-56 reaches 76.6 % on CIFAR-10's test split in 3 epochs without a GPU.

That is `unseen train --source cifar10 --arch resnet56 --epochs 3 --out FILE`, 18 minutes on a busy core; the
default of 60 epochs was not measured. SGD with Nesterov momentum under one cycle, random crops and flips,
bfloat16 where the processor computes in it, channels-last.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from starter.data.images.imageset import ImageSet
from starter.data.images.reading import LARGEST_SIDE, Fit
from starter.data.sources.sources import load_source
from starter.models.classifiers import (
    ARCHITECTURES,
    Classifier,
    Network,
    check_device,
    new_network,
    save_classifier,
)
from starter.models.classifiers.engine import training_precision
from starter.models.classifiers.linear import fit_linear
from starter.models.classifiers.weights import begin_with, headed
from submission import UnusableInput
from submission.files import replacing
from submission.progress import progress
from submission.random import EPOCH

PAD = 4
"""Largest shift of a random crop in pixels, in each direction."""
MOMENTUM, DECAY = 0.9, 5e-4
HEAD_STRENGTH = 1.0
"""Inverse weight of the squared norm of a head that is fitted alone."""
WARM_UP = 0.25
"""Fraction of the steps during which the learning rate rises."""

_Triple = tuple[float, float, float]
_Stateful = torch.nn.Module | torch.optim.Optimizer | torch.optim.lr_scheduler.LRScheduler


@dataclass(frozen=True)
class Training:
    """The options of `unseen train`, which has a help for each."""

    arch: str
    source: str = "cifar10"
    epochs: int = 60
    batch: int = 128
    rate: float = 0.2
    flip: bool = True
    seed: int = 0
    image_size: int = 0
    resize: Literal["crop", "pad", "stretch"] = "crop"
    skip_unreadable: float = 0.01
    start: str = ""
    head_alone: bool = False

    def __post_init__(self) -> None:
        problems = []
        if self.arch not in ARCHITECTURES and ":" not in self.arch:
            there = f"{', '.join(ARCHITECTURES)}, and timm:NET, torchvision:NET and module:function"
            problems.append(f"--arch {self.arch!r} is unknown; there are {there}")
        for name, least, most in (
            ("epochs", 1, 10_000),
            ("batch", 2, 10_000),
            ("rate", 1e-6, 100),
            ("seed", 0, 2**63 - 1),
            ("image_size", 0, LARGEST_SIDE),
            ("skip_unreadable", 0, 0.99),
        ):
            if not least <= getattr(self, name) <= most:
                option = name.replace("_", "-")
                problems.append(f"--{option} must lie in {least}..{most}, got {getattr(self, name)}")
        if self.head_alone and not self.start:
            problems.append("--head-alone needs --start, the weights of the other layers")
        if problems:
            raise UnusableInput("; ".join(problems))


def train(asked: Training, out: Path, device: str | None = None) -> str:
    """Train a classifier, from ``<out>.checkpoint`` on, write it, and return a text with its accuracy."""
    if out.suffix.lower() != ".safetensors":
        raise UnusableInput(f"{out}: the file's name must end in .safetensors")
    if out.exists():
        raise UnusableInput(f"{out} exists already: name another file, or remove it to train anew")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    check_device(device)
    size = (asked.image_size, asked.image_size) if asked.image_size else None
    splits = load_source(asked.source, asked.seed, Fit(size, asked.resize, asked.skip_unreadable))
    learnt = splits.train
    tested = splits.as_in_datacv().test_base
    mean, std = _normalisation(learnt)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(asked.seed)
        network = new_network(asked.arch, len(splits.classes))
    arch = headed(network, asked.arch, splits.image_size, len(splits.classes))
    if asked.start:
        mean, std = begin_with(network, asked.arch, asked.start)
    checkpoint = out.with_name(f"{out.name}.checkpoint")

    def classifier() -> Classifier:
        """Returns the classifier with the network's weights of now."""
        return Classifier(
            name=asked.arch,
            arch=arch,
            network=network,
            classes=splits.classes,
            mean=mean,
            std=std,
            precision=training_precision(device),
            device=device,
        )

    if asked.head_alone:
        _fit_head(network, classifier(), learnt)
    else:
        _fit(network, learnt, asked, checkpoint, device=device, mean=mean, std=std)
    trained = classifier()
    right = int((trained(tested.images)[0].argmax(1).cpu().numpy() == tested.truth).sum())
    save_classifier(trained, out)
    checkpoint.unlink(missing_ok=True)
    share = f"{100 * right / len(tested):.2f} % of {len(tested):,} images of the test split"
    return f"{out}: {share} are classified correctly"


def _resume(path: Path, asked: Training, *parts: _Stateful) -> int:
    """Restore the state of `parts` from a checkpoint, and return the number of finished epochs."""
    if not path.exists():
        return 0
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
        begun, states, done = json.loads(found["asked"]), found["states"], int(found["epochs"])
        changed = sorted(name for name, value in asdict(asked).items() if begun.get(name) != value)
        for part, state in zip(parts, states if not changed else (), strict=not changed):
            part.load_state_dict(state)
    except Exception as error:  # a damaged file can make the restricted unpickler raise anything
        raise UnusableInput(f"{path} is damaged: take it away to begin anew") from error
    if changed:
        option = f"--{changed[0].replace('_', '-')} {begun.get(changed[0])}"
        raise UnusableInput(f"{path} was begun with {option}: go on with that, or take the file away")
    return done


def _save(path: Path, asked: Training, epochs: int, parts: Sequence[_Stateful]) -> None:
    """Write a checkpoint, which is read without unpickling."""
    states = [part.state_dict() for part in parts]
    with replacing(path) as temporary:
        torch.save({"asked": json.dumps(asdict(asked)), "epochs": epochs, "states": states}, temporary)


def _normalisation(images: ImageSet) -> tuple[_Triple, _Triple]:
    """Returns mean and standard deviation of each channel on [0, 1]."""
    red, green, blue = (images.images[..., channel] / 255 for channel in range(3))
    least = 1 / 255
    std = (max(float(red.std()), least), max(float(green.std()), least), max(float(blue.std()), least))
    return (float(red.mean()), float(green.mean()), float(blue.mean())), std


def _fit(
    network: Network,
    images: ImageSet,
    asked: Training,
    checkpoint: Path,
    device: str,
    mean: _Triple,
    std: _Triple,
) -> None:
    """Train the network in place."""
    network.to(device).to(memory_format=network.layout).train()
    size = min(asked.batch, len(images))
    per_epoch = len(images) // size
    optimiser = torch.optim.SGD(
        network.parameters(), lr=asked.rate, momentum=MOMENTUM, weight_decay=DECAY, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, asked.rate, total_steps=asked.epochs * per_epoch + 1, pct_start=WARM_UP
    )
    done = _resume(checkpoint, asked, network, optimiser, schedule)
    half = training_precision(device) == "bfloat16"
    pixels = torch.from_numpy(images.images).permute(0, 3, 1, 2).contiguous().to(device)
    labels = torch.from_numpy(images.truth).to(device)
    centre, spread = torch.tensor([mean, std], device=device).view(2, 3, 1, 1)
    scale = 1 / (255 * spread)
    offset = centre / spread
    with progress(total=asked.epochs * per_epoch * size, unit="images", title=f"train {asked.arch}") as bar:
        bar.update(done * per_epoch * size)
        for epoch in range(done, asked.epochs):
            for chosen, x in _batches(pixels, asked, epoch):
                x = x.to(torch.float32, memory_format=network.layout).mul_(scale).sub_(offset)
                with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=half):
                    loss = cross_entropy(network(x).float(), labels[chosen])
                optimiser.zero_grad(set_to_none=True)
                loss.backward()
                optimiser.step()
                schedule.step()
                bar.update(size)
            if not torch.isfinite(loss):
                raise UnusableInput(
                    f"the loss is not finite after epoch {epoch + 1}: lower --rate {asked.rate}"
                )
            bar.set_postfix(epoch=epoch + 1, loss=f"{loss.item():.3f}")
            _save(checkpoint, asked, epoch + 1, [network, optimiser, schedule])


def _fit_head(network: Network, classifier: Classifier, images: ImageSet) -> None:
    """Fit the last layer by logistic regression on the classifier's features of the images."""
    if network.head is None:
        raise UnusableInput("--head-alone: the network has no last linear layer")
    features = classifier(images.images)[1].cpu().numpy()
    weight, bias = fit_linear(features, images.truth, len(classifier.classes), HEAD_STRENGTH)
    network.head.weight.data = torch.from_numpy(weight)
    network.head.bias.data = torch.from_numpy(bias)


def _batches(pixels: Tensor, asked: Training, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield indices (b,) and images uint8 (b, 3, h, w) of each step, in random order, cropped and flipped."""
    rng = EPOCH(asked.seed, epoch)
    order = rng.permutation(len(pixels))
    b = min(asked.batch, len(pixels))
    for start in range(0, len(order) - b + 1, b):
        chosen = torch.from_numpy(order[start : start + b]).to(pixels.device)
        shift = torch.from_numpy(rng.integers(0, 2 * PAD + 1, (2, b))).to(pixels.device)
        flips = torch.from_numpy(rng.random(b) < 0.5 * asked.flip).to(pixels.device)
        yield chosen, _cropped(pixels[chosen], shift, flips)


def _cropped(images: Tensor, shift: Tensor, flips: Tensor) -> Tensor:
    """Returns images (b, 3, h, w) padded black, cropped at `shift` (2, b), and mirrored if `flips` (b,)."""
    b, _, h, w = images.shape
    rows = shift[0, :, None] + torch.arange(h, device=images.device)
    columns = torch.arange(w, device=images.device)
    columns = shift[1, :, None] + torch.where(flips[:, None], columns.flip(0), columns)
    each = torch.arange(b, device=images.device)[:, None, None]
    padded = pad(images, (PAD,) * 4)
    return padded[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
