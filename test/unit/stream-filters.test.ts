import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CHANNELS, type ChannelPrefix, channelRow } from '../../schemas/channels.ts'
import { LINEAR_MATCHES } from '../../serving/cel/expression-cost.ts'
import { createMeteredFilters } from '../../serving/realtime/metered-filters.ts'
import { filterViewOf, type Payload } from '../../serving/realtime/payload.ts'
import { PROTOCOL_ERRORS } from '../../serving/realtime/protocol.ts'
import {
  createFilterCompiler,
  type PublicationFilter,
  requestedFilter,
} from '../../serving/realtime/publication-filter.ts'

const filters = createFilterCompiler()
const CANDLE = { a: '0xa', o: '1', c: '2', h: '3', l: '1', v: '55.5', r: '1m', t: 17, n: 12 }
const TOKEN = {
  a: '0xa',
  n: 'Frog',
  s: '',
  dec: 6,
  cts: 17,
  sm: { tw: 'https://x.test' },
  lf: { pf: 'pump_fun', pn: 'Pump' },
}
const LIQUIDITY = { a: '0xa', liu: '12000.5', lin: '3', pc: 2, ts: 17 }

/** What the filter says of the payload; `107` = it is none. */
const matches = (prefix: ChannelPrefix, text: string, payload: Payload): boolean | '107' => {
  const row = channelRow(prefix)
  const filter = filters.compile(row, text)
  return filter === undefined ? '107' : filter.matches(filterViewOf(payload, row.keys))
}
const checkCases = (
  prefix: ChannelPrefix,
  payload: Payload,
  cases: Readonly<Record<string, boolean | '107'>>,
): void => {
  const found = Object.keys(cases).map((text) => [text, matches(prefix, text, payload)])
  assert.deepEqual(Object.fromEntries(found), cases)
}

test('filter fields may be short or long, with the prefix meta once, twice or not at all', () => {
  for (const name of ['meta.v', 'meta.meta.v', 'v', 'volume', 'meta.volume', 'meta["v"]']) {
    assert.equal(matches('dex-candle', `${name} > 55`, CANDLE), true, name)
    assert.equal(matches('dex-candle', `55.5 < ${name}`, CANDLE), false, name)
  }
  checkCases('dex-new-token', TOKEN, {
    'meta.lf.pf == "pump_fun" && has(meta.sm.tw)': true,
    'lf.pf == "pump_fun" && !has(sm.tg)': true,
    'launchFrom.protocolFamily == "pump_fun" && has(socialMedia.twitter)': true,
    'meta.launchFrom.protocolName.startsWith("Pu")': true,
    'has(meta.mt)': false,
    'meta.mt.pf == "x"': false,
    'symbol == "" && name == "Frog"': true,
  })
})

test('parentheses around a part of a filter field are as if they were not there', () => {
  for (const name of [
    '(meta).v',
    '((meta)).v',
    '( meta )["v"]',
    '(meta)[("v")]',
    '(meta.meta).volume',
    '((v))',
    '(meta) // of the payload (\n .v',
  ]) {
    assert.equal(matches('dex-candle', `${name} > 55`, CANDLE), true, name)
    assert.equal(matches('dex-candle', `55.5 < ${name}`, CANDLE), false, name)
  }
  checkCases('dex-new-token', TOKEN, {
    '(meta.lf).pf == "pump_fun" && (((meta).launchFrom).protocolFamily) == "pump_fun"': true,
    '((meta).lf)["pf"].startsWith("pump") && (lf).pf.size() == 8': true,
    'has((meta.sm).tw) && !has((socialMedia).telegram)': true,
    '(meta[")"]).x == 1 || (meta).n == "Frog"': true,
    '[1].exists(n, (n) == 1 && (meta).n == "Frog")': true,
    '(meta.n) + ")" == "Frog)"': true,
    '(meta).zzz == 1': false,
    '(meta.n == "Frog"': '107',
    '(meta)).n == "Frog"': '107',
  })
})

