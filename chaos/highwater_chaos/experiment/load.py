"""From a file's text to a validated :class:`ChaosExperiment`, or to an error that names every wrong field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from highwater_chaos.experiment.base import EXPECTED
from highwater_chaos.experiment.consistency import problems_of
from highwater_chaos.experiment.errors import ExperimentError, Problem
from highwater_chaos.experiment.faults import FaultKindError, Inject, fault_kinds, with_all_kinds
from highwater_chaos.experiment.model import ChaosExperiment
from highwater_chaos.experiment.yaml_text import read_documents, read_text

_KEPT: Final = 60
"""Characters of a found value that an error shows."""


def load_experiment(path: Path, *, references: bool = False) -> ChaosExperiment:
    """Read one experiment file. ``references``: it may have a ``clusterRef``, as only Kubernetes can resolve it.

    Raises:
        ExperimentError: unreadable, not YAML, not one ``ChaosExperiment``, or wrong in any field.
    """
    return parse_experiment(read_text(path), str(path), references=references)


def parse_experiment(text: str, source: str, *, references: bool = False) -> ChaosExperiment:
    """Validate the text of an experiment; ``source`` names it in errors (see :func:`load_experiment`)."""
    documents = read_documents(text, source)
    if len(documents) != 1:
        found = "none" if not documents else f"{len(documents)}"
        raise ExperimentError(source, [Problem("", f"expected one ChaosExperiment document; found {found}")])
    root, data = documents[0]
    lines = _Lines(root, source)
    if not isinstance(data, dict):
        raise ExperimentError(source, [Problem("", f"expected a mapping with apiVersion, kind …; found {_show(data)}")])
    try:
        experiment = ChaosExperiment.model_validate(data)
    except ValidationError as error:
        problems = _without_echoes([(details["type"], _problem(details, data)) for details in _details(error)])
        raise ExperimentError(source, lines.placed(problems)) from None
    except FaultKindError as error:
        raise ExperimentError(source, [Problem("", str(error))]) from error
    problems = problems_of(experiment, references=references)
    if problems:
        raise ExperimentError(source, lines.placed(problems))
    return experiment


def dump_experiment(experiment: ChaosExperiment) -> str:
    """The experiment as YAML, defaults written out, such that loading it gives the same experiment."""
    data = experiment.model_dump(mode="json", by_alias=True, exclude_none=True)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def _details(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False)


_WRONG_SHAPE: Final = {
    "int_type": "expected a whole number",
    "float_type": "expected a number",
    "bool_type": "expected true or false",
    "string_type": "expected text",
    "list_type": "expected a list",
    "dict_type": "expected a mapping",
    "model_type": "expected a mapping",
}


_PLAIN: Final = ("string_type", "int_type", "float_type", "bool_type")


def _without_echoes(problems: list[tuple[str, Problem]]) -> list[Problem]:
    """Where a value may be one thing or a list of it, the shape that was not meant complains too: leave that out.
    Where it may be of several plain types, each complains: one problem names them all."""
    problems = _joined(problems)
    return [
        problem
        for kind, problem in problems
        if kind not in _WRONG_SHAPE
        or not any(other.path.startswith(problem.path) and other.path != problem.path for _, other in problems)
    ]


def _joined(problems: list[tuple[str, Problem]]) -> list[tuple[str, Problem]]:
    """The problems, those of one field that each expect another plain type as one."""
    kinds: dict[str, list[str]] = {}
    for kind, problem in problems:
        if kind in _PLAIN:
            kinds.setdefault(problem.path, []).append(kind)
    joined: list[tuple[str, Problem]] = []
    for kind, problem in problems:
        several = kinds.get(problem.path, []) if kind in _PLAIN else []
        if len(several) > 1 and kind != several[0]:
            continue
        if len(several) > 1:
            expected = " or ".join(_WRONG_SHAPE[one].removeprefix("expected ") for one in dict.fromkeys(several))
            message = problem.message.replace(_WRONG_SHAPE[kind], f"expected {expected}")
            joined.append((kind, Problem(problem.path, message)))
        else:
            joined.append((kind, problem))
    return joined


class _Lines:
    """Where each field of a YAML document stands; refuses keys given twice, which YAML would silently drop."""

    def __init__(self, root: yaml.Node, source: str) -> None:
        self._lines: dict[str, int] = {}
        twice: list[Problem] = []
        self._walk(root, "", twice)
        if twice:
            raise ExperimentError(source, twice)

    def _walk(self, node: yaml.Node, path: str, twice: list[Problem]) -> None:
        self._lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                child = _join(path, str(key.value))
                if child in self._lines:
                    twice.append(Problem(child, "is given twice", key.start_mark.line + 1))
                self._lines[child] = key.start_mark.line + 1
                self._walk(value, child, twice)
        elif isinstance(node, yaml.SequenceNode):
            for index, value in enumerate(node.value):
                self._walk(value, f"{path}[{index}]", twice)

    def placed(self, problems: Sequence[Problem]) -> list[Problem]:
        """The problems with the line of their field, or of the nearest field around it."""
        return [Problem(problem.path, problem.message, self._line(problem.path)) for problem in problems]

    def _line(self, path: str) -> int:
        while path not in self._lines and path:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self._lines.get(path, 0)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _problem(details: ErrorDetails, data: Any) -> Problem:
    path, at = "", data
    for part in details["loc"]:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            # Unions put the name of the branch that was tried into the location: it is no field of the file.
            if not isinstance(at, Mapping) or (part not in at and details["type"] != "missing"):
                continue
            path = _join(path, part)
        at = _child(at, part)
    return Problem(path, _message(details))


def _child(at: Any, part: int | str) -> Any:
    if isinstance(at, Mapping):
        return at.get(part)
    if isinstance(at, Sequence) and not isinstance(at, str) and isinstance(part, int) and part < len(at):
        return at[part]
    return None


def _message(details: ErrorDetails) -> str:
    found = details["input"]
    match details["type"]:
        case "missing":
            return "is required"
        case "extra_forbidden":
            allowed = _fields_around(details["loc"])
            written = str(details["loc"][-1])
            meant = [name for name, kind in fault_kinds().items() if written in kind.ALSO_CALLED and name in allowed]
            near = meant or get_close_matches(written, allowed, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            return f"unknown field{hint}" + (f" (allowed here: {', '.join(allowed)})" if allowed else "")
        case "one_of" | "one_cluster" | "direction" | "not":
            return details["msg"]
        case "literal_error":
            return f"expected {details['ctx']['expected']}; found {_show(found)}"
        case "value_error":
            return f"{details['ctx']['error']}; found {_show(found)}"
        case kind if kind in _WRONG_SHAPE:
            return f"{_WRONG_SHAPE[kind]}; found {_show(found)}{_quoting(found) if kind == 'string_type' else ''}"
        case "string_pattern_mismatch":
            return f"expected {EXPECTED[details['ctx']['pattern']]}; found {_show(found)}"
        case _:
            text = details["msg"]
            return f"{text[0].lower()}{text[1:]}; found {_show(found)}"


def _quoting(found: Any) -> str:
    """A hint where text was expected, and YAML read what is not quoted as something else."""
    if isinstance(found, bool):
        return "; quote it if it is text: YAML reads on, yes, off and no as true and false"
    return f"; quote it if it is text: '{found}'" if isinstance(found, (int, float)) else ""


def _show(found: Any) -> str:
    text = repr(found)
    return text if len(text) <= _KEPT else f"{text[: _KEPT - 1]}…"


def _fields_around(loc: tuple[int | str, ...]) -> list[str]:
    """The fields that the model at ``loc``'s parent allows, by walking the models along the location."""
    model: Any = ChaosExperiment
    for part in loc[:-1]:
        if isinstance(part, int) or model is None:
            continue
        model.model_rebuild()  # a model that was not needed yet may name others that it has not looked up
        field = next((f for name, f in model.model_fields.items() if (f.alias or name) == part), None)
        if field is not None:
            model = _model_in(field.annotation)
        else:
            model = next((m for m in _models_in(model) if m.__name__ == part), model)
    return [field.alias or name for name, field in model.model_fields.items()] if model is not None else []


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if annotation is Inject:
        return [with_all_kinds()]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_in(part)]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    models = _models_in(annotation)
    return models[0] if models else None
