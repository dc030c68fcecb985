"""Commands that are functions of the library; their source is read, but imported only when they run."""

import ast
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any, Literal

FUNCTIONS = {
    "show": "starter.contest.show:show",
    "materialize": "starter.contest.materialize:materialize",
    "backup": "leaderboard.verify:backup",
    "compare": "leaderboard.compare:compare",
    "classes assign": "starter.data.wordnet.assign:assign_classes",
    "classes halves": "starter.data.wordnet.images:write_halves",
    "classes graph": "starter.studies.confusions:graph_study",
    "shift encoder": "starter.models.encoders.two_tower:photo_encoder",
    "shift laid": "starter.studies.zeroshot:laid_study",
    "shift measure": "starter.studies.grid:measure_degrees",
    "shift grid": "starter.studies.grid:grid_study",
    "shift generate": "starter.studies.synis:synis",
    "detectors failure": "starter.studies.failure_study:failure_study",
    "detectors sanity": "starter.studies.sanity:sanity",
}
"""The function of each command, which returns a study, or what to print."""
SETTINGS = {
    "Training": "starter.models.classifiers.train:Training",
    "Asked": "unseen.estimation.inputs:Asked",
}
"""The classes whose fields are options of a command that has a parameter of the class."""
KINDS: dict[str, Any] = {
    **{kind.__name__: kind for kind in (str, int, float, bool, Path)},
    **{f"{kind.__name__} | None": kind | None for kind in (str, int, Path)},
    **{f"Sequence[{kind.__name__}]": Sequence[kind] for kind in (str, Path)},  # type: ignore[valid-type]
    "tuple[str, ...]": Sequence[str],
    "Literal['crop', 'pad', 'stretch']": Literal["crop", "pad", "stretch"],
}
"""The type of a parameter by its annotation; any other annotation stays a text."""


def declared(target: str) -> Callable[..., Any]:
    """Returns a function with the signature and docstring of `module:name`, which calls that one.

    The name is that of a function, or of a class, whose fields are the parameters.
    """
    module, _, name = target.partition(":")
    source = Path(__file__).parents[2] / f"{module.replace('.', '/')}.py"
    body = ast.parse(source.read_text(encoding="utf-8")).body
    node: Any = next(each for each in body if getattr(each, "name", "") == name)

    def run(**values: Any) -> Any:
        return getattr(import_module(module), name)(**values)

    rows: list[tuple[str, Any, Any]]
    if isinstance(node, ast.FunctionDef):
        several, positional = [*node.args.args, *node.args.kwonlyargs], len(node.args.args)
        lacking = [None] * (positional - len(node.args.defaults))
        defaults = [*lacking, *node.args.defaults, *node.args.kw_defaults]
        rows = [(each.arg, each.annotation, value) for each, value in zip(several, defaults, strict=True)]
    else:
        fields, positional = [each for each in node.body if isinstance(each, ast.AnnAssign)], 0
        rows = [(ast.unparse(each.target), each.annotation, each.value) for each in fields]
    parameters = [
        Parameter(
            called,
            Parameter.POSITIONAL_OR_KEYWORD if number < positional else Parameter.KEYWORD_ONLY,
            annotation=KINDS.get(kind := ast.unparse(annotation), kind),
            default=ast.literal_eval(default) if default else Parameter.empty,
        )
        for number, (called, annotation, default) in enumerate(rows)
    ]
    returned = ast.unparse(getattr(node, "returns", None) or ast.Constant(None))
    run.__signature__ = Signature(parameters, return_annotation=returned)  # type: ignore[attr-defined]
    run.__doc__ = ast.get_docstring(node)
    return run
