import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { buildClientSchema, getIntrospectionQuery, type IntrospectionQuery } from 'graphql'
import { rollUpMinuteSql } from '../../processors/rollups/finalizer.ts'
import {
  baseToken,
  buildTrades,
  type StoredTrade,
  storeTrades,
  TOKENS,
  transactionHash,
  WALLETS,
} from '../support/builders/stored-trades.ts'
import { DOCUMENTED_QUERIES, DOCUMENTED_VARIABLES } from '../support/documented/queries.ts'
import { type GraphqlResponse, startGraphql, type TestGraphql } from '../support/graphql-stack.ts'

const START = Date.UTC(2026, 2, 1)
const FACTS = buildTrades(600, START)
const NOW = START + 86_400_000 + 30 * 60_000
const VISIBLE = FACTS.filter(({ suspect }) => !suspect)
const NEWEST = [...VISIBLE].reverse()
const [T0 = '', T1 = ''] = TOKENS
const [W0 = ''] = WALLETS

let api: TestGraphql
before(async () => {
  api = await startGraphql(['eth', 'bsc', 'sol'], NOW)
  await storeTrades(api.warehouse, 'eth', FACTS)
  await storeTrades(api.warehouse, 'bsc', buildTrades(40, START, 7))
})
after(() => api.stop())

const iso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')
const units = (raw: bigint, places: number | null): number | null =>
  places === null ? null : Number(`${raw}e-${places}`)

type Row = Readonly<Record<string, unknown>>

/** Rows of one cube on ethereum; fails on any error. */
const rows = async (cube: string, root = 'EVM(network: eth)'): Promise<readonly Row[]> => {
  const answer = await api.ask(`{ g: ${root} { r: ${cube} } }`)
  assert.equal(answer.errors, undefined, `${cube}: ${answer.errors?.[0]?.message}`)
  const group = answer.data?.g as { readonly r: readonly Row[] } | undefined
  return group?.r ?? []
}

