"""Disks of nodes: file systems on loop devices, and what a power loss takes from them."""
