import type { RunningTask } from '../../core/bus/contract.ts'
import type { Warehouse } from '../../core/clickhouse/client.ts'
import { type RetractedLabel, writeChainLabels } from '../../core/clickhouse/label-store.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import { pause, retry } from '../../core/retry.ts'
import { DAY_MS } from '../../core/time.ts'
import type { FailingLane } from '../runtime/lane-activity.ts'
import { type FinalLabelEvent, type LabelPlace, labelPeriods } from './label-periods.ts'

/** What the writer of a chain's labels works with. */
export interface ChainLabelDeps extends LabelPlace {
  readonly warehouse: Pick<Warehouse, 'query' | 'insert'>
  readonly log: Logger
  /** Whether this process writes: of several that process the chain, one does. */
  readonly mayWrite: () => boolean
  /** Pause between two looks. Default 5 s. */
  readonly idleMs?: number
  /** Least time between two versions of labels: each has every record screened again. Default 5 minutes. */
  readonly versionMs?: number
}

/** A running writer of labels. */
export interface RunningChainLabels extends RunningTask {
  /** Since when every round fails; nothing while rounds succeed. */
  failing(): readonly FailingLane[]
}

const IDLE_MS = 5_000
const VERSION_MS = 300_000
const LABEL_RETRY = { firstMs: 1_000, maxMs: 60_000, tries: Number.POSITIVE_INFINITY }
/** Most events of a chain that are read: all that its listed contracts ever logged. */
const MAX_EVENTS = 200_000

/** Blocks that became final so long ago are not looked up any more: nothing of them is taken back that late. */
const CHECKED_DAYS = 30

/** The newest final block. */
interface Finality {
  readonly slot: number
  readonly time_ms: number
}

const readFinality = async ({
  warehouse,
  chain,
}: Pick<ChainLabelDeps, 'warehouse' | 'chain'>): Promise<Finality> => {
  const { rows } = await warehouse.query<Finality>({
    sql: `SELECT toFloat64(argMax(final_slot, _ver)) AS slot, toFloat64(toUnixTimestamp64Milli(argMax(final_time, _ver))) AS time_ms
FROM ${chain}_chain_state WHERE key = 'final'`,
  })
  return rows[0] ?? { slot: 0, time_ms: 0 }
}

const finalParams = ({ slot, time_ms }: Finality) => ({
  final: slot,
  checked: Math.max(0, time_ms - CHECKED_DAYS * DAY_MS),
})

const finalSql = (chain: string): string =>
  `FROM ${chain}_address_label_events FINAL WHERE block_slot <= {final:UInt64}`

/**
 * Final events whose blocks stand. Rows of a block that was reverted may be taken back later than finality is known here, as they come by other
 * topics: what counts is that the block is stored. Finality is asked for before, so the table of blocks mostly has all up to it; an event
 * whose block is stored later counts from then on.
 */
const standingSql = (chain: string): string => {
  const isChecked = 'block_time >= fromUnixTimestamp64Milli({checked:Int64})'
  return `${finalSql(chain)} AND (NOT ${isChecked} OR (block_slot, block_hash) IN (
  SELECT block_slot, block_hash FROM ${chain}_blocks FINAL
  WHERE block_slot IN (SELECT block_slot FROM ${chain}_address_label_events WHERE ${isChecked})))`
}

/** What events of final blocks sum to: another text where there are other events. */
export interface EventFingerprints {
  /** Of all that are stored. */
  readonly stored: string
  /** Of those whose blocks stand: labels are made of them. */
  readonly standing: string
}

const readFingerprint = async (
  warehouse: ChainLabelDeps['warehouse'],
  from: string,
  finality: Finality,
): Promise<string> => {
  const { rows } = await warehouse.query<{ readonly fingerprint: string }>({
    sql: `SELECT concat(toString(count()), ' ', toString(groupBitXor(cityHash64(contract, block_hash, event_index, address, action)))) AS fingerprint
${from}`,
    params: finalParams(finality),
  })
  return rows[0]?.fingerprint ?? ''
}

/** Blocks are looked up where events came or some were left out before: the lookup costs several times what the events do. */
const readFingerprints = async (
  { warehouse, chain }: Pick<ChainLabelDeps, 'warehouse' | 'chain'>,
  finality: Finality,
  known: EventFingerprints | undefined,
): Promise<EventFingerprints> => {
  const stored = await readFingerprint(warehouse, finalSql(chain), finality)
  if (stored === known?.stored && stored === known.standing) return known
  return { stored, standing: await readFingerprint(warehouse, standingSql(chain), finality) }
}

