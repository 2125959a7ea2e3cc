"""What our brokers do beside Apache Kafka's under the same loads."""
