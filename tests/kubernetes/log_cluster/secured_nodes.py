"""Real nodes of a LogCluster with ``spec.security``: what the pods' Secrets say, with nothing changed but where a node
listens and where its files are.

Each pod has a loopback address of its own. Names of pods and Services are known to the node processes (by
``sitecustomize``) and, inside :func:`names_known`, to the test.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from log_cluster.real_nodes import RealNodes, _written

from highwater_operator.objects.naming import ADMIN_PORT
from highwater_runtime.ports import Endpoint

SITE = """
import json, os, pathlib, socket
_real, _names = socket.getaddrinfo, pathlib.Path(os.environ["HIGHWATER_TEST_NAMES"])

def getaddrinfo(host, port, *args, **kwargs):
    text = host.decode() if isinstance(host, bytes) else host
    return _real(json.loads(_names.read_text()).get(text, host), port, *args, **kwargs)

socket.getaddrinfo = getaddrinfo
"""
_POD = re.compile(r"([a-z0-9-]+)-(broker|controller)-(\d+)")


class SecuredNodes(RealNodes):
    """See the module."""

    def __init__(self, api: Any, folder: Path, *more: Any) -> None:
        super().__init__(api, folder, *more)
        self.names_file = folder / "names.json"
        self._site = folder / "site"
        self._site.mkdir()
        (self._site / "sitecustomize.py").write_text(SITE)
        self._net = 64 + os.getpid() % 128
        names: dict[str, str] = {}
        for role, last in (("controller", 5), ("broker", 9)):
            for index in range(last):
                pod = f"demo-{role}-{index}"
                names[f"{pod}.demo-{role}s.default.svc"] = self.address(pod)
        names["demo-bootstrap.default.svc"] = self.address("demo-broker-0")
        self.names = names
        self.names_file.write_text(json.dumps(names))
        self._hosts = folder / "hosts"
        self._hosts.write_text("".join(f"{address} {name}\n" for name, address in names.items()))

    def address(self, pod: str) -> str:
        found = _POD.fullmatch(pod)
        assert found is not None
        return f"127.{self._net}.{1 if found[2] == 'controller' else 2}.{int(found[3]) + 1}"

    def at(self, endpoint: Endpoint) -> Endpoint:
        """What a certificate names stays; who asks for it does so inside :meth:`names_known`."""
        if endpoint.port == ADMIN_PORT:
            return Endpoint("127.0.0.1", self._port(f"{endpoint.host.partition('.')[0]}.admin"))
        return endpoint

    def environment(self, pod: str) -> dict[str, str]:
        path = os.pathsep.join((str(self._site), os.environ.get("PYTHONPATH", "")))
        java = f"-Djdk.net.hosts.file={self._hosts}"
        names = {"HIGHWATER_TEST_NAMES": str(self.names_file), "JAVA_TOOL_OPTIONS": java}
        return {**super().environment(pod), "PYTHONPATH": path, **names}

    def files(self, pod: Any, home: Path) -> str:
        """Write what the pod mounts; returns its properties."""
        metadata = pod["metadata"]
        volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
        secret = volumes["config"]["secret"]["secretName"]
        found = self._api.get("v1", "Secret", secret, metadata["namespace"])
        for name, content in found["data"].items():
            (home / name).write_bytes(b64decode(content))
        text = (home / f"{metadata['name']}.properties").read_text()
        text = text.replace("/etc/highwater/", f"{home}/")
        return re.sub(
            r"^listeners=.*$",
            lambda line: line[0].replace("0.0.0.0", self.address(metadata["name"])),
            text,
            flags=re.MULTILINE,
        )

    def _program(self, pod: Any, admin: int) -> list[str]:
        (container,) = pod["spec"]["containers"]
        if container["command"] != ["highwater-kafka"]:
            return super()._program(pod, admin)
        name = pod["metadata"]["name"]
        home = self._folder / name
        home.mkdir(exist_ok=True)
        config = _written(home / "node.properties", self.files(pod, home), {"log.dirs": str(home / "data")})
        elsewhere = {"--admin": f"http://127.0.0.1:{admin}", "--trace": str(home / "events.jsonl")}
        arguments = [str(config)]
        given = iter(container["args"][1:])
        for option, value in zip(given, given, strict=True):
            if option not in ("--hold-files", "--wait-for"):
                here = elsewhere.get(option, value.replace("$(POD_NAME)", name))
                arguments += [option, here.replace("/etc/highwater/", f"{home}/")]
        return ["highwater_operator.apache_kafka.main", *arguments]

    def _node_config(self, pod: Any, home: Path, admin: int) -> Path:
        here = {
            "log.dirs": str(home / "data"),
            "highwater.trace.path": str(home / "events.jsonl"),
            "highwater.control.path": str(home / "control.sock"),
            "highwater.admin.listener": f"http://127.0.0.1:{admin}",
        }
        return _written(home / "node.properties", self.files(pod, home), here)

    @contextlib.contextmanager
    def names_known(self) -> Iterator[None]:
        """In this process too, and in those that it starts."""
        real = socket.getaddrinfo

        def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
            return real(self.names.get(host, host), *args, **kwargs)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(socket, "getaddrinfo", getaddrinfo)
            for name in ("PYTHONPATH", "HIGHWATER_TEST_NAMES"):
                patched.setenv(name, self.environment("")[name])
            yield
