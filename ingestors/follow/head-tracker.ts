import { setTimeout as sleep } from 'node:timers/promises'
import { InvalidInput } from '../../core/errors.ts'

/** Newest block of a node as far as it is known: pushed notices may name it before anybody asked for it. */
export interface Head {
  readonly height: number
  /** null where only the height was told. */
  readonly hash: string | null
}

/** Newest heads: pushed where a socket pushes, asked for where none does or it fell silent. */
export interface HeadWatch {
  newest(): Head | null
  see(head: Head): void
  /** Asks the node. Throws `Outage` when no endpoint answers. */
  refresh(): Promise<Head>
  /** Resolves once another head than `seen` is known or, without a push for `ms`, one was asked for. */
  after(seen: Head | null, ms: number): Promise<void>
}

/** An endpoint that lags by more than this is behind the others. */
const FAR_MS = 30_000
const FAR_BLOCKS = 3

/** Blocks below the highest head from which on an endpoint is behind. */
export const farBlocks = (blockTimeMs: number): number =>
  Math.max(FAR_BLOCKS, Math.ceil(FAR_MS / blockTimeMs))

/** Why a height cannot be final: it lies far above the head; undefined where it can be. */
export const finalityLie = (
  final: number,
  { height }: Head,
  { blockTimeMs }: { readonly blockTimeMs: number },
): InvalidInput | undefined =>
  final > height + farBlocks(blockTimeMs)
    ? new InvalidInput('finality-above-head', `${final} is called final, the head is ${height}`)
    : undefined

/** What a watch is made of. */
export interface HeadOptions {
  /** Whether a head that was told replaces the one that is held. */
  readonly isNews: (told: Head, held: Head) => boolean
  readonly ask: () => Promise<Head>
  readonly signal: AbortSignal
}

/** A watch that has seen nothing yet. */
export const headWatch = ({ isNews, ask, signal }: HeadOptions): HeadWatch => {
  let newest: Head | null = null
  let wake = new AbortController()
  const see = (head: Head): void => {
    if (newest !== null && !isNews(head, newest)) return
    newest = head
    wake.abort()
    wake = new AbortController()
  }
  const refresh = async (): Promise<Head> => {
    const head = await ask()
    see(head)
    return head
  }
  return {
    newest: () => newest,
    see,
    refresh,
    after: async (seen, ms) => {
      if (newest !== seen) return
      const woken = AbortSignal.any([wake.signal, signal])
      await sleep(ms, undefined, { signal: woken }).catch(() => undefined)
      signal.throwIfAborted()
      if (newest === seen) await refresh()
    },
  }
}
