/** Which pools a quote has read from a node, what is kept of a reading, and for whom. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { base58Decode } from '../../core/base58.ts'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import type { AccountPoolHead } from '../../serving/dex/account-pool.ts'
import { createAccountPools } from '../../serving/dex/account-pools.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { createPoolProgress } from '../../serving/dex/pool-progress.ts'
import { TOKEN_PROGRAM } from '../../serving/dex/solana-calls.ts'
import type { SolanaAccount } from '../../serving/dex/solana-node.ts'
import { WHIRLPOOL, WHIRLPOOL_LAYOUT } from '../../serving/dex/whirlpool-accounts.ts'
import { whirlpoolSqrtPrice } from '../../serving/dex/whirlpool-step.ts'
import { addressFor } from '../support/builders/svm-block.ts'

const [SOLD, BOUGHT, HUB] = ['sold', 'bought', 'hub'].map(addressFor) as [string, string, string]

const headOf = (name: string, tokens: readonly [string, string], tvlUsd = 1): AccountPoolHead => ({
  kind: 'whirlpool',
  address: addressFor(name),
  protocol: 'orca_whirlpool',
  tokens,
  tvlUsd,
})

type Answer = (addresses: readonly string[]) => Promise<readonly (SolanaAccount | undefined)[]>

/** Account readings over scripted answers of a node and a clock of the test. */
const withPools = (heads: readonly AccountPoolHead[], answer: Answer) => {
  const state = { nowMs: 0, orgId: 'first', isPlausible: true }
  const calls: (readonly string[])[] = []
  const minSlots: (number | undefined)[] = []
  const progress = createPoolProgress()
  const held = new Map<string, { readonly pool: Pool | null; readonly untilMs: number }>()
  const isUnread = ({ address }: AccountPoolHead, nowMs: number): boolean =>
    (held.get(address)?.untilMs ?? Number.NEGATIVE_INFINITY) <= nowMs
  const metrics = makeMetrics()
  const pools = createAccountPools({
    reader: {
      accounts: async (addresses, options) => {
        calls.push(addresses)
        minSlots.push(options?.minSlot)
        return answer(addresses)
      },
    },
    market: {
      progress,
      hubs: new Set([HUB]),
      pools: {
        unread: (one: string, other: string, nowMs: number) =>
          heads.filter(
            (head) =>
              head.tokens.includes(one) && head.tokens.includes(other) && isUnread(head, nowMs),
          ),
        unreadPool: () => undefined,
        keepRead: (address: string, pool: Pool | null, untilMs: number) =>
          void held.set(address, { pool, untilMs }),
        isPlausible: () => state.isPlausible,
      } as never,
    },
    caller: { orgId: () => state.orgId, shared: (_, work) => work() },
    metrics,
    nowMs: () => state.nowMs,
    log: makeSilentLogger(),
  })
  const read = () => pools.readBetween({ tokenIn: SOLD, tokenOut: BOUGHT }, undefined)
  const outcomes = async () =>
    Object.fromEntries(
      (await metrics.poolReadings.get()).values.map(({ labels, value }) => [labels.outcome, value]),
    )
  return { state, calls, minSlots, progress, held, read, outcomes }
}

/** The account of a pool at a tick. Layout: orca-so/whirlpools state/whirlpool.rs. */
const whirlpoolAt = (tick: number): Buffer => {
  const data = Buffer.alloc(WHIRLPOOL_LAYOUT.end)
  data.write('3f95d10ce1806309', 'hex')
  data.writeUInt16LE(64, WHIRLPOOL_LAYOUT.tickSpacing)
  data.writeUInt16LE(64, WHIRLPOOL_LAYOUT.feeTier)
  const sqrtPrice = whirlpoolSqrtPrice(tick)
  data.writeBigUInt64LE(sqrtPrice & ((1n << 64n) - 1n), WHIRLPOOL_LAYOUT.sqrtPrice)
  data.writeBigUInt64LE(sqrtPrice >> 64n, WHIRLPOOL_LAYOUT.sqrtPrice + 8)
  data.writeInt32LE(tick, WHIRLPOOL_LAYOUT.tick)
  return data
}

const DIRECT = [9, 8, 7, 6, 5].map((tvl) => headOf(`direct ${tvl}`, [SOLD, BOUGHT], tvl))
const nothing: Answer = async (addresses) => addresses.map(() => undefined)

test('all places are for pools of both tokens where no pool leads to a hub, and three of them where pools do', async () => {
  const alone = withPools(DIRECT, nothing)
  await alone.read()
  assert.deepEqual(
    alone.calls,
    [DIRECT.map(({ address }) => address)],
    'one call, the deepest first',
  )
  const hubs = [3, 2, 1].map((tvl) => headOf(`of hub ${tvl}`, [SOLD, HUB], tvl))
  const beside = withPools([...DIRECT, ...hubs], nothing)
  await beside.read()
  assert.deepEqual(
    beside.calls,
    [[...DIRECT.slice(0, 3), ...hubs].map(({ address }) => address)],
    'three of each',
  )
})

