import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { EventPosition } from '../../../schemas/events.ts'
import type {
  OutcomeAmount,
  OutcomeChange,
  OutcomeChangeType,
} from '../../../schemas/outcome-changes.ts'
import type { Prediction, PredictionSettlement } from '../../../schemas/prediction-events.ts'
import { CONVERTED_TOKENS_ADDRESS, PREDICTION_COLLATERALS } from '../../../schemas/predictions.ts'
import { GO_BETWEENS } from '../protocols/polymarket.ts'
import type { Predicted } from './predictions.ts'

/** Where outcome tokens end: no wallet. */
const ENDS: ReadonlySet<string> = new Set([EVM_ZERO_ADDRESS, CONVERTED_TOKENS_ADDRESS])
/** Amounts from here on are not of a market in dollars: anyone can make outcome tokens of a token of their own. */
const MAX_SHARES = 1n << 96n

const PAID: ReadonlySet<string> = new Set(PREDICTION_COLLATERALS.map(({ address }) => address))

/** Predictions of a transaction, and those settlements among them whose collateral did not move. */
interface EmittedPredictions {
  readonly emitted: readonly Prediction[]
  readonly unpaid: ReadonlySet<Prediction>
}

/** A step without what all steps of a transaction share. */
type Step = Omit<OutcomeChange, 'kind' | 'txIndex'>

interface Net {
  readonly wallet: string
  readonly tokenId: bigint
  readonly protocol: string
  readonly firstLog: number
  amountRaw: bigint
  lastLog: number
}

const netKey = (wallet: string, tokenId: bigint): string => `${wallet}|${tokenId}`

/** By wallet and token what the transaction left of all its moves, in the order of their first. */
const netMoves = (predicted: readonly Predicted[]): ReadonlyMap<string, Net> => {
  const nets = new Map<string, Net>()
  const move = (item: Predicted, wallet: string, tokenId: bigint, by: bigint): void => {
    if (ENDS.has(wallet)) return
    const key = netKey(wallet, tokenId)
    const { logIndex, row } = item
    const net = nets.get(key)
    if (net === undefined) {
      const protocol = row?.id ?? ''
      const place = { firstLog: logIndex, lastLog: logIndex }
      nets.set(key, { wallet, tokenId, protocol, ...place, amountRaw: by })
      return
    }
    net.amountRaw += by
    net.lastLog = logIndex
  }
  for (const item of predicted) {
    if (item.decoded.kind !== 'outcomes') continue
    const { from, to, moved } = item.decoded
    for (const { tokenId, amountRaw } of moved) {
      if (amountRaw === 0n || amountRaw >= MAX_SHARES) continue
      move(item, from, tokenId, -amountRaw)
      move(item, to, tokenId, amountRaw)
    }
  }
  return nets
}

type Fill = Pick<
  Extract<Prediction, { readonly kind: 'prediction-trade' }>,
  'tokenId' | 'sharesRaw' | 'collateralRaw' | 'feeRaw' | 'feeIn' | 'orderHash'
>

/** One side of a trade. What an order got is less its fee, what it paid is more by it. */
const tradeStep = (
  place: Pick<Step, 'logIndex' | 'protocol'>,
  wallet: string,
  buys: boolean,
  { tokenId, sharesRaw, collateralRaw, feeRaw, feeIn, orderHash }: Fill,
): Step | undefined => {
  const feeShares = feeIn === 'shares' && feeRaw < sharesRaw ? feeRaw : 0n
  const fee = feeIn === 'collateral' ? feeRaw : 0n
  const sold = collateralRaw > fee ? collateralRaw - fee : 0n
  if (sharesRaw >= MAX_SHARES || collateralRaw + fee >= MAX_SHARES) return
  return {
    ...place,
    type: buys ? 'buy' : 'sell',
    wallet,
    parts: [{ tokenId, amountRaw: buys ? sharesRaw - feeShares : -sharesRaw }],
    collateralRaw: buys ? collateralRaw + fee : sold,
    conditionId: null,
    traded: { sharesRaw, collateralRaw, isOrder: orderHash !== null },
  }
}

/**
 * Each order's own log says what its maker gave and got. Who filled it has a log of its own, with the exchange as its other side, or
 * none: then it did the opposite, and kept the order's fee of what it gave. Source: Polymarket/ctf-exchange Trading.sol.
 */