test('filters support every operator and function of the language', () => {
  checkCases('dex-candle', CANDLE, {
    'meta.n == 12': true,
    'meta.n != 12': false,
    'meta.n >= 12 && meta.n <= 12': true,
    'meta.n < 12 || meta.v > 55': true,
    '!(meta.n < 12)': true,
    'meta.n in [11, 12]': true,
    'meta.r in ["1m", "5m"]': true,
    'meta.n > 3 ? meta.v > 1.0 : false': true,
    'meta.v + 1 > 56.4': true,
    'meta.v - 0.5 == 55': true,
    'meta.v * 2 == 111': true,
    'meta.n / 8 == 1.5': true,
    'meta.n % 5 == 2': true,
    '-meta.n < 0': true,
    'size(meta.r) == 2': true,
    'meta.r.startsWith("1") && meta.r.endsWith("m") && meta.r.contains("m")': true,
    'meta.r.matches("^[0-9]+m$")': true,
    "meta.r.matches('h$')": false,
    'meta.a.matches("^0x[0-9a-f]{40}$") || meta.r.matches("^1m$")': true,
    'int(meta.v) == 55 && double(meta.n) > 11.5 && string(meta.n) == "12"': true,
    'meta.r != null': true,
    '[1, 2].exists(n, n == 2 && meta.n == 12)': true,
    'meta["o"] == 1u': true,
  })
})

test('filters compare numbers with decimal text, and with no other text', () => {
  checkCases('dex-token-total-liquidity', LIQUIDITY, {
    'meta.liu > 10000': true,
    'meta.liu > 12001': false,
    'liquidityInUsd >= 12000.5': true,
    'meta.liu == "12000.50"': true,
    'meta.lin == 3': true,
    '3 == meta.lin': true,
    'meta.a > 3': false,
    'meta.a == 3': false,
    'meta.pc == "2"': true,
    '"10" > 9': true,
  })
})

test('an absent filter field matches nothing, without an error', () => {
  checkCases('dex-candle', CANDLE, {
    'meta.zzz > 1': false,
    'meta.zzz.y == "x"': false,
    'meta.zzz > 1 || meta.n == 12': true,
    'meta.r > true': false,
    'meta.r + 1 == 2': false,
    'meta.n / 0 == 1': false,
    'meta.v': false,
    'has(meta.zzz)': false,
  })
})

test('a stream filter that is not valid is refused', () => {
  const clauses = (count: number) =>
    Array.from({ length: count }, () => 'meta.n == 12').join(' && ')
  const deep = (levels: number) => `${'('.repeat(levels)}meta.n == 12${')'.repeat(levels)}`
  const walks = '[1,2,3,4,5,6,7,8,9,0]'
  const nested = ['a', 'b', 'c', 'd'].reduceRight(
    (inner, x) => `${walks}.all(${x}, ${inner})`,
    'n < 7',
  )
  checkCases('dex-candle', CANDLE, {
    'meta.ba >': '107',
    'zzz > 1': '107',
    '1 + 1': '107',
    'n == 12 &&': '107',
    'constructor == 1': '107',
    '__proto__ == 1': '107',
    [clauses(20)]: true,
    [clauses(100)]: '107',
    [deep(10)]: true,
    [deep(5_000)]: '107',
    [nested]: '107',
    [`meta.r == "${'x'.repeat(4_100)}"`]: '107',
    'meta.r.matches(meta.r)': '107',
    'meta.r.matches("(")': '107',
    [`meta.r.matches("${'a'.repeat(65)}")`]: '107',
    'meta.r.matches("(?:a{1,90}){1,10}")': '107',
    'r.matches("a") && r.matches("b") && r.matches("c")': '107',
    'meta.list.all(x, x > 1)': '107',
    'meta.r.split("").join(meta.r).size() > 1': '107',
  })
})

test('a regular expression with exponential backtracking in other engines is matched in bounded time', () => {
  const filter = filters.compile(channelRow('dex-new-token'), 'meta.n.matches("^(a+)+$")')
  const view = filterViewOf({ n: `${'a'.repeat(250)}b` }, channelRow('dex-new-token').keys)
  const startMs = performance.now()
  for (let at = 0; at < 20; at += 1) assert.equal(filter?.matches(view), false)
  assert.ok(performance.now() - startMs < 2_000)
})

