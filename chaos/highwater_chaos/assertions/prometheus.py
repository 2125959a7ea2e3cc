"""A Prometheus that scrapes the cluster, asked about the phases of a run.

Its answers become part of the run directory (``metrics/prometheus.json``), and assertions are judged by that file: so
a run can be judged again when the server is gone. What it did not answer is written down in the place of the answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from highwater_chaos.assertions.found import looked_into
from highwater_chaos.assertions.phases import Span
from highwater_chaos.base.quantities import format_duration
from highwater_chaos.experiment import Assertion, PrometheusServer
from highwater_chaos.promql.evaluate import Result
from highwater_chaos.promql.language import Expression, Selector, is_scalar, selectors
from highwater_chaos.promql.narrowing import narrowed
from highwater_chaos.promql.parse import parse
from highwater_chaos.promql.text import text_of
from highwater_chaos.promql.vectors import Sample

FILE: Final = Path("metrics") / "prometheus.json"
_STEP_MS: Final = 1_000
_MOST_POINTS: Final = 10_000
"""Fewer than Prometheus refuses to answer with for one series (11,000)."""
_LARGEST: Final = 64 * 1024 * 1024


class AnswersError(ValueError):
    """The server did not answer, or not with a result. The message has the query and the server's answer."""


class _SilentError(AnswersError):
    """There was no response: further requests are useless."""


class Question(msgspec.Struct, frozen=True):
    """What was asked of one span of run time, and the answer: ``data`` as Prometheus sends it, or ``error``."""

    promql: str
    start_ms: int
    end_ms: int
    step_ms: int
    data: dict[str, Any] | None = None
    error: str = ""


class Answers(msgspec.Struct, frozen=True):
    """The content of the file. ``began_unix_ms``: when run time began."""

    url: str
    began_unix_ms: int
    questions: list[Question]


