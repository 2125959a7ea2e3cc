"""What is wrong with what the user gave, as opposed to what is wrong with the harness."""

from __future__ import annotations


class UserError(Exception):
    """It cannot be done as given. The message says all that the user needs to know."""
