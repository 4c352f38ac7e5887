import pLimit from 'p-limit'
import type { Block } from '../../schemas/events.ts'
import type { Head } from './head-tracker.ts'

/** Blocks fetched ahead of the one that is consumed, while catching up. */
const AHEAD = 16

/** Blocks of a chain without gaps, fetched ahead. */
export interface Prefetcher {
  /** The block of a height, not above the head; undefined = not there yet. Throws what fetching it throws. */
  take(height: number, head: Head): Promise<Block | undefined>
  clear(): void
}

/** What blocks are fetched with. */
export interface PrefetchOptions {
  readonly fetch: (height: number, head: Head) => Promise<Block | undefined>
  /** Fetches at the same time. */
  readonly concurrency: number
}

/** Fetches the next blocks in parallel while the head is far; hands them out in order. */
export const prefetcher = ({ fetch, concurrency }: PrefetchOptions): Prefetcher => {
  const limit = pLimit(Math.min(AHEAD, concurrency))
  const ahead = new Map<number, Promise<Block | undefined>>()
  const fetchAt = (height: number, head: Head): Promise<Block | undefined> => {
    const block = limit(() => fetch(height, head))
    block.catch(() => undefined)
    return block
  }
  return {
    clear: () => ahead.clear(),
    take: async (height, head) => {
      for (const each of ahead.keys()) if (each < height) ahead.delete(each)
      const until = Math.min(head.height, height + AHEAD - 1)
      for (let next = height; next <= until; next += 1) {
        if (!ahead.has(next)) ahead.set(next, fetchAt(next, head))
      }
      const block = ahead.get(height)
      ahead.delete(height)
      const found = await block
      if (found === undefined) ahead.clear()
      return found
    },
  }
}
