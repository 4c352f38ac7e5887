/** Days of a time zone and relative times, against the same made with the clock of the runtime. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inBlock, swapRow } from '../support/documented/content.ts'
import { startGraphql, type TestGraphql } from '../support/graphql-stack.ts'

const START_MS = Date.UTC(2026, 1, 27, 1, 30)
const STEP_MS = (5 * 60 + 37) * 60_000
/** Trades over the changes of clocks of North America on 8 March and of Europe on 29 March. */
const TIMES = Array.from({ length: 150 }, (_, index) => START_MS + index * STEP_MS)
const NOW_MS = Date.UTC(2026, 3, 3)

type Row = Readonly<Record<string, unknown>>
const iso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth'], NOW_MS)
  await api.warehouse.insert(
    'eth_dex_trades',
    TIMES.map((ms, index) =>
      swapRow({
        place: inBlock(1_000 + index, iso(ms), `0x${index}`),
        wallet: '0xw',
        bought: { token: '0xa', decimals: 6, raw: '1000000', priceUsd: 2 },
        sold: { token: '0xb', decimals: 6, raw: '2000000', priceUsd: 1 },
        usd: 2,
        pool: '0xp',
        dex: ['0xf', 'Uniswap V2', 'uniswap_v2'],
      }),
    ),
  )
})
after(() => api.stop())

const ask = async (cube: string): Promise<readonly Row[]> => {
  const { data, errors } = await api.ask(`{ g: EVM(network: eth) { r: ${cube} } }`)
  assert.equal(errors, undefined, JSON.stringify(errors))
  return (data?.g as { readonly r: readonly Row[] } | undefined)?.r ?? []
}

/** Local day and hour of a moment, as `2026-03-08 13`. */
const localHour = (ms: number, timeZone: string): string => {
  const parts = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    hourCycle: 'h23',
  })
  return parts.format(ms)
}
const localDay = (ms: number, timeZone: string): string => localHour(ms, timeZone).slice(0, 10)

/** First quarter of an hour of a local day: no zone of the tests changes its clock at midnight. */
const startOfDay = (day: string, timeZone: string): number => {
  for (let ms = Date.parse(day) - 86_400_000; ; ms += 900_000)
    if (localDay(ms, timeZone) === day) return ms
}
const addDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10)
const mondayOf = (day: string): string => addDays(day, -((new Date(day).getUTCDay() + 6) % 7))

const FIRST_DAY: Readonly<Record<string, (day: string) => string>> = {
  days: (day) => day,
  weeks: mondayOf,
  months: (day) => `${day.slice(0, 7)}-01`,
  quarters: (day) => `${day.slice(0, 4)}-${day < '2026-04' ? '01' : '04'}-01`,
  years: (day) => `${day.slice(0, 4)}-01-01`,
}
const ZONES = ['America/New_York', 'Europe/Berlin', 'Asia/Kolkata', 'Pacific/Chatham', 'UTC']

const counts = (keys: readonly string[]): Readonly<Record<string, number>> => {
  const found: Record<string, number> = {}
  for (const key of keys) found[key] = (found[key] ?? 0) + 1
  return found
}

test('buckets of a time zone start at its midnight', async () => {
  for (const zone of ZONES)
    for (const [unit, firstDay] of Object.entries(FIRST_DAY)) {
      const rows = await ask(
        `DEXTrades(limit: {count: 1000}) { Block { Time(interval: {in: ${unit}, timezone: "${zone}"}) } count }`,
      )
      const given = rows.map(({ Block, count }) => [(Block as Row).Time, count])
      const starts = TIMES.map((ms) => iso(startOfDay(firstDay(localDay(ms, zone)), zone)))
      assert.deepEqual(Object.fromEntries(given), counts(starts), `${unit} of ${zone}`)
      assert.ok(rows.length > (unit === 'years' || unit === 'quarters' ? 0 : 1), zone)
    }
})

test('a date is that of the zone', async () => {
  for (const zone of ZONES) {
    const rows = await ask(
      `DEXTrades(limit: {count: 1000}) { Block { Date(interval: {in: days, timezone: "${zone}"}) } count }`,
    )
    const given = rows.map(({ Block, count }) => [(Block as Row).Date, count])
    const expected = counts(TIMES.map((ms) => localDay(ms, zone)))
    assert.deepEqual(Object.fromEntries(given), expected, zone)
  }
})

