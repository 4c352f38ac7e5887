/** What the product knows of each chain. Sources: contract/chains.md 1.1 and 2.3, contract/kafka.md 2.1 and 3.9. */

/** Kind of virtual machine: which normalizer, source and decoder tables a chain uses. */
export type Vm = 'evm' | 'svm' | 'move'

/** Quote ranking (R7): the higher rank is the quote; unlisted tokens have rank 0. */
export const QUOTE_RANK = { stable: 3, native: 2, btc: 1 } as const
export type QuoteKind = keyof typeof QUOTE_RANK

/** A token that may be the quote of a pair. */
export interface QuoteAsset {
  readonly address: string
  readonly symbol: string
  readonly decimals: number
  readonly kind: QuoteKind
}

/** A pool whose state primes the price table at a start in the middle of a chain (R45). */
export interface ReferencePool {
  readonly pool: string
  readonly token: string
  readonly quote: string
  /** Protocol row of the pool, `protocols.ts`. */
  readonly protocol: string
}

/** One chain: facts only. Addresses of EVM chains are lower case, coin types of Move chains short (`core/move-type.ts`). */
export interface ChainRow {
  readonly id: string
  readonly name: string
  /** Word of the seed's path parameter; edges accept it, the id and `aliases`. */
  readonly apiName: string
  readonly aliases: readonly string[]
  readonly vm: Vm
  /** EIP-155 id, EVM only. */
  readonly chainId?: number
  /** Symbol of `common.Chain` on the wire. */
  readonly wire: `CHAIN_${string}`
  /** GraphQL `Network` value, null where the chain is not in the EVM group. */
  readonly network: string | null
  readonly nativeSymbol: string
  readonly nativeDecimals: number
  /** How balances and transfers name the coin (R29). */
  readonly nativeAddress: string
  readonly wrappedNative: string
  /** Usual time between blocks. */
  readonly blockTimeMs: number
  /** Blocks below the head that count as final where the node does not answer `finalized`. */
  readonly finalityDepth: number
  /** Deepest reorg that is followed; deeper halts the chain. */
  readonly reorgWindow: number
  readonly quotes: readonly QuoteAsset[]
  readonly referencePools: readonly ReferencePool[]
  /** Public endpoints for a first try: rate-limited, no promise. */
  readonly publicRpc: readonly string[]
}

const asset = (kind: QuoteKind, symbol: string, decimals: number, address: string): QuoteAsset => ({
  kind,
  symbol,
  decimals,
  address,
})

