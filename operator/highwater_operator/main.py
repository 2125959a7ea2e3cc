"""Serve the LogClusters and ChaosExperiments of one API server until SIGTERM (``highwater-operator``).

There is one process (one replica, ``Recreate``). All progress is stored in the API server, so the next process
continues.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, NoReturn

import aiohttp
import kopf
import kubernetes
from prometheus_client import start_http_server

from highwater_chaos.backends.kubernetes.agents import AgentSettings
from highwater_chaos.backends.kubernetes.journal import FINAL_PHASES
from highwater_chaos.kube.client import KubeError, NotFoundError, local_configuration
from highwater_chaos.kube.kinds import CHAOS_EXPERIMENT, LOG_CLUSTER, Json
from highwater_operator.certificates.keeper import CertificateSettings, keep_always
from highwater_operator.experiments.context import ExperimentContext, JudgingSettings, RunnerSettings
from highwater_operator.experiments.definitions import shortage
from highwater_operator.experiments.experiment import reconcile_experiment
from highwater_operator.handlers import chaos_experiments, log_clusters
from highwater_operator.kube import AsyncKube
from highwater_operator.metrics import REGISTRY
from highwater_operator.objects.agent_nodes import AgentNodes
from highwater_operator.objects.images import Images
from highwater_operator.reconcile.context import Context, now_utc
from highwater_operator.reconcile.events import publish_event
from highwater_operator.reconcile.log_cluster import reconcile
from highwater_operator.reconcile.queue import Queue
from highwater_operator.settings import configure
from highwater_runtime.log_lines import configure_json, log_event

LIVENESS: Final = "http://0.0.0.0:8080/healthz"
METRICS_PORT: Final = 9406
CANNOT_BEGIN: Final = 2
_ANSWERS_WITHIN: Final = 10.0
_DESCRIPTION: Final = (
    "Serve the LogClusters and ChaosExperiments of one API server until SIGTERM. All progress is stored in the API"
    " server: an operator that starts again continues. Run only one. Inside a pod the API server is that of its service"
    " account; elsewhere KUBECONFIG names it."
)
CHATTY: Final = ("aiohttp.access", "kopf.objects")
"""A line for each health probe, and for each event of a watch: reconciling reports its results itself."""

_log = logging.getLogger(__name__)


class CannotBeginError(Exception):
    """What the operator needs is not there; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Options:
    """``namespaces`` empty: the whole cluster. ``metrics_port`` None: not served, ``liveness`` None: neither."""

    namespaces: tuple[str, ...] = ()
    liveness: str | None = LIVENESS
    metrics_port: int | None = METRICS_PORT


def operator_registry(
    queue: Queue, experiments: Queue | None, configuration: kubernetes.client.Configuration
) -> kopf.OperatorRegistry:
    """All handlers, on a registry of their own."""
    registry = kopf.OperatorRegistry()

    @kopf.on.startup(registry=registry)
    async def begin(settings: kopf.OperatorSettings, **_: Any) -> None:
        configure(settings)
        queue.start()
        if experiments is not None:
            experiments.start()

    @kopf.on.cleanup(registry=registry)
    async def end(**_: Any) -> None:
        await queue.stop()
        if experiments is not None:
            await experiments.stop()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        return _connection(configuration)

    log_clusters.register(registry, queue)
    if experiments is not None:
        chaos_experiments.register(registry, experiments)
    return registry


async def operate(
    context: Context,
    options: Options,
    *,
    stop: asyncio.Event | None = None,
    ready: Callable[[], None] = lambda: None,
    experiments: ExperimentContext | None = None,
    certificates: CertificateSettings | None = None,
) -> None:
    """Serve until ``stop`` is set, or a signal comes. Without ``experiments`` none are run; without ``certificates``
    somebody else looks after the agents'.

    Raises:
        CannotBeginError: the CRDs are not installed, or the operator may not read them.
    """
    await _check(context.kube, options)
    queue = Queue(lambda key: reconcile(context, key.namespace, key.name))
    running = None if experiments is None else experiment_queue(experiments)
    registry = operator_registry(queue, running, context.kube.configuration)
    began = asyncio.Event()
    tasks = [asyncio.create_task(_tell(began, ready))]
    if certificates is not None:
        tasks.append(asyncio.create_task(keep_always(context.kube, certificates, now_utc)))
    try:
        await kopf.operator(
            registry=registry,
            settings=kopf.OperatorSettings(),
            standalone=True,
            clusterwide=not options.namespaces,
            namespaces=options.namespaces,
            liveness_endpoint=options.liveness,
            stop_flag=stop,
            ready_flag=began,
        )
    finally:
        for task in tasks:
            task.cancel()


def experiment_queue(context: ExperimentContext) -> Queue:
    """Looks at experiments one after the other, several at once."""
    return Queue(
        lambda key: reconcile_experiment(context, key.namespace, key.name), settle=0.05, kind=CHAOS_EXPERIMENT.kind
    )


async def _tell(began: asyncio.Event, ready: Callable[[], None]) -> None:
    await began.wait()
    ready()


async def _check(kube: AsyncKube, options: Options) -> None:
    """Whether there is something to serve, and whether the API server keeps what is written. Waits for an API server
    that is away."""
    served = await _served(kube, options)
    try:
        short = await shortage(kube)
    except KubeError as error:
        raise CannotBeginError(str(error)) from error
    if short is None:
        return
    until_then = "; until then experiments are refused" if short.refuses else ""
    log_event(_log, logging.ERROR, short.reason, message=f"{short.message}{until_then}")
    for one in served:
        if (one.get("status") or {}).get("phase") not in FINAL_PHASES:
            await publish_event(kube, one, "Warning", short.reason, short.message, now_utc(), once=True)