test('a candle of a day on which the clock changes has 23 hours', async () => {
  const zone = 'America/New_York'
  const rows = await ask(
    `Pairs(tokenAddress: "0xa", limit: {count: 1000}) { Interval { Time(interval: {in: days, timezone: "${zone}"}) { Start End Duration } } Stats { TradeCount } }`,
  )
  const days = counts(TIMES.map((ms) => localDay(ms, zone)))
  const expected = Object.entries(days)
    .toReversed()
    .map(([day, trades]) => {
      const [start, end] = [startOfDay(day, zone), startOfDay(addDays(day, 1), zone)]
      return {
        Interval: { Time: { Start: iso(start), End: iso(end), Duration: (end - start) / 1_000 } },
        Stats: { TradeCount: trades },
      }
    })
  assert.deepEqual(rows, expected)
  const durations = rows.map(({ Interval }) => ((Interval as Row).Time as Row).Duration)
  assert.equal(durations.filter((seconds) => seconds === 23 * 3_600).length, 1)
})

test('every time zone of the runtime is accepted by the engine', async () => {
  const zones = Intl.supportedValuesOf('timeZone')
  for (let at = 0; at < zones.length; at += 100) {
    const part = zones.slice(at, at + 100)
    const fields = part.map(
      (zone, index) => `t${index}: Time(interval: {in: days, timezone: "${zone}"})`,
    )
    const rows = await ask(`DEXTrades(limit: {count: 1}) { Block { ${fields.join(' ')} } }`)
    assert.equal(Object.keys((rows[0]?.Block ?? {}) as Row).length, part.length)
  }
})

test('a relative time filter is measured back from the time of the query', async () => {
  const month = Date.UTC(2026, 2, 3)
  const cases: readonly (readonly [string, (ms: number) => boolean])[] = [
    ['since_relative: {days_ago: 3, hours_ago: 2}', (ms) => ms >= NOW_MS - 74 * 3_600_000],
    ['after_relative: {weeks_ago: 1}', (ms) => ms > NOW_MS - 7 * 86_400_000],
    ['till_relative: {months_ago: 1}', (ms) => ms <= month],
    ['before_relative: {months_ago: 1}, since_relative: {years_ago: 1}', (ms) => ms < month],
    ['before_relative: {}', () => true],
    ['after_relative: {seconds_ago: 0}', () => false],
  ]
  for (const [filter, keep] of cases) {
    const [where, selector, metric] = await Promise.all([
      ask(`DEXTrades(where: {Block: {Time: {${filter}}}}) { count }`),
      ask(`DEXTrades(date: {${filter}}) { count }`),
      ask(`DEXTrades { count(if: {Block: {Time: {${filter}}}}) }`),
    ])
    const expected = [{ count: TIMES.filter(keep).length }]
    assert.deepEqual(where, expected, filter)
    assert.deepEqual(selector, expected, filter)
    assert.deepEqual(metric, expected, filter)
  }
})

test('an unknown time zone and an invalid relative time are errors with their location', async () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['Block { Time(interval: {in: days, timezone: "Mars/Olympus"}) }', /Unknown time zone/],
    ['Block { Time(interval: {in: days, timezone: "+05:30"}) }', /Unknown time zone/],
    [`Block { Time(interval: {in: days, timezone: "${'A'.repeat(100)}"}) }`, /Unknown time zone/],
    ['Block { Time(interval: {in: days, timezone: "UTC\\u0000"}) }', /Unknown time zone/],
    ['Block { Time(interval: {in: days, timezone: 5}) }', /String/],
    ['count(if: {Block: {Time: {since_relative: {hours_ago: -1}}}})', /0 to 1000000000/],
    ['count(if: {Block: {Time: {since_relative: {hours_ago: 1.5}}}})', /whole number/],
    ['count(if: {Block: {Time: {since_relative: {hours: 1}}}})', /hours/],
    ['count(if: {Block: {Time: {since_relative: "1 hour"}}})', /RelativeTime/],
    ['count(if: {Block: {Time: {between_relative: {}}}})', /between_relative/],
  ]
  for (const [fields, message] of wrong) {
    const { data, errors } = await api.ask(`{ EVM(network: eth) { DEXTrades { ${fields} } } }`)
    assert.equal(data, null, fields)
    assert.match(errors?.[0]?.message ?? '', message)
    assert.ok((errors?.[0]?.locations.length ?? 0) > 0, fields)
  }
})
