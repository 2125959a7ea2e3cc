"""Which cluster the nodes of a LogCluster are."""

from __future__ import annotations

from hashlib import blake2b


def cluster_id_of(uid: str) -> str:
    """Kafka's cluster id, 22 characters, from the resource's uid: a cluster that is created again is another
    cluster."""
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    number = int.from_bytes(blake2b(uid.encode(), digest_size=16).digest(), "big")
    text = ""
    for _ in range(22):
        number, digit = divmod(number, len(alphabet))
        text += alphabet[digit]
    return text
