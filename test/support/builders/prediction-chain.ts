import { protocolRegistry } from '../../../ingestors/decode/protocol-registry.ts'
import { trackPositions } from '../../../ingestors/evm/predictions/outcome-positions.ts'
import { trackOutcomes } from '../../../ingestors/evm/predictions/outcome-tokens.ts'
import { positionEvents } from '../../../ingestors/evm/to-wire/outcome-positions.ts'
import { decodeBlock } from '../../../ingestors/vm/decode-block.ts'
import { predictionPositionTables } from '../../../processors/sinks/prediction-position-rows.ts'
import type { EvmBlock } from '../../../schemas/events.ts'
import type { EventMeta, PredictionPositionEvent } from '../../../schemas/wire.ts'
import { buildSingleTransactionBlock } from '../recordings/ethereum.ts'
import { buildEventLog, type LogWithoutIndex } from './evm-event-log.ts'
import { addressFromNumber, createSeededRandom } from './market-trade.ts'
import {
  CONDITIONAL_TOKENS,
  collateralLog,
  PARENT,
  transferBatchLog,
  transferSingleLog,
  USDC,
  ZERO,
} from './prediction-market-logs.ts'

const EXCHANGE = '0xe111180000d2663c0091e4f400237545b87b996b'
const DAY_MS = 86_400_000
const hash = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`

/** Time of the newest block. */
export const POSITIONS_HEAD_MS = Date.UTC(2026, 10, 20, 18)
/** Two conditions of two outcomes each; the first is decided for its first outcome. */
export const POSITION_CONDITIONS = [hash(0xc1), hash(0xc2)] as const
export const POSITION_TOKENS = [
  [101n, 102n],
  [201n, 202n],
] as const
const TRADERS = [0xa1, 0xa2, 0xa3, 0xa4, 0xa5].map(addressFromNumber)
/** Gives and takes the tokens of trades, without orders of its own. */
const DEALER = addressFromNumber(0xdd)
export const POSITION_WALLETS = [...TRADERS, DEALER]

/** A position as a plain fold has it. */
export interface ExpectedPosition {
  readonly wallet: string
  readonly token: bigint
  changes: number
  quantity: bigint
  known: bigint
  cost: bigint
  paid: bigint
  volume: bigint
  redeemed: bigint
  realized: bigint
  readonly days: Map<string, bigint>
}

/** What a step is worth to its wallet, token by token. */
interface Step {
  readonly logs: readonly LogWithoutIndex[]
  readonly apply: (model: Model, timeMs: number) => void
}

type Model = Map<string, ExpectedPosition>

const positionIn = (model: Model, wallet: string, token: bigint): ExpectedPosition => {
  const key = `${wallet}/${token}`
  const found = model.get(key) ?? {
    wallet,
    token,
    changes: 0,
    quantity: 0n,
    known: 0n,
    cost: 0n,
    paid: 0n,
    volume: 0n,
    redeemed: 0n,
    realized: 0n,
    days: new Map<string, bigint>(),
  }
  model.set(key, found)
  return found
}

const comes = (position: ExpectedPosition, amount: bigint, cost: bigint | undefined): void => {
  position.changes += 1
  position.quantity += amount
  if (cost === undefined) return
  position.known += amount
  position.cost += cost
}

const leaves = (
  position: ExpectedPosition,
  amount: bigint,
  got: bigint | undefined,
  timeMs: number,
): void => {
  const known = amount < position.known ? amount : position.known
  const cost = known === 0n ? 0n : (position.cost * known) / position.known
  const gain = got === undefined ? 0n : (got * known) / amount - cost
  position.changes += 1
  position.quantity = position.quantity > amount ? position.quantity - amount : 0n
  position.known -= known
  position.cost -= cost
  position.realized += gain
  const day = new Date(timeMs).toISOString().slice(0, 10)
  position.days.set(day, (position.days.get(day) ?? 0n) + gain)
}

const fillLog = (
  wallet: string,
  side: 0 | 1,
  token: bigint,
  give: bigint,
  take: bigint,
  fee: bigint,
) =>
  buildEventLog(
    EXCHANGE,
    'OrderFilled(bytes32 indexed orderHash, address indexed maker, address indexed taker, uint8 side, uint256 tokenId, uint256 makerAmountFilled, uint256 takerAmountFilled, uint256 fee, bytes32 builder, bytes32 metadata)',
    [PARENT, wallet, EXCHANGE, side, token, give, take, fee, PARENT, PARENT],
  )

const buyStep = (
  wallet: string,
  token: bigint,
  shares: bigint,
  price: bigint,
  fee: bigint,
): Step => ({
  logs: [
    transferSingleLog(DEALER, wallet, token, shares),
    fillLog(wallet, 0, token, (shares * price) / 100n, shares, fee),
  ],
  apply: (model, timeMs) => {
    leaves(positionIn(model, DEALER, token), shares, undefined, timeMs)
    const position = positionIn(model, wallet, token)
    comes(position, shares, (shares * price) / 100n + fee)
    position.paid += (shares * price) / 100n + fee
    position.volume += (shares * price) / 100n
  },
})

const sellStep = (wallet: string, token: bigint, shares: bigint, price: bigint): Step => ({
  logs: [
    transferSingleLog(wallet, DEALER, token, shares),
    fillLog(wallet, 1, token, shares, (shares * price) / 100n, 7n),
  ],
  apply: (model, timeMs) => {
    const position = positionIn(model, wallet, token)
    leaves(position, shares, (shares * price) / 100n - 7n, timeMs)
    comes(positionIn(model, DEALER, token), shares, undefined)
    position.volume += (shares * price) / 100n
  },
})

const setsLog = (
  name: 'PositionSplit' | 'PositionsMerge',
  wallet: string,
  condition: string,
  amount: bigint,
) =>
  buildEventLog(
    CONDITIONAL_TOKENS,
    `${name}(address indexed stakeholder, address collateralToken, bytes32 indexed parentCollectionId, bytes32 indexed conditionId, uint256[] partition, uint256 amount)`,
    [wallet, USDC, PARENT, condition, [1n, 2n], amount],
  )

const splitStep = (wallet: string, at: 0 | 1, amount: bigint): Step => ({
  logs: [
    collateralLog(wallet, CONDITIONAL_TOKENS, amount),
    transferBatchLog([ZERO, wallet], POSITION_TOKENS[at], [amount, amount]),
    setsLog('PositionSplit', wallet, POSITION_CONDITIONS[at], amount),
  ],
  apply: (model) => {
    const [yes, no] = POSITION_TOKENS[at]
    comes(positionIn(model, wallet, yes), amount, amount / 2n)
    comes(positionIn(model, wallet, no), amount, amount - amount / 2n)
  },
})

const mergeStep = (wallet: string, at: 0 | 1, amount: bigint): Step => ({
  logs: [
    transferBatchLog([wallet, ZERO], POSITION_TOKENS[at], [amount, amount]),
    collateralLog(CONDITIONAL_TOKENS, wallet, amount),
    setsLog('PositionsMerge', wallet, POSITION_CONDITIONS[at], amount),
  ],
  apply: (model, timeMs) => {
    const [yes, no] = POSITION_TOKENS[at]
    leaves(positionIn(model, wallet, yes), amount, amount / 2n, timeMs)
    leaves(positionIn(model, wallet, no), amount, amount - amount / 2n, timeMs)
  },
})

const transferStep = (from: string, to: string, token: bigint, amount: bigint): Step => ({
  logs: [transferSingleLog(from, to, token, amount)],
  apply: (model, timeMs) => {
    comes(positionIn(model, to, token), amount, undefined)
    leaves(positionIn(model, from, token), amount, undefined, timeMs)
  },
})

/** The first condition pays its first outcome; what lost is redeemed for nothing beside it. */
const redeemStep = (wallet: string, yes: bigint, no: bigint): Step => ({
  logs: [
    transferBatchLog([wallet, ZERO], POSITION_TOKENS[0], [yes, no]),
    ...(yes > 0n ? [collateralLog(CONDITIONAL_TOKENS, wallet, yes)] : []),
    buildEventLog(
      CONDITIONAL_TOKENS,
      'PayoutRedemption(address indexed redeemer, address indexed collateralToken, bytes32 indexed parentCollectionId, bytes32 conditionId, uint256[] indexSets, uint256 payout)',
      [wallet, USDC, PARENT, POSITION_CONDITIONS[0], [1n, 2n], yes],
    ),
  ],
  apply: (model, timeMs) => {
    const won = positionIn(model, wallet, POSITION_TOKENS[0][0])
    leaves(won, yes, yes, timeMs)
    won.redeemed += yes
    leaves(positionIn(model, wallet, POSITION_TOKENS[0][1]), no, 0n, timeMs)
  },
})

const resolutionLog = buildEventLog(
  CONDITIONAL_TOKENS,
  'ConditionResolution(bytes32 indexed conditionId, address indexed oracle, bytes32 indexed questionId, uint256 outcomeSlotCount, uint256[] payoutNumerators)',
  [POSITION_CONDITIONS[0], DEALER, PARENT, 2n, [1n, 0n]],
)

const DECODE = {
  verification: 'facts' as const,
  protocols: protocolRegistry('polygon'),
  pool: () => undefined,
}

const BLOCKS = 120

/**
 * Blocks of a simulated market as their rows, with every seventh taken back and replaced, and beside them the positions that a plain
 * fold of the same steps has. From one seed.
 */
export const predictionChain = () => {
  const random = createSeededRandom(29)
  const below = (count: number): number => Math.floor(random() * count)
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item
  const model: Model = new Map()
  const kept = new Map<string, bigint>()
  const tables = new Map<string, Readonly<Record<string, unknown>>[]>()
  const prices = new Map<bigint, bigint>()
  let seq = 0
  const stepOf = (index: number): Step => {
    const wallet = pick(TRADERS)
    const at = index < 90 ? (below(2) as 0 | 1) : 1
    const token = pick(POSITION_TOKENS[at])
    const shares = BigInt(1_000_000 + below(90_000_000))
    const { quantity } = positionIn(model, wallet, token)
    const kind = index < 8 ? 0 : below(6)
    if (kind === 0) return splitStep(wallet, (index < 2 ? index : at) as 0 | 1, shares)
    if (kind === 1) return buyStep(wallet, token, shares, BigInt(1 + below(98)), BigInt(below(900)))
    if (kind === 2 && quantity > 1_000n) return sellStep(wallet, token, quantity - 999n, 61n)
    if (kind === 3 && quantity > 10n)
      return transferStep(
        wallet,
        pick(TRADERS.filter((one) => one !== wallet)),
        token,
        quantity / 3n,
      )
    const [yes, no] = POSITION_TOKENS[at].map((id) => positionIn(model, wallet, id).quantity) as [
      bigint,
      bigint,
    ]
    const least = yes < no ? yes : no
    if (kind === 4 && least > 10n) return mergeStep(wallet, at, least / 2n + 1n)
    const own = POSITION_TOKENS[0].map((id) => positionIn(model, wallet, id).quantity) as [
      bigint,
      bigint,
    ]
    if (kind === 5 && index >= 90 && own[0] > 0n && own[1] > 0n) return redeemStep(wallet, ...own)
    return buyStep(wallet, token, shares, BigInt(1 + below(98)), 0n)
  }
  const write = (meta: EventMeta, events: readonly PredictionPositionEvent[]): void => {
    for (const { table, rows } of predictionPositionTables({ meta, events }))
      tables.set(table, [...(tables.get(table) ?? []), ...rows])
  }
  const foldLogs = (index: number, logs: readonly LogWithoutIndex[]) => {
    const timeMs = POSITIONS_HEAD_MS - (BLOCKS - 1 - index) * (DAY_MS / 8)
    const block = {
      ...buildSingleTransactionBlock(logs),
      chain: 'polygon',
      timeMs,
      height: 1_000 + index,
    } as EvmBlock
    const { predictions, outcomeChanges } = decodeBlock(block, DECODE)
    const get = (key: string) => kept.get(key)
    const outcomes = trackOutcomes(predictions, get)
    const positions = trackPositions(outcomeChanges, outcomes, timeMs, get)
    const events = positionEvents(block, positions, outcomes).map(
      ({ event }) => event as PredictionPositionEvent,
    )
    seq += 1
    const meta = {
      chain: 'polygon',
      op: 'OP_APPLY',
      seq,
      commitment: 'COMMITMENT_CONFIRMED',
      height: block.height,
      slot: block.height,
      hash: hash(seq),
      parent_hash: '',
      block_time: timeMs,
      part: 0,
      parts: 1,
      produced_at: 0,
    } as EventMeta
    write(meta, events)
    return { meta, events, amounts: [...outcomes.amounts, ...positions.amounts], timeMs }
  }
  for (let index = 0; index < BLOCKS; index += 1) {
    if (index % 7 === 6) {
      const wrong = foldLogs(index, [...stepOf(index).logs, ...stepOf(index).logs])
      seq += 1
      write({ ...wrong.meta, op: 'OP_REVERT', seq }, wrong.events.toReversed())
    }
    const step = stepOf(index)
    const logs = index === 90 ? [resolutionLog, ...step.logs] : step.logs
    const { amounts, timeMs, events } = foldLogs(index, logs)
    for (const [key, value] of amounts) kept.set(key, value)
    step.apply(model, timeMs)
    for (const event of events)
      if (event.price !== '') prices.set(BigInt(event.outcome_token), BigInt(event.price))
  }
  const [decided] = POSITION_TOKENS
  prices.set(decided[0], 1_000_000n).set(decided[1], 0n)
  const managements = [
    {
      block_time: new Date(POSITIONS_HEAD_MS).toISOString(),
      block_slot: 1_090,
      _ver: 1,
      block_height: 1_090,
      event_index: 0,
      event_type: 'ConditionResolution',
      condition_id: POSITION_CONDITIONS[0],
      payouts: ['1', '0'],
      tx_status: 'SUCCESS',
    },
  ]
  return {
    tables,
    managements,
    prices,
    positions: [...model.values()].filter(({ changes }) => changes > 0),
  }
}