/** Runs it and returns for how many texts the engine of the language, which may backtrack without end, was asked. */
const countBacktrackingMatches = (t: TestContext, run: () => void): number => {
  const { mock } = t.mock.method(RegExp.prototype, 'test')
  run()
  const patterns = mock.calls.map(({ this: pattern }) =>
    pattern instanceof RegExp ? pattern.source : '',
  )
  mock.restore()
  return patterns.filter((source) => source === 'ab+c').length
}

test('no spelling of a filter reaches the backtracking regular expressions of the language', (t) => {
  const spellings: Readonly<Record<string, boolean>> = {
    'meta.r.matches("ab+c")': true,
    'meta.r // matches\n.matches("ab+c")': true,
    '"abbc" // matches\n.matches("ab+c")': true,
    'meta.r. // matches\nmatches // matches\n("ab+c")': true,
    '"matches abc" // matches\n.matches("ab+c") && r.matches("ab+c")': true,
    '["matches"].exists(x, r // matches\n.matches("ab+c"))': true,
    'cel.bind(matches, r, matches // matches\n.matches("ab+c"))': true,
    '{"matches": r}.matches // matches\n.matches("ab+c")': true,
    'r.matches("ab+c") ? r // matches\n.matches("ab+c") : false': true,
  }
  let found: unknown
  const backtracked = countBacktrackingMatches(t, () => {
    found = Object.fromEntries(
      Object.keys(spellings).map((text) => [text, matches('dex-candle', text, { r: 'abbc' })]),
    )
  })
  assert.deepEqual(found, spellings)
  assert.equal(backtracked, 0)
})

test('a filter may not call the function that stands for matches', () => {
  const names = [LINEAR_MATCHES, 'matchesPattern', 'linearMatches']
  const texts = names.flatMap((name) => [
    `meta.r.${name}("a")`,
    `meta.r.${name}(meta.r)`,
    `"a".${name}("(a+)+$")`,
    `${name}(meta.r, "a")`,
  ])
  checkCases('dex-candle', { r: 'a' }, Object.fromEntries(texts.map((text) => [text, '107'])))
})

test('the steps of a regular expression count by its program and by the length of what it searches', () => {
  const large = '(([ab]?){15})*[cd]'
  const long = 'ab'.repeat(1_850)
  const short = long.slice(0, 60)
  const calls = (text: string, pattern: string): readonly string[] => [
    `"${text}".matches("${pattern}")`,
    `["${text}"][0].matches("${pattern}")`,
    `["${text}"].exists(x, x.matches("${pattern}"))`,
    `cel.bind(x, "${text}", x.matches("${pattern}"))`,
    `(true ? "${text}" : r).matches("${pattern}")`,
    `("${text}" + "a").matches("${pattern}")`,
    `string(b"${text}").matches("${pattern}")`,
    `"${text}".trim().matches("${pattern}")`,
  ]
  const every = (texts: readonly string[], expected: boolean | '107') =>
    checkCases(
      'dex-candle',
      { r: short },
      Object.fromEntries(texts.map((text) => [text, expected])),
    )
  every(calls(short, large), false)
  every(calls(long, 'c'), false)
  every(calls(long, large), '107')
  every(['r.matches("(([ab]?){15})*[cd]")'], false)
  every(['r.matches("(([ab]?){40})*[cd]")', 'r.matches("a[ab]{80}[cd]") && r.matches("a")'], '107')
})

test('text that a function makes longer counts with its new length', () => {
  const hex = (levels: number): string =>
    levels === 0 ? 'meta.r' : `bytes(${hex(levels - 1)}).hex()`
  checkCases(
    'dex-candle',
    { r: 'a' },
    {
      [`${hex(1)} == "61"`]: true,
      [`${hex(6)} == "61"`]: '107',
      'bytes(r).hex().matches("(([ab]?){15})*[cd]")': '107',
    },
  )
})

test('equal filter texts of a channel family share one filter that is compiled once', () => {
  const [candle, pool] = [channelRow('dex-candle'), channelRow('dex-pool-candle')]
  const one = filters.compile(candle, 'meta.v > 77')
  assert.ok(one)
  assert.equal(filters.compile(candle, 'meta.v > 77'), one)
  assert.equal(filters.compile(pool, 'meta.v > 77'), one, 'the families have the same keys')
  assert.notEqual(filters.compile(channelRow('dex-trade'), 'meta.ba > 77'), one)
})

