/** A request made to be costly to plan; each is within the limit of a body. */
export interface WorstQuery {
  readonly name: string
  readonly query: string
  readonly variables?: Readonly<Record<string, unknown>>
  /** How it ends: a plan, or the code of its first error. */
  readonly ends: 'plan' | 'GRAPHQL_VALIDATION_FAILED' | 'QUERY_TOO_EXPENSIVE'
}

const rep = (count: number, text: string | ((index: number) => string), by = ' '): string =>
  Array.from({ length: count }, (_, index) => (typeof text === 'string' ? text : text(index))).join(
    by,
  )
const sol = (cube: string): string => `{ Solana { ${cube} } }`
const trades = (fields: string): string => sol(`DEXTrades { ${fields} }`)
const any = (count: number): string =>
  `{any: [${rep(count, (i) => `{Block: {Slot: {gt: ${i}}}}`, ', ')}]}`
const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const doubled = (type: string): string =>
  rep(20, (i) => `fragment F${i + 1} on ${type} { ...F${i} ...F${i} }`)
const LEG = `fragment B on DEXTradesTradeBuyRecord { ${rep(16, (i) => `m${i}: AmountInUSD(maximum: Block_Slot)`)} }`
const LONG_NAME = 'abcdefghij'.repeat(200)

const plan = 'plan' as const
const invalid = 'GRAPHQL_VALIDATION_FAILED' as const
const costly = 'QUERY_TOO_EXPENSIVE' as const

const MULTIPLIED: readonly WorstQuery[] = [
  {
    name: 'a fragment of thousands of spreads in more than a thousand operations',
    query: `fragment F on Query { __typename } fragment G on Query { ${rep(4_700, '...F')} } ${rep(1_650, (i) => `query a${i} { ...G }`)}`,
    ends: costly,
  },
  {
    name: 'a chain of fragments in more than a thousand operations',
    query: `${rep(1_000, (i) => `fragment F${i} on Query { ...F${i + 1} }`)} fragment F1000 on Query { __typename } ${rep(1_800, (i) => `query a${i} { ...F0 }`)}`,
    ends: costly,
  },
  {
    name: 'a fragment of cubes with arguments, doubled 20 times',
    query: `{ Solana { ...F20 } } fragment F0 on Solana { ${rep(40, (i) => `a${i}: DEXTrades(where: ${any(30)}) { count }`)} } ${doubled('Solana')}`,
    ends: plan,
  },
  {
    name: 'a fragment of metrics with filters, doubled 20 times',
    query: `${trades('...F20')} fragment F0 on DEXTradesRecord { ${rep(15, (i) => `a${i}: count(if: ${any(40)})`)} } ${doubled('DEXTradesRecord')}`,
    ends: plan,
  },
  {
    name: 'one field repeated with its arguments',
    query: trades(rep(140, `count(if: ${any(10)})`)),
    ends: plan,
  },
  {
    name: 'aliases of groups, each with a fragment of aliases',
    query: `${trades(rep(60, (i) => `t${i}: Trade { ...A }`))} fragment A on DEXTradesTradeRecord { ${rep(20, (i) => `b${i}: Buy { ...B }`)} } ${LEG}`,
    ends: costly,
  },
  {
    name: 'aliases of groups times cubes times long lists',
    query: `{ ${rep(150, (i) => `s${i}: Solana { ...A }`)} } fragment A on Solana { DEXTrades(tokenAddress: {in: [${rep(1_000, (i) => `"t${i}"`)}]}) { ...B } } fragment B on DEXTradesRecord { ${rep(100, (i) => `m${i}: count(if: {Block: {Slot: {gt: ${i}}}})`)} }`,
    ends: costly,
  },
  {
    name: 'a list of a variable, used often',
    query: `query($v: [String!]) ${trades(rep(900, (i) => `m${i}: count(if: {Pool: {Address: {in: $v}}})`))}`,
    variables: { v: many(1_000, (i) => `t${i}`) },
    ends: costly,
  },
  {
    name: 'a filter of a variable, used often',
    query: `query($v: X) ${trades(rep(1_900, (i) => `m${i}: count(if: $v)`))}`,
    variables: { v: { any: many(900, (i) => ({ Block: { Slot: { in: [i] } } })) } },
    ends: costly,
  },
  {
    name: 'a variable of 200 kB',
    query: 'query($v: X) { Solana { DEXTrades(where: $v) { count } } }',
    variables: {
      v: { any: many(60, (i) => ({ Pool: { Address: { is: `${i}`.repeat(1_700) } } })) },
    },
    ends: plan,
  },
]

