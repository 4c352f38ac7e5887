import type { OutcomeAmount, PredictionSettlement, Transfer } from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import { GO_BETWEENS } from '../protocols/polymarket.ts'
import type { SaidDeal, SaidOutcomes, SaidPrediction } from '../protocols/types.ts'
import { drop, type Place, type Scope } from './resolve-swaps.ts'

/** What a contract said of a prediction market; `row` where it is listed. */
export interface Predicted extends Place {
  readonly said: SaidPrediction
  readonly row: ProtocolRow | undefined
}

type Deal = Predicted & { readonly said: SaidDeal }

const ZERO = `0x${'0'.repeat(40)}`

/**
 * Prediction events of a transaction that was read to its end. An exchange logs a match once for each maker order and once for
 * the taker's, whose other side is the exchange itself: that log counts only where no other tells of the match. Settlements
 * that an exchange, an adapter or a market maker makes on its own are part of a trade or of the adapter's own event; those of a
 * go-between are of whom it makes them for.
 */
export const takePredictions = (
  scope: Scope,
  predicted: readonly Predicted[],
  transfers: readonly Transfer[],
): void => {
  const { tx, out, protocols } = scope
  const makers = new Set(predicted.map(({ said }) => matchedBy(said)))
  const dealers = new Set(predicted.flatMap(({ said }) => (said.kind === 'deal' ? said.maker : [])))
  const seen: Seen = {
    given: new Map(),
    paid: new Set(dealers.size > 0 ? transfers.map(paidKey) : []),
  }
  let moves: SaidOutcomes[] = []
  for (const [index, item] of predicted.entries()) {
    const { said, row, logIndex } = item
    const placed = { txIndex: tx.index, logIndex, protocol: row?.id ?? '' }
    switch (said.kind) {
      case 'outcomes':
        moves.push(said)
        if (row !== undefined && dealers.size > 0) see(seen, said, row.id)
        break
      case 'deal':
        takeDeal(scope, { ...item, said }, seen)
        break
      case 'prediction-trade':
        if (said.taker !== said.exchange || !makers.has(said.exchange))
          out.predictions.push({ ...said, ...placed })
        break
      case 'prediction-management':
        out.predictions.push({ ...said, ...placed })
        break
      default:
        if (dealers.has(said.holder) || protocols.factory(said.holder)?.family === item.family)
          break
        out.predictions.push({
          ...said,
          ...placed,
          holder: holderOf(scope, predicted, index) ?? said.holder,
          moved: outcomesOf(moves, said.type),
        })
        moves = []
    }
  }
}

/** The exchange whose match a maker's log tells of. */
const matchedBy = (said: SaidPrediction): string | undefined =>
  said.kind === 'prediction-trade' && said.taker !== said.exchange ? said.exchange : undefined

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
  const { said: settled, family } = predicted[index] ?? {}
  if (settled?.kind !== 'prediction-settlement' || !GO_BETWEENS.has(settled.holder)) return
  const { holder, type } = settled
  const gave = type === 'Merge' || type === 'Redemption'
  const step = gave ? -1 : 1
  for (let at = index + step; at >= 0; at += step) {
    const said = predicted[at]?.said
    if (said === undefined || (said.kind === settled.kind && said.holder === holder)) return
    if (said.kind !== 'outcomes') continue
    const { from, to } = said
    if ((gave ? to : from) !== holder) continue
    const other = gave ? from : to
    return other === ZERO || protocols.factory(other)?.family === family ? undefined : other
  }
}

/** Outcome tokens that a settlement made, or that it took; a conversion does both in ways of its own. */
const outcomesOf = (
  moves: readonly SaidOutcomes[],
  type: PredictionSettlement['type'],
): readonly OutcomeAmount[] =>
  type === 'Conversion'
    ? []
    : moves.flatMap(({ from, to, moved }) => ((type === 'Split' ? from : to) === ZERO ? moved : []))

/** What moved in the transaction; each outcome token serves one deal. */
interface Seen {
  readonly given: Map<string, { readonly tokenId: bigint; readonly protocol: string }>
  readonly paid: ReadonlySet<string>
}

const givenKey = (from: string, to: string, sharesRaw: bigint): string =>
  `${from}>${to}:${sharesRaw}`

const paidKey = ({
  token,
  from,
  to,
  amountRaw,
}: Pick<Transfer, 'token' | 'from' | 'to' | 'amountRaw'>): string =>
  `${token}:${from}>${to}:${amountRaw}`

const see = ({ given }: Seen, { from, to, moved }: SaidOutcomes, protocol: string): void => {
  const [only, more] = moved
  if (only === undefined || more !== undefined) return
  given.set(givenKey(from, to, only.amountRaw), { tokenId: only.tokenId, protocol })
}

/**
 * Anyone can claim to be a market maker: a deal counts when its very amounts of collateral and of one outcome token went from
 * one side to the other.
 */
const takeDeal = (scope: Scope, { said, family, logIndex }: Deal, { given, paid }: Seen): void => {
  const { collateral: token, collateralRaw: amountRaw, sharesRaw } = said
  const [from, to] = said.side === 'SELL' ? [said.taker, said.maker] : [said.maker, said.taker]
  const key = givenKey(to, from, sharesRaw)
  const moved = given.get(key)
  if (moved === undefined || !paid.has(paidKey({ token, from, to, amountRaw }))) {
    drop(scope, { family, logIndex }, 'no-matching-transfers')
    return
  }
  given.delete(key)
  scope.out.predictions.push({
    ...said,
    ...moved,
    kind: 'prediction-trade',
    txIndex: scope.tx.index,
    logIndex,
    exchange: said.maker,
    orderHash: null,
    feeIn: 'collateral',
  })
}
