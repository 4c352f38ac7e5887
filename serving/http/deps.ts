import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '../../core/config/settings.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Metrics } from '../../core/ops/metrics.ts'
import type { ReadinessCheck } from '../../core/ops/probes.ts'
import type { ChainNodes } from '../../core/rpc/chain-nodes.ts'
import type { QuotaMeter } from '../billing/meter.ts'
import type { CallerNodes } from '../dex/node-turns.ts'
import type { FreshnessReader, Guard } from '../interfaces.ts'
import type { JobStore } from '../jobs/job-store.ts'
import type { PaymentDeps } from '../payments/start.ts'
import type { Cursors } from '../queries/cursors-and-pages.ts'
import type { QueryReader } from '../queries/query-limiter.ts'
import type { AccountCredentialDeps } from './account-credentials.ts'
import type { DocumentSubjects } from './document-examples.ts'
import type { PlaneDeps } from './plane.ts'
import type { RoutePlugin } from './routing.ts'

/** What the routes work with. */
export interface RouteDeps {
  readonly warehouse: QueryReader
  readonly freshness: FreshnessReader
  /** Chains that this installation holds data of, by internal id. */
  readonly chains: readonly string[]
  readonly nowMs: () => number
  readonly cursors: Cursors
}

/** What the HTTP server works with. */
export interface ServerDeps
  extends Omit<RouteDeps, 'cursors' | 'warehouse'>,
    Pick<PlaneDeps, 'tls'> {
  /** The only one of the process: each has limits of its own. */
  readonly reader: QueryReader
  readonly guard: Guard
  readonly organizations: AccountCredentialDeps['organizations']
  readonly jobs: JobStore
  /** What is sent goes straight to them. */
  readonly nodes: ChainNodes
  /** Endpoints that hand signed transactions to block builders only. */
  readonly protectedNodes: ChainNodes
  readonly nodeReads: CallerNodes
  readonly meter: QuotaMeter
  /** Present: calls without a credential can be paid one by one. */
  readonly payPerCall?: PaymentDeps
  readonly metrics: Metrics
  readonly log: Logger
  readonly config: PlaneDeps['config'] &
    Pick<
      Config,
      | 'docsUrl'
      | 'errorsStatusMode'
      | 'bodyLimitBytes'
      | 'chainExtra'
      | 'keyPepper'
      | 'webhookEndpoints'
      | 'ipfsUploadUrl'
      | 'ipfsUploadRegion'
      | 'ipfsUploadKeyId'
      | 'ipfsUploadSecret'
    >
  readonly checks: readonly ReadinessCheck[]
  /** Where the data are from, in words for people. */
  readonly origin?: string
  /** What the examples of the API document are about, where it is known; the same object until it changes. */
  readonly documentSubjects?: () => DocumentSubjects | undefined
  /** Further priced routes, under every version prefix. */
  readonly families?: readonly RoutePlugin[]
  /** Further surfaces on the same origin (GraphQL): they bring their own guard and their own error shape. */
  readonly plugins?: readonly FastifyPluginAsync[]
}
