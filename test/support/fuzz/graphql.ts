import type { Random } from '../../../simulator/node/random.ts'
import {
  mutateText,
  randomDeepJson,
  randomJson,
  randomObjectJson,
  randomText,
} from './random-values.ts'
import { assertServed, FuzzFailure, type FuzzRunner, type FuzzSurface } from './surface.ts'

const CUBES = [
  ['DEXTrades', 'Block { Time Height } Trade { Buy { Amount AmountInUSD Currency { Symbol } } }'],
  ['DEXTradeByTokens', 'Block { Time } Trade { AmountInUSD PriceInUSD } count'],
  ['Tokens', 'Token { Address Symbol } Stats { TradeCount }'],
  ['TokenHolders', 'Token { Address } LatestBalance'],
  ['DEXPools', 'Pool { Address LiquidityUSD }'],
  ['Transfers', 'Block { Height } Transfer { Amount Index }'],
] as const
const GROUPS = ['Solana', 'EVM(network: eth)', 'EVM(network: bsc)', 'EVM', 'Nothing'] as const
const ARGUMENTS = [
  ...['limit: {count: 5}', 'limit: {count: 1e9}', 'limit: {count: -1, offset: 99999999999}'],
  ...['orderBy: {descending: Block_Time}', 'orderBy: {descendingByField: "count"}', 'orderBy: {}'],
  ...['where: {}', 'where: {any: [{}, {any: []}]}', 'where: {Block: {Time: {since: "x"}}}'],
  ...[
    'where: {Block: {Height: {gt: "1"}}}',
    'limitBy: {by: "x", count: 1}',
    'where: $w',
    'limit: $l',
  ],
] as const

const selection = (random: Random): string => {
  const [cube, fields] = random.pick(CUBES)
  const given = Array.from({ length: random.below(3) }, () => random.pick(ARGUMENTS)).join(', ')
  return `${cube}${given && `(${given})`} { ${fields} }`
}

/** Fragments that spread each other twice: small documents that are large when they are unfolded. */
const doublingFragments = (random: Random): string => {
  const levels = 1 + random.below(24)
  const fragments = Array.from(
    { length: levels },
    (_, at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`,
  )
  return `{ ...f0 } ${fragments.join(' ')} fragment f${levels} on Query { Solana { ${selection(random)} } }`
}

const aliasedSelections = (random: Random): string =>
  Array.from({ length: random.pick([2, 50, 500]) }, (_, at) => `a${at}: ${selection(random)}`).join(
    ' ',
  )

const randomDocument = (random: Random): string => {
  const how = random.below(12)
  if (how === 0) return doublingFragments(random)
  if (how === 1) return `{ Solana { ${aliasedSelections(random)} } }`
  if (how === 2) return `${'{a'.repeat(random.pick([10, 500, 10_000]))}`
  if (how === 3) return randomText(random)
  if (how === 4)
    return '{ __schema { types { name fields { name type { name ofType { name } } } } } }'
  const text = `query Q($w: ${random.pick(['Any', 'String', '[Int!]!'])}, $l: Int) { ${random.pick(GROUPS)} { ${selection(random)} } }`
  const bare = text.replace(/^query Q\([^)]*\) /, '')
  return mutateText(random.chance(0.5) ? text : bare, random)
}

const randomVariables = (random: Random): string =>
  random.chance(0.2)
    ? random.pick([randomDeepJson, randomJson])(random)
    : randomObjectJson(random, [
        ['w', randomJson(random)],
        ['l', randomJson(random)],
      ])

/** JSON more often than the other formats. */
const ACCEPTED = [
  ...['*/*', 'application/json', 'application/json', 'text/csv', 'application/x-ndjson'],
  ...['text/html, text/csv;q=0.5', 'text/csv;q=x, ;;', ','],
] as const

/** Documents and variables, by POST and GET. */
export const graphqlSurface: FuzzSurface = {
  name: 'graphql',
  share: 3,
  width: 4,
  open: async (target): Promise<FuzzRunner> => ({
    run: async (random) => {
      const query = randomDocument(random)
      const variables = randomVariables(random)
      const headers = {
        'x-api-key': target.nextKey(),
        'content-type': 'application/json',
        accept: random.pick(ACCEPTED),
      }
      const url = `http://127.0.0.1:${target.ports.public}/graphql`
      const isGet = random.chance(0.2)
      const words = new URLSearchParams({ query, variables: variables.slice(0, 4_000) })
      const body = randomObjectJson(random, [
        ['query', JSON.stringify(query)],
        ['variables', variables],
      ])
      const response = isGet
        ? await fetch(`${url}?${String(words).slice(0, 8_000)}`, { headers })
        : await fetch(url, { method: 'POST', headers, body })
      const text = await response.text()
      const what = `${query} with ${variables.slice(0, 100)}`
      assertServed(response.status, text, what)
      if (/"message":"Internal error"/.test(text))
        throw new FuzzFailure(`Internal error for ${what.slice(0, 400)}`)
    },
    close: async () => undefined,
  }),
}