const LONG: readonly WorstQuery[] = [
  {
    name: 'many branches of any',
    query: sol(`DEXTrades(where: ${any(1_000)}) { count }`),
    ends: plan,
  },
  {
    name: 'any inside any',
    query: sol(
      `DEXTrades(where: ${'{any: [{Block: {Slot: 1}}, '.repeat(17)}{}${']}'.repeat(17)}) { count }`,
    ),
    ends: plan,
  },
  {
    name: 'many metrics',
    query: trades(rep(2_400, (i) => `m${i}: sum(of: Block_Slot)`)),
    ends: plan,
  },
  {
    name: 'many comparisons of metrics',
    query: trades(
      rep(1_000, (i) => `m${i}: sum(of: Block_Slot, selectWhere: {gt: "${i}", lt: 5})`),
    ),
    ends: plan,
  },
  {
    name: 'many cubes',
    query: sol(rep(200, (i) => `a${i}: Pairs { Token { Symbol } Price { Open High Low Close } }`)),
    ends: plan,
  },
  {
    name: 'many keys of an order',
    query: sol(
      `DEXTrades(orderBy: [${rep(1_000, (i) => `{descendingByField: "m${i * 2}"}`, ', ')}]) { ${rep(3_000, (i) => `m${i}: count`)} }`,
    ),
    ends: invalid,
  },
  {
    name: 'inline fragments inside each other',
    query: trades(`${'... { '.repeat(36)} ${rep(3_000, '... { count }')} ${'}'.repeat(36)}`),
    ends: plan,
  },
  { name: 'comments', query: `${'#\n'.repeat(80_000)}{ __typename }`, ends: plan },
  {
    name: 'long expressions',
    query: trades(
      `count ${rep(1_900, (i) => `c${i}: calculate(expression: "${'1+'.repeat(i < 120 ? 499 : 1)}1")`)}`,
    ),
    ends: costly,
  },
  {
    name: 'many references between many fields',
    query: trades(
      `${rep(1_200, (i) => `m${i}: count`)} ${rep(220, (i) => `c${i}: calculate(expression: "${rep(90, (j) => `$m${(i + j * 7) % 1_200}`, '+')}")`)}`,
    ),
    ends: costly,
  },
  {
    name: 'a filtered metric that many expressions refer to',
    query: `query($v: [Int!]) ${trades(`m: count(if: {Block: {Slot: {in: $v}}}) ${rep(150, (i) => `c${i}: calculate(expression: "${rep(90, '$m', '+')}")`)}`)}`,
    variables: { v: many(1_000, (i) => i) },
    ends: plan,
  },
  {
    name: 'an expression that the engine cannot nest',
    query: trades(`count c: calculate(expression: "${rep(490, '1', '+')}")`),
    ends: invalid,
  },
  {
    name: 'expressions that stand on each other',
    query: trades(
      `count c0: calculate(expression: "$count") ${rep(190, (i) => `c${i + 1}: calculate(expression: "$c${i} + 1")`)}`,
    ),
    ends: invalid,
  },
  {
    name: 'a pattern of wildcards',
    query: sol(`DEXTrades(where: {Pool: {Address: {like: "${'%a_'.repeat(90)}"}}}) { count }`),
    ends: invalid,
  },
  {
    name: 'a text of 180 kB',
    query: sol(`DEXTrades(where: {Pool: {Address: {is: "${'%a_'.repeat(60_000)}"}}}) { count }`),
    ends: invalid,
  },
  {
    name: 'exponents of many digits',
    query: trades(
      rep(
        10,
        (i) =>
          `c${i}: count(if: {Trade: {Buy: {AmountInUSD: {in: [${rep(1_000, '"1e-9999"')}]}}}})`,
      ),
    ),
    ends: invalid,
  },
]

