"""The tree as PromQL again: to show a part of an expression, or to ask a Prometheus for it."""

from __future__ import annotations

import math

from highwater_chaos.promql.language import (
    NAME,
    Aggregate,
    Binary,
    Call,
    Expression,
    Matching,
    Negated,
    Number,
    Range,
    Selector,
)


def text_of(expression: Expression | Range) -> str:
    """PromQL that means the same."""
    match expression:
        case Number(value=value):
            return _number(value)
        case Selector():
            return _selector(expression) + _offset(expression)
        case Range(selector=selector, range_ms=length):
            return f"{_selector(selector)}[{_duration(length)}]{_offset(selector)}"
        case Call(function=function, argument=argument):
            return f"{function}({text_of(argument)})"
        case Aggregate(op=op, inner=inner, labels=labels, without=without):
            kept = f" {'without' if without else 'by'} ({', '.join(labels)})" if labels or without else ""
            return f"{op}{kept} ({text_of(inner)})" if kept else f"{op}({text_of(inner)})"
        case Negated(inner=inner):
            return f"-{_operand(inner)}"
        case Binary(op=op, left=left, right=right):
            bool_ = " bool" if expression.return_bool else ""
            return f"{_operand(left)} {op}{bool_}{_matching(expression.matching)} {_operand(right)}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)


def _operand(expression: Expression) -> str:
    text = text_of(expression)
    return f"({text})" if isinstance(expression, Binary | Negated) else text


def _selector(selector: Selector) -> str:
    name = next((one.value for one in selector.matchers if (one.name, one.op) == (NAME, "=") and _plain(one.value)), "")
    others = [
        f"{one.name}{one.op}{_quoted(one.value)}"
        for one in selector.matchers
        if (one.name, one.op, one.value) != (NAME, "=", name)
    ]
    return f"{name}{{{', '.join(others)}}}" if others or not name else name


def _plain(name: str) -> bool:
    return name.replace(":", "_").isidentifier() and name.isascii()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _offset(selector: Selector) -> str:
    if not selector.offset_ms:
        return ""
    return f" offset {'-' if selector.offset_ms < 0 else ''}{_duration(abs(selector.offset_ms))}"


def _duration(ms: int) -> str:
    return f"{ms // 1000}s" if ms % 1000 == 0 else f"{ms}ms"


def _matching(matching: Matching) -> str:
    text = ""
    if matching.on or matching.labels or matching.many != "neither":
        text = f" {'on' if matching.on else 'ignoring'} ({', '.join(matching.labels)})"
    if matching.many != "neither":
        text += f" group_{matching.many} ({', '.join(matching.include)})"
    return text
