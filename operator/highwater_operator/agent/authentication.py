"""Who may call: a caller that shows the token, ``Authorization: Bearer …``.

The token is a mounted Secret. It is read for every request, so that a Secret that was changed counts as soon as the
kubelet has brought it here; an empty or missing file lets no caller in.
"""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Final

from highwater_operator.agent.refusals import RefusalError

_SCHEME: Final = "bearer "
_SHORTEST: Final = 16


def authenticate(header: str, token_file: Path) -> None:
    """Raises ``RefusalError``: 401 without the token or with another; 503 where there is none to compare with."""
    try:
        token = token_file.read_bytes().strip()
    except OSError as error:
        raise RefusalError(503, "the agent has no token", expected=f"a file {token_file}", found=str(error)) from error
    if len(token) < _SHORTEST:
        raise RefusalError(
            503, "the agent's token is too short", expected=f"{_SHORTEST} bytes or more", found=f"{len(token)} bytes"
        )
    if not header.lower().startswith(_SCHEME):
        raise RefusalError(
            401, "no token", expected="Authorization: Bearer <token>", found="another scheme or no header"
        )
    shown = header[len(_SCHEME) :].strip().encode("utf-8", "surrogateescape")
    if not hmac.compare_digest(shown, token):
        raise RefusalError(401, "wrong token", expected="the token of the agent's Secret", found="another one")
