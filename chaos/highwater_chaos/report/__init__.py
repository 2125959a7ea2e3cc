"""``report.html``: the verdict in a sentence, each lost record's story, and the run on one timeline.

What draws a page loads on first use: to judge a run again does without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from highwater_chaos.report.files import BadRunFileError

if TYPE_CHECKING:
    from highwater_chaos.report.page import write_report

__all__ = ["BadRunFileError", "write_report"]


def __getattr__(name: str) -> Any:
    if name != "write_report":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from highwater_chaos.report import page  # noqa: PLC0415 - see above

    return page.write_report
