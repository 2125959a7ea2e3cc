"""Coordination between nodes, with the semantics of Apache ZooKeeper: a tree of small nodes, sessions, watches.

What a core may rely on, and what it may not:

* **Sessions.** A session lives until it is closed, or until the ensemble has not heard from it for its time-out and
  ends it. Nobody else ends it: a client that is cut off does not know whether its session still lives. Ephemeral nodes
  vanish with their session, in the transaction that ends it.
* **Order.** Operations of one session take effect in the order of :meth:`Session.submit`, and results come in that
  order. Writes of all sessions have one order, that of their *zxid*.
* **Reads may be old.** Any server answers them from what it has applied. A session never reads an older state than it
  has read before, on whichever server; it always reads its own writes.
* **Watches** fire once. A client gets the event of a watch before the result of any read that shows the change.
  A watch that is left when the connection breaks is *lost*: read again once connected.
* **Connection loss.** The outcome of an operation that was under way is unknown.

Each operation is a value (:class:`Create`, :class:`Get`, …) that names the type of its result. Failures are values too.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from msgspec import Struct

R = TypeVar("R")

ANY_VERSION: Final = -1
"""Instead of a version: write whatever the node's version is."""

MAX_REQUEST_BYTES: Final = 0xFFFFF
"""A server that gets a larger request closes the connection (``jute.maxbuffer``). Split larger data."""


class Failure(Enum):
    """Why an operation did not succeed. All but ``CONNECTION_LOSS`` mean that it has changed nothing."""

    NO_NODE = "no-node"
    """The node, or the parent of one to be created, does not exist."""
    NODE_EXISTS = "node-exists"
    BAD_VERSION = "bad-version"
    NOT_EMPTY = "not-empty"
    """The node to be deleted has children."""
    NO_CHILDREN_FOR_EPHEMERALS = "no-children-for-ephemerals"
    BAD_ARGUMENTS = "bad-arguments"
    """The root cannot be deleted."""
    CONNECTION_LOSS = "connection-loss"
    """The outcome is unknown."""
    SESSION_EXPIRED = "session-expired"


class Stat(Struct, frozen=True, tag="stat"):
    """Metadata of a node. Times are zxids."""

    czxid: int
    """Zxid of its creation. A node that is created again has another one."""
    mzxid: int
    """Zxid of the last change of its data."""
    pzxid: int
    """Zxid of the last creation or deletion of a child; at first that of its own creation."""
    version: int
    """Number of changes of its data."""
    cversion: int
    """Number of creations and deletions of children."""
    ephemeral_owner: int
    """Id of the session whose end deletes it (ephemeral node); 0: none."""
    children: int


class Created(Struct, frozen=True, tag="created"):
    """Path of the created node; that of a sequential node ends in its number."""

    path: str
    stat: Stat


class Data(Struct, frozen=True, tag="data"):
    """A node's data."""

    data: bytes
    stat: Stat


class Listing(Struct, frozen=True, tag="listing"):
    """Names (not paths) of a node's children, ascending, and the node's own stat."""

    names: tuple[str, ...]
    stat: Stat


class Aborted(Struct, frozen=True, tag="aborted"):
    """A multi changed nothing, because its operation at ``index`` failed."""

    index: int
    failure: Failure


class Operation(Struct, Generic[R], frozen=True):
    """One operation of a session on the tree. Its result is an ``R`` or a :class:`Failure`.

    Raises:
        ValueError: a path that cannot be one.
    """

    path: str

    def __post_init__(self) -> None:
        check_path(self.path)


class Create(Operation[Created], frozen=True, tag="create"):
    """Create a node under one that exists. A ``sequential`` one gets ten digits behind its path, ascending under the
    same parent; of such a one the path may end in a slash."""

    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False

    def __post_init__(self) -> None:
        check_path(self.path + "0" if self.sequential else self.path)


class Get(Operation[Data], frozen=True, tag="get"):
    """Read a node's data."""


class Set(Operation[Stat], frozen=True, tag="set"):
    """Replace a node's data, if ``version`` is the node's."""

    data: bytes
    version: int = ANY_VERSION


class Delete(Operation[None], frozen=True, tag="delete"):
    """Delete a node without children, if ``version`` is the node's."""

    version: int = ANY_VERSION


class Exists(Operation["Stat | None"], frozen=True, tag="exists"):
    """Read a node's stat. The result is None if there is no such node; a watch then waits for its creation."""


