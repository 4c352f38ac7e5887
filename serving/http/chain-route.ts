import type { FastifyReply } from 'fastify'
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import type { Query } from '../../core/clickhouse/client.ts'
import { Fault, type FaultName } from '../../core/errors.ts'
import { ChainParam, makePage, PAGE_QUERY, Success } from '../../schemas/api/common.ts'
import type { ChainId } from '../../schemas/chains.ts'
import type { RouteName } from '../../schemas/plans.ts'
import { createPage, pageEnvelope } from '../queries/cursors-and-pages.ts'
import type { KeysetList, KeysetRow } from '../queries/keyset-list.ts'
import { readInWindows } from '../queries/read-in-windows.ts'
import {
  parseAddressList,
  parseChain,
  parseTokenAddress,
  parseWalletAddress,
  type RequestedChain,
  setFreshnessHeaders,
} from './chain-parameters.ts'
import type { RouteDeps } from './deps.ts'
import { writeRowsOnce } from './page-text.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

/** Paths behind the version segment that have a price: under `:chain`, or of what there is on one chain alone. */
type ChainPath<Method extends 'GET' | 'POST'> = Extract<
  RouteName extends infer Name ? (Name extends `${Method} ${infer Path}` ? Path : never) : never,
  `${string}/:chain${string}` | `/prediction/${string}`
>

/** One request of a route under `:chain`. Addresses in `params` and `query` are written as the tables hold them. */
export interface ChainRequest<Params, Parameters> {
  readonly deps: RouteDeps
  readonly chain: RequestedChain
  readonly params: Params
  readonly query: Parameters
  readonly nowMs: number
  /** Rows of one statement, within the budget of the caller's plan. */
  rows<Row>(query: Query): Promise<readonly Row[]>
  /** The addresses of a comma-joined list. Throws `Fault` for a bad one and for more than 100. */
  addresses(list: 'tokenAddresses' | 'walletAddresses'): readonly string[]
}

/** Parameters that name one address, and how each is read. */
const ADDRESS_PARSERS = {
  tokenAddress: parseTokenAddress,
  poolAddress: parseTokenAddress,
  walletAddress: parseWalletAddress,
  devAddress: parseWalletAddress,
  maker: parseWalletAddress,
  wallet: parseWalletAddress,
} as const

const isAddressParameter = (name: string): name is keyof typeof ADDRESS_PARSERS =>
  Object.hasOwn(ADDRESS_PARSERS, name)

const normalizeAddresses = <Values extends object>(chainId: string, values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      isAddressParameter(name) && typeof value === 'string' && value !== ''
        ? ADDRESS_PARSERS[name](chainId, value, name)
        : value,
    ]),
  ) as Values

interface RouteDefinition<
  Params extends TProperties,
  Parameters extends TProperties,
  Method extends 'GET' | 'POST' = 'GET',
> {
  /** Path behind the version segment; its price is a row of `schemas/plans.ts`. */
  readonly path: ChainPath<Method>
  /** The chain of a path that names none. */
  readonly chain?: ChainId
  readonly summary: string
  readonly tag: string
  /** Path parameters beside `chain`. */
  readonly params: Params
  readonly query: Parameters
}

type Request<Params extends TProperties, Parameters extends TProperties> = ChainRequest<
  Static<TObject<Params>>,
  Static<TObject<Parameters>>
>

/** A read of one chain. */
export interface ReadDefinition<
  Params extends TProperties,
  Parameters extends TProperties,
  Response extends TSchema,
> extends RouteDefinition<Params, Parameters> {
  readonly response: Response
  /**
   * What a chain answers of which this installation holds no data: an empty list or map, the fault of a missing record, or
   * `empty`: what `answer` makes of no rows, which then asks for none.
   */
  readonly absent: DisabledChainResponse
  readonly answer: (request: Request<Params, Parameters>) => Promise<Static<Response>>
}

/** A list of one chain, in pages. */
export interface PageDefinition<
  Params extends TProperties,
  Parameters extends TProperties,
  Item extends TSchema,
  Row extends KeysetRow,
> extends RouteDefinition<Params, Parameters> {
  readonly item: Item
  /** What the answer has beside the fields of every list; `page` is its whole shape. */
  readonly more?: {
    readonly page: TObject
    readonly read: (request: Request<Params, Parameters>) => Promise<object>
  }
  readonly list: (request: Request<Params, Parameters>) => KeysetList | Promise<KeysetList>
  /** Bodies of a page's rows, in their order; one that vanished meanwhile may be left out. */
  readonly bodies: (
    rows: readonly Row[],
    request: Request<Params, Parameters>,
  ) => readonly Static<Item>[] | Promise<readonly Static<Item>[]>
}