test('compiled filters of all families share one bound of memory, and the last used ones stay', () => {
  const small = createFilterCompiler({ maxBytes: 200 * 1_024 })
  const [candle, trade] = [channelRow('dex-candle'), channelRow('dex-trade')]
  const long = Array.from({ length: 30 }, (_, at) => `n == ${at}`).join(' || ')
  const first = small.compile(candle, long)
  assert.ok(first)
  assert.equal(small.compiled(candle, long), first)
  for (let at = 0; at < 10; at += 1)
    assert.ok(small.compile(trade, Array.from({ length: 30 }, () => `sa == ${at}`).join(' || ')))
  assert.equal(small.compiled(candle, long), undefined)
  assert.notEqual(small.compile(candle, long), first)
  for (let at = 0; at < 20; at += 1) {
    assert.ok(small.compile(trade, `sa == ${at}`))
    assert.ok(small.compiled(candle, long), 'short ones leave room')
  }
  assert.equal(small.compile(candle, 'meta.v >'), undefined)
  assert.equal(small.compiled(candle, 'meta.v >'), undefined)
})

test('compiling filters takes of the time of the organization that asks, what is refused among it', () => {
  let nowMs = 0
  const slow = createFilterCompiler()
  const metered = createMeteredFilters(
    {
      compiled: slow.compiled,
      compile: (row, text) => {
        nowMs += 1
        return slow.compile(row, text)
      },
    },
    () => nowMs,
  )
  const row = channelRow('dex-candle')
  /** Filters that are compiled for the organization until it has to wait. */
  const compileUntilRefused = (orgId: string, text: (at: number) => string): number => {
    for (let at = 0; at < 1_000; at += 1)
      if (metered(orgId, row, text(at)) === PROTOCOL_ERRORS.tooManyRequests) return at
    return 1_000
  }
  const burst = compileUntilRefused('one', (at) => `n == ${at}`)
  assert.ok(burst >= 250 && burst < 255, `${burst}`)
  assert.ok('text' in metered('one', row, 'n == 7'), 'what is compiled already takes no time')
  assert.ok('text' in metered('two', row, 'n == 2000'), 'another organization has its own')
  nowMs += 1_000
  const later = compileUntilRefused('one', (at) => `n == ${3_000 + at}`)
  assert.ok(later >= 200 && later < 205, `${later}: a fifth of the time that went by`)
  const invalid = compileUntilRefused('three', (at) => `zzz == ${at}`)
  assert.ok(invalid >= 250 && invalid < 255, `${invalid}`)
})

test('every channel family accepts a filter by every short and long name of its fields', () => {
  for (const row of CHANNELS) {
    for (const [key, { long, keys }] of Object.entries(row.keys)) {
      for (const name of [key, long, `meta.${key}`, `meta.meta.${long}`]) {
        assert.ok(filters.compile(row, `${name} == "x"`), `${row.prefix} ${name}`)
      }
      for (const [inner, { long: innerLong }] of Object.entries(keys ?? {})) {
        assert.ok(filters.compile(row, `has(${long}.${innerLong}) || has(meta.${key}.${inner})`))
      }
    }
  }
})