const orderSteps = (predicted: readonly Predicted[]): readonly (Step | undefined)[] => {
  const fills = predicted.flatMap(({ decoded, logIndex, row }) =>
    decoded.kind === 'prediction-trade' ? [{ decoded, logIndex, protocol: row?.id ?? '' }] : [],
  )
  const takers = new Set(
    fills.flatMap(({ decoded: { exchange, maker, taker } }) =>
      taker === exchange ? [`${exchange}|${maker}`] : [],
    ),
  )
  return fills.flatMap(({ decoded, logIndex, protocol }) => {
    const { exchange, maker, taker, side } = decoded
    const own = tradeStep({ logIndex, protocol }, maker, side === 'BUY', decoded)
    const hasLog = taker === exchange || takers.has(`${exchange}|${taker}`)
    return hasLog
      ? [own]
      : [own, fillerStep({ logIndex, protocol }, taker, side === 'SELL', decoded)]
  })
}

/** The side of who filled an order itself: what the order does not get, it does not give. */
const fillerStep = (
  place: Pick<Step, 'logIndex' | 'protocol'>,
  wallet: string,
  buys: boolean,
  fill: Fill,
): Step | undefined => {
  const { sharesRaw, collateralRaw, feeRaw, feeIn, orderHash } = fill
  const less = (amountRaw: bigint): bigint => (feeRaw < amountRaw ? amountRaw - feeRaw : amountRaw)
  const given =
    feeIn === 'shares' ? { sharesRaw: less(sharesRaw) } : { collateralRaw: less(collateralRaw) }
  const step = tradeStep(place, wallet, buys, { ...fill, ...given, feeRaw: 0n })
  return step && { ...step, traded: { sharesRaw, collateralRaw, isOrder: orderHash !== null } }
}

/** Both sides of what a market maker dealt; the taker bears the fee, which is part of what it paid. */
const dealSteps = (emitted: readonly Prediction[]): readonly (Step | undefined)[] =>
  emitted.flatMap((deal) => {
    if (deal.kind !== 'prediction-trade' || deal.orderHash !== null) return []
    const { logIndex, protocol, maker, taker, side } = deal
    const dealt = { ...deal, feeRaw: 0n }
    return [
      tradeStep({ logIndex, protocol }, maker, side === 'BUY', dealt),
      tradeStep({ logIndex, protocol }, taker, side === 'SELL', dealt),
    ]
  })

const SETTLED = { Split: 'split', Merge: 'merge', Redemption: 'redeem' } as const

/** What a settlement made or took, with its collateral where that is what the exchanges are paid in. */
const settlementStep = (event: PredictionSettlement, isPaid: boolean): Step | undefined => {
  const { type, holder, moved, collateral, amountRaw, logIndex, protocol, conditionId } = event
  if (type === 'Conversion' || moved.length === 0) return
  const parts = moved.filter((part) => part.amountRaw > 0n && part.amountRaw < MAX_SHARES)
  if (parts.length !== moved.length) return
  const isCollateral = collateral === null || PAID.has(collateral)
  const known = isPaid && isCollateral && amountRaw < MAX_SHARES
  return {
    type: SETTLED[type],
    wallet: holder,
    logIndex,
    protocol,
    conditionId,
    traded: null,
    parts: type === 'Split' ? parts : parts.map(negative),
    collateralRaw: known ? amountRaw : null,
  }
}

const negative = ({ tokenId, amountRaw }: OutcomeAmount): OutcomeAmount => ({
  tokenId,
  amountRaw: -amountRaw,
})

/** Questions that a conversion names. */
const bitsOf = (sets: readonly bigint[]): bigint =>
  BigInt(sets.reduce((bits, set) => bits + set.toString(2).replaceAll('0', '').length, 0))

/**
 * Collateral of a conversion: of n outcomes given up all but one. A fee is taken from it as from the outcome tokens that come.
 * Source: Polymarket/neg-risk-ctf-adapter NegRiskAdapter.sol.
 */