class Children(Operation[Listing], frozen=True, tag="children"):
    """List a node's children."""


class Check(Operation[None], frozen=True, tag="check"):
    """Within a multi: fail unless the node exists and has ``version``."""

    version: int = ANY_VERSION


Step: TypeAlias = Create | Set | Delete | Check
StepResult: TypeAlias = str | Stat | None
"""Results of the steps: the path of a Create (ZooKeeper returns no stat here), the stat of a Set."""


class Multi(Operation["tuple[StepResult, ...] | Aborted"], frozen=True, tag="multi"):
    """Carry out all ``steps`` in their order, in one transaction, or none of them. ``path`` means nothing."""

    path: str = "/"
    steps: tuple[Step, ...] = ()


AnyOperation: TypeAlias = Create | Get | Set | Delete | Exists | Children | Check | Multi
Result: TypeAlias = Created | Data | Listing | Stat | Aborted | Failure | tuple[StepResult, ...] | None

WATCHABLE: Final = (Get, Exists, Children)
"""Operations that may set a watch. Those of Get and Exists fire when the node is created, changed or deleted; that of
Children when a child is created or deleted, or the node is deleted."""


class WatchKind(Enum):
    """The event that ended a watch."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    CHILDREN = "children"
    """A child was created or deleted."""
    LOST = "lost"
    """The connection broke or the session ended: later changes are not reported."""


class WatchEvent(Struct, frozen=True):
    """The only event of a watch on ``path``."""

    kind: WatchKind
    path: str


class SessionEvent(Enum):
    """A change of a session's state. By then the operations under way have failed, and the watches are lost."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    """The connection broke; another one is being sought. Whether the session still lives is unknown."""
    EXPIRED = "expired"
    """The ensemble has ended the session. Its last event."""


class SessionKey(NamedTuple):
    """What another process needs to take over a session."""

    id: int
    password: bytes


class Session(Protocol):
    """One session of this node. Callbacks are events of the node; none runs before the call that it belongs to has
    returned."""

    @property
    def key(self) -> SessionKey | None:
        """Return its id and password; None before it was connected for the first time."""

    def submit(
        self,
        operation: Operation[R],
        on_result: Callable[[R | Failure], None],
        *,
        watch: Callable[[WatchEvent], None] | None = None,
    ) -> None:
        """Carry out ``operation``. Call ``on_result`` once, unless the node dies.

        While the session is not connected the result is CONNECTION_LOSS, once it is over SESSION_EXPIRED. ``watch`` is
        set if the read succeeds (an Exists of no node does), and called once.

        Raises:
            ValueError: a watch of an operation that is not :data:`WATCHABLE`; a Check outside a multi.
        """

    def close(self, on_closed: Callable[[], None]) -> None:
        """End the session, and its ephemeral nodes with it, as soon as what was submitted is done.

        Without a connection the ensemble gets no request: the session then lives until it expires. There are no
        further events, and watches end silently.
        """


class Coordination(Protocol):
    """Opens sessions with an ensemble."""

    def open(
        self, timeout_ms: int, on_event: Callable[[SessionEvent], None], *, key: SessionKey | None = None
    ) -> Session:
        """Begin a session, or take over that of ``key``. The first event says that it is connected, or EXPIRED.

        The ensemble may bound ``timeout_ms``. Connecting is tried for ever.
        """


def parent_of(path: str) -> str:
    """Return the parent of a path that is not the root's."""
    return path[: path.rindex("/")] or "/"


def check_path(path: str) -> None:
    """Raise ValueError unless ``path`` is absolute and plain: ``/``, or ``/a/b`` without empty names, dots or
    control characters."""
    if path == "/":
        return
    names = path.split("/")
    plain = names[0] == "" and len(names) > 1 and all(name not in ("", ".", "..") for name in names[1:])
    if not plain or not path.isprintable():
        raise ValueError(f"path {path!r} must be absolute, without empty names, '.', '..' or control characters")


def check_submitted(operation: Operation[Any], *, watched: bool) -> None:
    """Raise ValueError if :meth:`Session.submit` must refuse the operation."""
    if watched and not isinstance(operation, WATCHABLE):
        raise ValueError(f"only Get, Exists and Children set a watch, not {type(operation).__name__}")
    if isinstance(operation, Check):
        raise ValueError("a Check is a step of a multi, not an operation of its own")
