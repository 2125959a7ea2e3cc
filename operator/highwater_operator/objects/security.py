"""``spec.security``: how nodes meet each other and their clients, in Kafka's own properties.

Nodes meet each other by mutual TLS, on listeners of their own: INTERNAL of brokers, CONTROLLER of controllers. All have
the same subject, so none is a stranger to another. Clients use CLIENTS: TLS and SASL, with one user.

Whatever is secret is in Secrets: the files of nodes, which are in ConfigMaps otherwise, too.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from highwater_chaos.apache_kafka.versions import metadata_parts, release_parts
from highwater_chaos.backends.local.properties import render_properties
from highwater_operator.objects.identity import Identity
from highwater_operator.objects.naming import (
    CLIENT_PORT,
    CONTROLLER_PORT,
    INTERNAL_PORT,
    Owner,
    Role,
    bootstrap_name,
    host_of,
    metadata_of,
    pod_name,
    service_name,
)

CONFIG_PATH: Final = "/etc/highwater"
CLIENT_FILE: Final = "client.properties"
CONTROLLERS_FILE: Final = "controllers.properties"
CREDENTIALS_FILE: Final = "credentials"
USER: Final = "client"
_CA: Final = "ca.pem"
_MODULES: Final = "org.apache.kafka.common.security"
_SCRAM_SINCE: Final = (3, 5, 0)
"""``kafka-storage format --add-scram`` (KIP-900)."""
_SCRAM_METADATA: Final = "3.5-IV2"
OWN_PREFIXES: Final = ("ssl.", "sasl.", "listener.name.", "highwater.scram.", "super.users", "authorizer.class.name")
"""Properties that are the operator's to set on a cluster with ``spec.security``."""


def identity_name(owner: Owner) -> str:
    """Of the Secret from which all others are made."""
    return f"{owner.name}-identity"


def client_secret_name(owner: Owner) -> str:
    """Of the Secret for clients."""
    return f"{owner.name}-client"


def harness_secret_name(owner: Owner) -> str:
    """Of the Secret for runners."""
    return f"{owner.name}-harness"


def secret_names(owner: Owner) -> tuple[str, ...]:
    """Names of all Secrets but that of the identity."""
    roles: tuple[Role, ...] = ("controller", "broker")
    files = tuple(files_secret_name(owner, role) for role in roles)
    return (*files, client_secret_name(owner), harness_secret_name(owner))


def files_secret_name(owner: Owner, role: Role) -> str:
    """Of the Secret with the files of a role's pods."""
    return f"{owner.name}-{role}"


def dns_names(owner: Owner, role: Role, index: int) -> tuple[str, ...]:
    """Every name by which a pod is reached."""
    domain = f"{owner.namespace}.svc"
    pod = f"{pod_name(owner, role, index)}.{service_name(owner, role)}"
    names = [host_of(owner, role, index), f"{pod}.{domain}.cluster.local", f"{pod}.{owner.namespace}", pod]
    if role == "broker":
        bootstrap = bootstrap_name(owner)
        names += [f"{bootstrap}.{domain}", f"{bootstrap}.{domain}.cluster.local"]
        names += [f"{bootstrap}.{owner.namespace}", bootstrap]
    return tuple(names)


def why_not(owner: Owner) -> str | None:
    """Why the cluster cannot have what ``spec.security`` asks for; None: it can."""
    spec = owner.spec
    if spec.security is None:
        return None
    if spec.mode == "zookeeper":
        return "mode zookeeper has no TLS between brokers and ZooKeeper servers: give mode kraft, or leave it out"
    if ours := sorted(name for name in spec.config if name.startswith(OWN_PREFIXES)):
        return f"with it, {', '.join(ours)} in config are the operator's to set: leave them out"
    return _why_no_scram(owner, spec.security.mechanism)


def _why_no_scram(owner: Owner, mechanism: str) -> str | None:
    spec = owner.spec
    if not mechanism.startswith("SCRAM"):
        return None
    if spec.kafka is not None and release_parts(spec.kafka) < _SCRAM_SINCE:
        return (
            f"mechanism: {mechanism} needs Apache Kafka 3.5.0 or later (KIP-900), found {spec.kafka}; this release can"
            " have mechanism: PLAIN for clients, and mutual TLS between nodes"
        )
    first = spec.first_metadata_version
    if first is not None and metadata_parts(first) < metadata_parts(_SCRAM_METADATA):
        return f"mechanism: {mechanism} needs metadataVersion {_SCRAM_METADATA} or later, found {first}; or give PLAIN"
    return None


# --- nodes ---


def node_security(owner: Owner, role: Role, index: int) -> dict[str, str | int | bool]:
    """The properties of a node, beside those of a node without security and in place of them; none is secret."""
    security = owner.spec.security
    if security is None:
        return {}
    host = host_of(owner, role, index)
    listeners = (
        {"CLIENTS": CLIENT_PORT, "INTERNAL": INTERNAL_PORT} if role == "broker" else {"CONTROLLER": CONTROLLER_PORT}
    )
    keystore = f"{CONFIG_PATH}/{pod_name(owner, role, index)}.pem"
    properties: dict[str, str | int | bool] = {
        "listeners": ",".join(f"{name}://0.0.0.0:{port}" for name, port in listeners.items()),
        "listener.security.protocol.map": "CLIENTS:SASL_SSL,INTERNAL:SSL,CONTROLLER:SSL",
        "controller.listener.names": "CONTROLLER",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": keystore,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{CONFIG_PATH}/{_CA}",
    }
    if role == "controller":
        return {**properties, "listener.name.controller.ssl.client.auth": "required"}
    clients = "listener.name.clients"
    properties |= {
        "advertised.listeners": ",".join(f"{name}://{host}:{port}" for name, port in listeners.items()),
        "inter.broker.listener.name": "INTERNAL",
        "listener.name.internal.ssl.client.auth": "required",
        f"{clients}.sasl.enabled.mechanisms": security.mechanism,
    }
    if security.mechanism != "PLAIN":
        jaas = f"{_MODULES}.scram.ScramLoginModule required;"
        properties[f"{clients}.{security.mechanism.lower()}.sasl.jaas.config"] = jaas
    return properties


