import type { InvalidInput } from '../../core/errors.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import { toDropReason } from '../../schemas/drop-reasons.ts'

/** Refusals that wait for a commit to be written with. */
const WAITING = 16

/** An answer of a node that was not taken. */
export interface RejectedResponse {
  readonly reason: string
  readonly message: string
  /** Host of the node; null where several gave it, or no single one. */
  readonly endpoint: string | null
}

/** What nodes of a chain said and was not taken: counted at once, kept for the dead letters of the next commit. */
export interface RejectedResponses {
  add(error: Pick<InvalidInput, 'reason' | 'message'>, endpoint: string | null): void
  /** What came since the last time: one of each reason and endpoint. */
  take(): readonly RejectedResponse[]
}

/** An empty book of a chain. */
export const collectRejectedResponses = (chain: string, metrics: Metrics): RejectedResponses => {
  const waiting = new Map<string, RejectedResponse>()
  return {
    add: ({ reason, message }, endpoint) => {
      metrics.ingestDropped.inc({ chain, protocol: 'node', reason: toDropReason(reason) })
      const key = `${reason} ${endpoint}`
      if (waiting.size < WAITING && !waiting.has(key)) {
        waiting.set(key, { reason, message, endpoint })
      }
    },
    take: () => {
      const taken = [...waiting.values()]
      waiting.clear()
      return taken
    },
  }
}
