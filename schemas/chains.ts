/**
 * What the product knows of each chain. Quote assets and pools are as recorded transactions
 * (`test/fixtures`) and public token lists name them. `finalityDepth` of rollups is what the
 * finalized head usually lags, at most the reorg window.
 */

import type { Chain } from './wire.ts'

/** Kind of virtual machine: which normalizer, source and decoder tables a chain uses. */
export type Vm = 'evm' | 'svm' | 'move'

/** Feeds that only some chains of a virtual machine have, `feeds.ts`. */
export type ChainFeed = 'miner-rewards' | 'uncles' | 'predictions'

/** Quote ranking: the higher rank is the quote; unlisted tokens have rank 0. */
export const QUOTE_RANK = { stable: 3, native: 2, btc: 1 } as const
export type QuoteKind = keyof typeof QUOTE_RANK

/** A token that may be the quote of a pair. */
export interface QuoteAsset {
  readonly address: string
  readonly symbol: string
  readonly decimals: number
  readonly kind: QuoteKind
}

/** A pool whose state seeds the price table at a start in the middle of a chain. */
export interface ReferencePool {
  readonly pool: string
  readonly token: string
  readonly quote: string
  /** Protocol row of the pool, `protocols.ts`. */
  readonly protocol: string
}

/** What nodes of an EVM chain do otherwise than Ethereum's. */
export interface NodeQuirks {
  /** A block may end with a receipt that no transaction has: what the chain's root contract sent it. */
  readonly stateSync?: true
  /** Receipts may all say index 0, and indexes of logs may have gaps: their order counts. */
  readonly withoutPosition?: true
}

/**
 * The most that nodes of an EVM chain are believed of what a transaction pays: bounds of this product, meant to lie far above what the chain asks
 * for. A caller may name more.
 */
export interface GasBounds {
  /** What the producer of a block gets, wei per unit of gas. */
  readonly tip: bigint
  /** The whole price, wei per unit of gas. */
  readonly price: bigint
  /** Units of gas of one transaction. */
  readonly units: bigint
}

/** One chain: data only. Addresses of EVM chains are lower case, coin types of Move chains short (`core/move-type.ts`). */
export interface ChainRow {
  readonly id: string
  readonly name: string
  /** Value of the chain parameter in paths of the API, as in the recorded fixtures; edges accept it, the id and `aliases`. */
  readonly apiName: string
  readonly aliases: readonly string[]
  readonly vm: Vm
  /** EIP-155 id, EVM only. */
  readonly chainId?: number
  /** Symbol of `common.Chain` on the wire. */
  readonly wire: Exclude<Chain, 'CHAIN_UNSPECIFIED'>
  /** Values of the argument `network` of its GraphQL group that mean it; none where no group has it. */
  readonly networks: readonly string[]
  /** These are GraphQL values even where the chain is not ingested: documents that name them stay valid. */
  readonly networkAlwaysListed?: true
  /** Name of the network in answers of risk screening, as clients of the reference API know it. */
  readonly screeningNetwork: string
  /** How sign-in messages of wallets name it (CAIP-2 reference, or a usual name); none where no wallet signs in on it. */
  readonly signInNames: readonly string[]
  /** The simulator makes such a chain. */
  readonly isSimulated: boolean
  /** Name of the native token where nothing on the chain says one. */
  readonly nativeName: string
  readonly nativeSymbol: string
  /** Symbols that the native token had before; its wrapped form had them too, behind a W. */
  readonly formerNativeSymbols?: readonly string[]
  /** Where people look up its blocks. */
  readonly explorerUrl: string
  readonly nativeDecimals: number
  /** How balances and transfers name the native token. */
  readonly nativeAddress: string
  /** Addresses by which others name the native token, and no contract of the chain does. */
  readonly otherNativeAddresses?: readonly string[]
  /** Contract that logs every move of the native token as a token would; elsewhere the native token moves without a log. */
  readonly nativeTokenContract?: string
  /** Contract that logs every move of the native token in its own way (`LogTransfer`), fees apart. */
  readonly nativeTransferLogger?: string
  readonly wrappedNative: string
  /** Router of KyberSwap's aggregator (MetaAggregationRouterV2), lower case; missing: not asked there. Source: docs.kyberswap.com, contract addresses. */
  readonly kyberswapRouter?: string
  /** Name of the wrapped native token where its contract or mint says none. Its symbol is that of its quote asset. */
  readonly wrappedName: string
  readonly nodeQuirks?: NodeQuirks
  /** Of an EVM chain; missing: those of chains that are paid in ether (`gasBoundsOf`). */
  readonly gasBounds?: GasBounds
  /** Usual time between blocks. */
  readonly blockTimeMs: number
  /** What the protocol itself paid for a block, base units from a height on, newest first; absent: nothing. */
  readonly staticRewards?: readonly { readonly from: number; readonly raw: bigint }[]
  /** What of a fee no one gets: the part that the base fee makes, or all of it. Absent: none, or not known (rollups keep theirs). */
  readonly burns?: 'base-fee' | 'fee'
  /** Blocks below the head that count as final where the node does not answer `finalized`. */
  readonly finalityDepth: number
  /**
   * Blocks that can be taken back as a rule: twice what the finalized head usually lags. Where it lags further, `maxReorgBlocks` blocks are
   * kept. A deeper reorg halts the chain.
   */
  readonly reorgWindow: number
  /** What it has of such feeds: a rule of block rewards that is known, uncles, prediction markets. */
  readonly feeds: readonly ChainFeed[]
  /** Its blocks are streamed before they are confirmed, where their address is configured (`FLASHBLOCKS_URL_<CHAIN>`). */
  readonly preconfirmedStream?: 'flashblocks'
  readonly quotes: readonly QuoteAsset[]
  readonly referencePools: readonly ReferencePool[]
  /** Public endpoints for a first try: rate-limited, no promise. */
  readonly publicRpc: readonly string[]
}

