"""``--metrics`` and ``--grafana``: how a command can be watched from outside while it works."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from highwater_chaos.cli.exits import UsageError
from highwater_chaos.monitoring import Annotations, MetricsServer, address_of, grafana_url

Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="HOST:PORT",
        show_default=False,
        help="Serve /metrics for Prometheus here during the run. Port 0: any free one.",
    ),
]
Grafana = Annotated[
    str | None,
    typer.Option(
        "--grafana",
        metavar="URL",
        envvar="HIGHWATER_GRAFANA_URL",
        show_default=False,
        help="Annotate faults and verdicts in this Grafana. Its token: HIGHWATER_GRAFANA_TOKEN.",
    ),
]
_TOKEN = "HIGHWATER_GRAFANA_TOKEN"  # noqa: S105 - its name


@contextmanager
def annotated(option: str | None) -> Iterator[Annotations | None]:
    """What annotates the Grafana of ``--grafana``; None where that was not given. Raises :class:`UsageError`."""
    if option is None:
        yield None
        return
    try:
        url = grafana_url(option)
    except ValueError as error:
        raise UsageError(f"--grafana: {error}") from error
    token = os.environ.get(_TOKEN, "").strip()
    if not token.isascii() or not token.isprintable():
        raise UsageError(f"{_TOKEN}: expected a token, found other characters than ASCII's printable ones")
    with Annotations(url, token or None, lambda text: print(f"highwater: {text}", file=sys.stderr)) as made:
        yield made


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
