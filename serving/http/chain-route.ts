import type { FastifyReply } from 'fastify'
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import type { Query } from '../../core/clickhouse/client.ts'
import { Fault, type FaultName } from '../../core/errors.ts'
import { ChainParam, PAGE_QUERY, pageOf } from '../../schemas/api/common.ts'
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

/** Paths behind the version segment that are read with GET and have a price. */
type ReadPath = RouteName extends infer Name
  ? Name extends `GET ${infer Path}`
    ? Path
    : never
  : never

type ChainPath = Extract<ReadPath, `${string}/:chain${string}`>

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

interface RouteRow<Params extends TProperties, Parameters extends TProperties> {
  /** Path behind the version segment; its price is a row of `schemas/plans.ts`. */
  readonly path: ChainPath
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
  /** What a chain answers of which this installation holds no data: an empty list or map, or the fault of a missing record. */
  readonly absent: 'list' | 'map' | FaultName
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
  readonly list: (request: Request<Params, Parameters>) => List | Promise<List>
  /** Bodies of a page's rows, in their order; one that vanished meanwhile may be left out. */
  readonly bodies: (
    rows: readonly Row[],
    request: Request<Params, Parameters>,
  ) => readonly Static<Item>[] | Promise<readonly Static<Item>[]>
}

const nothing = (absent: 'list' | 'map' | FaultName): unknown => {
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
  <Params extends TProperties, Parameters extends TProperties>(
    row: RouteRow<Params, Parameters>,
    response: TSchema,
    answer: (request: Request<Params, Parameters>, reply: FastifyReply) => Promise<unknown>,
  ) =>
  (deps: RouteDeps): Family =>
  async (app) => {
    app.get(
      row.path,
      {
        schema: {
          summary: row.summary,
          tags: [row.tag],
          params: Type.Object({ chain: ChainParam, ...row.params }),
          querystring: Type.Object(row.query),
          response: { 200: response },
        },
        config: priced(`GET ${row.path}` as RouteName),
      },
      async (raw: RawRequest, reply) => {
        const request = requestOf<Params, Parameters>(
          deps,
          raw.params as { readonly chain: string },
          raw.query as Readonly<Record<string, unknown>>,
        )
        return (await answer(request, reply)) as never
      },
    )
  }

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
    if (!request.chain.enabled) return nothing(row.absent)
    await stampFreshness(reply, request.deps.freshness, request.chain.id)
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
    pageOf(row.item),
    async (request, reply) => {
      const asked = request as unknown as Request<Params, Parameters>
      if (asked.chain.enabled) await stampFreshness(reply, asked.deps.freshness, asked.chain.id)
      return readPage<Row, Static<Item>>(request as never, row.path, {
        list: () => row.list(asked),
        bodies: (rows) => row.bodies(rows, asked),
      })
    },
  )
