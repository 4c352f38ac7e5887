import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Commit, Lane, LaneState, LogRecord } from '../../core/bus/contract.ts'
import { localCodec } from '../../core/codec/local-codec.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { globalTopic } from '../../schemas/topics.ts'
import { createEndpointIndex, priceLevelKey } from '../../serving/webhooks/endpoint-index.ts'
import { MatcherLane } from '../../serving/webhooks/matcher-lane.ts'
import { buildWebhookEndpoint } from '../support/builders/webhook-endpoint.ts'

const NOW = Date.now()
const TOKEN = 'T'
const codec = localCodec()

const priceRecord = (offset: number, price: string): LogRecord => ({
  topic: 'sol.token-prices',
  partition: 0,
  offset,
  key: TOKEN,
  value: codec.encode('token.price.TokenPriceEvents', {
    meta: {
      chain: 'sol',
      op: 'OP_APPLY',
      seq: offset,
      commitment: 'COMMITMENT_CONFIRMED',
      slot: offset,
      height: offset,
      hash: `h${offset}`,
      block_time: NOW,
      part: 0,
      parts: 1,
    },
    events: [
      {
        block: { timestamp: NOW, height: offset, slot: offset, hash: `h${offset}` },
        token_price: { token_address: TOKEN, price_in_usd: price },
      },
    ],
  }),
  headers: {},
  timestampMs: NOW,
})

/** A price, or a change of the price levels before the next one. */
type Step = string | (() => void)

/** A matcher over prices of one token. What it commits stays when it ends: a second run is another process. */
const startPrices = (steps: readonly Step[], onMatch = (): void => undefined) => {
  const index = createEndpointIndex()
  const state = new Map<string, Uint8Array>()
  const deliveries: string[] = []
  let offset = 0
  const apply = ({ records = [], state: changes = [], offsets }: Commit): void => {
    for (const { key, value } of changes) {
      if (value === null) state.delete(key)
      else state.set(key, value)
    }
    for (const next of offsets?.next ?? []) offset = next.offset
    for (const { topic, key } of records) {
      if (topic === globalTopic('webhookOutbox')) deliveries.push(key)
    }
  }
  const laneState: LaneState = {
    get: (key) => state.get(key),
    entries: (prefix = '') => [...state].filter(([key]) => key.startsWith(prefix)),
  }
  /** Runs to the end of the steps, or until the process dies in place of a commit. */
  const run = async (commits: number): Promise<void> => {
    const end = new AbortController()
    let at = offset
    let left = commits
    const lane: Lane = {
      partition: 0,
      committed: [],
      signal: end.signal,
      state: async () => laneState,
      take: async () => {
        let step = steps[at]
        while (typeof step === 'function') {
          step()
          at += 1
          step = steps[at]
        }
        if (step === undefined) {
          end.abort()
          return []
        }
        at += 1
        return [priceRecord(at - 1, step)]
      },
      writer: {
        id: 'lane',
        commit: async (commit) => {
          if (left === 0) throw new Error('killed')
          left -= 1
          apply(commit)
          return []
        },
        close: async () => undefined,
      },
    }
    let aheadMs = 0
    const deps = {
      codec,
      store: { index },
      orgOf: () => {
        onMatch()
        return { suspended: false }
      },
      config: loadConfig({}, { keyPepper: 'pepper' }),
      metrics: makeMetrics(),
      log: makeSilentLogger(),
      // Offsets alone are committed after five seconds.
      nowMs: () => {
        aheadMs += 6_000
        return NOW + aheadMs
      },
    }
    await new MatcherLane(deps, 'sol', lane, () => undefined).run()
  }
  const setLevel = (endpointId: string, usd: number | null): void => {
    const endpoint = buildWebhookEndpoint({
      endpoint_id: endpointId,
      channels: ['sol.price.crossed'],
      price_levels: usd === null ? [] : [{ token: TOKEN, usd }],
    })
    index.put(endpointId, usd === null ? null : endpoint)
  }
  return { run, setLevel, deliveries }
}

