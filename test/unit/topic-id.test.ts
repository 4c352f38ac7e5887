import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTopicId } from '../../core/bus/kafka/topic-id.ts'
import { Outage } from '../../core/errors.ts'

const ID = '00112233445566778899aabbccddeeff'
/** Metadata version 12 (KIP-516): tags, throttle, one broker, cluster id, controller, one topic with code 0, name and id. */
const ANSWER = Buffer.from(
  ['00', '00000000', '02', '00000001', '02', '61', '00002384', '00', '00'].join('') +
    ['02', '63', '00000001', '02', '0000', '02', '74', ID].join(''),
  'hex',
)

test('the id of a Kafka topic is parsed; a truncated answer or one with impossible lengths is an outage', () => {
  assert.equal(parseTopicId(ANSWER), ID)
  for (let length = 0; length < ANSWER.length; length += 1)
    assert.throws(() => parseTopicId(ANSWER.subarray(0, length)), Outage, `${length} bytes`)
  for (let at = 0; at < ANSWER.length - 16; at += 1) {
    const changed = Buffer.from(ANSWER)
    changed.fill(0xff, at, at + 5)
    try {
      parseTopicId(changed)
    } catch (error) {
      assert.ok(error instanceof Outage, `${at}: ${error}`)
    }
  }
})
