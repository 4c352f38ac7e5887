import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** One metric: its name, what it tells, and its labels, whose values are bounded (never an address or a user). */
interface MetricRow {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

const row = <const Labels extends readonly string[]>(
  name: string,
  help: string,
  ...labels: Labels
) => ({ name, help, labels })

const COUNTERS = {
  eventsDropped: row('events_dropped_total', 'Events not taken', 'stage', 'reason'),
  blocksIngested: row('ingest_blocks_total', 'Block operations', 'chain', 'op'),
  rpcCalls: row('ingest_rpc_calls_total', 'Calls to nodes', 'chain', 'method', 'outcome'),
  rpcBytes: row(
    'ingest_rpc_bytes_total',
    'Bytes that nodes answered',
    ...(['chain', 'method', 'endpoint'] as const),
  ),
  ingestDropped: row(
    'ingest_dropped_total',
    'What a chain or its nodes said and was not taken',
    ...(['chain', 'protocol', 'reason'] as const),
  ),
  unknownPools: row(
    'ingest_unknown_pools_total',
    'Pools that no listed protocol made, by the kind of their events',
    ...(['chain', 'protocol'] as const),
  ),
  decoded: row('ingest_decoded_total', 'Decoded events', 'chain', 'protocol', 'kind'),
  pendingTrades: row('ingest_pending_trades_total', 'Pre-confirmed trades', 'chain', 'op'),
  recordsProcessed: row('process_records_total', 'Records folded', 'app'),
  insertedRows: row('process_inserted_rows_total', 'Rows inserted', 'table'),
  socketPublications: row('serve_socket_publications_total', 'Publications', 'family'),
  socketBytes: row('serve_socket_bytes_total', 'Publication bytes delivered'),
  webhookAttempts: row('webhook_attempts_total', 'Webhook attempts', 'result', 'kind'),
  webhookDisabled: row('webhook_disabled_total', 'Endpoints turned off', 'reason'),
  webhookDedupeHits: row('webhook_dedupe_hits_total', 'Events that came again'),
  controlRecordsRefused: row(
    'sluice_control_records_refused_total',
    'Records of control topics without a valid signature of this installation',
    ...(['topic', 'reason'] as const),
  ),
  edgeErrors: row(
    'sluice_edge_errors_total',
    'Requests, frames and connections refused or closed where they came in; on HTTP the reason exception, on streams any reason, is a defect',
    'surface',
    'reason',
  ),
  queryRejected: row(
    'sluice_query_rejected_total',
    'Statements of ours that the engine refused as wrong',
    'surface',
  ),
  authFailures: row(
    'sluice_auth_failures_total',
    'Requests whose credential was missing, refused or not enough',
    'surface',
    'reason',
  ),
  sinkRetries: row(
    'sluice_sink_retries_total',
    'Failed inserts that are tried again, by the error',
    'app',
    'reason',
  ),
  rollupRepairs: row(
    'sluice_rollup_repairs_total',
    'Minutes whose rollups did not match their trades and were rebuilt',
    'chain',
  ),
  rollupIncomplete: row(
    'sluice_rollup_incomplete_minutes_total',
    'Minutes that were rolled up without all of their trades',
    'chain',
    'reason',
  ),
} as const

const GAUGES = {
  processLagSeconds: row('process_lag_seconds', 'Age of the newest folded block', 'app'),
  socketConnections: row('serve_socket_connections', 'Open sockets'),
  socketSubscriptions: row('serve_socket_subscriptions', 'Subscriptions'),
  webhookDueLagSeconds: row('webhook_due_lag_seconds', 'How late the last attempt began'),
  webhookBacklog: row('webhook_backlog', 'Webhook messages that wait'),
} as const

const HISTOGRAMS = {
  rpcSeconds: row('ingest_rpc_seconds', 'Time of a call', 'chain', 'method'),
  insertSeconds: row('process_insert_seconds', 'Time of an insert', 'table'),
  requestSeconds: row('serve_request_seconds', 'Time of a request', 'route', 'status'),
  webhookSeconds: row('webhook_latency_seconds', 'Time of a webhook attempt'),
} as const

const BUCKETS_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]

type LabelsOf<Row extends MetricRow> = Row['labels'][number]
type Counters = { readonly [K in keyof typeof COUNTERS]: Counter<LabelsOf<(typeof COUNTERS)[K]>> }
type Gauges = { readonly [K in keyof typeof GAUGES]: Gauge<LabelsOf<(typeof GAUGES)[K]>> }
type Histograms = {
  readonly [K in keyof typeof HISTOGRAMS]: Histogram<LabelsOf<(typeof HISTOGRAMS)[K]>>
}

/** The process's metrics, one of each row above, and the registry that prints them. */
export interface Metrics extends Counters, Gauges, Histograms {
  readonly registry: Registry
  /** Reads a chain's lag whenever the metrics are read; null where it is not known. Returns what ends that. */
  readonly watchLag: (chain: string, read: () => HeadLag) => () => void
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
  const each = <Made>(
    rows: Readonly<Record<string, MetricRow>>,
    make: (options: {
      readonly name: string
      readonly help: string
      readonly labelNames: string[]
      readonly registers: Registry[]
    }) => Made,
  ) =>
    Object.fromEntries(
      Object.entries(rows).map(([key, { name, help, labels }]) => [
        key,
        make({ name, help, labelNames: [...labels], registers: [registry] }),
      ]),
    )
  return {
    registry,
    watchLag: lagWatch(registry),
    ...(each(COUNTERS, (options) => new Counter(options)) as unknown as Counters),
    ...(each(GAUGES, (options) => new Gauge(options)) as unknown as Gauges),
    ...(each(
      HISTOGRAMS,
      (options) => new Histogram({ ...options, buckets: BUCKETS_SECONDS }),
    ) as unknown as Histograms),
  }
}

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