test('a process that dies between two commits of one price record sends the later crossings after its restart', async () => {
  const { run, setLevel, deliveries } = startPrices(['140', '170'])
  const first = Array.from({ length: 1_100 }, (_, index) => `ep_${index}`)
  for (const endpointId of first) setLevel(endpointId, 150)
  setLevel('ep_last', 160)
  await assert.rejects(run(2), /killed/)
  assert.deepEqual(deliveries, first, 'the crossing of one level, without the offset')
  await run(Number.POSITIVE_INFINITY)
  assert.deepEqual(deliveries, [...first, 'ep_last'])
})

test('a price level is compared with no price from before it when the token had no level in between', async () => {
  const prices = startPrices([
    '100',
    () => prices.setLevel('ep_1', null),
    ...['120', '180'],
    () => prices.setLevel('ep_1', 150),
    '181',
    ...['149', '151'],
  ])
  prices.setLevel('ep_1', 90)
  await prices.run(Number.POSITIVE_INFINITY)
  assert.deepEqual(prices.deliveries, ['ep_1', 'ep_1'], 'down and up again, after the first price')
})

/** An index with one endpoint for each list of levels. */
const indexOf = (...lists: readonly (readonly number[])[]) => {
  const index = createEndpointIndex()
  const put = (nth: number, levels: readonly number[] | null): void => {
    const endpoint_id = `ep_${nth}`
    const endpoint = buildWebhookEndpoint({
      endpoint_id,
      channels: ['sol.price.crossed'],
      price_levels: (levels ?? []).map((usd) => ({ token: TOKEN, usd })),
    })
    index.put(endpoint_id, levels && endpoint)
  }
  for (const [nth, levels] of lists.entries()) put(nth, levels)
  const { crossed } = index.priceLevels
  const key = priceLevelKey('sol', TOKEN)
  return { put, crossed: (before: number, now: number) => crossed(key, before, now) }
}

test('a price crosses the levels from which it did not come and which it passes or reaches, as endpoints come and go', () => {
  const lists = [
    [5, 1, 3],
    [3, 4, 2.5],
    [0.001, 3, 7],
  ]
  const { put, crossed } = indexOf(...lists)
  const prices = [0.0005, 0.001, 1, 2, 2.5, 3, 3.5, 4, 5, 6.999, 7, 8]
  const compare = (left: readonly (readonly number[])[]): void => {
    const levels = [...new Set(left.flat())].toSorted((one, other) => one - other)
    for (const before of prices) {
      for (const now of prices) {
        const expected = levels.filter(
          (level) => (before < level && now >= level) || (before > level && now <= level),
        )
        assert.deepEqual(crossed(before, now), expected, `${before} to ${now}`)
      }
    }
  }
  compare(lists)
  put(0, null)
  compare(lists.slice(1))
  put(1, [6])
  compare([[6], ...lists.slice(2)])
  assert.deepEqual([crossed(Number.NaN, 5), crossed(5, Number.NaN)], [[], []])
  put(1, null)
  put(2, null)
  assert.deepEqual(crossed(0, 9), [])
})

test('a price that crosses nothing costs no look at each of the levels', () => {
  const many = Array.from({ length: 50_000 }, (_, nth) => 100 + nth / 1_000)
  const { crossed } = indexOf(many)
  const startedMs = performance.now()
  for (let nth = 0; nth < 100_000; nth += 1) assert.equal(crossed(98, 99).length, 0)
  assert.ok(performance.now() - startedMs < 5_000)
  assert.deepEqual(crossed(99, 100.001), [100, 100.001])
})

test('others get their turn between the messages of one price', async () => {
  const turns: number[] = []
  let count = 0
  let isOver = false
  const countTurn = (): void => {
    count += 1
    if (!isOver) setImmediate(countTurn)
  }
  const prices = startPrices(['100', '200'], () => {
    turns.push(count)
    const endMs = performance.now() + 25
    while (performance.now() < endMs);
  })
  for (let nth = 0; nth < 10; nth += 1) prices.setLevel(`ep_${nth}`, 150 + nth)
  setImmediate(countTurn)
  await prices.run(Number.POSITIVE_INFINITY)
  isOver = true
  assert.equal(prices.deliveries.length, 10)
  assert.equal(new Set(turns).size, 10, `${turns}`)
})
