import type { BinChange, BinMove, Log } from '../../../schemas/events.ts'
import type { CallResult } from '../abi/call.ts'
import { type PackedBin, packedAt, packedBins } from '../abi/packed.ts'
import { decodeAddress, decodeUint } from '../abi/result.ts'
import { addressIn, topicAddress, topicNumber, wordAt, wordOf } from '../abi/words.ts'
import type { PoolVerification, VerificationContext } from '../verify/contract.ts'
import { type DecodedEvent, type EvmFamily, invalidAmounts } from './types.ts'

interface Bin {
  readonly defaultProtocol: string
  readonly tokenIn: 0 | 1
  readonly amountInRaw: bigint
  readonly amountOutRaw: bigint
  readonly bins?: BinChange
}

/** A swap through several bins logs each of them. */
const swap = (
  { address: pool }: Log,
  { defaultProtocol, tokenIn, amountInRaw, amountOutRaw, bins }: Bin,
): DecodedEvent =>
  invalidAmounts(amountInRaw, amountOutRaw) ?? {
    kind: 'swap',
    pool,
    defaultProtocol,
    tokenIn,
    tokenOut: tokenIn === 0 ? 1 : 0,
    unordered: 'pair',
    amountInRaw,
    amountOutRaw,
    ...(bins && { bins }),
  }

/** From V2.1 on: what came in includes the fee, but for the protocol's part of it, which does not go to the bin. */
const packedSwap = (log: Log): DecodedEvent => {
  const ins = packedAt(log.data, 1)
  const outs = packedAt(log.data, 2)
  const tokenIn = ins[0] > 0n || outs[1] > 0n ? 0 : 1
  const tokenOut = tokenIn === 0 ? 1 : 0
  const bin = binAt(log.data, 0)
  return swap(log, {
    defaultProtocol: 'lfj_v2_1',
    tokenIn,
    amountInRaw: ins[tokenIn] - outs[tokenIn] + packedAt(log.data, 5)[tokenIn],
    amountOutRaw: outs[tokenOut] - ins[tokenOut],
    bins: {
      moves: [{ bin, xRaw: ins[0] - outs[0], yRaw: ins[1] - outs[1] }],
      activeBin: bin,
      volatility: Number(wordAt(log.data, 3) & UINT24),
    },
  })
}

const UINT24 = (1n << 24n) - 1n

const binAt = (data: string, index: number): number => Number(wordAt(data, index) & UINT24)

/** V2.0 states the fee beside what came into the bin. */
const plainSwap = (log: Log): DecodedEvent => {
  const { data } = log
  return swap(log, {
    defaultProtocol: 'lfj_v2',
    tokenIn: wordAt(data, 0) === 0n ? 1 : 0,
    amountInRaw: wordAt(data, 1) + wordAt(data, 4),
    amountOutRaw: wordAt(data, 2),
  })
}

const change = (
  { address: pool }: Log,
  {
    defaultProtocol,
    kind,
    amountsRaw,
    bins,
  }: {
    readonly defaultProtocol: string
    readonly kind: 'increase' | 'decrease' | 'state'
    readonly amountsRaw: readonly [bigint, bigint]
    readonly bins?: BinChange
  },
): DecodedEvent => ({
  kind: 'change',
  pool,
  defaultProtocol,
  unordered: 'pair',
  change: kind,
  amountsRaw,
  ...(bins && { bins }),
})

const plainChange =
  (kind: 'increase' | 'decrease') =>
  (log: Log): DecodedEvent =>
    change(log, {
      defaultProtocol: 'lfj_v2',
      kind,
      amountsRaw: [wordAt(log.data, 0), wordAt(log.data, 1)],
    })

/** What came to the bins or left them. A bin that takes both tokens is the active one: others take one of them. */
const packedChange =
  (kind: 'increase' | 'decrease') =>
  (log: Log): DecodedEvent => {
    const listed = packedBins(log.data, 0, 1)
    if (listed === undefined) return { kind: 'invalid', reason: 'truncated-data' }
    const mixed =
      kind === 'increase' ? listed.find(({ xRaw, yRaw }) => xRaw > 0n && yRaw > 0n) : undefined
    return change(log, {
      defaultProtocol: 'lfj_v2_1',
      kind,
      amountsRaw: [
        listed.reduce((sum, { xRaw }) => sum + xRaw, 0n),
        listed.reduce((sum, { yRaw }) => sum + yRaw, 0n),
      ],
      bins: {
        moves: movesOf(listed, kind === 'increase' ? 1n : -1n),
        ...(mixed && { activeBin: mixed.bin }),
      },
    })
  }

