import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeEventLog, decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { callContract } from '../../simulator/evm/contract-calls.ts'
import type { RawLog } from '../../simulator/evm/event-logs.ts'
import type { Pool } from '../../simulator/evm/scenario.ts'
import { buildSimulatedEvmBlocks } from '../support/builders/simulated-evm-blocks.ts'

const HEIGHT = 150

const { producer, blocks, state } = buildSimulatedEvmBlocks(
  { seed: 21, ratePerSecond: 4, genesisMs: 1_735_689_600_000 },
  HEIGHT,
)
const { scenario, layout } = producer
const view = { scenario, layout, read: (place: number) => state.get(place) }

const V2 = parseAbi([
  'event Transfer(address indexed from, address indexed to, uint256 value)',
  'event Deposit(address indexed dst, uint256 wad)',
  'event Withdrawal(address indexed src, uint256 wad)',
  'event Sync(uint112 reserve0, uint112 reserve1)',
  'event Swap(address indexed sender, uint256 amount0In, uint256 amount1In, uint256 amount0Out, uint256 amount1Out, address indexed to)',
])
const V3 = parseAbi([
  'event Initialize(uint160 sqrtPriceX96, int24 tick)',
  'event Swap(address indexed sender, address indexed recipient, int256 amount0, int256 amount1, uint160 sqrtPriceX96, uint128 liquidity, int24 tick)',
])
const READS = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function totalSupply() view returns (uint256)',
  'function decimals() view returns (uint8)',
  'function symbol() view returns (string)',
  'function factory() view returns (address)',
  'function getPair(address, address) view returns (address)',
  'function getPool(address, address, uint24) view returns (address)',
  'function getReserves() view returns (uint112, uint112, uint32)',
  'function slot0() view returns (uint160, int24, uint16, uint16, uint16, uint8, bool)',
])

type Decoded = { readonly eventName: string; readonly args: Readonly<Record<string, unknown>> }

const read = (abi: typeof V2 | typeof V3, log: RawLog): Decoded | undefined => {
  try {
    const [first, ...rest] = log.topics
    const topics = [first, ...rest] as [Hex, ...Hex[]]
    return decodeEventLog({ abi, topics, data: log.data }) as Decoded
  } catch {
    return undefined
  }
}

const known = new Map([V2, V3].map((abi) => [abi, new Map<RawLog, Decoded | undefined>()]))

const decoded = (abi: typeof V2 | typeof V3, log: RawLog): Decoded | undefined => {
  const before = known.get(abi)
  if (before?.has(log)) return before.get(log)
  const event = read(abi, log)
  before?.set(log, event)
  return event
}

const transactions = blocks.flatMap(({ transactions: list }) => list)
const logs = transactions.flatMap((tx) => tx.logs)
const raw = (value: unknown): bigint => BigInt(String(value))
const ZERO = `0x${'0'.repeat(40)}`

const ask = (to: Hex, data: Hex): Hex => {
  const answer = callContract(view, to, data).data
  assert.ok(answer !== undefined, `${to} reverted`)
  return answer
}

test('simulated transfer logs add up to balanceOf and totalSupply', () => {
  const balances = new Map<string, bigint>()
  const supplies = new Map<string, bigint>()
  const add = (map: Map<string, bigint>, key: string, amount: bigint): void => {
    map.set(key, (map.get(key) ?? 0n) + amount)
  }
  for (const log of logs) {
    if (!scenario.tokenOf.has(log.address)) continue
    const event = decoded(V2, log)
    const { args } = event ?? {}
    if (event === undefined || args === undefined) continue
    const from = event.eventName === 'Withdrawal' ? args.src : (args.from ?? ZERO)
    const to = event.eventName === 'Deposit' ? args.dst : (args.to ?? ZERO)
    const amount = raw(args.value ?? args.wad)
    for (const [holder, sign] of [
      [from, -1n],
      [to, 1n],
    ] as const) {
      const address = String(holder).toLowerCase()
      if (address === ZERO) add(supplies, log.address, -sign * amount)
      else add(balances, `${log.address} ${address}`, sign * amount)
    }
  }
  let holdings = 0
  for (const token of scenario.tokens) {
    if (token.born > HEIGHT) continue
    const data = encodeFunctionData({ abi: READS, functionName: 'totalSupply' })
    assert.equal(BigInt(ask(token.address, data)), supplies.get(token.address), token.symbol)
    for (const account of scenario.accounts) {
      const args = [account.address] as const
      const call = encodeFunctionData({ abi: READS, functionName: 'balanceOf', args })
      const held = BigInt(ask(token.address, call))
      assert.equal(held, balances.get(`${token.address} ${account.address}`) ?? 0n)
      if (held > 0n) holdings += 1
    }
  }
  assert.ok(holdings > 500)
})

