import { createRandom } from '../../../simulator/node/random.ts'
import type { LinkCall } from './lanes.ts'

/** What a process asks of the world around it: the log, the warehouse, its node. */
export type EnvironmentCall = LinkCall | 'insert' | 'node'

/** What goes wrong at a call. */
export const CALL_FAULTS = {
  /** An error before anything happened. */
  refused: ['commit', 'group', 'insert', 'take', 'read', 'state', 'facts', 'writer', 'node'],
  /** It happened, and the answer is an error. */
  'answer lost': ['commit', 'commit', 'group', 'insert'],
  /** The answer is an error, and it happens afterwards. */
  'happens later': ['commit', 'commit', 'group', 'insert'],
  /** It happens, and the answer takes long. */
  slow: ['commit', 'group', 'insert', 'insert', 'node'],
  /** The process ends before or after the call happened. */
  'crash before': ['commit', 'group', 'insert', 'take', 'read', 'state', 'facts', 'writer', 'node'],
  'crash after': ['commit', 'commit', 'group', 'insert', 'take', 'read', 'state', 'writer'],
  /** The process stands still in the middle of a call, loses its lanes to others and continues as if nothing had been. */
  zombie: ['commit', 'commit', 'group', 'insert', 'take', 'state', 'writer'],
} as const satisfies Readonly<Record<string, readonly EnvironmentCall[]>>

/** What happens to a process or to the log between calls. */
export const ENVIRONMENT_FAULTS = ['restart', 'rebalance', 'compaction'] as const

export type CallFault = keyof typeof CALL_FAULTS
export type EnvironmentFault = (typeof ENVIRONMENT_FAULTS)[number]

/** One thing that goes wrong. */
export type Fault =
  | {
      readonly kind: CallFault
      readonly atMs: number
      readonly call: EnvironmentCall
      /** Calls of that kind that pass before. */
      readonly skip: number
      /** How long it lasts, where it lasts. */
      readonly forMs: number
      /** From then until the others, or the process itself, notice. */
      readonly noticeMs: number
    }
  | {
      readonly kind: EnvironmentFault
      readonly atMs: number
      readonly slot: number
      readonly forMs: number
    }

const CALL_KINDS = Object.keys(CALL_FAULTS) as readonly CallFault[]
/** Faults continue for a while after the chain has shown its last block. */
const AFTER_MS = 3_000

/** The faults of a seed for a chain that moves for so long, in the order of their times. */
export const createFaults = (seed: number, lastsMs: number): readonly Fault[] => {
  const random = createRandom(seed, 2)
  const count = 3 + random.below(10)
  const faults = Array.from({ length: count }, (): Fault => {
    const atMs = random.below(lastsMs + AFTER_MS)
    const forMs = 50 + random.below(random.chance(0.3) ? 6_000 : 600)
    if (random.chance(0.2)) {
      return { kind: random.pick(ENVIRONMENT_FAULTS), atMs, slot: random.below(2), forMs }
    }
    const kind = random.pick(CALL_KINDS)
    const call: EnvironmentCall = random.pick<EnvironmentCall>(CALL_FAULTS[kind])
    const noticeMs = random.below(random.chance(0.3) ? 4_000 : 400)
    return { kind, atMs, call, skip: random.below(call === 'group' ? 3 : 12), forMs, noticeMs }
  })
  return faults.sort((one, other) => one.atMs - other.atMs)
}

/** A fault in a few words, as a report prints it. */
export const formatFault = (fault: Fault): string =>
  'call' in fault
    ? `${fault.atMs} ms: ${fault.kind} (${fault.call}, after ${fault.skip}; ${fault.forMs} ms, noticed ${fault.noticeMs} ms later)`
    : `${fault.atMs} ms: ${fault.kind} (process ${fault.slot}, ${fault.forMs} ms)`
