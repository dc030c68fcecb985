"""Functions that choose methods by name and set parameters (``--set METHOD.PARAM=VALUE``), and list methods.

`SUMMARIES` has a line for each of the kit's methods, with its source, as in docs/how-to/methods.md.
"""

import json
import math
import re
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import NoneType

from sklearn.base import clone

from baselines.contract.estimator import MADE_OF, Direct, Estimator
from baselines.contract.regressors import check_regressor
from baselines.named import OOD_BASELINES
from baselines.run.tabular import Tabular
from baselines.run.user_method import class_name, load_method
from starter.observing.observation import unmet
from submission import Competition
from submission.errors import UnusableInput

SUMMARIES = {
    "constant": "the mean of the meta-train targets, against which skill is measured",
    "confscore": "mean confidence; linear regression (Hendrycks & Gimpel 2017)",
    "entropy": "mean softmax entropy; linear regression (Guillory et al. 2021)",
    "atc": "share of images above the confidence threshold of the source (Garg et al. 2022)",
    "atc-ts": "atc after temperature scaling on the source (Garg et al. 2022)",
    "atc-ne": "atc with the negative entropy in place of the confidence (Garg et al. 2022)",
    "atc-ne-ts": "atc-ne after temperature scaling on the source (Garg et al. 2022)",
    "atc+lr": "atc's share; linear regression (Garg et al. 2022)",
    "atc-datacv": "atc as in DataCV's starter kit, with the threshold at the accuracy's quantile; "
    "linear regression",
    "fd": "Frechet distance to the training features; linear regression (Deng & Zheng 2021)",
    "rotation": "accuracy of a four-way rotation head; linear regression (Deng, Gould & Zheng 2021)",
    "doc": "source accuracy plus the difference of mean confidences (Guillory et al. 2021)",
    "doc-ts": "doc after temperature scaling on the source (Garg et al. 2022)",
    "cbpe": "mean confidence after isotonic calibration on the source (NannyML)",
    "nuclear": "nuclear norm of the softmax matrix; linear regression (Deng et al. 2023)",
    "mano": "4-norm of the normalised logits; linear regression (Xie et al. 2024)",
    "cot": "1 - cost of the optimal transport from the softmax to the source's labels (Lu et al. 2023)",
    "cott": "share of images below the transport-cost threshold of the source (Lu et al. 2023)",
    "cott-em": "cott with the class prior that EM finds in the set (Saerens et al. 2002)",
    "cott-bbse": "cott with the class prior by BBSE (Lipton et al. 2018)",
    "cott-referee": "cott with the class prior that EM finds in the referee's probabilities",
    "cott-gate": "mean of cott and cott-em, weighted by how much of the set's distance the prior explains",
    "mlls": "expected accuracy under label shift; prior by EM with bias-corrected temperature "
    "(Alexandari et al. 2020)",
    "bbse": "expected accuracy under label shift; prior from the confusion matrix (Lipton et al. 2018)",
    "mde": "meta-distribution energy, minus log n; linear regression (Peng et al. 2024)",
    "softmaxcorr": "cosine of the class correlation with the class prior; linear regression (Tu et al. 2024)",
    "dispersion": "distance between the mean features of predicted classes; linear regression "
    "(Xie et al. 2023)",
    "ei": "effective invariance of predictions to rotation and loss of colour; linear regression "
    "(Deng et al. 2022)",
    "gde": "agreement with the competition's other classifiers (Jiang et al. 2022)",
    "gde+lr": "gde's agreement; linear regression (Jiang et al. 2022)",
    "aline": "agreement-on-the-line with the competition's other classifiers (Baek et al. 2022)",
    "agreement": "agreement with the referee, plus accuracy minus agreement on the source (as gde)",
    "frap": "share above a threshold, for the classifier fused with the referee (FRAP 2026)",
    "fused": "expected accuracy by classifier and referee together, with the class prior by EM",
    "suitability": "mean probability of being right, by a regression on the source (Pouget et al. 2025)",
    "bop": "distance between histograms of feature prototypes, set and training; linear regression "
    "(Tu et al. 2023)",
    "projnorm": "distance that weights move when trained on the set's predictions; linear regression "
    "(Yu et al. 2022)",
    "stack": "weighted mean of regressions on thirteen indicators, weights by cross-validation",
    "ora-a": "SYP's oracle: an MLP predicts from six indicators if an image is right "
    "(Chen, Zhang & Song 2023)",
    "ora-b": "SYP's oracle with self-attention in place of the MLP (Chen, Zhang & Song 2023)",
    "syp": "SYP: the mean of ora-a and ora-b (Chen, Zhang & Song 2023)",
    "ora-l": "LightGBM on the oracle's indicators, trained in seconds",
    "unseen-best": "regressions on single images, also turned; with a referee on both, and agreement",
    "gscore-kmeans": "distance between the scores' K-means centres; linear regression "
    "(Zhang, Deng & Zheng 2023)",
    "gscore-gmm-w": "Wasserstein distance of two Gaussians on the scores; linear regression "
    "(Zhang, Deng & Zheng 2023)",
    "gscore-gmm-kl": "KL divergence of two Gaussians on the scores; linear regression "
    "(Zhang, Deng & Zheng 2023)",
    "gscore-ude-w": "as gscore-gmm-w, with a Gaussian fitted to the IND reference (Zhang, Deng & Zheng 2023)",
    "gscore-ude-kl": "as gscore-gmm-kl, with a Gaussian fitted to the IND reference "
    "(Zhang, Deng & Zheng 2023)",
    "confident": "the metric, if images with high confidence count as IND (Zhang, Deng & Zheng 2023)",
    "auto-eval": "Frechet distance of the features, as fd; linear regression (Deng & Zheng 2021)",
    "plugin": "the metric after the IND scores are subtracted from the mix's; IND share one half",
    "plugin-mpe": "plugin with the IND share estimated from the mix (Garg et al. 2021)",
    "gscore-best": "plugin-mpe, corrected by ridge and boosted trees that learn its error",
}
"""Summaries by the method's name, for both tracks. Methods without a source were developed for this kit."""

