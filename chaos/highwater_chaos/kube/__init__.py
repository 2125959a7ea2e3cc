"""The Kubernetes API server, for everything here that talks to one: operator, agent, runner, judge, command line.

``kinds`` names the kinds of objects, ``conditions`` reads and writes conditions of a status, ``client`` sends requests.
Imports nothing else of the harness. Only ``client`` imports the official client.
"""
