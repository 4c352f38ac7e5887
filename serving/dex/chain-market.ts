import type { ChainExtra } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import { type ChainRow, chainRow } from '../../schemas/chains.ts'
import type { ChainFreshness, FreshnessReader } from '../interfaces.ts'
import { createPoolBook, type PoolBook } from './pool-book.ts'
import { type ChainVenues, chainVenues } from './quotable-protocols.ts'
import {
  type RouterVenue,
  routerVenues,
  type UniversalVenue,
  universalVenue,
} from './router-venues.ts'

/** Everything that swaps of one chain are quoted from. */
export interface ChainMarket {
  readonly chain: ChainRow
  readonly venues: ChainVenues
  readonly pools: PoolBook
  /** Tokens that routes may lead through. */
  readonly hubs: ReadonlySet<string>
  /** Contracts that transactions of swaps go to. */
  readonly routers: readonly RouterVenue[]
  /** The one that mixes protocols, where the chain has it. */
  readonly universal: UniversalVenue | undefined
  /** Token of the contract that wraps the chain's native token. */
  readonly wrappedNative: string
}

/** Value of both sides of the deepest pool of a pair, below which routes do not lead through it; USD. */
const MIN_TVL_USD = 1_000
const POOLS_PER_PAIR = 8

/** An empty market of a chain; undefined for ids that name none. */
export const createChainMarket = (
  chainId: string,
  extra: ChainExtra | undefined,
): ChainMarket | undefined => {
  const chain = chainRow(chainId)
  if (chain === undefined) return undefined
  const quotes = [...(extra?.replace ? [] : chain.quotes), ...(extra?.quotes ?? [])]
  const own = extra?.replace ? undefined : chain.wrappedNative
  const venues = chainVenues(chainId, extra)
  return {
    chain,
    venues,
    pools: createPoolBook(venues, { minTvlUsd: MIN_TVL_USD, poolsPerPair: POOLS_PER_PAIR }),
    routers: routerVenues(chainId, extra),
    universal: universalVenue(chainId, extra),
    hubs: new Set(quotes.map(({ address }) => address)),
    wrappedNative:
      own ?? quotes.find(({ kind }) => kind === 'native')?.address ?? chain.wrappedNative,
  }
}

/** Address by which EVM interfaces also name the chain's native token. */
export const NATIVE_TOKEN_PLACEHOLDER = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee'

/** True for the addresses that mean the chain's native token. */
export const isNativeToken = ({ chain }: ChainMarket, token: string): boolean =>
  token === chain.nativeAddress || (chain.vm === 'evm' && token === NATIVE_TOKEN_PLACEHOLDER)

/** The token that pools trade for what a request names. */
export const pooledToken = (market: ChainMarket, token: string): string =>
  isNativeToken(market, token) ? market.wrappedNative : token

/** Blocks that the newest block of the store may be behind. */
const MAX_LAG_BLOCKS = { evm: 3, svm: 20, move: 20 } as const
/** Time that a block takes from the node to the store, beside its own. */
const PIPELINE_MS = 15_000

/**
 * How far the states of the pools are. Throws `Fault` CHAIN_SYNC_ERROR where the newest block is older than the chain's usual blocks
 * allow, or there is none: a quote of such pools would be of another market.
 */
export const requireFreshPools = async (
  { chain }: ChainMarket,
  freshness: FreshnessReader,
  nowMs: number,
): Promise<ChainFreshness> => {
  const fresh = await freshness.of(chain.id)
  if (fresh === null) throw new Fault('CHAIN_SYNC_ERROR')
  const ageMs = nowMs - fresh.headTimeMs
  const lagBlocks = Math.floor(ageMs / chain.blockTimeMs)
  if (ageMs > MAX_LAG_BLOCKS[chain.vm] * chain.blockTimeMs + PIPELINE_MS) {
    throw new Fault('CHAIN_SYNC_ERROR', undefined, { lagBlocks, head: fresh.head })
  }
  return fresh
}
