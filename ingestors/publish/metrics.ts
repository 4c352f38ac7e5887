import type { Metrics } from '../../core/ops/metrics.ts'
import { toDropReason } from '../../schemas/drop-reasons.ts'
import type { Block, DecodedBlock, DroppedEvent, PoolMetadata } from '../../schemas/events.ts'
import type { RequiredLookups } from '../decode/contract.ts'
import type { UnreadName } from './metadata-store.ts'

/** What moves tokens of a kind of chain, as a label. */
const TOKENS = { evm: 'erc20', svm: 'spl_token', move: 'sui_coin' } as const
/** Label of what is known of a chain's own coin. */
const COIN = 'coin'
/** Label of what no protocol is known of. */
const NONE = 'none'

/** Counts what was decoded from a block, by protocol and kind. */
export const countDecoded = (
  { decoded: counter }: Metrics,
  found: DecodedBlock,
  block: Block,
): void => {
  const { chain, vm } = block
  const add = (protocol: string, kind: string, count = 1): void => {
    if (count > 0) counter.inc({ chain, protocol, kind }, count)
  }
  for (const { protocol } of found.swaps) add(protocol, 'swap')
  for (const { protocol, kind } of found.poolChanges) add(protocol, kind)
  for (const { launch } of found.tokenCreations)
    add(launch?.protocol ?? TOKENS[vm], 'token-created')
  for (const { from } of found.migrations) add(from.protocol, 'migration')
  for (const { protocol, kind } of found.predictions) add(protocol, kind)
  for (const { protocol, kind } of found.redPackets) add(protocol, kind)
  add(TOKENS[vm], 'transfer', found.transfers.length)
  add(TOKENS[vm], 'balance', found.balances.length)
  add(TOKENS[vm], 'supply', found.supplies.length)
  if (block.vm === 'evm') add(COIN, 'balance', block.coins?.length ?? 0)
}

/** What was found in a block and not taken. */
export interface Missed {
  readonly dropped: readonly DroppedEvent[]
  readonly unread: readonly UnreadName[]
  readonly subjects: RequiredLookups
  /** Pools that were asked about for the first time. */
  readonly pools: readonly PoolMetadata[]
}

/** Counts what was not taken of a block, by protocol and reason, and the pools of unlisted factories. */
export const countUntaken = (
  { eventsDropped, ingestDropped, unknownPools }: Metrics,
  { chain, rejected = [], vm }: Block,
  { dropped, unread, subjects, pools }: Missed,
): void => {
  for (const { reason: said, protocol } of dropped) {
    const reason = toDropReason(said)
    eventsDropped.inc({ stage: 'ingest', reason })
    ingestDropped.inc({ chain, protocol, reason })
  }
  for (const { reason } of rejected) {
    ingestDropped.inc({ chain, protocol: NONE, reason: toDropReason(reason) })
  }
  for (const { reason } of unread) {
    ingestDropped.inc({ chain, protocol: TOKENS[vm], reason: toDropReason(reason) })
  }
  const families = new Map(subjects.pools.map(({ address, family }) => [address, family]))
  for (const { address, verified } of pools) {
    if (!verified) unknownPools.inc({ chain, protocol: families.get(address) ?? NONE })
  }
}
