import { setTimeout as sleep } from 'node:timers/promises'
import { InvalidInput } from '../../core/errors.ts'

/** Newest block of a node as far as it is known: pushed notices may name it before anybody asked for it. */
export interface Head {
  readonly height: number
  /** null where only the height was reported. */
  readonly hash: string | null
}

/** Newest heads: pushed where a socket pushes, asked for where none does, it fell silent or what it pushes is old. */
export interface HeadWatch {
  newest(): Head | null
  /** A head that was pushed. One below what is known says nothing, one too far above it is asked for instead. */
  see(head: Head): void
  /** Asks the node. Throws `Outage` when no endpoint answers, `InvalidInput` where none shows the block of its head. */
  refresh(): Promise<Head>
  /** Resolves once another head than `seen` is known or, without one for `ms`, one was asked for. */
  after(seen: Head | null, ms: number): Promise<void>
}

/** An endpoint that lags by more than this is behind the others. */
const FAR_MS = 30_000
const FAR_BLOCKS = 3

/** Blocks below the highest head from which on an endpoint is behind. */
export const farBlocks = (blockTimeMs: number): number =>
  Math.max(FAR_BLOCKS, Math.ceil(FAR_MS / blockTimeMs))

/** Why a height cannot be final: it lies far above the head; undefined where it can be. */
export const implausibleFinality = (
  final: number,
  { height }: Head,
  { blockTimeMs }: { readonly blockTimeMs: number },
): InvalidInput | undefined =>
  final > height + farBlocks(blockTimeMs)
    ? new InvalidInput(
        'finality-above-head',
        `finalized height ${final} is above the head ${height}`,
      )
    : undefined

/** Blocks that a chain may make in its usual time of one, catching up after a pause of its own. */
const MAX_PACE = 4
/** A head that no endpoint repeated for as long is forgotten where a lower one is reported. */
const FORGET_MS = 10_000
/** The node is asked at least as often, whatever is pushed: pushes of an endpoint that lags are news too. */
const RECHECK_MS = 10_000
/** Times an endpoint is asked for the block of its head: the backends behind one address may differ. */
const PROOF_TRIES = 3

/** What a watch is made of. */
export interface HeadOptions {
  /** Newest head of the node. A head for which `mustProve` holds is believed only of an endpoint that shows its block. */
  readonly ask: (mustProve: (height: number) => boolean) => Promise<Head>
  readonly blockTimeMs: number
  /** Endpoints that are asked. The first head of a single one is taken as it is: no other could be asked instead. */
  readonly endpoints: number
  /** Called with a pushed head that is rejected. */
  readonly refuse: (error: InvalidInput) => void
  readonly signal: AbortSignal
  /** Milliseconds of a clock that never goes back. Default: that of the process. */
  readonly nowMs?: () => number
}

/**
 * Throws `InvalidInput`, `false-head`, where the endpoint that named a head does not have its block. A lie stays its own that way, and
 * another endpoint is asked.
 */
export const proveHead = async (
  height: number,
  hasBlock: () => Promise<boolean>,
): Promise<void> => {
  for (let tries = 0; tries < PROOF_TRIES; tries += 1) if (await hasBlock()) return
  throw new InvalidInput(
    'false-head',
    `the node reports head ${height} but returns no block at that height`,
  )
}

/** The pool has blamed the endpoint for it; what is known stays true. */
const isFalseHead = (error: unknown): boolean =>
  error instanceof InvalidInput && error.reason === 'false-head'

/** What is known of how far the chain is, by which the next head is checked. */
interface Progress {
  height: number
  /** Last time that an endpoint was as far. */
  reportedMs: number
  /** Blocks that the head could jump by at `countedMs`; it grows with the time. */
  credit: number
  countedMs: number
}

/** A watch that has seen nothing yet. */
export const headWatch = (options: HeadOptions): HeadWatch => {
  const { ask, blockTimeMs, endpoints, refuse, signal, nowMs = () => performance.now() } = options
  const slack = farBlocks(blockTimeMs)
  let newest: Head | null = null
  let known: Progress | null = null
  let wake = new AbortController()
  let askedMs = Number.NEGATIVE_INFINITY
  let isAsking = false
  const creditOf = ({ credit, countedMs }: Progress): number =>
    credit + ((nowMs() - countedMs) / blockTimeMs) * MAX_PACE
  const mustProve = (height: number): boolean =>
    known === null ? endpoints > 1 : height - known.height > creditOf(known)
  const note = ({ height }: Head): void => {
    const now = nowMs()
    if (known !== null && height < known.height && now - known.reportedMs < FORGET_MS) return
    const spent = known === null ? 0 : Math.max(0, height - known.height)
    const credit = known === null ? slack : Math.max(0, Math.min(slack, creditOf(known) - spent))
    known = { height, reportedMs: now, credit, countedMs: now }
  }
  const isNews = (head: Head, isPushed: boolean): boolean => {
    if (newest === null || head.height > newest.height) return true
    if (head.height === newest.height) return head.hash !== null && head.hash !== newest.hash
    return !isPushed && (head.hash !== null || known?.height === head.height)
  }
  const take = (head: Head, isPushed: boolean): void => {
    note(head)
    if (!isNews(head, isPushed)) return
    newest = head
    wake.abort()
    wake = new AbortController()
  }
  const refresh = async (): Promise<Head> => {
    askedMs = nowMs()
    const head = await ask(mustProve)
    take(head, false)
    return head
  }
  /** Asks beside what continues. What goes wrong is reported by the pool, and the next call asks again. */
  const recheck = (everyMs: number): void => {
    if (isAsking || nowMs() - askedMs < everyMs) return
    isAsking = true
    refresh()
      .catch(() => undefined)
      .finally(() => {
        isAsking = false
      })
  }
  return {
    newest: () => newest,
    see: (head) => {
      if (known === null || !mustProve(head.height)) return take(head, true)
      refuse(new InvalidInput('false-head', `${head.height} was pushed, ${known.height} is known`))
      recheck(blockTimeMs)
    },
    refresh,
    after: async (seen, ms) => {
      if (newest === seen) {
        const woken = AbortSignal.any([wake.signal, signal])
        await sleep(ms, undefined, { signal: woken }).catch(() => undefined)
        signal.throwIfAborted()
      }
      if (newest !== seen) return recheck(RECHECK_MS)
      await refresh().catch((error: unknown) => {
        if (newest === null || !isFalseHead(error)) throw error
      })
    },
  }
}
