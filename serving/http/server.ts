import assert from 'node:assert/strict'
import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { namedObject } from '../../schemas/api/common.ts'
import { makeCursors } from '../queries/cursor.ts'
import { accountRoutes } from './account.ts'
import { makeBaseApp } from './base.ts'
import { boundedReader, installCaller } from './bounded.ts'
import { candleRoutes } from './candles.ts'
import { chainRoutes } from './chain-routes.ts'
import type { ServerDeps } from './deps.ts'
import { installEntityTags } from './entity-tag.ts'
import { EXPOSED_HEADERS, installGuard } from './guard-hooks.ts'
import { holderRoutes } from './holders.ts'
import { marketDataRoutes } from './market-data.ts'
import { notOffered, notOfferedUnversioned } from './not-offered.ts'
import { apiDocument, installDocument } from './openapi.ts'
import { installReference } from './reference.ts'
import { type Family, VERSIONS } from './routing.ts'
import { tokenSearchRoutes } from './token-search.ts'
import { tokenStatsRoutes } from './token-stats.ts'
import { walletRoutes } from './wallet.ts'

/** What a balancer may ask in public; the reasons, metrics and everything else are on the operators' port. */
const PROBES = ['/health', '/ready'] as const

const CORS = {
  origin: '*',
  exposedHeaders: [...EXPOSED_HEADERS],
  maxAge: 86_400,
  strictPreflight: false,
}

const Probe = namedObject('Probe', { status: Type.String() })

/** Builds the API server with every route; listening is the caller's. `close()` ends open connections. */
export const makeServer = async (deps: ServerDeps): Promise<FastifyInstance> => {
  const document = apiDocument(deps.origin ?? 'the chains of this installation')
  const app = await makeBaseApp(deps, document, {
    surface: 'public',
    first: async (base) => {
      await base.register(cors, CORS)
    },
  })
  openRoutes(app, deps)
  const cursors = makeCursors(deps.config.keyPepper.reveal())
  const bounded = { ...deps, warehouse: boundedReader(deps.warehouse, deps.metrics), cursors }
  const families: readonly Family[] = [
    tokenSearchRoutes(bounded),
    tokenStatsRoutes(bounded),
    holderRoutes(bounded),
    marketDataRoutes(bounded),
    walletRoutes(bounded, '/wallet/:chain/:walletAddress/stats'),
    walletRoutes(bounded, '/wallet/:chain/:walletAddress'),
    candleRoutes(bounded),
    ...chainRoutes.map((route) => route(bounded)),
    accountRoutes(deps),
    notOffered,
    ...(deps.families ?? []),
  ]
  await app.register(async (guarded) => {
    guarded.addHook('onRoute', ({ url, config }) => {
      assert(config?.milliUnits !== undefined, `${url} has no price`)
    })
    installEntityTags(guarded)
    installGuard(guarded, deps, 'rest')
    installCaller(guarded)
    for (const prefix of VERSIONS) {
      for (const family of families) await guarded.register(family, { prefix })
    }
    await guarded.register(walletRoutes(bounded, '/wallet/v1/:chain/:walletAddress/stats'))
    await guarded.register(notOfferedUnversioned)
  })
  for (const plugin of deps.plugins ?? []) await app.register(plugin)
  await app.ready()
  return app
}

const openRoutes = (app: FastifyInstance, deps: ServerDeps): void => {
  installDocument(app)
  installReference(app)
  for (const path of PROBES) {
    const response = path === '/health' ? { 200: Probe } : { 200: Probe, 503: Probe }
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
