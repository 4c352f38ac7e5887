import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** The process's metrics: `<role>_<noun>_<unit>`, labels bounded (never an address or a user). */
export interface Metrics {
  readonly registry: Registry
  readonly eventsDropped: Counter<'stage' | 'reason'>
  readonly blocksIngested: Counter<'chain' | 'op'>
  readonly headLagBlocks: Gauge<'chain'>
  readonly headLagSeconds: Gauge<'chain'>
  readonly rpcCalls: Counter<'chain' | 'method' | 'outcome'>
  readonly rpcSeconds: Histogram<'chain' | 'method'>
  readonly decoded: Counter<'chain' | 'protocol' | 'kind'>
  readonly recordsProcessed: Counter<'app'>
  readonly processLagSeconds: Gauge<'app'>
  readonly insertedRows: Counter<'table'>
  readonly insertSeconds: Histogram<'table'>
  readonly requestSeconds: Histogram<'route' | 'status'>
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
    headLagBlocks: gauge('ingest_head_lag_blocks', 'Blocks behind the node', 'chain'),
    headLagSeconds: gauge('ingest_head_lag_seconds', 'Age of the newest block', 'chain'),
    rpcCalls: counter('ingest_rpc_calls_total', 'Calls to nodes', 'chain', 'method', 'outcome'),
    rpcSeconds: histogram('ingest_rpc_seconds', 'Time of a call', 'chain', 'method'),
    decoded: counter('ingest_decoded_total', 'Decoded events', 'chain', 'protocol', 'kind'),
    recordsProcessed: counter('process_records_total', 'Records folded', 'app'),
    processLagSeconds: gauge('process_lag_seconds', 'Age of the newest folded block', 'app'),
    insertedRows: counter('process_inserted_rows_total', 'Rows inserted', 'table'),
    insertSeconds: histogram('process_insert_seconds', 'Time of an insert', 'table'),
    requestSeconds: histogram('serve_request_seconds', 'Time of a request', 'route', 'status'),
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
