import type { Metrics } from '../../core/ops/metrics.ts'
import { toDropReason } from '../../schemas/drop-reasons.ts'
import type { Block, DecodedBlock, DroppedEvent, PoolMetadata } from '../../schemas/events.ts'
import type { RequiredLookups, UnreadName } from '../decode/contract.ts'
import { nativeBalances, TOKEN_LABELS } from '../vm/block-findings.ts'

/** Label of what is known of a chain's native token. */
const NATIVE_LABEL = 'coin'
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
    add(launch?.protocol ?? TOKEN_LABELS[vm], 'token-created')
  for (const { from } of found.migrations) add(from.protocol, 'migration')
  for (const { protocol, kind } of found.predictions) add(protocol, kind)
  for (const { protocol, kind } of found.redPackets) add(protocol, kind)
  for (const { protocol, kind, addresses } of found.labelChanges)
    add(protocol, kind, addresses.length)
  add(TOKEN_LABELS[vm], 'transfer', found.transfers.length)
  add(TOKEN_LABELS[vm], 'balance', found.balances.length)
  add(TOKEN_LABELS[vm], 'supply', found.supplies.length)
  add(NATIVE_LABEL, 'balance', nativeBalances(block).length)
}

/** What was found in a block and not taken. */
export interface Missed {
  readonly dropped: readonly DroppedEvent[]
  readonly unread: readonly UnreadName[]
  readonly lookups: RequiredLookups
  /** Pools that were asked about for the first time. */
  readonly pools: readonly PoolMetadata[]
}

/** Counts what was not taken of a block, by protocol and reason, and the pools of unlisted factories. */
export const countRejectedParts = (
  { eventsDropped, ingestDropped, unknownPools }: Metrics,
  { chain, rejected = [], vm }: Block,
  { dropped, unread, lookups, pools }: Missed,
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
    ingestDropped.inc({ chain, protocol: TOKEN_LABELS[vm], reason: toDropReason(reason) })
  }
  const families = new Map(lookups.pools.map(({ address, family }) => [address, family]))
  for (const { address, verified } of pools) {
    if (!verified) unknownPools.inc({ chain, protocol: families.get(address) ?? NONE })
  }
}
