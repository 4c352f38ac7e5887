import { ROUTER, transferLog, USER } from './dex-logs.ts'
import { buildEventLog } from './evm-event-log.ts'

/** Synthetic logs of prediction markets: a condition of two outcomes, five of each. */

export const CONDITIONAL_TOKENS = '0x4d97dcd97ec945f40cf65f87097ace5ea0476045'
export const ADAPTER = '0xd91e80cf2e7be2e162c6513ced06f1dd0da35296'
export const USDC = '0x2791bca1f2de4661ed88a30c99a7a9449aa84174'
export const ZERO = `0x${'0'.repeat(40)}`
export const CONDITION = `0x${'c0'.repeat(32)}`
export const MARKET = `0x${'c2'.repeat(32)}`
export const PARENT = `0x${'00'.repeat(32)}`
export const YES = 11n
export const NO = 12n

const SET_ARGUMENTS = 'uint256[] partition, uint256 amount'
const POSITION_ARGUMENTS = `address indexed stakeholder, address collateralToken, bytes32 indexed parentCollectionId, bytes32 indexed conditionId, ${SET_ARGUMENTS}`
export const positionLog = (name: 'PositionSplit' | 'PositionsMerge', holder = USER, amount = 5n) =>
  buildEventLog(CONDITIONAL_TOKENS, `${name}(${POSITION_ARGUMENTS})`, [
    holder,
    USDC,
    PARENT,
    CONDITION,
    [1n, 2n],
    amount,
  ])
/** Collateral that goes to the contract of the outcome tokens or comes from it. */
export const collateralLog = (from: string, to: string, amount: bigint) =>
  transferLog(USDC, from, to, amount)
export const redemptionLog = (payout = 5n, holder = USER) =>
  buildEventLog(
    CONDITIONAL_TOKENS,
    'PayoutRedemption(address indexed redeemer, address indexed collateralToken, bytes32 indexed parentCollectionId, bytes32 conditionId, uint256[] indexSets, uint256 payout)',
    [holder, USDC, PARENT, CONDITION, [1n, 2n], payout],
  )
export const transferSingleLog = (
  from: string,
  to: string,
  id: bigint,
  amount: bigint,
  by = CONDITIONAL_TOKENS,
) =>
  buildEventLog(
    by,
    'TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
    [ROUTER, from, to, id, amount],
  )
export const transferBatchLog = (
  [from, to]: readonly [string, string],
  ids: readonly bigint[],
  amounts: readonly bigint[],
  by = CONDITIONAL_TOKENS,
) =>
  buildEventLog(
    by,
    'TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
    [ROUTER, from, to, ids, amounts],
  )
const ADAPTER_ARGUMENTS = 'address indexed stakeholder, bytes32 indexed conditionId, uint256 amount'
export const adapterPositionLog = (name: 'PositionSplit' | 'PositionsMerge', holder = USER) =>
  buildEventLog(ADAPTER, `${name}(${ADAPTER_ARGUMENTS})`, [holder, CONDITION, 5n])
export const adapterRedemptionLog = (holder = USER) =>
  buildEventLog(
    ADAPTER,
    'PayoutRedemption(address indexed redeemer, bytes32 indexed conditionId, uint256[] amounts, uint256 payout)',
    [holder, CONDITION, [5n, 0n], 5n],
  )
export const conversionLog = (holder = USER) =>
  buildEventLog(
    ADAPTER,
    'PositionsConverted(address indexed stakeholder, bytes32 indexed marketId, uint256 indexed indexSet, uint256 amount)',
    [holder, MARKET, 6n, 5n],
  )
export const BOTH_OUTCOMES = [
  { tokenId: YES, amountRaw: 5n },
  { tokenId: NO, amountRaw: 5n },
]
export const EXPECTED_SETTLEMENT = {
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
