"""The tables of a run: their columns, rows and files, and what they say of clients and topics."""
