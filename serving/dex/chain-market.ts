import type { ChainExtra } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import { isNativeAddress } from '../../core/prices/native-token.ts'
import { type ChainRow, chainRow } from '../../schemas/chains.ts'
import type { FreshnessReader } from '../interfaces.ts'
import { createPoolBook, type PoolBook } from './pool-book.ts'
import type { PoolGraph } from './pool-graph.ts'
import { createPoolProgress, type PoolProgress } from './pool-progress.ts'
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
  /** Up to where the states of the pools are read. */
  readonly progress: PoolProgress
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

/**
 * An empty market of a chain; undefined for ids that name none. `readsAccounts`: the chain has a node that tells the accounts of pools;
 * `onFailed` is called once for each state of a pool that cannot be quoted.
 */
export const createChainMarket = (
  chainId: string,
  extra: ChainExtra | undefined,
  readsAccounts = false,
  onFailed?: PoolGraph['failed'],
): ChainMarket | undefined => {
  const chain = chainRow(chainId)
  if (chain === undefined) return undefined
  const quotes = [...(extra?.replace ? [] : chain.quotes), ...(extra?.quotes ?? [])]
  const own = extra?.replace ? undefined : chain.wrappedNative
  const venues = chainVenues(chainId, extra, readsAccounts)
  return {
    chain,
    venues,
    pools: createPoolBook(
      venues,
      { minTvlUsd: MIN_TVL_USD, poolsPerPair: POOLS_PER_PAIR },
      undefined,
      onFailed,
    ),
    progress: createPoolProgress(),
    routers: routerVenues(chainId, extra),
    universal: universalVenue(chainId, extra),
    hubs: new Set(quotes.map(({ address }) => address)),
    wrappedNative:
      own ?? quotes.find(({ kind }) => kind === 'native')?.address ?? chain.wrappedNative,
  }
}

/** True for the addresses that mean the chain's native token. */
export const isNativeToken = ({ chain }: ChainMarket, token: string): boolean =>
  isNativeAddress(chain, token)

/** The token that pools trade for what a request names. */
export const pooledToken = (market: ChainMarket, token: string): string =>
  isNativeToken(market, token) ? market.wrappedNative : token

/**
 * Blocks that the newest block of the store may be behind, and the states of the pools behind that block; slots on Solana. Source: the
 * product's contract, which refuses quotes from a head that lags 3 blocks on EVM chains and 20 slots on Solana.
 */
export const MAX_LAG_BLOCKS = { evm: 3, svm: 20, move: 20 } as const
/** Time that a block takes from the node to the store, beside its own. */
const PIPELINE_MS = 15_000
/** Time by which the states of the pools may be behind the store where blocks are so fast that it is more than the blocks of above. */
const STAGE_MS = 3_000

/**
 * The newest block of which every pool event is in the states of the pools; the slot on Solana. Throws `Fault` CHAIN_SYNC_ERROR where the
 * newest block of the store is older than the chain's usual blocks allow, or the pools are behind it, or there is none: a quote of such pools
 * would be of another market.
 */
export const requireFreshPools = async (
  { chain, progress }: ChainMarket,
  freshness: FreshnessReader,
  nowMs: number,
): Promise<number> => {
  const fresh = await freshness.of(chain.id)
  if (fresh === null) throw new Fault('CHAIN_SYNC_ERROR')
  const { head, headTimeMs } = fresh
  const ageMs = nowMs - headTimeMs
  const maxLag = MAX_LAG_BLOCKS[chain.vm]
  if (ageMs > maxLag * chain.blockTimeMs + PIPELINE_MS) {
    const lagBlocks = Math.floor(ageMs / chain.blockTimeMs)
    throw new Fault('CHAIN_SYNC_ERROR', undefined, { lagBlocks, head })
  }
  const read = chain.vm === 'svm' ? progress.newest?.slot : progress.newest?.height
  if (read === undefined) throw new Fault('CHAIN_SYNC_ERROR', undefined, { head })
  if (head - read > Math.max(maxLag, STAGE_MS / chain.blockTimeMs)) {
    throw new Fault('CHAIN_SYNC_ERROR', undefined, { lagBlocks: head - read, head })
  }
  return read
}
