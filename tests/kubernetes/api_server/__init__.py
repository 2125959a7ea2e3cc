"""A stand-in for a Kubernetes API server: real HTTP on loopback, no cluster behind it.

For tests of what talks to Kubernetes. It keeps the promises that clients rely on (resource versions, watches that
resume, patch types, field ownership, finalizers, garbage collection, validation of custom resources), breaks them on
request (``faults``), and remembers who asked for what (``rbac``). ``world`` adds the controllers and the node that make
pods run.
"""

from .errors import ApiError
from .faults import Fault
from .http_request import Asked
from .rbac import Grant, User
from .server import ApiServer

__all__ = ["ApiError", "ApiServer", "Asked", "Fault", "Grant", "User"]
