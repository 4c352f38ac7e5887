import { TOPIC_RULES } from '../../../cli/checksum/comparison-rules.ts'
import { type ChecksumTarget, topicDigest } from '../../../cli/checksum/topic-digest.ts'
import type { Codec } from '../../../core/codec/contract.ts'
import type { ChainOp, Source } from '../../../ingestors/follow/contract.ts'
import { FAMILIES } from '../../../ingestors/publish/record-batches.ts'
import { PROCESS_PIPELINE } from '../../../processors/process-pipeline.ts'
import { TOPICS, type Topic, topicName } from '../../../schemas/topics.ts'
import { blockRef, createScriptedSource } from '../builders/evm-block.ts'
import { openSimulatedBus } from './bus.ts'
import type { ScheduleChain } from './chain.ts'
import { SimulatedGroups } from './lanes.ts'
import type { SimulatedLog } from './log.ts'
import { SimulatedWarehouse } from './warehouse.ts'

const CHAIN = 'eth'
const BLOCKS = topicName('blocks', CHAIN)

/** Two runs over the same chain: what one held that had to stand faults, and what it has to be. */
export interface RunPair<T> {
  readonly got: T
  readonly want: T
}

const openReaderBus = (shared: SimulatedLog) =>
  openSimulatedBus({ name: 'reader', shared, groups: new SimulatedGroups() })

/** Topics that differ as `sluice checksum` reads them at the tip. */
export const topicDifferences = async (
  { got, want }: RunPair<SimulatedLog>,
  { codec, chain }: { readonly codec: Codec; readonly chain: ScheduleChain },
): Promise<readonly string[]> => {
  const tip = chain.last.blocks.at(-1)
  const target: ChecksumTarget = {
    chain: CHAIN,
    height: tip?.height ?? 0,
    timeMs: Number.MAX_SAFE_INTEGER,
  }
  const differences: string[] = []
  const [gotBus, wantBus] = [openReaderBus(got), openReaderBus(want)]
  const held = new Set(want.topics(''))
  for (const [topic, rule] of Object.entries(TOPIC_RULES) as [
    Topic,
    (typeof TOPIC_RULES)[Topic],
  ][]) {
    const name = Object.hasOwn(TOPICS, topic) ? topicName(topic, CHAIN) : ''
    if (rule.how === 'left out' || !held.has(name)) continue
    const work = { codec, target, topic, rule }
    const one = await topicDigest({ ...work, bus: gotBus })
    const other = await topicDigest({ ...work, bus: wantBus })
    if (one.digest !== other.digest) {
      differences.push(`${name}: ${one.rows} rows ${one.digest}, not ${other.rows} ${other.digest}`)
    }
  }
  return differences
}

const firstUnmatched = (these: readonly string[], those: readonly string[]): string => {
  const known = new Set(those)
  return these.find((line) => !known.has(line)) ?? 'none'
}

/** Tables that differ, each with the first row that only one of them has. */
export const tableDifferences = ({ got, want }: RunPair<SimulatedWarehouse>): readonly string[] =>
  SimulatedWarehouse.compared().flatMap((name) => {
    const [one, other] = [got.content(name), want.content(name)]
    if (one.join('\n') === other.join('\n')) return []
    return [
      `table ${name}: ${one.length} rows, not ${other.length}; only here ${firstUnmatched(one, other)}; only there ${firstUnmatched(other, one)}`,
    ]
  })

/** The operations that a log holds, as a recording of them: a run over it commits the same ones again. */
export const toRecordedSource = (log: SimulatedLog, { byHash }: ScheduleChain): Source => {
  const source = createScriptedSource(true)
  const { end = 0 } = log.ends(BLOCKS)[0] ?? {}
  const ops = log
    .records({ topic: BLOCKS, partition: 0, from: 0, to: end })
    .map(({ headers }): ChainOp => {
      const block = byHash.get(headers.hash ?? '')
      if (block === undefined) throw new Error(`no block ${headers.hash} was ever shown`)
      if (headers.op === 'A') return { op: 'apply', block }
      return { op: headers.op === 'R' ? 'revert' : 'finalize', ref: blockRef(block) }
    })
  source.push(...ops)
  return source
}

/** Records of a topic, byte for byte. */
const recordLines = (log: SimulatedLog, topic: string): readonly string[] =>
  log.ends(topic).flatMap(({ partition, low, end }) =>
    log.records({ topic, partition, from: low, to: end }).map(({ offset, key, value, headers }) => {
      const bytes = value && Buffer.from(value).toString('base64')
      return [partition, offset, key, bytes, JSON.stringify(headers)].join(' ')
    }),
  )

/** The operations; the order in which one names its places is not told, because only the order within a partition counts. */
const blockOperationLines = (log: SimulatedLog, codec: Codec): readonly string[] => {
  const { end = 0 } = log.ends(BLOCKS)[0] ?? {}
  return log.records({ topic: BLOCKS, partition: 0, from: 0, to: end }).map(({ value }) => {
    if (value === null) return 'a tombstone'
    const { spans, ...event } = codec.decode('block.BlockEvent', value)
    return JSON.stringify([event, spans.map((span) => JSON.stringify(span)).sort()])
  })
}

const stateLines = (log: SimulatedLog): readonly string[] =>
  log
    .stores()
    .flatMap(([store, partition]) =>
      [...log.stateOf(store, partition).entries()].map(
        ([key, value]) => `${store}/${partition} ${key} ${Buffer.from(value).toString()}`,
      ),
    )

const lineDifference = (what: string, one: readonly string[], other: readonly string[]) =>
  one.join('\n') === other.join('\n')
    ? []
    : [`${what}: only here ${firstUnmatched(one, other)}; only there ${firstUnmatched(other, one)}`]

/**
 * What differs where both runs committed the same block operations: the records of the ingestor byte for byte, the state of
 * every lane, and the places of the stages.
 */
export const exactDifferences = (
  { got, want }: RunPair<SimulatedLog>,
  codec: Codec,
): readonly string[] => {
  const raw = FAMILIES.map((family) => topicName(family, CHAIN))
  const group = `${PROCESS_PIPELINE.app}.${CHAIN}`
  const inputs = PROCESS_PIPELINE.inputs.map((input) => topicName(input, CHAIN))
  const places = (log: SimulatedLog) =>
    log.offsets(group, inputs).map((each) => JSON.stringify(each))
  return [
    ...lineDifference(BLOCKS, blockOperationLines(got, codec), blockOperationLines(want, codec)),
    ...raw.flatMap((topic) =>
      lineDifference(topic, recordLines(got, topic), recordLines(want, topic)),
    ),
    ...lineDifference('state', stateLines(got), stateLines(want)),
    ...lineDifference('offsets', places(got), places(want)),
  ]
}

/** Dead letters, which no schedule has a reason for. */
export const deadLetters = (log: SimulatedLog): readonly string[] =>
  log.topics('dlq.').flatMap((topic) => {
    const records = log.ends(topic).reduce((sum, { end }) => sum + end, 0)
    return records === 0 ? [] : [`${topic} has ${records} letters`]
  })
