"""Files as kubectl reads and sends them."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
import yaml

Json = dict[str, Any]
PLURALS = {"ChaosExperiment": "chaosexperiments", "LogCluster": "logclusters"}


class KubectlLoader(yaml.CSafeLoader):
    """YAML 1.1 as kubectl's reader has it (``sigs.k8s.io/yaml`` 1.6), which differs from PyYAML's: ``y`` and ``n`` are
    truth values, ``1e3`` is a number, ``1:30`` and dates are text."""


def _resolvers() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    left_out = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    kept = {
        first: [(tag, pattern) for tag, pattern in found if tag not in left_out]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    whole = re.compile(r"^[-+]?(0b[0-1_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|0)$")
    broken = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
    for first in "-+0123456789.":
        kept.setdefault(first, []).extend([("tag:yaml.org,2002:int", whole), ("tag:yaml.org,2002:float", broken)])
    for first in "yYnN":
        kept.setdefault(first, []).append(("tag:yaml.org,2002:bool", re.compile("^[yYnN]$")))
    return kept


def _truth(loader: KubectlLoader, node: yaml.ScalarNode) -> bool:
    return node.value.lower() in ("y", "yes", "true", "on")


def _number(loader: KubectlLoader, node: yaml.ScalarNode) -> float:
    # JSON has one kind of number: 1000.0 arrives as 1000.
    found = float(node.value)
    return int(found) if found.is_integer() else found


KubectlLoader.yaml_implicit_resolvers = _resolvers()
KubectlLoader.add_constructor("tag:yaml.org,2002:bool", _truth)
KubectlLoader.add_constructor("tag:yaml.org,2002:float", _number)


def as_kubectl_reads(text: str) -> Any:
    """What kubectl sends: keys become text, as JSON has no others."""
    return json.loads(json.dumps(yaml.load(text, KubectlLoader), allow_nan=False))


def _send(method: str, url: str, body: Json, content_type: str) -> tuple[int, Json]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": content_type}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status), json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def url_of(api: Any, kind: str) -> str:
    """Where objects of a kind are."""
    return f"{api.url}/apis/highwater.dev/v1alpha1/namespaces/default/{PLURALS[kind]}"


@pytest.fixture
def submit(kube_api: Any) -> Callable[..., tuple[int, Json]]:
    """As ``kubectl create``: unknown fields are refused, too. Status and answer."""

    def send(made: Json) -> tuple[int, Json]:
        return _send("POST", f"{url_of(kube_api, made['kind'])}?fieldValidation=Strict", made, "application/json")

    return send


@pytest.fixture
def change_spec(kube_api: Any) -> Callable[..., tuple[int, Json]]:
    """As ``kubectl patch --type=merge``. Status and answer."""

    def send(kind: str, name: str, spec: Json) -> tuple[int, Json]:
        return _send("PATCH", f"{url_of(kube_api, kind)}/{name}", {"spec": spec}, "application/merge-patch+json")

    return send
