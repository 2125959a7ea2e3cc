"""The real Prometheus of the tests of assertions."""

from ..assertions.conftest import start_prometheus

__all__ = ["start_prometheus"]
