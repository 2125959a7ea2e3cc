"""The Kubernetes API server, for everything here that talks to one: operator, agent, runner, judge, command line.

``kinds`` names what is there, ``conditions`` how an object's status tells of itself, ``client`` asks. Imports nothing
else of the harness. Only ``client`` imports the official client.
"""