const convertedCollateral = (
  conversions: readonly PredictionSettlement[],
  parts: readonly OutcomeAmount[],
): bigint => {
  const [only, more] = conversions
  const came = parts.find(({ amountRaw }) => amountRaw > 0n)?.amountRaw
  const each = (amountRaw: bigint): bigint =>
    only !== undefined && more === undefined && came !== undefined && came < amountRaw
      ? came
      : amountRaw
  return conversions.reduce((sum, { amountRaw, indexSets }) => {
    const given = bitsOf(indexSets)
    return given > 1n ? sum + (given - 1n) * each(amountRaw) : sum
  }, 0n)
}

/** What no trade, split, merge or redemption explains: conversions of who converted, and transfers. */
const restSteps = (
  nets: ReadonlyMap<string, Net>,
  explained: readonly Step[],
  emitted: readonly Prediction[],
): readonly Step[] => {
  const rest = new Map([...nets].map(([key, net]) => [key, { ...net }]))
  for (const { wallet, parts, protocol, logIndex } of explained) {
    for (const { tokenId, amountRaw } of parts) {
      const key = netKey(wallet, tokenId)
      const net = rest.get(key)
      if (net !== undefined) {
        net.amountRaw -= amountRaw
        continue
      }
      const place = { firstLog: logIndex, lastLog: logIndex }
      rest.set(key, { wallet, tokenId, protocol, ...place, amountRaw: -amountRaw })
    }
  }
  const left = [...rest.values()].filter(({ amountRaw }) => amountRaw !== 0n)
  const conversions = emitted.filter(
    (event): event is PredictionSettlement =>
      event.kind === 'prediction-settlement' && event.type === 'Conversion',
  )
  const converters = new Set(conversions.map(({ holder }) => holder))
  const converted = [...converters].flatMap((wallet): readonly Step[] => {
    const own = conversions.filter(({ holder }) => holder === wallet)
    const parts = left.filter((net) => net.wallet === wallet)
    const [first] = own
    if (first === undefined || parts.length === 0) return []
    const { logIndex, protocol } = first
    const amounts = parts.map(({ tokenId, amountRaw }) => ({ tokenId, amountRaw }))
    const collateralRaw = convertedCollateral(own, amounts)
    const place = { logIndex, protocol, conditionId: null, traded: null }
    return [{ ...place, type: 'convert', wallet, parts: amounts, collateralRaw }]
  })
  const moved = left.flatMap(
    ({ wallet, tokenId, protocol, amountRaw, firstLog, lastLog }): readonly Step[] =>
      converters.has(wallet)
        ? []
        : [
            {
              type: 'transfer',
              wallet,
              protocol,
              conditionId: null,
              traded: null,
              logIndex: amountRaw > 0n ? firstLog : lastLog,
              parts: [{ tokenId, amountRaw }],
              collateralRaw: null,
            },
          ],
  )
  return [...converted, ...moved]
}

/** Within a transaction what is transferred in comes before what is dealt, what is transferred out behind it. */
const rankOf = ({ type, parts }: { type: OutcomeChangeType; parts: Step['parts'] }): number =>
  type !== 'transfer' ? 1 : (parts[0]?.amountRaw ?? 0n) > 0n ? 0 : 2

/**
 * What a transaction did to positions in outcome tokens: its trades and settlements, and as transfers what they do not explain of
 * the moves that the contract of the tokens logged. The sum by wallet and token is that of these moves.
 */
export const outcomeChanges = (
  tx: Pick<EventPosition, 'txIndex'>,
  predicted: readonly Predicted[],
  { emitted, unpaid }: EmittedPredictions,
): readonly OutcomeChange[] => {
  const nets = netMoves(predicted)
  if (nets.size === 0) return []
  const explained = [
    ...orderSteps(predicted),
    ...dealSteps(emitted),
    ...emitted.map((event) =>
      event.kind === 'prediction-settlement'
        ? settlementStep(event, !unpaid.has(event))
        : undefined,
    ),
  ].filter((step) => step !== undefined && !GO_BETWEENS.has(step.wallet)) as readonly Step[]
  return [...explained, ...restSteps(nets, explained, emitted)]
    .toSorted((one, other) => rankOf(one) - rankOf(other) || one.logIndex - other.logIndex)
    .map((step) => ({ kind: 'outcome-change', txIndex: tx.txIndex, ...step }))
}
