/** What moves inside the house between normalize, decode and publish. Amounts are base units ending in `Raw`. */

/** One log of a receipt. Hex is lower case with `0x`. */
export interface Log {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  /** Index in the block. */
  readonly index: number
}

/** One transaction with its receipt. A failed one (`success: false`) has no logs but still paid its fee. */
export interface Transaction {
  readonly hash: string
  readonly index: number
  readonly from: string
  /** null: contract creation. */
  readonly to: string | null
  readonly valueRaw: bigint
  readonly feeRaw: bigint
  readonly success: boolean
  readonly contractAddress: string | null
  readonly logs: readonly Log[]
}

/** A block as every decoder reads it: their JSON, checked and normalized. */
export interface Block {
  readonly chain: string
  readonly height: number
  readonly hash: string
  readonly parentHash: string
  readonly timeMs: number
  readonly coinbase: string
  readonly gasLimitRaw: bigint
  readonly gasUsedRaw: bigint
  readonly baseFeeRaw: bigint
  readonly difficultyRaw: bigint
  readonly nonce: string
  readonly extra: string
  readonly transactions: readonly Transaction[]
}

/** What a node or a fixture says of a token. null = asked and not answered (a revert, or no archive state). */
export interface TokenFact {
  readonly address: string
  readonly decimals: number | null
  readonly name: string | null
  readonly symbol: string | null
  readonly totalSupplyRaw: bigint | null
}

/** What is known of a pool. `proven`: its factory is listed and the factory itself names this pool (contract/chains.md 2.8). */
export interface PoolFact {
  readonly address: string
  /** Lower address of the two on V2 and V3 shapes. */
  readonly tokenA: string
  readonly tokenB: string
  /** Row id of `protocols.ts`, or null where the factory is not listed. */
  readonly protocol: string | null
  readonly factory: string | null
  /** Hundredths of a basis point, null where the protocol has no fixed fee. */
  readonly feePips: number | null
  readonly proven: boolean
}

/** One pool hop: the trade as the pool logged it. */
export interface Swap {
  readonly kind: 'swap'
  readonly txIndex: number
  readonly logIndex: number
  readonly pool: string
  readonly protocol: string
  readonly trader: string
  /** null where neither the pool nor the transfers of the transaction tell. */
  readonly tokenIn: string | null
  readonly tokenOut: string | null
  readonly amountInRaw: bigint
  readonly amountOutRaw: bigint
  /** Pool reserves after the swap in the pool's own order, where the protocol logs them. */
  readonly reserves?: readonly [bigint, bigint]
  /** Square root price after the swap, concentrated liquidity only. */
  readonly sqrtPriceX96?: bigint
  /** Liquidity in range after the swap, concentrated liquidity only. */
  readonly liquidityRaw?: bigint
}

/**
 * Liquidity moved in or out of a pool, or a pool opened. Where a protocol owes first and pays later (Uniswap V3), `decrease` is
 * what a position gave up; it stays in the pool until a `collect`, which also holds the position's fees.
 */
export interface PoolChange {
  readonly kind: 'initialize' | 'increase' | 'decrease' | 'collect'
  readonly txIndex: number
  readonly logIndex: number
  readonly pool: string
  readonly protocol: string
  readonly owner: string
  readonly tokenA: string
  readonly tokenB: string
  readonly amountARaw: bigint
  readonly amountBRaw: bigint
  readonly reserves?: readonly [bigint, bigint]
}

/** A fungible token moved. */
export interface Transfer {
  readonly kind: 'transfer'
  readonly txIndex: number
  readonly logIndex: number
  readonly token: string
  readonly from: string
  readonly to: string
  readonly amountRaw: bigint
  /** The native coin turned into its wrapped token (from the zero address) or back (to it); no transfer log says so. */
  readonly wrap: boolean
}

/** Why a chain event was not taken; counted, and sampled to the dead letters. */
export interface Dropped {
  readonly reason: string
  readonly txHash: string
  readonly logIndex: number
  readonly protocol: string
}

/** Everything decoded from one block, in log order. */
export interface Decoded {
  readonly swaps: readonly Swap[]
  readonly poolChanges: readonly PoolChange[]
  readonly transfers: readonly Transfer[]
  /** Pools that listed factories made in this block: proven. */
  readonly pools: readonly PoolFact[]
  readonly dropped: readonly Dropped[]
}
