"""The configuration file of ``highwater-node``."""