type DisabledChainResponse = 'list' | 'map' | 'empty' | FaultName

const disabledChainBody = (absent: Exclude<DisabledChainResponse, 'empty'>): unknown => {
  if (absent === 'list') return []
  if (absent === 'map') return {}
  throw new Fault(absent)
}

const toChainRequest = <Params extends TProperties, Parameters extends TProperties>(
  deps: RouteDeps,
  params: Readonly<Record<string, unknown>> & { readonly chain: string },
  query: Readonly<Record<string, unknown>>,
): Request<Params, Parameters> => {
  const chain = parseChain(params.chain, deps.chains)
  return {
    deps,
    chain,
    params: normalizeAddresses(chain.id, params) as Static<TObject<Params>>,
    query: normalizeAddresses(chain.id, query) as Static<TObject<Parameters>>,
    nowMs: deps.nowMs(),
    rows: async (statement) => (await deps.warehouse.query<never>(statement)).rows,
    addresses: (list) => parseAddressList(chain.id, String(query[list] ?? ''), list),
  }
}

interface RawRequest {
  readonly params: unknown
  readonly query: unknown
}

const mountRoute =
  <
    Params extends TProperties,
    Parameters extends TProperties,
    Method extends 'GET' | 'POST' = 'GET',
  >(
    row: RouteDefinition<Params, Parameters, Method>,
    response: TSchema,
    answer: (request: Request<Params, Parameters>, reply: FastifyReply) => Promise<unknown>,
    { method, body }: { readonly method: 'GET' | 'POST'; readonly body?: TSchema } = {
      method: 'GET',
    },
  ) =>
  (deps: RouteDeps): RoutePlugin =>
  async (app) => {
    app.route({
      method,
      url: row.path,
      schema: {
        summary: row.summary,
        tags: [row.tag],
        params: Type.Object({
          ...(row.chain === undefined && { chain: ChainParam }),
          ...row.params,
        }),
        querystring: Type.Object(row.query),
        ...(body !== undefined && { body }),
        response: { 200: response },
      },
      config: pricedRoute(`${method} ${row.path}` as RouteName),
      handler: async (raw: RawRequest, reply) => {
        const request = toChainRequest<Params, Parameters>(
          deps,
          { ...(row.chain && { chain: row.chain }), ...(raw.params as object) } as {
            readonly chain: string
          },
          raw.query as Readonly<Record<string, unknown>>,
        )
        return (await answer(request, reply as FastifyReply)) as never
      },
    })
  }

/**
 * A request whose effect always holds already: it is checked and answered with success, on any chain that there is.
 * `body`, where one may come, is checked as well.
 */
export const defineAcceptRoute = <Params extends TProperties>(
  row: Omit<RouteDefinition<Params, TProperties, 'POST'>, 'query'> & { readonly body?: TSchema },
): ChainRoute =>
  mountRoute({ ...row, query: {} }, Success, async () => ({ success: true }), {
    method: 'POST',
    ...(row.body !== undefined && { body: row.body }),
  })

/** A route under `:chain`, once the server's parts are known. */
export type ChainRoute = (deps: RouteDeps) => RoutePlugin

/** A route that answers one value: a record, a bare list or a map by address. */
export const defineReadRoute = <
  Params extends TProperties,
  Parameters extends TProperties,
  Response extends TSchema,
>(
  row: ReadDefinition<Params, Parameters, Response>,
): ChainRoute =>
  mountRoute(row, row.response, async (request, reply) => {
    const { chain, deps } = request
    if (!chain.enabled && row.absent !== 'empty') return disabledChainBody(row.absent)
    if (chain.enabled) await setFreshnessHeaders(reply, deps.freshness, chain.id)
    return row.answer(request)
  })

const CURSOR_PAYLOAD = Type.Object({
  at: Type.Array(Type.String({ maxLength: 256 }), { maxItems: 8 }),
})

/** Rows of a page that does not say how many. */
const DEFAULT_LIMIT = 20

type PageParameters = Static<TObject<typeof PAGE_QUERY>>

/** What a place in a list depends on: the path and every parameter but those that move through it. */
const cursorScope = (
  path: string,
  { chain, params, query }: ChainRequest<object, object>,
): readonly unknown[] => {
  const {
    cursor: _cursor,
    limit: _limit,
    direction: _direction,
    ...pageRequest
  } = query as PageParameters
  return [path, chain.id, Object.entries({ ...params, ...pageRequest, chain: chain.id }).toSorted()]
}

