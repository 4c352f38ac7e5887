import fc from 'fast-check'
import { CUBES } from '../../schemas/cubes/all.ts'
import { type Cube, isListType, type Leaf } from '../../schemas/cubes/types.ts'
import { cubePaths, leafAt } from '../../serving/graphql/cube-paths.ts'
import { operatorsOf, valueKind } from '../../serving/graphql/operators.ts'

/** A valid query with the values that its text or its variables carry. */
export interface GeneratedQuery {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
  /** Texts that must not turn up in SQL. */
  readonly values: readonly string[]
}

interface QueryPart {
  readonly text: string
  readonly values: readonly string[]
}

const joinParts = (parts: readonly QueryPart[], by: string): QueryPart => ({
  text: parts.map(({ text }) => text).join(by),
  values: parts.flatMap(({ values }) => values),
})

const wrapPart = (before: string, part: QueryPart, after: string): QueryPart => ({
  text: before + part.text + after,
  values: part.values,
})

/** Hostile texts that no SQL of ours holds by chance. */
const textArbitrary: fc.Arbitrary<QueryPart> = fc
  .tuple(
    fc.constantFrom(
      'zq',
      `zq'`,
      'zq\\',
      'zq"',
      '0xZQ',
      'zq{p0:String}',
      'zq\n',
      'zq%',
      '--zq',
      'zq\u0000',
      'zq😀',
    ),
    fc.string({ maxLength: 8, unit: 'grapheme' }),
  )
  .map(([head, tail]) => ({
    text: JSON.stringify(head + tail),
    values: [head + tail, (head + tail).toLowerCase()],
  }))
const integerArbitrary: fc.Arbitrary<QueryPart> = fc
  .bigInt({ min: 10_000_000n, max: 2n ** 62n })
  .map((value) => ({ text: String(value), values: [String(value)] }))
const decimalArbitrary: fc.Arbitrary<QueryPart> = fc
  .tuple(
    fc.bigInt({ min: 10_000_000n, max: 10n ** 24n }),
    fc.nat({ max: 999_999 }),
    fc.constantFrom('', 'e5', 'E-30', 'e60'),
    fc.boolean(),
  )
  .map(([value, fraction, exponent, quoted]) => {
    const number = `${value}.${fraction}${exponent}`
    return { text: quoted ? `"${number}"` : number, values: [String(value)] }
  })
const timeArbitrary: fc.Arbitrary<QueryPart> = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2999-01-01'), noInvalidDate: true })
  .chain((date) => {
    const iso = date.toISOString()
    return fc
      .constantFrom(iso, iso.slice(0, 19).replace('T', ' '), iso.slice(0, 10))
      .map((value) => ({ text: `"${value}"`, values: [value, iso.slice(0, 10)] }))
  })

const VALUE_ARBITRARIES: Readonly<Record<Leaf['type'], fc.Arbitrary<QueryPart>>> = {
  String: textArbitrary,
  Int: integerArbitrary,
  Float: decimalArbitrary,
  DateTime: timeArbitrary,
  Date: timeArbitrary,
  Boolean: fc.boolean().map((value) => ({ text: String(value), values: [] })),
  StringList: textArbitrary,
  IntList: integerArbitrary,
  FloatList: decimalArbitrary,
}
const LEAF_TYPES = Object.keys(VALUE_ARBITRARIES) as readonly Leaf['type'][]

/** Operators that each type of leaf has, but for `isNull` and those of relative times; a list has `length` as well. */
export const OPERATORS_BY_TYPE: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  LEAF_TYPES.map((type) => [
    type,
    operatorsOf(valueKind(type))
      .filter(({ operand }) => operand !== 'flag' && operand !== 'ago')
      .map(({ name }) => name),
  ]),
)

/** What is asked whatever the type: null or not, of a list how long it is. */
const lastOperatorArbitrary = (leaf: Leaf): fc.Arbitrary<QueryPart> =>
  isListType(leaf.type)
    ? integerArbitrary.map((value) => wrapPart('length: {gt: ', value, '}'))
    : fc.boolean().map((value) => ({ text: `isNull: ${value}`, values: [] }))

const relativeTimeArbitrary: fc.Arbitrary<QueryPart> = fc
  .tuple(
    fc.constantFrom('since', 'till', 'after', 'before'),
    fc.constantFrom('seconds', 'hours', 'days', 'weeks', 'months', 'years'),
    fc.nat({ max: 1_000_000_000 }),
  )
  .map(([name, unit, count]) => ({
    text: `${name}_relative: {${unit}_ago: ${count}, minutes_ago: 7}`,
    values: [],
  }))

