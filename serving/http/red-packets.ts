import { type Static, Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import {
  RED_PACKET_PAGE_QUERY,
  RED_PACKET_PARAM,
  RED_PACKET_WALLET_PARAM,
  RED_PACKETS_QUERY,
  RedPacket,
  RedPacketClaimsPage,
  RedPacketsPage,
  RedPacketsPageV1,
  RedPacketV1,
} from '../../schemas/api/red-packet.ts'
import { createPage } from '../queries/cursors-and-pages.ts'
import { type KeysetList, type KeysetRow, sliceQuery } from '../queries/keyset-list.ts'
import {
  type RedPacketClaimListRow,
  type RedPacketListRow,
  type RedPacketPlace,
  type RedPacketScope,
  redPacketClaimCount,
  redPacketClaimList,
  redPacketCount,
  redPacketList,
} from '../queries/red-packets.ts'
import { claimBody, packetBody, packetBodyV1 } from '../red-packets/packet-body.ts'
import {
  claimedPackets,
  packetChains,
  packetState,
  packetStates,
  packetWallet,
  storedPacketId,
} from '../red-packets/packet-reader.ts'
import { parseChain } from './chain-parameters.ts'
import type { RouteDeps } from './deps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

const TAGS = ['red packet']
const DEFAULT_LIMIT = 20
const CURSOR_PAYLOAD = Type.Object({
  at: Type.Array(Type.String({ maxLength: 128 }), { maxItems: 4 }),
})

const PageQuery = Type.Object(RED_PACKET_PAGE_QUERY)
type PageRequest = Static<typeof PageQuery>

/** Version 2 prints the claimed amount as text, version 1 and the path without a version as a number. */
const isVersion2 = ({ prefix }: { readonly prefix: string }): boolean => prefix.endsWith('/v2')

/** A list of packets or of claims. */
interface ListRequest<Row> {
  readonly name: string
  readonly scope: RedPacketScope
  readonly query: PageRequest
  readonly list: (scope: RedPacketScope) => KeysetList
  readonly count: (scope: RedPacketScope) => ReturnType<typeof redPacketCount>
  readonly bodies: (rows: readonly Row[]) => Promise<readonly unknown[]>
}

/**
 * How a list is read. A cursor is a place in either order: `asc` continues with newer rows from it, `next` and `desc` to older ones; `prev`
 * reads newer ones as well, and shows the newest first.
 */
const orderOf = ({ direction = 'next' }: PageRequest) => {
  const word = direction.toLowerCase()
  return {
    descending: word !== 'asc',
    direction: word === 'prev' ? 'prev' : 'next',
  } as const
}

const EMPTY_PAGE = {
  records: [],
  total: 0,
  hasNextPage: false,
  hasMore: false,
  startCursor: null,
  endCursor: null,
  nextCursor: '',
}

const readList = async <Row extends KeysetRow>(
  { warehouse, cursors }: RouteDeps,
  { name, scope, query, list, count, bodies }: ListRequest<Row>,
) => {
  if (scope.chains.length === 0) return EMPTY_PAGE
  const { limit = DEFAULT_LIMIT, cursor } = query
  const { descending, direction } = orderOf(query)
  const codec = cursors(CURSOR_PAYLOAD, [name, Object.entries(scope).toSorted()])
  const after = cursor === undefined ? undefined : codec.decode(cursor).at
  const [{ rows }, counted] = await Promise.all([
    warehouse.query<Row>(
      sliceQuery({ ...list(scope), descending }, { direction, after, rows: limit + 1 }),
    ),
    warehouse.query<{ readonly total: string }>(count(scope)),
  ])
  const pageRequest = { limit, direction, hasCursor: after !== undefined }
  const page = createPage(rows, pageRequest, ({ place }) => codec.encode({ at: [...place] }))
  return {
    records: await bodies(page.data),
    total: Number(counted.rows[0]?.total ?? 0),
    hasNextPage: page.hasNext,
    hasMore: page.hasNext,
    startCursor: page.startCursor,
    endCursor: page.endCursor,
    nextCursor: page.hasNext ? (page.endCursor ?? '') : '',
  }
}

/** One packet, under every version and without one. */
export const redPacketRoute =
  (deps: RouteDeps): RoutePlugin =>
  async (app) => {
    const isNew = isVersion2(app)
    app.get(
      '/redpacket/:id',
      {
        schema: {
          summary: 'A red packet, by its address or share id',
          tags: TAGS,
          params: Type.Object(RED_PACKET_PARAM),
          response: { 200: isNew ? RedPacket : RedPacketV1 },
        },
        config: pricedRoute('GET /redpacket/:id'),
      },
      async ({ params }) => {
        const id = storedPacketId(params.id)
        const body = packetBody(await packetState(deps, { chains: packetChains(deps.chains), id }))
        // A number of the answer may have more digits than a double: it is written from an integer without end.
        return (isNew ? body : packetBodyV1(body)) as never
      },
    )
  }

/** Lists of packets and of claims. */
const createLists = (deps: RouteDeps, isNew: boolean) => ({
  packets: async (name: string, scope: RedPacketScope, query: PageRequest): Promise<never> =>
    (await readList<RedPacketListRow>(deps, {
      name,
      scope,
      query,
      list: redPacketList,
      count: redPacketCount,
      bodies: async (rows) => {
        const bodies = (await packetStates(deps, rows)).map(packetBody)
        return isNew ? bodies : bodies.map(packetBodyV1)
      },
    })) as never,
  /** `since`: the creation that claims are of; a cursor does not name it, so that it stays valid where the address is used again. */
  claims: async (
    name: string,
    scope: RedPacketScope,
    query: PageRequest,
    since?: RedPacketPlace,
  ): Promise<never> =>
    (await readList<RedPacketClaimListRow>(deps, {
      name,
      scope,
      query,
      list: (given) => redPacketClaimList({ ...given, since }),
      count: (given) => redPacketClaimCount({ ...given, since }),
      bodies: async (rows) => {
        const packetOf = await claimedPackets(deps, rows)
        return rows.map((row) => claimBody(row, packetOf(row)))
      },
    })) as never,
})

/** Red packets and their claims over all chains. */
export const redPacketListRoutes =
  (deps: RouteDeps): RoutePlugin =>
  async (app) => {
    await app.register(packetListRoutes(deps))
    await app.register(claimListRoutes(deps))
  }

const packetListRoutes =
  (deps: RouteDeps): RoutePlugin =>
  async (app) => {
    const isNew = isVersion2(app)
    const { packets } = createLists(deps, isNew)
    const everywhere = packetChains(deps.chains)
    const response = { 200: isNew ? RedPacketsPage : RedPacketsPageV1 }
    app.get(
      '/redpacket',
      {
        schema: {
          summary: 'Red packets, newest first',
          tags: TAGS,
          querystring: Type.Object(RED_PACKETS_QUERY),
          response,
        },
        config: pricedRoute('GET /redpacket'),
      },
      async ({ query }) => {
        const chain = query.chain === undefined ? undefined : parseChain(query.chain, deps.chains)
        const wanted = everywhere.filter((id) => chain === undefined || id === chain.id)
        if (query.creator === undefined) return packets('all', { chains: wanted }, query)
        const { address: creator, chains } = packetWallet(wanted, query.creator, 'creator')
        return packets('all', { chains, creator }, query)
      },
    )
    app.get(
      '/redpacket/wallet/:address/redpackets',
      {
        schema: {
          summary: 'Red packets that a wallet created, newest first',
          tags: TAGS,
          params: Type.Object(RED_PACKET_WALLET_PARAM),
          querystring: PageQuery,
          response,
        },
        config: pricedRoute('GET /redpacket/wallet/:address/redpackets'),
      },
      async ({ params, query }) => {
        const { address: creator, chains } = packetWallet(everywhere, params.address, 'address')
        return packets('wallet', { chains, creator }, query)
      },
    )
  }

const claimListRoutes =
  (deps: RouteDeps): RoutePlugin =>
  async (app) => {
    const { claims } = createLists(deps, isVersion2(app))
    const everywhere = packetChains(deps.chains)
    const response = { 200: RedPacketClaimsPage }
    app.get(
      '/redpacket/wallet/:address/claims',
      {
        schema: {
          summary: 'What a wallet claimed of red packets, newest first',
          tags: TAGS,
          params: Type.Object(RED_PACKET_WALLET_PARAM),
          querystring: PageQuery,
          response,
        },
        config: pricedRoute('GET /redpacket/wallet/:address/claims'),
      },
      async ({ params, query }) => {
        const { address: claimer, chains } = packetWallet(everywhere, params.address, 'address')
        return claims('wallet claims', { chains, claimer }, query)
      },
    )
    app.get(
      '/redpacket/:id/claims',
      {
        schema: {
          summary: 'Claims of a red packet, newest first',
          tags: TAGS,
          params: Type.Object(RED_PACKET_PARAM),
          querystring: PageQuery,
          response,
        },
        config: pricedRoute('GET /redpacket/:id/claims'),
      },
      async ({ params, query }) => {
        const scope = { chains: everywhere, id: storedPacketId(params.id) }
        if (scope.chains.length === 0) throw new Fault('RED_PACKET_NOT_FOUND')
        const { row } = await packetState(deps, scope)
        return claims('claims', { chains: [row.chain], id: row.packet_id }, query, row)
      },
    )
  }
