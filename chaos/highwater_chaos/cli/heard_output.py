"""Standard output whose reader may go away, as in ``highwater run … | head -1``.

The runs go on and are kept, and the exit status says what they came to; only output without a reader is dropped.
"""

from __future__ import annotations

import os
from io import TextIOBase
from typing import TextIO


class HeardOutput(TextIOBase):
    """Writes to ``stream`` until its reader has gone. ``None`` (standard output was closed): nothing is written."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def writable(self) -> bool:
        """Always."""
        return True

    def isatty(self) -> bool:
        """Whether a terminal reads."""
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        """The stream's descriptor."""
        if self._stream is None:
            raise OSError("standard output is closed")
        return self._stream.fileno()

    def write(self, text: str, /) -> int:
        """Write ``text``, or drop it."""
        if self._stream is not None:
            try:
                return self._stream.write(text)
            except BrokenPipeError:
                self._forget()
        return len(text)

    def flush(self) -> None:
        """Hand on what is buffered, or drop it."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except BrokenPipeError:
                self._forget()

    def _forget(self) -> None:
        # Python flushes the stream once more when it exits; that must find a reader.
        assert self._stream is not None
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        self._stream = None
