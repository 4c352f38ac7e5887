import type {
  MoveBalanceChange,
  MoveBlock,
  MoveEvent,
  MoveTransaction,
} from '../../../schemas/events.ts'
import type { Recorded } from '../../input/recorded-block.ts'
import { toMoveEvent } from '../normalize/raw-transaction.ts'
import type { TransactionEffects } from './effects.ts'
import type { ObjectState } from './objects.ts'
import type { BcsReader } from './reader.ts'
import { type CheckpointSummary, type ExecutionDigests, verifyDigest } from './summary.ts'
import type { TransactionData } from './transaction.ts'

/** An executed transaction as either kind of file holds it. */
export interface ExecutedTransaction {
  readonly transaction: TransactionData
  readonly effects: TransactionEffects
  /** The effects as they stand. */
  readonly effectsBytes: Uint8Array
  readonly events: readonly MoveEvent[]
  readonly before: readonly ObjectState[]
  readonly after: readonly ObjectState[]
}

/** A `TransactionEvents`. Source: MystenLabs/sui sui-types event.rs. Throws as the reader, and `InvalidInput`: `bad-type`. */
export const readEvents = (read: BcsReader): readonly MoveEvent[] =>
  read
    .list(() => readEventFields(read))
    .map((raw, index) => toMoveEvent({ ...raw, index, fields: null }))

const readEventFields = (read: BcsReader) => {
  read.id()
  read.text()
  return { sender: read.id(), type: read.structTag(), bytes: read.byteVector() }
}

/** A transaction that must be the one that the contents name at its place. Throws `InvalidInput`: `wrong-contents`. */
export const verifyExecutedTransaction = (
  reported: ExecutedTransaction,
  index: number,
  named: ExecutionDigests | undefined,
): MoveTransaction => {
  const { transaction, effects, events, after } = reported
  const hash = named?.transaction ?? ''
  verifyDigest('TransactionData', transaction.signed, hash)
  verifyDigest('TransactionEffects', reported.effectsBytes, named?.effects ?? '')
  const { success, feeRaw, computationRaw, changes } = effects
  const { budgetRaw, priceRaw } = transaction
  const written = new Map(after.map((object) => [object.id, object]))
  return {
    index,
    hash,
    from: transaction.sender,
    gasOwner: transaction.gasOwner,
    gas: { budgetRaw, priceRaw, computationRaw },
    feeRaw,
    success,
    deltas: balanceDeltas(reported),
    events: success ? events : [],
    calls: success ? transaction.calls : [],
    objects: changes.flatMap(({ id, change }) => {
      if (!success || change === 'gone') return []
      const { type = '', fields = null } = written.get(id) ?? {}
      return [{ id, type, change, fields }]
    }),
  }
}

/** What coins of addresses were worth before and after, and what their balances gained, by owner and coin. */
const balanceDeltas = ({
  before,
  after,
  effects,
}: ExecutedTransaction): readonly MoveBalanceChange[] => {
  const sums = new Map<string, MoveBalanceChange>()
  const add = ({ owner, coin, deltaRaw }: MoveBalanceChange): void => {
    const key = `${owner} ${coin}`
    const sum = (sums.get(key)?.deltaRaw ?? 0n) + deltaRaw
    sums.set(key, { owner, coin, deltaRaw: sum })
  }
  const addBalance = ({ owner, coin }: ObjectState, sign: bigint): void => {
    if (owner === null || coin === null) return
    add({ owner, coin: coin.type, deltaRaw: sign * coin.amountRaw })
  }
  for (const object of before) addBalance(object, -1n)
  for (const object of after) addBalance(object, 1n)
  for (const { delta } of effects.changes) if (delta !== undefined) add(delta)
  return [...sums.values()].filter(({ deltaRaw }) => deltaRaw !== 0n)
}

/** A checkpoint of which everything is there, under its own digest. */
export const recordedWholeCheckpoint = (
  chain: string,
  { height, timeMs, parentHash }: CheckpointSummary,
  { hash, transactions }: Pick<MoveBlock, 'hash' | 'transactions'>,
): Recorded => ({
  block: { vm: 'move', chain, height, hash, parentHash, timeMs, transactions },
  whole: true,
  timed: timeMs > 0,
  named: true,
})