PLAIN = (bool, int, float, str, NoneType)
"""Types of the parameters that a line of text can set."""
Settings = dict[str, dict[str, object]]
"""Values by method and parameter."""


def choose(
    names: Sequence[str],
    settings: Iterable[str],
    kit: Mapping[str, Estimator],
    track: str = "accuracy",
    called: Sequence[str] = (),
) -> dict[str, Estimator]:
    """Returns new copies of the named methods, with their parameters set.

    Args:
        names: Names of methods of the kit, ``module:Class``, or ``module:name`` of a regressor.
        settings: Lines ``METHOD.PARAM=VALUE``.
        kit: Methods of the kit by name.
        track: Track whose table of features a regressor learns from.
        called: Name of each method in this run, in the same order; `names` if empty.
    """
    if called and len(called) != len(names):
        raise UnusableInput(f"give --as once per METHOD, in the same order: {len(names)}, not {len(called)}")
    chosen: dict[str, Estimator] = {}
    for name, own in zip(names, called or names, strict=True):
        if name not in kit and ":" not in name:
            raise UnusableInput(_unknown(name, kit, track))
        if called:
            check_name(own, name, kit)
        if called and own in chosen:
            raise UnusableInput(f"--as {own} is given twice")
        chosen[own] = clone(kit[name]) if name in kit else load_method(name, track)
    set_parameters(chosen, parsed(settings))
    return chosen


def check_name(own: str, name: str, kit: Collection[str]) -> None:
    """Check the name of a method in a run, after which a file is named."""
    if not re.fullmatch(r"[\w(][\w.,=()+ -]{0,99}", own):
        raise UnusableInput(f"{own!r} cannot name a method: use letters, digits and any of . , = ( ) + - _")
    if own in kit and own != name:
        raise UnusableInput(f"{own} is a method of the kit: give yours another name")


def choose_for(
    competition: Competition,
    names: Sequence[str],
    settings: Iterable[str],
    kit: Mapping[str, Estimator],
    expensive: Mapping[str, str],
    called: Sequence[str] = (),
) -> tuple[dict[str, Estimator], dict[str, str]]:
    """Returns the methods to run on a competition, and the reasons why others of the kit are left out.

    Args:
        competition: The competition.
        names: Names of methods; empty for all methods of the kit that can run and are not expensive.
        settings: Lines ``METHOD.PARAM=VALUE``.
        kit: Methods of the kit by name.
        expensive: Reason why a method runs only if it is named, by method.
        called: Name of each method in this run, in the same order; `names` if empty.
    """
    left_out: dict[str, str] = {}
    if not names:
        left_out = {name: f"{reason}; name it to run it" for name, reason in expensive.items() if name in kit}
        left_out |= impossible(competition, kit)
    named = names or [name for name in kit if name not in left_out]
    chosen = choose(named, settings, kit, competition.track, called)
    for name, reason in impossible(competition, chosen).items():
        raise UnusableInput(f"{name} cannot run on {competition.root}: {reason}")
    return chosen, left_out


