/** Channels whose lists are read from the store: rankings in every form, and a wallet's profit and loss, over a real engine. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { applyStringDelta } from 'fossil-delta'
import { localCodec } from '../../core/codec/local-codec.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { CHANNELS } from '../../schemas/channels.ts'
import { createLimitedReads, type LimitedReads } from '../../serving/queries/limited-reads.ts'
import { type Channel, parseChannel } from '../../serving/realtime/channel-name.ts'
import type { Push, Subscriber } from '../../serving/realtime/fanout.ts'
import type { Frame } from '../../serving/realtime/frame-codec.ts'
import { Hub } from '../../serving/realtime/hub.ts'
import { createListRound, MAX_LISTS_PER_ROUND } from '../../serving/realtime/list-poller.ts'
import { createFilterCompiler } from '../../serving/realtime/publication-filter.ts'
import { createSubscriptionView } from '../../serving/realtime/subscription-view.ts'
import { startApi, type TestApi } from '../support/api-stack.ts'
import { addressFromNumber } from '../support/builders/market-trade.ts'

const HEAD_MS = Date.UTC(2026, 10, 20, 12)
const DAY_MS = 86_400_000
const at = (ms: number): string => new Date(ms).toISOString()
const TOKENS = [1, 2, 3, 4, 5].map((number) => addressFromNumber(number))
const [ONE = '', TWO = '', THREE = '', FOUR = '', FIVE = ''] = TOKENS
const WALLET = addressFromNumber(0xc1)

let api: TestApi
let reads: LimitedReads
before(async () => {
  api = await startApi()
  const { warehouse, metrics } = api
  await warehouse.insert(
    'eth_tokens',
    TOKENS.map((address, index) => ({
      token_address: address,
      name: index === 0 ? '' : `Token ${index}`,
      symbol: `T${index}`,
      decimals: 6,
      created_at: at(HEAD_MS - index * 60_000),
      created_tx: `0x${index}`,
      launch_family: index % 2 === 0 ? 'pump_fun' : 'bonk_fun',
      migrated_family: index === 4 ? 'pumpswap' : '',
      migrated_at: index === 4 ? at(HEAD_MS) : null,
      _ver: 1,
    })),
  )
  await warehouse.insert('eth_token_stats', [
    ...TOKENS.slice(0, 2).map((address, index) => ({
      token_address: address,
      resolution: '1h',
      version: 1,
      stat_time: at(HEAD_MS),
      buys: 3 + index,
      sells: 2,
      buyers: 3,
      sellers: 1,
      traders: 4,
      pools: 1,
      programs: 1,
      buy_volume_usd: String(index + 1),
      sell_volume_usd: '1',
      open_usd: 1,
      close_usd: 2e-7,
      buy_volume: '1',
      sell_volume: '1',
    })),
  ])
  await warehouse.insert(
    'eth_dex_pools',
    [TWO, THREE, FIVE].map((address, index) => ({
      pool_address: addressFromNumber(2_000 + index),
      token_a: address,
      token_b: addressFromNumber(9),
      base_is_a: 1,
      _ver: 1,
      curve_progress: [0.75, 0.9, 1][index],
      liquidity_usd: '1500.5',
    })),
  )
  await warehouse.insert('eth_blocks', [
    {
      block_time: at(HEAD_MS),
      block_slot: 1_000,
      block_height: 1_000,
      block_hash: '0xhead',
      commitment: 'CONFIRMED',
      _ver: 1,
    },
  ])
  const trade = (slot: number, daysAgo: number, more: object) => ({
    block_time: at(HEAD_MS - daysAgo * DAY_MS - 60_000),
    block_slot: slot,
    block_height: slot,
    wallet: WALLET,
    event_index: 0,
    _ver: 1,
    token_address: ONE,
    realized_usd: '0',
    cost_usd: '0',
    position_cost_usd: '0',
    ...more,
  })
  await warehouse.insert('eth_wallet_pnl_trades', [
    trade(1, 40, { side: 'BUY', amount: '10', amount_usd: '20' }),
    trade(2, 5, { side: 'SELL', amount: '4', amount_usd: '12', realized_usd: '4', cost_usd: '8' }),
    trade(3, 0, { side: 'BUY', amount: '1', amount_usd: '5', token_address: TWO }),
    trade(4, 0, { side: 'SELL', amount: '2', amount_usd: '3', realized_usd: '-1', cost_usd: '4' }),
  ])
  await warehouse.insert('eth_token_holdings', [
    {
      token_address: FOUR,
      hour: HEAD_MS / 1_000,
      changed_at: at(HEAD_MS),
      holders: 3,
      top10_holders: 3,
      top10_amount: '1000000',
      top10_ratio: 0.5,
      _ver: 1,
    },
  ])
  await warehouse.insert('eth_token_markets', [
    {
      token_address: FOUR,
      market_time: at(HEAD_MS),
      total_supply: '2',
      market_cap_usd: 4,
      _ver: 1,
    },
  ])
  reads = createLimitedReads(warehouse, { share: 'point', surface: 'streams', metrics })
})
after(() => api.stop())

interface Listener {
  readonly heard: unknown[]
  readonly bytes: () => number
  readonly leave: () => void
}

interface ListenOptions {
  readonly filter?: string
  readonly delta?: boolean
  readonly orgId?: string
  /** Served by itself, as a slow reader is. */
  readonly congested?: boolean
}