const quoteAsset = (
  kind: QuoteKind,
  symbol: string,
  decimals: number,
  address: string,
): QuoteAsset => ({
  kind,
  symbol,
  decimals,
  address,
})

const MINUTE_MS = 60_000

/** Most blocks of any chain that can be taken back: each holds a few kilobytes in memory. */
const MAX_REORG_BLOCKS = 16_384
/** Fewest, on chains that are final at once. */
const MIN_REORG_BLOCKS = 64
/** How many times its usual length a window grows while finality lags. */
const REORG_WINDOW_GROWTH = 4

/** Window of a chain whose finalized head usually lags by `lagMs`. */
const reorgWindowOf = (blockTimeMs: number, lagMs: number): number =>
  Math.min(MAX_REORG_BLOCKS, Math.max(MIN_REORG_BLOCKS, Math.ceil((2 * lagMs) / blockTimeMs)))

/** Most blocks without finality that can be taken back: beyond the usual window where finality lags further than usual, up to here. */
export const maxReorgBlocks = (chain: Pick<ChainRow, 'reorgWindow'>): number =>
  Math.min(MAX_REORG_BLOCKS, REORG_WINDOW_GROWTH * chain.reorgWindow)

const ETHER = 10n ** 18n

const GWEI = 10n ** 9n
/** Most gas of a transaction of Ethereum, 2^24. Source: EIP-7825. */
const MAX_GAS_UNITS = 16_777_216n

/** Ethereum's own, which fit what the chains beside it ask for, too. */
const ETHER_GAS_BOUNDS: GasBounds = {
  tip: 20n * GWEI,
  price: 1_000n * GWEI,
  units: MAX_GAS_UNITS,
}

/** What all EVM chains have in common. */
const EVM_DEFAULTS = {
  vm: 'evm',
  nativeDecimals: 18,
  nativeAddress: '0x0000000000000000000000000000000000000000',
} as const

/** At the same address on most chains. */
const KYBERSWAP_ROUTER = '0x6131b5fae19ea4f9d964eac0408e4408b66337b5'

