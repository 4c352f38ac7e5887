import assert from 'node:assert/strict'
import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { namedObject } from '../../schemas/api/common.ts'
import { statementOrgId } from '../interfaces.ts'
import { createCursors } from '../queries/cursors-and-pages.ts'
import { installQueryCaller } from '../queries/query-limiter.ts'
import { createPasswordAttempts } from '../red-packets/password-attempts.ts'
import { createPasswordAuthority } from '../red-packets/password-authority.ts'
import { accountRoutes } from './account.ts'
import { accountCredentialRoutes, linkAddressRoute } from './account-credentials.ts'
import { allChainRoutes } from './all-chain-routes.ts'
import { createBaseApp } from './base-app.ts'
import { candleRoutes } from './candles.ts'
import type { ServerDeps } from './deps.ts'
import { installEntityTags } from './entity-tag.ts'
import { gasLimitRoutes } from './gas-limit.ts'
import { EXPOSED_HEADERS, installGuard } from './guard-hooks.ts'
import { holderRoutes } from './holders.ts'
import { presignRoutes } from './ipfs-presign.ts'
import { createJobFollowers } from './job-followers.ts'
import { jobRoutes } from './jobs.ts'
import { marketDataRoutes } from './market-data.ts'
import { apiDocument, installOpenApiDocument } from './openapi.ts'
import { purchaseRoutes } from './purchases.ts'
import { redPacketTransactionRoutes } from './red-packet-transactions.ts'
import { redPacketListRoutes, redPacketRoute } from './red-packets.ts'
import { installReferencePage } from './reference-page.ts'
import { type RoutePlugin, VERSIONS } from './routing.ts'
import { sendRoutes } from './send.ts'
import { tokenSearchRoutes } from './token-search.ts'
import { tokenStatsRoutes } from './token-stats.ts'
import { createTransactionSender } from './transaction-sender.ts'
import { walletStatsRoutes } from './wallet-stats.ts'

/** What a balancer may ask in public; the reasons, metrics and everything else are on the operators' port. */
const PROBE_PATHS = ['/health', '/ready'] as const

const CORS_OPTIONS = {
  origin: '*',
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  exposedHeaders: [...EXPOSED_HEADERS],
  maxAge: 86_400,
  strictPreflight: false,
}

const ProbeBody = namedObject('Probe', { status: Type.String() })

/** Builds the API server with every route; listening is the caller's. `close()` ends open connections. */
export const createPublicServer = async (deps: ServerDeps): Promise<FastifyInstance> => {
  const document = apiDocument(deps.origin ?? 'the chains of this installation')
  const app = await createBaseApp(deps, document, {
    surface: 'public',
    first: async (base) => {
      await base.register(cors, CORS_OPTIONS)
    },
  })
  installUnguardedRoutes(app, deps)
  const cursors = createCursors(deps.config.keyPepper.reveal())
  const bounded = { ...deps, warehouse: deps.reader, cursors }
  const jobs = { jobs: deps.jobs, followers: createJobFollowers(deps) }
  const send = createTransactionSender(deps)
  app.addHook('preClose', async () => jobs.followers.close())
  const families: readonly RoutePlugin[] = [
    tokenSearchRoutes(bounded),
    tokenStatsRoutes(bounded),
    holderRoutes(bounded),
    marketDataRoutes(bounded),
    walletStatsRoutes(bounded, '/wallet/:chain/:walletAddress/stats'),
    walletStatsRoutes(bounded, '/wallet/:chain/:walletAddress'),
    candleRoutes(bounded),
    ...allChainRoutes.map((route) => route(bounded)),
    accountRoutes(deps),
    accountCredentialRoutes({ ...deps, cursors }),
    gasLimitRoutes(deps),
    sendRoutes({ ...deps, send }),
    jobRoutes(jobs),
    presignRoutes(deps),
    redPacketRoute(bounded),
    redPacketListRoutes(bounded),
    redPacketTransactionRoutes({
      ...bounded,
      send,
      attempts: createPasswordAttempts(deps.nowMs, deps.meter.counts),
      authorities: createPasswordAuthority(deps.config.keyPepper.reveal()),
    }),
    ...(deps.families ?? []),
  ]
  await app.register(async (guarded) => {
    guarded.addHook('onRoute', ({ url, config }) => {
      assert(config?.milliUnits !== undefined, `${url} has no price`)
    })
    installEntityTags(guarded)
    installGuard(guarded, deps, 'rest')
    installQueryCaller(guarded, statementOrgId)
    for (const prefix of VERSIONS) {
      for (const family of families) await guarded.register(family, { prefix })
    }
    await guarded.register(walletStatsRoutes(bounded, '/wallet/v1/:chain/:walletAddress/stats'))
    await guarded.register(jobRoutes(jobs, ['jobs']))
    await guarded.register(redPacketRoute(bounded))
    await guarded.register(linkAddressRoute({ ...deps, cursors }))
  })
  await app.register(purchaseRoutes(deps))
  for (const plugin of deps.plugins ?? []) await app.register(plugin)
  await app.ready()
  return app
}

const installUnguardedRoutes = (app: FastifyInstance, deps: ServerDeps): void => {
  installOpenApiDocument(app, deps)
  installReferencePage(app, deps)
  for (const path of PROBE_PATHS) {
    const response = path === '/health' ? { 200: ProbeBody } : { 200: ProbeBody, 503: ProbeBody }
    app.get(
      path,
      { schema: { summary: 'Operations', tags: ['ops'], response } },
      async (_request, reply) => {
        const isGood = path === '/health' || deps.checks.every(({ run }) => run().ok)
        reply.header('Cache-Control', 'no-store').status(isGood ? 200 : 503)
        return { status: path === '/health' ? 'ok' : isGood ? 'ready' : 'not ready' }
      },
    )
  }
}
