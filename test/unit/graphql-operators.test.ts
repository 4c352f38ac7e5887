/** Every filter operator of every type, as the statement that it has to become. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEX_TRADES } from '../../schemas/cubes/dex-trades.ts'
import type { Cube, Leaf } from '../../schemas/cubes/types.ts'
import { compileCondition } from '../../serving/graphql/compile-condition.ts'
import { parseCondition } from '../../serving/graphql/conditions.ts'
import { operatorFields } from '../../serving/graphql/filter-types.ts'
import { createQueryParameters } from '../../serving/graphql/query-parameters.ts'

const LEAVES = {
  String: { type: 'String', sql: 'x', about: '' },
  Int: { type: 'Int', sql: 'x', about: '' },
  Float: { type: 'Float', sql: 'x', about: '' },
  Decimal: { type: 'Float', sql: 'x', about: '', exact: true },
  Boolean: { type: 'Boolean', sql: 'x', about: '' },
  DateTime: { type: 'DateTime', sql: 'x', about: '' },
  Date: { type: 'Date', sql: 'x', about: '' },
  StringList: { type: 'StringList', sql: 'x', about: '' },
  IntList: { type: 'IntList', sql: 'x', about: '' },
  FloatList: { type: 'FloatList', sql: 'x', about: '' },
} as const satisfies Readonly<Record<string, Leaf>>

const NOON = '2026-11-20 12:00:00.000'
const NIGHT = '2026-11-21 00:00:00.000'
/** A Tuesday, the last day of March. */
const NOW_MS = Date.UTC(2026, 2, 31, 12)
const MOST = '1000000000'
const ago = (text: string): string => `2026-03-${text}:00.000`
const TIME = "DateTime64(3, 'UTC')"

type Row = readonly [
  operator: string,
  value: unknown,
  sql: string,
  ...values: readonly (string | readonly string[])[],
]

const numbers = (type: string, shown: (text: string) => string): readonly Row[] => [
  ['eq', 7, `x = {p0:${type}}`, shown('7')],
  ['ne', 7, `x != {p0:${type}}`, shown('7')],
  ['gt', 7, `x > {p0:${type}}`, shown('7')],
  ['ge', 7, `x >= {p0:${type}}`, shown('7')],
  ['gte', 7, `x >= {p0:${type}}`, shown('7')],
  ['lt', 7, `x < {p0:${type}}`, shown('7')],
  ['le', 7, `x <= {p0:${type}}`, shown('7')],
  ['lte', 7, `x <= {p0:${type}}`, shown('7')],
  ['in', [7, 8], `x IN ({p0:${type}}, {p1:${type}})`, shown('7'), shown('8')],
  ['in', [], '0'],
  ['notIn', [7], `x NOT IN ({p0:${type}})`, shown('7')],
  ['notIn', [], '1'],
  ['isNull', true, 'isNull(x)'],
  ['isNull', false, 'isNotNull(x)'],
]

const items = (type: string, held: string, item: string): readonly Row[] => [
  ...['is', 'includes'].map((name): Row => [name, item, `hasAny(${held}, [{p0:${type}}])`, item]),
  ...['not', 'notIncludes', 'excludes'].map(
    (name): Row => [name, item, `NOT hasAny(${held}, [{p0:${type}}])`, item],
  ),
  ['in', [item, item], `hasAny(${held}, [{p0:${type}}, {p1:${type}}])`, item, item],
  ['in', [], '0'],
  ['notIn', [item], `NOT hasAny(${held}, [{p0:${type}}])`, item],
  ['notIn', [], '1'],
  ['length', { gt: '2' }, 'length(x) > {p0:Int64}', '2'],
]

const TIMES: readonly Row[] = [
  ['is', NOON, `x = {p0:${TIME}}`, NOON],
  ['not', NOON, `x != {p0:${TIME}}`, NOON],
  ['since', NOON, `x >= {p0:${TIME}}`, NOON],
  ['after', NOON, `x > {p0:${TIME}}`, NOON],
  ['till', NOON, `x <= {p0:${TIME}}`, NOON],
  ['before', NOON, `x < {p0:${TIME}}`, NOON],
  ['between', [NOON, NIGHT], `(x >= {p0:${TIME}} AND x <= {p1:${TIME}})`, NOON, NIGHT],
  ['between', [NOON], `(x >= {p0:${TIME}} AND x <= {p1:${TIME}})`, NOON, NOON],
  ['in', [NOON], `toDateTime64(x, 3, 'UTC') IN ({p0:${TIME}})`, NOON],
  ['notIn', [NOON], `toDateTime64(x, 3, 'UTC') NOT IN ({p0:${TIME}})`, NOON],
  ['isNull', true, 'isNull(x)'],
  ['since_relative', { hours_ago: '1', minutes_ago: '30' }, `x >= {p0:${TIME}}`, ago('31 10:30')],
  ['after_relative', { days_ago: '1', weeks_ago: '1' }, `x > {p0:${TIME}}`, ago('23 12:00')],
  ['till_relative', { seconds_ago: '60' }, `x <= {p0:${TIME}}`, ago('31 11:59')],
  ['before_relative', {}, `x < {p0:${TIME}}`, ago('31 12:00')],
  // February has 28 days, and no time is stored from before 1970.
  ['since_relative', { months_ago: '1' }, `x >= {p0:${TIME}}`, '2026-02-28 12:00:00.000'],
  ['since_relative', { months_ago: '13' }, `x >= {p0:${TIME}}`, '2025-02-28 12:00:00.000'],
  ['since_relative', { years_ago: '2' }, `x >= {p0:${TIME}}`, '2024-03-31 12:00:00.000'],
  ['since_relative', { years_ago: MOST }, `x >= {p0:${TIME}}`, '1970-01-01 00:00:00.000'],
  ['since_relative', { weeks_ago: MOST }, `x >= {p0:${TIME}}`, '1970-01-01 00:00:00.000'],
]

