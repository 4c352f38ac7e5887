import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Partitioners } from 'kafkajs'
import { murmur2, partitionOf } from '../../core/bus/partitioner.ts'

test('murmur2 hashes equal the test vectors of Kafka', () => {
  // Source: Apache Kafka, UtilsTest.testMurmur2
  const vectors: Readonly<Record<string, number>> = {
    21: -973932308,
    foobar: -790332482,
    'a-little-bit-long-string': -985981536,
    'a-little-bit-longer-string': -1486304829,
    lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8: -58897971,
  }
  for (const [text, hash] of Object.entries(vectors)) assert.equal(murmur2(Buffer.from(text)), hash)
})

test('every key has the partition of the default partitioner of kafkajs', () => {
  const partitioner = Partitioners.DefaultPartitioner()
  const partitionMetadata = Array.from({ length: 7 }, (_, partitionId) => ({
    partitionId,
    leader: 1,
    replicas: [1],
    isr: [1],
    partitionErrorCode: 0,
  }))
  for (let i = 0; i < 2_000; i += 1) {
    const key = `0x${i.toString(16).repeat(1 + (i % 5))}${'é'.repeat(i % 4)}`
    const message = { key, value: null }
    assert.equal(partitionOf(key, 7), partitioner({ topic: 't', partitionMetadata, message }), key)
  }
})