/** Puts the payloads of frames behind those heard so far. */
const createReader = (heard: unknown[]): ((frame: Frame) => void) => {
  let base = ''
  return (frame) => {
    const { data, delta } = JSON.parse(String(frame)).push.pub
    if (typeof data !== 'string') return heard.push(data)
    base = delta === true ? applyStringDelta(base, data) : data
    return heard.push(JSON.parse(base))
  }
}

const makeHub = () => {
  const topics = new Map<string, Set<(frame: Frame) => void>>()
  const hub = new Hub({
    codec: localCodec(),
    quotes: new Map(),
    numbers: 'string',
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    nowMs: () => HEAD_MS,
    publish: (topic, frame) => {
      for (const read of topics.get(topic) ?? []) read(frame)
    },
  })
  const channelOf = (name: string): Channel => {
    const channel = parseChannel(name, new Set(['eth']))
    assert.ok(!('code' in channel), name)
    return channel
  }
  const filters = createFilterCompiler()
  const listen = (name: string, options: ListenOptions = {}): Listener => {
    const { filter, delta = false, congested = false, orgId = 'org' } = options
    const channel = channelOf(name)
    const heard: unknown[] = []
    const read = createReader(heard)
    let bytes = 0
    const subscriber: Subscriber = {
      congested,
      orgId,
      deliver: ({ frames, payloadBytes }: Push) => {
        for (const frame of frames) read(frame)
        bytes += payloadBytes
      },
      bill: (more) => {
        bytes += more
      },
      socket: {
        send: () => undefined,
        ping: () => undefined,
        buffered: () => 0,
        join: (topic) => topics.set(topic, (topics.get(topic) ?? new Set()).add(read)),
        leave: (topic) => topics.get(topic)?.delete(read),
        close: () => undefined,
        drop: () => undefined,
      },
    }
    const compiled = filter === undefined ? null : filters.compile(channel.row, filter)
    assert.ok(compiled !== undefined)
    const view = createSubscriptionView({ filter: compiled, delta })
    hub.join(subscriber, channel, { after: 0, view })
    return {
      heard,
      bytes: () => {
        hub.reconcile(subscriber, [channel])
        return bytes
      },
      leave: () => hub.leave(subscriber, channel),
    }
  }
  return { hub, listen }
}

/** Rounds, each five seconds after the one before. */
const roundOf = (hub: Hub, read: Pick<LimitedReads, 'query'> = reads) => {
  const options = { hub, reads: read, metrics: makeMetrics(), log: makeSilentLogger() }
  let clockMs = HEAD_MS - 5_000
  const nowMs = (): number => clockMs
  const round = createListRound({ ...options, nowMs }, new AbortController().signal)
  return async (): Promise<void> => {
    clockMs += 5_000
    await round()
  }
}
const ELEMENTS = CHANNELS.filter(({ query }) => query !== null && query !== 'walletPnl')
const tokensOf = (list: unknown): readonly string[] =>
  (list as { t: { a: string } }[]).map(({ t }) => t.a)