/** Reads one page of a list, in the envelope of lists. */
export const readPage = async <Row extends KeysetRow, Body>(
  request: ChainRequest<object, object>,
  path: string,
  {
    list,
    bodies,
  }: {
    readonly list: () => KeysetList | Promise<KeysetList>
    readonly bodies: (rows: readonly Row[]) => readonly Body[] | Promise<readonly Body[]>
  },
) => {
  const { limit = DEFAULT_LIMIT, direction = 'next', cursor } = request.query as PageParameters
  const codec = request.deps.cursors(CURSOR_PAYLOAD, cursorScope(path, request))
  const after = cursor === undefined ? undefined : codec.decode(cursor).at
  const rows = request.chain.enabled
    ? await readInWindows<Row>(
        await list(),
        { direction, after, rows: limit + 1 },
        {
          chain: await request.deps.freshness.of(request.chain.id),
          query: (statement) => request.rows<Row>(statement),
        },
      )
    : []
  const pageRequest = { limit, direction, hasCursor: after !== undefined }
  const page = createPage(rows, pageRequest, ({ place }) => codec.encode({ at: [...place] }))
  const data = await bodies(page.data)
  return pageEnvelope({ ...page, data }, (body) => [body])
}

/** A route that answers a list in pages: its query has `cursor`, `limit` and `direction` beside its own parameters. */
export const definePageRoute = <
  Params extends TProperties,
  Parameters extends TProperties,
  Item extends TSchema,
  Row extends KeysetRow,
>(
  row: PageDefinition<Params, Parameters, Item, Row>,
): ChainRoute => {
  const schemas = { page: row.more?.page ?? makePage(row.item), rows: Type.Array(row.item) }
  return mountRoute(
    { ...row, query: { ...PAGE_QUERY, ...row.query } },
    schemas.page,
    async (request, reply) => {
      const pageRequest = request as unknown as Request<Params, Parameters>
      if (pageRequest.chain.enabled)
        await setFreshnessHeaders(reply, pageRequest.deps.freshness, pageRequest.chain.id)
      const [page, more] = await Promise.all([
        readPage<Row, Static<Item>>(request as never, row.path, {
          list: () => row.list(pageRequest),
          bodies: (rows) => row.bodies(rows, pageRequest),
        }),
        row.more?.read(pageRequest),
      ])
      writeRowsOnce(reply, schemas)
      return { ...page, ...more }
    },
  )
}

/** A page of a list, for an envelope of its own. */
export interface ShapedPage<Row> {
  readonly rows: readonly Row[]
  readonly limit: number
  /** Of the page behind it; null at the end. */
  readonly cursor: string | null
}

/** A list of one chain in an envelope of its own: what clients of such an operation read. */
export interface ShapedPageDefinition<
  Params extends TProperties,
  Parameters extends TProperties,
  Response extends TSchema,
  Row extends KeysetRow,
> extends RouteDefinition<Params, Parameters> {
  readonly response: Response
  readonly list: (request: Request<Params, Parameters>) => KeysetList
  /** The answer of a page. */
  readonly answer: (
    page: ShapedPage<Row>,
    request: Request<Params, Parameters>,
  ) => Static<Response> | Promise<Static<Response>>
}

/** A route that answers a list forwards, in an envelope of its own: its query has `cursor` and `limit` beside its own parameters. */
export const defineShapedPageRoute = <
  Params extends TProperties,
  Parameters extends TProperties,
  Response extends TSchema,
  Row extends KeysetRow,
>(
  row: ShapedPageDefinition<Params, Parameters, Response, Row>,
): ChainRoute => {
  const { direction: _, ...forwards } = PAGE_QUERY
  return mountRoute(
    { ...row, query: { ...forwards, ...row.query } },
    row.response,
    async (request, reply) => {
      const pageRequest = request as unknown as Request<Params, Parameters>
      if (pageRequest.chain.enabled)
        await setFreshnessHeaders(reply, pageRequest.deps.freshness, pageRequest.chain.id)
      const page = await readPage<Row, Row>(request as never, row.path, {
        list: () => row.list(pageRequest),
        bodies: (rows) => rows,
      })
      const { limit = DEFAULT_LIMIT } = request.query as PageParameters
      return row.answer({ rows: page.data, limit, cursor: page.nextCursor || null }, pageRequest)
    },
  )
}
