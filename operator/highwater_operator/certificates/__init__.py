"""Certificates of the agents' port, made by the operator: TLS from the first start on, and no person's work.

**Theory of operation.** An authority signs one certificate for all agents (they share a token too), and callers trust
the authority. Three objects in the operator's namespace say it all:

* Secret ``highwater-agent-ca``: the authorities with their keys, which nothing mounts.
* Secret ``highwater-agent-tls`` (``kubernetes.io/tls``): the certificate and its key, which the agents mount.
* ConfigMap ``highwater-agent-tls``: what callers trust, which runners mount and ``highwater heal`` reads.

:mod:`~.issuing` decides and signs; :mod:`~.keeper` looks every few minutes and writes. A certificate is renewed when a
third of its time is left. So is an authority, but callers must hear of a new one before an agent shows what it signed:
it is published at once, beside the old one, and signs a day later.

A Secret ``highwater-agent-tls`` that the operator did not make is somebody's own certificate: it is never changed, and
its ``ca.crt`` is published.
"""