test('each ranking list has its tokens in order, of one launchpad where it names one', async () => {
  const { hub, listen } = makeHub()
  const lists: Readonly<Record<string, readonly string[] | undefined>> = {
    new: TOKENS,
    trending: [TWO, ONE],
    completed: [THREE, TWO],
    graduated: [FIVE],
    stocks: undefined,
    us_stocks: undefined,
    new_pump_fun: [ONE, THREE, FIVE],
    new_bonk_fun: [TWO, FOUR],
  }
  const heard = Object.keys(lists).map((name) => listen(`dex-ranking-list:eth_${name}`))
  await roundOf(hub)()
  const found = Object.keys(lists).map((name, at) => [name, heard[at]?.heard.map(tokensOf)[0]])
  assert.deepEqual(Object.fromEntries(found), lists)
})

test('a list element has its known parts and leaves out the rest', async () => {
  const { hub, listen } = makeHub()
  const list = listen('dex-ranking-list:eth_trending')
  const single = listen('dex-ranking-token-list:eth_trending')
  await roundOf(hub)()
  const [first, second] = list.heard[0] as Record<string, Record<string, unknown>>[]
  assert.deepEqual(single.heard, [first, second], 'the same elements, one by one')
  assert.deepEqual(first?.bc, { pr: '0.75' })
  assert.equal(second?.t?.n, '', 'a name that is not known is ""')
  assert.equal(second?.bc, undefined)
  assert.equal(second?.h, undefined)
  const { ts } = first ?? {}
  assert.deepEqual(
    [ts?.b1h, ts?.s1h, ts?.tr1h, ts?.bviu1h, ts?.ciu1h, ts?.b1m],
    [4, 2, 6, '2', '0.0000002', undefined],
  )
})

test('where a token was launched and where it went is named by address, family and name, as far as they are known', async () => {
  const { hub, listen } = makeHub()
  const list = listen('dex-ranking-list:eth_new')
  const single = listen('dex-ranking-token-list:eth_new')
  await roundOf(hub)()
  const origins = (elements: unknown) =>
    (elements as { t: { a: string; lf?: object; mt?: object } }[]).map(({ t: { a, lf, mt } }) => ({
      a,
      lf,
      mt,
    }))
  const pump = { pf: 'pump_fun', pn: 'Pump.fun' }
  const found = origins(list.heard[0])
  assert.deepEqual(found, [
    { a: ONE, lf: pump, mt: undefined },
    { a: TWO, lf: { pf: 'bonk_fun' }, mt: undefined },
    { a: THREE, lf: pump, mt: undefined },
    { a: FOUR, lf: { pf: 'bonk_fun' }, mt: undefined },
    { a: FIVE, lf: pump, mt: { pf: 'pumpswap', pn: 'PumpSwap' } },
  ])
  assert.deepEqual(origins(single.heard), found)
})

test('the metric lists hold their elements', async () => {
  const { hub, listen } = makeHub()
  const heard = Object.fromEntries(
    ELEMENTS.map(({ prefix }) => [prefix, listen(`${prefix}:eth_new`)]),
  )
  await roundOf(hub)()
  const stats = heard['dex-ranking-token-stats-list']?.heard[0] as { a: string; b1h: number }[]
  assert.deepEqual(
    stats.map(({ a, b1h }) => [a, b1h]),
    [
      [ONE, 3],
      [TWO, 4],
    ],
  )
  assert.deepEqual(heard['dex-ranking-token-bounding-curve-list']?.heard, [
    [
      { a: TWO, pr: '0.75' },
      { a: THREE, pr: '0.9' },
      { a: FIVE, pr: '1' },
    ],
  ])
  const numbers = heard['dex-ranking-token-general_stat_num-list']?.heard[0] as object[]
  assert.deepEqual(numbers.slice(0, 2), [
    { a: TWO, t: 'liquidity_in_usd', v: '1500.5', ts: HEAD_MS },
    { a: TWO, t: 'migrated_ratio', v: '0.75', ts: HEAD_MS },
  ])
})

