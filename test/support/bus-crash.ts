import type { Bus, Commit } from '../../core/bus/contract.ts'
import { readAll } from './bus-suite.ts'

/** Names of the crash suite: its topics, its state store, its group. */
export const RECORDS = 'records'
export const BLOCKS = 'blocks'
export const STORE = 'state'
export const GROUP = 'group'
const PER_BLOCK = 10

const bytes = (value: number): Uint8Array => Buffer.from(String(value))

/** What block `n` commits: ten records, one seal, one state entry, one offset, all telling n. */
export const crashCommit = (block: number): Commit => ({
  records: Array.from({ length: PER_BLOCK }, (_, i) => ({
    topic: RECORDS,
    partition: i % 2,
    key: `${block}`,
    value: bytes(block),
  })),
  seal: (spans) => [
    { topic: BLOCKS, key: `${block}`, value: Buffer.from(JSON.stringify({ block, spans })) },
  ],
  state: [{ store: STORE, partition: 0, key: 'block', value: bytes(block) }],
  offsets: { group: GROUP, next: [{ topic: BLOCKS, partition: 0, offset: block + 1 }] },
})

/** What a log that a crash left says: blocks by each of its four witnesses, and a fault when they disagree. */
export interface Verdict {
  readonly blocks: number
  readonly fault: string | undefined
}

/** Holds records, seals, state and offsets of a log against each other. */
export const judge = async (bus: Bus): Promise<Verdict> => {
  const seals = await readAll(bus, BLOCKS)
  const blocks = seals.length
  const records = await readAll(bus, RECORDS)
  const counts = new Map<string, number>()
  for (const { key } of records) counts.set(key, (counts.get(key) ?? 0) + 1)
  const offset = (await bus.offsets(GROUP, [BLOCKS]))[0]?.offset ?? 0
  const state = await stateOf(bus)
  const spansFit = seals.every(({ value }, at) => {
    const sealed = JSON.parse(Buffer.from(value ?? []).toString()) as {
      readonly block: number
      readonly spans: readonly { readonly baseOffset: number; readonly records: number }[]
    }
    const half = PER_BLOCK / 2
    return (
      sealed.block === at &&
      sealed.spans.every(({ baseOffset, records: n }) => baseOffset === at * half && n === half)
    )
  })
  const faults = [
    counts.size === blocks ? '' : `${counts.size} blocks of records, ${blocks} seals`,
    [...counts.values()].every((count) => count === PER_BLOCK) ? '' : 'a block is not whole',
    spansFit ? '' : 'a seal does not tell where its records lie',
    offset === blocks ? '' : `offset ${offset} after ${blocks} blocks`,
    state === blocks - 1 ? '' : `state ${state} after ${blocks} blocks`,
  ]
  return { blocks, fault: faults.find((fault) => fault !== '') }
}

const stateOf = (bus: Bus): Promise<number> =>
  new Promise((resolve, reject) => {
    bus
      .subscribe({
        group: 'judge',
        topics: [BLOCKS],
        run: async (lane) => {
          const value = (await lane.state(STORE)).get('block')
          resolve(value ? Number(Buffer.from(value).toString()) : -1)
        },
      })
      .catch(reject)
  })
