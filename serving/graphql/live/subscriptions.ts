import pLimit, { type LimitFunction } from 'p-limit'
import type { Bus, RunningTask } from '../../../core/bus/contract.ts'
import type { Codec } from '../../../core/codec/contract.ts'
import type { Config } from '../../../core/config/settings.ts'
import { Fault } from '../../../core/errors.ts'
import { makeErrorBoundary } from '../../../core/ops/error-boundary.ts'
import type { Logger } from '../../../core/ops/logger.ts'
import type { Metrics } from '../../../core/ops/metrics.ts'
import { isOverload, toFault } from '../../http/problem-details.ts'
import type { FreshnessReader, Guard, Meter, Principal, StoreProgress } from '../../interfaces.ts'
import type { AdmissionControl } from '../../realtime/admission.ts'
import type { SocketRoute } from '../../realtime/socket-routes.ts'
import type { GraphqlEngine } from '../engine.ts'
import { type PublicError, publicErrors } from '../errors.ts'
import { planWithQuota } from '../plan-with-quota.ts'
import { isCursorFault } from '../run-and-charge.ts'
import { type BlockFeed, createBlockFeed } from './block-feed.ts'
import { announceBlocks } from './block-notices.ts'
import { createBlockHistory, createBlockReader } from './block-reader.ts'
import { createCatchUp } from './catch-up.ts'
import type { LiveConnection } from './connection.ts'
import { createLiveConnections, LIVE_PATH } from './connections.ts'
import { createDeliveries, type Deliveries, SubscriptionTooSlow } from './deliveries.ts'
import { createDeliveryTurns } from './delivery-turns.ts'
import { LIVE_CLOSES, LIVE_LIMITS, type LiveLimits } from './limits.ts'
import { decodeCursorFor } from './resume-cursor.ts'
import type { SubscribeRequest } from './ws-protocol.ts'

/** What subscriptions work with. */
export interface SubscriptionDeps {
  readonly engine: GraphqlEngine
  readonly bus: Pick<Bus, 'tail'>
  readonly codec: Pick<Codec, 'decode'>
  readonly progress: StoreProgress
  readonly guard: Guard
  readonly meter: Meter
  readonly freshness: FreshnessReader
  readonly chains: readonly string[]
  /** Counts the connections of the port that the route is given to. */
  readonly admission: AdmissionControl
  readonly config: Pick<
    Config,
    'wsAllowedOrigins' | 'trustedProxies' | 'docsUrl' | 'errorsStatusMode'
  >
  readonly metrics: Metrics
  readonly log: Logger
  readonly nowMs: () => number
  readonly limits?: Partial<LiveLimits>
}

const BEAT_MS = 1_000

const isQuotaFault = (error: unknown): boolean =>
  error instanceof Fault && error.faultName === 'FORBIDDEN'

/** Why the server ended a subscription that had begun, as its metric says it. */
const endReason = (error: unknown): string => {
  if (error instanceof SubscriptionTooSlow) return 'slow'
  return isQuotaFault(error) ? 'quota' : 'error'
}

/** Why a subscription did not begin, as its metric says it. */
const refusalReason = (error: unknown): string => {
  if (isCursorFault(error)) return 'cursor'
  if (isQuotaFault(error)) return 'quota'
  if (publicErrors(error)) return 'request'
  if (!(error instanceof Fault)) return 'error'
  return error.faultName === 'RATE_LIMIT' ? 'limit' : error.status < 500 ? 'request' : 'error'
}

/** Errors as a client reads them; what is a defect or an outage is logged, and a defect counted. */
const createErrorReporter =
  ({ metrics, log }: Pick<SubscriptionDeps, 'metrics' | 'log'>) =>
  (error: unknown): readonly PublicError[] => {
    const known = publicErrors(error)
    if (known) return known
    if (error instanceof SubscriptionTooSlow) {
      const message =
        'The subscription is too far behind: subscribe again with the cursor of the last delivery'
      return [{ message, locations: [], extensions: { code: 'SUBSCRIPTION_TOO_SLOW' } }]
    }
    const fault = toFault(error)
    if (fault.status >= 500 && fault.status !== 501 && !isOverload(fault)) {
      log.error({ err: error }, 'GraphQL subscription failed')
      if (fault.faultName === 'INTERNAL_SERVER_ERROR')
        metrics.edgeErrors.inc({ surface: 'streams', reason: 'message' })
    }
    const { message, faultName: code } = fault
    return [{ message, locations: [], extensions: { code } }]
  }

/** The subscriptions of one organization. */
interface OrgSubscriptions {
  count: number
  /** Those that catch up run one after another, a few at a time. */
  readonly catchUpTurns: LimitFunction
}

