"""The process around a node: its start and end, its administrator's and its harness's endpoint, its heartbeats."""
