"""Standard output whose reader may go away, as in ``highwater run … | head -1``, or whose disk may be full; and stderr.

Without a reader the runs go on and are kept, and the exit status says what they came to; only output without a reader
is dropped. Output that was to be kept and is not is an error: what branches on it must not take its beginning for all.
A failed write to stderr fails no run.
"""

from __future__ import annotations

import os
from io import TextIOBase
from typing import TextIO

from highwater_chaos.cli.exits import UsageError


class PipeSafeOutput(TextIOBase):
    """Writes to ``stream`` until its reader has gone. ``None`` (it was closed): nothing is written.

    Raises :class:`UsageError` once if a stream that ``matters`` takes no more for another reason.
    """

    def __init__(self, stream: TextIO | None, *, matters: bool) -> None:
        self._stream = stream
        self._matters = matters

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        if self._stream is None:
            raise OSError("it is closed")
        return self._stream.fileno()

    def write(self, text: str, /) -> int:
        """Write ``text``, or drop it."""
        if self._stream is not None:
            try:
                return self._stream.write(text)
            except OSError as error:
                self._forget(error)
        return len(text)

    def flush(self) -> None:
        """Hand on what is buffered, or drop it."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except OSError as error:
                self._forget(error)

    def _forget(self, error: OSError) -> None:
        # Python flushes the stream once more when it exits; that must find a reader.
        assert self._stream is not None
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
        self._stream = None
        if self._matters and not isinstance(error, BrokenPipeError):
            raise UsageError(
                f"standard output: cannot be written: {error.strerror or error}; what had been printed is not whole"
            ) from error
