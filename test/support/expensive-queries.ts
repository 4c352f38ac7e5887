/** A request made to be costly to plan; each is within the limit of a body. */
export interface ExpensiveQuery {
  readonly name: string
  readonly query: string
  readonly variables?: Readonly<Record<string, unknown>>
  /** How it ends: a plan, or the code of its first error. */
  readonly ends: 'plan' | 'GRAPHQL_VALIDATION_FAILED' | 'QUERY_TOO_EXPENSIVE'
}

const repeatText = (count: number, text: string | ((index: number) => string), by = ' '): string =>
  Array.from({ length: count }, (_, index) => (typeof text === 'string' ? text : text(index))).join(
    by,
  )
const solanaQuery = (cube: string): string => `{ Solana { ${cube} } }`
const tradesQuery = (fields: string): string => solanaQuery(`DEXTrades { ${fields} }`)
const anyFilter = (count: number): string =>
  `{any: [${repeatText(count, (i) => `{Block: {Slot: {gt: ${i}}}}`, ', ')}]}`
const buildMany = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const doubledFragments = (type: string): string =>
  repeatText(20, (i) => `fragment F${i + 1} on ${type} { ...F${i} ...F${i} }`)
const LEG = `fragment B on DEXTradesTradeBuyRecord { ${repeatText(16, (i) => `m${i}: AmountInUSD(maximum: Block_Slot)`)} }`
const LONG_NAME = 'abcdefghij'.repeat(200)

const plan = 'plan' as const
const invalid = 'GRAPHQL_VALIDATION_FAILED' as const
const tooExpensive = 'QUERY_TOO_EXPENSIVE' as const

const MULTIPLIED: readonly ExpensiveQuery[] = [
  {
    name: 'a fragment of thousands of spreads in more than a thousand operations',
    query: `fragment F on Query { __typename } fragment G on Query { ${repeatText(4_700, '...F')} } ${repeatText(1_650, (i) => `query a${i} { ...G }`)}`,
    ends: tooExpensive,
  },
  {
    name: 'a chain of fragments in more than a thousand operations',
    query: `${repeatText(1_000, (i) => `fragment F${i} on Query { ...F${i + 1} }`)} fragment F1000 on Query { __typename } ${repeatText(1_800, (i) => `query a${i} { ...F0 }`)}`,
    ends: tooExpensive,
  },
  {
    name: 'a fragment of cubes with arguments, doubled 20 times',
    query: `{ Solana { ...F20 } } fragment F0 on Solana { ${repeatText(40, (i) => `a${i}: DEXTrades(where: ${anyFilter(30)}) { count }`)} } ${doubledFragments('Solana')}`,
    ends: plan,
  },
  {
    name: 'a fragment of metrics with filters, doubled 20 times',
    query: `${tradesQuery('...F20')} fragment F0 on DEXTradesRecord { ${repeatText(15, (i) => `a${i}: count(if: ${anyFilter(40)})`)} } ${doubledFragments('DEXTradesRecord')}`,
    ends: plan,
  },
  {
    name: 'one field repeated with its arguments',
    query: tradesQuery(repeatText(140, `count(if: ${anyFilter(10)})`)),
    ends: plan,
  },
  {
    name: 'aliases of groups, each with a fragment of aliases',
    query: `${tradesQuery(repeatText(60, (i) => `t${i}: Trade { ...A }`))} fragment A on DEXTradesTradeRecord { ${repeatText(20, (i) => `b${i}: Buy { ...B }`)} } ${LEG}`,
    ends: tooExpensive,
  },
  {
    name: 'aliases of groups times cubes times long lists',
    query: `{ ${repeatText(150, (i) => `s${i}: Solana { ...A }`)} } fragment A on Solana { DEXTrades(tokenAddress: {in: [${repeatText(1_000, (i) => `"t${i}"`)}]}) { ...B } } fragment B on DEXTradesRecord { ${repeatText(100, (i) => `m${i}: count(if: {Block: {Slot: {gt: ${i}}}})`)} }`,
    ends: tooExpensive,
  },
  {
    name: 'a list of a variable, used often',
    query: `query($v: [String!]) ${tradesQuery(repeatText(900, (i) => `m${i}: count(if: {Pool: {Address: {in: $v}}})`))}`,
    variables: { v: buildMany(1_000, (i) => `t${i}`) },
    ends: tooExpensive,
  },
  {
    name: 'a filter of a variable, used often',
    query: `query($v: X) ${tradesQuery(repeatText(1_900, (i) => `m${i}: count(if: $v)`))}`,
    variables: { v: { any: buildMany(900, (i) => ({ Block: { Slot: { in: [i] } } })) } },
    ends: tooExpensive,
  },
  {
    name: 'a variable of 200 kB',
    query: 'query($v: X) { Solana { DEXTrades(where: $v) { count } } }',
    variables: {
      v: { any: buildMany(60, (i) => ({ Pool: { Address: { is: `${i}`.repeat(1_700) } } })) },
    },
    ends: plan,
  },
]

