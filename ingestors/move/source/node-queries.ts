import { InvalidInput, Outage } from '../../../core/errors.ts'
import { NOT_FOUND } from '../../../core/rpc/grpc.ts'
import { type CallEndpoint, RpcError } from '../../../core/rpc/pool.ts'
import type { MoveBlock } from '../../../schemas/events.ts'
import { fieldsOf, orElse } from '../../input/json.ts'
import { parseBase58Key, parseUint } from '../../svm/layout/json.ts'
import { coinCreations } from '../decode/token-creations.ts'
import { type MoveHeader, normalizeCheckpoint, normalizeHeader } from '../normalize/checkpoint.ts'
import { toCheckpointFields } from '../normalize/protobuf-values.ts'

/** Methods of `schemas/proto/sui.proto` that are asked. */
export const METHOD = {
  info: 'sui.rpc.v2.LedgerService/GetServiceInfo',
  checkpoint: 'sui.rpc.v2.LedgerService/GetCheckpoint',
  object: 'sui.rpc.v2.LedgerService/GetObject',
  coin: 'sui.rpc.v2.StateService/GetCoinInfo',
  subscribe: 'sui.rpc.v2.SubscriptionService/SubscribeCheckpoints',
} as const

/** What a header is made of. */
const HEADER_FIELDS = ['sequence_number', 'digest', 'summary.previous_digest', 'summary.timestamp']

/**
 * What a block is made of. Of a transaction neither its inputs nor its commands: with a node to ask, they prove nothing. Of an
 * event its bytes too: a node prints only types whose package it has.
 */
export const CHECKPOINT_FIELDS: readonly string[] = [
  ...HEADER_FIELDS,
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
const OBJECT_FIELDS = [
  'objects.objects.object_id',
  'objects.objects.object_type',
  'objects.objects.json',
]

/** How far a node is. */
export interface ServiceInfo {
  /** Digest of the first checkpoint. */
  readonly chainId: string
  readonly height: number
  /** Oldest checkpoint that it still holds. */
  readonly oldestHeight: number
}

/** The answer of `GetServiceInfo`. Throws `InvalidInput`. */
export const parseServiceInfo = (value: unknown): ServiceInfo => {
  const raw = fieldsOf(value, 'service info')
  return {
    chainId: parseBase58Key(raw.chainId, 'chainId'),
    height: parseUint(raw.checkpointHeight, 'checkpointHeight'),
    oldestHeight: orElse(raw.lowestAvailableCheckpoint, 'lowest', {
      read: parseUint,
      fallback: 0,
    }),
  }
}

/** Asks a node how far it is. */
export const fetchServiceInfo = async (ask: CallEndpoint): Promise<ServiceInfo> =>
  parseServiceInfo(await ask({ method: METHOD.info, params: [{}] }))

/** Part of a checkpoint; undefined when the node does not have it yet. Throws `Outage` for one that it no longer has. */
const fetchCheckpointFields = async (
  ask: CallEndpoint,
  height: number,
  paths: readonly string[],
): Promise<unknown | undefined> => {
  const request = { sequenceNumber: height, readMask: { paths } }
  try {
    const raw = await ask({ method: METHOD.checkpoint, params: [request] })
    return fieldsOf(raw, 'answer').checkpoint
  } catch (error) {
    if (!isNotFound(error)) throw error
    const { oldestHeight: lowest } = await fetchServiceInfo(ask)
    if (height >= lowest) return undefined
    throw new Outage('rpc', `checkpoint ${height}: pruned by the node`, { cause: error })
  }
}

/** Whether the node lives and does not have what was asked for. */
export const isNotFound = (error: unknown): boolean =>
  error instanceof RpcError && error.code === NOT_FOUND

/** A checkpoint without its transactions; undefined when the node does not have it yet. Throws `Outage` or `InvalidInput`. */
export const fetchHeader = async (
  ask: CallEndpoint,
  chain: string,
  height: number,
): Promise<MoveHeader | undefined> => {
  const raw = await fetchCheckpointFields(ask, height, HEADER_FIELDS)
  return raw === undefined ? undefined : verifyHeightAndTime(normalizeHeader(raw, chain), height)
}

/**
 * A whole checkpoint; `skipInvalid` without the transactions that cannot be read. Undefined when the node does not have it yet. Throws
 * `Outage`, or `InvalidInput` with the reasons of `normalizeCheckpoint`, `wrong-block` and `missing-block-time`.
 */
export const fetchCheckpoint = async (
  ask: CallEndpoint,
  { chain, skipInvalid = false }: { readonly chain: string; readonly skipInvalid?: boolean },
  height: number,
): Promise<MoveBlock | undefined> => {
  const raw = await fetchCheckpointFields(ask, height, CHECKPOINT_FIELDS)
  if (raw === undefined) return undefined
  const shape = toCheckpointFields(raw)
  const block = verifyHeightAndTime(normalizeCheckpoint(shape, chain, { skipInvalid }), height)
  if (!needsObjects(block)) return block
  const { objects } = toCheckpointFields(await fetchCheckpointFields(ask, height, OBJECT_FIELDS))
  return verifyHeightAndTime(
    normalizeCheckpoint({ ...shape, objects }, chain, { skipInvalid }),
    height,
  )
}

/** A checkpoint that the node pushed, as a block; null when it has to be asked for after all. Throws as `fetchCheckpoint`. */
export const parseNotifiedCheckpoint = (
  raw: unknown,
  chain: string,
  height: number,
): MoveBlock | null => {
  const block = verifyHeightAndTime(normalizeCheckpoint(toCheckpointFields(raw), chain), height)
  return needsObjects(block) ? null : block
}

/** A coin was made whose name and decimals only its objects tell. */
const needsObjects = ({ transactions }: MoveBlock): boolean =>
  transactions.some((tx) =>
    coinCreations(tx).some(({ metadata }) => metadata.decimals === null && metadata.name === null),
  )

const verifyHeightAndTime = <T extends MoveHeader>(block: T, height: number): T => {
  if (block.height !== height) {
    throw new InvalidInput('wrong-block', `asked for checkpoint ${height}, got ${block.height}`)
  }
  if (block.timeMs === 0)
    throw new InvalidInput('missing-block-time', `checkpoint ${height} has no time`)
  return block
}
