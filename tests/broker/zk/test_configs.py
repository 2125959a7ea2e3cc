"""Which configurations a broker of ZooKeeper mode reads, and when."""

from __future__ import annotations

from typing import Any

from highwater_runtime.broker.zk.configs import Configs
from highwater_runtime.metadata.znodes import BROKER_CONFIGS, CONFIG_CHANGES, TOPIC_CONFIGS, ConfigNode, encode_node
from highwater_runtime.ports.coordination import Children, Data, Failure, Listing, Multi, Stat

STAT = Stat(czxid=1, mzxid=1, pzxid=1, version=0, cversion=0, ephemeral_owner=0, children=0)
ORDERS = f"{TOPIC_CONFIGS}/orders"


class Tree:
    """Answers at once what a broker asks."""

    def __init__(self) -> None:
        self.nodes: dict[str, dict[str, str]] = {ORDERS: {"retention.ms": "1000"}}
        self.read: list[str] = []
        self.is_behind = False
        """The server has not heard of the nodes yet; it has once it has answered a write."""

    def submit(self, operation: Any, then: Any, watch: Any = None) -> None:
        if isinstance(operation, Multi):
            self.is_behind = False
            then((None,))
            return
        if isinstance(operation, Children):
            assert operation.path in (CONFIG_CHANGES, TOPIC_CONFIGS, BROKER_CONFIGS)
            names = [path.rpartition("/")[2] for path in self.nodes if path.startswith(f"{operation.path}/")]
            then(Listing(tuple(names), STAT))
            return
        self.read.append(operation.path)
        found = None if self.is_behind else self.nodes.get(operation.path)
        then(Failure.NO_NODE if found is None else Data(encode_node(ConfigNode(config=found)), STAT))


def test_a_topic_that_a_command_names_first_may_be_another_than_the_one_that_was_read() -> None:
    """A topic was deleted while its broker came back, and created again: nobody told the broker of its end."""
    tree, known = Tree(), {}
    configs = Configs(tree, lambda resource, values: known.update({resource.name: dict(values)}))  # type: ignore[arg-type]
    done: list[str] = []
    configs.read_all(lambda: done.append("all"))
    assert known == {"orders": {"retention.ms": "1000"}}
    del tree.nodes[ORDERS]
    configs.know(["orders"], lambda: done.append("named"))
    assert known == {"orders": {}}
    configs.know(["orders"], lambda: done.append("again"))
    assert tree.read == [ORDERS, ORDERS]
    configs.forget("orders")
    configs.know(["orders"], lambda: done.append("forgotten"))
    assert (len(tree.read), done) == (3, ["all", "named", "again", "forgotten"])


def test_what_a_command_names_is_read_from_a_server_that_has_caught_up() -> None:
    tree, known = Tree(), {}
    configs = Configs(tree, lambda resource, values: known.update({resource.name: dict(values)}))  # type: ignore[arg-type]
    tree.is_behind = True
    configs.know(["orders"], lambda: None)
    assert known == {"orders": {"retention.ms": "1000"}}