const LONG: readonly ExpensiveQuery[] = [
  {
    name: 'many branches of any',
    query: solanaQuery(`DEXTrades(where: ${anyFilter(1_000)}) { count }`),
    ends: plan,
  },
  {
    name: 'any inside any',
    query: solanaQuery(
      `DEXTrades(where: ${'{any: [{Block: {Slot: 1}}, '.repeat(17)}{}${']}'.repeat(17)}) { count }`,
    ),
    ends: plan,
  },
  {
    name: 'many metrics',
    query: tradesQuery(repeatText(2_400, (i) => `m${i}: sum(of: Block_Slot)`)),
    ends: plan,
  },
  {
    name: 'many comparisons of metrics',
    query: tradesQuery(
      repeatText(1_000, (i) => `m${i}: sum(of: Block_Slot, selectWhere: {gt: "${i}", lt: 5})`),
    ),
    ends: plan,
  },
  {
    name: 'many cubes',
    query: solanaQuery(
      repeatText(200, (i) => `a${i}: Pairs { Token { Symbol } Price { Open High Low Close } }`),
    ),
    ends: plan,
  },
  {
    name: 'many keys of an order',
    query: solanaQuery(
      `DEXTrades(orderBy: [${repeatText(1_000, (i) => `{descendingByField: "m${i * 2}"}`, ', ')}]) { ${repeatText(3_000, (i) => `m${i}: count`)} }`,
    ),
    ends: invalid,
  },
  {
    name: 'inline fragments inside each other',
    query: tradesQuery(
      `${'... { '.repeat(36)} ${repeatText(3_000, '... { count }')} ${'}'.repeat(36)}`,
    ),
    ends: plan,
  },
  { name: 'comments', query: `${'#\n'.repeat(80_000)}{ __typename }`, ends: plan },
  {
    name: 'long expressions',
    query: tradesQuery(
      `count ${repeatText(1_900, (i) => `c${i}: calculate(expression: "${'1+'.repeat(i < 120 ? 499 : 1)}1")`)}`,
    ),
    ends: tooExpensive,
  },
  {
    name: 'many references between many fields',
    query: tradesQuery(
      `${repeatText(1_200, (i) => `m${i}: count`)} ${repeatText(220, (i) => `c${i}: calculate(expression: "${repeatText(90, (j) => `$m${(i + j * 7) % 1_200}`, '+')}")`)}`,
    ),
    ends: tooExpensive,
  },
  {
    name: 'a filtered metric that many expressions refer to',
    query: `query($v: [Int!]) ${tradesQuery(`m: count(if: {Block: {Slot: {in: $v}}}) ${repeatText(150, (i) => `c${i}: calculate(expression: "${repeatText(90, '$m', '+')}")`)}`)}`,
    variables: { v: buildMany(1_000, (i) => i) },
    ends: plan,
  },
  {
    name: 'an expression that the engine cannot nest',
    query: tradesQuery(`count c: calculate(expression: "${repeatText(490, '1', '+')}")`),
    ends: invalid,
  },
  {
    name: 'expressions that stand on each other',
    query: tradesQuery(
      `count c0: calculate(expression: "$count") ${repeatText(190, (i) => `c${i + 1}: calculate(expression: "$c${i} + 1")`)}`,
    ),
    ends: invalid,
  },
  {
    name: 'a pattern of wildcards',
    query: solanaQuery(
      `DEXTrades(where: {Pool: {Address: {like: "${'%a_'.repeat(90)}"}}}) { count }`,
    ),
    ends: invalid,
  },
  {
    name: 'a text of 180 kB',
    query: solanaQuery(
      `DEXTrades(where: {Pool: {Address: {is: "${'%a_'.repeat(60_000)}"}}}) { count }`,
    ),
    ends: invalid,
  },
  {
    name: 'exponents of many digits',
    query: tradesQuery(
      repeatText(
        10,
        (i) =>
          `c${i}: count(if: {Trade: {Buy: {AmountInUSD: {in: [${repeatText(1_000, '"1e-9999"')}]}}}})`,
      ),
    ),
    ends: invalid,
  },
]