/** Final events whose blocks stand, oldest first. */
const readEvents = async (
  { warehouse, chain }: Pick<ChainLabelDeps, 'warehouse' | 'chain'>,
  finality: Finality,
): Promise<readonly FinalLabelEvent[]> => {
  const { rows } = await warehouse.query<FinalLabelEvent>({
    sql: `SELECT contract, protocol, address, action, tx_hash,
  toFloat64(block_height) AS height, toFloat64(toUnixTimestamp64Milli(block_time)) AS time_ms
${standingSql(chain)}
ORDER BY contract, block_slot, event_index LIMIT ${MAX_EVENTS + 1}`,
    params: finalParams(finality),
  })
  if (rows.length > MAX_EVENTS)
    throw new InvalidInput('address labels', `${chain} has more than ${MAX_EVENTS} events`)
  return rows
}

/** An event that was taken back: a label that began with it never was one. */
interface RetractedEvent extends RetractedLabel {
  readonly contract: string
  readonly protocol: string
}

/** Events of which the last that is stored is their retraction; an event without rows is lost, which takes nothing back. */
const readRetracted = async ({
  warehouse,
  chain,
}: Pick<ChainLabelDeps, 'warehouse' | 'chain'>): Promise<readonly RetractedEvent[]> => {
  const { rows } = await warehouse.query<RetractedEvent>({
    sql: `SELECT contract, argMax(protocol, _ver) AS protocol, address, toFloat64(toUnixTimestamp64Milli(argMax(block_time, _ver))) AS fromMs
FROM ${chain}_address_label_events GROUP BY contract, address, block_slot, event_index HAVING argMax(_del, _ver) = 1
ORDER BY contract, block_slot, event_index LIMIT ${MAX_EVENTS + 1}`,
  })
  if (rows.length > MAX_EVENTS)
    throw new InvalidInput('address labels', `${chain} has more than ${MAX_EVENTS} retractions`)
  return rows
}

/**
 * Writes the labels that final events give, where the events are not those of the fingerprints `known`. Returns their
 * fingerprints. Safe to repeat and to interrupt: labels are keyed by address, source and beginning.
 */
export const updateChainLabels = async (
  deps: Pick<ChainLabelDeps, 'warehouse' | 'chain' | 'explorerUrl'>,
  nowMs: number,
  known?: EventFingerprints,
): Promise<EventFingerprints> => {
  const { warehouse, chain } = deps
  const finality = await readFinality(deps)
  const fingerprints = await readFingerprints(deps, finality, known)
  const { stored, standing } = fingerprints
  if (standing === known?.standing && stored === known.stored) return fingerprints
  const all = await readEvents(deps, finality)
  const allRetracted = await readRetracted(deps)
  for (const contract of new Set([...all, ...allRetracted].map((event) => event.contract))) {
    const events = all.filter((event) => event.contract === contract)
    const retracted = allRetracted.filter((event) => event.contract === contract)
    const labels = labelPeriods(events, deps)
    const protocol = (events[0] ?? retracted[0])?.protocol ?? ''
    if (labels.length + retracted.length > 0)
      await writeChainLabels(warehouse, { chain, protocol, contract, labels, retracted, nowMs })
  }
  return fingerprints
}

/** Keeps the labels of a chain at what events of its final blocks say. */
export const startChainLabels = (deps: ChainLabelDeps): RunningChainLabels => {
  const { chain, log, mayWrite, idleMs = IDLE_MS, versionMs = VERSION_MS } = deps
  const controller = new AbortController()
  const { signal } = controller
  let known: EventFingerprints | undefined
  let nextMs = Number.NEGATIVE_INFINITY
  let failing: FailingLane | undefined
  const round = async (): Promise<void> => {
    const nowMs = Date.now()
    if (!mayWrite() || nowMs < nextMs) return
    const found = await updateChainLabels(deps, nowMs, known)
    if (known !== undefined && found.standing !== known.standing) nextMs = nowMs + versionMs
    known = found
  }
  const loop = async (): Promise<void> => {
    while (!signal.aborted) {
      await retry(round, {
        ...LABEL_RETRY,
        signal,
        onRetry: (error, attempt, waitMs) => {
          failing = { partition: 0, sinceMs: failing?.sinceMs ?? Date.now(), error: String(error) }
          log.warn({ chain, err: error, attempt, waitMs }, 'address labels failed, retrying')
        },
      })
      failing = undefined
      await pause(idleMs, signal)
    }
  }
  const done = loop().catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
  return {
    failing: () => (failing === undefined ? [] : [failing]),
    stop: async () => {
      controller.abort(new Error('the writer of labels stopped'))
      await done
    },
  }
}
