"""Hosts on real machines: real files here; real sockets and processes stand on the same ports."""
