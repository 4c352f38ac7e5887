import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import {
  Blockchain,
  BlockchainLatestBlock,
  type Dex,
  DexPage,
  DexQuery,
} from '../../schemas/api/chain.ts'
import { type ChainRow, chainRow } from '../../schemas/chains.ts'
import { isVenue, PROTOCOLS } from '../../schemas/protocols.ts'
import { createPage, pageEnvelope } from '../queries/cursors-and-pages.ts'
import { type BlockRow, latestBlockQuery } from '../queries/latest-block.ts'
import { splitList } from './body-values.ts'
import { parseChain } from './chain-parameters.ts'
import { type ChainRoute, defineReadRoute } from './chain-route.ts'
import { clientFamilyName } from './client-family-names.ts'
import type { RouteDeps } from './deps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

const blockchainBody = ({ name, nativeSymbol, chainId, explorerUrl }: ChainRow): Blockchain => ({
  name,
  symbol: nativeSymbol,
  chainId: chainId ?? 0,
  explorerUrl,
})

/** How many blocks a Solana transaction may name a hash. Source: Solana's documentation, "Transaction Confirmation & Expiration". */
const BLOCKHASH_VALID_BLOCKS = 150

const latestBlock = defineReadRoute({
  path: '/blockchain/:chain/latest_block',
  summary: 'The newest block that was ingested',
  tag: 'blockchain',
  params: {},
  query: {},
  response: BlockchainLatestBlock,
  absent: 'NOT_FOUND',
  answer: async ({ chain, rows }) => {
    const facts = chainRow(chain.id)
    const [row] = facts === undefined ? [] : await rows<BlockRow>(latestBlockQuery(facts))
    if (row === undefined) throw new Fault('NOT_FOUND', 'No block of this chain yet')
    const more = facts?.vm === 'svm' ? BLOCKHASH_VALID_BLOCKS : 0
    return { blockhash: row.hash, lastValidBlockHeight: Number(row.height) + more }
  },
})

/** DEXes of the given chains in the order of their chain and program. */
const listDexes = (
  chains: ReadonlyMap<string, string>,
  program: string | undefined,
): readonly Dex[] =>
  PROTOCOLS.filter(isVenue)
    .flatMap((protocol) =>
      Object.entries<readonly string[]>(protocol.factories).flatMap(([id, factories]) => {
        const chain = chains.get(id)
        if (chain === undefined) return []
        return factories
          .filter((address) => program === undefined || address === program)
          .map((address) => ({
            chain,
            programAddress: address,
            protocolFamily: clientFamilyName(protocol.family),
            protocolName: protocol.name,
            image: null,
          }))
      }),
    )
    .toSorted((one, other) => (dexKey(one) < dexKey(other) ? -1 : 1))

const dexKey = ({ chain, programAddress, protocolName }: Dex): string =>
  `${chain} ${programAddress} ${protocolName}`

const CURSOR_PAYLOAD = Type.Object({ key: Type.String({ maxLength: 256 }) })

/** The rows beyond a key in the wanted direction, nearest first. */
const rowsAfter = (
  rows: readonly Dex[],
  key: string | undefined,
  direction: 'next' | 'prev',
): readonly Dex[] => {
  const ordered = direction === 'next' ? rows : rows.toReversed()
  if (key === undefined) return ordered
  return ordered.filter((row) => (direction === 'next' ? dexKey(row) > key : dexKey(row) < key))
}

/** Chains that are wanted and enabled, with the words for them. */
const requestedChains = (
  deps: RouteDeps,
  words: readonly string[],
): ReadonlyMap<string, string> => {
  const named = (words.length === 0 ? deps.chains : words).map((word) =>
    parseChain(word, deps.chains),
  )
  return new Map(named.filter(({ enabled }) => enabled).map(({ id, word }) => [id, word]))
}

const blockchainAndDexRoutes =
  (deps: RouteDeps): RoutePlugin =>
  async (app) => {
    app.get(
      '/blockchain',
      {
        schema: {
          summary: 'The chains of this installation',
          tags: ['blockchain'],
          response: { 200: Type.Array(Blockchain) },
        },
        config: pricedRoute('GET /blockchain'),
      },
      async () =>
        deps.chains.flatMap((id) => {
          const row = chainRow(id)
          return row ? [blockchainBody(row)] : []
        }),
    )
    app.get(
      '/dex',
      {
        schema: {
          summary: 'DEXes and launchpads that are decoded',
          tags: ['blockchain'],
          querystring: DexQuery,
          response: { 200: DexPage },
        },
        config: pricedRoute('GET /dex'),
      },
      async ({ query }) => {
        const { limit = 20, direction = 'next', cursor, dexProgram } = query
        const words = splitList(query.chains, 'chains')
        const codec = deps.cursors(CURSOR_PAYLOAD, ['dex', words.toSorted(), dexProgram ?? ''])
        const after = cursor === undefined ? undefined : codec.decode(cursor).key
        const rows = rowsAfter(
          listDexes(requestedChains(deps, words), dexProgram),
          after,
          direction,
        )
        const pageRequest = { limit, direction, hasCursor: after !== undefined }
        const page = createPage(rows.slice(0, limit + 1), pageRequest, (row) =>
          codec.encode({ key: dexKey(row) }),
        )
        return pageEnvelope(page, (row) => [row])
      },
    )
  }

/** What chains there are, how far they are, and what is decoded of them. */
export const blockchainRoutes: readonly ChainRoute[] = [blockchainAndDexRoutes, latestBlock]