const WRONG: readonly WorstQuery[] = [
  {
    name: 'directives repeated',
    query: trades(`count ${'@include(if: true) '.repeat(2_800)}`),
    ends: invalid,
  },
  { name: 'unknown directives', query: trades(`count ${'@x '.repeat(9_000)}`), ends: invalid },
  {
    name: 'arguments repeated',
    query: sol(`DEXTrades(${'\n\na: 1 '.repeat(6_600)}) { count }`),
    ends: invalid,
  },
  {
    name: 'variables repeated',
    query: `query(${'$a: Int\n\n\n\n'.repeat(4_900)}) { __typename }`,
    ends: invalid,
  },
  {
    name: 'fields of an input repeated',
    query: sol(`DEXTrades(where: {${'a: 1\n\n\n\n'.repeat(6_500)}}) { count }`),
    ends: invalid,
  },
  {
    name: 'cycles of fragments',
    query: `{ ...F0 } ${rep(2_000, (i) => `fragment F${i} on X\n\n\n\n { ${i < 1_999 ? `...F${i + 1}` : rep(1_000, (j) => `...F${j}`)} }`)}`,
    ends: invalid,
  },
  {
    name: 'errors behind many lines',
    query: `${'\n'.repeat(90_000)}${trades(rep(5_000, (i) => `x${i}`))}`,
    ends: invalid,
  },
  {
    name: 'unknown arguments',
    query: trades(rep(2_400, (i) => `c${i}: count(iff${i}: 1)`)),
    ends: invalid,
  },
  {
    name: 'suggestions for unknown values',
    query: trades(rep(2_400, (i) => `c${i}: uniq(of: Trade_Buy_Currency_SmartContractX${i})`)),
    ends: invalid,
  },
  { name: 'long unknown names', query: trades(rep(100, (i) => LONG_NAME + i)), ends: invalid },
  {
    name: 'long unknown values',
    query: trades(rep(100, (i) => `u${i}: uniq(of: ${LONG_NAME}${i})`)),
    ends: invalid,
  },
  {
    name: 'long unknown arguments',
    query: sol(`DEXTrades(${rep(100, (i) => `${LONG_NAME}${i}: 1`)}) { count }`),
    ends: invalid,
  },
  {
    name: 'operations times fragments',
    query: `${rep(700, (i) => `query Q${i} { ...F0 }`)} ${rep(1_500, (i) => `fragment F${i} on ChainStream { ${i < 1_499 ? `...F${i + 1}` : '__typename'} }`)}`,
    ends: costly,
  },
]

const INTROSPECTION: readonly WorstQuery[] = [
  {
    name: 'types of fields of types of fields',
    query:
      '{ __schema { types { name fields { name args { name type { name enumValues { name } inputFields { name type { name enumValues { name } } } } } type { name fields { name args { type { enumValues { name description } inputFields { name type { name } } } } } } } } } }',
    ends: costly,
  },
  {
    name: 'the whole schema ten times',
    query: `{ ${rep(10, (i) => `a${i}: __schema { ...S }`)} } fragment S on __Schema { types { name description fields { name description args { name description type { ...T } } type { ...T } } inputFields { name type { ...T } } enumValues { name description } } } fragment T on __Type { name kind ofType { name kind ofType { name kind } } }`,
    ends: costly,
  },
  {
    name: 'many fragments of one type',
    query: `{ __schema { types { ${rep(1_500, (i) => `...F${i}`)} } } } ${rep(1_500, (i) => `fragment F${i} on __Type { name }`)}`,
    ends: plan,
  },
  {
    name: 'fragments inside each other',
    query: `{ __schema { types { ...F0 } } } ${rep(1_500, (i) => `fragment F${i} on __Type { ${i < 1_499 ? `ofType { ...F${i + 1} }` : 'name'} }`)}`,
    ends: invalid,
  },
]

/** The shapes by which one request could hold up others. */
export const WORST_QUERIES: readonly WorstQuery[] = [
  ...MULTIPLIED,
  ...LONG,
  ...WRONG,
  ...INTROSPECTION,
]
