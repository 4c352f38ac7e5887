/**
 * `foreign-member-child.ts BROKER GROUP TOPIC`: a stock member of another protocol, which joins the group as soon as it
 * may and is gone without leaving: until its session ends nobody of the first protocol gets in.
 */
import { Kafka, logLevel } from 'kafkajs'

const [broker = '', groupId = '', topic = ''] = process.argv.slice(2)
const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING })
for (;;) {
  const consumer = kafka.consumer({ groupId, sessionTimeout: 4_000, heartbeatInterval: 1_000 })
  consumer.on(consumer.events.GROUP_JOIN, () => process.exit(0))
  await consumer.connect()
  await consumer.subscribe({ topic })
  await consumer.run({ eachMessage: async () => undefined })
}