/** One move for each bin, however often it is listed. */
const movesOf = (listed: readonly PackedBin[], sign: 1n | -1n): readonly BinMove[] => {
  const moves = new Map<number, BinMove>()
  for (const { bin, xRaw, yRaw } of listed) {
    const { xRaw: x, yRaw: y } = moves.get(bin) ?? { xRaw: 0n, yRaw: 0n }
    moves.set(bin, { bin, xRaw: x + sign * xRaw, yRaw: y + sign * yRaw })
  }
  return [...moves.values()]
}

/** What a pool prices with changed, and nothing moved for anybody. */
const stateChange =
  (binsOf: (data: string) => BinChange) =>
  (log: Log): DecodedEvent =>
    change(log, {
      defaultProtocol: 'lfj_v2_1',
      kind: 'state',
      amountsRaw: [0n, 0n],
      bins: binsOf(log.data),
    })

/** What of the fee for a loan does not go to the protocol is the active bin's; from V2.2 on nothing is. */
const lent = (data: string): BinChange => {
  const [fees, protocolFees] = [packedAt(data, 2), packedAt(data, 3)]
  const bin = binAt(data, 0)
  const move = { bin, xRaw: fees[0] - protocolFees[0], yRaw: fees[1] - protocolFees[1] }
  const isGift = move.xRaw > 0n || move.yRaw > 0n
  return { activeBin: bin, ...(isGift && { moves: [move] }) }
}

/** Numbers of `StaticFeeParametersSet`. */
const FEE_TERMS = 7

const MAX_BIN_STEP = (1n << 16n) - 1n

/** Views of V2.1 and V2.2, then those of V2.0; the last one's first word is the bin step. */
const VIEWS = [
  '0x88cc58e4', // getFactory()
  '0x05e8746d', // getTokenX()
  '0xda10610c', // getTokenY()
  '0x17f11ecc', // getBinStep()
  '0xc45a0155', // factory()
  '0x16dc165b', // tokenX()
  '0xb7d19fc4', // tokenY()
  '0x98c7adf3', // feeParameters()
] as const
/** getLBPairInformation(address,address,uint256): bin step, pair, who made it, whether routes leave it out. */
const PAIR_INFORMATION = '0x704037bd'

const claimOf = ({ results: given }: VerificationContext) => {
  const address = (index: number): string | null =>
    decodeAddress(given[index]) ?? decodeAddress(given[index + 4])
  const step = decodeUint(given[3], MAX_BIN_STEP) ?? decodeUint(given[7], MAX_BIN_STEP)
  const [factory, tokenX, tokenY] = [address(0), address(1), address(2)]
  return factory === null || tokenX === null || tokenY === null
    ? undefined
    : { factory, tokenX, tokenY, step }
}

/** A pair names its factory, tokens and bin step; the factory, if it is listed, names this very pair for them. */
const pairVerification: PoolVerification = {
  ask: (pool) => VIEWS.map((data) => ({ to: pool, data })),
  confirm: (context) => {
    const claim = claimOf(context)
    if (claim === undefined || claim.step === null) return []
    const { factory, tokenX, tokenY, step } = claim
    if (!context.listed.some((each) => each.factory === factory)) return []
    const data = PAIR_INFORMATION + wordOf(tokenX) + wordOf(tokenY) + wordOf(step)
    return [{ to: factory, data }]
  },
  conclude: (context, [given]: readonly CallResult[]) => {
    const claim = claimOf(context)
    if (claim === undefined) return undefined
    const { pool, listed } = context
    const { factory, tokenX: tokenA, tokenY: tokenB } = claim
    const row = listed.find((each) => each.factory === factory)?.row
    const verified = row !== undefined && decodeAddress(given, 1) === pool
    const protocol = verified ? row.id : null
    return { address: pool, tokenA, tokenB, protocol, factory, feePips: null, verified }
  },
}

/**
 * Liquidity Book of LFJ (Trader Joe): liquidity in bins of one price each, tokens in no order. Source: traderjoe-xyz/joe-v2
 * src/interfaces/ILBPair.sol, for V2.0 ILBPair.sol of its release.
 */
