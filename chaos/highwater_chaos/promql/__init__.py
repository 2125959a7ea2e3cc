"""PromQL over recorded samples: parsed by a parser of others, evaluated here, compared with Prometheus itself.

A stated part of the language (:data:`~highwater_chaos.promql.language.SUPPORTED`) with the semantics of Prometheus
2.55; anything else is refused by name before anything is evaluated. Imports nothing else of ours.

The evaluator is imported on first use, so an expression is parsed without NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from highwater_chaos.promql.language import (
    Aggregate,
    Binary,
    Call,
    Expression,
    Labels,
    Matcher,
    Negated,
    Number,
    PromqlError,
    Range,
    Selector,
    is_never_empty,
    is_scalar,
    parts,
    selectors,
)
from highwater_chaos.promql.narrowing import narrowed
from highwater_chaos.promql.parse import parse
from highwater_chaos.promql.text import text_of

if TYPE_CHECKING:
    from highwater_chaos.promql.evaluate import Evaluator, Result, holds
    from highwater_chaos.promql.series import Series, SeriesStore
    from highwater_chaos.promql.vectors import EvaluationError, Sample, show

__all__ = [
    "Aggregate",
    "Binary",
    "Call",
    "EvaluationError",
    "Evaluator",
    "Expression",
    "Labels",
    "Matcher",
    "Negated",
    "Number",
    "PromqlError",
    "Range",
    "Result",
    "Sample",
    "Selector",
    "Series",
    "SeriesStore",
    "holds",
    "is_never_empty",
    "is_scalar",
    "narrowed",
    "parse",
    "parts",
    "selectors",
    "show",
    "text_of",
]

_HOME = {
    "EvaluationError": "vectors",
    "Evaluator": "evaluate",
    "Result": "evaluate",
    "Sample": "vectors",
    "Series": "series",
    "SeriesStore": "series",
    "holds": "evaluate",
    "show": "vectors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
