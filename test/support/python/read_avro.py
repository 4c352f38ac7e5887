"""Reads topics to their ends with confluent-kafka and AvroDeserializer; one JSON line per record on stdout,
in order within a partition only.

usage: read_avro.py BROKERS REGISTRY TOPIC...
"""

import json
import sys
from datetime import datetime

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

LIMIT_S = 60
# The client waits for ever unless told, and asks for an address that Apicurio does not know: one of some 250 such requests is
# never answered. With a limit it asks again.
ANSWER_LIMIT_S = 5


def plain(value):
    """Times as epoch milliseconds, bytes as hex."""
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value.hex()


def partitions(consumer, topics):
    known = consumer.list_topics(timeout=LIMIT_S).topics
    return [TopicPartition(topic, number, 0) for topic in topics for number in known[topic].partitions]


def records(consumer, topics):
    """All partitions at once: one after the other, each empty one would cost a whole wait of a fetch."""
    unread = partitions(consumer, topics)
    consumer.assign(unread)
    unread = {(each.topic, each.partition) for each in unread}
    while unread:
        message = consumer.poll(LIMIT_S)
        if message is None:
            raise TimeoutError(f"no end of {sorted(unread)}")
        if message.error() is None:
            yield message
        elif message.error().code() == KafkaError._PARTITION_EOF:
            unread.discard((message.topic(), message.partition()))
        else:
            raise RuntimeError(message.error())


def main(brokers, registry, *topics):
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "stock-python",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    deserializer = AvroDeserializer(SchemaRegistryClient({"url": registry, "timeout": ANSWER_LIMIT_S}))
    for message in records(consumer, topics):
        context = SerializationContext(message.topic(), MessageField.VALUE)
        record = {
            "topic": message.topic(),
            "partition": message.partition(),
            "offset": message.offset(),
            "key": message.key().decode(),
            "value": deserializer(message.value(), context),
        }
        print(json.dumps(record, default=plain))
    consumer.close()


main(*sys.argv[1:])
