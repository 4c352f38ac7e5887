import type { TradeEvent } from '../schemas/wire.ts'

/** True for a trade that took place, where its event has one: a failed transaction moved nothing, so it counts nowhere. */
export const isExecutedTrade = ({ transaction }: Pick<TradeEvent, 'transaction'>): boolean =>
  transaction?.status !== 'STATUS_FAILED'
