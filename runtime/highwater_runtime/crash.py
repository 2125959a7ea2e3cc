"""What a host says of a core that raised: one event with the exception and its stack.

Two kinds of exceptions end a node without being a bug of it. A failing disk ends it by design
(:func:`is_disk_failure`): whether that is a finding depends on who made the disk fail, which the node cannot know.
Everything else is a *crash*, a :class:`NodeHaltError <highwater_runtime.ports.NodeHaltError>` included: the node
noticed that a promise was broken, which no run may pass over.

The text is the same for the same run on any machine: no addresses, and files are named from their package on. It is
bounded, and printable: it goes into JSON, XML and a page.
"""

from __future__ import annotations

import errno
import re
from traceback import TracebackException
from typing import Final

from highwater_runtime.ports.trace import NodeCrashed

MAX_STACK: Final = 8_000
"""Characters of a stack that are kept: its beginning and, mostly, its end."""
_MAX_REASON: Final = 500
_DISK_FAILURES: Final = frozenset({errno.EIO, errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EUCLEAN, errno.EFBIG})
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_FOLDER: Final = re.compile(r'(File ")/[^"\n]*?/((?:highwater_|tests/|python\d)[^"\n]*")')


def is_disk_failure(error: BaseException) -> bool:
    """Whether ``error`` is what a failing disk says; any other ``OSError`` that a core lets through is a bug."""
    return isinstance(error, OSError) and error.errno in _DISK_FAILURES


def crash_of(error: BaseException, event: str = "") -> NodeCrashed:
    """The event for a core that raised ``error``; ``event``: what the core was doing, where the host knows."""
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    reason = f"{what} (in event {event!r})" if event else what
    stack = "".join(TracebackException.from_exception(error).format())
    return NodeCrashed(reason=_stable(reason)[:_MAX_REASON], stack=_bounded(_stable(stack)))


def _stable(text: str) -> str:
    text = _ADDRESS.sub("0x…", _FOLDER.sub(r"\1\2", text))
    return "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text)


def _bounded(stack: str) -> str:
    if len(stack) <= MAX_STACK:
        return stack
    head, tail = MAX_STACK // 4, MAX_STACK - MAX_STACK // 4
    return f"{stack[:head]}\n… {len(stack) - MAX_STACK} characters left out …\n{stack[-tail:]}"
