"""Refusals, as a Kubernetes API server words them: programs decide by code and reason, people by message."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

Json = dict[str, Any]


class ApiError(Exception):
    """A ``metav1.Status`` of a failure; HTTP writes it as the response."""

    def __init__(
        self, code: int, reason: str, message: str, details: Json | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.retry_after = retry_after

    def status(self) -> Json:
        details = self.details | ({} if self.retry_after is None else {"retryAfterSeconds": self.retry_after})
        made = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": self.message}
        return made | {"reason": self.reason, "code": self.code} | ({"details": details} if details else {})


class FieldError(NamedTuple):
    """One mistake in one field."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def shown(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def invalid_value(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def required(field: str) -> FieldError:
    return FieldError("FieldValueRequired", field, "Required value")


def forbidden_field(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, f"Forbidden: {detail}")


def about(code: int, reason: str, group: str, resource: str, name: str, detail: str) -> ApiError:
    """An error that names an object; ``resource`` is a plural or a kind."""
    qualified = f"{resource}.{group}" if group else resource
    details = {key: value for key, value in (("name", name), ("group", group), ("kind", resource)) if value}
    return ApiError(code, reason, detail.format(f'{qualified} "{name}"' if name else qualified), details)


def not_found(group: str, plural: str, name: str) -> ApiError:
    return about(404, "NotFound", group, plural, name, "{} not found")


def no_such_page() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def conflict(group: str, plural: str, name: str, detail: str = "") -> ApiError:
    """A precondition does not hold; by default the ``resourceVersion``."""
    detail = detail or ("the object has been modified; please apply your changes to the latest version and try again")
    return about(409, "Conflict", group, plural, name, "Operation cannot be fulfilled on {}: " + detail)


def invalid(group: str, kind: str, name: str, errors: list[FieldError]) -> ApiError:
    texts = [str(error) for error in errors]
    error = about(422, "Invalid", group, kind, name, "{} is invalid: ")
    error.message += texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    error.details["causes"] = [{"reason": one.reason, "message": one.message, "field": one.field} for one in errors]
    return error


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def expired(message: str) -> ApiError:
    """The history that was asked for has been compacted."""
    return ApiError(410, "Expired", message)
