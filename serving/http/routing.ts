import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { isPayableRoute, ROUTE_MILLI_UNITS, type RouteName } from '../../schemas/plans.ts'

/** Routes of one family, mounted under every version prefix. */
export type RoutePlugin = FastifyPluginAsyncTypebox

/** Version segments: each V2 path also answers under `/v1`, with the same body. */
export const VERSIONS = ['/v2', '/v1'] as const

/** Route configuration of a priced route; `scopes` are needed beyond a credential. */
export const pricedRoute = (name: RouteName, scopes: readonly string[] = []) => ({
  milliUnits: ROUTE_MILLI_UNITS[name],
  scopes,
  isPayable: scopes.length === 0 && isPayableRoute(name),
  audit: scopes.some((scope) => scope.endsWith('.write')),
})

/** A registered route: what the 404 answer, the price test and the document need. */
export interface KnownRoute {
  readonly method: string
  readonly url: string
}

/** Methods that answer on `path`; a path without any is unknown. */
export const allowedMethods = (routes: readonly KnownRoute[], path: string): readonly string[] => {
  const parts = path.split('/')
  const fits = ({ url }: KnownRoute): boolean => {
    const pattern = url.split('/')
    return (
      pattern.length === parts.length &&
      pattern.every((part, index) =>
        part.startsWith(':') ? parts[index] !== '' : part === parts[index],
      )
    )
  }
  return [...new Set(routes.filter(fits).map(({ method }) => method))].toSorted()
}
