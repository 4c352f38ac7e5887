import { eventLog } from './evm-logs.ts'
import { ROUTER, USER } from './made-up-chain.ts'

/** Made-up logs of prediction markets: a condition of two outcomes, five of each. */

export const TOKENS = '0x4d97dcd97ec945f40cf65f87097ace5ea0476045'
export const ADAPTER = '0xd91e80cf2e7be2e162c6513ced06f1dd0da35296'
export const USDC = '0x2791bca1f2de4661ed88a30c99a7a9449aa84174'
export const ZERO = `0x${'0'.repeat(40)}`
export const CONDITION = `0x${'c0'.repeat(32)}`
export const MARKET = `0x${'c2'.repeat(32)}`
export const PARENT = `0x${'00'.repeat(32)}`
export const YES = 11n
export const NO = 12n

const SETS = 'uint256[] partition, uint256 amount'
const POSITION = `address indexed stakeholder, address collateralToken, bytes32 indexed parentCollectionId, bytes32 indexed conditionId, ${SETS}`
export const position = (name: 'PositionSplit' | 'PositionsMerge', holder = USER, amount = 5n) =>
  eventLog(TOKENS, `${name}(${POSITION})`, [holder, USDC, PARENT, CONDITION, [1n, 2n], amount])
export const redeemed = (payout = 5n, holder = USER) =>
  eventLog(
    TOKENS,
    'PayoutRedemption(address indexed redeemer, address indexed collateralToken, bytes32 indexed parentCollectionId, bytes32 conditionId, uint256[] indexSets, uint256 payout)',
    [holder, USDC, PARENT, CONDITION, [1n, 2n], payout],
  )
export const single = (from: string, to: string, id: bigint, amount: bigint, by = TOKENS) =>
  eventLog(
    by,
    'TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
    [ROUTER, from, to, id, amount],
  )
export const batch = (
  [from, to]: readonly [string, string],
  ids: readonly bigint[],
  amounts: readonly bigint[],
  by = TOKENS,
) =>
  eventLog(
    by,
    'TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
    [ROUTER, from, to, ids, amounts],
  )
const ADAPTED = 'address indexed stakeholder, bytes32 indexed conditionId, uint256 amount'
export const adapted = (name: 'PositionSplit' | 'PositionsMerge', holder = USER) =>
  eventLog(ADAPTER, `${name}(${ADAPTED})`, [holder, CONDITION, 5n])
export const adaptedRedemption = (holder = USER) =>
  eventLog(
    ADAPTER,
    'PayoutRedemption(address indexed redeemer, bytes32 indexed conditionId, uint256[] amounts, uint256 payout)',
    [holder, CONDITION, [5n, 0n], 5n],
  )
export const converted = (holder = USER) =>
  eventLog(
    ADAPTER,
    'PositionsConverted(address indexed stakeholder, bytes32 indexed marketId, uint256 indexed indexSet, uint256 amount)',
    [holder, MARKET, 6n, 5n],
  )
export const both = [
  { tokenId: YES, amountRaw: 5n },
  { tokenId: NO, amountRaw: 5n },
]
export const settled = {
  kind: 'prediction-settlement',
  protocol: 'polymarket',
  txIndex: 0,
  holder: USER,
  conditionId: CONDITION,
  marketId: null,
  collateral: USDC,
  amountRaw: 5n,
  indexSets: [1n, 2n],
} as const
