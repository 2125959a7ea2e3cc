"""The services on a Unix socket, which only root can open: the kubelet and the sidecars."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import grpc

from highwater_chaos.machine.errors import MachineError
from highwater_operator.agent.csi import csi_pb2 as csi
from highwater_operator.agent.csi.claims import Claims
from highwater_operator.agent.csi.controller import Controller
from highwater_operator.agent.csi.node import Identity, Node
from highwater_operator.agent.refusals import RefusalError

_THREADS: Final = 8
_MOST_CALLS: Final = 64
_LONGEST_PATH: Final = 100
_ENDS_WITHIN: Final = 2.0
_CODES: Final = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    404: grpc.StatusCode.NOT_FOUND,
    409: grpc.StatusCode.ALREADY_EXISTS,
    412: grpc.StatusCode.FAILED_PRECONDITION,
    416: grpc.StatusCode.OUT_OF_RANGE,
    422: grpc.StatusCode.OUT_OF_RANGE,
    423: grpc.StatusCode.ABORTED,
    503: grpc.StatusCode.UNAVAILABLE,
    507: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
_WORDS: Final = re.compile(r"(?<!^)(?=[A-Z])")
_NO_EXPANSION: Final = (
    "a volume of this class keeps the size that it was made with: its image is allocated once, and nothing on it is"
    " meant to be kept; make a larger claim"
)


class CsiServer:
    """``note`` hears of each call that was refused or failed."""

    def __init__(self, claims: Claims, node: str, version: str, note: Callable[[str, str | None], None]) -> None:
        self._note = note
        self._server = grpc.server(
            ThreadPoolExecutor(_THREADS, thread_name_prefix="csi"), maximum_concurrent_rpcs=_MOST_CALLS
        )
        services = {"Identity": Identity(version), "Controller": Controller(claims, node), "Node": Node(claims, node)}
        self._server.add_generic_rpc_handlers([self._handlers(name, service) for name, service in services.items()])

    def start(self, socket: Path) -> None:
        """Listen. Raises ``MachineError`` for a path that cannot be."""
        if len(str(socket)) > _LONGEST_PATH:
            raise MachineError(f"{socket} is no path of a socket: expected at most {_LONGEST_PATH} characters")
        socket.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        socket.unlink(missing_ok=True)  # of the agent before this one
        self._server.add_insecure_port(f"unix:{socket}")
        socket.chmod(0o600)
        self._server.start()

    def stop(self) -> None:
        """Listen no more; calls that have begun may end."""
        self._server.stop(_ENDS_WITHIN).wait()

    def _handlers(self, name: str, service: object) -> Any:
        descriptor = csi.DESCRIPTOR.services_by_name[name]
        methods = {}
        for method in descriptor.methods:
            call = getattr(service, _WORDS.sub("_", method.name).lower(), None)
            if call is None and not method.name.endswith("ExpandVolume"):
                continue  # gRPC says that it is not implemented
            methods[method.name] = grpc.unary_unary_rpc_method_handler(
                self._answer(method.name, call or _refuse_expansion),
                request_deserializer=getattr(csi, method.input_type.name).FromString,
                response_serializer=getattr(csi, method.output_type.name).SerializeToString,
            )
        return grpc.method_handlers_generic_handler(descriptor.full_name, methods)

    def _answer(self, name: str, call: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        def answer(request: Any, context: Any) -> Any:
            try:
                response = call(request)
            except RefusalError as refusal:
                code = _CODES.get(refusal.status, grpc.StatusCode.INTERNAL)
                text = f"{refusal}: expected {refusal.body['expected']}, found {refusal.body['found']}"
            except NotImplementedError as error:
                code, text = grpc.StatusCode.UNIMPLEMENTED, str(error)
            except Exception as error:  # the caller hears it, and tries again
                code, text = grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}"
            else:
                self._note(f"csi {name}", None)
                return response
            self._note(f"csi {name}", f"{code.name}: {text}")
            return context.abort(code, text[:1000])

        return answer


def _refuse_expansion(request: object) -> None:
    del request
    raise NotImplementedError(_NO_EXPANSION)
