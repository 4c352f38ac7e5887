/** Routes over several pools of a real program in Solana's own runtime: what arrives is what was quoted, and what stays between is the wallet's. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { address, getBase64Encoder } from '@solana/kit'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { openRpcPool, type RpcPool } from '../../core/rpc/pool.ts'
import { sameGenesisCheck } from '../../core/rpc/svm-chain-check.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { createPoolGraph } from '../../serving/dex/pool-graph.ts'
import type { SwapRequest } from '../../serving/dex/search.ts'
import { associatedTokenAddress, TOKEN_PROGRAM } from '../../serving/dex/solana-calls.ts'
import { MAX_TRANSACTION_BYTES } from '../../serving/dex/solana-message.ts'
import { createSolanaReader, type SolanaReader } from '../../serving/dex/solana-node.ts'
import { solanaQuotes } from '../../serving/dex/solana-quotes.ts'
import { buildSolanaSwap } from '../../serving/dex/solana-swap.ts'
import { WRAPPED_SOL } from '../../serving/dex/solana-venues.ts'
import { createSeededRandom } from '../support/builders/market-trade.ts'
import {
  execute,
  fundedWallet,
  type LocalSvm,
  putLookupTable,
  signedBy,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'
import {
  addressOf,
  putCpmmPool,
  putMint,
  putTokenAccount,
  RAYDIUM_CPMM,
  type RaydiumPool,
} from '../support/nodes/raydium-pools.ts'

const PROGRAM = join(process.env.SLUICE_SOLANA_PROGRAMS ?? '', 'raydium_cpmm.so')
const skip = !existsSync(PROGRAM) && 'SLUICE_SOLANA_PROGRAMS has no such program'
const SOL = 1_000_000_000n
const TABLE = addressOf('look-up table')
const [FIRST, SECOND, HUB, OTHER_HUB] = ['first', 'second', 'hub', 'other hub'].map((name) =>
  addressOf(`route ${name}`),
) as [string, string, string, string]
const HELD = 10n ** 13n

let node: LocalSvm
let rpc: RpcPool
let reader: SolanaReader
before(async () => {
  node = await startLocalSvm()
  rpc = openRpcPool({
    chain: 'sol',
    urls: [node.url],
    identity: sameGenesisCheck(),
    concurrency: 4,
    timeoutMs: 5_000,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    role: 'serve',
    signal: new AbortController().signal,
  })
  reader = createSolanaReader(rpc, [TABLE])
  for (const mint of [FIRST, SECOND, HUB, OTHER_HUB]) putMint(node, mint)
  if (skip === false) node.svm.addProgramFromFile(address(RAYDIUM_CPMM), PROGRAM)
  const clock = node.svm.getClock()
  clock.unixTimestamp = 1_790_000_000n
  node.svm.setClock(clock)
})
after(async () => {
  rpc.close()
  await node.stop()
})

const amountOf = async (account: string): Promise<bigint> => {
  const [found] = await reader.accounts([account])
  const data = Buffer.from(found?.data ?? [])
  return data.length < 72 ? 0n : data.readBigUInt64LE(64)
}

const lamportsOf = async (key: string): Promise<bigint> =>
  (await reader.accounts([key]))[0]?.lamports ?? 0n

let [number, wallets] = [0, 0]
const RENT = 2_039_280n
/** Why a random request has no route. */
const NO_ROUTE: ReadonlySet<string> = new Set([
  ...['DEX_ROUTE_BUILD_FAILED', 'LIQUIDITY_INSUFFICIENT', 'AMOUNT_TOO_SMALL'],
  'PRICE_IMPACT_TOO_HIGH',
])
const poolOf = (
  tokens: readonly [string, string],
  reserves: readonly [bigint, bigint],
): RaydiumPool => ({
  address: addressOf(`route pool ${++number}`),
  tokens,
  reserves,
  feePips: 2_500n,
})
const pricedOf = ({ address: at, tokens, reserves }: RaydiumPool): Pool => ({
  kind: 'fee_on_input',
  address: at,
  protocol: 'raydium_cpmm',
  feePips: 2_500,
  tokens,
  tvlUsd: 1_000_000,
  reserves,
})

