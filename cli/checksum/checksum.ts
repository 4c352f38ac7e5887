import { createHash } from 'node:crypto'
import type { Bus } from '../../core/bus/contract.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidOpsRequest } from '../../core/ops/server.ts'
import { TOPICS, type Topic, type TopicRow, topicName } from '../../schemas/topics.ts'
import { type ChainHistory, readChainHistory } from './chain-history.ts'
import { OTHER_TOPICS, TABLE_RULES, TOPIC_RULES } from './comparison-rules.ts'
import { laggingGroups } from './consumer-lag.ts'
import { columnsByTable, tableDigest } from './table-digest.ts'
import { type ChecksumTarget, type Digest, topicDigest } from './topic-digest.ts'

/** A digest with the name of its topic or table. */
export interface NamedDigest extends Digest {
  readonly name: string
}

/** Digests that were taken at one block, and one number for all of them. */
interface DigestSection {
  readonly height: number
  readonly hash: string
  readonly digests: readonly NamedDigest[]
  readonly total: string
}

/** Checksums of one chain. */
export interface ChainChecksum {
  readonly chain: string
  /** Content of the blocks up to a final height: the same for every run over the same chain. */
  readonly final: DigestSection
  /**
   * Tables and topics that hold the newest state only: the same for runs with the same tip. null while the chain moves
   * or something is behind its tip.
   */
  readonly tip: DigestSection | null
  readonly leftOut: readonly { readonly name: string; readonly why: string }[]
}

/** What is asked. */
export interface ChecksumRequest {
  readonly bus: Bus
  readonly codec: Codec
  readonly warehouse: Warehouse
  readonly chain: string
  /** Default: the newest final one. */
  readonly height?: number
  /** Ends it between two topics or tables. */
  readonly signal?: AbortSignal
  /** Told of each topic and table before it is read. */
  readonly onProgress?: (name: string) => void
}

/**
 * Digests of everything that a chain's blocks up to a final height led to. Throws `InvalidOpsRequest` while a stage or sink has
 * not come so far, for a height that is not final, and for a chain without blocks.
 */
export const checksum = async (request: ChecksumRequest): Promise<ChainChecksum> => {
  const { bus, chain } = request
  const history = await readChainHistory(request)
  const height = request.height ?? history.finalHeight
  const block = history.blocks.get(height)
  if (block === undefined || height > history.finalHeight) {
    const final = history.finalHeight < 0 ? 'none' : history.finalHeight
    throw new InvalidOpsRequest(
      `${chain}: height ${height} is not final; the newest final one is ${final}. Use that height or a lower one, or repeat later`,
    )
  }
  const [behind] = await laggingGroups(bus, chain, lastSeqAtHeight(history, height))
  if (behind !== undefined)
    throw new InvalidOpsRequest(
      `${chain}: ${behind}; a checksum at height ${height} needs it. Repeat when \`sluice status\` shows no lag`,
    )
  const atRest = (await laggingGroups(bus, chain, history.seq)).length === 0
  const target: ChecksumTarget = { chain, height, timeMs: block.timeMs }
  const found = await collectDigests(request, target)
  const stillAtRest = atRest && (await readChainHistory(request)).seq === history.seq
  const { tip } = history
  return {
    chain,
    final: digestSection({ height, hash: block.hash }, found.final),
    tip: stillAtRest && tip !== null ? digestSection(tip, found.newest) : null,
    leftOut: found.leftOut,
  }
}

const lastSeqAtHeight = ({ operations }: ChainHistory, height: number): number =>
  operations.reduce((last, each) => (each.height <= height ? Math.max(last, each.seq) : last), 0)

interface CollectedDigests {
  readonly final: readonly NamedDigest[]
  readonly newest: readonly NamedDigest[]
  readonly leftOut: ChainChecksum['leftOut']
}

const collectDigests = async (
  request: ChecksumRequest,
  target: ChecksumTarget,
): Promise<CollectedDigests> => {
  const { bus, codec, warehouse, chain } = request
  const begin = (name: string): void => {
    request.signal?.throwIfAborted()
    request.onProgress?.(name)
  }
  const leftOut = Object.entries(OTHER_TOPICS).map(([name, why]) => ({ name, why }))
  const final: NamedDigest[] = []
  const newest: NamedDigest[] = []
  const take = (name: string, how: string, digest: Digest): void => {
    const list = how === 'newest' ? newest : final
    list.push({ name, ...digest })
  }
  const topics = new Set(await bus.topics(''))
  for (const [topic, rule] of Object.entries(TOPIC_RULES)) {
    if (!isTopic(topic)) continue
    const name = topicName(topic, chain)
    begin(name)
    if (rule.how === 'left out') leftOut.push({ name, why: rule.why })
    else if (isOptionalTopic(topic) && !topics.has(name))
      leftOut.push({ name, why: 'its feed is not on' })
    else take(name, rule.how, await topicDigest({ bus, codec, target, topic, rule }))
  }
  const columns = await columnsByTable(warehouse)
  for (const [table, rule] of Object.entries(TABLE_RULES)) {
    const name = `${chain}_${table}`
    begin(name)
    const held = columns.get(name) ?? []
    if (rule.how === 'left out') leftOut.push({ name, why: rule.why })
    else if (held.length === 0) leftOut.push({ name, why: 'the warehouse has no such table yet' })
    else take(name, rule.how, await tableDigest(warehouse, { name, columns: held, rule }, target))
  }
  return { final, newest, leftOut }
}

const isOptionalTopic = (topic: Topic): boolean => (TOPICS[topic] as TopicRow).optional === true

const isTopic = (name: string): name is Topic => Object.hasOwn(TOPICS, name)

const digestLine = ({ name, rows, digest }: NamedDigest): string => `${name} ${rows} ${digest}`

const digestSection = (
  { height, hash }: { readonly height: number; readonly hash: string },
  taken: readonly NamedDigest[],
): DigestSection => {
  const text = taken.map(digestLine).join('\n')
  const total = createHash('sha256').update(text).digest('hex').slice(0, 32)
  return { height, hash, digests: taken, total }
}

/** A checksum as lines of text: `name rows digest`, then the total; remarks begin with `#`. */
export const checksumLines = ({ chain, final, tip, leftOut }: ChainChecksum): string[] => [
  `# ${chain}: final content up to height ${final.height} ${final.hash}`,
  ...final.digests.map(digestLine),
  `${chain}.total ${final.digests.length} ${final.total}`,
  ...(tip === null
    ? [`# ${chain}: no newest state, because the chain moves`]
    : [
        `# ${chain}: newest state at the tip ${tip.height} ${tip.hash}`,
        ...tip.digests.map(digestLine),
        `${chain}.tip-total ${tip.digests.length} ${tip.total}`,
      ]),
  ...leftOut.map(({ name, why }) => `# left out: ${name}: ${why}`),
]