const TAGS: readonly (readonly [node: object, same: string])[] = [
  [{ key: 'v', cmp: 'gt', val: '10' }, 'meta.v > 10'],
  [{ key: 'v', cmp: 'gt', val: '55.5' }, 'meta.v > 55.5'],
  [{ key: 'volume', cmp: 'gte', val: '55.5' }, 'volume >= 55.5'],
  [{ key: 'v', cmp: 'lt', val: '55.5' }, 'meta.v < 55.5'],
  [{ key: 'v', cmp: 'lte', val: '55.5' }, 'meta.v <= 55.5'],
  [{ key: 'r', cmp: 'eq', val: '1m' }, 'meta.r == "1m"'],
  [{ key: 'r', cmp: 'neq', val: '1m' }, 'meta.r != "1m"'],
  [{ key: 'zzz', cmp: 'neq', val: '1m' }, 'true'],
  [{ key: 'n', cmp: 'eq', val: '12' }, 'meta.n == 12'],
  [{ key: 'r', cmp: 'in', vals: ['5m', '1m'] }, 'meta.r in ["5m", "1m"]'],
  [{ key: 'r', cmp: 'nin', vals: ['5m', '1m'] }, '!(meta.r in ["5m", "1m"])'],
  [{ key: 'r', cmp: 'in', vals: [] }, 'false'],
  [{ key: 'r', cmp: 'ex' }, 'has(meta.r)'],
  [{ key: 'r', cmp: 'nex' }, '!has(meta.r)'],
  [{ key: 'r', cmp: 'sw', val: '1' }, 'meta.r.startsWith("1")'],
  [{ key: 'r', cmp: 'ew', val: 'h' }, 'meta.r.endsWith("h")'],
  [{ key: 'r', cmp: 'ct', val: '"' }, 'meta.r.contains("\\"")'],
  [{ op: 'not', nodes: [{ key: 'r', cmp: 'eq', val: '1m' }] }, 'meta.r != "1m"'],
  [
    {
      op: 'and',
      nodes: [
        { key: 'r', cmp: 'ex' },
        {
          op: 'or',
          nodes: [
            { key: 'n', cmp: 'gt', val: '99' },
            { key: 'v', cmp: 'gt', val: '1' },
          ],
        },
      ],
    },
    'has(meta.r) && (meta.n > 99 || meta.v > 1)',
  ],
]

test('a tag filter gives the same results as the same filter expression', () => {
  for (const [tf, same] of TAGS) {
    const text = requestedFilter({ tf })
    assert.ok(text !== undefined, JSON.stringify(tf))
    const expected = matches('dex-candle', same, CANDLE)
    assert.notEqual(expected, '107', same)
    assert.equal(matches('dex-candle', text, CANDLE), expected, `${text} as ${same}`)
  }
})

test('the key of a tag filter may be short or long, with the prefix meta once, twice or not at all', () => {
  const LEAF_RESULTS: readonly (readonly [leaf: object, candle: boolean])[] = [
    [{ cmp: 'eq', val: '55.5' }, true],
    [{ cmp: 'eq', val: '7' }, false],
    [{ cmp: 'neq', val: '55.5' }, false],
    [{ cmp: 'neq', val: '7' }, true],
    [{ cmp: 'in', vals: ['7', '55.5'] }, true],
    [{ cmp: 'nin', vals: ['7', '55.5'] }, false],
    [{ cmp: 'ex' }, true],
    [{ cmp: 'nex' }, false],
    [{ cmp: 'sw', val: '55' }, true],
    [{ cmp: 'ew', val: '55' }, false],
    [{ cmp: 'ct', val: '5.5' }, true],
    [{ cmp: 'gt', val: '55' }, true],
    [{ cmp: 'lte', val: '55' }, false],
  ]
  const ABSENT: ReadonlySet<string> = new Set(['neq', 'nin', 'nex'])
  const check = (prefix: ChannelPrefix, payload: Payload, leaf: object, expected: boolean) => {
    const text = requestedFilter({ tf: leaf })
    assert.ok(text !== undefined, JSON.stringify(leaf))
    assert.equal(matches(prefix, text, payload), expected, `${JSON.stringify(leaf)} as ${text}`)
  }
  for (const before of ['', 'meta.', 'meta.meta.']) {
    for (const [leaf, expected] of LEAF_RESULTS) {
      for (const name of ['v', 'volume'])
        check('dex-candle', CANDLE, { key: before + name, ...leaf }, expected)
      const { cmp } = leaf as { readonly cmp: string }
      for (const name of ['zzz', 'mt.pf', 'migratedTo.protocolFamily', 'meta'])
        check('dex-new-token', TOKEN, { key: before + name, ...leaf }, ABSENT.has(cmp))
    }
    for (const name of ['lf.pf', 'launchFrom.protocolFamily', 'launchFrom.pf']) {
      const key = before + name
      check('dex-new-token', TOKEN, { key, cmp: 'eq', val: 'pump_fun' }, true)
      check('dex-new-token', TOKEN, { key, cmp: 'neq', val: 'pump_fun' }, false)
      check('dex-new-token', TOKEN, { key, cmp: 'nex' }, false)
    }
  }
})

