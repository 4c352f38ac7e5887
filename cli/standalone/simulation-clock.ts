import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { IncompleteLog } from '../../core/bus/embedded/log.ts'
import {
  type OfflineLogReader,
  openOfflineLogReader,
} from '../../core/bus/embedded/offline-reader.ts'
import { topicName } from '../../schemas/topics.ts'

/** What a simulated chain is shown of at once; the rest of a long past appears as fast as it can be made. */
const IMMEDIATE_HISTORY_MS = 30 * 60_000
/** Swaps per second that are made while a long past appears. */
const CATCH_UP_SWAPS_PER_SECOND = 2_500
/** Blocks above the newest one that a log holds, so that its node is never behind it. */
const MARGIN_BLOCKS = 8

/** What decides how far a simulated chain has come. */
export interface SimulationClockOptions {
  readonly genesisMs: number
  readonly ratePerSecond: number
  /** Height of the newest block that was ingested before; null for a new chain. */
  readonly ingested: number | null
  /** Time between heights. */
  readonly blockTimeMs: number
  /** End of the chain; absent = it continues with the clock. */
  readonly endMs?: number
  readonly nowMs: () => number
}

/**
 * The clock of a simulated chain: the real one, but a past that is longer than half an hour appears step by step, and a
 * chain with an end stops there. Never behind what was ingested.
 */
export const simulationClock = (options: SimulationClockOptions): (() => number) => {
  const { genesisMs, ratePerSecond, ingested, blockTimeMs, nowMs } = options
  const { endMs = Number.POSITIVE_INFINITY } = options
  const startedMs = nowMs()
  const heldMs = ingested === null ? 0 : (ingested + MARGIN_BLOCKS) * blockTimeMs
  const firstMs = genesisMs + Math.max(IMMEDIATE_HISTORY_MS, heldMs)
  const factor = Math.max(1, CATCH_UP_SWAPS_PER_SECOND / ratePerSecond)
  return () => Math.min(nowMs(), endMs, firstMs + (nowMs() - startedMs) * factor)
}

/** Height of the newest block operation in a log folder; null when there is none. */
export const ingestedHeight = async (logPath: string, chain: string): Promise<number | null> => {
  if (!existsSync(join(logPath, 'data.mdb'))) return null
  const reader = openIfFinished(() => openOfflineLogReader(logPath))
  if (reader === null) return null
  const topic = topicName('blocks', chain)
  try {
    if (!reader.topics().includes(topic)) return null
    let height: number | null = null
    for await (const { headers } of reader.last(topic, 1)) height = Number(headers.height ?? 0)
    return height
  } finally {
    await reader.close()
  }
}

/** null: the log was never finished. */
const openIfFinished = (open: () => OfflineLogReader): OfflineLogReader | null => {
  try {
    return open()
  } catch (error) {
    if (error instanceof IncompleteLog) return null
    throw error
  }
}
