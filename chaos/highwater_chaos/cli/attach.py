"""The options of ``run --backend attach``, and the runs that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.plan import Planned, commands_of
from highwater_chaos.experiment import ExperimentError
from highwater_chaos.experiment.attached import load_attached, topics_named
from highwater_chaos.schedule.capability import missing_capabilities

if TYPE_CHECKING:
    from highwater_chaos.backends.attach.backend import AttachBackend
    from highwater_chaos.backends.attach.discovery import Found
    from highwater_chaos.backends.attach.session import Access

Bootstrap = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT[,HOST:PORT]", show_default=False, help="With --backend attach: brokers of the cluster."
    ),
]
ClientConfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", show_default=False, help="With --backend attach: Kafka's client properties, for TLS and SASL."
    ),
]


@dataclass(frozen=True, slots=True)
class Attachment:
    """The cluster that a command runs on."""

    access: Access
    found: Found

    def backend(self, commands_in: Path | None = None) -> AttachBackend:
        """A fresh backend for one run. ``commands_in``: as in a plan."""
        from highwater_chaos.backends.attach.backend import AttachBackend  # noqa: PLC0415 - a backend brings much

        backend = AttachBackend(self.access, self.found)
        backend.commands_in = commands_in
        return backend


def attached(
    files: Sequence[Path],
    seed: int | None,
    bootstrap: str | None,
    client_config: Path | None,
    *,
    allow_external: bool = False,
) -> tuple[Attachment, list[Planned]]:
    """Look at the cluster, and validate every run before the first one starts.

    Raises:
        UserError: the cluster cannot be reached, or a file cannot run there.
    """
    from highwater_chaos.backends.attach.discovery import discover  # noqa: PLC0415 - a backend brings much with it
    from highwater_chaos.backends.attach.session import Access  # noqa: PLC0415

    access = Access.of(bootstrap, client_config)
    topics = {file: topics_named(file) for file in files}
    found = discover(access, sorted({name for names in topics.values() for name in names}))
    attachment = Attachment(access, found)
    planned: list[Planned] = []
    errors: list[str] = []
    for file in files:
        commands_in = commands_of(file, allowed=allow_external)
        try:
            experiment = load_attached(file, found.cluster_id, list(found.brokers), found.voters, found.config)
        except ExperimentError as error:
            errors.append(str(error))
            continue
        errors += [
            f"{file}: {problem}" for problem in missing_capabilities(experiment, attachment.backend(commands_in))
        ]
        errors += [
            f"{file}: topic {name!r} exists already in cluster {found.cluster_id}. A run uses and deletes only topics"
            " that it has created: give the topic another name in the file"
            for name in topics[file]
            if name in found.taken
        ]
        planned.append(Planned(experiment.with_seed_and_switches(seed, {}), {}, commands_in))
    if errors:
        raise UsageError("\n".join(errors))
    return attachment, planned