/** Plans and counts the subscriptions of the process. */
const createSubscriber = (
  deps: SubscriptionDeps,
  limits: LiveLimits,
  feeds: ReadonlyMap<string, BlockFeed>,
) => {
  const { engine, meter, metrics } = deps
  const perOrg = new Map<string, OrgSubscriptions>()
  const running = new Set<object>()
  const turns = createDeliveryTurns(engine.reads, limits)
  const catchUp = createCatchUp(createBlockHistory(engine.reads), {
    maxSlots: limits.maxResumeSlots,
  })
  const count = (
    connection: LiveConnection,
    { orgId }: Principal,
    change: 1 | -1,
  ): OrgSubscriptions => {
    connection.subscriptions += change
    const org = perOrg.get(orgId) ?? { count: 0, catchUpTurns: pLimit(limits.catchUpsPerOrg) }
    org.count += change
    if (org.count > 0) perOrg.set(orgId, org)
    else perOrg.delete(orgId)
    return org
  }
  const requireRoom = (connection: LiveConnection, { orgId }: Principal): void => {
    const tooMany = (limit: number, whose: string): Fault =>
      new Fault('RATE_LIMIT', `No more than ${limit} subscriptions of one ${whose}`, { limit })
    if (connection.subscriptions >= limits.subscriptionsPerConnection)
      throw tooMany(limits.subscriptionsPerConnection, 'connection')
    if ((perOrg.get(orgId)?.count ?? 0) >= limits.subscriptionsPerOrg)
      throw tooMany(limits.subscriptionsPerOrg, 'organization')
  }
  const subscribe = async (
    connection: LiveConnection,
    principal: Principal,
    { resume, ...request }: SubscribeRequest,
  ): Promise<Deliveries> => {
    requireRoom(connection, principal)
    const { allowed, limit, resetAt } = await meter.take({ principal })
    if (!allowed)
      throw new Fault('RATE_LIMIT', undefined, { limit, remaining: 0, reset_at: resetAt })
    const plan = await planWithQuota(request, principal, { ...engine, meter })
    meter.reserve(principal, plan.worstMilliUnits, 'graphql').release()
    // Again: others may have been planned meanwhile.
    requireRoom(connection, principal)
    const chains = new Set(plan.selections.flatMap((selection) => selection.chains))
    const followed = [...chains].flatMap((chain) => feeds.get(chain) ?? [])
    const tips =
      resume === undefined
        ? undefined
        : decodeCursorFor(
            followed.map(({ chain }) => chain),
            resume,
          )
    const { catchUpTurns } = count(connection, principal, 1)
    const name = {}
    return createDeliveries(
      {
        plan,
        principal,
        feeds: followed,
        catchUpTurns,
        backlog: () => connection.backlog(),
        ...(tips && { resume: tips }),
        onBegin: () => metrics.graphqlSubscriptions.set(running.add(name).size),
        onEnd: (error) => {
          count(connection, principal, -1)
          const hadBegun = running.delete(name)
          metrics.graphqlSubscriptions.set(running.size)
          if (error !== undefined) countEnd(metrics, error, hadBegun)
        },
      },
      { ...deps, limits, catchUp, turns },
    )
  }
  return async (...given: Parameters<typeof subscribe>): Promise<Deliveries> => {
    try {
      return await subscribe(...given)
    } catch (error) {
      countEnd(metrics, error, false)
      throw error
    }
  }
}

/** A position that cannot be continued is found out once the subscription has its place: it counts as refused. */
const countEnd = (
  metrics: Pick<Metrics, 'graphqlSubscriptionsEnded' | 'graphqlSubscriptionsRefused'>,
  error: unknown,
  hadBegun: boolean,
): void => {
  if (hadBegun && !isCursorFault(error))
    metrics.graphqlSubscriptionsEnded.inc({ reason: endReason(error) })
  else metrics.graphqlSubscriptionsRefused.inc({ reason: refusalReason(error) })
}

/** Serves subscriptions on the path `/graphql` of the socket server that the route is given to. */
export const startSubscriptions = async (
  deps: SubscriptionDeps,
): Promise<RunningTask & { readonly route: SocketRoute }> => {
  const { config, guard, metrics, log, chains, engine } = deps
  const limits = { ...LIVE_LIMITS, ...deps.limits }
  const boundary = makeErrorBoundary({ ...deps, surface: 'streams' })
  const stopping = new AbortController()
  const reader = createBlockReader(engine.reads, stopping.signal)
  const feeds = new Map(
    chains.map((chain) => [
      chain,
      createBlockFeed({
        chain,
        reader,
        progress: deps.progress,
        onError: (error) => log.warn({ err: error, chain }, 'failed to read new blocks'),
      }),
    ]),
  )
  const notices = await announceBlocks(deps, feeds)
  const connections = createLiveConnections({
    ...deps,
    upgrade: {
      ...config,
      nowMs: deps.nowMs,
      statusMode: config.errorsStatusMode,
      allowedOrigins: config.wsAllowedOrigins,
    },
    limits,
    boundary,
    metrics,
    subscribe: createSubscriber(deps, limits, feeds),
    describeError: createErrorReporter(deps),
  })
  const stopListening = guard.onRevoked((gone) => connections.revoke(gone))
  const ticker = setInterval(() => boundary.run('timer', () => connections.beat()), BEAT_MS)
  const stop = async (): Promise<void> => {
    stopListening()
    clearInterval(ticker)
    connections.closeAll(LIVE_CLOSES.shutdown)
    for (const feed of feeds.values()) feed.close()
    stopping.abort()
    await notices.stop()
  }
  return { route: { path: LIVE_PATH, events: connections.events, stop }, stop }
}
