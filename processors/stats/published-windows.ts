import { LRUCache } from 'lru-cache'
import type { TradeStatEvent } from '../../schemas/wire.ts'
import { previousFields, statEvent } from './stat-event.ts'
import type { TokenStats } from './token-stats.ts'
import {
  type PublishedWindows,
  type TokenAnswer,
  type WindowStats,
  windowStatsAt,
} from './token-windows.ts'
import type { UnfinalizedStats } from './unfinalized-stats.ts'

/** Windows of a token as `trade-stats` carries them, but for their time and version. */
export interface StatAnswer {
  /** When they changed last, by a trade or without. */
  readonly second: number
  readonly events: readonly TradeStatEvent[]
}

/** Tokens whose windows were published last and are kept, per lane: some 10 KB each. */
const MAX_CACHED_TOKENS = 256

interface Published
  extends PublishedWindows,
    Pick<TokenAnswer, 'decimals'>,
    Pick<StatAnswer, 'events'> {
  touched: number | null
}

/**
 * What was published of tokens last. Most of what is published again is as it was: a trade changes no window before the one of now, and time
 * changes only windows that something has left. What is kept decides how long an answer takes, never what it is.
 */
export interface PublishedWindowsCache {
  /** The newest block, at this second, holds trades or pool events of the token. */
  touch(token: string, second: number): void
  /** A block was taken back. */
  clear(): void
  answer(stats: TokenStats, unfinalized: UnfinalizedStats, now: number): StatAnswer
}

const eventsOf = (
  token: string,
  { windows, decimals }: TokenAnswer,
  published: Published | undefined,
): readonly TradeStatEvent[] => {
  const known = published?.decimals === decimals ? published : undefined
  const events: TradeStatEvent[] = []
  for (const [at, window] of windows.entries()) {
    const [before, event] = [known?.windows[at], known?.events[at]]
    const [shorter, same] = [windows[at - 1], events.at(-1)]
    if (before === window && event !== undefined) events.push(event)
    else if (isLike(shorter, window) && same !== undefined) {
      events.push({ ...same, resolution: window.name })
    } else {
      const isHeld = before?.previous === window.previous && event !== undefined
      const previous = isHeld ? event : previousFields(window.previous, decimals)
      events.push(statEvent(token, decimals, window, previous))
    }
  }
  return events
}

const isLike = (one: WindowStats | undefined, other: WindowStats): boolean =>
  one?.current === other.current && one.previous === other.previous

/** Nothing was published yet. */
export const createPublishedWindowsCache = (kept = MAX_CACHED_TOKENS): PublishedWindowsCache => {
  const tokens = new LRUCache<string, Published>({ max: kept })
  return {
    touch: (token, second) => {
      const published = tokens.peek(token)
      if (published !== undefined) published.touched ??= second
    },
    clear: () => tokens.clear(),
    answer: (stats, unfinalized, now) => {
      const published = tokens.get(stats.token)
      const answer = windowStatsAt(stats, unfinalized, now, published)
      const { windows, decimals, second } = answer
      const events = eventsOf(stats.token, answer, published)
      tokens.set(stats.token, { windows, decimals, events, touched: null })
      return { second, events }
    },
  }
}
