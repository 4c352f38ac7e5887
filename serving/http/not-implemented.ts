import { Fault } from '../../core/errors.ts'
import type { RoutePlugin } from './routing.ts'

/**
 * Documented operations that this build does not have: each answers 501 with the error body, and costs nothing. A row leaves
 * this table when the operation is built.
 */
export const NOT_IMPLEMENTED_ROUTES = [
  ['POST', '/dex/:chain/route'],
  ['GET', '/dex/:chain/quote'],
  ['POST', '/dex/:chain/swap'],
  ['POST', '/dex/:chain/create'],
  ['POST', '/transaction/:chain/send'],
  ['GET', '/transaction/:chain/gas-price'],
  ['POST', '/transaction/:chain/estimate-gas-limit'],
  ['GET', '/job/:id'],
  ['GET', '/job/:id/streaming'],
  ['GET', '/jobs/:id'],
  ['GET', '/jobs/:id/streaming'],
  ['GET', '/redpacket'],
  ['GET', '/redpacket/:id'],
  ['GET', '/redpacket/:id/claims'],
  ['GET', '/redpacket/wallet/:address/claims'],
  ['GET', '/redpacket/wallet/:address/redpackets'],
  ['POST', '/redpacket/:chain/create'],
  ['POST', '/redpacket/:chain/claim'],
  ['POST', '/redpacket/:chain/send'],
  ['POST', '/kyt/address'],
  ['GET', '/kyt/addresses/:address/risk'],
  ['POST', '/kyt/transfer'],
  ['GET', '/kyt/transfers/:transferId/summary'],
  ['GET', '/kyt/transfers/:transferId/alerts'],
  ['GET', '/kyt/transfers/:transferId/exposures/direct'],
  ['GET', '/kyt/transfers/:transferId/network-identifications'],
  ['POST', '/kyt/withdrawal'],
  ['GET', '/kyt/withdrawal/:withdrawalId/summary'],
  ['GET', '/kyt/withdrawal/:withdrawalId/alerts'],
  ['GET', '/kyt/withdrawal/:withdrawalId/exposures/direct'],
  ['GET', '/kyt/withdrawal/:withdrawalId/network-identifications'],
  ['GET', '/kyt/withdrawal/:withdrawalId/address-identifications'],
  ['GET', '/kyt/withdrawal/:withdrawalId/fraud-assessment'],
  ['GET', '/token/:chain/:tokenAddress/logo-duplicates'],
  ['GET', '/wallet/:chain/:walletAddress/balance'],
  ['POST', '/ipfs/presign'],
  ['GET', '/prediction/events/:eventSlug/activities'],
  ['GET', '/prediction/markets/:conditionId/activities'],
  ['GET', '/prediction/markets/:conditionId/holders'],
  ['GET', '/prediction/markets/:conditionId/holder-stats'],
  ['GET', '/prediction/markets/:conditionId/traders'],
  ['GET', '/prediction/wallets/:wallet/pnl'],
  ['GET', '/prediction/leaderboard'],
] as const satisfies readonly (readonly ['GET' | 'POST', string])[]

/** Documented operations without a version segment that this build does not have. */
const UNVERSIONED_ROUTES = [
  ['GET', '/redpacket/:id'],
  ['GET', '/jobs/:id'],
  ['GET', '/jobs/:id/streaming'],
] as const

const createNotImplementedRoutes =
  (rows: readonly (readonly ['GET' | 'POST', string])[]): RoutePlugin =>
  async (app) => {
    for (const [method, url] of rows) {
      app.route({
        method,
        url,
        // The document describes what is offered.
        schema: { hide: true },
        config: { milliUnits: 0 },
        handler: async () => {
          throw new Fault('NOT_IMPLEMENTED')
        },
      })
    }
  }

/** Operations of every version that answer 501. */
export const notImplementedRoutes: RoutePlugin = createNotImplementedRoutes(NOT_IMPLEMENTED_ROUTES)

/** Operations without a version that answer 501. */
export const notImplementedUnversionedRoutes: RoutePlugin =
  createNotImplementedRoutes(UNVERSIONED_ROUTES)
