"""Network namespaces, named as ``ip netns`` names them, and running code inside one.

A namespace is marked by the alias of its loopback device: the directory of the run that it belongs to. So one whose
journal is lost can still be distinguished from all others.

Namespaces are per thread: a socket stays for good in the namespace of the thread that created it, and a program
started by a thread begins in that thread's namespace.

A namespace that another program made, a pod's, need not have a name. It is meant by what the kernel calls it,
``net:[4026532758]``, and entered through any process that lives in it; when there is none left, nothing of it is.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux, proc

NETNS: Final = Path("/run/netns")
FOREIGN: Final = "net:["
"""How the names of namespaces begin that were made by others."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Namespace:
    """The namespace ``name``, with loopback up and nothing else. ``run`` is the directory of the run it belongs to."""

    KIND: ClassVar[str] = "namespace"
    ALONE: ClassVar[bool] = True
    name: str
    run: str

    def make(self, _held: Sequence[int]) -> Self:
        """``ip netns add``, loopback up, marked."""
        if os.geteuid() != 0:
            raise MachineError(f"namespace {self.name}: only root may make network namespaces; run as root")
        _share_netns_directory()
        point = NETNS / self.name
        os.close(os.open(point, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444))

        def enter() -> None:
            linux.unshare(linux.CLONE_NEWNET)
            linux.mount(f"/proc/self/task/{threading.get_native_id()}/ns/net", point, "none", linux.MS_BIND)
            with_route(lambda route: route.link("set", index=1, state="up", ifalias=self.run))

        in_thread(enter)
        return self

    def undo(self) -> None:
        """``ip netns delete``. What lives in it (links, rules) goes with the last process that is inside."""
        point = NETNS / self.name
        while linux.mounted_at(point):
            linux.umount(point, linux.MNT_DETACH)
        point.unlink(missing_ok=True)

    def left(self) -> str | None:
        return f"namespace {self.name}" if (NETNS / self.name).exists() else None

    def describe(self) -> str:
        return f"network namespace {self.name}"


def in_namespace(name: str | None, call: Callable[[], T]) -> T:
    """Run ``call`` in a thread of its own inside the namespace ``name`` (None: where the caller is) and return what it
    returns, or raise what it raises."""
    if name is None:
        return call()

    def inside() -> T:
        enter_namespace(name)
        return call()

    return in_thread(inside)


def enter_namespace(name: str) -> None:
    """Move the calling thread, and no other, into the namespace ``name``, for good. For threads made for it."""
    place = place_of(name)
    try:
        if place is None:
            raise FileNotFoundError(name)
        fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise MachineError(f"there is no network namespace {name}") from error
    try:
        linux.setns(fd, linux.CLONE_NEWNET)
    finally:
        os.close(fd)


def place_of(name: str) -> Path | None:
    """Where the namespace ``name`` can be opened; None: it is not there (any more)."""
    if not name.startswith(FOREIGN):
        return NETNS / name if (NETNS / name).exists() else None
    for pid in proc.pids():
        if namespace_of(pid) == name:
            return Path(f"/proc/{pid}/ns/net")
    return None


def namespace_of(pid: int) -> str | None:
    """What the kernel calls the network namespace of a process (``net:[4026532758]``); None: the process is gone."""
    return proc.namespace_of(pid, "net")


def in_thread(call: Callable[[], T]) -> T:
    """Run ``call`` in a new thread, which may change what only it has, and wait for it."""
    result: list[T] = []
    failure: list[BaseException] = []

    def body() -> None:
        try:
            result.append(call())
        except BaseException as error:  # raised again in the thread that waits
            failure.append(error)

    thread = threading.Thread(target=body, name="highwater-namespace", daemon=True)
    thread.start()
    _finish(thread)
    if failure:
        raise failure[0]
    return result[0]


def _finish(thread: threading.Thread) -> None:
    # An interruption (Ctrl-C) is raised once the thread is through, not while it makes what is about to be undone.
    try:
        thread.join()
    except BaseException:
        _finish(thread)
        raise


def marked_for(name: str) -> str | None:
    """The run directory that a namespace is marked with; None: it is not one of ours."""

    def look() -> str | None:
        alias = with_route(lambda route: route.get_links(1)[0].get("ifalias"))
        return str(alias) if alias else None

    with suppress(MachineError, OSError):
        return in_namespace(name, look)
    return None


def with_route(call: Callable[[Any], T]) -> T:
    """Run ``call`` with a netlink connection to the network of the calling thread (a ``pyroute2.IPRoute``).

    Raises:
        MachineError: the kernel refused what was asked.
    """
    # Imported where needed: a guardian that has no namespaces to undo stays small and starts fast.
    from pyroute2 import IPRoute, NetlinkError  # noqa: PLC0415

    try:
        with IPRoute() as route:
            return call(route)
    except NetlinkError as error:
        raise MachineError(f"the kernel refused a change of the network: {error}") from error


def _share_netns_directory() -> None:
    # As `ip netns` does: names made here are seen, and can be taken away, in every mount namespace.
    NETNS.mkdir(parents=True, exist_ok=True)
    if NETNS not in linux.mount_points(NETNS):
        linux.mount(str(NETNS), NETNS, "none", linux.MS_BIND | linux.MS_REC)
    linux.mount("none", NETNS, "none", linux.MS_SHARED | linux.MS_REC)
