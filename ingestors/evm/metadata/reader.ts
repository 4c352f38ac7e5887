import { LRUCache } from 'lru-cache'
import type { Block, PoolMetadata, TokenMetadata } from '../../../schemas/events.ts'
import type { RequiredLookups } from '../../decode/contract.ts'
import type { MetadataReader } from '../../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../../decode/protocol-registry.ts'
import type { Call, CallAnswer, StateReader } from '../../follow/contract.ts'
import type { UnreadName } from '../../publish/metadata-store.ts'
import { priceCall, priceIn } from '../decode/positions.ts'
import { confirmCalls, poolCalls, startVerification, verifiedPool } from './pool-verification.ts'
import { tokenCalls, tokenMetadata, unreadNames } from './token-calls.ts'

/** Subjects whose calls are in flight together. */
const BATCH = 64
/** Blocks before a node that had no state for a subject is asked about it again. */
const ASK_AGAIN_BLOCKS = 64
/**
 * Subjects that one block makes us ask about: up to a dozen calls each, before it is committed. Whoever deploys thousands of pools in a
 * block delays no chain; those beyond are asked about in the next block that needs them.
 */
const MOST_OF_BLOCK = { pools: 256, tokens: 512 } as const
/** Subjects that are remembered as not answered. */
const SILENT = 20_000

/**
 * Facts from a node, each at the hash of the block that first needs it. A revert is an answer and is kept. Where no
 * endpoint has the state of that block nothing is learned: the block is published without the fact, later blocks ask again.
 */
export const nodeMetadataReader = (
  state: StateReader,
  protocols: ProtocolRegistry,
): MetadataReader => {
  const silent = new LRUCache<string, number>({ max: SILENT })
  const askable = (address: string, { height }: Block): boolean =>
    Math.abs(height - (silent.get(address) ?? Number.NEGATIVE_INFINITY)) >= ASK_AGAIN_BLOCKS
  return {
    metadataSource: 'node',
    verification: 'facts',
    read: async (subjects, block, signal) => {
      const ask: Ask = (calls) => state.calls(calls, block.hash, signal)
      const pools: PoolMetadata[] = []
      const tokens: TokenMetadata[] = []
      const unread: UnreadName[] = []
      const ripePools = subjects.pools.filter(({ address }) => askable(address, block))
      for (const part of batches(ripePools.slice(0, MOST_OF_BLOCK.pools))) {
        const facts = await readPools(ask, part, protocols)
        part.forEach(({ address }, index) => {
          const metadata = facts[index]
          if (metadata === undefined || metadata === 'no-state') silent.set(address, block.height)
          else pools.push(metadata)
        })
      }
      const ripeTokens = subjects.tokens.filter((address) => askable(address, block))
      for (const part of batches(ripeTokens.slice(0, MOST_OF_BLOCK.tokens))) {
        const facts = await readTokens(ask, part)
        part.forEach((address, index) => {
          const read = facts[index]
          if (read === undefined || read === 'no-state') silent.set(address, block.height)
          else {
            tokens.push(read.metadata)
            unread.push(...read.unread)
          }
        })
      }
      return { pools, tokens, ...(unread.length > 0 && { unread }) }
    },
    prices: async (requested, block, signal) => {
      const prices = new Map<string, bigint>()
      for (const part of batches(requested)) {
        const answers = await state.calls(part.map(priceCall), block.parentHash, signal)
        part.forEach(({ pool }, index) => {
          const price = priceIn(answers[index])
          if (price !== undefined) prices.set(pool, price)
        })
      }
      return prices
    },
  }
}

type Ask = (calls: readonly Call[]) => Promise<readonly CallAnswer[]>

const batches = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  Array.from({ length: Math.ceil(items.length / BATCH) }, (_, index) =>
    items.slice(index * BATCH, (index + 1) * BATCH),
  )

/** Asks all groups of calls in one go; the answers in the same groups. */
const grouped = async (
  ask: Ask,
  groups: readonly (readonly Call[])[],
): Promise<readonly (readonly CallAnswer[])[]> => {
  const answers = await ask(groups.flat())
  let at = 0
  return groups.map(({ length }) => {
    at += length
    return answers.slice(at - length, at)
  })
}

interface ReadToken {
  readonly metadata: TokenMetadata
  readonly unread: readonly UnreadName[]
}

const readTokens = async (
  ask: Ask,
  addresses: readonly string[],
): Promise<readonly (ReadToken | 'no-state')[]> => {
  const answers = await grouped(ask, addresses.map(tokenCalls))
  return addresses.map((address, index) => {
    const given = answers[index] ?? []
    if (given.some(({ kind }) => kind === 'no-state')) return 'no-state'
    return { metadata: tokenMetadata(address, given), unread: unreadNames(address, given) }
  })
}

const readPools = async (
  ask: Ask,
  pools: RequiredLookups['pools'],
  protocols: ProtocolRegistry,
): Promise<readonly (PoolMetadata | 'no-state')[]> => {
  const first = await grouped(
    ask,
    pools.map((pool) => poolCalls(pool, protocols)),
  )
  const open = pools.map((pool, index) => startVerification(pool, protocols, first[index] ?? []))
  const second = await grouped(
    ask,
    open.map((each) => (typeof each === 'string' ? [] : confirmCalls(each))),
  )
  return open.map((each, index) => {
    const metadata = typeof each === 'string' ? each : verifiedPool(each, second[index] ?? [])
    return metadata === 'no-pool' ? noPool(pools[index]?.address ?? '') : metadata
  })
}

/** What is kept of a contract that logs like a pool and is none. */
const noPool = (address: string): PoolMetadata => ({
  address,
  tokenA: '',
  tokenB: '',
  protocol: null,
  factory: null,
  feePips: null,
  verified: false,
})
