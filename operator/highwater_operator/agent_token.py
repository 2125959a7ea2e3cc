"""``python -m highwater_operator.agent_token``: makes the Secret that operator and agents share, once.

It runs as a Job whose only right is to create Secrets in its own namespace. A Secret that is there already stays as it
is: no token is ever in a repository, and applying the manifests again changes none.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence
from typing import Final

import kubernetes

from highwater_chaos.kube.client import ConflictError, Kube, KubeError, local_configuration

KEY: Final = "token"
_BYTES: Final = 32


def make_token(kube: Kube, namespace: str, name: str) -> bool:
    """Create Secret ``name`` with a random token; False where there is one.

    Raises:
        KubeError: the API server refuses, or does not answer.
    """
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/part-of": "highwater"}},
        "type": "Opaque",
        "stringData": {KEY: secrets.token_hex(_BYTES)},
    }
    try:
        kube.create(secret)
    except ConflictError:
        return False
    return True


def main(argv: Sequence[str] | None = None) -> None:
    """The command; status 1 where the Secret could not be made, so that the Job tries again."""
    parser = argparse.ArgumentParser(prog="highwater_operator.agent_token", description=__doc__)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--name", required=True)
    given = parser.parse_args(argv)
    try:
        configuration = local_configuration()
    except kubernetes.config.ConfigException as error:
        sys.exit(f"no API server: {error}")
    try:
        made = make_token(Kube(configuration), given.namespace, given.name)
    except KubeError as error:
        sys.exit(f"could not create Secret {given.namespace}/{given.name}: {error}")
    sys.stdout.write(f"Secret {given.namespace}/{given.name}: {'made' if made else 'there already, left as it is'}\n")


if __name__ == "__main__":
    main()
