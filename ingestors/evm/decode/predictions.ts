import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { Transfer } from '../../../schemas/events.ts'
import type { OutcomeAmount } from '../../../schemas/outcome-changes.ts'
import type { PredictionSettlement } from '../../../schemas/prediction-events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import { GO_BETWEENS } from '../protocols/polymarket.ts'
import type {
  DecodedFeeRefund,
  DecodedMarketMakerTrade,
  DecodedOutcomeTransfers,
  DecodedPrediction,
} from '../protocols/types.ts'
import { outcomeChanges } from './outcome-changes.ts'
import { drop, type Scope, type SwapPosition } from './resolve-swaps.ts'

/** What a contract said of a prediction market; `row` where it is listed. */
export interface Predicted extends SwapPosition {
  readonly contract: string
  readonly decoded: DecodedPrediction
  readonly row: ProtocolRow | undefined
}

type Settled = Predicted & {
  readonly decoded: Extract<DecodedPrediction, { kind: 'prediction-settlement' }>
}
type MarketMakerTrade = Predicted & { readonly decoded: DecodedMarketMakerTrade }

/**
 * Prediction events of a transaction that was read to its end. An exchange logs a match once for each maker order and once for
 * the taker's, whose other side is the exchange itself: that log counts only where no other tells of the match. Settlements
 * that an exchange, an adapter or a market maker makes on its own are part of a trade or of the adapter's own event; those of a
 * go-between are of whom it makes them for.
 */
export const takePredictions = (
  scope: Scope,
  decoded: readonly Predicted[],
  transfers: readonly Transfer[],
): void => {
  const { tx, out, protocols } = scope
  const predicted = withRefunds(scope, decoded)
  const makers = new Set(predicted.map(({ decoded }) => matchedBy(decoded)))
  const dealers = new Set(
    predicted.flatMap(({ decoded }) =>
      decoded.kind === 'market-maker-trade' ? decoded.maker : [],
    ),
  )
  const seen: OutcomeTransfers = {
    sent: new Map(),
    paid: countPayments(transfers),
  }
  const firstEmitted = out.predictions.length
  const settlements: { readonly item: Settled; readonly place: number }[] = []
  let moves: DecodedOutcomeTransfers[] = []
  for (const [index, item] of predicted.entries()) {
    const { decoded, row, logIndex } = item
    const placed = { txIndex: tx.index, logIndex, protocol: row?.id ?? '' }
    switch (decoded.kind) {
      case 'outcomes':
        moves.push(decoded)
        if (row !== undefined && dealers.size > 0) see(seen, decoded, row.id)
        break
      case 'fee-refund':
        break
      case 'market-maker-trade':
        takeDeal(scope, { ...item, decoded }, seen)
        break
      case 'prediction-trade':
        if (decoded.taker !== decoded.exchange || !makers.has(decoded.exchange))
          out.predictions.push({ ...decoded, ...placed })
        break
      case 'prediction-management':
        out.predictions.push({ ...decoded, ...placed })
        break
      default:
        if (
          dealers.has(decoded.holder) ||
          protocols.factory(decoded.holder)?.family === item.family
        )
          break
        settlements.push({ item: { ...item, decoded }, place: out.predictions.length })
        out.predictions.push({
          ...decoded,
          ...placed,
          holder: holderOf(scope, predicted, index) ?? decoded.holder,
          moved: outcomesOf(moves, decoded.type),
        })
        moves = []
    }
  }
  const emitted = out.predictions.slice(firstEmitted)
  const unpaid = new Set(
    settlements.flatMap(({ item, place }) =>
      isPaid(item, seen) ? [] : (out.predictions[place] ?? []),
    ),
  )
  const changes = outcomeChanges({ txIndex: tx.index }, predicted, { emitted, unpaid })
  out.outcomeChanges.push(...changes)
}

type Filled = Extract<DecodedPrediction, { kind: 'prediction-trade' }>

/**
 * Fills with the fee that their orders were left with: a refund stands behind the match and is of the order's newest fill that had
 * none yet.
 */
const withRefunds = (scope: Scope, predicted: readonly Predicted[]): readonly Predicted[] => {
  if (!predicted.some(({ decoded }) => decoded.kind === 'fee-refund')) return predicted
  const net = [...predicted]
  const fills = new Map<string, { readonly at: number; readonly filled: Filled }[]>()
  for (const [at, item] of predicted.entries()) {
    const { decoded } = item
    if (decoded.kind === 'prediction-trade' && decoded.orderHash !== null) {
      const open = fills.get(decoded.orderHash) ?? []
      open.push({ at, filled: decoded })
      fills.set(decoded.orderHash, open)
    }
    if (decoded.kind !== 'fee-refund') continue
    const fill = fills.get(decoded.orderHash)?.pop()
    const charged = fill && net[fill.at]
    if (fill === undefined || charged === undefined || !isRefundOf(decoded, fill.filled)) {
      drop(scope, item, 'unknown-order')
      continue
    }
    const feeRaw = fill.filled.feeRaw - decoded.amountRaw
    net[fill.at] = { ...charged, decoded: { ...fill.filled, feeRaw } }
  }
  return net
}

