/** One metric: its name, what it tells, and its labels, whose values are bounded (never an address or a user). */
export interface MetricDefinition {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
}

const defineMetric = <const Labels extends readonly string[]>(
  name: string,
  help: string,
  ...labels: Labels
) => ({ name, help, labels })

/** Metrics that only grow. */
export const COUNTERS = {
  eventsDropped: defineMetric(
    'sluice_events_dropped_total',
    'Events rejected by a processing stage',
    'stage',
    'reason',
  ),
  blocksIngested: defineMetric(
    'sluice_ingest_blocks_total',
    'Block operations published: `apply`, `revert`, `finalize`',
    'chain',
    'op',
  ),
  rpcCalls: defineMetric(
    'sluice_rpc_calls_total',
    'RPC calls to nodes, of the role `ingest` or `serve`: `ok`, `refused`, `failed`',
    ...(['role', 'chain', 'method', 'outcome'] as const),
  ),
  rpcBytes: defineMetric(
    'sluice_rpc_bytes_total',
    'Bytes of RPC responses: with the calls, what a provider charges for',
    ...(['role', 'chain', 'method', 'endpoint'] as const),
  ),
  ingestDropped: defineMetric(
    'sluice_ingest_dropped_total',
    'Rejected events; protocol `node`: invalid RPC responses, `chain`: what blocks ingestion, `none`: unknown',
    ...(['chain', 'protocol', 'reason'] as const),
  ),
  unknownPools: defineMetric(
    'sluice_ingest_unknown_pools_total',
    'Pools that no listed factory created, by the protocol family of their events',
    ...(['chain', 'protocol'] as const),
  ),
  decoded: defineMetric(
    'sluice_ingest_decoded_total',
    'Events decoded: swaps, liquidity changes, token creations, migrations, predictions, red packets; transfers, balances and supplies under `erc20`, `spl_token`, `sui_coin`, native balances of EVM chains under `coin`',
    'chain',
    'protocol',
    'kind',
  ),
  poolReadings: defineMetric(
    'sluice_dex_pool_readings_total',
    'Pools read from their accounts for quotes: `read`, `not_exact`, `changed` meanwhile, `implausible` price, `refused` by limits of the caller, `failed`',
    'protocol',
    'outcome',
  ),
  unquotablePools: defineMetric(
    'sluice_dex_unquotable_pools_total',
    'States of pools whose quote failed with an error of the program: the pool is left out until its next event or reading',
    'protocol',
  ),
  pendingTrades: defineMetric(
    'sluice_ingest_pending_trades_total',
    'Trades of pre-confirmed blocks published and reverted',
    'chain',
    'op',
  ),
  recordsProcessed: defineMetric('sluice_processor_records_total', 'Records processed', 'group'),
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
    'Requests, frames and connections rejected because of an unexpected error; on HTTP the reason `exception`, on streams any reason, is a defect',
    'surface',
    'reason',
  ),
  graphqlDeliveries: defineMetric(
    'sluice_graphql_deliveries_total',
    'Statements of GraphQL subscriptions for new blocks: `rows` were sent, `empty` had none, `delayed` found no place and are tried again',
    'outcome',
  ),
  graphqlSubscriptionsEnded: defineMetric(
    'sluice_graphql_subscriptions_ended_total',
    'GraphQL subscriptions that had begun and that the server ended: `slow`, `quota`, `error`; slow readers are closed',
    'reason',
  ),
  graphqlSubscriptionsRefused: defineMetric(
    'sluice_graphql_subscriptions_refused_total',
    'GraphQL subscriptions that did not begin: `limit` (too many subscriptions or requests), `quota`, `cursor`, `request` (not a valid one), `error`',
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
  payments: defineMetric(
    'sluice_payments_total',
    'Payments of calls: `settled`, `replayed`, `refused`, `failed`; `rested`: not taken for a while, as others failed in their blocks',
    'outcome',
  ),
  paymentFailedFees: defineMetric(
    'sluice_payment_failed_fees_lamports_total',
    'Lamports of fees for payments on Solana that failed in their blocks',
  ),
  sinkRetries: defineMetric(
    'sluice_sink_retries_total',
    'ClickHouse inserts retried, by error',
    'group',
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

/** Metrics that are set as things happen. */
export const GAUGES = {
  processLagSeconds: defineMetric(
    'sluice_processor_lag_seconds',
    'Age of the newest processed block',
    'group',
  ),
  socketConnections: defineMetric('sluice_socket_connections', 'Open WebSocket connections'),
  socketSubscriptions: defineMetric('sluice_socket_subscriptions', 'Channel subscriptions'),
  graphqlConnections: defineMetric(
    'sluice_graphql_connections',
    'Open WebSocket connections of GraphQL',
  ),
  graphqlSubscriptions: defineMetric('sluice_graphql_subscriptions', 'GraphQL subscriptions'),
  webhookDueLagSeconds: defineMetric(
    'sluice_webhook_schedule_lag_seconds',
    'Delay of the last webhook attempt after its scheduled time',
  ),
  webhookBacklog: defineMetric(
    'sluice_webhook_backlog_messages',
    'Webhook messages waiting for delivery',
  ),
} as const

/** Gauges that are read when the metrics are: what is stuck changes without an event. */
export const OBSERVED_GAUGES = {
  headLagBlocks: defineMetric(
    'sluice_ingest_head_lag_blocks',
    'Blocks behind the head of the node, at the time of the scrape',
    'chain',
  ),
  headLagSeconds: defineMetric(
    'sluice_ingest_head_lag_seconds',
    'Age of the newest ingested block, at the time of the scrape',
    'chain',
  ),
  idleSeconds: defineMetric(
    'sluice_ingest_idle_seconds',
    'Time since a block was ingested, at the time of the scrape; `/ready` fails from 60 seconds on, or ten block times where that is longer',
    'chain',
  ),
  chainHalted: defineMetric(
    'sluice_ingest_chain_halted',
    '1 while a chain is halted or waits for a valid block, else 0; `/ready` has the reason',
    'chain',
  ),
  haltedPartitions: defineMetric(
    'sluice_halted_partitions',
    'Partitions of a consumer group that are not read any more; the reason is `offset-out-of-range` or `invalid-input`',
    'group',
    'reason',
  ),
  logUsedBytes: defineMetric('sluice_log_used_bytes', 'Size of what the embedded log holds'),
  logLimitBytes: defineMetric(
    'sluice_log_limit_bytes',
    'Size at which the embedded log is full, as of the last sweep',
  ),
  queriesRunning: defineMetric(
    'sluice_query_running',
    'ClickHouse statements under way for callers',
    'surface',
  ),
  queriesWaiting: defineMetric(
    'sluice_query_waiting',
    'ClickHouse statements in the queue; callers get `SERVER_BUSY` when it is full',
    'surface',
  ),
  queriesWaitingLimit: defineMetric(
    'sluice_query_waiting_limit',
    'Statements that the queue holds at most',
    'surface',
  ),
  riskQueueAge: defineMetric(
    'sluice_risk_queue_age_seconds',
    'Time since the oldest record of risk screening is due, 0 where none is: of the kind `first` those that were never screened, `again` the others',
    'kind',
  ),
} as const

/** Metrics that sort durations into buckets. */
export const HISTOGRAMS = {
  rpcSeconds: defineMetric(
    'sluice_rpc_duration_seconds',
    'RPC call duration',
    ...(['role', 'chain', 'method'] as const),
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

/** Every metric of the product by the kind that its documentation names. */
export const METRICS_BY_TYPE: Readonly<Record<string, readonly MetricDefinition[]>> = {
  counter: Object.values(COUNTERS),
  gauge: [...Object.values(GAUGES), ...Object.values(OBSERVED_GAUGES)],
  histogram: Object.values(HISTOGRAMS),
}
