"""A stand-in for a Kubernetes API server: real HTTP on loopback, no cluster behind it.

It does what the operator, the agent, the runner and the CLI ask of a server, and no more: what it does not know it
refuses loudly. It keeps the promises that they rely on (resource versions, watches that resume, server-side apply,
finalizers, garbage collection, validation of custom resources), breaks them on request (``faults``), and notes who
asked for what (``rbac``). ``world`` adds the controllers and the node that make pods run.
"""

from .errors import ApiError
from .faults import Fault
from .http_request import Asked
from .rbac import Grant, User
from .server import ApiServer

__all__ = ["ApiError", "ApiServer", "Asked", "Fault", "Grant", "User"]
