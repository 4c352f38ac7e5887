import { LRUCache } from 'lru-cache'
import type { Block, PoolMetadata, TokenMetadata } from '../../../schemas/events.ts'
import type { RequiredLookups, UnreadName } from '../../decode/contract.ts'
import type { MetadataReader } from '../../decode/metadata-reader.ts'
import type { ProtocolRegistry } from '../../decode/protocol-registry.ts'
import type { Call, CallAnswer, StateReader } from '../abi/call.ts'
import { priceCall, priceIn } from '../decode/positions.ts'
import { confirmCalls, poolCalls, startVerification, verifiedPool } from './pool-verification.ts'
import { tokenCalls, tokenMetadata, unreadNames } from './token-calls.ts'

/** Tokens or pools whose calls are in flight together. */
const BATCH = 64
/** Blocks before a lookup without state is sent to the node again. */
const RETRY_AFTER_BLOCKS = 64
/**
 * Lookups that one block may cause: up to a dozen calls each, before it is committed. Whoever deploys thousands of pools in a
 * block delays no chain; those beyond are asked about in the next block that needs them.
 */
const MAX_LOOKUPS_PER_BLOCK = { pools: 256, tokens: 512 } as const
/** Unanswered lookups that are remembered. */
const MAX_UNANSWERED = 20_000

/**
 * Metadata from a node, each at the hash of the block that first needs it. A revert is an answer and is kept. Where no
 * endpoint has the state of that block nothing is stored: the block is published without the metadata, later blocks ask again.
 */
export const nodeMetadataReader = (
  state: StateReader,
  protocols: ProtocolRegistry,
): MetadataReader => {
  const unanswered = new LRUCache<string, number>({ max: MAX_UNANSWERED })
  const mayQuery = (address: string, { height }: Block): boolean =>
    Math.abs(height - (unanswered.get(address) ?? Number.NEGATIVE_INFINITY)) >= RETRY_AFTER_BLOCKS
  return {
    metadataSource: 'node',
    verification: 'facts',
    read: async (lookups, block, signal) => {
      const ask: Ask = (calls) => state.calls(calls, block.hash, signal)
      const pools: PoolMetadata[] = []
      const tokens: TokenMetadata[] = []
      const unread: UnreadName[] = []
      const dueLookups = lookups.pools.filter(({ address }) => mayQuery(address, block))
      for (const part of batches(dueLookups.slice(0, MAX_LOOKUPS_PER_BLOCK.pools))) {
        const results = await readPools(ask, part, protocols)
        part.forEach(({ address }, index) => {
          const metadata = results[index]
          if (metadata === undefined || metadata === 'no-state')
            unanswered.set(address, block.height)
          else pools.push(metadata)
        })
      }
      const dueTokens = lookups.tokens.filter((address) => mayQuery(address, block))
      for (const part of batches(dueTokens.slice(0, MAX_LOOKUPS_PER_BLOCK.tokens))) {
        const results = await readTokens(ask, part)
        part.forEach((address, index) => {
          const read = results[index]
          if (read === undefined || read === 'no-state') unanswered.set(address, block.height)
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
    const tokenAnswers = answers[index] ?? []
    if (tokenAnswers.some(({ kind }) => kind === 'no-state')) return 'no-state'
    return {
      metadata: tokenMetadata(address, tokenAnswers),
      unread: unreadNames(address, tokenAnswers),
    }
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
