import type { Warehouse } from '../../core/clickhouse/client.ts'
import { migrate } from '../../core/clickhouse/migrate.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { Organizations } from '../../serving/auth/organizations.ts'
import { createMeter, type QuotaMeter } from '../../serving/billing/meter.ts'
import { createFreshnessReader } from '../../serving/chain-freshness.ts'
import type { QueryLimits } from '../../serving/graphql/limits.ts'
import { graphqlPlugin } from '../../serving/graphql/plugin.ts'
import { createPublicServer } from '../../serving/http/server.ts'
import { createLimitedReader } from '../../serving/queries/query-limiter.ts'
import { startApi } from './api-stack.ts'
import { assertNoRejectedStatements } from './assert-no-rejected-statements.ts'

/** What a GraphQL answer holds, as a client reads it. */
export interface GraphqlResponse {
  readonly data: Readonly<Record<string, unknown>> | null
  readonly errors?: readonly {
    readonly message: string
    readonly locations: readonly { readonly line: number; readonly column: number }[]
    readonly path?: readonly string[]
    readonly extensions?: { readonly code: string }
  }[]
  readonly extensions?: {
    readonly credits?: {
      readonly total: number
      readonly unit: string
      readonly cubes: readonly { cube: string; credits: number; row_count: number }[]
    }
    readonly stats?: {
      readonly rows_read: number
      readonly elapsed_ms: number
      readonly chains: Readonly<Record<string, Readonly<Record<string, number>>>>
    }
  }
}

/** A server with GraphQL on real tables of several chains. */
export interface TestGraphql {
  readonly url: string
  readonly warehouse: Warehouse
  readonly apiKey: string
  readonly organizations: Organizations
  readonly meter: QuotaMeter
  /** Origin of the server, which answers REST as well. */
  readonly base: string
  /** Posts a query with the test key. */
  ask(query: string, variables?: object, operationName?: string): Promise<GraphqlResponse>
  /** Any request; the test key unless headers are given. */
  send(init: RequestInit, path?: string): Promise<Response>
  /** Ends it; fails where the engine refused another number of our statements as wrong than it was meant to. */
  stop(rejected?: number): Promise<void>
}

/** Starts one; its clock stands at `nowMs`. */
export const startGraphql = async (
  chains: readonly string[],
  nowMs: number,
  limits: Partial<QueryLimits> = {},
): Promise<TestGraphql> => {
  const api = await startApi()
  await migrate(api.warehouse, chains)
  const plans = {
    free: { requestsPerSecond: 10, unitsPerMonth: 30_000 },
    selfhost: { requestsPerSecond: 100_000, unitsPerMonth: null },
  }
  const shared = {
    warehouse: api.warehouse,
    guard: api.organizations.guard,
    organizations: api.organizations,
    jobs: api.jobs,
    nodes: api.nodes,
    protectedNodes: api.nodes,
    nodeReads: api.nodeReads,
    meter: createMeter({
      plans: {
        ...plans,
        nano: plans.free,
        starter: plans.free,
        pro: plans.free,
        enterprise: plans.free,
      },
    }),
    freshness: createFreshnessReader(api.warehouse, chains),
    chains,
    config: loadConfig({}, { keyPepper: 'pepper' }),
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    nowMs: () => nowMs,
  }
  const plugins = [graphqlPlugin({ ...shared, limits })]
  const reader = createLimitedReader(api.warehouse, shared.metrics)
  const app = await createPublicServer({ ...shared, reader, checks: [], plugins })
  const base = await app.listen({ host: '127.0.0.1', port: 0 })
  const url = `${base}/graphql`
  const headers = { 'x-api-key': api.apiKey, 'content-type': 'application/json' }
  return {
    url,
    warehouse: api.warehouse,
    apiKey: api.apiKey,
    organizations: api.organizations,
    meter: shared.meter,
    base,
    ask: async (query, variables, operationName) => {
      const body = JSON.stringify({ query, variables, operationName })
      const response = await fetch(url, { method: 'POST', headers, body })
      return (await response.json()) as GraphqlResponse
    },
    send: (init, path = '') => fetch(url + path, { headers, ...init }),
    stop: async (rejected = 0) => {
      await app.close()
      await api.stop()
      await assertNoRejectedStatements(shared.metrics, rejected)
    },
  }
}
