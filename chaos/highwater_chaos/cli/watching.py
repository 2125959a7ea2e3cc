"""``--metrics``: where a command serves ``/metrics`` while it works."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from highwater_chaos.cli.exits import UsageError
from highwater_chaos.monitoring import MetricsServer, address_of

Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="HOST:PORT",
        show_default=False,
        help="Serve /metrics for Prometheus here while it goes on. Port 0: any free one.",
    ),
]


@contextmanager
def served(option: str | None, exposition: Callable[[], bytes]) -> Iterator[None]:
    """Serve what ``exposition`` returns at the address of ``--metrics``; nothing where that was not given.

    At the end a Prometheus that has been scraping gets to see the last values. Raises :class:`UsageError`.
    """
    if option is None:
        yield
        return
    try:
        server = MetricsServer(address_of(option), exposition)
    except ValueError as error:
        raise UsageError(f"--metrics: {error}") from error
    except (OSError, OverflowError) as error:
        raise UsageError(f"--metrics {option}: cannot listen there: {error}; choose another address") from error
    with server:
        print(f"highwater: metrics on {server.url}", file=sys.stderr)
        yield
        server.wait_for_scrape()
