"""Highwater on Kubernetes: the resources, the operator that serves them, and the agent that breaks things on a node."""
