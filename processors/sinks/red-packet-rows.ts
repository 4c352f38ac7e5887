import type { RedPacketEvent, RedPacketEvents } from '../../schemas/wire.ts'
import { validateAmount } from '../runtime/validate-records.ts'
import {
  amountColumn,
  nullableAmountColumn,
  positionColumns,
  protocolColumns,
  type Row,
  timeText,
  versionColumns,
} from './columns.ts'
import type { TableRows } from './tables.ts'

/** Largest number of an unsigned column of 32 bits. */
const MAX_UINT32 = 2 ** 32 - 1

/** Rows of what happened to red packets. Throws `InvalidInput` for invalid amounts. */
export const redPacketRows = ({ meta, events }: RedPacketEvents): readonly TableRows[] => {
  if (meta === null) return []
  const rowsOf = (kind: string, own: (event: RedPacketEvent) => Row): readonly Row[] =>
    events.flatMap((event) => {
      if (event.kind !== kind) return []
      const { program_address, protocol_family } = protocolColumns(event)
      return [
        {
          ...positionColumns(meta, event),
          tx_hash: event.transaction?.signature ?? '',
          tx_index: event.transaction?.index ?? 0,
          log_index: event.instruction?.log_index ?? 0,
          contract: program_address,
          protocol_family,
          packet_id: event.id,
          share_id: event.share_id,
          mint: event.mint,
          ...own(event),
          ...versionColumns(meta, event.instruction?.event_index ?? 0),
        },
      ]
    })
  for (const event of events) {
    validateAmount('amount', event.amount)
    validateAmount('total_amount', event.total_amount)
  }
  return [
    { table: 'redpackets', rows: rowsOf('created', creationColumns) },
    {
      table: 'redpacket_claims',
      rows: rowsOf('claimed', ({ claimer, amount, index }) => ({
        claimer,
        amount: amountColumn(amount),
        // Negative: the event does not say.
        claim_index: index < 0 ? null : clampUint32(index),
      })),
    },
    {
      table: 'redpacket_refunds',
      rows: rowsOf('refunded', ({ amount }) => ({ amount: nullableAmountColumn(amount) })),
    },
  ]
}

const clampUint32 = (value: number): number => Math.min(Math.max(0, value), MAX_UINT32)

const creationColumns = (event: RedPacketEvent): Row => ({
  creator: event.creator,
  total_amount: amountColumn(event.total_amount),
  max_claims: clampUint32(event.max_claims),
  is_random: event.random ? 1 : 0,
  memo: event.memo,
  claim_authority: event.claim_authority,
  created_at: timeText(event.created_at),
  expiration_seconds: clampUint32(event.expiration_seconds),
})
