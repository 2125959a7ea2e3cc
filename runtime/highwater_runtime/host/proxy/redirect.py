"""Brings what arrives at a port of this network namespace to the proxy's: nftables' ``tproxy``.

Nothing of a packet is changed, and no connection is tracked: a connection has the same two ends as without. Cuts act
before (at a lower priority). While the proxy does not listen, a connection is refused, even if the node listens; only
the proxy itself reaches the node, by the mark of its packets.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import Final

OWN_MARK: Final = 0x48570001
"""Of the proxy's packets to its node."""
_TAKEN_MARK: Final = 0x48570002


def redirect(port: int, to: int) -> None:
    """Let the proxy that listens on ``to`` get the connections to ``port``, in the place of earlier ones.

    Raises:
        OSError: with the reason; root is needed, and ``nft``.
    """
    program = shutil.which("nft", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise OSError("nft is not installed; install the Debian package nftables")
    done = subprocess.run(  # noqa: S603
        [program, "-f", "-"], input=ruleset(port, to), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise OSError(f"connections to port {port} cannot be redirected: nft: {done.stderr.strip()}")


def ruleset(port: int, to: int) -> str:
    """The rules, as a file of nft that may be loaded again."""
    table = f"inet highwater_proxy_{port}"
    return f"""\
table {table} {{}}
delete table {table}
table {table} {{
  chain arriving {{
    type filter hook prerouting priority mangle; policy accept;
    tcp dport {port} meta mark != {OWN_MARK} tproxy to :{to} meta mark set {_TAKEN_MARK}
  }}
  chain refused {{
    type filter hook input priority mangle; policy accept;
    tcp dport {port} tcp flags & (syn | ack) == syn meta mark != {{ {OWN_MARK}, {_TAKEN_MARK} }} reject with tcp reset
  }}
}}
"""
