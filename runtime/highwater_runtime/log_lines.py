"""The log lines of all programs: one event a line, as JSON for machines or as text for people.

An event is a few stable words; what belongs to it stands in fields. ``docs/logs.md`` has the schema. All text is
escaped, so that nobody who chooses a value can write a second line. (The guardian of a machine imports nothing of the
runtime, and makes its few lines itself.)
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, TextIO

FIXED: Final = ("time", "level", "component", "event")
"""Fields that every line has. No other field replaces them."""
_ABOUT: Final = ("namespace", "kind", "name")
_KOPF: Final = "k8s_ref"
_SENTENCES: Final = ("error", "message", "reason", "why")
_SUMMARY_LEAVES_OUT: Final = frozenset({*FIXED, *_ABOUT, "node", "pid", "traceback"})


def log_event(logger: logging.Logger, level: int, event: str, /, **fields: Any) -> None:
    """Log an event with its fields; those that are None are left out."""
    if logger.isEnabledFor(level):
        logger.log(level, event, extra={"fields": {name: one for name, one in fields.items() if one is not None}})


class JsonLines(logging.Formatter):
    """Makes lines of ``component``; ``context`` is in each of them, unless a line says otherwise."""

    def __init__(self, component: str, **context: Any) -> None:
        super().__init__()
        self._component = component
        self._context = context

    def format(self, record: logging.LogRecord) -> str:
        """One line, without its end."""
        return as_json(fields_of(record, self._component, self._context))


class TextLines(logging.Formatter):
    """Lines for people: time, level, who, event and key=value."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, or more if there is a traceback."""
        fields = "".join(f" {name}={_value(value)}" for name, value in getattr(record, "fields", {}).items())
        line = f"{_time(record)} {record.levelname:<7} {getattr(record, 'node', '-')} {record.getMessage()}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def fields_of(record: logging.LogRecord, component: str, context: dict[str, Any]) -> dict[str, Any]:
    """All fields of a record, in the order in which a line has them."""
    line: dict[str, Any] = {
        "time": _time(record),
        "level": record.levelname.lower(),
        "component": component,
        "event": record.getMessage(),
        **context,
    }
    if record.name == "py.warnings":  # several lines, of any text
        line |= {"event": "a library warns", "message": line["event"].strip()}
    if (node := getattr(record, "node", None)) is not None:
        line["node"] = node
    if about := getattr(record, _KOPF, None):
        line |= {name: about[name] for name in _ABOUT if about.get(name)}
    line |= {name: value for name, value in getattr(record, "fields", {}).items() if name not in FIXED}
    if record.exc_info:
        line["traceback"] = logging.Formatter().formatException(record.exc_info)
    return line


def as_json(line: dict[str, Any]) -> str:
    """The fields as one line of JSON, whatever their values are."""
    try:
        return json.dumps(line, default=str, allow_nan=False)
    except ValueError:  # a number that JSON does not have
        return json.dumps({name: str(value) for name, value in line.items()})


def configure_json(component: str, *, stream: TextIO | None = None, level: int = logging.INFO, **context: Any) -> None:
    """Send all logs of this process to ``stream`` (standard error) as JSON: those of libraries, warnings, and what ends
    a thread or the process without being caught."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonLines(component, **context))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(True)
    log_what_is_not_caught()


def log_what_is_not_caught() -> None:
    """Log what ends a thread or the process without being caught, in place of a traceback of several lines."""

    def ended(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt | SystemExit):
            return
        logging.getLogger("highwater").critical("not caught", exc_info=(kind, error, traceback))

    def thread_ended(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            ended(args.exc_type, args.exc_value, args.exc_traceback)

    sys.excepthook = ended
    threading.excepthook = thread_ended


def plain_text(line: str) -> str:
    """What a line says, for a sentence; a line that is not of this schema stays as it is."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return _end_of_traceback(line)
    if not isinstance(fields, dict) or not isinstance(fields.get("event"), str):
        return line
    more = [
        str(value) if name in _SENTENCES else f"{name} {value}"
        for name, value in fields.items()
        if name not in _SUMMARY_LEAVES_OUT
    ]
    if isinstance(traceback := fields.get("traceback"), str) and traceback.strip():
        more.append(traceback.strip().splitlines()[-1])
    return f"{fields['event']}: {'; '.join(more)}" if more else fields["event"]


def _end_of_traceback(line: str) -> str:
    """What is left of a line that was cut at its begin: a traceback comes last, and its last line is the cause."""
    _, newline, cause = line.removesuffix('"}').rpartition("\\n")
    return cause if newline and line.endswith('"}') else line


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _value(value: object) -> str:
    text = str(value)
    if text and text.isprintable() and not any(c in text for c in ' "='):
        return text
    return json.dumps(text)
