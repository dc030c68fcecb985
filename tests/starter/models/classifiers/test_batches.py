"""Batches: what a loader gives and what a network returns, in every form, give the same logits and labels."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from starter.models.classifiers.batches import IMAGES, LABELS, LOGITS, images_and_labels, run_batches
from submission.errors import UnusableInput

N, K = 150, 3
IMAGE_ROWS = torch.rand(N, 3, 4, 4, generator=torch.Generator().manual_seed(0))
BYTES = (255 * IMAGE_ROWS).byte()
TRUTH = torch.arange(N) % K


class Net(nn.Module):
    """Dropout, batch norm and a linear head; `form` gives what it returns of its features and logits."""

    def __init__(self, form=lambda features, logits: logits):
        super().__init__()
        self.form = form
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout())
        self.head = nn.Linear(8, K)

    def forward(self, x):
        features = self.body(x)
        return self.form(features, self.head(features))


def net(*form):
    """Returns the same network each time, in evaluation."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Net(*form).eval()


@torch.inference_mode()
def expected():
    network = net()
    features = network.body(IMAGE_ROWS)
    return network.head(features), features


def items(kind):
    """Returns a Dataset of single items."""

    class Items(Dataset):
        def __len__(self):
            return N

        def __getitem__(self, i):
            return kind(IMAGE_ROWS[i], int(TRUTH[i]), f"{i}.png")

    return Items()


class Stream(IterableDataset):
    def __iter__(self):
        return iter(zip(IMAGE_ROWS, TRUTH, strict=True))


class Indexed:
    """A sequence that is no Dataset, as DataLoader takes it."""

    __iter__ = None

    def __len__(self):
        return N

    def __getitem__(self, i):
        return IMAGE_ROWS[i].numpy(), i % K


Pair = namedtuple("Pair", "image label")
DATA = {
    "pairs": TensorDataset(IMAGE_ROWS, TRUTH),
    "three items": items(lambda image, label, path: (image, label, path)),
    "named tuples": items(lambda image, label, path: Pair(image, label)),
    "targets inside": items(lambda image, label, path: (image, {"labels": label})),
}
for image, label in zip(IMAGES, LABELS + LABELS, strict=False):
    DATA[f"{image}, {label}"] = items(lambda x, y, path, i=image, j=label: {"path": path, i: x, j: y})
LABELLED = {
    **{name: DataLoader(data, batch_size=64) for name, data in DATA.items()},
    "Dataset": TensorDataset(IMAGE_ROWS, TRUTH),
    "Dataset of dictionaries": items(lambda image, label, path: {"image": image, "label": label}),
    "Dataset of arrays": items(lambda image, label, path: (image.numpy(), np.int64(label))),
    "stream": Stream(),
    "sequence": Indexed(),
    "list of pairs": [(image, int(label)) for image, label in zip(IMAGE_ROWS, TRUTH, strict=True)],
    "arrays of NumPy": (IMAGE_ROWS.numpy(), TRUTH.numpy()),
    "tensor and list": [IMAGE_ROWS, TRUTH.tolist()],
    "dictionary of all": {"images": IMAGE_ROWS, "labels": TRUTH},
    "generator": (pair for pair in zip(IMAGE_ROWS.split(64), TRUTH.split(64), strict=True)),
    "float64": [(IMAGE_ROWS.double().numpy(), TRUTH.numpy())],
}


@pytest.mark.parametrize("name", LABELLED)
def test_images_and_labels_are_found_in_what_a_loader_gives(name):
    *outputs, labels = run_batches(net(), LABELLED[name])
    torch.testing.assert_close(tuple(outputs), expected())
    assert labels.tolist() == TRUTH.tolist()


@pytest.mark.parametrize(
    "loader",
    [
        DataLoader(IMAGE_ROWS, batch_size=64),
        DataLoader(TensorDataset(IMAGE_ROWS), batch_size=64),
        DataLoader(items(lambda image, label, path: {"pixel_values": image}), batch_size=64),
        items(lambda image, label, path: image),
        TensorDataset(IMAGE_ROWS),
        IMAGE_ROWS,
        IMAGE_ROWS.numpy(),
        [*IMAGE_ROWS.split(64)],
        [IMAGE_ROWS[:75], IMAGE_ROWS[75:]],
    ],
)
def test_images_alone_have_no_labels(loader):
    logits, _, labels = run_batches(net(), loader)
    torch.testing.assert_close(logits, expected()[0])
    assert labels is None


FORMS = {
    "logits first": lambda features, logits: (logits, features),
    "features first": lambda features, logits: (features, logits),
    "a list with a loss": lambda features, logits: [torch.tensor(0.5), logits],
    "a named tuple": lambda features, logits: Pair(logits, None),
    "an object": lambda features, logits: SimpleNamespace(loss=None, logits=logits, hidden=features),
    "a tuple in a dictionary": lambda features, logits: {"logits": (logits, features)},
    **{name: lambda f, z, name=name: {"loss": z.sum(), name: z} for name in LOGITS},
}


@pytest.mark.parametrize("name", FORMS)
def test_logits_are_found_in_what_a_network_returns(name):
    *outputs, _ = run_batches(net(FORMS[name]), LABELLED["pairs"])
    torch.testing.assert_close(tuple(outputs), expected())


