"""What the proxy before nodes of Apache Kafka costs, and whether it lasts."""
