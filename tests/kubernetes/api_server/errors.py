"""Refusals, as a Kubernetes API server words them.

Clients decide by ``code`` and ``reason``, people by ``message``: both follow ``k8s.io/apimachinery/pkg/api/errors``.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

Json = dict[str, Any]


class ApiError(Exception):
    """A ``metav1.Status`` of kind failure, thrown by whatever finds the fault and written by the HTTP side."""

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
        """The body of the answer."""
        details = dict(self.details)
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.code,
        }


class FieldError(NamedTuple):
    """One thing wrong with one field (``field.Error``)."""

    reason: str
    """``FieldValueRequired``, ``FieldValueInvalid`` …"""
    field: str
    message: str
    """Without the field."""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def shown(value: Any) -> str:
    """A value as error messages print it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def invalid_value(field: str, value: Any, detail: str) -> FieldError:
    """``spec.a: Invalid value: 3: detail``."""
    return FieldError("FieldValueInvalid", field, f"Invalid value: {shown(value)}: {detail}")


def required(field: str, detail: str = "") -> FieldError:
    """``spec.a: Required value``."""
    return FieldError("FieldValueRequired", field, "Required value" + (f": {detail}" if detail else ""))


def forbidden_field(field: str, detail: str) -> FieldError:
    """``spec: Forbidden: detail``."""
    return FieldError("FieldValueForbidden", field, f"Forbidden: {detail}")


def duplicate(field: str, value: Any) -> FieldError:
    """``spec.list[1]: Duplicate value: …``."""
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def qualified(group: str, plural: str) -> str:
    """``logclusters.highwater.dev``; plain ``pods`` in the core group."""
    return f"{plural}.{group}" if group else plural


def _details(group: str, kind: str, name: str) -> Json:
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}


def not_found(group: str, plural: str, name: str) -> ApiError:
    """404 for an object."""
    return ApiError(404, "NotFound", f'{qualified(group, plural)} "{name}" not found', _details(group, plural, name))


def no_such_page() -> ApiError:
    """404 for a resource type or path that is not served."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def already_exists(group: str, plural: str, name: str) -> ApiError:
    """409 on create."""
    message = f'{qualified(group, plural)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(group, plural, name))


def conflict(group: str, plural: str, name: str, detail: str) -> ApiError:
    """409 on a precondition."""
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {detail}'
    return ApiError(409, "Conflict", message, _details(group, plural, name))


def modified_meanwhile(group: str, plural: str, name: str) -> ApiError:
    """409 for a resourceVersion that is not the stored one."""
    return conflict(
        group,
        plural,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )


def invalid(group: str, kind: str, name: str, errors: list[FieldError]) -> ApiError:
    """422 with every cause."""
    texts = [str(error) for error in errors]
    said = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    causes = [{"reason": error.reason, "message": error.message, "field": error.field} for error in errors]
    message = f'{qualified(group, kind)} "{name}" is invalid: {said}'
    return ApiError(422, "Invalid", message, {**_details(group, kind, name), "causes": causes})


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def forbidden(group: str, plural: str, name: str, detail: str) -> ApiError:
    """403."""
    subject = f'{qualified(group, plural)} "{name}"' if name else qualified(group, plural)
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {detail}", _details(group, plural, name))


def expired(message: str) -> ApiError:
    """410: the past that was asked for has been compacted away."""
    return ApiError(410, "Expired", message)


def method_not_allowed(group: str, plural: str) -> ApiError:
    """405."""
    return ApiError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        _details(group, plural, ""),
    )


def unsupported_media(accepted: str, got: str) -> ApiError:
    """415 for a patch of an unknown type."""
    return ApiError(
        415,
        "UnsupportedMediaType",
        f"the body of the request was in an unknown format - accepted media types include: {accepted} (found {got!r})",
    )
