"""A proxy in front of a node that is not ours: the harness's rules about messages act there, as in our own host.

It stands between a node and its peers, in the node's network, and reads frames of Kafka's protocol: headers, and no
bodies. What it does to them is :mod:`highwater_runtime.host.net.interference`, behind the same server
(:mod:`highwater_runtime.host.net.server`) and control socket (:mod:`highwater_runtime.host.process.control_socket`) as
in our own nodes; only the core is another process, reached over a connection of its own for each connection of a peer.

What other faults do must look the same to peers with the proxy as without:

* It listens while the node listens, so that a node that is down refuses connections.
* It closes as the node closes, and as the peer closes: at once, in order, by FIN or by RST.
* It is one process with the node's launcher (:mod:`.main`): paused, killed and ended with the node.
* It reads no more than it can pass on. A peer that does not read stops its node, and a node that does not read its
  peers, as without it.
"""