test('a wallet has one element per window, with realized profit and days of its trades', async () => {
  const { hub, listen } = makeHub()
  const wallet = listen(`dex-wallet-pnl-list:eth_${WALLET}`)
  await roundOf(hub)()
  const common = { a: WALLET }
  assert.deepEqual(wallet.heard, [
    [
      {
        ...common,
        bs: 1,
        ba: '1',
        baiu: '5',
        abpiu: '5',
        sa: '2',
        saiu: '3',
        ss: 1,
        ws: 0,
        wr: '0',
        piu: '-1',
        apiu: '-1',
        pr: '-0.25',
        pd: 0,
        ld: 1,
        ts: 2,
        r: '1d',
      },
      ...['7d', '30d'].map((r) => ({
        ...common,
        bs: 1,
        ba: '1',
        baiu: '5',
        abpiu: '5',
        sa: '6',
        saiu: '15',
        ss: 2,
        ws: 1,
        wr: '0.5',
        piu: '3',
        apiu: '1.5',
        pr: '0.25',
        pd: 1,
        ld: 1,
        ts: 2,
        r,
      })),
      {
        ...common,
        bs: 2,
        ba: '11',
        baiu: '25',
        abpiu: '2.272727272727273',
        sa: '6',
        saiu: '15',
        ss: 2,
        ws: 1,
        wr: '0.5',
        piu: '3',
        apiu: '1.5',
        pr: '0.25',
        pd: 1,
        ld: 1,
        ts: 2,
        r: 'all',
      },
    ],
  ])
})

test('a filter keeps elements; a list of which none matches is not sent', async () => {
  const { hub, listen } = makeHub()
  const some = listen('dex-ranking-list:eth_new', { filter: 'meta.ts.b1h > 3' })
  const long = listen('dex-ranking-list:eth_new', {
    filter: 'metadata.launchFrom.protocolFamily == "bonk_fun"',
  })
  const none = listen('dex-ranking-list:eth_new', { filter: 'meta.t.n == "nobody"' })
  await roundOf(hub)()
  assert.deepEqual(some.heard.map(tokensOf), [[TWO]])
  assert.deepEqual(long.heard.map(tokensOf), [[TWO, FOUR]])
  assert.equal(some.bytes(), Buffer.byteLength(JSON.stringify(some.heard[0])))
  assert.deepEqual([none.heard, none.bytes()], [[], 0])
})

test('a list is read once for all subscribers and not without any, and sent when it changed', async () => {
  const { hub, listen } = makeHub()
  let statements = 0
  const counting: Pick<LimitedReads, 'query'> = {
    query: (query, caller) => {
      statements += 1
      return reads.query(query, caller)
    },
  }
  const round = roundOf(hub, counting)
  await round()
  assert.equal(statements, 0)
  const first = listen('dex-ranking-list:eth_new')
  const metric = listen('dex-ranking-token-stats-list:eth_new')
  await round()
  assert.equal(statements, 3, 'candidates, tokens, statistics')
  await round()
  assert.deepEqual([first.heard.length, metric.heard.length], [1, 1], 'nothing has changed')
  const second = listen('dex-ranking-list:eth_new')
  await round()
  assert.deepEqual([first.heard.length, second.heard.length, metric.heard.length], [1, 1, 1])
  assert.deepEqual(second.heard, first.heard)
  for (const { leave } of [first, second, metric]) leave()
  statements = 0
  await round()
  assert.equal(statements, 0)
})

const NEW_LISTS = ELEMENTS.map(({ prefix }) => `${prefix}:eth_new`)

test('a list of which nothing but the time of reading has changed is not sent again', async () => {
  const { hub, listen } = makeHub()
  const heard = NEW_LISTS.map((name) => ({ name, ...listen(name) }))
  const round = roundOf(hub)
  await round()
  const first = heard.map(({ name, heard: sent, bytes }) => [name, sent.length, bytes()])
  assert.match(JSON.stringify(heard), new RegExp(`"ts":${HEAD_MS}`), 'there are times of reading')
  for (let again = 0; again < 3; again += 1) await round()
  assert.deepEqual(
    heard.map(({ name, heard: sent, bytes }) => [name, sent.length, bytes()]),
    first,
  )
})

test('a new subscriber gets the list as it was sent last, and no other gets or pays for it again', async () => {
  const { hub, listen } = makeHub()
  const round = roundOf(hub)
  const cases = NEW_LISTS.flatMap((name) =>
    [
      { congested: true, delta: true },
      { congested: true, delta: false },
      { congested: false, delta: true },
      { congested: false, delta: false },
    ].map((options) => ({ name, options, listener: listen(name, options) })),
  )
  const listeners = (): readonly unknown[] =>
    cases.map(({ name, listener }) => [name, listener.heard, listener.bytes()])
  await round()
  const sent = structuredClone(listeners())
  for (let join = 0; join < 3; join += 1) {
    const added = cases.flatMap(({ name, options }) => [
      { name, ...listen(name, options) },
      { name, ...listen(name, { filter: `true || ${join} == 9` }) },
    ])
    await round()
    await round()
    assert.deepEqual(
      added.map(({ name, heard, bytes }) => [name, heard, bytes()]),
      sent.flatMap((one) => [one, one]),
    )
    added[0]?.leave()
  }
  assert.deepEqual(listeners(), sent)
})