/** Operators over values of the leaf's own type. */
const operandsOf = ({ type }: Leaf) =>
  operatorsOf(valueKind(type)).filter(({ operand }) =>
    ['value', 'several', 'period'].includes(operand),
  )

const operatorArbitrary = (leaf: Leaf): fc.Arbitrary<QueryPart> =>
  fc.oneof(
    {
      weight: leaf.type === 'DateTime' || leaf.type === 'Date' ? 2 : 0,
      arbitrary: relativeTimeArbitrary,
    },
    {
      weight: 8,
      arbitrary: fc.constantFrom(...operandsOf(leaf)).chain(({ name, operand }) => {
        if (operand === 'value')
          return VALUE_ARBITRARIES[leaf.type].map((value) => wrapPart(`${name}: `, value, ''))
        const bounds = operand === 'period' ? { minLength: 2, maxLength: 2 } : { maxLength: 3 }
        return fc
          .array(VALUE_ARBITRARIES[leaf.type], bounds)
          .map((items) => wrapPart(`${name}: [`, joinParts(items, ', '), ']'))
      }),
    },
    { weight: 1, arbitrary: lastOperatorArbitrary(leaf) },
  )

/** Paths whose values have an order. */
const orderedPaths = (cube: Cube): readonly string[] =>
  [...cubePaths(cube)].flatMap(([path, { type }]) => (isListType(type) ? [] : [path]))

const nestedFilter = (path: string, inner: string): string =>
  path.split('.').reduceRight((text, name) => `{${name}: ${text}}`, `{${inner}}`)

const filterArbitrary = (cube: Cube): fc.Arbitrary<QueryPart> => {
  const paths = cubePaths(cube)
  const one = fc.constantFrom(...paths.keys()).chain((path) =>
    operatorArbitrary(leafAt(paths, path)).map((part) => ({
      text: nestedFilter(path, part.text),
      values: part.values,
    })),
  )
  return fc.oneof(
    { weight: 3, arbitrary: one },
    {
      weight: 1,
      arbitrary: fc
        .array(one, { maxLength: 3 })
        .map((branches) => wrapPart('{any: [', joinParts(branches, ', '), ']}')),
    },
  )
}

const toUnderscorePath = (path: string): string => path.replaceAll('.', '_')
const nestedSelection = (path: string, key: string, args = ''): string => {
  const steps = path.split('.')
  const last = steps.pop() ?? ''
  return steps.reduceRight((inner, name) => `${name} { ${inner} }`, `${key}: ${last}${args}`)
}

const intervalArbitrary: fc.Arbitrary<QueryPart> = fc
  .tuple(
    fc.constantFrom('seconds', 'minutes', 'hours', 'days', 'weeks', 'months', 'quarters', 'years'),
    fc.integer({ min: 1, max: 100 }),
    fc.constantFrom('', 'UTC', 'Asia/Kolkata', 'America/New_York', 'Pacific/Chatham'),
  )
  .map(([unit, count, zone]) => {
    const timezone = zone === '' ? '' : `, timezone: "${zone}"`
    const values = zone.includes('/') ? [zone] : []
    return { text: `(interval: {in: ${unit}, count: ${count}${timezone}})`, values }
  })

const dimensionArbitrary = (cube: Cube): fc.Arbitrary<(key: string) => QueryPart> => {
  const paths = cubePaths(cube)
  const names = [...paths.keys()]
  return fc.constantFrom(...names).chain((path) => {
    const leaf = leafAt(paths, path)
    const plain = fc.constant({ text: '', values: [] as readonly string[] })
    const pick = fc
      .tuple(fc.constantFrom('maximum', 'minimum'), fc.constantFrom(...orderedPaths(cube)))
      .map(([name, by]) => ({
        text: `(${name}: ${toUnderscorePath(by)})`,
        values: [] as readonly string[],
      }))
    const bucket =
      leaf.type === 'DateTime' && leaf.bucket ? [{ weight: 2, arbitrary: intervalArbitrary }] : []
    return fc
      .oneof({ weight: 6, arbitrary: plain }, { weight: 1, arbitrary: pick }, ...bucket)
      .map(({ text: args }) => (key: string) => ({
        text: nestedSelection(path, key, args),
        values: [],
      }))
  })
}

const havingArbitrary = decimalArbitrary.map((value) => wrapPart('selectWhere: {gt: ', value, '}'))

