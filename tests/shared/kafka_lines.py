"""Lines that nodes of Apache Kafka log."""

from __future__ import annotations

ID, HEX = "aiqhfPakSt-F_W1Pctofmg", "6a2aa17cf6a44adf85fd6d4f72da1f9a"
"""A topic's id as Kafka writes it, and as events do."""

REQUEST = (
    'Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":56,"requestApiVersion":3,"correlationId":0'
    ',"clientId":"2","requestApiKeyName":"ALTER_PARTITION"},"request":{"brokerId":2,"brokerEpoch":12,"topics":[{"topicId'
    '":"' + ID + '","partitions":[{"partitionIndex":1,"leaderEpoch":0,"newIsrWithEpochs":[{"brokerId":0,"brokerEpoch":'
    '11},{"brokerId":2,"brokerEpoch":12}],"leaderRecoveryState":0,"partitionEpoch":1}]}]},"response":{"throttleTimeMs":0'
    ',"errorCode":0,"topics":[{"topicId":"' + ID + '","partitions":[{"partitionIndex":1,"errorCode":%d,"leaderId":2,'
    '"leaderEpoch":0,"isr":[0,2],"leaderRecoveryState":0,"partitionEpoch":%d}]}]},"totalTimeMs":70.316}'
)
"""A controller judged a proposal of broker 2 for partition 1: the error, and the partition epoch of the answer."""
