import type { SvmInstruction } from '../../../schemas/events.ts'
import { OPENBOOK, openBookOrderEvents } from './openbook.ts'
import type { OrderEvent } from './order-event.ts'
import { PHOENIX, phoenixOrderEvents } from './phoenix.ts'

/** A program that keeps order books, and how its instructions are read. */
interface OrderBookProgram {
  readonly name: string
  readonly family: string
  readonly read: (instruction: SvmInstruction) => readonly OrderEvent[]
}

/** By program. */
export const ORDER_BOOKS: ReadonlyMap<string, OrderBookProgram> = new Map([
  [PHOENIX, { name: 'Phoenix', family: 'phoenix', read: phoenixOrderEvents }],
  [OPENBOOK, { name: 'OpenBook V2', family: 'openbook', read: openBookOrderEvents }],
])
