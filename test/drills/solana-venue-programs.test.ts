/** Swaps over the real programs of Solana's venues, in Solana's own runtime: what is moved equals the quote to the unit. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { address, lamports } from '@solana/kit'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { openRpcPool, type RpcPool } from '../../core/rpc/pool.ts'
import { sameGenesisCheck } from '../../core/rpc/svm-chain-check.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { quoteSwap } from '../../serving/dex/quote.ts'
import { associatedTokenAddress, TOKEN_PROGRAM } from '../../serving/dex/solana-calls.ts'
import { unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { createSolanaReader, type SolanaReader } from '../../serving/dex/solana-node.ts'
import { buildSolanaSwap } from '../../serving/dex/solana-swap.ts'
import { TIP_ACCOUNTS } from '../../serving/dex/solana-tip.ts'
import { solanaVenue, WRAPPED_SOL } from '../../serving/dex/solana-venues.ts'
import {
  execute,
  fundedWallet,
  type LocalSvm,
  signedBy,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'
import {
  addressOf,
  putCpmmPool,
  putMint,
  putTokenAccount,
  putV4Pool,
  RAYDIUM_CPMM,
  RAYDIUM_V4,
  type RaydiumPool,
} from '../support/nodes/raydium-pools.ts'

/** Folder with the programs, as `solana program dump` writes them. */
const FOLDER = process.env.SLUICE_SOLANA_PROGRAMS ?? ''
const VENUES = [
  { protocol: 'raydium_amm_v4', program: RAYDIUM_V4, file: 'raydium_amm_v4.so', put: putV4Pool },
  { protocol: 'raydium_cpmm', program: RAYDIUM_CPMM, file: 'raydium_cpmm.so', put: putCpmmPool },
] as const
type Venue = (typeof VENUES)[number]

const SOL = 1_000_000_000n
const [MINT, OTHER] = ['venue mint', 'venue other'].map(addressOf) as [string, string]

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
  reader = createSolanaReader(rpc)
  for (const mint of [MINT, OTHER]) putMint(node, mint)
  for (const { program, file } of VENUES) {
    const path = join(FOLDER, file)
    if (existsSync(path)) node.svm.addProgramFromFile(address(program), path)
  }
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

interface Case {
  readonly venue: Venue
  readonly pool: RaydiumPool
  readonly tokenIn: string
  readonly mode: 'exact_in' | 'exact_out'
  readonly amountRaw: bigint
}

const quoteOf = ({ venue, pool, tokenIn, mode, amountRaw }: Case) => {
  const priced: Pool = {
    kind: 'fee_on_input',
    address: pool.address,
    protocol: venue.protocol,
    feePips: Number(pool.feePips),
    tokens: pool.tokens,
    tvlUsd: null,
    reserves: pool.reserves,
  }
  const tokenOut = pool.tokens[pool.tokens[0] === tokenIn ? 1 : 0]
  return quoteSwap(
    { graph: { neighbours: () => [], poolsOf: () => [priced] }, hubs: new Set() },
    { tokenIn, tokenOut, mode, amountRaw },
    100,
  )
}

/** The file that is run where the newest is missing: it knows only the longer instructions. */
const OLDER_V4 = 'raydium_amm_v4_older.so'
let wallets = 10

