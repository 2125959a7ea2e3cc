"""librdkafka as a workload, by way of the package ``confluent-kafka``: one program, one producer or consumer.

Nothing outside this package imports it but by ``python -m``: the library stays out of the harness's process, where it
could take the harness down with it, and out of installations that do not want it.
"""
