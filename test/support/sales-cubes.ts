import type { Cube } from '../../schemas/cubes/types.ts'
import { compileQuery } from '../../serving/graphql/compile.ts'
import { QUERY_LIMITS } from '../../serving/graphql/limits.ts'
import { createPlanner } from '../../serving/graphql/plan.ts'
import { buildCubeSchema } from '../../serving/graphql/schema.ts'

const PLAIN = {
  about: '',
  groups: ['EVM', 'Solana', 'Trading'],
  layer: 'DWD',
  baseCost: 1,
  chainColumn: 'chain',
  lookups: {},
  selectors: {},
  defaults: {},
  limit: { default: 25, max: 100 },
  aliases: [],
} as const

/** A cube with one leaf of each kind. */
const SALES: Cube = {
  ...PLAIN,
  name: 'Sales',
  source: '{chain}_sales FINAL',
  time: 'at',
  lookups: { item: { key: 'item_address' } },
  dimensions: {
    Time: { sql: 'at', type: 'DateTime', about: '', bucket: 'start' },
    Shipped: { sql: 'shipped', type: 'DateTime', about: '', bucket: 'start' },
    Day: { sql: 'toDate(at)', type: 'Date', about: '', bucket: 'start' },
    Until: { sql: 'at + 60', type: 'DateTime', about: '', bucket: 'end' },
    Seconds: { sql: '60', type: 'Int', about: '', bucket: 'duration' },
    Item: { sql: 'item', type: 'String', about: '' },
    Symbol: { sql: 'item_symbol', type: 'String', about: '', needs: 'item' },
    Count: { sql: 'n', type: 'Int', about: '' },
    Ratio: { sql: 'r', type: 'Float', about: '' },
    Price: { sql: 'p', type: 'Float', about: '', exact: true },
    Amount: {
      sql: 'raw / pow(10, places)',
      fast: 'amount',
      type: 'Float',
      about: '',
      exactUnits: { raw: 'raw', places: 'places' },
    },
    Paid: { sql: 'paid', type: 'Boolean', about: '' },
    Tags: { sql: 'tags', type: 'StringList', about: '' },
  },
  joins: ['Returns', 'Refunds'],
  order: ['slot', 'place'],
  newest: 'Time',
}

/** Its rows are joined to those of `SALES` by what most cubes are joined by. */
const RETURNS: Cube = {
  ...PLAIN,
  name: 'Returns',
  source: '{chain}_returns FINAL',
  time: 'returned_at',
  lookups: { thing: { key: 'thing_address' } },
  dimensions: {
    At: { sql: 'returned_at', type: 'DateTime', about: '' },
    Symbol: { sql: 'thing_symbol', type: 'String', about: '', needs: 'thing' },
    Amount: {
      sql: 'back / pow(10, digits)',
      type: 'Float',
      about: '',
      exactUnits: { raw: 'back', places: 'digits' },
    },
    Reasons: { sql: 'reasons', type: 'StringList', about: '' },
  },
  order: ['slot', 'step'],
  newest: 'At',
}

/** Its rows are joined by a key of its own. */
const REFUNDS: Cube = {
  ...PLAIN,
  name: 'Refunds',
  source: '{chain}_refunds',
  time: 'refunded_at',
  dimensions: {
    At: { sql: 'refunded_at', type: 'DateTime', about: '' },
    Cents: { sql: 'cents', type: 'Int', about: '' },
  },
  joinKey: ['receipt'],
  order: ['refunded_at'],
  newest: 'At',
}

/** A cube of stored buckets of a minute, one row per item. */
const MINUTES: Cube = {
  ...PLAIN,
  name: 'Minutes',
  source: '{chain}_sales_1m FINAL',
  time: 'bucket',
  dimensions: {
    Time: { sql: 'bucket', type: 'DateTime', about: '', bucket: 'start' },
    Item: { sql: 'item', type: 'String', about: '' },
    Sold: { sql: 'sold', type: 'Int', about: '', rollup: 'sum(sold)' },
    Last: { sql: 'last', type: 'Float', about: '', rollup: 'argMax(last, bucket)' },
  },
  rowKey: ['shop', 'item'],
  order: ['bucket', 'shop', 'item'],
  newest: 'Time',
}

const { plan } = createPlanner(
  buildCubeSchema([SALES, RETURNS, REFUNDS, MINUTES], ['eth']),
  QUERY_LIMITS,
)

/** The statement of one selection of a cube, each parameter replaced by its value and type, and how the engine writes its values. */
export const salesStatement = (
  selected: string,
): { readonly sql: string; readonly printers: readonly string[] } => {
  const query = `{ EVM(network: eth, dataset: combined) { ${selected} } }`
  const [selection] = plan({ query }).selections
  if (selection === undefined) throw new Error(`a document without a selection: ${query}`)
  const { sql, paramsAt, shape } = compileQuery(selection)
  const params = paramsAt(Date.UTC(2026, 2, 2))
  return {
    sql: sql.replace(/\{(p\d+):/g, (_, name: string) => `{${String(params[name])}:`),
    printers: shape.slots.map(({ rule, places }) =>
      places === -1 ? rule : `units ${shape.columns[places]}`,
    ),
  }
}