/** Accounts of a pool that its swaps name. */
const accountsOf = ({ address: at }: RaydiumPool): readonly string[] =>
  ['', ' config', ' observation', ' vault 0', ' vault 1'].map((part) =>
    part === '' ? at : addressOf(`${at}${part}`),
  )

/** The best quote over the pools; undefined: they have no route. */
const bestQuote = (pools: readonly RaydiumPool[], request: SwapRequest, owner: string) => {
  const graph = createPoolGraph(pools.map(pricedOf), { minTvlUsd: 0, poolsPerPair: 8 })
  const scope = { graph, hubs: new Set([HUB, OTHER_HUB, WRAPPED_SOL]) }
  const asked = { request, slippageBps: 100, wanted: undefined, owner, recipient: owner }
  try {
    return solanaQuotes(scope, asked)[0]
  } catch (error) {
    if (error instanceof Fault && NO_ROUTE.has(error.faultName)) return undefined
    throw error
  }
}

/** Signs and executes the best route over the pools, and compares every account of the wallet with the quote. */
const routeOnce = async (
  pools: readonly RaydiumPool[],
  request: SwapRequest,
  /** Wrapped SOL that the wallet holds before; undefined: it has no account for it. */
  wrappedBefore?: bigint,
) => {
  for (const pool of pools) await putCpmmPool(node, pool)
  const wallet = await fundedWallet(node, ++wallets, 5_000n * SOL)
  const owner = wallet.address
  const accountOf = (mint: string) => associatedTokenAddress(owner, mint, TOKEN_PROGRAM)
  if (request.tokenIn !== WRAPPED_SOL) {
    const held = { mint: request.tokenIn, owner, amount: HELD }
    putTokenAccount(node, await accountOf(request.tokenIn), held)
  }
  if (wrappedBefore !== undefined) {
    const held = { mint: WRAPPED_SOL, owner, amount: wrappedBefore }
    putTokenAccount(node, await accountOf(WRAPPED_SOL), held)
  }
  const quote = bestQuote(pools, request, owner)
  if (quote === undefined) return undefined
  const solBefore = await lamportsOf(owner)
  const { transaction } = await buildSolanaSwap(reader, { owner, priorityFee: 0n, quote })
  execute(node, await signedBy(wallet, transaction))
  node.svm.expireBlockhash()
  const expected = new Map<string, bigint>()
  const change = (token: string, amount: bigint) =>
    expected.set(token, (expected.get(token) ?? 0n) + amount)
  for (const { hops } of quote.route.paths) {
    for (const { tokenIn, tokenOut, amountInRaw, amountOutRaw } of hops) {
      change(tokenIn, -amountInRaw)
      change(tokenOut, amountOutRaw)
    }
  }
  const created = [...expected.keys()].filter(
    (token) => token !== WRAPPED_SOL && token !== request.tokenIn,
  )
  for (const [token, amount] of expected) {
    if (token === WRAPPED_SOL) continue
    const start = token === request.tokenIn ? HELD : 0n
    assert.equal((await amountOf(await accountOf(token))) - start, amount, token)
  }
  const sol = (await lamportsOf(owner)) - solBefore
  // What lay in the wallet's account of wrapped SOL comes back with it.
  const back = wrappedBefore !== undefined && expected.has(WRAPPED_SOL) ? RENT + wrappedBefore : 0n
  const rent = RENT * BigInt(created.length)
  assert.equal(sol, (expected.get(WRAPPED_SOL) ?? 0n) + back - rent - 5_000n)
  return { quote, size: getBase64Encoder().encode(transaction).length }
}

const required = <T>(value: T | undefined): T => {
  assert.ok(value !== undefined, 'there is a route')
  return value
}

const R = 987_654_321_987n
const requests = (tokenIn: string, tokenOut: string): readonly SwapRequest[] =>
  (['exact_in', 'exact_out'] as const).map((mode) => ({
    tokenIn,
    tokenOut,
    mode,
    amountRaw: 77_777_777n,
  }))

