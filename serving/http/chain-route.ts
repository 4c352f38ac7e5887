import type { FastifyReply } from 'fastify'
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import type { Query } from '../../core/clickhouse/client.ts'
import { Fault, type FaultName } from '../../core/errors.ts'
import { ChainParam, PAGE_QUERY, pageOf, Success } from '../../schemas/api/common.ts'
import type { RouteName } from '../../schemas/plans.ts'
import { envelope, pageFrom } from '../queries/cursor.ts'
import { type List, type Placed, sliceQuery } from '../queries/keyset.ts'
import {
  addressesOf,
  addressOf,
  chainOf,
  type NamedChain,
  stampFreshness,
  walletOf,
} from './chain.ts'
import type { RouteDeps } from './deps.ts'
import { type Family, priced } from './routing.ts'

/** Paths under `:chain`, behind the version segment, that have a price. */
type ChainPath<Method extends 'GET' | 'POST'> = Extract<
  RouteName extends infer Name ? (Name extends `${Method} ${infer Path}` ? Path : never) : never,
  `${string}/:chain${string}`
>

/** One request of a route under `:chain`. Addresses in `params` and `query` are written as the tables hold them. */
export interface ChainRequest<Params, Parameters> {
  readonly deps: RouteDeps
  readonly chain: NamedChain
  readonly params: Params
  readonly query: Parameters
  readonly nowMs: number
  /** Rows of one statement, within the budget of the caller's plan. */
  rows<Row>(query: Query): Promise<readonly Row[]>
  /** The addresses of a comma-joined list. Throws `Fault` for a bad one and for more than 100. */
  addresses(list: 'tokenAddresses' | 'walletAddresses'): readonly string[]
}

/** Parameters that name one address, and how each is read. */
const ADDRESSES = {
  tokenAddress: addressOf,
  poolAddress: addressOf,
  walletAddress: walletOf,
  devAddress: walletOf,
  maker: walletOf,
} as const

const isAddress = (name: string): name is keyof typeof ADDRESSES => Object.hasOwn(ADDRESSES, name)

const withAddresses = <Values extends object>(chainId: string, values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      isAddress(name) && typeof value === 'string' && value !== ''
        ? ADDRESSES[name](chainId, value, name)
        : value,
    ]),
  ) as Values

interface RouteRow<
  Params extends TProperties,
  Parameters extends TProperties,
  Method extends 'GET' | 'POST' = 'GET',