test('a tag in an absent object counts as an absent tag', () => {
  const cases: readonly (readonly [object, boolean])[] = [
    [{ key: 'lf.pf', cmp: 'eq', val: 'pump_fun' }, true],
    [{ key: 'mt.pf', cmp: 'eq', val: 'pump_fun' }, false],
    [{ key: 'mt.pf', cmp: 'neq', val: 'pump_fun' }, true],
    [{ key: 'mt.pf', cmp: 'nex' }, true],
    [{ key: 'mt.pf', cmp: 'nin', vals: ['a'] }, true],
  ]
  for (const [tf, expected] of cases) {
    assert.equal(
      matches('dex-new-token', requestedFilter({ tf }) ?? '', TOKEN),
      expected,
      JSON.stringify(tf),
    )
  }
})

test('a subscription has one filter at a time, and an invalid tag filter is refused', () => {
  const nested = (levels: number): object =>
    levels === 0 ? { key: 'r', cmp: 'ex' } : { op: 'not', nodes: [nested(levels - 1)] }
  assert.equal(requestedFilter({}), '')
  assert.equal(requestedFilter({ filter: '', tf: null, data: { filter: '' } }), '')
  assert.equal(requestedFilter({ filter: 'a' }), 'a')
  assert.equal(requestedFilter({ data: { filter: 'b' } }), 'b')
  const refused: readonly object[] = [
    { filter: 'a', data: { filter: 'b' } },
    { filter: 'a', tf: { key: 'r', cmp: 'ex' } },
    { data: { filter: 7 } },
    ...['x', 7, [], {}, { key: 'r' }, { key: 'r', cmp: 'zz' }, { cmp: 'ex' }].map((tf) => ({ tf })),
    { tf: { key: 'a b', cmp: 'ex' } },
    { tf: { key: 'v', cmp: 'gt', val: 'x' } },
    { tf: { key: 'v', cmp: 'eq', val: 5 } },
    { tf: { op: 'xor', nodes: [{ key: 'r', cmp: 'ex' }] } },
    { tf: { op: 'and', nodes: [] } },
    { tf: { op: 'not', nodes: [nested(0), nested(0)] } },
    { tf: { key: 'constructor', cmp: 'constructor' } },
    { tf: nested(50) },
  ]
  for (const body of refused) {
    assert.equal(requestedFilter(body as Record<string, unknown>), undefined, JSON.stringify(body))
  }
})

/** A leaf that counts how often it is read. */
const countedLeaf = (reads: { count: number }): object => ({
  get key() {
    reads.count += 1
    return 'r'
  },
  cmp: 'ex',
})

test('a tag filter is bounded in its keys, its values and its text, and not read beyond that', () => {
  const names = (count: number): string => Array.from({ length: count }, () => 'a').join('.')
  const refused: readonly object[] = [
    { key: names(9), cmp: 'ex' },
    { key: 'k'.repeat(300), cmp: 'ex' },
    { key: 'r', cmp: 'eq', val: 'x'.repeat(4_100) },
    { key: 'r', cmp: 'in', vals: Array.from({ length: 500 }, () => 'value') },
    { key: 'r', cmp: 'nin', vals: ['1m', 5] },
    { op: 'or', nodes: Array.from({ length: 500 }, () => ({ key: 'r', cmp: 'ex' })) },
  ]
  for (const tf of refused)
    assert.equal(requestedFilter({ tf }), undefined, JSON.stringify(tf).slice(0, 60))
  assert.notEqual(requestedFilter({ tf: { key: names(8), cmp: 'nex' } }), undefined)
  const reads = { count: 0 }
  const nodes = Array.from({ length: 5_000 }, () => countedLeaf(reads))
  assert.equal(requestedFilter({ tf: { op: 'and', nodes } }), undefined)
  assert.ok(reads.count < 500, `${reads.count} leaves were read`)
})

test('a stream filter throws on no input', () => {
  const filter: PublicationFilter | undefined = filters.compile(
    channelRow('dex-candle'),
    'meta.r.x.y > 1',
  )
  assert.equal(filter?.matches({}), false)
})