/** Swaps with a new wallet, and compares what both vaults and the wallet have then with the quote. */
const swapOnce = async (asked: Case): Promise<void> => {
  const { venue, pool, tokenIn } = asked
  const vaults = await venue.put(node, pool)
  const wallet = await fundedWallet(node, ++wallets, 5_000n * SOL)
  const owner = wallet.address
  const side = pool.tokens[0] === tokenIn ? 0 : 1
  const tokenOut = pool.tokens[1 - side] ?? ''
  const [accountIn, accountOut] = [
    await associatedTokenAddress(owner, tokenIn, TOKEN_PROGRAM),
    await associatedTokenAddress(owner, tokenOut, TOKEN_PROGRAM),
  ]
  const start = 10n ** 13n
  if (tokenIn !== WRAPPED_SOL)
    putTokenAccount(node, accountIn, { mint: tokenIn, owner, amount: start })
  const quote = quoteOf(asked)
  const hop = quote.route.paths[0]?.hops[0]
  assert.ok(hop)
  const before = await Promise.all([...vaults].map(amountOf))
  const solBefore = await lamportsOf(owner)
  const { transaction } = await buildSolanaSwap(reader, { owner, priorityFee: 0n, quote })
  execute(node, await signedBy(wallet, transaction))
  node.svm.expireBlockhash()
  const after = await Promise.all([...vaults].map(amountOf))
  assert.equal((after[side] ?? 0n) - (before[side] ?? 0n), hop.amountInRaw)
  assert.equal((before[1 - side] ?? 0n) - (after[1 - side] ?? 0n), hop.amountOutRaw)
  const spent = solBefore - (await lamportsOf(owner))
  const fee = 5_000n
  if (tokenIn === WRAPPED_SOL) {
    assert.equal(await amountOf(accountOut), hop.amountOutRaw)
    assert.equal(spent, hop.amountInRaw + 2_039_280n + fee)
  } else {
    assert.equal(await amountOf(accountIn), start - hop.amountInRaw)
    if (tokenOut === WRAPPED_SOL) assert.equal(spent, fee - hop.amountOutRaw)
    else assert.equal(await amountOf(accountOut), hop.amountOutRaw)
  }
}

/**
 * The same over a program that knows only the longer instructions: our accounts stand in their places, and the pool stands for those of
 * an order book, which no pool has any more.
 */
const swapOnceLonger = async (asked: Case): Promise<void> => {
  const { venue, pool, tokenIn } = asked
  await venue.put(node, pool)
  const wallet = await fundedWallet(node, ++wallets, 5n * SOL)
  const owner = wallet.address
  // Another wallet is paid.
  const taker = addressOf(`taker ${wallets}`)
  const side = pool.tokens[0] === tokenIn ? 0 : 1
  const tokenOut = pool.tokens[1 - side] ?? ''
  const [accountIn, accountOut] = [
    await associatedTokenAddress(owner, tokenIn, TOKEN_PROGRAM),
    await associatedTokenAddress(taker, tokenOut, TOKEN_PROGRAM),
  ]
  const start = 10n ** 13n
  putTokenAccount(node, accountIn, { mint: tokenIn, owner, amount: start })
  putTokenAccount(node, accountOut, { mint: tokenOut, owner: taker, amount: 0n })
  const quote = quoteOf(asked)
  const hop = quote.route.paths[0]?.hops[0]
  const [account] = await reader.accounts([pool.address])
  assert.ok(hop && account)
  const { maxInRaw, minOutRaw } = quote
  const call = await solanaVenue(venue.protocol)?.swap(
    {
      pool: pool.address,
      owner,
      tokenIn,
      tokenOut,
      accountIn,
      accountOut,
      programIn: TOKEN_PROGRAM,
      programOut: TOKEN_PROGRAM,
      mode: asked.mode,
      amountInRaw: hop.amountInRaw,
      minOutRaw,
      maxInRaw,
    },
    { pool: account.data, config: new Uint8Array() },
  )
  assert.ok(call)
  const data = Uint8Array.from(call.data)
  data[0] = { 16: 9, 17: 11 }[data[0] ?? 0] ?? 0
  const none = [pool.address, 'write'] as const
  const [start3, vaultPair, users] = [
    call.accounts.slice(0, 3),
    call.accounts.slice(3, 5),
    call.accounts.slice(5),
  ]
  const market = Array.from({ length: 8 }, () => none)
  const accounts = [...start3, none, ...vaultPair, ...market, ...users]
  assert.equal(accounts.length, 17)
  const lifetime = await reader.lifetime()
  const unsigned = unsignedTransaction(owner, lifetime, [{ program: call.program, accounts, data }])
  execute(node, await signedBy(wallet, unsigned))
  node.svm.expireBlockhash()
  assert.equal(start - (await amountOf(accountIn)), hop.amountInRaw)
  assert.equal(await amountOf(accountOut), hop.amountOutRaw)
}

