import { createHash } from 'node:crypto'
import { base58Encode } from '../../../core/base58.ts'
import type { MoveEvent, MoveObject, MoveTransaction } from '../../../schemas/events.ts'
import { parseSuiRecording, suiExpectations, suiRecordingJson } from '../recordings/sui.ts'

/** A message of `schemas/proto/sui.proto` as an object. */
export type ProtobufObject = Readonly<Record<string, unknown>>

/** A checkpoint as a node serves it. */
export interface SuiCheckpoint {
  readonly height: number
  readonly digest: string
  /** `Checkpoint` with everything that a mask may ask for. */
  readonly wire: ProtobufObject
}

/** What a simulated chain of checkpoints is made of. */
export interface SuiChainOptions {
  /** Chains of different names have different digests. Default: one name. */
  readonly name?: string
  /** Transactions of a checkpoint; their digests are made its own. Default: those of all recordings in turn. */
  readonly transactionsOf?: (height: number) => readonly MoveTransaction[]
}

const START_MS = 1_760_000_000_000
const STEP_MS = 250

const base58Digest = (text: string): string =>
  base58Encode(createHash('sha256').update(text).digest())

/** The name of a chain: the digest of its first checkpoint. */
export const suiChainId = (name = 'recorded'): string => base58Digest(`${name} 0`)

/** The endless chain: the checkpoint of any height, always the same one. */
export const createSuiChain = ({
  name = 'recorded',
  transactionsOf = takeInTurn(recordedSuiTransactions()),
}: SuiChainOptions = {}): ((height: number) => SuiCheckpoint) => {
  return (height) => {
    const digest = base58Digest(`${name} ${height}`)
    const timeMs = START_MS + height * STEP_MS
    const transactions = transactionsOf(height).map((tx, index) => ({
      ...tx,
      hash: base58Digest(`${name} ${height} ${index}`),
    }))
    const objects = transactions.flatMap((tx) => tx.objects.flatMap(toProtobufObjects))
    const wire = {
      sequenceNumber: height,
      digest,
      summary: {
        ...(height > 0 && { previousDigest: base58Digest(`${name} ${height - 1}`) }),
        timestamp: { seconds: Math.floor(timeMs / 1_000), nanos: (timeMs % 1_000) * 1_000_000 },
      },
      transactions: transactions.map(toProtobufTransaction),
      objects: { objects },
    }
    return { height, digest, wire }
  }
}

/** Checkpoints of the chain, from one height up to another. */
export const suiCheckpoints = (
  from: number,
  to: number,
  options: SuiChainOptions = {},
): readonly SuiCheckpoint[] => {
  const checkpointAt = createSuiChain(options)
  return Array.from({ length: to - from + 1 }, (_, at) => checkpointAt(from + at))
}

const takeInTurn =
  (list: readonly MoveTransaction[]) =>
  (height: number): readonly MoveTransaction[] =>
    list.slice(height % list.length, (height % list.length) + 1)

/** Every recorded transaction of Sui, as it was read; one without a sender gets one. */
export const recordedSuiTransactions = (): readonly MoveTransaction[] =>
  Object.keys(suiExpectations()).flatMap((name) =>
    parseSuiRecording(suiRecordingJson(name)).block.transactions.map((tx) => ({
      ...tx,
      from: tx.from || DEFAULT_SENDER,
      gasOwner: tx.gasOwner || DEFAULT_SENDER,
      gas: { ...tx.gas, computationRaw: tx.gas.computationRaw ?? 0n },
      events: tx.events.map((event) => ({ ...event, sender: event.sender || DEFAULT_SENDER })),
    })),
  )

const DEFAULT_SENDER = `0x${'0'.repeat(63)}9`

const gasPaymentOf = ({ gasOwner, gas: { budgetRaw, priceRaw } }: MoveTransaction) => ({
  owner: gasOwner,
  ...(budgetRaw !== null && { budget: String(budgetRaw) }),
  ...(priceRaw !== null && { price: String(priceRaw) }),
})

/** What a transaction's computation cost; where the recording has no fee at all, nothing. */
const computationOf = ({ gas }: MoveTransaction): bigint => gas.computationRaw ?? 0n

const atLeastZero = (value: bigint): bigint => (value > 0n ? value : 0n)

const toProtobufTransaction = (tx: MoveTransaction): ProtobufObject => ({
  digest: tx.hash,
  transaction: { sender: tx.from, gasPayment: gasPaymentOf(tx) },
  effects: {
    status: { success: tx.success },
    gasUsed: {
      computationCost: String(computationOf(tx)),
      storageCost: String(atLeastZero(tx.feeRaw - computationOf(tx))),
      storageRebate: String(atLeastZero(computationOf(tx) - tx.feeRaw)),
    },
    changedObjects: tx.objects.map(({ id, type, change }) => ({
      objectId: id,
      outputState: `OUTPUT_OBJECT_STATE_${change === 'published' ? 'PACKAGE' : 'OBJECT'}_WRITE`,
      idOperation: change === 'changed' ? 'NONE' : 'CREATED',
      objectType: type,
    })),
  },
  events: { events: tx.events.map(toProtobufEvents) },
  balanceChanges: tx.deltas.map(({ owner, coin, deltaRaw }) => ({
    address: owner,
    coinType: coin,
    amount: String(deltaRaw),
  })),
})

const toProtobufEvents = (event: MoveEvent): ProtobufObject => {
  const head = `${event.package}::${event.name}`
  const { typeArguments, sender, fields, bytes } = event
  return {
    sender,
    eventType: typeArguments.length === 0 ? head : `${head}<${typeArguments.join(', ')}>`,
    ...(bytes !== null && { contents: { value: bytes } }),
    ...(fields !== null && { json: toProtobufValue(fields) }),
  }
}

const toProtobufObjects = ({ id, type, fields }: MoveObject): readonly ProtobufObject[] =>
  fields === null ? [] : [{ objectId: id, objectType: type, json: toProtobufValue(fields) }]

/** JSON as a `google.protobuf.Value`. */
const toProtobufValue = (value: unknown): ProtobufObject => {
  if (value === null) return { nullValue: 0 }
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'number') return { numberValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (Array.isArray(value)) return { listValue: { values: value.map(toProtobufValue) } }
  const fields = Object.entries(value as object).map(([name, each]) => [
    name,
    toProtobufValue(each),
  ])
  return { structValue: { fields: Object.fromEntries(fields) } }
}

/** The parts of a message that a field mask names. */
export const applyFieldMask = (wire: ProtobufObject, paths: readonly string[]): ProtobufObject => {
  const rests = new Map<string, string[]>()
  for (const path of paths) {
    const [head = '', ...rest] = path.split('.')
    const key = head.replace(/_[a-z]/g, ([, letter = '']) => letter.toUpperCase())
    rests.set(key, [...(rests.get(key) ?? []), rest.join('.')])
  }
  const part = (value: unknown, inside: readonly string[]): unknown => {
    if (inside.includes('')) return value
    if (Array.isArray(value)) return value.map((each) => part(each, inside))
    return applyFieldMask(value as ProtobufObject, inside)
  }
  return Object.fromEntries(
    Object.entries(wire).flatMap(([key, value]) => {
      const inside = rests.get(key)
      return inside === undefined || value === undefined ? [] : [[key, part(value, inside)]]
    }),
  )
}