const WRONG: readonly ExpensiveQuery[] = [
  {
    name: 'directives repeated',
    query: tradesQuery(`count ${'@include(if: true) '.repeat(2_800)}`),
    ends: invalid,
  },
  { name: 'unknown directives', query: tradesQuery(`count ${'@x '.repeat(9_000)}`), ends: invalid },
  {
    name: 'arguments repeated',
    query: solanaQuery(`DEXTrades(${'\n\na: 1 '.repeat(6_600)}) { count }`),
    ends: invalid,
  },
  {
    name: 'variables repeated',
    query: `query(${'$a: Int\n\n\n\n'.repeat(4_900)}) { __typename }`,
    ends: invalid,
  },
  {
    name: 'fields of an input repeated',
    query: solanaQuery(`DEXTrades(where: {${'a: 1\n\n\n\n'.repeat(6_500)}}) { count }`),
    ends: invalid,
  },
  {
    name: 'cycles of fragments',
    query: `{ ...F0 } ${repeatText(2_000, (i) => `fragment F${i} on X\n\n\n\n { ${i < 1_999 ? `...F${i + 1}` : repeatText(1_000, (j) => `...F${j}`)} }`)}`,
    ends: invalid,
  },
  {
    name: 'errors behind many lines',
    query: `${'\n'.repeat(90_000)}${tradesQuery(repeatText(5_000, (i) => `x${i}`))}`,
    ends: invalid,
  },
  {
    name: 'unknown arguments',
    query: tradesQuery(repeatText(2_400, (i) => `c${i}: count(iff${i}: 1)`)),
    ends: invalid,
  },
  {
    name: 'suggestions for unknown values',
    query: tradesQuery(
      repeatText(2_400, (i) => `c${i}: uniq(of: Trade_Buy_Currency_SmartContractX${i})`),
    ),
    ends: invalid,
  },
  {
    name: 'long unknown names',
    query: tradesQuery(repeatText(100, (i) => LONG_NAME + i)),
    ends: invalid,
  },
  {
    name: 'long unknown values',
    query: tradesQuery(repeatText(100, (i) => `u${i}: uniq(of: ${LONG_NAME}${i})`)),
    ends: invalid,
  },
  {
    name: 'long unknown arguments',
    query: solanaQuery(`DEXTrades(${repeatText(100, (i) => `${LONG_NAME}${i}: 1`)}) { count }`),
    ends: invalid,
  },
  {
    name: 'operations times fragments',
    query: `${repeatText(700, (i) => `query Q${i} { ...F0 }`)} ${repeatText(1_500, (i) => `fragment F${i} on ChainStream { ${i < 1_499 ? `...F${i + 1}` : '__typename'} }`)}`,
    ends: tooExpensive,
  },
]

const INTROSPECTION: readonly ExpensiveQuery[] = [
  {
    name: 'types of fields of types of fields',
    query:
      '{ __schema { types { name fields { name args { name type { name enumValues { name } inputFields { name type { name enumValues { name } } } } } type { name fields { name args { type { enumValues { name description } inputFields { name type { name } } } } } } } } } }',
    ends: tooExpensive,
  },
  {
    name: 'the whole schema ten times',
    query: `{ ${repeatText(10, (i) => `a${i}: __schema { ...S }`)} } fragment S on __Schema { types { name description fields { name description args { name description type { ...T } } type { ...T } } inputFields { name type { ...T } } enumValues { name description } } } fragment T on __Type { name kind ofType { name kind ofType { name kind } } }`,
    ends: tooExpensive,
  },
  {
    name: 'many fragments of one type',
    query: `{ __schema { types { ${repeatText(1_500, (i) => `...F${i}`)} } } } ${repeatText(1_500, (i) => `fragment F${i} on __Type { name }`)}`,
    ends: plan,
  },
  {
    name: 'fragments inside each other',
    query: `{ __schema { types { ...F0 } } } ${repeatText(1_500, (i) => `fragment F${i} on __Type { ${i < 1_499 ? `ofType { ...F${i + 1} }` : 'name'} }`)}`,
    ends: invalid,
  },
]

/** The shapes by which one request could hold up others. */
export const EXPENSIVE_QUERIES: readonly ExpensiveQuery[] = [
  ...MULTIPLIED,
  ...LONG,
  ...WRONG,
  ...INTROSPECTION,
]
