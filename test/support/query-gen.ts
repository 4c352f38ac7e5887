import fc from 'fast-check'
import { CUBES } from '../../schemas/cubes/all.ts'
import type { Cube, Leaf } from '../../schemas/cubes/types.ts'
import { leafAt, pathsOf } from '../../serving/graphql/catalogue.ts'

/** A valid query with the values that its text or its variables carry. */
export interface GeneratedQuery {
  readonly query: string
  readonly variables: Readonly<Record<string, unknown>>
  /** Texts that must not turn up in SQL. */
  readonly values: readonly string[]
}

interface Part {
  readonly text: string
  readonly values: readonly string[]
}

const join = (parts: readonly Part[], by: string): Part => ({
  text: parts.map(({ text }) => text).join(by),
  values: parts.flatMap(({ values }) => values),
})

const wrap = (before: string, part: Part, after: string): Part => ({
  text: before + part.text + after,
  values: part.values,
})

/** Hostile texts that no SQL of ours holds by chance. */
const text: fc.Arbitrary<Part> = fc
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
const whole: fc.Arbitrary<Part> = fc
  .bigInt({ min: 10_000_000n, max: 2n ** 62n })
  .map((value) => ({ text: String(value), values: [String(value)] }))
const decimal: fc.Arbitrary<Part> = fc
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
const time: fc.Arbitrary<Part> = fc
  .date({ min: new Date('1900-01-01'), max: new Date('2999-01-01'), noInvalidDate: true })
  .chain((date) => {
    const iso = date.toISOString()
    return fc
      .constantFrom(iso, iso.slice(0, 19).replace('T', ' '), iso.slice(0, 10))
      .map((value) => ({ text: `"${value}"`, values: [value, iso.slice(0, 10)] }))
  })

const OPERATORS = {
  String: [
    'is',
    'not',
    'like',
    'notLike',
    'includes',
    'notIncludes',
    'startsWith',
    'endsWith',
    'likeCaseInsensitive',
    'notLikeCaseInsensitive',
    'includesCaseInsensitive',
    'notIncludesCaseInsensitive',
    'startsWithCaseInsensitive',
    '[in',
    '[notIn',
  ],
  Int: ['eq', 'ne', 'gt', 'ge', 'lt', 'le', 'gte', 'lte', '[in', '[notIn'],
  Float: ['eq', 'ne', 'gt', 'ge', 'lt', 'le', 'gte', 'lte', '[in', '[notIn'],
  DateTime: ['is', 'not', 'since', 'till', 'after', 'before', '[between', '[in', '[notIn'],
  Date: ['is', 'not', 'since', 'till', 'after', 'before', '[in'],
  Boolean: ['is', 'eq'],
} as const

const VALUES: Readonly<Record<Leaf['type'], fc.Arbitrary<Part>>> = {
  String: text,
  Int: whole,
  Float: decimal,
  DateTime: time,
  Date: time,
  Boolean: fc.boolean().map((value) => ({ text: String(value), values: [] })),
}

const operatorOn = (leaf: Leaf): fc.Arbitrary<Part> =>
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.constantFrom(...OPERATORS[leaf.type]).chain((name) => {
        if (!name.startsWith('['))
          return VALUES[leaf.type].map((value) => wrap(`${name}: `, value, ''))
        const bounds = name === '[between' ? { minLength: 2, maxLength: 2 } : { maxLength: 3 }
        return fc
          .array(VALUES[leaf.type], bounds)
          .map((items) => wrap(`${name.slice(1)}: [`, join(items, ', '), ']'))
      }),
    },
    {
      weight: 1,
      arbitrary: fc.boolean().map((value) => ({ text: `isNull: ${value}`, values: [] })),
    },
  )

const nested = (path: string, inner: string): string =>
  path.split('.').reduceRight((text, name) => `{${name}: ${text}}`, `{${inner}}`)

const filterOf = (cube: Cube): fc.Arbitrary<Part> => {
  const paths = pathsOf(cube)
  const one = fc.constantFrom(...paths.keys()).chain((path) =>
    operatorOn(leafAt(paths, path)).map((part) => ({
      text: nested(path, part.text),
      values: part.values,
    })),
  )
  return fc.oneof(
    { weight: 3, arbitrary: one },
    {
      weight: 1,
      arbitrary: fc
        .array(one, { maxLength: 3 })
        .map((branches) => wrap('{any: [', join(branches, ', '), ']}')),
    },
  )
}

