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
import { PROTOCOLS } from '../../schemas/protocols.ts'
import { type BlockRow, latestBlockQuery } from '../queries/blocks.ts'
import { envelope, pageFrom } from '../queries/cursor.ts'
import { chainOf } from './chain.ts'
import { type ChainRoute, chainRead } from './chain-route.ts'
import type { RouteDeps } from './deps.ts'
import { stockFamily } from './dex-families.ts'
import { type Family, priced } from './routing.ts'
import { wordsOf } from './values.ts'

const bodyOf = ({ name, nativeSymbol, chainId, explorerUrl }: ChainRow): Blockchain => ({
  name,
  symbol: nativeSymbol,
  chainId: chainId ?? 0,
  explorerUrl,
})

/** How many blocks a Solana transaction may name a hash. Source: Solana's documentation, "Transaction Confirmation & Expiration". */
const HASH_BLOCKS = 150

const latestBlock = chainRead({
  path: '/blockchain/:chain/latest_block',
  summary: 'The newest block that was ingested',
  tag: 'blockchain',
  params: {},
  query: {},
  response: BlockchainLatestBlock,
  absent: 'NOT_FOUND',
  answer: async ({ chain, rows }) => {
    const [row] = await rows<BlockRow>(latestBlockQuery(chain.id))
    if (row === undefined) throw new Fault('NOT_FOUND', 'No block of this chain yet')
    const more = chainRow(chain.id)?.vm === 'svm' ? HASH_BLOCKS : 0
    return { blockhash: row.hash, lastValidBlockHeight: Number(row.height) + more }
  },
})

/** DEXes of the given chains in the order of their chain and program. */
const dexesOf = (
  chains: ReadonlyMap<string, string>,
  program: string | undefined,
): readonly Dex[] =>
  PROTOCOLS.flatMap((protocol) =>
    Object.entries<readonly string[]>(protocol.factories).flatMap(([id, factories]) => {
      const chain = chains.get(id)
      if (chain === undefined) return []
      return factories
        .filter((address) => program === undefined || address === program)
        .map((address) => ({
          chain,
          programAddress: address,
          protocolFamily: stockFamily(protocol.family),
          protocolName: protocol.name,
          image: null,
        }))
    }),
  ).toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))

const keyOf = ({ chain, programAddress, protocolName }: Dex): string =>
  `${chain} ${programAddress} ${protocolName}`

const PLACE = Type.Object({ key: Type.String({ maxLength: 256 }) })

/** The rows beyond a key in the wanted direction, nearest first. */
const beyond = (
  rows: readonly Dex[],
  key: string | undefined,
  direction: 'next' | 'prev',
): readonly Dex[] => {
  const ordered = direction === 'next' ? rows : rows.toReversed()
  if (key === undefined) return ordered
  return ordered.filter((row) => (direction === 'next' ? keyOf(row) > key : keyOf(row) < key))
}

/** Chains that are wanted and enabled, with the words for them. */
const wantedChains = (deps: RouteDeps, words: readonly string[]): ReadonlyMap<string, string> => {
  const named = (words.length === 0 ? deps.chains : words).map((word) => chainOf(word, deps.chains))
  return new Map(named.filter(({ enabled }) => enabled).map(({ id, word }) => [id, word]))
}

const registry =
  (deps: RouteDeps): Family =>
  async (app) => {
    app.get(
      '/blockchain',
      {
        schema: {
          summary: 'The chains of this installation',
          tags: ['blockchain'],
          response: { 200: Type.Array(Blockchain) },
        },
        config: priced('GET /blockchain'),
      },
      async () =>
        deps.chains.flatMap((id) => {
          const row = chainRow(id)
          return row ? [bodyOf(row)] : []
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
        config: priced('GET /dex'),
      },
      async ({ query }) => {
        const { limit = 20, direction = 'next', cursor, dexProgram } = query
        const words = wordsOf(query.chains)
        const codec = deps.cursors(PLACE, ['dex', words.toSorted(), dexProgram ?? ''])
        const after = cursor === undefined ? undefined : codec.decode(cursor).key
        const rows = beyond(dexesOf(wantedChains(deps, words), dexProgram), after, direction)
        const asked = { limit, direction, hasCursor: after !== undefined }
        const page = pageFrom(rows.slice(0, limit + 1), asked, (row) =>
          codec.encode({ key: keyOf(row) }),
        )
        return envelope(page, (row) => [row])
      },
    )
  }

/** What chains there are, how far they are, and what is decoded of them. */
export const blockchainRoutes: readonly ChainRoute[] = [registry, latestBlock]
