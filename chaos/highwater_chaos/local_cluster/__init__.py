"""A cluster of plain processes on loopback for any Kafka client: start it, show its status, stop it. Data are kept."""
