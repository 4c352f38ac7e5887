import type { Bus, LogRecord, OutRecord } from '../../core/bus/contract.ts'
import { TOPICS } from '../../schemas/topics.ts'
import type { LetterPrices } from './dead-letter-prices.ts'
import { ingestedChain, letterRerun, type Rerun } from './retry-ingest-dead-letters.ts'

/** A dead letter: what could not be taken, where from, and why. */
export interface Letter {
  readonly group: string
  readonly partition: number
  readonly offset: number
  readonly time: string
  /** Where the record stood; offset -1: nothing was read from a topic. */
  readonly source: { readonly topic: string; readonly partition: number; readonly offset: number }
  readonly stage: string
  readonly error: string
  readonly message: string
  readonly replayed: boolean
  /** Why a replay leaves it out; null: it can be replayed. */
  readonly stays: string | null
}

/** What to do with letters. */
export interface LetterRequest {
  readonly bus: Bus
  /** Consumer group; absent = every one. */
  readonly group?: string
  /** Most letters of one call. */
  readonly limit: number
  /** Who tells prices of a chain's pools that were not known; default: nobody. */
  readonly pricesOf?: (chain: string) => LetterPrices | undefined
}

const PREFIX = 'dlq.'
/** Letters of one commit. */
const BATCH = 100

const replayGroup = (topic: string): string => `replay.${topic}`

/** Dead letters, oldest first per partition, with what became of them. */
export async function* listLetters(request: LetterRequest): AsyncIterable<Letter> {
  let left = request.limit
  for (const topic of await letterTopics(request)) {
    const places = await request.bus.offsets(replayGroup(topic), [topic])
    for await (const record of lettersOf(request.bus, topic, () => undefined)) {
      if (left <= 0) return
      left -= 1
      const place = places.find(({ partition }) => partition === record.partition)?.offset ?? 0
      yield letterOf(topic, record, record.offset < place)
    }
  }
}

/** What a replay did. */
export interface Replayed {
  readonly published: number
  /** Letters that stay as they are, and why. */
  readonly stayed: readonly Letter[]
  /** Letters of ingestors, decoded again, with what came of it. */
  readonly rerun: readonly { readonly letter: Letter; readonly result: Rerun }[]
}

/**
 * Publishes the original records again where they came from, with `dlq.replay=1` and their own `seq`, and notes in the
 * same commit how far it came: a letter is replayed once, however often this is called or killed. Sinks insert them;
 * a stage has folded their operation without them and takes them for records it has seen.
 *
 * What an ingestor could not take was never a record: it is decoded again with this build, as often as this is called, and nothing
 * is published, because the operation of its block is closed.
 */
export const replayLetters = async (request: LetterRequest): Promise<Replayed> => {
  const { bus } = request
  let left = request.limit
  let published = 0
  const stayed: Letter[] = []
  const rerun: Replayed['rerun'][number][] = []
  for (const topic of await letterTopics(request)) {
    const chain = ingestedChain(topic)
    if (chain !== undefined) {
      const again = await rerunLetters(request, { topic, chain, limit: left })
      rerun.push(...again)
      left -= again.length
      continue
    }
    const writer = await bus.writer(replayGroup(topic))
    try {
      const places = await bus.offsets(replayGroup(topic), [topic])
      const from = (partition: number): number | undefined =>
        places.find((place) => place.partition === partition)?.offset
      for await (const batch of batches(lettersOf(bus, topic, from), () => left)) {
        const letters = batch.map((record) => ({ record, letter: letterOf(topic, record, false) }))
        const good = letters.filter(({ letter }) => letter.stays === null)
        const next = new Map(batch.map(({ partition, offset }) => [partition, offset + 1]))
        await writer.commit({
          records: good.map(({ record }) => originalOf(record)),
          offsets: {
            group: replayGroup(topic),
            next: [...next].map(([partition, offset]) => ({ topic, partition, offset })),
          },
        })
        left -= batch.length
        published += good.length
        stayed.push(...letters.flatMap(({ letter }) => (letter.stays === null ? [] : [letter])))
      }
    } finally {
      await writer.close()
    }
  }
  return { published, stayed, rerun }
}

interface Rerunning {
  readonly topic: string
  readonly chain: string
  readonly limit: number
}

const rerunLetters = async (
  { bus, pricesOf }: LetterRequest,
  { topic, chain, limit }: Rerunning,
): Promise<Replayed['rerun']> => {
  const prices = pricesOf?.(chain)
  const rerun: Replayed['rerun'][number][] = []
  try {
    const again = await letterRerun(bus, chain, prices)
    const letters = lettersOf(bus, topic, () => undefined)
    for await (const batch of batches(letters, () => limit - rerun.length)) {
      for (const record of batch) {
        rerun.push({ letter: letterOf(topic, record, false), result: await again(record) })
      }
    }
  } finally {
    prices?.close()
  }
  return rerun
}

const letterTopics = async ({ bus, group }: LetterRequest): Promise<readonly string[]> => {
  const topics = await bus.topics(PREFIX)
  return group === undefined ? topics : topics.filter((topic) => topic === PREFIX + group)
}

async function* lettersOf(
  bus: Bus,
  topic: string,
  from: (partition: number) => number | undefined,
): AsyncIterable<LogRecord> {
  for (const { partition, low, end } of await bus.ends(topic)) {
    yield* bus.read(topic, partition, Math.max(low, from(partition) ?? low), end)
  }
}

async function* batches(
  records: AsyncIterable<LogRecord>,
  left: () => number,
): AsyncIterable<readonly LogRecord[]> {
  let batch: LogRecord[] = []
  for await (const record of records) {
    if (batch.length >= left()) break
    batch.push(record)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

const letterOf = (topic: string, record: LogRecord, replayed: boolean): Letter => {
  const { partition, offset, headers, timestampMs } = record
  const text = (name: string): string => headers[`dlq.${name}`] ?? ''
  return {
    ...{ group: topic.slice(PREFIX.length), partition, offset },
    time: new Date(timestampMs).toISOString(),
    source: {
      topic: text('topic'),
      partition: Number(text('partition') || -1),
      offset: Number(text('offset') || -1),
    },
    stage: text('stage'),
    error: text('error.class'),
    message: text('error.message'),
    replayed,
    stays: ingestedChain(topic) === undefined ? staysBecause(record) : null,
  }
}

/** Topics of records that no stage aligns: they belong to no block operation, and their newest wins by its own time. */
const UNORDERED = new RegExp(`\\.${TOPICS.tokenDocuments.suffix.replaceAll('.', '\\.')}$`)

/** A record without its place would upset the order of those who align by it. */
const staysBecause = ({ headers }: LogRecord): string | null => {
  const offset = Number(headers['dlq.offset'] ?? -1)
  if (!(offset >= 0)) return 'it was never a record of a topic'
  if (UNORDERED.test(headers['dlq.topic'] ?? '')) return null
  if (!/^\d{1,15}$/.test(headers.seq ?? '') || !/^\d+\/\d+$/.test(headers.part ?? '')) {
    return 'it does not say which block operation it belongs to'
  }
  return null
}

const originalOf = ({ key, value, headers }: LogRecord): OutRecord => {
  const own = Object.entries(headers).filter(([name]) => !name.startsWith(PREFIX))
  return {
    topic: headers['dlq.topic'] ?? '',
    partition: Number(headers['dlq.partition']),
    key,
    value,
    headers: { ...Object.fromEntries(own), 'dlq.replay': '1' },
  }
}