async def _served(kube: AsyncKube, options: Options) -> list[Json]:
    served: list[Json] = []
    for kind in (LOG_CLUSTER, CHAOS_EXPERIMENT):
        for namespace in options.namespaces or (None,):
            try:
                served += await kube.list(kind, namespace)
            except NotFoundError:
                raise CannotBeginError(
                    f"the API server does not know {kind.plural}.{kind.group}: apply manifests/base/crds first"
                ) from None
            except KubeError as error:
                raise CannotBeginError(str(error)) from error
    return served


def _connection(configuration: kubernetes.client.Configuration) -> kopf.ConnectionInfo:
    """For kopf what the official client has read, or reads again: tokens of service accounts expire."""
    token = configuration.get_api_key_with_prefix("BearerToken") or configuration.get_api_key_with_prefix(
        "authorization"
    )
    scheme, _, secret = (token or "").rpartition(" ")
    return kopf.ConnectionInfo(
        server=configuration.host,
        ca_path=configuration.ssl_ca_cert,
        insecure=not configuration.verify_ssl,
        token=secret or None,
        scheme=scheme or None,
        certificate_path=configuration.cert_file,
        private_key_path=configuration.key_file,
    )


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="highwater-operator", description=_DESCRIPTION)
    parser.add_argument(
        "--namespace",
        action="append",
        default=[],
        metavar="NAME",
        help="serve this namespace only; may be repeated (default: all namespaces)",
    )
    parser.add_argument(
        "--liveness",
        default=LIVENESS,
        metavar="URL",
        help="the URL on which to serve liveness probes (default: %(default)s)",
    )
    parser.add_argument(
        "--metrics-port",
        type=int,
        default=METRICS_PORT,
        metavar="PORT",
        help="serve /metrics on this port (default: %(default)s)",
    )
    parser.add_argument(
        "--log-format", choices=("json", "plain"), default="json", help="the format of the log (default: %(default)s)"
    )
    parser.add_argument(
        "--check",
        metavar="URL",
        help="check an installation instead of serving: whether an operator answers at this URL, and whether the"
        " definitions are those of this version; exit status 0 or 2",
    )
    parser.add_argument("--verbose", action="store_true", help="also log what succeeds, and what libraries log")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until SIGTERM. Exit with status 2 if that is not possible."""
    given = _arguments(argv)
    kopf.configure(
        debug=given.verbose, log_format=kopf.LogFormat.JSON if given.log_format == "json" else kopf.LogFormat.PLAIN
    )
    if given.log_format == "json":
        configure_json("operator", level=logging.getLogger().level)
    if not given.verbose:
        for name in CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)
    options = Options(tuple(given.namespace), given.liveness, given.metrics_port)
    try:
        configuration = local_configuration()
    except kubernetes.config.ConfigException as error:
        _cannot_begin(f"no API server is configured: {error} Set KUBECONFIG, or run in a pod with a service account")
    kube = AsyncKube(configuration)
    if given.check is not None:
        _check_installation(kube, options, given.check)
        return
    agents = AgentSettings.from_environment(os.environ)
    try:
        runners = RunnerSettings.from_environment(os.environ)
        judging = JudgingSettings.from_environment(os.environ)
        certificates = CertificateSettings.from_environment(os.environ)
        agent_nodes = AgentNodes.from_environment(os.environ)
    except ValueError as error:
        _cannot_begin(str(error))
    has_agents = os.environ.get("HIGHWATER_AGENTS") != "off"
    images = Images.from_environment(os.environ)
    context = Context(kube, images, has_agents=has_agents, agent_nodes=agent_nodes, system_namespace=runners.namespace)
    experiments = ExperimentContext(
        kube, runners, agents, judging=judging, namespaces=options.namespaces, has_agents=has_agents
    )
    if options.metrics_port is not None:
        start_http_server(options.metrics_port, registry=REGISTRY)
    try:
        asyncio.run(
            operate(context, options, experiments=experiments, certificates=certificates if has_agents else None)
        )
    except CannotBeginError as error:
        log_event(_log, logging.ERROR, "the operator cannot begin", error=str(error))
        sys.exit(CANNOT_BEGIN)
    finally:
        kube.close()


def _check_installation(kube: AsyncKube, options: Options, url: str) -> None:
    try:
        asyncio.run(_look_at_installation(kube, options, url))
    except CannotBeginError as error:
        _cannot_begin(str(error))
    finally:
        kube.close()
    sys.stdout.write("the operator answers, and the definitions are those of its version\n")


async def _look_at_installation(kube: AsyncKube, options: Options, url: str) -> None:
    """Raises ``CannotBeginError`` if something is not as it should be."""
    await _served(kube, options)
    try:
        short = await shortage(kube)
    except KubeError as error:
        raise CannotBeginError(str(error)) from error
    if short is not None:
        raise CannotBeginError(f"{short.reason}: {short.message}")
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_ANSWERS_WITHIN)) as session,
            session.get(url) as answer,
        ):
            if answer.status != HTTPStatus.OK:
                raise CannotBeginError(
                    f"the operator at {url} does not work: expected status 200, found {answer.status}"
                )
    except (aiohttp.ClientError, TimeoutError) as error:
        raise CannotBeginError(f"no operator answers at {url}: {error or type(error).__name__}") from error


def _cannot_begin(why: str) -> NoReturn:
    # Whoever starts it by hand reads this.
    sys.stderr.write(f"highwater-operator: {why}\n")
    sys.exit(CANNOT_BEGIN)


if __name__ == "__main__":
    main()
