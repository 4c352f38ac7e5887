import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The process's metrics: `<role>_<noun>_<unit>`, labels bounded (never an address or a user). */
export interface Metrics {
  readonly registry: Registry
  readonly eventsDropped: Counter<'stage' | 'reason'>
  readonly blocksIngested: Counter<'chain' | 'op'>
  /** Reads a chain's lag whenever the metrics are read; null where it is not known. Returns what ends that. */
  readonly watchLag: (chain: string, read: () => HeadLag) => () => void
  readonly rpcCalls: Counter<'chain' | 'method' | 'outcome'>
  readonly rpcBytes: Counter<'chain' | 'method' | 'endpoint'>
  readonly ingestDropped: Counter<'chain' | 'protocol' | 'reason'>
  readonly unknownPools: Counter<'chain' | 'protocol'>
  readonly rpcSeconds: Histogram<'chain' | 'method'>
  readonly decoded: Counter<'chain' | 'protocol' | 'kind'>
  readonly pendingTrades: Counter<'chain' | 'op'>
  readonly recordsProcessed: Counter<'app'>
  readonly processLagSeconds: Gauge<'app'>
  readonly insertedRows: Counter<'table'>
  readonly insertSeconds: Histogram<'table'>
  readonly requestSeconds: Histogram<'route' | 'status'>
  /** Refused credentials; both labels come from fixed lists (`core/auth-failure.ts`). */
  readonly authFailures: Counter<'surface' | 'reason'>
  readonly socketConnections: Gauge
  readonly socketSubscriptions: Gauge
  readonly socketPublications: Counter<'family'>
  readonly socketBytes: Counter
  readonly webhookAttempts: Counter<'result' | 'kind'>
  readonly webhookSeconds: Histogram
  readonly webhookDueLagSeconds: Gauge
  readonly webhookBacklog: Gauge
  readonly webhookDisabled: Counter<'reason'>
  readonly webhookDedupeHits: Counter
}

/** How far a chain is behind its node. */
export interface HeadLag {
  readonly blocks: number | null
  readonly seconds: number | null
}

/** Makes one registry with every metric of the house; one per process. */
export const makeMetrics = (): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]): Gauge<L> =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const histogram = <L extends string>(
    name: string,
    help: string,
    ...labelNames: L[]
  ): Histogram<L> =>
    new Histogram({
      name,
      help,
      labelNames,
      buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10],
      registers: [registry],
    })
  return {
    registry,
    eventsDropped: counter('events_dropped_total', 'Events not taken', 'stage', 'reason'),
    blocksIngested: counter('ingest_blocks_total', 'Block operations', 'chain', 'op'),
    watchLag: lagWatch(registry),
    rpcCalls: counter('ingest_rpc_calls_total', 'Calls to nodes', 'chain', 'method', 'outcome'),
    rpcBytes: counter(
      'ingest_rpc_bytes_total',
      'Bytes that nodes answered',
      'chain',
      'method',
      'endpoint',
    ),
    ingestDropped: counter(
      'ingest_dropped_total',
      'What a chain or its nodes said and was not taken',
      'chain',
      'protocol',
      'reason',
    ),
    unknownPools: counter(
      'ingest_unknown_pools_total',
      'Pools that no listed protocol made, by the kind of their events',
      'chain',
      'protocol',
    ),
    rpcSeconds: histogram('ingest_rpc_seconds', 'Time of a call', 'chain', 'method'),
    decoded: counter('ingest_decoded_total', 'Decoded events', 'chain', 'protocol', 'kind'),
    pendingTrades: counter(
      'ingest_pending_trades_total',
      'Trades of blocks in the making',
      'chain',
      'op',
    ),
    recordsProcessed: counter('process_records_total', 'Records folded', 'app'),
    processLagSeconds: gauge('process_lag_seconds', 'Age of the newest folded block', 'app'),
    insertedRows: counter('process_inserted_rows_total', 'Rows inserted', 'table'),
    insertSeconds: histogram('process_insert_seconds', 'Time of an insert', 'table'),
    requestSeconds: histogram('serve_request_seconds', 'Time of a request', 'route', 'status'),
    authFailures: authFailures(registry),
    socketConnections: gauge('serve_socket_connections', 'Open sockets'),
    socketSubscriptions: gauge('serve_socket_subscriptions', 'Subscriptions'),
    socketPublications: counter('serve_socket_publications_total', 'Publications', 'family'),
    socketBytes: counter('serve_socket_bytes_total', 'Publication bytes delivered'),
    webhookAttempts: counter('webhook_attempts_total', 'Webhook attempts', 'result', 'kind'),
    webhookSeconds: histogram('webhook_latency_seconds', 'Time of a webhook attempt'),
    webhookDueLagSeconds: gauge('webhook_due_lag_seconds', 'How late the last attempt began'),
    webhookBacklog: gauge('webhook_backlog', 'Webhook messages that wait'),
    webhookDisabled: counter('webhook_disabled_total', 'Endpoints turned off', 'reason'),
    webhookDedupeHits: counter('webhook_dedupe_hits_total', 'Events that came again'),
  }
}

const authFailures = (registry: Registry): Metrics['authFailures'] =>
  new Counter({
    name: 'sluice_auth_failures_total',
    help: 'Requests whose credential was missing, refused or not enough',
    labelNames: ['surface', 'reason'],
    registers: [registry],
  })

/** Two gauges that are read when the metrics are: a chain that stands still gets older meanwhile. */
const lagWatch = (registry: Registry): Metrics['watchLag'] => {
  const watched = new Map<string, () => HeadLag>()
  const lag = (name: string, help: string, part: keyof HeadLag): Gauge<'chain'> =>
    new Gauge({
      ...{ name, help, labelNames: ['chain'] as const, registers: [registry] },
      collect() {
        this.reset()
        for (const [chain, read] of watched) {
          const value = read()[part]
          if (value !== null) this.set({ chain }, value)
        }
      },
    })
  lag('ingest_head_lag_blocks', 'Blocks behind the node', 'blocks')
  lag('ingest_head_lag_seconds', 'Age of the newest block', 'seconds')
  return (chain, read) => {
    watched.set(chain, read)
    return () => {
      if (watched.get(chain) === read) watched.delete(chain)
    }
  }
}
