"""Fitted oracles on disk: ``oracle.json`` and ``oracle.safetensors`` in a folder; nothing is pickled."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from oracle.correction import Correction
from oracle.normalisation import Normalisation
from oracle.ora_a import OraA
from oracle.ora_b import OraB
from oracle.ora_l import OraL
from oracle.syp import Syp
from oracle.unseen_best import UnseenBest
from starter.observation import Moments, Observation, Source
from submission.errors import UnusableInput
from submission.files import replacing, write_text

FORMAT = "unseen-oracle 1"
Arrays = dict[str, NDArray[Any]]
Document = dict[str, Any]
Saved = OraA | OraL | UnseenBest
CLASSES: dict[str, Callable[..., Saved]] = {
    "ora-a": OraA,
    "ora-b": OraB,
    "syp": Syp,
    "ora-l": OraL,
    "unseen-best": UnseenBest,
}


def save(oracle: Saved, folder: Path) -> None:
    """Write a fitted oracle: parameters as JSON, arrays as safetensors, with what it needs of the source.

    Raises:
        ValueError: it is not fitted, or no oracle of the kit.
    """
    names = [name for name, kind in CLASSES.items() if kind is type(oracle)]
    if not names or not getattr(oracle, "fitted_", False):
        raise ValueError(f"{type(oracle).__name__} is no fitted oracle of the kit")
    document: Document = {"format": FORMAT, "oracle": names[0], "parameters": oracle.get_params()}
    arrays = _source_arrays(oracle.source_, oracle.needs)
    if isinstance(oracle, UnseenBest):
        document["trees"] = oracle.forest_.model_to_string()
        if oracle.estimate == "stack":
            arrays |= _correction_arrays(oracle)
    else:
        document |= {"chosen": oracle.chosen_, "kind": oracle.normalisation_.kind}
        scaling = oracle.normalisation_
        arrays |= {f"range.{name}": getattr(scaling, name) for name in ("shared", "low", "high")}
        if isinstance(oracle, OraL):
            document["trees"] = oracle.trees_.model_to_string()
        else:
            for i, network in enumerate(oracle.networks_):
                state = network.state_dict().items()
                arrays |= {f"network.{i}.{name}": value.cpu().numpy() for name, value in state}
    with replacing(folder / "oracle.safetensors") as temporary:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, temporary)
    write_text(folder / "oracle.json", json.dumps(document, indent=1) + "\n")


def load(folder: Path) -> Saved:
    """The fitted oracle in a folder that `save` wrote; it predicts what it did.

    Raises:
        UnusableInput: a file is missing, damaged, or of another version.
    """
    try:
        document = json.loads((folder / "oracle.json").read_text(encoding="utf-8"))
        arrays = load_file(folder / "oracle.safetensors")
        if document["format"] != FORMAT:
            raise UnusableInput(f"{folder} has the format {document['format']!r}, not {FORMAT!r}")
        oracle = CLASSES[document["oracle"]](**document["parameters"])
        _restore(oracle, document, arrays)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        if isinstance(error, UnusableInput):
            raise
        raise UnusableInput(f"{folder} holds no saved oracle: {error}") from error
    return oracle


def _restore(oracle: Saved, document: Document, arrays: Arrays) -> None:
    from lightgbm import Booster

    source = _source(arrays)
    if isinstance(oracle, UnseenBest):
        oracle._check()
        oracle._prepare(source)
        oracle.forest_ = Booster(model_str=document["trees"])
        if oracle.estimate == "stack":
            oracle.corrections_ = _corrections(arrays)
    else:
        oracle._check_parameters()
        oracle.source_, oracle.chosen_ = source, document["chosen"]
        shared, low, high = (arrays[f"range.{name}"] for name in ("shared", "low", "high"))
        oracle.normalisation_ = Normalisation(document["kind"], shared, low, high)
        if isinstance(oracle, OraL):
            oracle.trees_ = Booster(model_str=document["trees"])
        else:
            oracle.networks_ = oracle._make_networks(len(low))
            for i, network in enumerate(oracle.networks_):
                names = network.state_dict()
                network.load_state_dict({n: torch.from_numpy(arrays[f"network.{i}.{n}"]) for n in names})
                network.to(oracle.device).eval()
    oracle.fitted_ = True


def _source_arrays(source: Source, needs: tuple[str, ...]) -> Arrays:
    """What indicators read of the source: logits and labels, and of the training images what is needed."""
    arrays: Arrays = {
        "source.logits": source.observation.logits,
        "source.labels": source.labels,
        "source.head_weight": source.head_weight,
        "source.head_bias": source.head_bias,
        "train_ref.logits": source.train_ref.logits,
    }
    moments, features = source.train_ref.moments, source.train_ref.features
    if "moments" in needs and moments is not None:
        arrays |= {"train_ref.mean": moments.mean, "train_ref.covariance": moments.covariance}
        arrays["train_ref.n"] = np.array([moments.n])
    if "features" in needs and features is not None:
        arrays["train_ref.features"] = features
    return arrays


def _source(arrays: Arrays) -> Source:
    moments = None
    if "train_ref.mean" in arrays:
        n = int(arrays["train_ref.n"][0])
        moments = Moments(arrays["train_ref.mean"], arrays["train_ref.covariance"], n)
    features = arrays.get("train_ref.features")
    train_ref = Observation(
        "train_ref", "saved", arrays["train_ref.logits"], moments=moments, features=features
    )
    reference = Observation("reference", "saved", arrays["source.logits"])
    head = arrays["source.head_weight"], arrays["source.head_bias"]
    return Source(reference, arrays["source.labels"], train_ref, *head)


_PARTS = ("low", "high", "mean", "scale", "coefficients")


def _correction_arrays(oracle: UnseenBest) -> Arrays:
    weights, corrections = zip(*oracle.corrections_, strict=True)
    arrays = {f"correction.{part}": np.array([getattr(c, part) for c in corrections]) for part in _PARTS}
    arrays["correction.weight"] = np.array(weights)
    arrays["correction.anchor"] = np.array([each.anchor for each in corrections])
    arrays["correction.intercept"] = np.array([each.intercept for each in corrections])
    return arrays


def _corrections(arrays: Arrays) -> list[tuple[float, Correction]]:
    found = []
    for i, weight in enumerate(arrays["correction.weight"]):
        low, high, mean, scale, coefficients = (arrays[f"correction.{part}"][i] for part in _PARTS)
        anchor, intercept = int(arrays["correction.anchor"][i]), float(arrays["correction.intercept"][i])
        found.append((float(weight), Correction(anchor, low, high, mean, scale, coefficients, intercept)))
    return found
