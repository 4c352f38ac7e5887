import { formatUnits, formatUsd, readUnits, unitsToNumber } from '../../core/amounts.ts'
import { type ChannelOf, type ChannelRow, channelRow } from '../../schemas/channels.ts'
import { PREDICTION_COLLATERALS, PREDICTION_DECIMALS } from '../../schemas/predictions.ts'
import type {
  EventMeta,
  PredictionSettlementEvent,
  PredictionSettlementEvents,
  PredictionTradeEvent,
  PredictionTradeEvents,
} from '../../schemas/wire.ts'
import { streamSubject } from './channel-name.ts'
import type { Payload } from './payload.ts'
import type { Publication, PublishContext } from './publication.ts'

/** What an event is published to by the channel: its outcome tokens, or its group of questions and its condition. */
const ADDRESSES: Readonly<
  Record<
    ChannelOf<'predictionTrades'>,
    (event: PredictionEvent, tokens: readonly string[]) => readonly string[]
  >
> = {
  'pred:tok': (_, tokens) => tokens,
  'pred:evt': ({ market_id: market, condition_id: condition }) => [market, condition],
}
const PREFIXES = Object.keys(ADDRESSES) as (keyof typeof ADDRESSES)[]
const EVENT_ROW = channelRow('pred:evt')
/** Logs of one block that have a number of their own in the sequence of a channel: trades and settlements share it. */
const LOGS_PER_BLOCK = 16_384
/** Most channels of outcome tokens that one settlement goes to: two of each question of a group. */
const MAX_TOKENS = 512

type PredictionEvent = PredictionTradeEvent | PredictionSettlementEvent

/** Publications of one record of `{c}.prediction.trades`: what the taker did. */
export const predictionPublications = (
  { meta, events }: PredictionTradeEvents,
  context: PublishContext,
): readonly Publication[] =>
  activityPublications<PredictionTradeEvent>({ meta, events }, context, {
    tokens: ({ outcome_token: token }) => [token],
    activity: (event) => tradeActivity(event, context),
  })

/** Publications of one record of `{c}.prediction.settlements`: what a holder split, merged, converted or redeemed. */
export const predictionSettlementPublications = (
  { meta, events }: PredictionSettlementEvents,
  context: PublishContext,
): readonly Publication[] =>
  activityPublications<PredictionSettlementEvent>({ meta, events }, context, {
    tokens: ({ outcome_token_ids: tokens }) => tokens.slice(0, MAX_TOKENS),
    activity: (event) => settlementActivity(event, context),
  })

interface ActivityMapper<Event> {
  /** Outcome tokens that it is about. */
  readonly tokens: (event: Event) => readonly string[]
  readonly activity: (event: Event) => Payload
}

/** To the channels of its outcome tokens, and to those of its event: by the group of questions, where there is one, and by the condition. */
const activityPublications = <Event extends PredictionEvent>(
  { meta, events }: { readonly meta: EventMeta | null; readonly events: readonly Event[] },
  context: PublishContext,
  { tokens, activity }: ActivityMapper<Event>,
): readonly Publication[] => {
  const retraction = meta?.op === 'OP_REVERT'
  return events.flatMap((event, index): readonly Publication[] => {
    const channels = PREFIXES.flatMap((prefix) =>
      channelsOf(channelRow(prefix), ADDRESSES[prefix](event, tokens(event))),
    ).filter(({ row, subject, address }) => context.isNeeded(subject, row, address))
    if (channels.length === 0) return []
    const seq = (meta?.seq ?? 0) * LOGS_PER_BLOCK + Math.min(event.log_index, LOGS_PER_BLOCK - 1)
    const a = { ...placeOf(event, meta), ...activity(event) }
    return channels.map(({ row, subject, address }) => ({
      row,
      subject,
      address,
      index,
      retraction,
      pending: false,
      bucketMs: 0,
      facet: '',
      payload: {
        seq,
        // An event is named by what its channel names it by.
        a: row === EVENT_ROW ? { ...a, es: address } : a,
        ...(retraction && { op: 'revert' }),
      },
    }))
  })
}