def ask_prometheus(
    server: PrometheusServer, assertions: Sequence[Assertion], phases: Mapping[str, Span], began_unix_ms: int
) -> Answers:
    """Ask everything that judging may need; never raises for what the server does."""
    asked: dict[tuple[str, Span], Question] = {}
    silent = ""
    for assertion in assertions:
        span = phases.get(assertion.during)
        if span is None:
            continue
        for promql in _questions(asked_of(server, assertion)):
            if (promql, span) in asked:
                continue
            step = max(_STEP_MS, -(-(span.end_ms - span.start_ms) // _MOST_POINTS // 1000) * 1000)
            question = Question(promql, span.start_ms, span.end_ms, step)
            if not silent:
                try:
                    data = _ask(server, question, began_unix_ms)
                    asked[promql, span] = msgspec.structs.replace(question, data=data)
                    continue
                except _SilentError as error:
                    silent = str(error)
                except AnswersError as error:
                    asked[promql, span] = msgspec.structs.replace(question, error=str(error))
                    continue
            asked[promql, span] = msgspec.structs.replace(question, error=silent)
    return Answers(server.url, began_unix_ms, list(asked.values()))


def asked_of(server: PrometheusServer, assertion: Assertion) -> Expression:
    """An assertion's condition, of the series of its own cluster."""
    return narrowed(parse(assertion.promql), server.labels or {})


def write_answers(directory: Path, answers: Answers) -> None:
    """Keep them in a run directory."""
    (directory / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(answers), indent=1))


def read_answers(directory: Path) -> PrometheusAnswers:
    """The answers of a run directory.

    Raises:
        OSError: there are none.
        msgspec.DecodeError: the file is torn.
    """
    return PrometheusAnswers(msgspec.json.decode((directory / FILE).read_bytes(), type=Answers))


@dataclass(frozen=True)
class PrometheusAnswers:
    """What can be asked of the answers."""

    answers: Answers

    @property
    def name(self) -> str:
        """Return the name of the source of the series."""
        return f"prometheus {self.answers.url}"

    def instants(self, expression: Expression, span: Span) -> Sequence[int]:
        """Return each second of the phase (or as often as a server answers) at which all that the expression selects
        has been sampled in the phase. Before that the server returns an older sample, or none if it has not scraped
        yet. Raises :class:`AnswersError`."""
        step = next((one.step_ms for one in self.answers.questions if _span(one) == span), _STEP_MS)
        taken = [(self._values(_timestamp(one), span), self._earliest(one, span)) for one in selectors(expression)]
        return [
            at
            for at in range(span.start_ms, span.end_ms + 1, step)
            if all(
                at >= _first(times, earliest) and all(one.value >= earliest for one in times.get(at, ()))
                for times, earliest in taken
            )
        ]

    def at(self, expression: Expression, span: Span, time_ms: int) -> Result:
        """Return the value at that time. Raises :class:`AnswersError`."""
        found = self._values(text_of(expression), span).get(time_ms, [])
        if is_scalar(expression):
            return found[0].value if found else float("nan")
        return found

    def has_samples(self, selector: Selector, span: Span) -> bool:
        """Whether the server took a sample in the phase. Raises :class:`AnswersError`."""
        taken = self._values(_timestamp(selector), span)
        earliest = self._earliest(selector, span)
        return any(one.value >= earliest for found in taken.values() for one in found)

    def _earliest(self, selector: Selector, span: Span) -> float:
        return (self.answers.began_unix_ms + span.start_ms - selector.offset_ms) / 1000

    def metric_names(self) -> Sequence[str]:
        """They were not requested."""
        return ()

    @cached_property
    def _by_question(self) -> dict[tuple[str, Span], Question]:
        return {(one.promql, _span(one)): one for one in self.answers.questions}

    @cached_property
    def _read(self) -> dict[tuple[str, Span], dict[int, list[Sample]]]:
        return {}

    def _values(self, promql: str, span: Span) -> dict[int, list[Sample]]:
        question = self._by_question.get((promql, span))
        if question is None:
            raise AnswersError(f"{self.name} was not asked for {promql}")
        if question.error or question.data is None:
            raise AnswersError(question.error)
        if (promql, span) not in self._read:
            self._read[promql, span] = _samples(question.data, self.answers.began_unix_ms)
        return self._read[promql, span]


def _first(times: Mapping[int, Sequence[Sample]], earliest: float) -> float:
    """Return when the server first returned a sample since ``earliest``; −inf if it never did: then nothing waits."""
    return min((at for at, found in times.items() if any(one.value >= earliest for one in found)), default=-math.inf)


def _span(question: Question) -> Span:
    return Span(question.start_ms, question.end_ms)


def _questions(expression: Expression) -> Iterator[str]:
    """The condition, what it can be explained by, and when what it selects was sampled."""
    for one in looked_into(expression):
        yield text_of(one)
    for selector in selectors(expression):
        yield _timestamp(selector)
        yield _timestamp(selector.without_exclusions())


def _timestamp(selector: Selector) -> str:
    return f"timestamp({text_of(selector)})"


def _samples(data: Mapping[str, Any], began_unix_ms: int) -> dict[int, list[Sample]]:
    made: dict[int, list[Sample]] = {}
    for series in data["result"]:
        labels = tuple(sorted(series["metric"].items()))
        for at, value in series["values"]:
            made.setdefault(round(at * 1000) - began_unix_ms, []).append(Sample(labels, float(value)))
    return {at: sorted(found) for at, found in made.items()}


def _ask(server: PrometheusServer, question: Question, began_unix_ms: int) -> dict[str, Any]:
    # Imported here, with TLS and all that it takes: most runs have no server to ask.
    from http.client import HTTPException  # noqa: PLC0415
    from urllib.error import HTTPError  # noqa: PLC0415
    from urllib.request import Request, urlopen  # noqa: PLC0415

    what = f"Prometheus {server.url}, asked for {question.promql}"
    seconds = server.timeout / 1e9
    form = {
        "query": question.promql,
        "start": f"{(began_unix_ms + question.start_ms) / 1000:.3f}",
        "end": f"{(began_unix_ms + question.end_ms) / 1000:.3f}",
        "step": f"{question.step_ms / 1000:g}",
        "timeout": f"{server.timeout // 1_000_000}ms",
    }
    request = Request(  # noqa: S310 - the model lets nothing but http and https through
        f"{server.url.rstrip('/')}/api/v1/query_range", urlencode(form).encode()
    )
    try:
        with urlopen(request, timeout=seconds) as answer:  # noqa: S310
            content = answer.read(_LARGEST + 1)
    except HTTPError as error:
        with error:
            raise AnswersError(f"{what}: {error.code}: {_error_message(error.read(4096))}") from error
    except TimeoutError as error:
        raise _SilentError(f"{what}: no answer within {format_duration(server.timeout)}") from error
    except (OSError, HTTPException) as error:
        raise _SilentError(f"{what}: no answer: {getattr(error, 'reason', None) or error}") from error
    if len(content) > _LARGEST:
        raise AnswersError(f"{what}: the answer is larger than {_LARGEST} bytes")
    return _data(what, content)


def _data(what: str, content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
        data: dict[str, Any] = found["data"]
        status, warnings, kind = found["status"], found.get("warnings"), data["resultType"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise AnswersError(f"{what}: expected a result of its query API, found {content[:100]!r}") from error
    if status != "success" or kind != "matrix":
        raise AnswersError(f"{what}: expected a matrix, found {status} with {kind}")
    if warnings:
        raise AnswersError(f"{what}: answered with warnings, so that something may be missing: {'; '.join(warnings)}")
    return data


def _error_message(content: bytes) -> str:
    try:
        return str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return content[:300].decode(errors="replace").strip()