/** Chains by internal id. A chain is a row here; what it decodes is in `protocols.ts`. */
export const CHAINS = {
  sol: {
    id: 'sol',
    name: 'Solana',
    apiName: 'sol',
    aliases: ['sol', 'solana'],
    vm: 'svm',
    wire: 'CHAIN_SOLANA',
    networks: ['solana', 'sol'],
    screeningNetwork: 'Solana',
    // Either of its usual names. Source: CAIP-2.
    signInNames: ['mainnet', '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'],
    isSimulated: true,
    nativeName: 'Solana',
    nativeSymbol: 'SOL',
    explorerUrl: 'https://solscan.io',
    nativeDecimals: 9,
    nativeAddress: '11111111111111111111111111111111',
    // Wallets and markets set SOL apart from its wrapped form by a 1 at the end.
    otherNativeAddresses: ['So11111111111111111111111111111111111111111'],
    wrappedNative: 'So11111111111111111111111111111111111111112',
    wrappedName: 'Wrapped SOL',
    blockTimeMs: 400,
    finalityDepth: 32,
    reorgWindow: reorgWindowOf(400, 12_800),
    feeds: [],
    quotes: [
      quoteAsset('stable', 'USDC', 6, 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'),
      quoteAsset('stable', 'USDT', 6, 'Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB'),
      quoteAsset('stable', 'USD1', 6, 'USD1ttGY1N17NEEHLmELoaybftRBUSErhqYiQzvEmuB'),
      quoteAsset('native', 'SOL', 9, 'So11111111111111111111111111111111111111112'),
      quoteAsset('btc', 'cbBTC', 8, 'cbbtcf3aa214zXHbiAZQwf4122FBYbraNdFqgw4iMij'),
      quoteAsset('btc', 'WBTC', 8, '3NZ9JMVBmGAqocybic2c7LQCJScmgsAZ6vQqTDzcqmJh'),
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
    networks: ['eth'],
    networkAlwaysListed: true,
    screeningNetwork: 'ethereum',
    signInNames: [],
    isSimulated: true,
    nativeName: 'Ether',
    nativeSymbol: 'ETH',
    explorerUrl: 'https://etherscan.io',
    nativeDecimals: 18,
    nativeAddress: '0x0000000000000000000000000000000000000000',
    wrappedNative: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
    kyberswapRouter: KYBERSWAP_ROUTER,
    wrappedName: 'Wrapped Ether',
    blockTimeMs: 12_000,
    burns: 'base-fee', // EIP-1559
    // Sources: EIP-3675 (merge), EIP-1234, EIP-649, the yellow paper. The first block was not mined.
    staticRewards: [
      { from: 15_537_394, raw: 0n },
      { from: 7_280_000, raw: 2n * ETHER },
      { from: 4_370_000, raw: 3n * ETHER },
      { from: 1, raw: 5n * ETHER },
    ],
    finalityDepth: 64,
    reorgWindow: reorgWindowOf(12_000, 16 * MINUTE_MS),
    feeds: ['miner-rewards', 'uncles'],
    quotes: [
      quoteAsset('stable', 'USDC', 6, '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'),
      quoteAsset('stable', 'USDT', 6, '0xdac17f958d2ee523a2206206994597c13d831ec7'),
      quoteAsset('stable', 'DAI', 18, '0x6b175474e89094c44da98b954eedeac495271d0f'),
      quoteAsset('native', 'WETH', 18, '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2'),
      quoteAsset('btc', 'WBTC', 8, '0x2260fac5e5542a773aa44fbcfedf7c193bc2c599'),
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
  bsc: {
    ...EVM_DEFAULTS,
    id: 'bsc',
    name: 'BNB Smart Chain',
    apiName: 'bsc',
    aliases: ['bsc'],
    chainId: 56,
    wire: 'CHAIN_BSC',
    networks: ['bsc'],
    networkAlwaysListed: true,
    screeningNetwork: 'bsc',
    signInNames: [],
    isSimulated: false,
    nativeName: 'BNB',
    nativeSymbol: 'BNB',
    explorerUrl: 'https://bscscan.com',
    wrappedNative: '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c',
    kyberswapRouter: KYBERSWAP_ROUTER,
    wrappedName: 'Wrapped BNB',
    blockTimeMs: 450,
    burns: 'base-fee', // BEP-226: the base fee is 0
    finalityDepth: 64,
    reorgWindow: reorgWindowOf(450, MINUTE_MS),
    feeds: ['miner-rewards'],
    quotes: [
      quoteAsset('stable', 'USDT', 18, '0x55d398326f99059ff775485246999027b3197955'),
      quoteAsset('stable', 'USDC', 18, '0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d'),
      quoteAsset('stable', 'USD1', 18, '0x8d0d000ee44948fc98c9b98a4fa4921476f08b0d'),
      quoteAsset('stable', 'BUSD', 18, '0xe9e7cea3dedca5984780bafc599bd69add087d56'),
      quoteAsset('native', 'WBNB', 18, '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c'),
      quoteAsset('btc', 'BTCB', 18, '0x7130d2a12b9bcbfae4f2634d864a1ee1ce3ead9c'),
    ],
    referencePools: [
      {
        pool: '0x172fcd41e0913e95784454622d1c3724f546f849',
        token: '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c',
        quote: '0x55d398326f99059ff775485246999027b3197955',
        protocol: 'pancakeswap_v3',
      },
      {
        pool: '0x16b9a82891338f9ba80e2d6970fdda79d1eb0dae',
        token: '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c',
        quote: '0x55d398326f99059ff775485246999027b3197955',
        protocol: 'pancakeswap_v2',
      },
    ],
    publicRpc: ['wss://bsc-rpc.publicnode.com', 'https://bsc-rpc.publicnode.com'],
  },
  base: {
    ...EVM_DEFAULTS,
    id: 'base',
    name: 'Base',
    apiName: 'base',
    aliases: ['base'],
    chainId: 8453,
    wire: 'CHAIN_BASE',
    networks: ['base'],
    screeningNetwork: 'base',
    signInNames: ['8453'],
    isSimulated: false,
    nativeName: 'Ether',
    nativeSymbol: 'ETH',
    explorerUrl: 'https://basescan.org',
    wrappedNative: '0x4200000000000000000000000000000000000006',
    kyberswapRouter: KYBERSWAP_ROUTER,
    wrappedName: 'Wrapped Ether',
    blockTimeMs: 2_000,
    finalityDepth: 600,
    reorgWindow: reorgWindowOf(2_000, 20 * MINUTE_MS),
    feeds: [],
    preconfirmedStream: 'flashblocks',
    quotes: [
      quoteAsset('stable', 'USDC', 6, '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913'),
      quoteAsset('stable', 'USDbC', 6, '0xd9aaec86b65d86f6a7b5b1b0c42ffa531710b6ca'),
      quoteAsset('native', 'WETH', 18, '0x4200000000000000000000000000000000000006'),
      quoteAsset('btc', 'cbBTC', 8, '0xcbb7c0000ab88b473b1f5afd9ef808440eed33bf'),
    ],
    referencePools: [
      {
        pool: '0xd0b53d9277642d899df5c87a3966a349a798f224',
        token: '0x4200000000000000000000000000000000000006',
        quote: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
        protocol: 'uniswap_v3',
      },
    ],
    publicRpc: ['wss://base-rpc.publicnode.com', 'https://mainnet.base.org'],
  },
  polygon: {
    ...EVM_DEFAULTS,
    id: 'polygon',
    name: 'Polygon',
    apiName: 'polygon',
    aliases: ['polygon'],
    chainId: 137,
    wire: 'CHAIN_POLYGON',
    networks: ['polygon'],
    networkAlwaysListed: true,
    screeningNetwork: 'polygon',
    signInNames: [],
    isSimulated: false,
    nativeName: 'POL',
    nativeSymbol: 'POL',
    formerNativeSymbols: ['MATIC'], // PIP-19, September 2024
    explorerUrl: 'https://polygonscan.com',
    nativeTransferLogger: '0x0000000000000000000000000000000000001010',
    wrappedNative: '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270',
    kyberswapRouter: KYBERSWAP_ROUTER,
    wrappedName: 'Wrapped POL',
    nodeQuirks: { stateSync: true },
    // A cheap token, of which more is paid: bounds of our own.
    gasBounds: { tip: 1_000n * GWEI, price: 20_000n * GWEI, units: MAX_GAS_UNITS },
    blockTimeMs: 1_500,
    burns: 'base-fee', // PIP-5
    finalityDepth: 64,
    reorgWindow: reorgWindowOf(1_500, 3 * MINUTE_MS),
    feeds: ['miner-rewards', 'predictions'],
    quotes: [
      quoteAsset('stable', 'USDC', 6, '0x3c499c542cef5e3811e1192ce70d8cc03d5c3359'),
      quoteAsset('stable', 'USDC.e', 6, '0x2791bca1f2de4661ed88a30c99a7a9449aa84174'),
      quoteAsset('stable', 'USDT', 6, '0xc2132d05d31c914a87c6611c10748aeb04b58e8f'),
      quoteAsset('stable', 'DAI', 18, '0x8f3cf7ad23cd3cadbd9735aff958023239c6a063'),
      quoteAsset('native', 'WPOL', 18, '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270'),
      quoteAsset('btc', 'WBTC', 8, '0x1bfd67037b42cf73acf2047067bd4f2c47d9bfd6'),
    ],
    referencePools: [
      {
        pool: '0xa374094527e1673a86de625aa59517c5de346d32',
        token: '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270',
        quote: '0x2791bca1f2de4661ed88a30c99a7a9449aa84174',
        protocol: 'uniswap_v3',
      },
      {
        pool: '0x6e7a5fafcec6bb1e78bae2a1f0b612012bf14827',
        token: '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270',
        quote: '0x2791bca1f2de4661ed88a30c99a7a9449aa84174',
        protocol: 'quickswap_v2',
      },
    ],
    publicRpc: ['wss://polygon-bor-rpc.publicnode.com', 'https://polygon.drpc.org'],
  },
  arbitrum: {
    ...EVM_DEFAULTS,
    id: 'arbitrum',
    name: 'Arbitrum One',
    apiName: 'arbitrum',
    aliases: ['arbitrum'],
    chainId: 42_161,
    wire: 'CHAIN_ARBITRUM',
    networks: ['arbitrum'],
    screeningNetwork: 'arbitrum',
    signInNames: [],
    isSimulated: false,
    nativeName: 'Ether',
    nativeSymbol: 'ETH',
    explorerUrl: 'https://arbiscan.io',
    wrappedNative: '0x82af49447d8a07e3bd95bd0d56f35241523fbab1',
    kyberswapRouter: KYBERSWAP_ROUTER,
    wrappedName: 'Wrapped Ether',
    // What a transaction costs on Ethereum is in its gas, too: a bound of our own.
    gasBounds: { ...ETHER_GAS_BOUNDS, units: 32_000_000n },
    blockTimeMs: 250,
    finalityDepth: 4_800,
    reorgWindow: reorgWindowOf(250, 20 * MINUTE_MS),
    feeds: [],
    quotes: [
      quoteAsset('stable', 'USDC', 6, '0xaf88d065e77c8cc2239327c5edb3a432268e5831'),
      quoteAsset('stable', 'USDC.e', 6, '0xff970a61a04b1ca14834a43f5de4533ebddb5cc8'),
      quoteAsset('stable', 'USDT', 6, '0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9'),
      quoteAsset('stable', 'DAI', 18, '0xda10009cbd5d07dd0cecc66161fc93d7c9000da1'),
      quoteAsset('native', 'WETH', 18, '0x82af49447d8a07e3bd95bd0d56f35241523fbab1'),
      quoteAsset('btc', 'WBTC', 8, '0x2f2a2543b76a4166549f7aab2e75bef0aefc5b0f'),
    ],
    referencePools: [
      {
        pool: '0xc6962004f452be9203591991d15f6b388e09e8d0',
        token: '0x82af49447d8a07e3bd95bd0d56f35241523fbab1',
        quote: '0xaf88d065e77c8cc2239327c5edb3a432268e5831',
        protocol: 'uniswap_v3',
      },
      {
        pool: '0xc31e54c7a869b9fcbecc14363cf510d1c41fa443',
        token: '0x82af49447d8a07e3bd95bd0d56f35241523fbab1',
        quote: '0xff970a61a04b1ca14834a43f5de4533ebddb5cc8',
        protocol: 'uniswap_v3',
      },
      {
        pool: '0x641c00a822e8b671738d32a431a4fb6074e5c79d',
        token: '0x82af49447d8a07e3bd95bd0d56f35241523fbab1',
        quote: '0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9',
        protocol: 'uniswap_v3',
      },
    ],
    publicRpc: ['wss://arbitrum-one-rpc.publicnode.com', 'https://arb1.arbitrum.io/rpc'],
  },
  optimism: {
    ...EVM_DEFAULTS,
    id: 'optimism',
    name: 'OP Mainnet',
    apiName: 'optimism',
    aliases: ['optimism'],
    chainId: 10,
    wire: 'CHAIN_OPTIMISM',
    networks: ['optimism'],
    screeningNetwork: 'optimism',
    signInNames: [],
    isSimulated: false,
    nativeName: 'Ether',
    nativeSymbol: 'ETH',
    explorerUrl: 'https://optimistic.etherscan.io',
    // Ether was a token there until Bedrock. Source: OP Mainnet's predeploys, LegacyERC20ETH.
    otherNativeAddresses: ['0xdeaddeaddeaddeaddeaddeaddeaddeaddead0000'],
    wrappedNative: '0x4200000000000000000000000000000000000006',
    kyberswapRouter: KYBERSWAP_ROUTER,
    wrappedName: 'Wrapped Ether',
    blockTimeMs: 2_000,
    finalityDepth: 600,
    reorgWindow: reorgWindowOf(2_000, 20 * MINUTE_MS),
    feeds: [],
    quotes: [
      quoteAsset('stable', 'USDC', 6, '0x0b2c639c533813f4aa9d7837caf62653d097ff85'),
      quoteAsset('stable', 'USDC.e', 6, '0x7f5c764cbc14f9669b88837ca1490cca17c31607'),
      quoteAsset('stable', 'USDT', 6, '0x94b008aa00579c1307b0ef2c499ad98a8ce58e58'),
      quoteAsset('stable', 'DAI', 18, '0xda10009cbd5d07dd0cecc66161fc93d7c9000da1'),
      quoteAsset('native', 'WETH', 18, '0x4200000000000000000000000000000000000006'),
      quoteAsset('btc', 'WBTC', 8, '0x68f180fcce6836688e9084f035309e29bf0a2095'),
    ],
    referencePools: [
      {
        pool: '0x1fb3cf6e48f1e7b10213e7b6d87d4c073c7fdb7b',
        token: '0x4200000000000000000000000000000000000006',
        quote: '0x0b2c639c533813f4aa9d7837caf62653d097ff85',
        protocol: 'uniswap_v3',
      },
      {
        pool: '0x85149247691df622eaf1a8bd0cafd40bc45154a9',
        token: '0x4200000000000000000000000000000000000006',
        quote: '0x7f5c764cbc14f9669b88837ca1490cca17c31607',
        protocol: 'uniswap_v3',
      },
    ],
    publicRpc: ['wss://optimism-rpc.publicnode.com', 'https://mainnet.optimism.io'],
  },
  avalanche: {
    ...EVM_DEFAULTS,
    id: 'avalanche',
    name: 'Avalanche C-Chain',
    apiName: 'avalanche',
    aliases: ['avalanche'],
    chainId: 43_114,
    wire: 'CHAIN_AVALANCHE',
    networks: ['avalanche'],
    screeningNetwork: 'avalanche',
    signInNames: [],
    isSimulated: false,
    nativeName: 'Avalanche',
    nativeSymbol: 'AVAX',
    explorerUrl: 'https://snowtrace.io',
    wrappedNative: '0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7',
    kyberswapRouter: KYBERSWAP_ROUTER,
    wrappedName: 'Wrapped AVAX',
    gasBounds: { tip: 100n * GWEI, price: 5_000n * GWEI, units: MAX_GAS_UNITS },
    blockTimeMs: 1_500,
    burns: 'fee', // ava-labs/coreth: fees go to the blackhole address
    finalityDepth: 0,
    reorgWindow: reorgWindowOf(1_500, 0),
    feeds: [],
    quotes: [
      quoteAsset('stable', 'USDC', 6, '0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e'),
      quoteAsset('stable', 'USDt', 6, '0x9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7'),
      quoteAsset('stable', 'USDC.e', 6, '0xa7d7079b0fead91f3e65f86e8915cb59c1a4c664'),
      quoteAsset('stable', 'USDT.e', 6, '0xc7198437980c041c805a1edcba50c1ce5db95118'),
      quoteAsset('stable', 'DAI.e', 18, '0xd586e7f844cea2f87f50152665bcbc2c279d8d70'),
      quoteAsset('native', 'WAVAX', 18, '0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7'),
      quoteAsset('btc', 'BTC.b', 8, '0x152b9d0fdc40c096757f570a51e494bd4b943e50'),
    ],
    referencePools: [
      {
        pool: '0xf4003f4efbe8691b60249e6afbd307abe7758adb',
        token: '0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7',
        quote: '0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e',
        protocol: 'lfj_v1',
      },
    ],
    publicRpc: [
      'wss://avalanche-c-chain-rpc.publicnode.com',
      'https://api.avax.network/ext/bc/C/rpc',
    ],
  },
  zksync: {
    ...EVM_DEFAULTS,
    id: 'zksync',
    name: 'ZKsync Era',
    apiName: 'zksync',
    aliases: ['zksync'],
    chainId: 324,
    wire: 'CHAIN_ZKSYNC',
    networks: ['zksync'],
    screeningNetwork: 'zksync',
    signInNames: [],
    isSimulated: false,
    nativeName: 'Ether',
    nativeSymbol: 'ETH',
    explorerUrl: 'https://explorer.zksync.io',
    nativeTokenContract: '0x000000000000000000000000000000000000800a',
    wrappedNative: '0x5aea5775959fbc2557cc8789bc1bf90a239d9a91',
    wrappedName: 'Wrapped Ether',
    nodeQuirks: { withoutPosition: true },
    // What is published costs gas, too: a bound of our own.
    gasBounds: { ...ETHER_GAS_BOUNDS, units: 80_000_000n },
    blockTimeMs: 1_000,
    finalityDepth: 10_800,
    reorgWindow: reorgWindowOf(1_000, 3 * 60 * MINUTE_MS),
    feeds: [],
    quotes: [
      quoteAsset('stable', 'USDC', 6, '0x1d17cbcf0d6d143135ae902365d2e5e2a16538d4'),
      quoteAsset('stable', 'USDC.e', 6, '0x3355df6d4c9c3035724fd0e3914de96a5a83aaf4'),
      quoteAsset('stable', 'USDT', 6, '0x493257fd37edb34451f62edf8d2a0c418852ba4c'),
      quoteAsset('native', 'WETH', 18, '0x5aea5775959fbc2557cc8789bc1bf90a239d9a91'),
      quoteAsset('btc', 'WBTC', 8, '0xbbeb516fb02a01611cbbe0453fe3c580d7281011'),
    ],
    referencePools: [
      {
        pool: '0x80115c708e12edd42e504c1cd52aea96c547c05c',
        token: '0x5aea5775959fbc2557cc8789bc1bf90a239d9a91',
        quote: '0x3355df6d4c9c3035724fd0e3914de96a5a83aaf4',
        protocol: 'syncswap',
      },
    ],
    publicRpc: ['wss://mainnet.era.zksync.io/ws', 'https://mainnet.era.zksync.io'],
  },
  // Coins: Circle's USDC, Sui Bridge's USDT and BTC, Wormhole's USDC, USDT and BTC as Sui's exchanges list them. The native token is
  // a type like any other: no wrapped form. Without reference pools: a pool's own order of its coins is not that of their
  // names, and its objects tell it.
  sui: {
    id: 'sui',
    name: 'Sui',
    apiName: 'sui',
    aliases: ['sui'],
    vm: 'move',
    wire: 'CHAIN_SUI',
    networks: [],
    screeningNetwork: 'sui',
    signInNames: [],
    isSimulated: false,
    nativeName: 'Sui',
    nativeSymbol: 'SUI',
    explorerUrl: 'https://suiscan.xyz',
    nativeDecimals: 9,
    nativeAddress: '0x2::sui::SUI',
    wrappedNative: '0x2::sui::SUI',
    wrappedName: 'Sui',
    blockTimeMs: 250,
    finalityDepth: 0,
    reorgWindow: reorgWindowOf(250, 0),
    feeds: [],
    quotes: [
      quoteAsset(
        'stable',
        'USDC',
        6,
        '0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC',
      ),
      quoteAsset(
        'stable',
        'USDT',
        6,
        '0x375f70cf2ae4c00bf37117d0c85a2c71545e6ee05c4a5c7d282cd66a4504b068::usdt::USDT',
      ),
      quoteAsset(
        'stable',
        'wUSDC',
        6,
        '0x5d4b302506645c37ff133b98c4b50a5ae14841659738d6d733d59d0d217a93bf::coin::COIN',
      ),
      quoteAsset(
        'stable',
        'wUSDT',
        6,
        '0xc060006111016b8a020ad5b33834984a437aaa7d3c74c18e09a95d48aceab08c::coin::COIN',
      ),
      quoteAsset('native', 'SUI', 9, '0x2::sui::SUI'),
      quoteAsset(
        'btc',
        'BTC',
        8,
        '0xaafb102dd0902f5055cadecd687fb5b71ca82ef0e0285d90afde828ec58ca96b::btc::BTC',
      ),
      quoteAsset(
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

/** A chain that the simulator makes. */
export type SimulatedChainId = {
  readonly [Id in ChainId]: (typeof CHAINS)[Id]['isSimulated'] extends true ? Id : never
}[ChainId]

/** Chains that the simulator makes, in the order of their rows. */
export const SIMULATED_CHAINS: readonly ChainRow[] = Object.values<ChainRow>(CHAINS).filter(
  ({ isSimulated }) => isSimulated,
)

/** The simulator makes the chain. */
export const canSimulate = (id: string): id is SimulatedChainId =>
  chainRow(id)?.isSimulated === true

/** Chains that are ingested where none is configured. */
export const DEFAULT_CHAINS: readonly ChainId[] = ['eth']

/** Every word that a path, a query or a channel may use for a chain; the value is the internal id. No other key, inherited ones included. */
export const CHAIN_ID_BY_NAME: Readonly<Record<string, ChainId>> = Object.assign(
  Object.create(null) as Record<string, ChainId>,
  Object.fromEntries(
    Object.values(CHAINS).flatMap(({ id, apiName, aliases }) =>
      [id, apiName, ...aliases].map((word) => [word, id]),
    ),
  ),
)

/** Row of a chain that this build ingests, by internal id. */
export const chainRow = (id: string): ChainRow | undefined =>
  Object.hasOwn(CHAINS, id) ? (CHAINS as Readonly<Record<string, ChainRow>>)[id] : undefined

/** How far nodes of an EVM chain are believed of what a transaction pays. */
export const gasBoundsOf = (id: string): GasBounds => chainRow(id)?.gasBounds ?? ETHER_GAS_BOUNDS

/** Chains of a virtual machine on which wallets sign in. */
export const signInChains = (vm: Vm): readonly ChainRow[] =>
  Object.values<ChainRow>(CHAINS).filter((row) => row.vm === vm && row.signInNames.length > 0)

/** What a native token or its wrapped form is called where the chain itself says nothing. */
export interface NativeTokenName {
  readonly name: string
  readonly symbol: string
  readonly decimals: number
}

/** Name of a chain's native token or of its wrapped form; undefined for every other token. */
export const nativeTokenName = (chain: ChainRow, address: string): NativeTokenName | undefined => {
  const { nativeName, nativeSymbol, nativeDecimals: decimals, wrappedName, quotes } = chain
  if (address === chain.nativeAddress) return { name: nativeName, symbol: nativeSymbol, decimals }
  if (address !== chain.wrappedNative) return undefined
  const quote = quotes.find((each) => each.address === address)
  return { name: wrappedName, symbol: quote?.symbol ?? nativeSymbol, decimals }
}