/** Amounts of a direction, small and large, none of them round. */
const AMOUNTS = [1_003n, 1_000_003n, 77_777_777_777n]
const PAIRS: readonly (readonly [string, string])[] = [
  [WRAPPED_SOL, MINT],
  [MINT, WRAPPED_SOL],
  [MINT, OTHER],
]

const eachCase = async (venue: Venue, swap: (asked: Case) => Promise<void>): Promise<void> => {
  let number = 0
  for (const tokens of PAIRS) {
    for (const tokenIn of tokens) {
      for (const mode of ['exact_in', 'exact_out'] as const) {
        for (const amountRaw of AMOUNTS) {
          const pool: RaydiumPool = {
            address: addressOf(`${venue.protocol} ${++number}`),
            tokens,
            reserves: [1_234_567_890_123n, 987_654_321_987n],
            feePips: 2_500n,
          }
          await swap({ venue, pool, tokenIn, mode, amountRaw })
        }
      }
    }
  }
}

const missing = (file: string) =>
  !existsSync(join(FOLDER, file)) && 'SLUICE_SOLANA_PROGRAMS has no such program'

for (const venue of VENUES) {
  test(
    `the program of ${venue.protocol} moves what was quoted, both ways, ExactIn and ExactOut`,
    {
      skip: missing(venue.file),
    },
    () => eachCase(venue, swapOnce),
  )
}

test('an older program of raydium_amm_v4 moves what was quoted by its longer instructions', {
  skip: missing(OLDER_V4),
}, async () => {
  node.svm.addProgramFromFile(address(RAYDIUM_V4), join(FOLDER, OLDER_V4))
  await eachCase(VENUES[0], swapOnceLonger)
})

test('the program of raydium_cpmm pays another wallet, and the tip is the last instruction', {
  skip: missing('raydium_cpmm.so'),
}, async () => {
  for (const account of TIP_ACCOUNTS) node.svm.airdrop(address(account), lamports(SOL))
  const pool: RaydiumPool = {
    address: addressOf('paid pool'),
    tokens: [WRAPPED_SOL, MINT],
    reserves: [1_234_567_890_123n, 987_654_321_987n],
    feePips: 2_500n,
  }
  const asked = { venue: VENUES[1], pool, tokenIn: WRAPPED_SOL, amountRaw: 1_000_003n }
  for (const mode of ['exact_in', 'exact_out'] as const) {
    await putCpmmPool(node, pool)
    const wallet = await fundedWallet(node, ++wallets, 5n * SOL)
    const owner = wallet.address
    // The wallet that is paid is nowhere on the chain yet.
    const recipient = addressOf(`recipient ${mode}`)
    const quote = quoteOf({ ...asked, mode })
    const hop = quote.route.paths[0]?.hops[0]
    assert.ok(hop)
    const order = { owner, recipient, priorityFee: 0n, tip: 12_345n, quote }
    const tipsBefore = await Promise.all(TIP_ACCOUNTS.map(lamportsOf))
    const { transaction } = await buildSolanaSwap(reader, order)
    execute(node, await signedBy(wallet, transaction))
    node.svm.expireBlockhash()
    const paid = await associatedTokenAddress(recipient, MINT, TOKEN_PROGRAM)
    const own = await associatedTokenAddress(owner, MINT, TOKEN_PROGRAM)
    assert.equal(await amountOf(paid), hop.amountOutRaw)
    assert.equal(await amountOf(own), 0n)
    const spent = 5n * SOL - (await lamportsOf(owner))
    assert.equal(spent, hop.amountInRaw + 2_039_280n + 5_000n + 12_345n)
    const tips = await Promise.all(TIP_ACCOUNTS.map(lamportsOf))
    const moved = tips
      .map((tip, index) => tip - (tipsBefore[index] ?? 0n))
      .filter((tip) => tip > 0n)
    assert.deepEqual(moved, [12_345n])
  }
})
