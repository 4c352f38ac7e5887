import type { Metrics, Observation } from '../core/ops/metrics.ts'
import type { ChainRow } from '../schemas/chains.ts'
import type { Source } from './follow/contract.ts'
import type { CommittedHead } from './publish/session.ts'

/** Blocks behind the node's head that still count as live, and how long ago the first of them may be where blocks are fast. */
const LIVE_LAG = 2
const LIVE_LAG_MS = 2_000

/** A chain that takes no block for as long is reported, for ten of its blocks where they are slow. */
const STALL_MS = 60_000
const STALL_BLOCKS = 10

/** Milliseconds without a block after which a chain counts as stalled. */
export const stallMsOf = ({ blockTimeMs }: Pick<ChainRow, 'blockTimeMs'>): number =>
  Math.max(STALL_MS, STALL_BLOCKS * blockTimeMs)

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
  readonly committed: (head: CommittedHead) => void
  readonly enter: (state: IngestorStatus['state'], reason?: string) => void
  /** Another process follows the chain from now on: here it neither continues nor stalls. */
  readonly leave: () => void
  /** Why the chain is not ready: it is halted, or a node gave no block for as long as `stallMsOf`. */
  readonly readiness: () => { readonly ok: boolean; readonly detail?: string }
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
  const fromNode = source.node !== null
  /** When a block was taken or taken back last, or the chain was begun with; null: it is not followed here, or has ended. */
  let movedMs: number | null = null
  const idleMs = (): number | null => (movedMs === null || !fromNode ? null : nowMs() - movedMs)
  const readiness = (): { readonly ok: boolean; readonly detail?: string } => {
    if (status.state === 'halted')
      return { ok: false, detail: `${chain.id}: ${status.reason ?? 'halted'}` }
    const idle = idleMs()
    if (idle === null || idle < stallMsOf(chain)) return { ok: true }
    const above = status.height === null ? '' : ` above ${status.height}`
    return { ok: false, detail: `${chain.id}: no block${above} for ${Math.floor(idle / 1e3)} s` }
  }
  const lagBlocks = (): number | null => {
    const head = source.head()
    return head === null || status.height === null ? null : Math.max(head.height - status.height, 0)
  }
  const ofChain = (value: number | null): readonly Observation<'chain'>[] =>
    value === null ? [] : [{ labels: { chain: chain.id }, value }]
  const age = (): number | null => (status.timeMs === null ? null : nowMs() - status.timeMs)
  const observed = [
    metrics.observe('headLagBlocks', () => ofChain(lagBlocks())),
    metrics.observe('headLagSeconds', () => ofChain(secondsOf(age()))),
    metrics.observe('idleSeconds', () => ofChain(secondsOf(idleMs()))),
    metrics.observe('chainHalted', () => ofChain(status.state === 'halted' ? 1 : 0)),
  ]
  return {
    done,
    status: () => status,
    readiness,
    leave: () => {
      movedMs = null
    },
    close: () => {
      for (const end of observed) end()
    },
    committed: ({ seq, tip }) => {
      const { height = null, hash = null, timeMs = null } = tip ?? {}
      if (hash !== status.hash) movedMs = nowMs()
      status = { ...status, height, hash, timeMs, seq }
      const lag = lagBlocks()
      const state = lag !== null && lag <= liveLag ? 'live' : 'catching-up'
      status = { height, hash, timeMs, seq, state }
    },
    enter: (state, reason) => {
      const { reason: _before, ...rest } = status
      const ended = rest.state === 'halted' || rest.state === 'done'
      if (ended && state === 'stopped') return
      if (state === 'starting') movedMs ??= nowMs()
      if (state === 'done' || state === 'stopped') movedMs = null
      status = { ...rest, state, ...(reason !== undefined && { reason }) }
      if (state === 'done') finish()
    },
  }
}

const secondsOf = (ms: number | null): number | null => (ms === null ? null : ms / 1e3)