const TABLE: Readonly<Record<keyof typeof LEAVES, readonly Row[]>> = {
  String: [
    // A backslash is one of the text, also where the engine reads a pattern.
    ['is', 'A\\', 'x = {p0:String}', 'A\\'],
    ['not', 'A\\', 'x != {p0:String}', 'A\\'],
    ['like', 'A%\\', 'x LIKE {p0:String}', 'A%\\\\'],
    ['notLike', 'A%\\', 'x NOT LIKE {p0:String}', 'A%\\\\'],
    ['likeCaseInsensitive', 'A_\\', 'x ILIKE {p0:String}', 'A_\\\\'],
    ['notLikeCaseInsensitive', 'A_\\', 'x NOT ILIKE {p0:String}', 'A_\\\\'],
    ['includes', 'A\\', 'position(x, {p0:String}) > 0', 'A\\'],
    ['notIncludes', 'A\\', 'position(x, {p0:String}) = 0', 'A\\'],
    ['includesCaseInsensitive', 'A\\', 'positionCaseInsensitiveUTF8(x, {p0:String}) > 0', 'A\\'],
    ['notIncludesCaseInsensitive', 'A\\', 'positionCaseInsensitiveUTF8(x, {p0:String}) = 0', 'A\\'],
    ['startsWith', 'A\\', 'startsWith(x, {p0:String})', 'A\\'],
    ['endsWith', 'A\\', 'endsWith(x, {p0:String})', 'A\\'],
    ['startsWithCaseInsensitive', 'A\\', 'startsWith(lowerUTF8(x), lowerUTF8({p0:String}))', 'A\\'],
    ['in', ['a', 'b'], 'x IN {p0:Array(String)}', ['a', 'b']],
    ['in', [], '0'],
    ['notIn', ['a'], 'x NOT IN {p0:Array(String)}', ['a']],
    ['notIn', [], '1'],
    ['isNull', true, 'isNull(x)'],
    ['isNull', false, 'isNotNull(x)'],
  ],
  Int: numbers('Int64', (text) => text),
  Float: numbers('Float64', (text) => text),
  Decimal: numbers('Decimal(76, 30)', (text) => `${text}.0`),
  Boolean: [
    ['is', true, 'x = {p0:UInt8}', '1'],
    ['eq', false, 'x = {p0:UInt8}', '0'],
    ['isNull', true, 'isNull(x)'],
  ],
  DateTime: TIMES,
  Date: TIMES,
  StringList: items('String', 'x', 'a'),
  IntList: items('Int64', 'arrayMap(item -> toInt64(item), x)', '7'),
  FloatList: items('Float64', 'x', '1.5'),
}

const cubeOf = (leaf: Leaf): Cube => ({ ...DEX_TRADES, dimensions: { X: leaf } })

const compiled = (leaf: Leaf, given: Readonly<Record<string, unknown>>, hex = false) => {
  const binder = createQueryParameters()
  const condition = parseCondition(cubeOf(leaf), given)
  const use = (used: Leaf): string => used.sql
  const sql = compileCondition(condition, { binder, use, hex })
  return { sql, values: Object.values(binder.paramsAt(NOW_MS)) }
}

test('a filter operator compiles to its comparison, with a bound operand', () => {
  for (const [type, rows] of Object.entries(TABLE)) {
    for (const [operator, value, sql, ...values] of rows) {
      const leaf = LEAVES[type as keyof typeof LEAVES]
      assert.deepEqual(
        compiled(leaf, { X: { [operator]: value } }),
        { sql, values },
        `${type} ${operator}`,
      )
    }
  }
})

test('the tables of operators and of expected statements name the same operators', () => {
  for (const [type, rows] of Object.entries(TABLE)) {
    const offered = Object.keys(operatorFields(LEAVES[type as keyof typeof LEAVES].type))
    const tested = new Set(rows.map(([operator]) => operator))
    assert.deepEqual([...tested].toSorted(), [...new Set(offered)].toSorted(), type)
  }
})

