import type { SvmInstruction } from '../../../schemas/events.ts'
import { OPENBOOK, openBookOrders } from './openbook.ts'
import type { OrderEvent } from './order-event.ts'
import { PHOENIX, phoenixOrders } from './phoenix.ts'

/** A program that keeps order books, and how its instructions are read. */
interface OrderBook {
  readonly name: string
  readonly family: string
  readonly read: (instruction: SvmInstruction) => readonly OrderEvent[]
}

/** By program. */
export const ORDER_BOOKS: ReadonlyMap<string, OrderBook> = new Map([
  [PHOENIX, { name: 'Phoenix', family: 'phoenix', read: phoenixOrders }],
  [OPENBOOK, { name: 'OpenBook V2', family: 'openbook', read: openBookOrders }],
])
