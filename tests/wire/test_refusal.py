"""Every request in every version can be refused: the answer fits the version and says so, wherever its place is."""

from __future__ import annotations

from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.refusal import refusal
from highwater_runtime.wire.registry import api_of

NO_PLACE = {"DescribeLogDirsRequest-v1", "DescribeLogDirsRequest-v2"}
"""Their answers have an error for each log directory only; an empty one says nothing of any."""


def _codes(value) -> list[int]:
    """Every error code in a message, however deep."""
    found = []
    for name in getattr(type(value), "__slots__", ()):
        inner = getattr(value, name)
        if name == "error_code":
            found.append(inner)
        for part in inner if isinstance(inner, list) else [inner]:
            found += _codes(part)
    return found


def test_every_request_can_be_refused(request_case, full_sample):
    case = request_case
    body = case.cls.decode(full_sample(case).encode(case.version), case.version)
    for message in (None, "not now"):
        answer = refusal(body, ErrorCode.REQUEST_TIMED_OUT, message, version=case.version)
        back = api_of(case.schema.key).response.decode(answer.encode(case.version), case.version)
        assert (int(ErrorCode.REQUEST_TIMED_OUT) in _codes(back)) == (str(case) not in NO_PLACE)


def test_a_request_for_nothing_can_be_refused(request_case):
    case = request_case
    answer = refusal(case.cls(), ErrorCode.INVALID_REQUEST, "no", version=case.version)
    api_of(case.schema.key).response.decode(answer.encode(case.version), case.version)