test('changes of a list reach old and new subscribers alike, with deltas too', async () => {
  let symbol = 'T'
  const changing: Pick<LimitedReads, 'query'> = {
    query: async <Row>(...words: Parameters<LimitedReads['query']>) => {
      const answer = await reads.query<Row>(...words)
      const rows = answer.rows.map((row) => Object.assign({}, row, { symbol }))
      return Object.assign({}, answer, { rows })
    },
  }
  const { hub, listen } = makeHub()
  const round = roundOf(hub, changing)
  const listeners: Listener[] = []
  for (let step = 0; step < 3; step += 1) {
    for (const delta of [true, false]) {
      listeners.push(listen('dex-ranking-token-list:eth_new', { delta }))
    }
    await round()
    symbol += 'x'
    listeners.push(listen('dex-ranking-token-list:eth_new', { delta: true }))
    await round()
    const last = listeners.map(({ heard }) => heard.slice(-TOKENS.length))
    for (const list of last) assert.deepEqual(list, last[0])
    const [element] = (last[0] ?? []) as readonly { readonly t: { readonly s: string } }[]
    assert.equal(element?.t.s, symbol)
  }
  assert.equal(listeners[0]?.heard.length, 4 * TOKENS.length)
})

test('a list that cannot be read is counted and leaves the others alone', async () => {
  const { hub, listen } = makeHub()
  const broken = listen(`dex-wallet-pnl-list:eth_${WALLET}`)
  const list = listen('dex-ranking-list:eth_new')
  const failing: Pick<LimitedReads, 'query'> = {
    query: (query, caller) =>
      query.sql.includes('wallet_pnl_trades')
        ? Promise.reject(new Error('the store is away'))
        : reads.query(query, caller),
  }
  await roundOf(hub, failing)()
  assert.deepEqual([broken.heard.length, list.heard.length], [0, 1])
})

test('many lists of one organization leave the list of another its turn in each round', async () => {
  const { hub, listen } = makeHub()
  const shared = addressFromNumber(5_003)
  for (let at = 0; at < 1_000; at += 1)
    listen(`dex-wallet-pnl-list:eth_${addressFromNumber(5_000 + at)}`, { orgId: 'many' })
  listen('dex-ranking-list:eth_new', { orgId: 'one' })
  listen(`dex-wallet-pnl-list:eth_${shared}`, { orgId: 'one' })
  const asked: string[] = []
  const counting: Pick<LimitedReads, 'query'> = {
    query: async (query) => {
      asked.push(String(query.params?.wallet ?? 'ranking'))
      return { rows: [], rowsRead: 0, elapsedMs: 0 }
    },
  }
  const round = roundOf(hub, counting)
  const wallets = new Set<string>()
  for (let number = 1; number <= 12; number += 1) {
    asked.length = 0
    await round()
    assert.equal(asked.length, MAX_LISTS_PER_ROUND)
    assert.equal(new Set(asked).size, MAX_LISTS_PER_ROUND)
    assert.ok(asked.includes('ranking'), `round ${number}`)
    assert.ok(asked.includes(shared), `round ${number}`)
    for (const one of asked) wallets.add(one)
  }
  assert.equal(wallets.size, 1_001, 'all of them had a turn')
})

test('each round reads a bounded part of many lists, and every list gets its turn', async () => {
  const { hub, listen } = makeHub()
  const wallets = Array.from({ length: MAX_LISTS_PER_ROUND + 20 }, (_, index) =>
    addressFromNumber(5_000 + index),
  )
  for (const wallet of wallets) listen(`dex-wallet-pnl-list:eth_${wallet}`)
  const asked: string[] = []
  const counting: Pick<LimitedReads, 'query'> = {
    query: async (query) => {
      asked.push(String(query.params?.wallet))
      return { rows: [], rowsRead: 0, elapsedMs: 0 }
    },
  }
  const round = roundOf(hub, counting)
  await round()
  assert.equal(asked.length, MAX_LISTS_PER_ROUND)
  await round()
  assert.deepEqual(new Set(asked), new Set(wallets))
})
