import type { Bus, Commit } from '../../../core/bus/contract.ts'
import { readAll } from './suite.ts'

/** Names of the crash suite: its topics, its state store, its group. */
export const RECORDS_TOPIC = 'records'
export const BLOCKS_TOPIC = 'blocks'
export const STATE_STORE = 'state'
export const CONSUMER_GROUP = 'group'
const RECORDS_PER_BLOCK = 10

const bytes = (value: number): Uint8Array => Buffer.from(String(value))

/** What block `n` commits: ten records, one final record, one state entry, one offset, all telling n. */
export const crashCommit = (block: number): Commit => ({
  records: Array.from({ length: RECORDS_PER_BLOCK }, (_, i) => ({
    topic: RECORDS_TOPIC,
    partition: i % 2,
    key: `${block}`,
    value: bytes(block),
  })),
  finalRecords: (spans) => [
    { topic: BLOCKS_TOPIC, key: `${block}`, value: Buffer.from(JSON.stringify({ block, spans })) },
  ],
  state: [{ store: STATE_STORE, partition: 0, key: 'block', value: bytes(block) }],
  offsets: {
    group: CONSUMER_GROUP,
    next: [{ topic: BLOCKS_TOPIC, partition: 0, offset: block + 1 }],
  },
})

/** What a log that a crash left says: blocks by each of its four witnesses, and a fault when they disagree. */
export interface ConsistencyReport {
  readonly blocks: number
  readonly fault: string | undefined
}

/** Holds records, final records, state and offsets of a log against each other. */
export const checkConsistency = async (bus: Bus): Promise<ConsistencyReport> => {
  const finals = await readAll(bus, BLOCKS_TOPIC)
  const blocks = finals.length
  const records = await readAll(bus, RECORDS_TOPIC)
  const counts = new Map<string, number>()
  for (const { key } of records) counts.set(key, (counts.get(key) ?? 0) + 1)
  const offset = (await bus.offsets(CONSUMER_GROUP, [BLOCKS_TOPIC]))[0]?.offset ?? 0
  const state = await readState(bus)
  const spansFit = finals.every(({ value }, at) => {
    const final = JSON.parse(Buffer.from(value ?? []).toString()) as {
      readonly block: number
      readonly spans: readonly { readonly baseOffset: number; readonly records: number }[]
    }
    const half = RECORDS_PER_BLOCK / 2
    return (
      final.block === at &&
      final.spans.every(({ baseOffset, records: n }) => baseOffset === at * half && n === half)
    )
  })
  const faults = [
    counts.size === blocks ? '' : `${counts.size} blocks of records, ${blocks} final records`,
    [...counts.values()].every((count) => count === RECORDS_PER_BLOCK)
      ? ''
      : 'a block is not whole',
    spansFit ? '' : 'a final record does not tell where its records lie',
    offset === blocks ? '' : `offset ${offset} after ${blocks} blocks`,
    state === blocks - 1 ? '' : `state ${state} after ${blocks} blocks`,
  ]
  return { blocks, fault: faults.find((fault) => fault !== '') }
}

const readState = (bus: Bus): Promise<number> =>
  new Promise((resolve, reject) => {
    bus
      .subscribe({
        group: 'reader',
        topics: [BLOCKS_TOPIC],
        run: async (lane) => {
          const value = (await lane.state(STATE_STORE)).get('block')
          resolve(value ? Number(Buffer.from(value).toString()) : -1)
        },
      })
      .catch(reject)
  })
