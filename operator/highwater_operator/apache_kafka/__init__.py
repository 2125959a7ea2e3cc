"""``highwater-kafka``: a node of Apache Kafka as the process of a pod."""
