"""Commands that are functions of the library; their source is read, but imported only when they run."""

import ast
from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

FUNCTIONS = {
    "show": "starter.competition.show:show",
    "materialize": "starter.competition.materialize:materialize",
    "classes halves": "starter.wordnet.images:write_halves",
    "classes graph": "starter.studies.confusions:graph_study",
    "shift encoder": "starter.encoders.two_tower:photo_encoder",
    "shift laid": "starter.studies.zeroshot:laid_study",
    "shift measure": "starter.studies.grid:measure_degrees",
    "shift grid": "starter.studies.grid:grid_study",
    "shift generate": "starter.synis.synis:synis",
    "detectors failure": "starter.studies.failure_study:failure_study",
    "detectors sanity": "starter.studies.sanity:sanity",
}
"""The function of each command, which returns a study, or what to print."""
KINDS: dict[str, Any] = {
    **{kind.__name__: kind for kind in (str, int, bool, Path)},
    **{f"{kind.__name__} | None": kind | None for kind in (str, int, Path)},
    **{f"Sequence[{kind.__name__}]": Sequence[kind] for kind in (str, Path)},  # type: ignore[valid-type]
}
"""The type of a parameter by its annotation; any other annotation stays a text."""


def declared(target: str) -> Callable[..., Any]:
    """Returns a function with the signature and docstring of `module:function`, which runs that one."""
    module, _, name = target.partition(":")
    source = Path(__file__).parents[2] / f"{module.replace('.', '/')}.py"
    body = ast.parse(source.read_text(encoding="utf-8")).body
    (node,) = (each for each in body if isinstance(each, ast.FunctionDef) and each.name == name)

    def run(**values: Any) -> Any:
        return getattr(import_module(module), name)(**values)

    run.__doc__ = ast.get_docstring(node)
    taken, kinds = node.args, (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    defaults = [*[None] * (len(taken.args) - len(taken.defaults)), *taken.defaults], taken.kw_defaults
    parameters = [
        Parameter(
            each.arg,
            kind,
            annotation=KINDS.get(text := ast.unparse(each.annotation or ast.Constant(None)), text),
            default=ast.literal_eval(default) if default else Parameter.empty,
        )
        for kind, several, values in zip(kinds, (taken.args, taken.kwonlyargs), defaults, strict=True)
        for each, default in zip(several, values, strict=True)
    ]
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=ast.unparse(node.returns or ast.Constant(None))
    )
    return run
