"""Our own clients in a process of their own."""
