import type { Block } from '../../schemas/events.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { Keyed, MappingContext } from './context.ts'
import { transactionFields } from './flat.ts'

/** Every transaction of a block, the failed ones too, keyed by who signed it first. */
export const transactionEvents = ({
  block,
  mapping,
}: Pick<MappingContext, 'block' | 'mapping'>): readonly Keyed<Wire.TransactionEvent>[] => {
  const number = mapping.blockNumber(block)
  return mapping.transactionFields(block).map((fields, index) => {
    const tx = block.transactions[index] as Block['transactions'][number]
    return {
      key: tx.from,
      event: {
        block_height: number,
        event_index: index,
        ...transactionFields(tx),
        fee_payer: mapping.feePayer(block.chain, tx),
        ...fields,
      },
    }
  })
}
