/** Unsigned transactions of Solana against its own runtime: everything around a swap runs, and what cannot run is refused with its log. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit'
import { base58Decode } from '../../core/base58.ts'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { openRpcPool, type RpcPool } from '../../core/rpc/pool.ts'
import { sameGenesisCheck } from '../../core/rpc/svm-chain-check.ts'
import type { Pool } from '../../serving/dex/pool.ts'
import { createPoolGraph } from '../../serving/dex/pool-graph.ts'
import { quoteSwap } from '../../serving/dex/quote.ts'
import {
  associatedTokenAddress,
  createTokenAccount,
  TOKEN_PROGRAM,
  transferSol,
  unwrapSol,
  wrapSol,
} from '../../serving/dex/solana-calls.ts'
import { MAX_TRANSACTION_BYTES, unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { createSolanaReader, type SolanaReader } from '../../serving/dex/solana-node.ts'
import { solanaQuotes } from '../../serving/dex/solana-quotes.ts'
import { buildSolanaSwap } from '../../serving/dex/solana-swap.ts'
import { TIP_ACCOUNTS } from '../../serving/dex/solana-tip.ts'
import { WRAPPED_SOL } from '../../serving/dex/solana-venues.ts'
import { addressFor } from '../support/builders/svm-block.ts'
import { startFaultyNode } from '../support/nodes/faulty.ts'
import {
  execute,
  fundedWallet,
  type LocalSvm,
  putAccount,
  putLookupTable,
  signedBy,
  startLocalSvm,
} from '../support/nodes/local-svm.ts'
import {
  addressOf,
  putCpmmPool,
  putMint,
  type RaydiumPool,
} from '../support/nodes/raydium-pools.ts'

const SOL = 1_000_000_000n
const CPMM = 'CPMMoo8L3F4NbTegBCKVNunggL7H1ZpdTHKxQB5qKP1C'
const MINT = addressFor('mint')
const POOL = addressFor('pool')

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
  const pool = Buffer.alloc(637)
  const keys = { 8: addressFor('config'), 72: addressFor('vault 0'), 104: addressFor('vault 1') }
  for (const [at, key] of Object.entries({ ...keys, 168: WRAPPED_SOL, 200: MINT, 296: POOL })) {
    pool.set(base58Decode(key) ?? [], Number(at))
  }
  putAccount(node, POOL, { owner: CPMM, data: pool })
  // An initialized mint of six decimals without an authority.
  const mint = Buffer.alloc(82)
  mint.writeUInt8(6, 44)
  mint.writeUInt8(1, 45)
  putAccount(node, MINT, { owner: TOKEN_PROGRAM, data: mint })
})
after(async () => {
  rpc.close()
  await node.stop()
})

const held = async (key: string): Promise<{ lamports: bigint; amount: bigint } | undefined> => {
  const [account] = await reader.accounts([key])
  const data = Buffer.from(account?.data ?? [])
  return (
    account && {
      lamports: account.lamports,
      amount: data.length < 72 ? 0n : data.readBigUInt64LE(64),
    }
  )
}

test('Solana swap accounts are created, SOL is wrapped and unwrapped, and creating an account again is harmless', async () => {
  const wallet = await fundedWallet(node, 1, 5n * SOL)
  const owner = wallet.address
  const account = await associatedTokenAddress(owner, WRAPPED_SOL, TOKEN_PROGRAM)
  const wrap = [
    createTokenAccount(owner, WRAPPED_SOL, { account, tokenProgram: TOKEN_PROGRAM }),
    ...wrapSol(owner, account, SOL),
  ]
  const run = async (instructions: Parameters<typeof unsignedTransaction>[2]): Promise<void> => {
    const unsigned = unsignedTransaction(owner, await reader.lifetime(), instructions)
    execute(node, await signedBy(wallet, unsigned))
    node.svm.expireBlockhash()
  }
  await run(wrap)
  assert.equal((await held(account))?.amount, SOL)
  await run(wrap)
  assert.equal((await held(account))?.amount, 2n * SOL)
  await run([unwrapSol(owner, account)])
  assert.equal(await held(account), undefined)
  const left = (await held(owner))?.lamports ?? 0n
  assert.ok(left > 5n * SOL - 100_000n && left < 5n * SOL, 'all but the fees of three transactions')
})

test('a run tells what accounts are afterwards, and refuses an answer of a node that does not', async () => {
  const wallet = await fundedWallet(node, 7, 5n * SOL)
  const owner = wallet.address
  const account = await associatedTokenAddress(owner, WRAPPED_SOL, TOKEN_PROGRAM)
  const unsigned = unsignedTransaction(owner, await reader.lifetime(), [
    createTokenAccount(owner, WRAPPED_SOL, { account, tokenProgram: TOKEN_PROGRAM }),
    ...wrapSol(owner, account, SOL),
  ])
  const [paid, wrapped, pool, none] = await reader.runFor(unsigned, [
    ...[owner, account, POOL],
    addressFor('nobody'),
  ])
  assert.equal(Buffer.from(wrapped?.data ?? []).readBigUInt64LE(64), SOL)
  const rent = (wrapped?.lamports ?? 0n) - SOL
  assert.equal(paid?.lamports, 4n * SOL - rent - 5_000n)
  assert.deepEqual([pool?.owner, none], [CPMM, undefined])
  assert.equal(await held(account), undefined, 'it was only a run')
  const tooMuch = [transferSol(owner, POOL, 6n * SOL)]
  const failing = unsignedTransaction(owner, await reader.lifetime(), tooMuch)
  await assert.rejects(reader.runFor(failing, [owner]), { faultName: 'DEX_SWAP_SIMULATED_FAILED' })
  for (const accounts of [undefined, null, []]) {
    node.answers.set('simulateTransaction', { value: { err: null, accounts } })
    await assert.rejects(reader.runFor(unsigned, [owner]), { faultName: 'CHAIN_CONNECTION_ERROR' })
  }
  node.answers.delete('simulateTransaction')
  const [first] = await reader.accounts([POOL], { firstBytes: 5 })
  assert.equal(first?.data.length, 5)
})

test('a node that is behind the slot that is asked for is passed over', async () => {
  const value = [null]
  for (const context of [{ slot: 99 }, undefined]) {
    node.answers.set('getMultipleAccounts', { value, ...(context && { context }) })
    await assert.rejects(reader.accounts([POOL], { minSlot: 100 }), {
      faultName: 'CHAIN_CONNECTION_ERROR',
    })
  }
  node.answers.set('getMultipleAccounts', { value, context: { slot: 100 } })
  assert.deepEqual(await reader.accounts([POOL], { minSlot: 100 }), [undefined])
  node.answers.delete('getMultipleAccounts')
})

const PRICED: Pool = {
  kind: 'fee_on_input',
  address: POOL,
  protocol: 'raydium_cpmm',
  feePips: 2_500,
  tokens: [WRAPPED_SOL, MINT],
  tvlUsd: null,
  reserves: [1_000n * SOL, 10n ** 12n],
}

const quoteOf = (tokenIn: string, amountRaw: bigint) =>
  quoteSwap(
    { graph: { neighbours: () => [], poolsOf: () => [PRICED] }, hubs: new Set() },
    {
      tokenIn,
      tokenOut: tokenIn === MINT ? WRAPPED_SOL : MINT,
      mode: 'exact_in',
      amountRaw,
    },
    100,
  )

const refused = (name: string) => (error: unknown) =>
  error instanceof Fault && error.faultName === name

test('a swap that cannot run is refused with the log of the runtime', async () => {
  const { address: owner } = await fundedWallet(node, 2, 5n * SOL)
  const built = buildSolanaSwap(reader, {
    owner,
    priorityFee: 0n,
    quote: quoteOf(WRAPPED_SOL, SOL),
  })
  await assert.rejects(built, (error) => {
    assert.ok(error instanceof Fault && error.faultName === 'DEX_SWAP_SIMULATED_FAILED')
    return (error.details as { logs: readonly string[] }).logs.length > 0
  })
})

test('a built swap has the compute units of its run as limit, its priority fee, and the instructions around the swap', async () => {
  const { address: owner } = await fundedWallet(node, 3, 5n * SOL)
  const runs: string[] = []
  const ranBefore: SolanaReader = {
    ...reader,
    // The program of the pool is nowhere here: only its part of the transaction is not run.
    run: async (transaction) => {
      runs.push(transaction)
      return { unitsConsumed: 100_000 }
    },
  }
  const { transaction } = await buildSolanaSwap(ranBefore, {
    owner,
    priorityFee: 23_000n,
    quote: quoteOf(WRAPPED_SOL, SOL),
  })
  assert.equal(runs.length, 1)
  const bytes = getBase64Encoder().encode(transaction)
  assert.ok(bytes.length <= MAX_TRANSACTION_BYTES)
  const { messageBytes, signatures } = getTransactionDecoder().decode(bytes)
  assert.deepEqual(signatures, { [owner]: null })
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  assert.ok(message.version === 0)
  const called = message.instructions.map(({ programAddressIndex, data }) => [
    message.staticAccounts[programAddressIndex]?.slice(0, 5),
    Buffer.from(data ?? []).toString('hex'),
  ])
  assert.deepEqual(called, [
    ['Compu', '02' + '38c10100'],
    ['Compu', '03' + '400d030000000000'],
    ['AToke', '01'],
    ['11111', '02000000' + '00ca9a3b00000000'],
    ['Token', '11'],
    ['AToke', '01'],
    ['CPMMo', `8fbe5adac41e33de00ca9a3b00000000${minOutHex()}`],
    ['Token', '09'],
  ])
})

const minOutHex = (): string => {
  const data = Buffer.alloc(8)
  data.writeBigUInt64LE(quoteOf(WRAPPED_SOL, SOL).minOutRaw)
  return data.toString('hex')
}

test('a swap is refused before it runs: too small a balance, a pool of another program, a token that the wallet lacks', async () => {
  const { address: owner } = await fundedWallet(node, 4, SOL / 2n)
  const order = { owner, priorityFee: 0n }
  await assert.rejects(
    buildSolanaSwap(reader, { ...order, quote: quoteOf(WRAPPED_SOL, SOL) }),
    refused('INSUFFICIENT_BALANCE'),
  )
  await assert.rejects(
    buildSolanaSwap(reader, { ...order, quote: quoteOf(MINT, 5n * 10n ** 6n) }),
    refused('INSUFFICIENT_BALANCE'),
  )
  putAccount(node, POOL, { owner: TOKEN_PROGRAM, data: Buffer.alloc(637) })
  await assert.rejects(
    buildSolanaSwap(reader, { ...order, quote: quoteOf(WRAPPED_SOL, SOL / 4n) }),
    refused('DEX_ROUTE_BUILD_FAILED'),
  )
})

test('wallets, their accounts of tokens and that of a tip are never taken from a look-up table', async () => {
  const [first, second, third] = ['first', 'second', 'third'].map((name) =>
    addressFor(`long ${name}`),
  ) as [string, string, string]
  const tokens = [WRAPPED_SOL, first, second, third]
  for (const mint of tokens.slice(1)) putMint(node, mint)
  const pools = tokens.slice(1).map((token, index): RaydiumPool => {
    const pair = [tokens[index] ?? '', token] as const
    const reserves = [1_000n * SOL, 1_000n * SOL] as const
    return { address: addressFor(`long pool ${index}`), tokens: pair, reserves, feePips: 2_500n }
  })
  for (const pool of pools) await putCpmmPool(node, pool)
  const { address: owner } = await fundedWallet(node, 6, 5n * SOL)
  const priced = pools.map(
    ({ feePips: _, ...pool }): Pool => ({
      ...pool,
      kind: 'fee_on_input',
      protocol: 'raydium_cpmm',
      feePips: 2_500,
      tvlUsd: 1_000_000,
    }),
  )
  const request = {
    tokenIn: WRAPPED_SOL,
    tokenOut: third,
    mode: 'exact_in',
    amountRaw: SOL,
  } as const
  const graph = createPoolGraph(priced, { minTvlUsd: 0, poolsPerPair: 8 })
  const [quote] = solanaQuotes(
    { graph, hubs: new Set(tokens) },
    { request, slippageBps: 500, wanted: undefined, owner, recipient: owner },
  )
  assert.ok(quote)
  const accounts = await Promise.all(
    tokens.map((token) => associatedTokenAddress(owner, token, TOKEN_PROGRAM)),
  )
  const others = pools.flatMap(({ address: at }) => [
    at,
    ...['config', 'observation', 'vault 0', 'vault 1'].map((part) => addressOf(`${at} ${part}`)),
  ])
  const told = [...TIP_ACCOUNTS, owner, ...accounts, ...tokens, ...others]
  // The programs of the swaps are not here: the run is that of no node.
  const liar: SolanaReader = {
    ...reader,
    lookupTables: async () => ({ [addressFor('lying table')]: told }),
    run: async () => ({ unitsConsumed: 90_000 }) as never,
  }
  const { transaction } = await buildSolanaSwap(liar, {
    owner,
    priorityFee: 7n,
    tip: 1_000n,
    quote,
  })
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(transaction))
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes)
  assert.ok(message.version === 0 && (message.addressTableLookups ?? []).length === 1)
  const own: readonly string[] = message.staticAccounts
  for (const key of [owner, ...accounts]) assert.ok(own.includes(key), key)
  assert.equal(TIP_ACCOUNTS.filter((key) => own.includes(key)).length, 1)
})

test('look-up tables are those that are active and are tables', async () => {
  const [active, former, other, missing] = ['active', 'former', 'other', 'missing'].map((name) =>
    addressFor(`${name} table`),
  ) as [string, string, string, string]
  putLookupTable(node, active, [MINT, POOL])
  putLookupTable(node, former, [MINT], { isActive: false })
  putAccount(node, other, { owner: TOKEN_PROGRAM, data: Buffer.alloc(120, 1) })
  const withTables = createSolanaReader(rpc, [active, former, other, missing])
  assert.deepEqual(await withTables.lookupTables(), { [active]: [MINT, POOL] })
  assert.deepEqual(await reader.lookupTables(), {})
})

test('a chain whose nodes do not answer is an outage, not a swap', async () => {
  const { address: owner } = await fundedWallet(node, 5, SOL)
  const silent = openRpcPool({
    chain: 'sol',
    urls: ['http://127.0.0.1:9'],
    identity: sameGenesisCheck(),
    concurrency: 1,
    timeoutMs: 500,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    role: 'serve',
    signal: new AbortController().signal,
  })
  await assert.rejects(
    buildSolanaSwap(createSolanaReader(silent), {
      owner,
      priorityFee: 0n,
      quote: quoteOf(WRAPPED_SOL, 1_000n),
    }),
    refused('CHAIN_CONNECTION_ERROR'),
  )
  silent.close()
})

test('an error of a node while a transaction is run is an outage, one of the transaction its refusal', async () => {
  const faulty = await startFaultyNode(node.url)
  const outcomeOf = async (code: number, message: string): Promise<unknown> => {
    faulty.meddle = ({ id, method }) =>
      method === 'simulateTransaction'
        ? { raw: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }) }
        : undefined
    const pool = openRpcPool({
      chain: 'sol',
      urls: [faulty.httpUrl],
      identity: sameGenesisCheck(),
      concurrency: 1,
      timeoutMs: 5_000,
      metrics: makeMetrics(),
      log: makeSilentLogger(),
      role: 'serve',
      signal: new AbortController().signal,
    })
    const ran = createSolanaReader(pool).run('AA==')
    const outcome = await ran.catch((error: unknown) => error)
    pool.close()
    return outcome instanceof Fault && outcome.faultName
  }
  for (const [code, message] of [
    [-32_005, 'Node is behind by 200 slots'],
    [-32_016, 'Minimum context slot has not been reached'],
    [-32_003, 'daily request limit reached'],
    [-32_603, 'Internal error'],
  ] as const)
    assert.equal(await outcomeOf(code, message), 'CHAIN_CONNECTION_ERROR', message)
  for (const [code, message] of [
    [-32_003, 'Transaction signature verification failure'],
    [-32_602, 'invalid transaction: index out of bounds'],
  ] as const)
    assert.equal(await outcomeOf(code, message), 'DEX_SWAP_SIMULATED_FAILED', message)
  await faulty.stop()
})
