import type { DeepPartial } from '../../core/codec/contract.ts'
import { shareIdOf } from '../../core/share-id.ts'
import type { RedPacketEvent } from '../../schemas/events.ts'
import type { RedPacketCreation, RedPacketReport } from '../../schemas/red-packet-reports.ts'
import type * as Wire from '../../schemas/wire.ts'
import { eventHead, type Keyed, type MappingContext } from './context.ts'

/** Maps what happened to red packets, each keyed by its packet. */
export const redPacketEvents = (
  context: MappingContext,
  events: readonly RedPacketEvent[],
): readonly Keyed<Wire.RedPacketEvent>[] => {
  const { chain, block } = context
  const headAt = eventHead(context)
  return events.map((event, index) => {
    const head = headAt({ ...event, pool: '', index })
    return {
      key: event.packetId,
      event: {
        ...head,
        d_app: { ...head.d_app, program_address: event.contract },
        id: event.packetId,
        share_id: shareIdOf(chain.id, event.packetId),
        mint: event.token ?? '',
        ...(event.kind === 'packet-created'
          ? creationFields(event, block.timeMs)
          : payoutFields(event)),
      },
    }
  })
}

/** Index of a claim whose event does not say it: 0 is the first claim. */
const UNKNOWN_INDEX = -1

const creationFields = (
  { creator, totalRaw, maxClaims, isRandom, createdAtMs, ends, authority, memo }: RedPacketCreation,
  blockTimeMs: number,
): DeepPartial<Wire.RedPacketEvent> => {
  const created = createdAtMs ?? blockTimeMs
  const seconds =
    'atMs' in ends ? Math.floor(Math.max(0, ends.atMs - created) / 1_000) : ends.afterSeconds
  return {
    kind: 'created',
    creator,
    total_amount: totalRaw.toString(),
    max_claims: maxClaims,
    random: isRandom,
    memo,
    claim_authority: authority ?? '',
    created_at: created,
    expiration_seconds: seconds,
  }
}

const payoutFields = (
  event: Exclude<RedPacketReport, RedPacketCreation>,
): DeepPartial<Wire.RedPacketEvent> =>
  event.kind === 'packet-claimed'
    ? {
        kind: 'claimed',
        claimer: event.claimer,
        amount: event.amountRaw.toString(),
        index: event.index ?? UNKNOWN_INDEX,
      }
    : { kind: 'refunded', amount: event.amountRaw?.toString() ?? '' }
