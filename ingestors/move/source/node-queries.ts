import { Malformed, Outage } from '../../../core/errors.ts'
import { NOT_FOUND } from '../../../core/rpc/grpc.ts'
import { type Ask, RpcError } from '../../../core/rpc/pool.ts'
import type { MoveBlock } from '../../../schemas/events.ts'
import { fieldsOf, orElse } from '../../input/json.ts'
import { keyAt, wholeAt } from '../../svm/layout/json.ts'
import { coinBirths } from '../decode/token-creations.ts'
import { type MoveHeader, normalizeCheckpoint, normalizeHeader } from '../normalize/checkpoint.ts'
import { checkpointShape } from '../normalize/wire.ts'

/** Methods of `schemas/proto/sui.proto` that are asked. */
export const METHOD = {
  info: 'sui.rpc.v2.LedgerService/GetServiceInfo',
  checkpoint: 'sui.rpc.v2.LedgerService/GetCheckpoint',
  object: 'sui.rpc.v2.LedgerService/GetObject',
  coin: 'sui.rpc.v2.StateService/GetCoinInfo',
  subscribe: 'sui.rpc.v2.SubscriptionService/SubscribeCheckpoints',
} as const

/** What a header is made of. */
const HEADER = ['sequence_number', 'digest', 'summary.previous_digest', 'summary.timestamp']

/**
 * What a block is made of. Of a transaction neither its inputs nor its commands: with a node to ask, they prove nothing. Of an
 * event its bytes too: a node prints only types whose package it has.
 */
export const WHOLE: readonly string[] = [
  ...HEADER,
  'transactions.digest',
  'transactions.transaction.sender',
  'transactions.transaction.gas_payment',
  'transactions.effects.status',
  'transactions.effects.gas_used',
  'transactions.effects.changed_objects',
  'transactions.events.events',
  'transactions.balance_changes',
]

/** Objects with their fields; megabytes, so only of a checkpoint that made a coin. */
const OBJECTS = ['objects.objects.object_id', 'objects.objects.object_type', 'objects.objects.json']

/** How far a node is. */
export interface ServiceInfo {
  /** Digest of the first checkpoint. */
  readonly chainId: string
  readonly height: number
  /** Oldest checkpoint that it still holds. */
  readonly lowest: number
}

/** The answer of `GetServiceInfo`. Throws `Malformed`. */
export const serviceInfo = (value: unknown): ServiceInfo => {
  const said = fieldsOf(value, 'service info')
  return {
    chainId: keyAt(said.chainId, 'chainId'),
    height: wholeAt(said.checkpointHeight, 'checkpointHeight'),
    lowest: orElse(said.lowestAvailableCheckpoint, 'lowest', { read: wholeAt, fallback: 0 }),
  }
}

/** Asks a node how far it is. */
export const readInfo = async (ask: Ask): Promise<ServiceInfo> =>
  serviceInfo(await ask({ method: METHOD.info, params: [{}] }))

/** Part of a checkpoint; undefined when the node does not have it yet. Throws `Outage` for one that it no longer has. */
const readParts = async (
  ask: Ask,
  height: number,
  paths: readonly string[],
): Promise<unknown | undefined> => {
  const request = { sequenceNumber: height, readMask: { paths } }
  try {
    const said = await ask({ method: METHOD.checkpoint, params: [request] })
    return fieldsOf(said, 'answer').checkpoint
  } catch (error) {
    if (!isNotFound(error)) throw error
    const { lowest } = await readInfo(ask)
    if (height >= lowest) return undefined
    throw new Outage('rpc', `checkpoint ${height}: the node no longer holds it`, { cause: error })
  }
}

/** Whether the node lives and does not have what was asked for. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof RpcError && error.code === NOT_FOUND

/** A checkpoint without its transactions; undefined when the node does not have it yet. Throws `Outage` or `Malformed`. */
export const readHeader = async (
  ask: Ask,
  chain: string,
  height: number,
): Promise<MoveHeader | undefined> => {
  const said = await readParts(ask, height, HEADER)
  return said === undefined ? undefined : checked(normalizeHeader(said, chain), height)
}

/**
 * A whole checkpoint; `lenient` without the transactions that cannot be read. Undefined when the node does not have it yet. Throws
 * `Outage`, or `Malformed` with the reasons of `normalizeCheckpoint`, `wrong-block` and `no-time`.
 */
export const readCheckpoint = async (
  ask: Ask,
  { chain, lenient = false }: { readonly chain: string; readonly lenient?: boolean },
  height: number,
): Promise<MoveBlock | undefined> => {
  const said = await readParts(ask, height, WHOLE)
  if (said === undefined) return undefined
  const shape = checkpointShape(said)
  const block = checked(normalizeCheckpoint(shape, chain, { lenient }), height)
  if (!lacksObjects(block)) return block
  const { objects } = checkpointShape(await readParts(ask, height, OBJECTS))
  return checked(normalizeCheckpoint({ ...shape, objects }, chain, { lenient }), height)
}

/** A checkpoint that the node pushed, as a block; null when it has to be asked for after all. Throws as `readCheckpoint`. */
export const pushedCheckpoint = (
  said: unknown,
  chain: string,
  height: number,
): MoveBlock | null => {
  const block = checked(normalizeCheckpoint(checkpointShape(said), chain), height)
  return lacksObjects(block) ? null : block
}

/** A coin was made whose name and decimals only its objects tell. */
const lacksObjects = ({ transactions }: MoveBlock): boolean =>
  transactions.some((tx) =>
    coinBirths(tx).some(({ fact }) => fact.decimals === null && fact.name === null),
  )

const checked = <T extends MoveHeader>(block: T, height: number): T => {
  if (block.height !== height) {
    throw new Malformed('wrong-block', `asked for checkpoint ${height}, got ${block.height}`)
  }
  if (block.timeMs === 0) throw new Malformed('no-time', `checkpoint ${height} has no time`)
  return block
}
