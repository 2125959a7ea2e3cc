"""Apache Kafka itself as the system under test, to put the same questions to the real one."""

from highwater_chaos.backends.local.apache_kafka.installation import (
    VERSION,
    ApacheKafkaUnavailableError,
    Installation,
    available,
    install,
)
from highwater_chaos.backends.local.apache_kafka.program import ApacheKafkaProgram

__all__ = ["VERSION", "ApacheKafkaProgram", "ApacheKafkaUnavailableError", "Installation", "available", "install"]