def test_functions_may_return_arrays():
    forms = (lambda z: z, lambda z: (z, np.zeros((len(z), 9))), lambda z: z.tolist(), lambda z: {"scores": z})
    for form in forms:
        logits, *_ = run_batches(lambda batch, form=form: form(net()(batch).numpy()), LABELLED["pairs"])
        torch.testing.assert_close(logits.float(), expected()[0])


def test_a_function_gets_the_batch_as_it_is():
    types = set()

    def means(images):
        types.add((type(images), images.dtype))
        return np.asarray(images).mean(axis=(2, 3))

    for images in (BYTES, BYTES.numpy()):
        run_batches(means, [images])
    assert types == {(torch.Tensor, torch.uint8), (np.ndarray, np.dtype("uint8"))}


class Means(nn.Module):
    """A network without parameters, which counts bytes as bytes."""

    def forward(self, x):
        assert x.dtype == torch.uint8
        return x.float().mean((2, 3)), None


def test_a_network_without_parameters_gets_bytes_as_bytes():
    logits, features, _ = run_batches(Means(), [BYTES[:100].numpy(), BYTES[100:]])
    torch.testing.assert_close(logits, BYTES.float().mean((2, 3)))
    assert features is None


@pytest.mark.parametrize("precision", [torch.float16, torch.bfloat16, torch.float64])
def test_images_take_the_precision_of_the_network(precision):
    network = net(lambda features, logits: logits.float()).to(precision)
    logits, features, _ = run_batches(network, LABELLED["pairs"])
    torch.testing.assert_close(logits, expected()[0], atol=0.05, rtol=0.05)
    assert (logits.dtype, features.dtype) == (torch.float32, precision)


def test_a_network_in_training_is_evaluated_and_put_back():
    network = net().train()
    network.body[2].eval()  # a frozen batch norm
    before = [each.training for each in network.modules()]
    state = {name: value.clone() for name, value in network.state_dict().items()}
    torch.testing.assert_close(run_batches(network, LABELLED["pairs"])[0], expected()[0])
    assert [each.training for each in network.modules()] == before
    assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
    with pytest.raises(UnusableInput):
        run_batches(network, [torch.rand(2, 5)])
    assert [each.training for each in network.modules()] == before


def test_outputs_in_a_buffer_that_is_used_again_are_copied():
    buffer = torch.zeros(75, K)

    def model(images):
        buffer.copy_(images.mean((2, 3)))
        return buffer

    logits, *_ = run_batches(model, [IMAGE_ROWS[:75], IMAGE_ROWS[75:]])
    torch.testing.assert_close(logits, IMAGE_ROWS.mean((2, 3)))


@pytest.mark.parametrize(
    ("model", "loader", "message"),
    [
        (net(), [{"input_ids": IMAGE_ROWS, "mask": 1}], "dict with the keys input_ids, mask: .* images, image"),
        (net(), [object()], "loader gives object"),
        (net(), [()], "loader gives tuple of nothing"),
        (net(), [], "march: list of nothing gives no batch"),
        (net(), iter(()), "march: tuple_iterator gives no batch"),
        (net(), "val.npy", "march: beside a model give a DataLoader or a Dataset, not str"),
        (net(), 3, "march: .* not int"),
        (net(), [IMAGE_ROWS[:, :, :2]], r"march: Net fails on Tensor, torch.float32, of shape \(150, 3, 2, 4\)"),
        (net(), [BYTES], "torch.uint8.* divide the images by 255"),
        (net(), items(lambda image, label, path: (path, label)), "march: .*an image is str, no tensor"),
        (net(), [(IMAGE_ROWS[0], 1), (IMAGE_ROWS[0, :, :2], 1)], "tensors of one size"),
        (lambda x: None, [IMAGE_ROWS], "returns NoneType: .* logits"),
        (lambda x: {"loss": x, "hidden": x}, [IMAGE_ROWS], "returns dict with the keys loss, hidden: .* logits, out"),
        (lambda x: ("a", "b"), [IMAGE_ROWS], "returns tuple of str, str"),
        (lambda x: np.full((150, 3), "a"), [IMAGE_ROWS], "<U1, of shape .* holds no numbers"),
        (lambda x: x, [IMAGE_ROWS], r"outputs \(150, 3, 4, 4\) for a batch of 150 images: .* accuracy of classes"),
        (lambda x: x[:7, 0, 0], [IMAGE_ROWS], r"outputs \(7, 4\) for a batch of 150 images"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_named_in_a_line(model, loader, message):
    with pytest.raises(UnusableInput, match=message) as caught:
        run_batches(model, loader, "march")
    assert "\n" not in str(caught.value)


def test_a_single_output_is_a_column_and_a_batch_without_labels_means_none():
    logits, *_ = run_batches(lambda x: x.mean((1, 2, 3)), [IMAGE_ROWS])
    torch.testing.assert_close(logits, IMAGE_ROWS.mean((1, 2, 3))[:, None])
    assert run_batches(net(), [(IMAGE_ROWS, TRUTH), IMAGE_ROWS])[2] is None
    assert images_and_labels([IMAGE_ROWS])[1] is None