const metricArbitrary = (cube: Cube): fc.Arbitrary<(key: string) => QueryPart> => {
  const paths = cubePaths(cube)
  const all = [...paths.keys()]
  const numbers = all.filter((path) => ['Int', 'Float'].includes(leafAt(paths, path).type))
  const of = fc
    .constantFrom('uniq', 'min', 'max', 'sum', 'avg', 'quantile', 'count')
    .chain((name) => {
      const ordered = ['min', 'max'].includes(name) ? orderedPaths(cube) : all
      const from = ['sum', 'avg', 'quantile'].includes(name) ? numbers : ordered
      const level =
        name === 'quantile' ? fc.constantFrom('', ', level: 0.123456789') : fc.constant('')
      return fc.tuple(fc.constantFrom(...from), level).map(([path, extra]) => ({
        text: `${name}(of: ${toUnderscorePath(path)}${extra}`,
        values: extra ? ['0.123456789'] : [],
      }))
    })
  const condition = fc.option(
    filterArbitrary(cube).map((part) => wrapPart(', if: ', part, '')),
    { nil: { text: '', values: [] } },
  )
  const kept = fc.oneof(
    { weight: 4, arbitrary: fc.constant<QueryPart>({ text: '', values: [] }) },
    { weight: 1, arbitrary: havingArbitrary.map((part) => wrapPart(', ', part, '')) },
  )
  return fc
    .tuple(of, condition, kept)
    .map((parts) => (key: string) => wrapPart(`${key}: `, joinParts(parts, ''), ')'))
}

const ORDERS = ['ascending', 'descending'] as const

const cubeQueryArbitrary = (cube: Cube): fc.Arbitrary<QueryPart> => {
  const names = orderedPaths(cube).map(toUnderscorePath)
  const field = fc.oneof(
    { weight: 3, arbitrary: dimensionArbitrary(cube) },
    { weight: 1, arbitrary: metricArbitrary(cube) },
  )
  const fields = fc.array(field, { minLength: 1, maxLength: 6 }).map((made) =>
    joinParts(
      made.map((make, index) => make(`f${index}`)),
      ' ',
    ),
  )
  const order = fc
    .tuple(
      fc.constantFrom(...ORDERS),
      fc.constantFrom(...names),
      fc.constantFrom('path', 'pathByField', 'fieldByKey'),
    )
    .map(([name, path, by]) => {
      if (by === 'path') return { text: `orderBy: {${name}: ${path}}`, values: [] }
      const field = by === 'fieldByKey' ? 'f0' : path
      return { text: `orderBy: {${name}ByField: "${field}"}`, values: [] }
    })
  const limit = fc
    .integer({ min: 10_000_000, max: 900_000_000 })
    .map((offset) => ({ text: `limit: {count: 7, offset: ${offset}}`, values: [String(offset)] }))
  const limitBy = fc
    .constantFrom(...names)
    .map((path) => ({ text: `limitBy: {by: ${path}, count: 3}`, values: [] }))
  const where = filterArbitrary(cube).map((part) => wrapPart('where: ', part, ''))
  const args = fc.subarray([0, 1, 2, 3]).chain((chosen) => {
    const offered: readonly fc.Arbitrary<QueryPart>[] = [where, order, limit, limitBy]
    return fc
      .tuple(...chosen.map((index) => offered[index] ?? where))
      .map((parts) => joinParts(parts, ', '))
  })
  return fc.tuple(args, fields).map(([given, selected]) => ({
    text: `${cube.name}${given.text ? `(${given.text})` : ''} { ${selected.text} }`,
    values: [...given.values, ...selected.values],
  }))
}

const GROUPS = {
  EVM: 'EVM(network: eth',
  Solana: 'Solana(network: solana',
  Trading: 'Trading(aggregates: yes',
} as const

/** Valid queries over every cube and group. */
export const graphqlQueryArbitrary: fc.Arbitrary<GeneratedQuery> = fc
  .constantFrom(...CUBES)
  .chain((cube) =>
    fc
      .tuple(
        fc.constantFrom(...cube.groups),
        fc.constantFrom('', ', dataset: realtime', ', dataset: archive'),
        cubeQueryArbitrary(cube),
        fc.option(fc.tuple(fc.constantFrom(...Object.keys(cube.selectors)), textArbitrary), {
          nil: undefined,
        }),
      )
      .map(([group, dataset, body, selector]) => {
        const type =
          selector && leafAt(cubePaths(cube), cube.selectors[selector[0]]?.[0] ?? '').type
        const variable = selector && type === 'String' ? selector : undefined
        const inner = variable
          ? body.text.replace(/^(\w+)(\(| \{)/, (_, name: string, open: string) =>
              open === '(' ? `${name}(${variable[0]}: $v, ` : `${name}(${variable[0]}: $v) {`,
            )
          : body.text
        return {
          query: `query${variable ? '($v: String)' : ''} { ${GROUPS[group]}${dataset}) { ${inner} } }`,
          variables: variable ? { v: JSON.parse(variable[1].text) as unknown } : {},
          values: [...body.values, ...(variable ? variable[1].values : [])],
        }
      }),
  )
