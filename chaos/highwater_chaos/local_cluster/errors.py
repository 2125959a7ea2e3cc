"""Why a local cluster cannot be brought up, found or taken down. Each message says what to do."""

from __future__ import annotations


class LocalClusterError(Exception):
    """What was asked for cannot be done; nothing was left half-done."""