> {
  /** Path behind the version segment; its price is a row of `schemas/plans.ts`. */
  readonly path: ChainPath<Method>
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
export interface ReadRow<
  Params extends TProperties,
  Parameters extends TProperties,
  Response extends TSchema,
> extends RouteRow<Params, Parameters> {
  readonly response: Response
  /**
   * What a chain answers of which this installation holds no data: an empty list or map, the fault of a missing record, or
   * `empty`: what `answer` makes of no rows, which then asks for none.
   */
  readonly absent: Absent
  readonly answer: (request: Request<Params, Parameters>) => Promise<Static<Response>>
}

/** A list of one chain, in pages. */
export interface PageRow<
  Params extends TProperties,
  Parameters extends TProperties,
  Item extends TSchema,
  Row extends Placed,
> extends RouteRow<Params, Parameters> {
  readonly item: Item
  /** What the answer has beside the fields of every list; `page` is its whole shape. */
  readonly more?: {
    readonly page: TObject
    readonly read: (request: Request<Params, Parameters>) => Promise<object>
  }
  readonly list: (request: Request<Params, Parameters>) => List | Promise<List>
  /** Bodies of a page's rows, in their order; one that vanished meanwhile may be left out. */
  readonly bodies: (
    rows: readonly Row[],
    request: Request<Params, Parameters>,
  ) => readonly Static<Item>[] | Promise<readonly Static<Item>[]>
}

type Absent = 'list' | 'map' | 'empty' | FaultName

const nothing = (absent: Exclude<Absent, 'empty'>): unknown => {
  if (absent === 'list') return []
  if (absent === 'map') return {}
  throw new Fault(absent)
}

const requestOf = <Params extends TProperties, Parameters extends TProperties>(
  deps: RouteDeps,
  params: Readonly<Record<string, unknown>> & { readonly chain: string },
  query: Readonly<Record<string, unknown>>,
): Request<Params, Parameters> => {
  const chain = chainOf(params.chain, deps.chains)
  return {
    deps,
    chain,
    params: withAddresses(chain.id, params) as Static<TObject<Params>>,
    query: withAddresses(chain.id, query) as Static<TObject<Parameters>>,
    nowMs: deps.nowMs(),
    rows: async (statement) => (await deps.warehouse.query<never>(statement)).rows,
    addresses: (list) => addressesOf(chain.id, String(query[list] ?? ''), list),
  }
}

interface RawRequest {
  readonly params: unknown
  readonly query: unknown
}

const mount =
  <
    Params extends TProperties,
    Parameters extends TProperties,
    Method extends 'GET' | 'POST' = 'GET',
  >(
    row: RouteRow<Params, Parameters, Method>,
    response: TSchema,
    answer: (request: Request<Params, Parameters>, reply: FastifyReply) => Promise<unknown>,
    { method, body }: { readonly method: 'GET' | 'POST'; readonly body?: TSchema } = {
      method: 'GET',
    },
  ) =>
  (deps: RouteDeps): Family =>
  async (app) => {
    app.route({
      method,
      url: row.path,
      schema: {
        summary: row.summary,
        tags: [row.tag],
        params: Type.Object({ chain: ChainParam, ...row.params }),
        querystring: Type.Object(row.query),
        ...(body !== undefined && { body }),
        response: { 200: response },
      },
      config: priced(`${method} ${row.path}` as RouteName),
      handler: async (raw: RawRequest, reply) => {
        const request = requestOf<Params, Parameters>(
          deps,
          raw.params as { readonly chain: string },
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
export const chainAccept = <Params extends TProperties>(
  row: Omit<RouteRow<Params, TProperties, 'POST'>, 'query'> & { readonly body?: TSchema },
): ChainRoute =>
  mount({ ...row, query: {} }, Success, async () => ({ success: true }), {
    method: 'POST',
    ...(row.body !== undefined && { body: row.body }),
  })

/** A route under `:chain`, once the server's parts are known. */
export type ChainRoute = (deps: RouteDeps) => Family

/** A route that answers one value: a record, a bare list or a map by address. */
export const chainRead = <
  Params extends TProperties,
  Parameters extends TProperties,
  Response extends TSchema,
>(
  row: ReadRow<Params, Parameters, Response>,
): ChainRoute =>
  mount(row, row.response, async (request, reply) => {
    const { chain, deps } = request
    if (!chain.enabled && row.absent !== 'empty') return nothing(row.absent)
    if (chain.enabled) await stampFreshness(reply, deps.freshness, chain.id)
    return row.answer(request)
  })

const PLACE = Type.Object({ at: Type.Array(Type.String({ maxLength: 256 }), { maxItems: 8 }) })

type Paged = Static<TObject<typeof PAGE_QUERY>>

/** What a place in a list depends on: the path and every parameter but those that move through it. */
const listOf = (
  path: string,
  { chain, params, query }: ChainRequest<object, object>,
): readonly unknown[] => {
  const { cursor: _cursor, limit: _limit, direction: _direction, ...asked } = query as Paged
  return [path, chain.id, Object.entries({ ...params, ...asked, chain: chain.id }).toSorted()]
}

/** Reads one page of a list, in the envelope of lists. */
export const readPage = async <Row extends Placed, Body>(
  request: ChainRequest<object, object>,
  path: string,
  {
    list,
    bodies,
  }: {
    readonly list: () => List | Promise<List>
    readonly bodies: (rows: readonly Row[]) => readonly Body[] | Promise<readonly Body[]>
  },
) => {
  const { limit = 20, direction = 'next', cursor } = request.query as Paged
  const codec = request.deps.cursors(PLACE, listOf(path, request))
  const after = cursor === undefined ? undefined : codec.decode(cursor).at
  const rows = request.chain.enabled
    ? await request.rows<Row>(sliceQuery(await list(), { direction, after, rows: limit + 1 }))
    : []
  const asked = { limit, direction, hasCursor: after !== undefined }
  const page = pageFrom(rows, asked, ({ place }) => codec.encode({ at: [...place] }))
  const data = await bodies(page.data)
  return envelope({ ...page, data }, (body) => [body])
}

/** A route that answers a list in pages: its query has `cursor`, `limit` and `direction` beside its own parameters. */
export const chainPage = <
  Params extends TProperties,
  Parameters extends TProperties,
  Item extends TSchema,
  Row extends Placed,
>(
  row: PageRow<Params, Parameters, Item, Row>,
): ChainRoute =>
  mount(
    { ...row, query: { ...PAGE_QUERY, ...row.query } },
    row.more?.page ?? pageOf(row.item),
    async (request, reply) => {
      const asked = request as unknown as Request<Params, Parameters>
      if (asked.chain.enabled) await stampFreshness(reply, asked.deps.freshness, asked.chain.id)
      const [page, more] = await Promise.all([
        readPage<Row, Static<Item>>(request as never, row.path, {
          list: () => row.list(asked),
          bodies: (rows) => row.bodies(rows, asked),
        }),
        row.more?.read(asked),
      ])
      return { ...page, ...more }
    },
  )