export const liquidityBook: EvmFamily = {
  family: 'liquidity_book',
  verification: pairVerification,
  events: {
    '0xad7d6f97abf51ce18e17a38f4d70e975be9c0708474987bb3e26ad21bd93ca70': {
      signature:
        'Swap(address indexed sender, address indexed to, uint24 id, bytes32 amountsIn, bytes32 amountsOut, uint24 volatilityAccumulator, bytes32 totalFees, bytes32 protocolFees)',
      by: 'pool',
      topics: 3,
      words: 6,
      read: packedSwap,
    },
    '0xc528cda9e500228b16ce84fadae290d9a49aecb17483110004c5af0a07f6fd73': {
      signature:
        'Swap(address indexed sender, address indexed recipient, uint256 indexed id, bool swapForY, uint256 amountIn, uint256 amountOut, uint256 volatilityAccumulated, uint256 fees)',
      by: 'pool',
      topics: 4,
      words: 5,
      read: plainSwap,
    },
    '0x87f1f9dcf5e8089a3e00811b6a008d8f30293a3da878cb1fe8c90ca376402f8a': {
      signature:
        'DepositedToBins(address indexed sender, address indexed to, uint256[] ids, bytes32[] amounts)',
      by: 'pool',
      topics: 3,
      words: 2,
      read: packedChange('increase'),
    },
    '0xa32e146844d6144a22e94c586715a1317d58a8aa3581ec33d040113ddcb24350': {
      signature:
        'WithdrawnFromBins(address indexed sender, address indexed to, uint256[] ids, bytes32[] amounts)',
      by: 'pool',
      topics: 3,
      words: 2,
      read: packedChange('decrease'),
    },
    '0x3f0b46725027bb418b2005f4683538eccdbcdf1de2b8649a29dbd9c507d16ff4': {
      signature:
        'CompositionFees(address indexed sender, uint24 id, bytes32 totalFees, bytes32 protocolFees)',
      by: 'pool',
      topics: 2,
      words: 3,
      // The deposit that follows tells what is left of the fees in the bin.
      read: stateChange((data) => ({ activeBin: binAt(data, 0), references: 'by_time' })),
    },
    '0xd09e5ddc721ff14c5c1e66a305cbba1fd70b82c5232bc391aad6f55e62e4b046': {
      signature:
        'StaticFeeParametersSet(address indexed sender, uint16 baseFactor, uint16 filterPeriod, uint16 decayPeriod, uint16 reductionFactor, uint24 variableFeeControl, uint16 protocolShare, uint24 maxVolatilityAccumulator)',
      by: 'pool',
      topics: 2,
      words: FEE_TERMS,
      read: stateChange((data) => ({
        feeTerms: Array.from({ length: FEE_TERMS }, (_, index) => binAt(data, index)),
      })),
    },
    '0x282afaeeae84c1d85ad1424a3aa2ddbedaeefca3b1e53d889d15265fe44db7fc': {
      signature:
        'ForcedDecay(address indexed sender, uint24 idReference, uint24 volatilityReference)',
      by: 'pool',
      topics: 2,
      words: 2,
      // It states the references of before: the new ones follow from the active bin.
      read: stateChange(() => ({ references: 'forced' })),
    },
    '0xd126bd9d94daca8e55ffd8283fac05394aec8326c6b1639e1e8a445fbe8bbc7d': {
      signature:
        'FlashLoan(address indexed sender, address indexed receiver, uint24 activeId, bytes32 amounts, bytes32 totalFees, bytes32 protocolFees)',
      by: 'pool',
      topics: 3,
      words: 4,
      read: stateChange(lent),
    },
    '0x4216cc3bd0c40a90259d92f800c06ede5c47765f41a488072b7e7104a1f95841': {
      signature:
        'DepositedToBin(address indexed sender, address indexed recipient, uint256 indexed id, uint256 amountX, uint256 amountY)',
      by: 'pool',
      topics: 4,
      words: 2,
      read: plainChange('increase'),
    },
    '0xda5e7177dface55f5e0eff7dfc67420a1db4243ddfcf0ecc84ed93e034dd8cc2': {
      signature:
        'WithdrawnFromBin(address indexed sender, address indexed recipient, uint256 indexed id, uint256 amountX, uint256 amountY)',
      by: 'pool',
      topics: 4,
      words: 2,
      read: plainChange('decrease'),
    },
    '0x2c8d104b27c6b7f4492017a6f5cf3803043688934ebcaa6a03540beeaf976aff': {
      signature:
        'LBPairCreated(address indexed tokenX, address indexed tokenY, uint256 indexed binStep, address LBPair, uint256 pid)',
      by: 'factory',
      topics: 4,
      words: 2,
      read: ({ address: factory, topics, data }) => ({
        kind: 'pool',
        pool: addressIn(data, 0),
        factory,
        tokens: [topicAddress(topics[1]), topicAddress(topics[2])],
        feePips: null,
        opens: true,
        bins: { binStep: Number(topicNumber(topics[3])) },
      }),
    },
  },
}