test('a pool without an exact quote is left out for ten seconds', async () => {
  const { state, calls, read, outcomes } = withPools(DIRECT, async (addresses) =>
    addresses.map(() => ({
      owner: addressFor('another program'),
      lamports: 1n,
      data: Buffer.of(),
    })),
  )
  await read()
  state.nowMs = 9_999
  await read()
  assert.equal(calls.length, 1)
  state.nowMs = 10_000
  await read()
  assert.equal(calls.length, 2)
  assert.deepEqual(await outcomes(), { not_exact: 10 })
})

test('what limits of a caller refuse is kept from no other client, and an abort neither', async () => {
  for (const error of [
    new Fault('CONCURRENCY_LIMIT'),
    new Fault('SERVER_BUSY'),
    new DOMException('This operation was aborted', 'AbortError'),
  ]) {
    const { calls, held, read, outcomes } = withPools(DIRECT, () => Promise.reject(error))
    await read()
    assert.equal(held.size, 0, error.message)
    await read()
    assert.equal(calls.length, 2, error.message)
    assert.deepEqual(await outcomes(), { refused: 10 })
  }
})

test('a node that gives no answer is not asked again for two seconds, for no caller', async () => {
  const { state, calls, read } = withPools(DIRECT, () =>
    Promise.reject(new Fault('CHAIN_CONNECTION_ERROR')),
  )
  await read()
  state.nowMs = 1_999
  state.orgId = 'other'
  await read()
  assert.equal(calls.length, 1)
  state.nowMs = 2_000
  await read()
  assert.equal(calls.length, 2)
})

test('requests of one organization share a reading, and those of another have one of their own', async () => {
  const [pool] = DIRECT.map((head) => [head])
  const { state, calls, read } = withPools(pool ?? [], nothing)
  await Promise.all([read(), read()])
  assert.equal(calls.length, 1)
  const apart = withPools(pool ?? [], nothing)
  const first = apart.read()
  apart.state.orgId = 'other'
  await Promise.all([first, apart.read()])
  assert.equal(apart.calls.length, 2)
  assert.equal(state.orgId, 'first')
})

test('a pool that names other accounts at the second reading is neither quoted nor left out for longer', async () => {
  let readings = 0
  const { held, read, outcomes } = withPools(DIRECT.slice(0, 1), async (addresses) => {
    const data = whirlpoolAt((readings++ === 0 ? 0 : 1) * 10_000)
    return addresses.map(() => ({ owner: WHIRLPOOL, lamports: 1n, data }))
  })
  await read()
  assert.equal(readings, 2)
  assert.equal(held.size, 0)
  assert.deepEqual(await outcomes(), { changed: 1 })
})

test('a pool whose account becomes that of another program between both readings is not quoted', async () => {
  let readings = 0
  const { held, read } = withPools(DIRECT.slice(0, 1), async (addresses) => {
    const owner = readings++ === 0 ? WHIRLPOOL : addressFor('another program')
    return addresses.map(() => ({ owner, lamports: 1n, data: Buffer.alloc(8) }))
  })
  await read()
  assert.equal(readings, 2)
  assert.equal(held.get(DIRECT[0]?.address ?? '')?.pool, null)
})

/** Accounts of a pool of which no array was made, with two mints of the first token program. */
const answering: Answer = async (addresses) => {
  const pool = whirlpoolAt(0)
  pool.set(base58Decode(SOLD) ?? [], WHIRLPOOL_LAYOUT.mintA)
  pool.set(base58Decode(BOUGHT) ?? [], WHIRLPOOL_LAYOUT.mintB)
  const mint = { owner: TOKEN_PROGRAM, lamports: 1n, data: new Uint8Array(82) }
  return addresses.map((address) => {
    if (address === SOLD || address === BOUGHT) return mint
    return address === DIRECT[0]?.address
      ? { owner: WHIRLPOOL, lamports: 1n, data: pool }
      : undefined
  })
}

test('a pool is left out for two seconds where the node says a price that is not plausible', async () => {
  const { state, calls, held, read, outcomes } = withPools(DIRECT.slice(0, 1), answering)
  const key = DIRECT[0]?.address ?? ''
  await read()
  assert.equal(held.get(key)?.pool?.address, key)
  state.nowMs = 2_000
  state.isPlausible = false
  await read()
  assert.deepEqual(held.get(key), { pool: null, untilMs: 4_000 })
  state.nowMs = 3_999
  await read()
  assert.equal(calls.length, 4, 'two for each reading')
  assert.deepEqual(await outcomes(), { read: 1, implausible: 1 })
})

test('accounts are read as of no slot that lies more than twenty behind the pools of the topics', async () => {
  const { state, minSlots, progress, read } = withPools(
    [headOf('slots', [SOLD, BOUGHT])],
    async () => [undefined],
  )
  await read()
  state.nowMs += 60_000
  progress.block({ seq: 1, place: { height: 900, slot: 1_000 }, records: 0 })
  await read()
  assert.deepEqual([minSlots.at(0), minSlots.at(-1)], [undefined, 980])
})