const isRefundOf = (
  { tokenId, amountRaw }: DecodedFeeRefund,
  { feeRaw, feeIn, tokenId: traded }: Filled,
): boolean => amountRaw <= feeRaw && tokenId === (feeIn === 'shares' ? traded : 0n)

/**
 * True where the collateral that a settlement names went between its holder and the contract. A split within a condition, or of
 * tokens of another condition, logs an amount too and moves none.
 */
const isPaid = ({ contract, decoded }: Settled, { paid }: OutcomeTransfers): boolean => {
  const { collateral, holder, type, amountRaw } = decoded
  if (collateral === null || amountRaw === 0n) return true
  const [from, to] = type === 'Split' ? [holder, contract] : [contract, holder]
  return takePayment(paid, { token: collateral, from, to, amountRaw })
}

/** The exchange whose match a maker's log tells of. */
const matchedBy = (decoded: DecodedPrediction): string | undefined =>
  decoded.kind === 'prediction-trade' && decoded.taker !== decoded.exchange
    ? decoded.exchange
    : undefined

/**
 * For whom a go-between settled: who gave it the outcome tokens that it merges or redeems, or got what it split or converted them
 * into, in the nearest move that it had on that side of the event before it settled anything else. undefined where no such move
 * shows, and where an exchange made a match through it: then it stands for itself.
 */
const holderOf = (
  { protocols }: Scope,
  predicted: readonly Predicted[],
  index: number,
): string | undefined => {
  const { decoded: settled, family } = predicted[index] ?? {}
  if (settled?.kind !== 'prediction-settlement' || !GO_BETWEENS.has(settled.holder)) return
  const { holder, type } = settled
  const gave = type === 'Merge' || type === 'Redemption'
  const step = gave ? -1 : 1
  for (let at = index + step; at >= 0; at += step) {
    const decoded = predicted[at]?.decoded
    if (decoded === undefined || (decoded.kind === settled.kind && decoded.holder === holder))
      return
    if (decoded.kind !== 'outcomes') continue
    const { from, to } = decoded
    if ((gave ? to : from) !== holder) continue
    const other = gave ? from : to
    return other === EVM_ZERO_ADDRESS || protocols.factory(other)?.family === family
      ? undefined
      : other
  }
}

/** Outcome tokens that a settlement made, or that it took; a conversion does both in ways of its own. */
const outcomesOf = (
  moves: readonly DecodedOutcomeTransfers[],
  type: PredictionSettlement['type'],
): readonly OutcomeAmount[] =>
  type === 'Conversion'
    ? []
    : moves.flatMap(({ from, to, moved }) =>
        (type === 'Split' ? from : to) === EVM_ZERO_ADDRESS ? moved : [],
      )

/** What moved in the transaction; each outcome token serves one deal. */
interface OutcomeTransfers {
  readonly sent: Map<string, { readonly tokenId: bigint; readonly protocol: string }>
  /** How often an amount was paid; each payment serves one deal or settlement. */
  readonly paid: Map<string, number>
}

const sentKey = (from: string, to: string, sharesRaw: bigint): string =>
  `${from}>${to}:${sharesRaw}`

const paidKey = ({
  token,
  from,
  to,
  amountRaw,
}: Pick<Transfer, 'token' | 'from' | 'to' | 'amountRaw'>): string =>
  `${token}:${from}>${to}:${amountRaw}`

type Payment = Parameters<typeof paidKey>[0]

const countPayments = (transfers: readonly Payment[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const key of transfers.map(paidKey)) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

/** True where the payment was made and has not been taken for another one. */
const takePayment = (paid: Map<string, number>, payment: Payment): boolean => {
  const key = paidKey(payment)
  const left = paid.get(key) ?? 0
  if (left > 0) paid.set(key, left - 1)
  return left > 0
}

const see = (
  { sent }: OutcomeTransfers,
  { from, to, moved }: DecodedOutcomeTransfers,
  protocol: string,
): void => {
  const [only, more] = moved
  if (only === undefined || more !== undefined) return
  sent.set(sentKey(from, to, only.amountRaw), { tokenId: only.tokenId, protocol })
}

/**
 * Anyone can claim to be a market maker: a deal counts when its very amounts of collateral and of one outcome token went from
 * one side to the other.
 */
const takeDeal = (
  scope: Scope,
  { decoded, family, logIndex }: MarketMakerTrade,
  { sent, paid }: OutcomeTransfers,
): void => {
  const { collateral: token, collateralRaw: amountRaw, sharesRaw } = decoded
  const [from, to] =
    decoded.side === 'SELL' ? [decoded.taker, decoded.maker] : [decoded.maker, decoded.taker]
  const key = sentKey(to, from, sharesRaw)
  const moved = sent.get(key)
  if (moved === undefined || !takePayment(paid, { token, from, to, amountRaw })) {
    drop(scope, { family, logIndex }, 'no-matching-transfers')
    return
  }
  sent.delete(key)
  scope.out.predictions.push({
    ...decoded,
    ...moved,
    kind: 'prediction-trade',
    txIndex: scope.tx.index,
    logIndex,
    exchange: decoded.maker,
    orderHash: null,
    feeIn: 'collateral',
  })
}