test('simulated V2 pools: Sync precedes Swap, reserves follow the amounts, the product never falls', () => {
  const reserves = new Map<string, readonly [bigint, bigint]>()
  let swaps = 0
  let flash = 0
  for (const tx of transactions) {
    let previous: RawLog | undefined
    for (const log of tx.logs) {
      const pool = scenario.poolOf.get(log.address)
      const event = pool?.version === 2 ? decoded(V2, log) : undefined
      if (event?.eventName === 'Swap') {
        const sync = previous && decoded(V2, previous)
        assert.equal(previous?.address, log.address)
        assert.equal(sync?.eventName, 'Sync')
        const after = [raw(sync?.args.reserve0), raw(sync?.args.reserve1)] as const
        const before = reserves.get(log.address)
        assert.ok(before !== undefined)
        const { amount0In, amount1In, amount0Out, amount1Out } = event.args
        assert.equal(after[0], before[0] + raw(amount0In) - raw(amount0Out))
        assert.equal(after[1], before[1] + raw(amount1In) - raw(amount1Out))
        const adjusted0 = after[0] * 1_000n - raw(amount0In) * 3n
        const adjusted1 = after[1] * 1_000n - raw(amount1In) * 3n
        assert.ok(adjusted0 * adjusted1 >= before[0] * before[1] * 1_000_000n)
        if (raw(amount0In) > 0n && raw(amount1In) > 0n) flash += 1
        swaps += 1
      }
      if (previous !== undefined) {
        const sync = scenario.poolOf.get(previous.address)?.version === 2 && decoded(V2, previous)
        if (sync && sync.eventName === 'Sync')
          reserves.set(previous.address, [raw(sync.args.reserve0), raw(sync.args.reserve1)])
      }
      previous = log
    }
    const sync =
      previous && scenario.poolOf.has(previous.address) ? decoded(V2, previous) : undefined
    assert.notEqual(sync?.eventName, 'Sync')
  }
  assert.ok(swaps > 2_000)
  assert.ok(flash > 0)
})

test('simulated V3 pools: amounts, price, tick and liquidity of every swap agree', () => {
  const prices = new Map<string, number>()
  let swaps = 0
  for (const log of logs) {
    const pool = scenario.poolOf.get(log.address)
    const event = pool?.version === 3 ? decoded(V3, log) : undefined
    if (pool === undefined || event === undefined) continue
    const root = Number(raw(event.args.sqrtPriceX96)) / 2 ** 96
    const before = prices.get(log.address)
    prices.set(log.address, root)
    const tick = Math.log(root * root) / Math.log(1.0001)
    assert.ok(Math.abs(Number(event.args.tick) - Math.floor(tick)) <= 1)
    if (event.eventName !== 'Swap') continue
    assert.ok(before !== undefined)
    swaps += 1
    const liquidity = Number(raw(event.args.liquidity))
    const [amount0, amount1] = [Number(raw(event.args.amount0)), Number(raw(event.args.amount1))]
    const feeless = 1 - pool.feePips / 1e6
    const net0 = amount0 > 0 ? amount0 * feeless : amount0
    const net1 = amount1 > 0 ? amount1 * feeless : amount1
    const tolerance = (value: number, by: number): number => Math.abs(value) * 1e-6 + by
    const want0 = liquidity * (1 / root - 1 / before)
    const want1 = liquidity * (root - before)
    assert.ok(Math.abs(net0 - want0) <= tolerance(net0, 3 + (liquidity / root) * 1e-14))
    assert.ok(Math.abs(net1 - want1) <= tolerance(net1, 3 + liquidity * root * 1e-14))
  }
  assert.ok(swaps > 500)
})

const priceOf = (pool: Pool): number => {
  const scale = 10 ** (pool.token0.decimals - pool.token1.decimals)
  const name = pool.version === 2 ? 'getReserves' : 'slot0'
  const data = ask(pool.address, encodeFunctionData({ abi: READS, functionName: name }))
  const words = decodeFunctionResult({ abi: READS, functionName: name, data }) as readonly bigint[]
  const [a = 0n, b = 0n] = words
  const price1 = pool.version === 2 ? Number(b) / Number(a) : (Number(a) / 2 ** 96) ** 2
  return pool.baseToken === pool.token0 ? price1 * scale : 1 / (price1 * scale)
}

