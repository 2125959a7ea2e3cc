"""``report.html``: the verdict in a sentence, each lost record's story, and the run on one timeline."""

from highwater_chaos.report.files import BadRunFile
from highwater_chaos.report.page import write_report

__all__ = ["BadRunFile", "write_report"]
