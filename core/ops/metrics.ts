import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** One metric: its name, what it tells, and its labels, whose values are bounded (never an address or a user). */
interface MetricDefinition {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

const defineMetric = <const Labels extends readonly string[]>(
  name: string,
  help: string,
  ...labels: Labels
) => ({ name, help, labels })

const COUNTERS = {
  eventsDropped: defineMetric(
    'sluice_events_dropped_total',
    'Events rejected by a processing stage',
    'stage',
    'reason',
  ),
  blocksIngested: defineMetric(
    'sluice_ingest_blocks_total',
    'Block operations published: apply, revert, finalize',
    'chain',
    'op',
  ),
  rpcCalls: defineMetric(
    'sluice_ingest_rpc_calls_total',
    'RPC calls to nodes',
    'chain',
    'method',
    'outcome',
  ),
  rpcBytes: defineMetric(
    'sluice_ingest_rpc_bytes_total',
    'Bytes of RPC responses',
    ...(['chain', 'method', 'endpoint'] as const),
  ),
  ingestDropped: defineMetric(
    'sluice_ingest_dropped_total',
    'Rejected node responses and events that could not be decoded',
    ...(['chain', 'protocol', 'reason'] as const),
  ),
  unknownPools: defineMetric(
    'sluice_ingest_unknown_pools_total',
    'Pools that no listed factory created, by the protocol family of their events',
    ...(['chain', 'protocol'] as const),
  ),
  decoded: defineMetric(
    'sluice_ingest_decoded_total',
    'Events decoded',
    'chain',
    'protocol',
    'kind',
  ),
  pendingTrades: defineMetric(
    'sluice_ingest_pending_trades_total',
    'Trades of pre-confirmed blocks published and reverted',
    'chain',
    'op',
  ),
  recordsProcessed: defineMetric('sluice_processor_records_total', 'Records processed', 'app'),
  insertedRows: defineMetric(
    'sluice_processor_inserted_rows_total',
    'Rows inserted into ClickHouse',
    'table',
  ),
  socketPublications: defineMetric(
    'sluice_socket_publications_total',
    'Messages published to channels',
    'family',
  ),
  socketBytes: defineMetric(
    'sluice_socket_bytes_total',
    'Bytes of publications written to sockets',
  ),
  webhookAttempts: defineMetric(
    'sluice_webhook_attempts_total',
    'Webhook delivery attempts',
    'result',
    'kind',
  ),
  webhookDisabled: defineMetric(
    'sluice_webhook_disabled_total',
    'Webhook endpoints disabled',
    'reason',
  ),
  webhookDedupeHits: defineMetric(
    'sluice_webhook_dedupe_hits_total',
    'Redelivered events that were deduplicated',
  ),
  controlRecordsRefused: defineMetric(
    'sluice_control_records_refused_total',
    'Records of control topics rejected because their signature is not valid',
    ...(['topic', 'reason'] as const),
  ),
  edgeErrors: defineMetric(
    'sluice_edge_errors_total',
    'Requests, frames and connections rejected because of an unexpected error; on HTTP the reason exception, on streams any reason, is a defect',
    'surface',
    'reason',
  ),
  queryRejected: defineMetric(
    'sluice_query_rejected_total',
    'Generated SQL statements that ClickHouse rejected as invalid',
    'surface',
  ),
  authFailures: defineMetric(
    'sluice_auth_failures_total',
    'Requests with a missing, invalid or insufficient credential',
    'surface',
    'reason',
  ),
  sinkRetries: defineMetric(
    'sluice_sink_retries_total',
    'ClickHouse inserts retried, by error',
    'app',
    'reason',
  ),
  rollupRepairs: defineMetric(
    'sluice_rollup_repairs_total',
    'Minutes whose rollup did not match their trades and was rebuilt',
    'chain',
  ),
  rollupIncomplete: defineMetric(
    'sluice_rollup_incomplete_minutes_total',
    'Minutes rolled up without all of their trades',
    'chain',
    'reason',
  ),
} as const

const GAUGES = {
  processLagSeconds: defineMetric(
    'sluice_processor_lag_seconds',
    'Age of the newest processed block',
    'app',
  ),
  socketConnections: defineMetric('sluice_socket_connections', 'Open WebSocket connections'),
  socketSubscriptions: defineMetric('sluice_socket_subscriptions', 'Channel subscriptions'),
  webhookDueLagSeconds: defineMetric(
    'sluice_webhook_schedule_lag_seconds',
    'Delay of the last webhook attempt after its scheduled time',
  ),
  webhookBacklog: defineMetric(
    'sluice_webhook_backlog_messages',
    'Webhook messages waiting for delivery',
  ),
} as const

const HISTOGRAMS = {
  rpcSeconds: defineMetric(
    'sluice_ingest_rpc_duration_seconds',
    'RPC call duration',
    'chain',
    'method',
  ),
  insertSeconds: defineMetric(
    'sluice_processor_insert_duration_seconds',
    'ClickHouse insert duration',
    'table',
  ),
  requestSeconds: defineMetric(
    'sluice_http_request_duration_seconds',
    'HTTP request duration',
    'route',
    'status',
  ),
  webhookSeconds: defineMetric(
    'sluice_webhook_attempt_duration_seconds',
    'Webhook attempt duration',
  ),
} as const

const DURATION_BUCKETS_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10]

type LabelsOf<Row extends MetricDefinition> = Row['labels'][number]
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

/** Makes one registry with every metric of the product; one per process. */
export const makeMetrics = (): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const each = <Made>(
    rows: Readonly<Record<string, MetricDefinition>>,
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
    watchLag: makeHeadLagTracker(registry),
    ...(each(COUNTERS, (options) => new Counter(options)) as unknown as Counters),
    ...(each(GAUGES, (options) => new Gauge(options)) as unknown as Gauges),
    ...(each(
      HISTOGRAMS,
      (options) => new Histogram({ ...options, buckets: DURATION_BUCKETS_SECONDS }),
    ) as unknown as Histograms),
  }
}

/** Two gauges that are read when the metrics are: a blocked chain gets older meanwhile. */
const makeHeadLagTracker = (registry: Registry): Metrics['watchLag'] => {
  const watched = new Map<string, () => HeadLag>()
  const lag = (name: string, help: string, part: keyof HeadLag): Gauge<'chain'> =>
    new Gauge({
      name,
      help,
      labelNames: ['chain'] as const,
      registers: [registry],
      collect() {
        this.reset()
        for (const [chain, read] of watched) {
          const value = read()[part]
          if (value !== null) this.set({ chain }, value)
        }
      },
    })
  lag('sluice_ingest_head_lag_blocks', 'Blocks behind the head of the node', 'blocks')
  lag('sluice_ingest_head_lag_seconds', 'Age of the newest ingested block', 'seconds')
  return (chain, read) => {
    watched.set(chain, read)
    return () => {
      if (watched.get(chain) === read) watched.delete(chain)
    }
  }
}
