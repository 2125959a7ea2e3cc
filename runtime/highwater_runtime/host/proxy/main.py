"""``python -m highwater_runtime.host.proxy.main``: the proxy of one node, alone or as the node's launcher.

With a command behind ``--`` it starts the node, and both are one: a signal that asks the proxy to stop goes to the
node, the proxy ends as the node has ended, and the node is killed if the proxy is.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from highwater_runtime.host.logs import configure
from highwater_runtime.host.process.control_socket import ControlSocket, RuleMethods
from highwater_runtime.host.proxy.redirect import OWN_MARK, redirect
from highwater_runtime.host.proxy.server import ProxyNode
from highwater_runtime.host.proxy.sources import Peer, Sources
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.framing import MAX_FRAME_BYTES

_PR_SET_PDEATHSIG: Final = 1
_CANNOT_RUN: Final = 1
_LAST_WORDS_S: Final = 0.5
"""How long what a node has sent before its end may take to reach its peers."""
_STOPS: Final = (signal.SIGTERM, signal.SIGINT)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until the node has ended, or until a signal; then end as the node did."""
    options = _options(sys.argv[1:] if arguments is None else list(arguments))
    configure("text", component="proxy")
    _raise_limit_of_descriptors()
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            status = runner.run(_run(options))
    except OSError as error:
        sys.stderr.write(f"the proxy of {options.node} cannot run: {error}\n")
        status = _CANNOT_RUN
    sys.stderr.flush()
    end_as(status)


def _options(arguments: list[str]) -> argparse.Namespace:
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m highwater_runtime.host.proxy.main",
        usage="%(prog)s [options] [-- COMMAND ...]",
        description="Hold, drop, delay and duplicate messages of Kafka's protocol in front of a node.",
    )
    parser.add_argument("--node", required=True, metavar="NAME", help="the node, as rules name it")
    parser.add_argument("--target", required=True, type=_endpoint, metavar="HOST:PORT", help="where the node listens")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--listen", type=_endpoint, metavar="HOST:PORT", help="where peers connect instead")
    where.add_argument(
        "--redirect", action="store_true", help="take the connections to the node's own port (nftables; root)"
    )
    parser.add_argument("--control", type=Path, metavar="PATH", help="the control socket")
    parser.add_argument(
        "--peer", type=Peer.parse, action="append", default=[], metavar="NAME=ID@HOST", help="a node of the cluster"
    )
    parser.add_argument(
        "--spare", action="append", default=[], metavar="CLIENT_ID", help="a client whose messages are never touched"
    )
    parser.add_argument(
        "--largest-request", type=int, default=MAX_FRAME_BYTES, metavar="BYTES", help="the node's own bound"
    )
    options = parser.parse_args(arguments[:cut])
    options.command = arguments[cut + 1 :]
    return options


def _endpoint(text: str) -> Endpoint:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"expected HOST:PORT, found {text!r}")
    return Endpoint(host.strip("[]"), int(port))


async def _run(options: argparse.Namespace) -> int:
    """Returns the exit status; negative: the signal."""
    anywhere = Endpoint("::" if ":" in options.target.host else "0.0.0.0", 0)  # noqa: S104 - redirected packets only
    node = ProxyNode(
        options.node,
        anywhere if options.redirect else options.listen,
        options.target,
        sources=Sources(options.peer, options.spare),
        mark=OWN_MARK if options.redirect else 0,
        largest_request=options.largest_request,
    )
    server = node.server
    server.bind()
    if options.redirect:
        (bound,) = server.bound.values()
        redirect(options.target.port, bound.port)
    rules = RuleMethods(server.interference)
    control = ControlSocket(
        node.log,
        {
            "ping": lambda _: {"node": node.name},
            "addRule": rules.add,
            "ruleMatches": rules.matches,
            "removeRule": rules.remove,
            "dropRule": rules.drop,
            "hasRule": lambda params: rules.has(params["key"]),
        },
    )
    if options.control is not None:
        await control.start(options.control)
    follow = node.loop.create_task(server.follow())
    try:
        if options.command:
            return await _with_child(node, follow, options.command)
        return await _alone(node, follow)
    finally:
        follow.cancel()
        control.close()
        server.close(after_output=False)


async def _alone(node: ProxyNode, follow: asyncio.Task[None]) -> int:
    stopped = asyncio.Event()
    for number in _STOPS:
        node.loop.add_signal_handler(number, stopped.set)
    waiting = node.loop.create_task(stopped.wait())
    await asyncio.wait((waiting, node.failed, follow), return_when=asyncio.FIRST_COMPLETED)
    return 0 if waiting.done() else _CANNOT_RUN


async def _with_child(node: ProxyNode, follow: asyncio.Task[None], command: Sequence[str]) -> int:
    child = subprocess.Popen(list(command), preexec_fn=_dies_with(os.getpid()))  # noqa: PLW1509, S603 - one thread
    for number in _STOPS:
        node.loop.add_signal_handler(number, child.send_signal, signal.SIGTERM)
    ended: asyncio.Future[None] = node.loop.create_future()
    descriptor = os.pidfd_open(child.pid)
    node.loop.add_reader(descriptor, _noting(ended))
    try:
        await asyncio.wait((ended, node.failed, follow), return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            # Not by a status of its own: that would be taken for the node's, and its end for a finding.
            child.kill()
            child.wait()
            return -signal.SIGKILL
        await _last_words(node)
        return child.wait()
    finally:
        node.loop.remove_reader(descriptor)
        os.close(descriptor)


def _noting(ended: asyncio.Future[None]) -> Callable[[], None]:
    def note() -> None:
        if not ended.done():
            ended.set_result(None)

    return note


async def _last_words(node: ProxyNode) -> None:
    """The node is gone, and its connections end: let their peers have what it sent before."""
    node.server.stop_accepting()
    deadline = node.loop.time() + _LAST_WORDS_S
    while node.server.connections and node.loop.time() < deadline:
        await asyncio.sleep(0.002)


def end_as(status: int) -> None:
    """End this process as another one did: with its status, or by its signal (negative)."""
    if status < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _dies_with(parent: int) -> Callable[[], None]:
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def between_fork_and_exec() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)

    return between_fork_and_exec


def _raise_limit_of_descriptors() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 - optional
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


if __name__ == "__main__":
    main()
