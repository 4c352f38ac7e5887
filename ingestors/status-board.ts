import type { Metrics } from '../core/ops/metrics.ts'
import type { ChainRow } from '../schemas/chains.ts'
import type { Source } from './follow/contract.ts'
import type { Standing } from './publish/session.ts'

/** Blocks behind the node's head that still count as live, and how long ago the first of them may be where blocks are fast. */
const LIVE_LAG = 2
const LIVE_LAG_MS = 2_000

/** What an ingestor is doing. */
export interface IngestorStatus {
  /** Newest committed block; null before the first. */
  readonly height: number | null
  readonly hash: string | null
  readonly timeMs: number | null
  /** Newest committed block operation; 0 before the first. */
  readonly seq: number
  readonly state: 'starting' | 'catching-up' | 'live' | 'halted' | 'stopped' | 'done'
  /** Why it halted. */
  readonly reason?: string
}

/** What an ingestor tells of itself, and how it learns that. */
export interface StatusBoard {
  readonly done: Promise<void>
  readonly status: () => IngestorStatus
  readonly committed: (standing: Standing) => void
  readonly enter: (state: IngestorStatus['state'], reason?: string) => void
  readonly close: () => void
}

/** Blocks behind the head that still count as live. */
export const liveLagOf = ({ blockTimeMs }: ChainRow): number =>
  Math.max(LIVE_LAG, Math.ceil(LIVE_LAG_MS / blockTimeMs))

/** What the status is made from. */
interface BoardOptions {
  readonly chain: ChainRow
  readonly source: Source
  readonly metrics: Metrics
  readonly nowMs?: () => number
}

/** The status that others read, and the lag in the metrics. */
export const statusBoard = ({
  chain,
  source,
  metrics,
  nowMs = Date.now,
}: BoardOptions): StatusBoard => {
  let status: IngestorStatus = {
    height: null,
    hash: null,
    timeMs: null,
    seq: 0,
    state: 'starting',
  }
  const liveLag = liveLagOf(chain)
  let finish = (): void => undefined
  const done = new Promise<void>((resolve) => {
    finish = resolve
  })
  const lagBlocks = (): number | null => {
    const head = source.head()
    return head === null || status.height === null ? null : Math.max(head.height - status.height, 0)
  }
  const close = metrics.watchLag(chain.id, () => ({
    blocks: lagBlocks(),
    seconds: status.timeMs === null ? null : (nowMs() - status.timeMs) / 1e3,
  }))
  return {
    done,
    status: () => status,
    close,
    committed: ({ seq, tip }) => {
      const { height = null, hash = null, timeMs = null } = tip ?? {}
      status = { ...status, height, hash, timeMs, seq }
      const lag = lagBlocks()
      const state = lag !== null && lag <= liveLag ? 'live' : 'catching-up'
      status = { height, hash, timeMs, seq, state }
    },
    enter: (state, reason) => {
      const { reason: _before, ...rest } = status
      const ended = rest.state === 'halted' || rest.state === 'done'
      if (ended && state === 'stopped') return
      status = { ...rest, state, ...(reason !== undefined && { reason }) }
      if (state === 'done') finish()
    },
  }
}