const channelsOf = (row: ChannelRow, addresses: readonly string[]) =>
  [...new Set(addresses)]
    .filter((address) => address !== '')
    .map((address) => ({ row, address, subject: streamSubject(row.prefix, '', address) }))

const placeOf = (event: PredictionEvent, meta: EventMeta | null): Payload => ({
  id: `${event.tx_hash}:${event.log_index}`,
  src: event.protocol_family,
  cid: event.condition_id,
  mid: event.market_id,
  bn: event.block_height,
  li: event.log_index,
  tx: event.tx_hash,
  ts: meta?.block_time,
})

interface Money {
  readonly units: string
  readonly inUsd: string
}

const UNKNOWN: Money = { units: '', inUsd: '' }

/** What an event was paid in; outcome tokens share its decimals. */
interface Collateral {
  readonly symbol: string | undefined
  readonly decimals: number | undefined
  /** In USD; '' = unknown. */
  readonly price: string
}

const collateralOf = (address: string, context: PublishContext): Collateral => {
  const known = PREDICTION_COLLATERALS.find((each) => each.address === address)
  const token = context.nameOf(address)
  // An adapter's settlements name no collateral: it is that of its exchange.
  const decimals = known || address === '' ? PREDICTION_DECIMALS : token?.decimals
  return { symbol: known?.symbol ?? token?.symbol, decimals, price: context.priceOf(address) }
}

/** Throws `InvalidInput`. */
const money = (raw: string, { decimals, price }: Collateral): Money => {
  if (decimals === undefined || decimals < 0 || raw === '') return UNKNOWN
  const amount = readUnits(raw)
  const inUsd = price === '' ? null : unitsToNumber(amount, decimals) * Number(price)
  return { units: formatUnits(amount, decimals), inUsd: formatUsd(inUsd) }
}

const paidFields = (paid: Money, symbol: string | undefined, address: string): Payload => ({
  amt: paid.units,
  aiu: paid.inUsd,
  ca: paid.units,
  cau: paid.inUsd,
  cs: symbol,
  cad: address,
})

const tradeActivity = (event: PredictionTradeEvent, context: PublishContext): Payload => {
  const address = event.collateral_token
  const collateral = collateralOf(address, context)
  const fee = event.fee_in === 'collateral' ? money(event.fee, collateral) : UNKNOWN
  return {
    // The mark is of the maker, who deals the other way round.
    ty: event.is_outcome_buy ? 'sell' : 'buy',
    tid: event.outcome_token,
    oc: event.outcome,
    ...(event.outcomes.length > 0 && { ocs: event.outcomes }),
    p: event.price,
    pps: event.price,
    q: money(event.amount, collateral).units,
    ...paidFields(money(event.collateral_amount, collateral), collateral.symbol, address),
    fa: fee.units,
    fau: fee.inUsd,
    ...(fee !== UNKNOWN && { fs: collateral.symbol, fad: address }),
    w: event.buyer,
    rl: 'taker',
    cp: event.seller,
    tk: event.buyer,
  }
}

/** Types of settlements by the name of their event; all others change an inventory. */
const REDEMPTION = 'Redemption'

const settlementActivity = (event: PredictionSettlementEvent, context: PublishContext): Payload => {
  const { collateral_token: address, outcome_token_ids: tokens, amounts } = event
  const collateral = collateralOf(address, context)
  const [quantity = '', ...others] = amounts
  const isEven = others.every((other) => other === quantity)
  return {
    ty: event.event_type === REDEMPTION ? 'redeem' : 'inventory_adjust',
    rt: event.event_type,
    tid: tokens.length === 1 ? tokens[0] : '',
    ...(tokens.length > 0 && { as: tokens }),
    q: isEven ? money(quantity, collateral).units : '',
    ...paidFields(money(event.collateral_amount, collateral), collateral.symbol, address),
    w: event.holder,
  }
}
