import assert from 'node:assert/strict'
import { base58Decode } from '../../core/base58.ts'
import type { SvmInstruction } from '../../schemas/events.ts'
import { SOLANA_VENUES, type VenueAccounts } from '../../serving/dex/solana-venues.ts'
import { recordedSwaps } from './recorded-pools.ts'

/** A recorded instruction of a swap, and what its transaction tells of the accounts that it was made of. */
export interface RecordedCall {
  readonly instruction: SvmInstruction
  readonly swap: ReturnType<typeof recordedSwaps>['swaps'][number]
  readonly state: VenueAccounts
  /** Addresses of the instruction by their place. */
  readonly at: (place: number) => string
}

/** Places of the state's keys: where an account's data has them, and where the instruction or its event does. */
export interface StateLayout {
  readonly pool: Readonly<Record<number, number>>
  readonly config: Readonly<Record<number, number>>
  /** Where the event that the instruction reported names the creator, and where the pool's data does. */
  readonly creator?: { readonly inEvent: number; readonly inPool: number }
}

const ACCOUNT_BYTES = 1_200

const dataWith = (
  keys: Readonly<Record<number, number>>,
  at: (place: number) => string,
): Buffer => {
  const data = Buffer.alloc(ACCOUNT_BYTES)
  for (const [offset, place] of Object.entries(keys)) {
    data.set(base58Decode(at(place)) ?? [], Number(offset))
  }
  return data
}

/** The first swap of a recording, with account data that holds its addresses where the programs' layouts have them. */
export const recordedCall = (file: string, layout: StateLayout, nth = 0): RecordedCall => {
  const { block, decoded } = recordedSwaps(file)
  const swap = decoded.swaps.filter(({ protocol }) => protocol in SOLANA_VENUES)[nth]
  const tx = block.transactions.find(({ index }) => index === swap?.txIndex)
  const instruction = swap && tx?.instructions[swap.logIndex]
  assert.ok(swap && tx && instruction)
  const at = (place: number): string => instruction.accounts[place] ?? ''
  const pool = dataWith(layout.pool, at)
  if (layout.creator !== undefined) {
    const { inEvent, inPool } = layout.creator
    const event = tx.instructions.find(
      ({ program, data }, index) =>
        index > swap.logIndex && program === instruction.program && data && data.length > 200,
    )
    pool.set(Buffer.from(event?.data ?? []).subarray(inEvent, inEvent + 32), inPool)
  }
  return { instruction, swap, at, state: { pool, config: dataWith(layout.config, at) } }
}