test('simulated arbitrage keeps the pool prices of a token together', () => {
  const wethUsd = priceOf(scenario.pools[0] ?? assert.fail())
  const btcUsd =
    priceOf(scenario.pools.find(({ base }) => base === 'WBTC') ?? assert.fail()) * wethUsd
  const quoteUsd: Readonly<Record<string, number>> = { WETH: wethUsd, WBTC: btcUsd }
  const byToken = new Map<string, number[]>()
  for (const pool of scenario.pools) {
    if (pool.thin || pool.born > HEIGHT || !scenario.venues[pool.venue].listed) continue
    const usd = priceOf(pool) * (quoteUsd[pool.quote] ?? 1)
    byToken.set(pool.base, [...(byToken.get(pool.base) ?? []), usd])
  }
  let compared = 0
  for (const [token, prices] of byToken) {
    if (token === 'ISLA') continue
    for (const price of prices.slice(1)) {
      compared += 1
      assert.ok(Math.abs(price / (prices[0] ?? 0) - 1) < 0.06, `${token} ${prices}`)
    }
  }
  assert.ok(compared >= 8)
})

test('the simulated chain makes the requested number of swaps', () => {
  const swaps = logs.filter((log) => {
    const version = scenario.poolOf.get(log.address)?.version
    return version !== undefined && decoded(version === 2 ? V2 : V3, log)?.eventName === 'Swap'
  })
  const perSecond = swaps.length / ((HEIGHT - 6) * 12)
  assert.ok(Math.abs(perSecond - 4) < 0.2, `${perSecond} per second`)
})

test('the simulated chain has forged events, zero amounts, failures, routes and closed positions', () => {
  const bySwapper = (address: Hex): number =>
    logs.filter((log) => log.address === address && (decoded(V2, log) ?? decoded(V3, log))).length
  assert.ok(bySwapper(scenario.forgery.address) > 0)
  assert.ok(bySwapper(scenario.fakePair.address) > 0)
  const zero = logs.some(
    (log) => scenario.tokenOf.has(log.address) && raw(decoded(V2, log)?.args.value ?? 1) === 0n,
  )
  assert.ok(zero)
  assert.ok(transactions.some(({ success, logs: own }) => !success && own.length === 0))
  const hops = transactions.map(
    (tx) => tx.logs.filter((log) => decoded(V2, log)?.eventName === 'Swap').length,
  )
  assert.ok(hops.includes(2) && hops.includes(3))
  const { holder } = scenario.byRole
  const memes = scenario.tokens.filter(({ kind }) => kind === undefined)
  const closed = holder.some(({ index }) =>
    memes.some((token) => {
      const place = layout.balance(token.index, index)
      const touched = blocks.filter(({ writes }) => writes.has(place))
      const path = touched.map(({ writes }) => writes.get(place) ?? 0n)
      const end = path.findIndex((held, at) => held === 0n && at > 0)
      return end > 0 && path.slice(end + 1).some((held) => held > 0n)
    }),
  )
  assert.ok(closed, 'a position that was closed and opened again')
})

test('simulated contracts answer calls like real ones, reverts and odd encodings included', () => {
  const token = (symbol: string) =>
    scenario.tokens.find((one) => one.symbol === symbol) ?? assert.fail()
  const call = (to: Hex, name: 'decimals' | 'symbol' | 'factory') =>
    callContract(view, to, encodeFunctionData({ abi: READS, functionName: name })).data
  assert.equal(call(token('SHY').address, 'decimals'), undefined)
  assert.equal(call(token('WHOLE').address, 'decimals'), `0x${'0'.repeat(64)}`)
  assert.equal(call(token('MKX').address, 'symbol'), `0x4d4b58${'0'.repeat(58)}`)
  assert.equal(call(token('YETI').address, 'symbol'), '0x', 'not deployed yet')
  assert.equal(call(scenario.accounts[0]?.address ?? '0x', 'symbol'), '0x', 'a wallet')
  const v2 = scenario.venues.uniswap_v2.factory.address
  assert.equal(call(scenario.fakePair.address, 'factory')?.slice(-40), v2.slice(2))
  for (const pool of scenario.pools.filter(({ born }) => born <= HEIGHT)) {
    const { token0, token1, feePips, version } = pool
    const factory = scenario.venues[pool.venue].factory.address
    const pair = [token1.address, token0.address] as const
    const data =
      version === 2
        ? encodeFunctionData({ abi: READS, functionName: 'getPair', args: pair })
        : encodeFunctionData({ abi: READS, functionName: 'getPool', args: [...pair, feePips] })
    assert.equal(ask(factory, data).slice(-40), pool.address.slice(2))
    assert.equal(call(pool.address, 'factory')?.slice(-40), factory.slice(2))
  }
})
