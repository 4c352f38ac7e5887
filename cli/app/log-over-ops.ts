import { timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Bus, LogRecord } from '../../core/bus/contract.ts'
import type { Config } from '../../core/config/settings.ts'
import { Outage } from '../../core/errors.ts'
import { InvalidOpsRequest, type OpsHandler } from '../../core/ops/server.ts'
import { pause } from '../../core/retry.ts'
import { type DeadLetterEntry, listDeadLetters } from './dead-letters.ts'
import { fetchOps } from './ops-client.ts'
import { parseQueryNumber } from './query-number.ts'

/**
 * Records of an embedded log, read through the process that holds it: no other process may open the folder meanwhile. Who asks shows a key that
 * lies in the data folder, so records can be read by those who can read the folder.
 */

/** Most records and bytes of one answer. */
const PAGE_LIMITS = { records: 500, bytes: 4_194_304 }
/** Partitions that one request may name. */
const MAX_POSITIONS = 1_000
const POLL_MS = 100

interface EncodedRecord extends Omit<LogRecord, 'topic' | 'value'> {
  readonly base64: string | null
}

/** A page of records, and from where the next one continues: partition and offset. */
interface RecordPage {
  readonly records: readonly EncodedRecord[]
  readonly places: readonly (readonly [partition: number, offset: number])[]
}

/** `/records?key=K&topic=T` with `back=N` for the positions of the last N records, or with `at=PARTITION:OFFSET` for what is there. */
export const recordsHandler =
  (bus: Bus, key: string): OpsHandler =>
  async (query) => {
    checkKey(query, key)
    const topic = query.get('topic') ?? ''
    const known = await bus.topics('')
    if (!known.includes(topic)) return { topics: known }
    const back = query.get('back')
    const ends = await bus.ends(topic)
    if (back !== null) {
      const count = parseQueryNumber('back', back, 15)
      const places = ends.map(({ partition, low, end }) => [partition, Math.max(low, end - count)])
      return { records: [], places }
    }
    const asked = query.getAll('at').map(parsePosition)
    if (asked.length > MAX_POSITIONS)
      throw new InvalidOpsRequest(
        `at is given ${asked.length} times; expected at most ${MAX_POSITIONS} positions in one request`,
      )
    return readPage(bus, topic, asked)
  }

const checkKey = (query: URLSearchParams, key: string): void => {
  const [shown, expected] = [Buffer.from(query.get('key') ?? ''), Buffer.from(key)]
  if (shown.length === expected.length && timingSafeEqual(shown, expected)) return
  throw new InvalidOpsRequest('key is not the key of this data folder; use the one in its ops.json')
}

/** Most dead letters of one answer. */
const MAX_DEAD_LETTERS = 10_000

/** `/dead-letters?key=K&limit=N`, with `group=G` for those of one consumer group. */
export const deadLettersHandler =
  (bus: Bus, key: string): OpsHandler =>
  async (query) => {
    checkKey(query, key)
    const [group, limit = ''] = [query.get('group'), query.get('limit') ?? undefined]
    const deadLetters: DeadLetterEntry[] = []
    const asked = {
      bus,
      limit: Math.min(parseQueryNumber('limit', limit, 9), MAX_DEAD_LETTERS),
      ...(group && { group }),
    }
    for await (const deadLetter of listDeadLetters(asked)) deadLetters.push(deadLetter)
    return { letters: deadLetters }
  }

/** Dead letters of the data folder that a process holds; undefined when that process has gone. */
export const fetchDeadLetters = async (
  config: Config,
  { group, limit }: { readonly group?: string; readonly limit: number },
): Promise<readonly DeadLetterEntry[] | undefined> => {
  const { url, key } = readOpsAddress(config.dataDir)
  const query = new URLSearchParams({
    key,
    limit: String(Math.min(limit, MAX_DEAD_LETTERS)),
    ...(group !== undefined && { group }),
  })
  const answer = await fetchOps<{ letters: readonly DeadLetterEntry[] }>(
    url,
    `/dead-letters?${query}`,
    config,
  )
  return answer?.letters
}

const parsePosition = (text: string): readonly [number, number] => {
  const [, partition, offset] = /^(\d{1,6}):(\d{1,15})$/.exec(text) ?? []
  if (partition === undefined)
    throw new InvalidOpsRequest(
      `at is ${JSON.stringify(text.slice(0, 40))}; expected PARTITION:OFFSET, e.g. 0:100`,
    )
  return [Number(partition), Number(offset)]
}

const readPage = async (
  bus: Bus,
  topic: string,
  asked: RecordPage['places'],
): Promise<RecordPage> => {
  const bounds = new Map((await bus.ends(topic)).map((one) => [one.partition, one]))
  const records: EncodedRecord[] = []
  const places: [number, number][] = []
  let bytes = 0
  for (const [partition, from] of asked) {
    const { low = 0, end = 0 } = bounds.get(partition) ?? {}
    let next = Math.max(from, low)
    if (next < end && records.length < PAGE_LIMITS.records && bytes < PAGE_LIMITS.bytes) {
      for await (const { topic: _, value, ...record } of bus.read(topic, partition, next, end)) {
        records.push({ ...record, base64: value && Buffer.from(value).toString('base64') })
        bytes += value?.byteLength ?? 0
        next = record.offset + 1
        if (records.length >= PAGE_LIMITS.records || bytes >= PAGE_LIMITS.bytes) break
      }
    }
    places.push([partition, next])
  }
  return { records, places }
}

/** Where the process that holds a data folder answers, and with which key. */
interface OpsAddress {
  readonly url: string
  readonly key: string
}

const readOpsAddress = (dataDir: string): OpsAddress => {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'ops.json'), 'utf8')) as OpsAddress
  } catch (cause) {
    throw new Outage(
      'bus',
      `${dataDir} is in use by a process that is not ready yet: its ops.json cannot be read. Repeat when it has started, or stop it`,
      { cause },
    )
  }
}

/** As `tailTopic`, of the process that holds a data folder. Ends when that process ends. */
export async function* tailOverOps(
  config: Config,
  topic: string,
  back: number,
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  const { url, key } = readOpsAddress(config.dataDir)
  const ask = async (
    more: readonly (readonly [string, string])[],
  ): Promise<RecordPage | undefined> => {
    const query = new URLSearchParams({ key, topic })
    for (const [name, value] of more) query.append(name, value)
    const answer = await fetchOps<RecordPage & { readonly topics?: readonly string[] }>(
      url,
      `/records?${query}`,
      config,
    )
    if (answer?.topics !== undefined) throw unknownTopicError(topic, answer.topics)
    return answer
  }
  let page = await ask([['back', String(back)]])
  while (page !== undefined && !signal.aborted) {
    const at = page.places.map(([partition, offset]) => ['at', `${partition}:${offset}`] as const)
    page = await ask(at)
    for (const { base64, ...record } of page?.records ?? []) {
      yield { ...record, topic, value: base64 === null ? null : Buffer.from(base64, 'base64') }
    }
    if (page?.records.length === 0) await pause(POLL_MS, signal).catch(() => undefined)
  }
}

/** Says which topics there are. */
export const unknownTopicError = (topic: string, known: readonly string[]): Outage => {
  const open = known.filter((name) => !name.startsWith('_'))
  const expected =
    open.length === 0
      ? 'the log has no topics yet: start a process on it first'
      : `expected one of ${open.join(', ')}`
  return new Outage('bus', `topic ${topic} does not exist; ${expected}`, { final: true })
}
