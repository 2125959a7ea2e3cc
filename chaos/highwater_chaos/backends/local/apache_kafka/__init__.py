"""Apache Kafka itself as the system under test, to put the same questions to the real one."""

from highwater_chaos.apache_kafka.fetching import ApacheKafkaUnavailableError
from highwater_chaos.apache_kafka.installation import Installation, available, install, is_fetched
from highwater_chaos.backends.local.apache_kafka.program import ApacheKafkaProgram
from highwater_chaos.backends.local.apache_kafka.proxying import why_no_proxy

__all__ = [
    "ApacheKafkaProgram",
    "ApacheKafkaUnavailableError",
    "Installation",
    "available",
    "install",
    "is_fetched",
    "why_no_proxy",
]