const underscored = (path: string): string => path.replaceAll('.', '_')
const selection = (path: string, key: string, args = ''): string => {
  const steps = path.split('.')
  const last = steps.pop() ?? ''
  return steps.reduceRight((inner, name) => `${name} { ${inner} }`, `${key}: ${last}${args}`)
}

const interval: fc.Arbitrary<Part> = fc
  .tuple(
    fc.constantFrom('seconds', 'minutes', 'hours', 'days', 'weeks', 'months', 'years'),
    fc.integer({ min: 1, max: 100 }),
  )
  .map(([unit, count]) => ({ text: `(interval: {in: ${unit}, count: ${count}})`, values: [] }))

const dimension = (cube: Cube): fc.Arbitrary<(key: string) => Part> => {
  const paths = pathsOf(cube)
  const names = [...paths.keys()]
  return fc.constantFrom(...names).chain((path) => {
    const leaf = leafAt(paths, path)
    const plain = fc.constant({ text: '', values: [] as readonly string[] })
    const pick = fc
      .tuple(fc.constantFrom('maximum', 'minimum'), fc.constantFrom(...names))
      .map(([name, by]) => ({
        text: `(${name}: ${underscored(by)})`,
        values: [] as readonly string[],
      }))
    const bucket =
      leaf.type === 'DateTime' && leaf.bucket ? [{ weight: 2, arbitrary: interval }] : []
    return fc
      .oneof({ weight: 6, arbitrary: plain }, { weight: 1, arbitrary: pick }, ...bucket)
      .map(({ text: args }) => (key: string) => ({ text: selection(path, key, args), values: [] }))
  })
}

const having = decimal.map((value) => wrap('selectWhere: {gt: ', value, '}'))

const metric = (cube: Cube): fc.Arbitrary<(key: string) => Part> => {
  const paths = pathsOf(cube)
  const all = [...paths.keys()]
  const numbers = all.filter((path) => ['Int', 'Float'].includes(leafAt(paths, path).type))
  const of = fc
    .constantFrom('uniq', 'min', 'max', 'sum', 'avg', 'quantile', 'count')
    .chain((name) => {
      const from = ['sum', 'avg', 'quantile'].includes(name) ? numbers : all
      const level =
        name === 'quantile' ? fc.constantFrom('', ', level: 0.123456789') : fc.constant('')
      return fc.tuple(fc.constantFrom(...from), level).map(([path, extra]) => ({
        text: `${name}(of: ${underscored(path)}${extra}`,
        values: extra ? ['0.123456789'] : [],
      }))
    })
  const condition = fc.option(
    filterOf(cube).map((part) => wrap(', if: ', part, '')),
    { nil: { text: '', values: [] } },
  )
  const kept = fc.oneof(
    { weight: 4, arbitrary: fc.constant<Part>({ text: '', values: [] }) },
    { weight: 1, arbitrary: having.map((part) => wrap(', ', part, '')) },
  )
  return fc
    .tuple(of, condition, kept)
    .map((parts) => (key: string) => wrap(`${key}: `, join(parts, ''), ')'))
}

const ORDERS = ['ascending', 'descending'] as const

const cubeQuery = (cube: Cube): fc.Arbitrary<Part> => {
  const names = [...pathsOf(cube).keys()].map(underscored)
  const field = fc.oneof(
    { weight: 3, arbitrary: dimension(cube) },
    { weight: 1, arbitrary: metric(cube) },
  )
  const fields = fc.array(field, { minLength: 1, maxLength: 6 }).map((made) =>
    join(
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
  const where = filterOf(cube).map((part) => wrap('where: ', part, ''))
  const args = fc.subarray([0, 1, 2, 3]).chain((chosen) => {
    const offered: readonly fc.Arbitrary<Part>[] = [where, order, limit, limitBy]
    return fc
      .tuple(...chosen.map((index) => offered[index] ?? where))
      .map((parts) => join(parts, ', '))
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
export const generatedQuery: fc.Arbitrary<GeneratedQuery> = fc
  .constantFrom(...CUBES)
  .chain((cube) =>
    fc
      .tuple(
        fc.constantFrom(...cube.groups),
        fc.constantFrom('', ', dataset: realtime', ', dataset: archive'),
        cubeQuery(cube),
        fc.option(fc.tuple(fc.constantFrom(...Object.keys(cube.selectors)), text), {
          nil: undefined,
        }),
      )
      .map(([group, dataset, body, selector]) => {
        const type = selector && leafAt(pathsOf(cube), cube.selectors[selector[0]]?.[0] ?? '').type
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
