import { Outage } from '../../errors.ts'
import { type FetchBroker, sendRawRequest } from './kafkajs-internals.ts'

/** Metadata, in the version from which on it names topic ids for topics asked by name. Source: KIP-516, KIP-700. */
const METADATA_REQUEST = { apiKey: 3, apiVersion: 12, apiName: 'Metadata' } as const

/** The id that a cluster gave a topic when it was made: 32 hex digits; undefined from a broker that does not tell. */
export const fetchTopicId = async (
  broker: FetchBroker,
  topic: string,
): Promise<string | undefined> => {
  if ((broker.versions[METADATA_REQUEST.apiKey]?.maxVersion ?? 0) < METADATA_REQUEST.apiVersion)
    return undefined
  const id = parseTopicId(
    await sendRawRequest(broker, METADATA_REQUEST, encodeMetadataRequest(topic)),
  )
  if (/^0*$/.test(id)) throw new Outage('bus', `${topic}: the cluster reports no topic id`)
  return id
}

/** Unsigned varint (KIP-482). */
const encodeVarint = (value: number): Buffer => {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}

const EMPTY_TAGS = Buffer.from([0])

/** Tags of the header, then the body: one topic by name, no creation, no authorized operations. */
const encodeMetadataRequest = (topic: string): Buffer => {
  const name = Buffer.from(topic)
  const anyId = Buffer.alloc(16)
  return Buffer.concat([
    ...[EMPTY_TAGS, encodeVarint(2), anyId, encodeVarint(name.length + 1), name, EMPTY_TAGS],
    ...[Buffer.from([0, 0]), EMPTY_TAGS],
  ])
}

/** The id that an answer names. Throws `Outage` for one that ends early or states lengths beyond its end. */
export const parseTopicId = (data: Buffer): string => {
  try {
    return readFirstTopicId(data)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Outage('bus', 'the metadata response about a topic is truncated', { cause: error })
  }
}

/** Reads an answer up to the first topic's id. */
const readFirstTopicId = (data: Buffer): string => {
  let at = 0
  const skip = (bytes: number): void => {
    at += bytes
  }
  const unsigned = (): number => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = data.readUInt8(at)
      at += 1
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const skipText = (): void => skip(Math.max(0, unsigned() - 1))
  const skipTags = (): void => {
    for (let left = unsigned(); left > 0; left -= 1) {
      unsigned()
      skip(unsigned())
    }
  }
  skipTags()
  skip(4)
  for (let brokers = unsigned() - 1; brokers > 0; brokers -= 1) {
    skip(4)
    skipText()
    skip(4)
    skipText()
    skipTags()
  }
  skipText()
  skip(4)
  unsigned()
  const code = data.readInt16BE(at)
  if (code !== 0)
    throw new Outage(
      'bus',
      `the broker rejected the request for the topic id with error code ${code}`,
    )
  skip(2)
  skipText()
  if (data.length < at + 16) throw new RangeError('the response is too short for a topic id')
  return data.toString('hex', at, at + 16)
}
