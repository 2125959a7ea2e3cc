"""Sockets: what a node serves, what it asks of others, and what happens to messages in between."""
