"""Network namespaces of nodes, the links between them, and probes of both."""