const close = (actual: number | null | undefined, expected: number, what = ''): void => {
  const slack = Math.max(1e-12, Math.abs(expected) * 1e-12)
  assert.ok(
    typeof actual === 'number' && Math.abs(actual - expected) <= slack,
    `${what}: ${actual} is not ${expected}`,
  )
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

test('DEXTrades returns the stored fields, newest first, without suspect trades', async () => {
  const given = await rows(`DEXTrades(limit: {count: 40, offset: 5}) {
    Block { Time Date Slot Number Height } Transaction { Hash Signature Index FeeInNative FeeInUSD Signer Result { Success } To }
    Trade { Index Buy { Currency { MintAddress SmartContract Symbol Name Decimals } Amount AmountRaw AmountInUSD PriceInUSD Account { Owner Address } }
      Sell { Currency { MintAddress } Amount } Dex { ProtocolName ProtocolFamily } } Pool { Address } IsSuspect __typename }`)
  const expected = NEWEST.slice(5, 45).map((fact) => ({
    Block: {
      Time: iso(fact.timeMs),
      Date: iso(fact.timeMs).slice(0, 10),
      Slot: fact.slot,
      Number: fact.slot,
      Height: fact.slot,
    },
    Transaction: {
      Hash: transactionHash(fact),
      Signature: transactionHash(fact),
      Index: fact.txIndex,
      FeeInNative: 0.000021,
      FeeInUSD: 0.042,
      Signer: fact.owner,
      Result: { Success: true },
      To: null,
    },
    Trade: {
      Index: fact.eventIndex,
      Buy: {
        Currency: {
          MintAddress: fact.buyToken,
          SmartContract: fact.buyToken,
          ...symbol(fact.buyToken),
          Decimals: fact.buyDecimals,
        },
        Amount: units(fact.buyAmount, fact.buyDecimals),
        AmountRaw: fact.buyAmount.toString(),
        AmountInUSD: fact.usd === null ? null : Number(fact.usd),
        PriceInUSD: fact.buyPrice,
        Account: { Owner: fact.owner, Address: fact.owner },
      },
      Sell: {
        Currency: { MintAddress: fact.sellToken },
        Amount: units(fact.sellAmount, fact.sellDecimals),
      },
      Dex: { ProtocolName: fact.protocol[0], ProtocolFamily: fact.protocol[1] },
    },
    Pool: { Address: fact.pool },
    IsSuspect: false,
    __typename: 'DEXTradesRecord',
  }))
  assert.deepEqual(given, expected)
})

const symbol = (token: string): { Symbol: string | null; Name: string | null } => {
  const index = TOKENS.indexOf(token)
  return index < 3
    ? { Symbol: `TC${index}`, Name: `Test Coin ${index}` }
    : { Symbol: null, Name: null }
}

test('filters, any, selectors and their negations keep what a loop over the trades keeps', async () => {
  const upper = T0.toUpperCase().replace('0X', '0x')
  const middle = iso(START + 200 * 12_000)
  const cases: readonly (readonly [string, (fact: StoredTrade) => boolean])[] = [
    [`tokenAddress: "${T0}"`, (fact) => fact.buyToken === T0],
    [`tokenAddress: {is: "${upper}"}`, (fact) => fact.buyToken === T0],
    [`tokenAddress: {notIn: ["${T0}", "${T1}"]}`, (fact) => ![T0, T1].includes(fact.buyToken)],
    [`tokenAddress: {in: []}`, () => false],
    [`tokenAddress: {notIn: []}`, () => true],
    [`walletAddress: {not: "${W0}"}`, (fact) => fact.owner !== W0],
    [`date: {since: "${middle}"}`, (fact) => fact.timeMs >= START + 200 * 12_000],
    [`date: {after: "${middle}"}`, (fact) => fact.timeMs > START + 200 * 12_000],
    [
      `where: {Block: {Slot: {gt: 1100, lte: "1200", notIn: [1150, 1151]}}}`,
      ({ slot }) => slot > 1100 && slot <= 1200 && slot !== 1150 && slot !== 1151,
    ],
    [
      `where: {any: [{Trade: {Buy: {Currency: {MintAddress: {is: "${T0}"}}}}}, {Trade: {Sell: {Currency: {MintAddress: "${T0}"}}}}]}`,
      (fact) => fact.buyToken === T0 || fact.sellToken === T0,
    ],
    [`where: {any: []}`, () => true],
    [`where: {any: [{}]}`, () => true],
    [
      `where: {Trade: {Buy: {AmountInUSD: {ge: "1000.5"}}}}`,
      (fact) => fact.usd !== null && Number(fact.usd) >= 1000.5,
    ],
    [
      `where: {Trade: {Buy: {AmountInUSD: {ne: "${FACTS.find(({ usd }) => usd)?.usd}"}}}}`,
      (fact) => fact.usd !== null && fact.usd !== FACTS.find(({ usd }) => usd)?.usd,
    ],
    [
      `where: {Trade: {Buy: {AmountInUSD: {in: ["${FACTS.find(({ usd }) => usd)?.usd}", "1"]}}}}`,
      (fact) => fact.usd === FACTS.find(({ usd }) => usd)?.usd,
    ],
    [`where: {Trade: {Buy: {AmountInUSD: {lt: "1e60"}}}}`, (fact) => fact.usd !== null],
    [`where: {Trade: {Buy: {AmountInUSD: {isNull: true}}}}`, (fact) => fact.usd === null],
    [
      `where: {Trade: {Buy: {Currency: {Symbol: {notLike: "%0"}}}}}`,
      (fact) => ['TC1', 'TC2'].includes(symbol(fact.buyToken).Symbol ?? ''),
    ],
    [
      `where: {Trade: {Buy: {Currency: {Name: {includesCaseInsensitive: "COIN 1"}}}}}`,
      (fact) => fact.buyToken === T1,
    ],
    [
      `where: {Trade: {Dex: {ProtocolName: {is: "uniswap_v3"}}}}`,
      (fact) => fact.protocol[1] === 'uniswap_v3',
    ],
    [
      `where: {Trade: {Dex: {ProtocolName: {like: "Uni%3"}}}}`,
      (fact) => fact.protocol[1] === 'uniswap_v3',
    ],
    [`where: {Pool: {Address: {like: "x\\\\"}}}`, () => false],
  ]
  for (const [args, keep] of cases) {
    const given = await rows(`DEXTrades(${args}, limit: {count: 10000}) { Transaction { Hash } }`)
    const hashes = given.map(({ Transaction }) => (Transaction as { Hash: string }).Hash)
    assert.deepEqual(hashes, NEWEST.filter(keep).map(transactionHash), args)
  }
})

test('a condition on IsSuspect anywhere in where replaces the default filter of suspect trades', async () => {
  const asked = [
    ['where: {IsSuspect: {is: true}}', FACTS.filter(({ suspect }) => suspect).length],
    ['where: {IsSuspect: true}', FACTS.filter(({ suspect }) => suspect).length],
    ['where: {any: [{IsSuspect: {eq: true}}, {IsSuspect: false}]}', FACTS.length],
    ['', VISIBLE.length],
  ] as const
  for (const [args, expected] of asked) {
    const [row] = await rows(`DEXTrades${args ? `(${args})` : ''} { count }`)
    assert.deepEqual(row, { count: expected }, args)
  }
})

test('metrics are those of a loop, per group and in total', async () => {
  const given = await rows(`DEXTrades(limit: {count: 100}, orderBy: {descendingByField: "vol"}) {
    Trade { Buy { Account { Owner } } } count vol: sum(of: Trade_Buy_AmountInUSD) mean: avg(of: Trade_Buy_PriceInUSD)
    lo: min(of: Trade_Buy_PriceInUSD) hi: max(of: Trade_Buy_PriceInUSD) pools: uniq(of: Pool_Address) first: min(of: Block_Time)
    v3: count(if: {Trade: {Dex: {ProtocolFamily: {is: "uniswap_v3"}}}}) per: calculate(expression: "round($vol / $count, 2)") half: quantile(of: Trade_Buy_AmountInUSD) }`)
  const owners = [...new Set(VISIBLE.map(({ owner }) => owner))].map((owner) => {
    const mine = VISIBLE.filter((fact) => fact.owner === owner)
    const usd = mine
      .flatMap((fact) => (fact.usd === null ? [] : [Number(fact.usd)]))
      .sort((a, b) => a - b)
    const prices = mine.flatMap(({ buyPrice }) => (buyPrice === null ? [] : [buyPrice]))
    const at = (usd.length - 1) / 2
    const [low = 0, high = low] = [usd[Math.floor(at)], usd[Math.ceil(at)]]
    return { owner, mine, usd: sum(usd), prices, half: (low + high) / 2 }
  })
  owners.sort((a, b) => b.usd - a.usd)
  assert.equal(given.length, owners.length)
  for (const [index, row] of (given as readonly Row[]).entries()) {
    const expected = owners[index]
    assert.ok(expected)
    assert.deepEqual(row.Trade, { Buy: { Account: { Owner: expected.owner } } })
    assert.equal(row.count, expected.mine.length)
    close(row.vol as number, expected.usd, 'vol')
    close(row.mean as number, sum(expected.prices) / expected.prices.length, 'mean')
    assert.equal(row.lo, Math.min(...expected.prices))
    assert.equal(row.hi, Math.max(...expected.prices))
    assert.equal(row.pools, new Set(expected.mine.map(({ pool }) => pool)).size)
    assert.equal(row.first, iso(Math.min(...expected.mine.map(({ timeMs }) => timeMs))))
    assert.equal(row.v3, expected.mine.filter((fact) => fact.protocol[1] === 'uniswap_v3').length)
    close(row.per as number, Math.round((expected.usd / expected.mine.length) * 100) / 100, 'per')
    close(row.half as number, expected.half, 'half')
  }
})

test('an aggregate over no rows: a sum is 0 where no row matched, and null where no value is known', async () => {
  const [row] =
    await rows(`DEXTrades { none: sum(of: Trade_Buy_AmountInUSD, if: {Block: {Slot: {lt: 0}}})
    unknown: sum(of: Trade_Buy_Amount, if: {Trade: {Buy: {Currency: {Decimals: {isNull: true}}}}}) c: count(if: {Block: {Slot: {lt: 0}}})
    a: avg(of: Block_Slot, if: {Block: {Slot: {lt: 0}}}) u: uniq(of: Pool_Address, if: {Block: {Slot: {lt: 0}}}) d: calculate(expression: "1 / $c") }`)
  assert.deepEqual(row, { none: 0, unknown: null, c: 0, a: null, u: 0, d: null })
})

test('selectWhere keeps groups, and may empty the list', async () => {
  const asked =
    'DEXTrades(limit: {count: 100}) { Pool { Address } count(selectWhere: {gt: "130"}) }'
  const counts = new Map<string, number>()
  for (const { pool } of VISIBLE) counts.set(pool, (counts.get(pool) ?? 0) + 1)
  const given = await rows(asked)
  assert.equal(given.length, [...counts.values()].filter((count) => count > 130).length)
  assert.ok(given.length > 0 && given.length < counts.size)
  assert.deepEqual(await rows('DEXTrades { count(selectWhere: {gt: 100000}) }'), [])
})

test('DEXTradeByTokens has two rows per swap, and both sides agree', async () => {
  const [row] =
    await rows(`DEXTradeByTokens { count buys: count(if: {Trade: {Side: {Type: {is: BUY}}}})
    b: sum(of: Trade_AmountInUSD, if: {Trade: {Side: {Type: {is: buy}}}}) s: sum(of: Trade_AmountInUSD, if: {Trade: {Side: {Type: {is: "sell"}}}}) }`)
  const usd = sum(FACTS.map((fact) => Number(fact.usd ?? 0)))
  const given = row as unknown as Readonly<Record<string, number>>
  assert.equal(given.count, FACTS.length * 2)
  assert.equal(given.buys, FACTS.length)
  close(given.b, usd)
  close(given.s, usd)
})

test('dimension aggregates take the value of the first and the last row', async () => {
  const facts = FACTS.filter((fact) => fact.buyToken === T0 || fact.sellToken === T0)
  const priceOf = (fact: StoredTrade | undefined): number | null =>
    (fact?.buyToken === T0 ? fact.buyPrice : fact?.sellPrice) ?? null
  const prices = facts.flatMap((fact) => priceOf(fact) ?? [])
  const [row] = await rows(`DEXTradeByTokens(tokenAddress: "${T0}") { Trade {
    o: PriceInUSD(minimum: Block_Number) c: PriceInUSD(maximum: Block_Number) h: PriceInUSD(maximum: Trade_PriceInUSD) } }`)
  assert.deepEqual(row, {
    Trade: { o: priceOf(facts[0]), c: priceOf(facts.at(-1)), h: Math.max(...prices) },
  })
})

const minuteOf = (fact: StoredTrade): number => Math.floor(fact.timeMs / 60_000) * 60_000

/** Candles of a token by the start of their bucket, folded by hand. */
const candles = (token: string, bucketOf: (fact: StoredTrade) => number) => {
  const found = new Map<number, { prices: number[]; usd: number; base: number; buys: number }>()
  for (const fact of VISIBLE) {
    const bought = fact.buyToken === token
    if (baseToken(fact) !== token) continue
    const price = bought ? fact.buyPrice : fact.sellPrice
    if (price === null) continue
    const candle = found.get(bucketOf(fact)) ?? { prices: [], usd: 0, base: 0, buys: 0 }
    candle.prices.push(price)
    candle.usd += Number(fact.usd)
    candle.base +=
      (bought
        ? units(fact.buyAmount, fact.buyDecimals)
        : units(fact.sellAmount, fact.sellDecimals)) ?? 0
    candle.buys += bought ? 1 : 0
    found.set(bucketOf(fact), candle)
  }
  return found
}

const CANDLE = `Token { Address Symbol } Market { Network } Price { Ohlc { Open High Low Close } Open } Volume { Usd Base Quote } VolumeUSD Stats { TradeCount BuyCount SellCount }`

const checkCandles = (
  given: readonly Row[],
  expected: ReturnType<typeof candles>,
  startOf: (row: Row) => string,
): void => {
  assert.equal(given.length, expected.size)
  for (const [index, [start, candle]] of [...expected].sort(([a], [b]) => a - b).entries()) {
    const row = given[index] as Readonly<Record<string, never>>
    assert.equal(startOf(row), iso(start))
    const { Price, Volume, Stats } = row as unknown as Record<string, Record<string, never>>
    const Open = candle.prices[0]
    assert.deepEqual(Price, {
      Ohlc: {
        Open,
        High: Math.max(...candle.prices),
        Low: Math.min(...candle.prices),
        Close: candle.prices.at(-1),
      },
      Open,
    })
    close(Volume?.Usd, candle.usd, 'usd')
    close(Volume?.Base, candle.base, 'base')
    assert.equal(Volume?.Quote, null)
    assert.deepEqual(Stats, {
      TradeCount: candle.prices.length,
      BuyCount: candle.buys,
      SellCount: candle.prices.length - candle.buys,
    })
  }
}

test('Pairs are the minute candles of a fold, in every group that serves them', async () => {
  const cube = `Pairs(tokenAddress: {is: "${T0}"}, orderBy: {ascending: Interval_Time_Start}, limit: {count: 1000}) { Interval { Time } TimeMinute ${CANDLE} }`
  const expected = candles(T0, minuteOf)
  const inTrading = cube.replace('Pairs(', 'Pairs(chain: {is: "eth"}, ')
  const given = await rows(inTrading, 'Trading')
  checkCandles(given, expected, (row) => row.TimeMinute as string)
  assert.deepEqual(await rows(cube), given)
  assert.deepEqual(await rows(inTrading, 'Trading(aggregates: no)'), given)
})

test('an interval rolls candles up', async () => {
  const quarter = 15 * 60_000
  const expected = candles(T1, (fact) => Math.floor(fact.timeMs / quarter) * quarter)
  const args = `tokenAddress: {is: "${T1}"}, orderBy: {ascending: Block_Time}, limit: {count: 1000}`
  const given = await rows(
    `Pairs(${args}) { Block { Time(interval: {in: minutes, count: 15}) } Interval { Time { Start End Duration } } ${CANDLE} }`,
  )
  checkCandles(given, expected, ({ Block }) => (Block as { Time: string }).Time)
  const [first] = given as readonly Row[]
  assert.deepEqual(first?.Interval, {
    Time: { Start: iso(START), End: iso(START + quarter), Duration: 900 },
  })
  const other = await rows(
    `Pairs(${args}) { Interval { Time(interval: {count: 15, in: minutes}) } ${CANDLE} }`,
  )
  checkCandles(other, expected, ({ Interval }) => (Interval as { Time: string }).Time)
})

test('rolled-up minutes and the raw tail are one series', async () => {
  const cube = `Pairs(tokenAddress: {is: "${T0}"}, limit: {count: 1000}) { TimeMinute ${CANDLE} }`
  const before = await rows(cube)
  const watermark = START + 30 * 60_000
  for (let minute = START; minute < watermark; minute += 60_000) {
    await api.warehouse.command(rollUpMinuteSql('eth', minute / 1_000))
  }
  await api.warehouse.insert('eth_chain_state', [
    {
      key: 'rollup',
      hot_from: watermark / 1_000,
      final_slot: 1,
      final_time: watermark,
      seq: 1,
      _ver: 1,
    },
  ])
  assert.deepEqual(await rows(cube), before)
})

test('every row group of the Trading root names its chain', async () => {
  const given = await rows('Pairs(limit: {count: 10000}) { Market { Network } count }', 'Trading')
  const networks = given.map(({ Market }) => (Market as { Network: string }).Network)
  assert.deepEqual(new Set(networks), new Set(['eth', 'bsc']))
})

test('the dataset argument bounds the block time: realtime, archive and combined', async () => {
  const edge = NOW - 86_400_000
  const ask = async (dataset: string): Promise<unknown> =>
    (await rows('DEXTrades { count }', `EVM(network: eth, dataset: ${dataset})`))[0]
  const recent = VISIBLE.filter(({ timeMs }) => timeMs > edge).length
  assert.ok(recent > 0 && recent < VISIBLE.length)
  assert.deepEqual(await ask('realtime'), { count: recent })
  assert.deepEqual(await ask('archive'), { count: VISIBLE.length - recent })
  assert.deepEqual(await ask('combined'), { count: VISIBLE.length })
})

test('every documented GraphQL query shape returns data', async () => {
  for (const [name, query] of Object.entries(DOCUMENTED_QUERIES)) {
    const answer = await api.ask(query, DOCUMENTED_VARIABLES[name], name)
    assert.equal(answer.errors, undefined, `${name}: ${JSON.stringify(answer.errors)}`)
    assert.ok(answer.data, name)
  }
})

test('older and shorter forms give the same rows', async () => {
  const same: readonly (readonly [string, string])[] = [
    [
      'DEXTrades(orderBy: {ascending: Block_Time}) { Block { Time } }',
      'DEXTrades(orderBy: Block_Time_ASC) { Block { Time } }',
    ],
    [
      'DEXTrades(orderBy: [{ascending: Block_Number}]) { Block { Slot } }',
      'DEXTrades(orderBy: {ascendingByField: "Block_Slot"}) { Block { Slot } }',
    ],
    [
      `DEXTrades(tokenAddress: {is: "${T0}"}) { Transaction { Hash } }`,
      `DEXTrades(where: {Trade: {Buy: {Currency: {SmartContract: "${T0}"}}}}) { Transaction { Hash } }`,
    ],
    [
      'DEXTrades(where: {Block: {Slot: {gte: 1200}}}) { Pool { Address } }',
      'DEXTrades(where: {Block: {Number: {ge: "1200"}}}) { Pool { Address } }',
    ],
    [
      'DEXTrades(date: {till: "2026-03-01T00:30:00Z"}) { Pool { Address } }',
      'DEXTrades(date: {till: "2026-03-01 01:30:00+01:00"}) { Pool { Address } }',
    ],
    ['DEXTrades { n: uniq(of: Pool_Address) }', 'DEXTrades { n: count(distinct: Pool_Address) }'],
    [
      'Pairs { TimeMinute VolumeUSD Price { Open } }',
      'Pairs(orderBy: TimeMinute_DESC) { TimeMinute: TimeMinuteState VolumeUSD: VolumeUSDState Price { Open: OpenState } }',
    ],
    [
      'Pairs { a: Interval { Time } }',
      'Pairs(orderBy: {descending: Interval_Time}) { a: Interval { Time } }',
    ],
    [
      `Pairs(where: {Interval: {Time: {after: "2026-03-01 00:20:00"}}}) { TimeMinute }`,
      `Pairs(where: {Interval: {Time: {Start: {after: "2026-03-01T00:20:00Z"}}}}) { TimeMinute }`,
    ],
  ]
  for (const [form, other] of same) assert.deepEqual(await rows(other), await rows(form), other)
  const words = await rows('DEXTrades { count }', 'EVM(network: ethereum)')
  assert.deepEqual(words, await rows('DEXTrades { count }'))
  const flat = await api.ask(
    `{ DEXTrades(network: ethereum, limit: {count: 3}) { Pool { Address } } }`,
  )
  const wrapped = await rows('DEXTrades(limit: {count: 3}) { Pool { Address } }')
  assert.deepEqual(flat.data?.DEXTrades, wrapped)
})

test('variables, fragments, aliases and directives', async () => {
  const answer = await api.ask(
    `query A($t: String, $n: EVMNetwork!, $f: DEXTradesFilter, $c: Int = 2, $o: String, $skip: Boolean!) {
      a: EVM(network: $n) { x: DEXTrades(tokenAddress: $t, where: $f, limit: {count: $c}, orderBy: $o) { ...R } __typename } }
     fragment R on DEXTradesRecord { ... on DEXTradesRecord { B: Block { s: Slot } } Block @skip(if: $skip) { Time } B: Block { Number } }
     query Other { __typename }`,
    {
      n: 'eth',
      t: T0,
      f: { Block: { Slot: { lt: 1250, gt: null } } },
      o: 'Block_Slot_ASC',
      skip: true,
    },
    'A',
  )
  assert.equal(answer.errors, undefined, answer.errors?.[0]?.message)
  const expected = VISIBLE.filter((fact) => fact.buyToken === T0).slice(0, 2)
  assert.deepEqual(answer.data, {
    a: { x: expected.map(({ slot }) => ({ B: { s: slot, Number: slot } })), __typename: 'EVM' },
  })
})

test('limit: 25 rows by default, 10,000 at most, no rows for 0; limitBy applies before it', async () => {
  assert.equal((await rows('DEXTrades { Pool { Address } }')).length, 25)
  assert.equal(
    (await rows('DEXTrades(limit: {count: 99999999}) { Pool { Address } }')).length,
    VISIBLE.length,
  )
  assert.deepEqual(await rows('DEXTrades(limit: {count: 0}) { Pool { Address } }'), [])
  const given = await rows(
    'DEXTrades(limitBy: {by: [Pool_Address], count: 2}, limit: {count: 100}) { Pool { Address } Block { Slot } }',
  )
  const taken = new Map<string, number>()
  const expected = NEWEST.filter(({ pool }) => {
    taken.set(pool, (taken.get(pool) ?? 0) + 1)
    return (taken.get(pool) ?? 0) <= 2
  })
  assert.deepEqual(
    given,
    expected.map(({ pool, slot }) => ({ Pool: { Address: pool }, Block: { Slot: slot } })),
  )
})

test('credits follow the formula, stats have head and first block of each chain; a query without rows costs its work only', async () => {
  const asked = 'Block { Time } Pool { Address } Trade { Buy { Amount AmountInUSD PriceInUSD } }'
  const { extensions } =
    await api.ask(`{ EVM(network: eth) { a: DEXTrades(limit: {count: 10}) { ${asked} } DEXTrades(limit: {count: 500}) { ${asked} __typename }
    e: DEXTrades(tokenAddress: "0x00") { ${asked} } } }`)
  assert.deepEqual(extensions?.credits, {
    total: 122.4,
    unit: 'CU',
    cubes: [
      { cube: 'DEXTrades', credits: 20.4, row_count: 10 },
      { cube: 'DEXTrades', credits: 102, row_count: 500 },
    ],
  })
  const last = FACTS.at(-1)
  const [first] = FACTS
  assert.deepEqual(extensions?.stats?.chains, {
    eth: {
      head: last?.slot,
      head_time: last?.timeMs,
      since: first?.slot,
      since_time: first?.timeMs,
    },
  })
  assert.ok((extensions?.stats?.rows_read ?? 0) >= VISIBLE.length)
  assert.ok((extensions?.stats?.elapsed_ms ?? -1) >= 0)
  const empty = await api.ask(
    '{ Solana { DEXTrades { Block { Time } } } EVM(network: polygon) { DEXTrades { Block { Time } } } }',
  )
  assert.deepEqual(empty.data, { Solana: { DEXTrades: [] }, EVM: { DEXTrades: [] } })
  assert.deepEqual(empty.extensions?.credits, { total: 0.1, unit: 'CU', cubes: [] })
  const away = await api.ask('{ EVM(network: polygon) { DEXTrades { Block { Time } } } }')
  assert.equal(away.extensions?.credits, undefined)
  assert.ok(empty.extensions?.stats)
})

const failed = (answer: GraphqlResponse, message: RegExp | string): void => {
  assert.equal(answer.data, null)
  assert.equal(answer.extensions, undefined)
  const [first] = answer.errors ?? []
  assert.ok(first)
  if (typeof message === 'string') assert.equal(first.message, message)
  else assert.match(first.message, message)
}

test('wrong queries get the failure envelope with status 200', async () => {
  const unknown = await api.ask('{\n  Solana { DEXTrades {\n    Nope } } }')
  failed(unknown, `Unknown field 'Nope' on type 'DEXTradesRecord'`)
  assert.deepEqual(unknown.errors?.[0]?.locations, [{ line: 3, column: 5 }])
  const cases: readonly (readonly [string, RegExp])[] = [
    ['{ EVM { DEXTrades { count } } }', /network/],
    ['{ EVM(network: tron) { DEXTrades { count } } }', /tron/],
    ['{ Solana { DEXTrades(where: {Block: {Time: {gt: "2026-01-01"}}}) { count } } }', /after/],
    ['{ Solana { DEXTrades(limit: {offset: -1}) { count } } }', /negative/],
    ['mutation { x }', /mutation/],
    ['subscription { x }', /graphql-transport-ws/],
    ['{ Solana { DEXTrades { count }', /Syntax/],
    ['{ Solana { DEXTrades } }', /selection|subfields/],
    ['{ Solana { DEXTrades(nope: 1) { count } } }', /nope/],
    ['{ Solana { DEXTrades(where: {Block: {Time: {since: "yesterday"}}}) { count } } }', /time/i],
    ['{ Solana { DEXTrades(where: {Block: {Slot: {gt: "x"}}}) { count } } }', /whole number/],
    ['{ Solana { DEXTrades { Block { Time { x } } } } }', /subfields|selection/],
    ['{ Solana { DEXTrades { calculate(expression: "$nope + 1") } } }', /nope/],
    ['{ Solana { DEXTrades { calculate(expression: "1 +") } } }', /expression/],
    [
      '{ Solana { DEXTrades { a: calculate(expression: "$b") b: calculate(expression: "$a") } } }',
      /itself/,
    ],
    ['{ Solana { DEXTrades(orderBy: {descendingByField: "nope"}) { count } } }', /count/],
    ['{ Solana { DEXTrades { count count: uniq(of: Pool_Address) } } }', /alias/],
    ['{ Solana { DEXTrades { quantile(of: Block_Slot, level: 2) } } }', /level/],
    ['{ Solana { DEXTrades { Block { Time(interval: {in: hours, count: 0}) } } } }', /interval/],
    ['query ($a: String!) { Solana { DEXTrades(tokenAddress: $a) { count } } }', /\$a/],
    ['{ Solana { DEXTrades(tokenAddress: $a) { count } } }', /\$a/],
    ['{ ...F } fragment F on ChainStream { ...F }', /F/],
    ['{ DEXTrades { count } }', /network/],
    ['', /query/],
  ]
  for (const [query, message] of cases) {
    const response = await api.send({ method: 'POST', body: JSON.stringify({ query }) })
    assert.equal(response.status, query === '' ? 400 : 200, query)
    failed((await response.json()) as GraphqlResponse, message)
  }
})

test('queries that are too deep, too long or too large are refused before the engine runs', async () => {
  const deep = `{ Solana { DEXTrades(where: ${'{any: ['.repeat(100)}${']}'.repeat(100)}) { count } } }`
  failed(await api.ask(deep), /deep/)
  failed(await api.ask(`{ ${'a'.repeat(10)} ${'{'.repeat(20_000)}`), /deep/)
  failed(await api.ask(`{ Solana { DEXTrades { ${'count '.repeat(20_001)} } } }`), /tokens/)
  const long = JSON.stringify(Array.from({ length: 1_001 }, () => T0))
  failed(
    await api.ask(`{ Solana { DEXTrades(tokenAddress: {in: ${long}}) { count } } }`),
    /1000 items/,
  )
  failed(
    await api.ask(
      'query ($a: [String!]) { Solana { DEXTrades(tokenAddress: {in: $a}) { count } } }',
      {
        a: JSON.parse(long),
      },
    ),
    /1000 items/,
  )
  const bomb = Array.from(
    { length: 30 },
    (_, i) =>
      `fragment F${i} on DEXTradesRecord { ${i < 29 ? `...F${i + 1} ...F${i + 1}` : 'count'} }`,
  )
  const spread = await api.ask(`{ Solana { DEXTrades { ...F0 } } } ${bomb.join(' ')}`)
  assert.deepEqual(spread.data, { Solana: { DEXTrades: [{ count: 0 }] } })
  const many = Array.from({ length: 201 }, (_, i) => `a${i}: DEXTrades { count }`).join(' ')
  failed(await api.ask(`{ Solana { ${many} } }`), /cubes/)
  const hundred = Array.from(
    { length: 100 },
    (_, i) => `a${i}: DEXTrades(limit: {count: 1}) { count }`,
  ).join(' ')
  const answer = await api.ask(`{ EVM(network: eth) { ${hundred} } }`)
  assert.equal(answer.errors, undefined)
  assert.equal(Object.keys(answer.data?.EVM ?? {}).length, 100)
  const wrong = await api.ask(
    `{ Solana { DEXTrades { ${Array.from({ length: 150 }, (_, i) => `x${i}`).join(' ')} } } }`,
  )
  assert.equal(wrong.errors?.length, 100)
  const types = '__schema { types { fields { type { name } } } }'
  failed(
    await api.ask(`{ ${Array.from({ length: 500 }, (_, i) => `a${i}: ${types}`).join(' ')} }`),
    /Introspection/,
  )
})

test('the schema is open and a client can build it', async () => {
  const answer = await api.ask(getIntrospectionQuery())
  assert.equal(answer.errors, undefined)
  assert.equal(answer.extensions, undefined)
  const schema = buildClientSchema(answer.data as unknown as IntrospectionQuery)
  assert.equal(schema.getQueryType()?.name, 'ChainStream')
  assert.equal(schema.getMutationType() ?? undefined, undefined)
  assert.deepEqual(
    Object.keys(schema.getSubscriptionType()?.getFields() ?? {}),
    Object.keys(schema.getQueryType()?.getFields() ?? {}),
  )
  for (const name of [
    'DEXTradesRecord',
    'DEXTradesFilter',
    'DEXTradesOrderBy',
    'DEXTradesCompareFields',
    'DEXTradesSumOf',
    'LimitInput',
    'StringFilter',
    'PairsRecord',
    'Network',
  ])
    assert.ok(schema.getType(name), name)
  const mixed = await api.ask(
    '{ __typename t: __type(name: "Network") { enumValues { name } } EVM(network: eth) { DEXTrades(limit: {count: 1}) { count } } }',
  )
  assert.equal(mixed.errors, undefined)
  assert.deepEqual(Object.keys(mixed.data ?? {}), ['__typename', 't', 'EVM'])
})

test('GET takes the query string', async () => {
  const query = encodeURIComponent(
    'query Q($n: Int) { EVM(network: eth) { DEXTrades(limit: {count: $n}) { Pool { Address } } } }',
  )
  const response = await api.send(
    {},
    `?query=${query}&variables=${encodeURIComponent('{"n":2}')}&operationName=Q`,
  )
  assert.equal(response.status, 200)
  const { data } = (await response.json()) as { data: { EVM: { DEXTrades: unknown[] } } }
  assert.equal(data.EVM.DEXTrades.length, 2)
})

test('statuses of the gateway, each with the envelope and the fields of the error body', async () => {
  const body = JSON.stringify({ query: '{ __typename }' })
  const json = { 'content-type': 'application/json' }
  const keyed = { 'x-api-key': api.apiKey, ...json }
  const cases: readonly (readonly [RequestInit, number, string?])[] = [
    [{ method: 'POST', body, headers: json }, 401],
    [{ method: 'POST', body, headers: { ...json, 'x-api-key': 'cs_live_wrong' } }, 401],
    [{ method: 'POST', body: 'not json', headers: keyed }, 400],
    [{ method: 'POST', body: '[{"query": "{ __typename }"}]', headers: keyed }, 400],
    [{ method: 'POST', body: '{}', headers: keyed }, 400],
    [{ method: 'POST', body: '{"query": 5}', headers: keyed }, 400],
    [
      { method: 'POST', body: '{"query": "{ __typename }", "variables": [1]}', headers: keyed },
      400,
    ],
    [{ method: 'POST', body: 'x'.repeat(300_000), headers: keyed }, 413],
    [{ method: 'POST', body, headers: { ...keyed, 'content-type': 'text/plain' } }, 415],
    [{ method: 'PUT', body, headers: keyed }, 405],
    [{ method: 'DELETE', headers: { 'x-api-key': api.apiKey } }, 405],
    [{ headers: keyed }, 400, '?query='],
    [{ headers: keyed }, 400, '?query=a&query=b'],
  ]
  for (const [init, status, path] of cases) {
    const response = await api.send(init, path)
    const answer = (await response.json()) as GraphqlResponse & Readonly<Record<string, unknown>>
    const what = `${init.method} ${String(init.body).slice(0, 40)}: ${response.status}`
    assert.equal(response.status, status, what)
    assert.equal(answer.data, null, what)
    assert.deepEqual(
      answer.errors?.map(({ locations }) => locations),
      [[]],
      what,
    )
    for (const field of ['code', 'message', 'requestId', 'status', 'type'])
      assert.ok(answer[field] !== undefined, `${what} ${field}`)
    assert.equal(answer.status, status)
    assert.deepEqual(answer.errors?.[0]?.extensions, { code: answer.name }, what)
  }
  const bearer = await api.send({
    method: 'POST',
    body,
    headers: { ...json, authorization: `Bearer ${api.apiKey}` },
  })
  assert.equal(bearer.status, 200)
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'])
    assert.ok(bearer.headers.get(name), name)
})