test('two pools one after the other: over a token, over SOL, from SOL and to SOL', {
  skip,
}, async () => {
  const ways: readonly (readonly [string, string, string])[] = [
    [FIRST, HUB, SECOND],
    [FIRST, WRAPPED_SOL, SECOND],
    [WRAPPED_SOL, HUB, SECOND],
    [FIRST, HUB, WRAPPED_SOL],
  ]
  for (const [from, over, to] of ways) {
    for (const request of requests(from, to)) {
      const pools = [poolOf([from, over], [R, 2n * R]), poolOf([to, over], [3n * R, R])]
      const { quote } = required(await routeOnce(pools, request))
      assert.deepEqual(
        quote.route.paths.map(({ hops }) => hops.length),
        [2],
      )
    }
  }
})

test('three pools one after the other', { skip }, async () => {
  for (const request of requests(FIRST, SECOND)) {
    const pools = [
      poolOf([FIRST, HUB], [R, 2n * R]),
      poolOf([HUB, OTHER_HUB], [R, R]),
      poolOf([OTHER_HUB, SECOND], [R, R]),
    ]
    const { quote } = required(await routeOnce(pools, request))
    assert.deepEqual(
      quote.route.paths.map(({ hops }) => hops.length),
      [3],
    )
  }
})

test('a swap that is split over pools of both tokens', { skip }, async () => {
  for (const request of requests(WRAPPED_SOL, SECOND)) {
    const pools = [1n, 2n].map((part) => poolOf([WRAPPED_SOL, SECOND], [R / part, R / part]))
    const { quote } = required(await routeOnce(pools, { ...request, amountRaw: R / 7n }))
    assert.equal(quote.route.paths.length, 2)
  }
})

test('random routes over random pools, also for a wallet that holds wrapped SOL already', {
  skip,
}, async () => {
  const random = createSeededRandom(20_261_128)
  const tokens = [WRAPPED_SOL, FIRST, SECOND, HUB, OTHER_HUB]
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  let [routed, several] = [0, 0]
  for (let round = 0; round < 60; round += 1) {
    const pools = Array.from({ length: 9 }, () => {
      const from = pick(tokens)
      const to = pick(tokens.filter((token) => token !== from))
      const depth = () => BigInt(Math.floor(10 ** (9 + 4 * random())))
      return poolOf([from, to], [depth(), depth()])
    })
    const tokenIn = pick(tokens)
    const tokenOut = pick(tokens.filter((token) => token !== tokenIn))
    const mode = pick(['exact_in', 'exact_out'] as const)
    const amountRaw = BigInt(Math.floor(10 ** (5 + 3 * random())))
    const wrappedBefore = pick([undefined, 12_345n])
    putLookupTable(node, TABLE, [RAYDIUM_CPMM, ...tokens.slice(1), ...pools.flatMap(accountsOf)])
    const outcome = await routeOnce(pools, { tokenIn, tokenOut, mode, amountRaw }, wrappedBefore)
    if (outcome === undefined) continue
    routed += 1
    if (outcome.quote.route.paths.flatMap(({ hops }) => hops).length > 1) several += 1
  }
  putLookupTable(node, TABLE, [])
  assert.ok(routed > 30 && several > 15, `${routed} routes, ${several} over several pools`)
})

test('a route that is too large for a packet takes a look-up table', { skip }, async () => {
  for (const request of requests(FIRST, SECOND)) {
    const pools = [
      ...[HUB, OTHER_HUB].flatMap((hub) => [
        poolOf([FIRST, hub], [R, R]),
        poolOf([hub, SECOND], [R, R]),
      ]),
    ]
    const asked = { ...request, amountRaw: R / 9n }
    await assert.rejects(routeOnce(pools, asked), /too large|TRANSACTION_SIZE/i)
    const keys = pools.flatMap(accountsOf)
    putLookupTable(node, TABLE, [RAYDIUM_CPMM, FIRST, SECOND, HUB, OTHER_HUB, ...keys])
    const { quote, size } = required(await routeOnce(pools, asked))
    assert.equal(quote.route.paths.length, 2)
    assert.ok(size <= MAX_TRANSACTION_BYTES, `${size} bytes`)
    putLookupTable(node, TABLE, [])
  }
})