test('addresses are compared in lower case on chains that write them so', () => {
  const address = { type: 'String', sql: 'x', about: '', address: true } as const
  assert.deepEqual(compiled(address, { X: { is: '0xAB' } }).values, ['0xab'])
  assert.deepEqual(compiled(address, { X: { is: 'So1X' } }).values, ['So1X'])
  assert.deepEqual(compiled(address, { X: { is: 'So1X' } }, true).values, ['so1x'])
  assert.deepEqual(compiled(address, { X: { in: ['0xAB', 'So1'] } }).values, [['0xab', 'So1']])
  assert.deepEqual(compiled(address, { X: { like: '0xAB%_' } }).values, ['0xab%_'])
  for (const text of ['So0xAB', '0xABZ']) {
    assert.deepEqual(compiled(address, { X: { is: text } }).values, [text], 'more than hex')
  }
  const list = { ...address, type: 'StringList' } as const
  assert.deepEqual(compiled(list, { X: { in: ['0xAB', 'So1'] } }).values, ['0xab', 'So1'])
})

test('a folding column is compared without case, blanks and underscores, and searched as written', () => {
  const folding = { type: 'String', sql: 'x', about: '', folds: true } as const
  const column = "lower(replaceRegexpAll(x, '[_ ]', ''))"
  const rows: readonly Row[] = [
    ['is', 'Add_Li q', `${column} = {p0:String}`, 'addliq'],
    ['not', 'Add_Li q', `${column} != {p0:String}`, 'addliq'],
    ['in', ['A_b', 'C d'], `${column} IN {p0:Array(String)}`, ['ab', 'cd']],
    ['notIn', ['A_b'], `${column} NOT IN {p0:Array(String)}`, ['ab']],
    ['like', 'A_b', 'x LIKE {p0:String}', 'A_b'],
    ['includes', 'A_b', 'position(x, {p0:String}) > 0', 'A_b'],
    ['startsWith', 'A_b', 'startsWith(x, {p0:String})', 'A_b'],
    ['isNull', true, 'isNull(x)'],
  ]
  for (const [operator, value, sql, ...values] of rows) {
    assert.deepEqual(compiled(folding, { X: { [operator]: value } }), { sql, values }, operator)
  }
})

test('the between operator takes exactly two times', () => {
  for (const between of [[], [NOON, NIGHT, NOON]]) {
    assert.throws(
      () => compiled(LEAVES.DateTime, { X: { between } }),
      new RegExp(`'between' of X takes a first and a last time, not ${between.length}`),
    )
  }
})

test('a decimal beyond 26 whole digits is compared as a double, a longer fraction is cut', () => {
  const [fits, long] = ['1'.repeat(26), '1'.repeat(27)]
  assert.deepEqual(compiled(LEAVES.Decimal, { X: { gt: fits } }), {
    sql: 'x > {p0:Decimal(76, 30)}',
    values: [`${fits}.0`],
  })
  assert.deepEqual(compiled(LEAVES.Decimal, { X: { gt: long } }), {
    sql: 'toFloat64(x) > {p0:Float64}',
    values: [long],
  })
  assert.deepEqual(compiled(LEAVES.Decimal, { X: { in: ['7', long] } }), {
    sql: 'toFloat64(x) IN ({p0:Float64}, {p1:Float64})',
    values: ['7', long],
  })
  const { values } = compiled(LEAVES.Decimal, { X: { eq: `-1.${'3'.repeat(40)}` } })
  assert.deepEqual(values, [`-1.${'3'.repeat(30)}`])
})

test('conditions of one field are joined by AND, those of any by OR', () => {
  assert.equal(
    compiled(LEAVES.Int, { X: { gt: 1, le: 9 } }).sql,
    '(x > {p0:Int64} AND x <= {p1:Int64})',
  )
  assert.equal(
    compiled(LEAVES.Int, { any: [{ X: { lt: 1 } }, { X: { ge: 9 } }] }).sql,
    '(x < {p0:Int64} OR x >= {p1:Int64})',
  )
  assert.equal(compiled(LEAVES.Int, {}).sql, '1')
})

test('a condition that is always true is left out of AND, and kept in OR', () => {
  const always = { notIn: [] }
  assert.equal(compiled(LEAVES.Int, { X: { ...always, gt: 1 } }).sql, 'x > {p0:Int64}')
  assert.equal(
    compiled(LEAVES.Int, { any: [{ X: always }, { X: { gt: 1 } }] }).sql,
    '(1 OR x > {p0:Int64})',
  )
})

test('a duplicate condition is written once', () => {
  const never = { in: [] }
  assert.equal(compiled(LEAVES.Int, { any: [{ X: never }, { X: never }] }).sql, '0')
})
