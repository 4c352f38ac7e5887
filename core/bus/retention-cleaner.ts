import type { Logger } from '../ops/logger.ts'
import { pause } from '../retry.ts'
import type { Bus, RunningTask } from './contract.ts'

const RETENTION_INTERVAL_MS = 300_000

/**
 * Sweeps now and then until it is stopped: of the embedded log what retention no longer keeps, and what newer records of compacted
 * topics replaced; beside a cluster, whose brokers do that by themselves, only old local copies. A sweep that fails is tried again
 * the next time; one under way ends with the bus.
 */
export const startRetentionCleaner = (
  bus: Bus,
  log: Logger,
  everyMs = RETENTION_INTERVAL_MS,
): RunningTask => {
  const stopping = new AbortController()
  const { signal } = stopping
  const what =
    bus.capacity() === undefined
      ? 'removal of old local copies failed'
      : 'embedded log retention run failed'
  const run = async (): Promise<void> => {
    for (;;) {
      await pause(everyMs, signal)
      try {
        await bus.sweep(Date.now())
      } catch (err) {
        if (!signal.aborted) log.error({ err }, what)
      }
    }
  }
  run().catch(() => undefined)
  return { stop: async () => stopping.abort() }
}
