"""Reads topics to their ends with confluent-kafka and AvroDeserializer; one JSON line per record on stdout.

usage: read_avro.py BROKERS REGISTRY TOPIC...
"""

import json
import sys
from datetime import datetime

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

LIMIT_S = 30


def plain(value):
    """Times as epoch milliseconds, bytes as hex."""
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value.hex()


def records(consumer, topic):
    for number in sorted(consumer.list_topics(topic, LIMIT_S).topics[topic].partitions):
        consumer.assign([TopicPartition(topic, number, 0)])
        while True:
            message = consumer.poll(LIMIT_S)
            if message is None:
                raise TimeoutError(f"{topic}/{number} has no end")
            if message.error() is None:
                yield message
            elif message.error().code() == KafkaError._PARTITION_EOF:
                break
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
    deserializer = AvroDeserializer(SchemaRegistryClient({"url": registry}))
    for topic in topics:
        context = SerializationContext(topic, MessageField.VALUE)
        for message in records(consumer, topic):
            record = {
                "topic": topic,
                "partition": message.partition(),
                "offset": message.offset(),
                "key": message.key().decode(),
                "value": deserializer(message.value(), context),
            }
            print(json.dumps(record, default=plain))
    consumer.close()


main(*sys.argv[1:])
