"""Backend ``attach``: an experiment on a cluster of somebody else's, met as any client meets it.

Nothing is started, and nothing but the experiment's own topics is made or deleted. Clients, administration and
observation all get in by one file of Kafka's client properties. What is known of the cluster is what servers answer.
"""
