import { Fault } from '../../core/errors.ts'
import type { RoutePlugin } from './routing.ts'

/**
 * Documented operations that this build does not have: each answers 501 with the error body, and costs nothing. A row leaves
 * this table when the operation is built.
 */
export const NOT_IMPLEMENTED_ROUTES = [
  ['POST', '/dex/:chain/create'],
] as const satisfies readonly (readonly ['GET' | 'POST', string])[]

/** Operations of every version that answer 501. */
export const notImplementedRoutes: RoutePlugin = async (app) => {
  for (const [method, url] of NOT_IMPLEMENTED_ROUTES) {
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