/** Chains by internal id. A chain is a row here; what it decodes is in `protocols.ts`. */
export const CHAINS = {
  sol: {
    id: 'sol',
    name: 'Solana',
    apiName: 'sol',
    aliases: ['sol', 'solana'],
    vm: 'svm',
    wire: 'CHAIN_SOLANA',
    network: null,
    nativeSymbol: 'SOL',
    nativeDecimals: 9,
    nativeAddress: '11111111111111111111111111111111',
    wrappedNative: 'So11111111111111111111111111111111111111112',
    blockTimeMs: 400,
    finalityDepth: 32,
    reorgWindow: 64,
    quotes: [
      asset('stable', 'USDC', 6, 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'),
      asset('stable', 'USDT', 6, 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB'),
      asset('stable', 'USD1', 6, 'USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB'),
      asset('native', 'SOL', 9, 'So11111111111111111111111111111111111111112'),
      asset('btc', 'cbBTC', 8, 'cbbtcf3aa214zXHbiAZQwf4122FBYbraNdFqgw4iMij'),
      asset('btc', 'WBTC', 8, '3NZ9JMVBmGAqocybic2c7LQCJScmgsAZ6vQqTDzcqmJh'),
    ],
    referencePools: [
      {
        pool: '58oQChx4yWmvKdwLLZzi4ChoCc2fqCUWBkwMihLYQo2',
        token: 'So11111111111111111111111111111111111111112',
        quote: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
        protocol: 'raydium_amm_v4',
      },
    ],
    publicRpc: ['https://api.mainnet-beta.solana.com'],
  },
  eth: {
    id: 'eth',
    name: 'Ethereum',
    apiName: 'ethereum',
    aliases: ['ethereum', 'eth'],
    vm: 'evm',
    chainId: 1,
    wire: 'CHAIN_ETHEREUM',
    network: 'eth',
    nativeSymbol: 'ETH',
    nativeDecimals: 18,
    nativeAddress: '0x0000000000000000000000000000000000000000',
    wrappedNative: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
    blockTimeMs: 12_000,
    finalityDepth: 64,
    reorgWindow: 128,
    quotes: [
      asset('stable', 'USDC', 6, '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'),
      asset('stable', 'USDT', 6, '0xdac17f958d2ee523a2206206994597c13d831ec7'),
      asset('stable', 'DAI', 18, '0x6b175474e89094c44da98b954eedeac495271d0f'),
      asset('native', 'WETH', 18, '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'),
      asset('btc', 'WBTC', 8, '0x2260fac5e5542a773aa44fbcfedf7c193bc2c599'),
    ],
    referencePools: [
      {
        pool: '0x88e6a0c2ddd26feeb64f039a2c41296fcb3f5640',
        token: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
        quote: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
        protocol: 'uniswap_v3',
      },
      {
        pool: '0xb4e16d0168e52d35cacd2c6185b44281ec28c9dc',
        token: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
        quote: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
        protocol: 'uniswap_v2',
      },
      {
        pool: '0xcbcdf9626bc03e24f779434178a73a0b4bad62ed',
        token: '0x2260fac5e5542a773aa44fbcfedf7c193bc2c599',
        quote: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
        protocol: 'uniswap_v3',
      },
    ],
    publicRpc: ['wss://ethereum-rpc.publicnode.com', 'https://ethereum-rpc.publicnode.com'],
  },
  // Coins: Circle's USDC, Sui Bridge's USDT and BTC, Wormhole's USDC, USDT and BTC as Sui's exchanges list them. The coin is
  // a type like any other: no wrapped form. Without reference pools: a pool's own order of its coins is not that of their
  // names, and its objects tell it.
  sui: {
    id: 'sui',
    name: 'Sui',
    apiName: 'sui',
    aliases: ['sui'],
    vm: 'move',
    wire: 'CHAIN_SUI',
    network: null,
    nativeSymbol: 'SUI',
    nativeDecimals: 9,
    nativeAddress: '0x2::sui::SUI',
    wrappedNative: '0x2::sui::SUI',
    blockTimeMs: 250,
    finalityDepth: 0,
    reorgWindow: 8,
    quotes: [
      asset(
        'stable',
        'USDC',
        6,
        '0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC',
      ),
      asset(
        'stable',
        'USDT',
        6,
        '0x375f70cf2ae4c00bf37117d0c85a2c71545e6ee05c4a5c7d282cd66a4504b068::usdt::USDT',
      ),
      asset(
        'stable',
        'wUSDC',
        6,
        '0x5d4b302506645c37ff133b98c4b50a5ae14841659738d6d733d59d0d217a93bf::coin::COIN',
      ),
      asset(
        'stable',
        'wUSDT',
        6,
        '0xc060006111016b8a020ad5b33834984a437aaa7d3c74c18e09a95d48aceab08c::coin::COIN',
      ),
      asset('native', 'SUI', 9, '0x2::sui::SUI'),
      asset(
        'btc',
        'BTC',
        8,
        '0xaafb102dd0902f5055cadecd687fb5b71ca82ef0e0285d90afde828ec58ca96b::btc::BTC',
      ),
      asset(
        'btc',
        'wBTC',
        8,
        '0x27792d9fed7f9844eb4839566001bb6f6cb4804f66aa2da6fe1ee242d896881::coin::COIN',
      ),
    ],
    referencePools: [],
    publicRpc: ['https://fullnode.mainnet.sui.io:443'],
  },
} as const satisfies Record<string, ChainRow>

/** Internal chain id: topic prefix and table prefix. */
export type ChainId = keyof typeof CHAINS

/** Every word that a path, a query or a channel may use for one of the ten chains; the value is the internal id. */
export const CHAIN_WORDS: Readonly<Record<string, string>> = {
  sol: 'sol',
  solana: 'sol',
  eth: 'eth',
  ethereum: 'eth',
  bsc: 'bsc',
  base: 'base',
  polygon: 'polygon',
  arbitrum: 'arbitrum',
  optimism: 'optimism',
  avalanche: 'avalanche',
  zksync: 'zksync',
  sui: 'sui',
}

/** Row of a chain that this build ingests, by internal id. */
export const chainRow = (id: string): ChainRow | undefined =>
  (CHAINS as Readonly<Record<string, ChainRow>>)[id]
