import { formatUnits, formatUsd, unitsToNumber } from '../../core/amounts.ts'
import { channelRow } from '../../schemas/channels.ts'
import type { EventMeta, PredictionTradeEvent, PredictionTradeEvents } from '../../schemas/wire.ts'
import { streamSubject } from './channel-name.ts'
import type { Payload } from './payload.ts'
import type { Publication, PublishContext } from './publication.ts'

const ROW = channelRow('pred:tok')
/** Events of one block that have a number of their own in the sequence of a channel. */
const EVENTS_PER_BLOCK = 4_096

/** Publications of one record of `{c}.prediction.trades`: what the taker did, to the channel of the outcome token. */
export const predictionPublications = (
  { meta, events }: PredictionTradeEvents,
  desk: PublishContext,
): readonly Publication[] => {
  const retraction = meta?.op === 'OP_REVERT'
  return events.flatMap((event, index): readonly Publication[] => {
    const address = event.outcome_token
    const subject = streamSubject(ROW.prefix, '', address)
    if (address === '' || !desk.wanted(subject, ROW, address)) return []
    const payload = {
      seq: (meta?.seq ?? 0) * EVENTS_PER_BLOCK + Math.min(event.event_index, EVENTS_PER_BLOCK - 1),
      a: activityPayload(event, meta, desk),
      ...(retraction && { op: 'revert' }),
    }
    return [
      {
        ...{ row: ROW, subject, address, payload, index, retraction },
        ...{ pending: false, bucketMs: 0, facet: '' },
      },
    ]
  })
}

interface Money {
  readonly units: string
  readonly inUsd: string
}

const UNKNOWN: Money = { units: '', inUsd: '' }

/** Base units of the collateral, which outcome tokens share the decimals of. */
const money = (raw: string, decimals: number | undefined, price: string): Money => {
  if (decimals === undefined || decimals < 0 || raw === '') return UNKNOWN
  const inUsd = price === '' ? null : unitsToNumber(BigInt(raw), decimals) * Number(price)
  return { units: formatUnits(BigInt(raw), decimals), inUsd: formatUsd(inUsd) }
}

const activityPayload = (
  event: PredictionTradeEvent,
  meta: EventMeta | null,
  desk: PublishContext,
): Payload => {
  const token = desk.nameOf(event.collateral_token)
  const price = desk.priceOf(event.collateral_token)
  const paid = money(event.collateral_amount, token?.decimals, price)
  const shares = money(event.amount, token?.decimals, '')
  const fee = event.fee_in === 'collateral' ? money(event.fee, token?.decimals, price) : UNKNOWN
  return {
    id: `${event.tx_hash}:${event.log_index}`,
    // The mark is of the maker, who deals the other way round.
    ty: event.is_outcome_buy ? 'sell' : 'buy',
    src: event.protocol_family,
    cid: event.condition_id,
    mid: event.market_id,
    tid: event.outcome_token,
    oc: event.outcome,
    ...(event.outcomes.length > 0 && { ocs: event.outcomes }),
    p: event.price,
    pps: event.price,
    q: shares.units,
    amt: paid.units,
    aiu: paid.inUsd,
    ca: paid.units,
    cau: paid.inUsd,
    cs: token?.symbol,
    cad: event.collateral_token,
    fa: fee.units,
    fau: fee.inUsd,
    ...(fee !== UNKNOWN && { fs: token?.symbol, fad: event.collateral_token }),
    w: event.buyer,
    rl: 'taker',
    cp: event.seller,
    tk: event.buyer,
    bn: event.block_height,
    li: event.log_index,
    tx: event.tx_hash,
    ts: meta?.block_time,
  }
}
