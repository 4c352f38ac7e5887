import type { EvmBlock } from '../../../schemas/events.ts'
import type * as Wire from '../../../schemas/wire.ts'
import type { Keyed } from '../../to-wire/context.ts'
import { transactionFields } from '../../to-wire/flat.ts'
import type { OutcomePosition, OutcomeTotals } from '../predictions/outcome-position-state.ts'
import type { OutcomePositions, PositionChange } from '../predictions/outcome-positions.ts'
import type { Outcomes } from '../predictions/outcome-tokens.ts'

const text = (raw: bigint | null): string => (raw === null ? '' : raw.toString())

const positionFields = (position: OutcomePosition): Wire.PredictionPosition => ({
  quantity: text(position.quantity),
  known_quantity: text(position.known),
  cost: text(position.cost),
  bought: text(position.bought),
  paid: text(position.paid),
  sold: text(position.sold),
  received: text(position.received),
  redeemed: text(position.redeemed),
  volume: text(position.volume),
  realized: text(position.realized),
  entries: Number(position.entries),
  first_paid: text(position.firstPaid),
  changes: Number(position.changes),
  first_time: Number(position.firstMs),
  last_time: Number(position.lastMs),
})

const totalsFields = (totals: OutcomeTotals): Wire.PredictionTotals => ({
  realized: text(totals.realized),
  volume: text(totals.volume),
  changes: Number(totals.changes),
  last_time: Number(totals.lastMs),
})

const orNull = <State, Fields>(state: State | undefined, fields: (state: State) => Fields) =>
  state === undefined ? null : fields(state)

const stateFields = ({ position, wallet, day, price }: PositionChange) => ({
  price: text(price.after),
  price_before: text(price.before),
  position: positionFields(position.after),
  position_before: orNull(position.before, positionFields),
  wallet_totals: totalsFields(wallet.after),
  wallet_totals_before: orNull(wallet.before, totalsFields),
  day_totals: totalsFields(day.after),
  day_totals_before: orNull(day.before, totalsFields),
})

/** Maps what a block did to positions in outcome tokens. Keyed by the wallet. */
export const positionEvents = (
  block: EvmBlock,
  { changes }: OutcomePositions,
  outcomes: Outcomes,
): readonly Keyed<Wire.PredictionPositionEvent>[] => {
  const transactions = new Map(block.transactions.map((tx) => [tx.index, transactionFields(tx)]))
  return changes.map((changed, index) => {
    const { change, tokenId, quantityRaw, collateralRaw, costRaw, realizedRaw } = changed
    const metadata = outcomes.outcome(tokenId)
    return {
      key: change.wallet,
      event: {
        tx_hash: '',
        tx_index: 0,
        tx_signer: '',
        tx_fee: '',
        tx_status: 'STATUS_UNSPECIFIED',
        ...transactions.get(change.txIndex),
        block_height: block.height,
        event_index: index,
        log_index: change.logIndex,
        protocol_family: change.protocol,
        condition_id: metadata?.conditionId ?? '',
        outcome: metadata?.index?.toString() ?? '',
        outcome_token: tokenId.toString(),
        wallet: change.wallet,
        change_type: change.type,
        quantity: text(quantityRaw),
        collateral_amount: text(collateralRaw),
        cost: text(costRaw),
        realized: text(realizedRaw),
        traded_amount: text(change.traded?.collateralRaw ?? 0n),
        ...stateFields(changed),
      } as Wire.PredictionPositionEvent,
    }
  })
}
