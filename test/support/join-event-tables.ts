/** What a stock consumer decodes of a message whose events hold places in the record's tables (docs/kafka.md). */
interface WireValue {
  readonly meta: {
    readonly hash: string
    readonly height: number
    readonly slot: number
    readonly block_time: number
  } | null
  readonly block_height: number
  readonly blocks: readonly unknown[]
  readonly transactions: readonly unknown[]
  readonly d_apps: readonly unknown[]
  readonly events: readonly Readonly<Record<string, unknown>>[]
}

const hasEventTables = (value: object): value is WireValue =>
  'transactions' in value && 'd_apps' in value

/** Joins events with their heads as docs/kafka.md tells a consumer to; other values stay as they are. */
export const joinEventTables = (value: object): unknown => {
  if (!hasEventTables(value)) return value
  const { meta, block_height: height, blocks, transactions, d_apps: apps, events } = value
  const own = meta && {
    timestamp: meta.block_time,
    hash: meta.hash,
    height: height === 0 ? meta.height : height,
    slot: meta.slot,
  }
  return {
    meta,
    events: events.map(
      ({ block_index: block, transaction_index: tx, d_app_index: app, ...event }) => ({
        ...event,
        block: block === -1 ? null : block === 0 ? own : blocks[Number(block) - 1],
        transaction: tx === -1 ? null : transactions[Number(tx)],
        d_app: app === -1 ? null : apps[Number(app)],
      }),
    ),
  }
}