def files_secret(owner: Owner, role: Role, files: Mapping[str, str]) -> dict[str, Any]:
    """What the pods of a role read: properties (``files``), keys and certificates of all of them."""
    identity = identity_of(owner)
    secret = _secret_properties(owner, role, identity)
    stem = f"{files_secret_name(owner, role)}-"
    data = {name: (text + render_properties(secret)).encode() for name, text in files.items()}
    data |= {f"{pod}.pem": pem for pod, pem in identity.keystores.items() if f"{pod}.properties" in files}
    assert all(name.startswith(stem) for name in data)
    data[_CA] = identity.trusted
    if owner.spec.kafka is not None and (credentials := _credentials(owner, identity)) is not None:
        data[CREDENTIALS_FILE] = credentials.encode()
    return _secret(owner, files_secret_name(owner, role), data, role)


def _secret_properties(owner: Owner, role: Role, identity: Identity) -> dict[str, str]:
    security = owner.spec.security
    assert security is not None
    if security.mechanism == "PLAIN":
        module = f'{_MODULES}.plain.PlainLoginModule required user_{USER}="{identity.password}";'
        return {"listener.name.clients.plain.sasl.jaas.config": module} if role == "broker" else {}
    credentials = _credentials(owner, identity)
    return {} if owner.spec.kafka is not None or credentials is None else {"highwater.scram.bootstrap": credentials}


def _credentials(owner: Owner, identity: Identity) -> str | None:
    """As ``kafka-storage format --add-scram`` takes it; None: users of the mechanism are in the nodes' properties."""
    security = owner.spec.security
    assert security is not None
    if security.mechanism == "PLAIN":
        return None
    return f"{security.mechanism}=[name={USER},password={identity.password}]"


# --- clients ---


def client_secret(owner: Owner) -> dict[str, Any]:
    """What clients need: Kafka's client properties, and the same by itself for clients that take no such file."""
    identity = identity_of(owner)
    data = {
        CLIENT_FILE: client_properties(owner).encode(),
        "ca.crt": identity.trusted,
        "username": USER.encode(),
        "password": identity.password.encode(),
    }
    return _secret(owner, client_secret_name(owner), data)


def harness_secret(owner: Owner) -> dict[str, Any]:
    """What runners of experiments need: to meet brokers as clients do, and controllers by a certificate."""
    data = {CLIENT_FILE: client_properties(owner).encode(), CONTROLLERS_FILE: controllers_properties(owner).encode()}
    return _secret(owner, harness_secret_name(owner), data)


def client_properties(owner: Owner) -> str:
    """Kafka's client properties for brokers."""
    identity, security = identity_of(owner), owner.spec.security
    assert security is not None
    module = "plain.PlainLoginModule" if security.mechanism == "PLAIN" else "scram.ScramLoginModule"
    login = f'{_MODULES}.{module} required username="{USER}" password="{identity.password}";'
    return render_properties(
        {
            "bootstrap.servers": f"{bootstrap_name(owner)}.{owner.namespace}.svc:{CLIENT_PORT}",
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": identity.trusted.decode(),
            "sasl.mechanism": security.mechanism,
            "sasl.jaas.config": login,
        }
    )


def controllers_properties(owner: Owner) -> str:
    """Kafka's client properties for controllers."""
    identity = identity_of(owner)
    key, _, chain = identity.harness.decode().partition("-----BEGIN CERTIFICATE-----")
    return render_properties(
        {
            "security.protocol": "SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": identity.trusted.decode(),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": key,
            "ssl.keystore.certificate.chain": f"-----BEGIN CERTIFICATE-----{chain}",
        }
    )


def client_policy(owner: Owner, own: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Who reaches the brokers' listeners: other nodes INTERNAL, and clients CLIENTS. ``own``: pods of the cluster, and
    operator and runners."""
    security = owner.spec.security
    assert security is not None
    peers = security.network_policy_peers
    named = [one.model_dump(by_alias=True, exclude_none=True) for one in peers or []]
    clients = [{"podSelector": {}}] if peers is None else named
    return [
        {"from": [*own, *clients], "ports": [{"port": CLIENT_PORT, "protocol": "TCP"}]},
        {"from": own[:1], "ports": [{"port": INTERNAL_PORT, "protocol": "TCP"}]},
    ]


def identity_of(owner: Owner) -> Identity:
    """That of a cluster with ``spec.security``, once there is one."""
    assert owner.identity is not None, "made before any object of the cluster"
    return owner.identity


def identity_secret(owner: Owner, data: Mapping[str, bytes]) -> dict[str, Any]:
    """The Secret from which all others are made."""
    return _secret(owner, identity_name(owner), data)


def _secret(owner: Owner, name: str, data: Mapping[str, bytes], role: Role | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata_of(owner, name, role),
        "type": "Opaque",
        "data": {key: b64encode(content).decode() for key, content in sorted(data.items())},
    }
