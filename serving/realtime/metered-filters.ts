import { LRUCache } from 'lru-cache'
import type { ChannelRow } from '../../schemas/channels.ts'
import { PROTOCOL_ERRORS, type ProtocolError } from './protocol.ts'
import type { FilterCompiler, PublicationFilter } from './publication-filter.ts'

/** Processor time of an organization for compiling filters, in milliseconds: at once, a few hundred filters. */
const BURST_MS = 250
/** What comes back each second: it has a fifth of the thread at most. */
const MS_PER_SECOND = 200
/** Organizations that are remembered: more than have connections. */
const MAX_ORGS = 10_000

/** What an organization has left, as of `atMs`; below 0 = it took too much. */
interface TimeLeft {
  readonly ms: number
  readonly atMs: number
}

/** The filter of a text for an organization; an error where the text is none (107), or cannot be compiled now (111). */
export type MeteredFilters = (
  orgId: string,
  row: ChannelRow,
  text: string,
) => PublicationFilter | ProtocolError

/**
 * Filters of a process. They are compiled on the thread that serves everybody, so the organizations have a budget of time for it
 * each, over all of their connections, and texts that turn out to be no filter take of it too.
 */
export const createMeteredFilters = (
  filters: FilterCompiler,
  nowMs: () => number,
): MeteredFilters => {
  const orgs = new LRUCache<string, TimeLeft>({ max: MAX_ORGS })
  const leftOf = (orgId: string, startMs: number): number => {
    const { ms, atMs } = orgs.get(orgId) ?? { ms: BURST_MS, atMs: startMs }
    return Math.min(BURST_MS, ms + (Math.max(0, startMs - atMs) / 1_000) * MS_PER_SECOND)
  }
  return (orgId, row, text) => {
    const known = filters.compiled(row, text)
    if (known !== undefined) return known
    const startMs = nowMs()
    const left = leftOf(orgId, startMs)
    if (left <= 0) return PROTOCOL_ERRORS.tooManyRequests
    const filter = filters.compile(row, text)
    const endMs = nowMs()
    orgs.set(orgId, { ms: left - Math.max(0, endMs - startMs), atMs: endMs })
    return filter ?? PROTOCOL_ERRORS.badRequest
  }
}
