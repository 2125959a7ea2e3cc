"""The disk, and the file to which a node writes its events."""