def impossible(competition: Competition, methods: Mapping[str, Estimator]) -> dict[str, str]:
    """Returns the methods that cannot run on a competition, each with the reason."""
    reasons = {name: unmet(method.needs, competition) for name, method in methods.items()}
    return {name: reason for name, reason in reasons.items() if reason}


def _unknown(name: str, kit: Mapping[str, Estimator], track: str) -> str:
    """Returns the message about an unknown method, with its track or the name that was probably meant."""
    none, module = f"there is no method {name!r}", name.removesuffix(".py")
    if module.isidentifier() and Path(f"{module}.py").is_file():
        return f"{none}: name the class in {module}.py too, as {module}:{class_name(module)}"
    its = "ood" if name in OOD_BASELINES else "accuracy"
    if name in SUMMARIES and its != track:
        none = f"{name!r} is of the {its} track (check-method takes --track {its}), this is the {track} track"
    alike = get_close_matches(name.lower(), kit, 1)
    meant = f": did you mean {alike[0]}?" if alike else ";"
    return f"{none}{meant} the kit has {', '.join(kit)} for this track, or give module:Class"


def parsed(settings: Iterable[str]) -> Settings:
    """Returns the parsed lines METHOD.PARAM=VALUE; a value is read as JSON, or else as text.

    >>> parsed(["ora-a.iterations=2000", "my_method:MyMethod.kind=plain"])
    {'ora-a': {'iterations': 2000}, 'my_method:MyMethod': {'kind': 'plain'}}
    """
    found: Settings = {}
    for setting in settings:
        target, _, text = setting.partition("=")
        method, _, parameter = target.rpartition(".")
        if not (method and parameter and text):
            raise UnusableInput(
                f"--set {reprlib.repr(setting)} is not METHOD.PARAM=VALUE, as in ora-a.iterations=2000"
            )
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):  # no JSON, too many digits, or nested too deeply
            value = text
        found.setdefault(method, {})[parameter] = value
    return found


def set_parameters(methods: Mapping[str, Estimator], settings: Mapping[str, Mapping[str, object]]) -> None:
    """Set parameters (method -> parameter -> value) in place; `fit` checks their range."""
    for method, values in settings.items():
        if method not in methods:
            raise UnusableInput(
                f"--set {method}.*: {method!r} is not among the methods to run: {', '.join(methods)}"
            )
        parameters = own_parameters(methods[method])
        for name, value in values.items():
            if name not in parameters:
                known = ", ".join(parameters) or "none"
                raise UnusableInput(f"--set {method}.{name}: {method} has no such parameter; it has {known}")
            try:
                value = _like(parameters[name], value)
                if name == "regressor":
                    check_regressor(str(value))
            except ValueError as error:
                raise UnusableInput(f"--set {method}.{name}: {error}") from error
            prefix = "regressor__" if isinstance(methods[method], Tabular) else ""
            methods[method].set_params(**{prefix + name: value})


def own_parameters(method: Estimator) -> dict[str, object]:
    """Returns the parameters that a line of text can set, with their values."""
    if isinstance(method, Tabular):
        values = method.regressor.get_params(deep=True)
        return {name: value for name, value in values.items() if isinstance(value, PLAIN)}
    hidden: Collection[str] = MADE_OF if isinstance(method, Direct) else ()
    return {name: value for name, value in method.get_params(deep=False).items() if name not in hidden}


def _like(old: object, value: object) -> object:
    """Returns `value` with the type of `old`; if `old` is None, any type is accepted."""
    shown = reprlib.repr(value)
    if isinstance(old, float) and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{shown} is no finite number")
    if old is not None and type(value) is not type(old):
        raise ValueError(f"{shown} is no {type(old).__name__}, as the default {old!r} is")
    return value


def listing(methods: Mapping[str, Estimator], expensive: Mapping[str, str]) -> str:
    """Returns a text about each method: its summary, the fields that it reads, and its parameters.

    Args:
        methods: Methods of the kit by name, all of which are in `SUMMARIES`.
        expensive: Reason why a method runs only if it is named, by method.
    """
    lines = [
        "Every method reads logits (in the OOD track also scores); its other inputs are in brackets.",
        "",
    ]
    for name, method in methods.items():
        read = [*method.needs, *(f"{want} if available" for want in method.wants)]
        reads = f" [{', '.join(read)}]" if read else ""
        lines.append(f"{name:<14} {SUMMARIES[name]}{reads}")
        if name in expensive:
            lines.append(f"{'':<14} runs only if named: {expensive[name]}")
        if own := own_parameters(method):
            lines.append(f"{'':<14} --set " + " ".join(f"{name}.{key}={value}" for key, value in own.items()))
    return "\n".join(lines)
