/** What a node says of an account, behind a node that fails: an error of a node is never read as an amount. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Fault } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { evmChainCheck } from '../../core/rpc/evm-chain-check.ts'
import { openRpcPool, type RpcPool } from '../../core/rpc/pool.ts'
import { gasBoundsOf } from '../../schemas/chains.ts'
import { createEvmAccountReader, type EvmAccountReader } from '../../serving/dex/evm-account.ts'
import { readEvmHolding, unsignedCall } from '../../serving/dex/evm-swap.ts'
import { estimateGasLimit } from '../../serving/dex/gas-limit.ts'
import { buildCreation } from '../../serving/red-packets/build.ts'
import { type Anvil, devAccount, startAnvil } from '../support/nodes/anvil.ts'
import { type FaultyNode, type RpcRequest, startFaultyNode } from '../support/nodes/faulty.ts'

const OWNER = devAccount(0).address
const BOUNDS = gasBoundsOf('eth')
const TOKEN = `0x${'44'.repeat(20)}` as const
const NO_CONTRACT = `0x${'55'.repeat(20)}`
/** PUSH1 7, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN: 7 to every question. */
const ANSWERS_SEVEN = '0x600760005260206000f3'
const [REVERTS, REVERTING] = [`0x${'33'.repeat(20)}`, '0x60006000fd'] as const

let anvil: Anvil
let faulty: FaultyNode
const pools: RpcPool[] = []
before(async () => {
  anvil = await startAnvil()
  faulty = await startFaultyNode(anvil.httpUrl)
  await anvil.client.setCode({ address: TOKEN, bytecode: ANSWERS_SEVEN })
  await anvil.client.setCode({ address: REVERTS as `0x${string}`, bytecode: REVERTING })
})
afterEach(() => {
  faulty.meddle = () => undefined
  for (const pool of pools.splice(0)) pool.close()
})
after(async () => {
  await faulty.stop()
  await anvil.stop()
})

const openReader = (...urls: readonly string[]): { rpc: RpcPool; reader: EvmAccountReader } => {
  const rpc = openRpcPool({
    chain: 'eth',
    urls,
    identity: evmChainCheck(1),
    concurrency: 4,
    timeoutMs: 5_000,
    metrics: makeMetrics(),
    log: makeSilentLogger(),
    role: 'serve',
    signal: new AbortController().signal,
  })
  pools.push(rpc)
  return { rpc, reader: createEvmAccountReader(rpc, BOUNDS) }
}

const refusing = (error: object, methods?: readonly string[]) => {
  faulty.meddle = ({ id, method }: RpcRequest) =>
    method === 'eth_chainId' || methods?.includes(method) === false
      ? undefined
      : { raw: JSON.stringify({ jsonrpc: '2.0', id, error }) }
}
const answering = (result: unknown) => {
  faulty.meddle = ({ method }) => (method === 'eth_chainId' ? undefined : { result })
}
const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (error instanceof Fault ? error.faultName : error))

const call = (to: string) => ({ from: OWNER, to, data: '0x00', valueRaw: 0n })
const venue = { permit2: TOKEN }
const READS: Readonly<Record<string, (reader: EvmAccountReader) => Promise<unknown>>> = {
  account: (reader) => reader.account(OWNER, TOKEN, OWNER),
  native: (reader) => reader.account(OWNER, null, OWNER),
  balance: (reader) => reader.balance(OWNER, TOKEN),
  fees: (reader) => reader.fees(),
  gas: (reader) => reader.gasOf(call(TOKEN)),
  permit: (reader) => reader.tokenPermit({ chainId: 1, token: TOKEN, owner: OWNER }),
  permit2: (reader) =>
    reader.permit2Allowance(venue, { owner: OWNER, token: TOKEN, spender: OWNER }),
  packet: (reader) =>
    buildCreation(reader, { chainId: 1, address: TOKEN }, OWNER, {
      token: TOKEN,
      totalRaw: 5n,
      salt: `0x${'00'.repeat(32)}`,
      authority: null,
      memo: '',
      maxClaims: 1,
      seconds: 60,
      isRandom: true,
    }),
}
/** Limits, and a node that is behind: under the codes and in the words of nodes and providers. */
const NODE_ERRORS = [
  { code: -32_005, message: 'rate limited' },
  { code: 429, message: 'Too Many Requests' },
  { code: -32_603, message: 'Internal error' },
  { code: -32_000, message: 'header not found' },
  { code: -32_003, message: 'daily request limit reached' },
]

test("an error of the only node is an outage of the chain, and never the account's", async () => {
  for (const error of NODE_ERRORS) {
    refusing(error)
    for (const [name, read] of Object.entries(READS)) {
      const outcome = await outcomeOf(read(openReader(faulty.httpUrl).reader))
      assert.equal(outcome, 'CHAIN_CONNECTION_ERROR', `${name}: ${error.message}`)
    }
  }
})

test('an invalid answer of a node is an outage of the chain', async () => {
  for (const answer of [null, 7, {}, [], 'zz', '']) {
    answering(answer)
    for (const [name, read] of Object.entries(READS)) {
      const outcome = await outcomeOf(read(openReader(faulty.httpUrl).reader))
      assert.equal(outcome, 'CHAIN_CONNECTION_ERROR', `${name}: ${JSON.stringify(answer)}`)
    }
  }
})

test('another node is asked where the first says an error of its own, and the first is rested', async () => {
  const wanted = new Map<string, unknown>()
  for (const [name, read] of Object.entries(READS)) {
    wanted.set(name, await read(openReader(anvil.httpUrl).reader))
  }
  for (const error of NODE_ERRORS) {
    refusing(error)
    for (const [name, read] of Object.entries(READS)) {
      const { rpc, reader } = openReader(faulty.httpUrl, anvil.httpUrl)
      assert.deepEqual(await read(reader), wanted.get(name), `${name}: ${error.message}`)
      assert.equal(rpc.unavailable().length, 1)
    }
  }
})

test('a contract that reverts or is not there holds nothing, and no node is rested for it', async () => {
  const { rpc, reader } = openReader(anvil.httpUrl)
  for (const token of [REVERTS, NO_CONTRACT]) {
    const { balanceRaw, allowanceRaw } = await reader.account(OWNER, token, OWNER)
    assert.deepEqual([balanceRaw, allowanceRaw], [0n, 0n])
    assert.equal(await reader.tokenPermit({ chainId: 1, token, owner: OWNER }), undefined)
  }
  assert.equal(await outcomeOf(reader.gasOf(call(REVERTS))), 'DEX_SWAP_SIMULATED_FAILED')
  assert.deepEqual(rpc.unavailable(), [])
})

test("a revert in the words of other nodes is the transaction's fault", async () => {
  for (const error of [
    { code: 3, message: 'execution reverted: rate limited' },
    { code: -32_015, message: 'VM execution error.', data: 'Reverted 0x' },
    { code: -32_000, message: 'insufficient funds for gas * price + value' },
    { code: -32_603, message: 'VM Exception while processing transaction: reverted with reason' },
  ]) {
    refusing(error)
    const { rpc, reader } = openReader(faulty.httpUrl)
    assert.equal(await outcomeOf(reader.gasOf(call(TOKEN))), 'DEX_SWAP_SIMULATED_FAILED')
    assert.equal(await reader.balance(OWNER, TOKEN), 0n)
    assert.deepEqual(rpc.unavailable(), [])
  }
})

test('a share of a balance leaves one and a half times the gas of a path of three pools, of a route twelve', async () => {
  const { reader } = openReader(anvil.httpUrl)
  const order = { owner: OWNER, sellsNativeToken: true, fees: { gasPrice: 10n } }
  const reserveOf = async (isSplit: boolean) =>
    (await readEvmHolding(reader, { ...order, isSplit }, TOKEN)).reserveRaw
  assert.equal(await reserveOf(false), ((120_000n + 3n * 130_000n) * 10n * 3n) / 2n)
  assert.equal(await reserveOf(true), ((120_000n + 12n * 130_000n) * 10n * 3n) / 2n)
  const { balanceRaw, reserveRaw } = await readEvmHolding(
    reader,
    { ...order, sellsNativeToken: false, isSplit: true },
    TOKEN,
  )
  assert.deepEqual([balanceRaw, reserveRaw], [7n, 0n])
})

test('a transaction that was run has a fifth more gas than its run took, one that was not a fixed gas', async () => {
  const { reader } = openReader(anvil.httpUrl)
  const order = { owner: OWNER, chainId: 1, fees: { gasPrice: 10n } }
  const unsigned = {
    to: TOKEN,
    data: '0x00',
    valueRaw: 0n,
    nonce: 0,
    isRunnable: true,
    defaultGas: 9n,
  } as const
  const ran = await unsignedCall(reader, order, unsigned)
  const gas = await reader.gasOf(call(TOKEN))
  assert.deepEqual([ran.transaction.gas, ran.simulated], [gas + gas / 5n, true])
  const kept = await unsignedCall(reader, order, { ...unsigned, isRunnable: false })
  assert.deepEqual([kept.transaction.gas, kept.simulated], [9n, false])
})

test('a node that proposes no tip leaves one of 1 gwei', async () => {
  refusing({ code: -32_601, message: 'the method does not exist' }, ['eth_maxPriorityFeePerGas'])
  const fees = await openReader(faulty.httpUrl).reader.fees()
  assert.ok('maxPriorityFeePerGas' in fees)
  assert.equal(fees.maxPriorityFeePerGas, 1_000_000_000n)
  refusing({ code: -32_005, message: 'rate limited' }, ['eth_maxPriorityFeePerGas'])
  assert.equal(await outcomeOf(openReader(faulty.httpUrl).reader.fees()), 'CHAIN_CONNECTION_ERROR')
})

/** Answers of a node by method; the others are anvil's. */
const saying = (answers: Readonly<Record<string, unknown>>) => {
  faulty.meddle = ({ method }) => (method in answers ? { result: answers[method] } : undefined)
}
const hex = (value: bigint): string => `0x${value.toString(16)}`
const block = (baseFee: bigint) => ({ baseFeePerGas: hex(baseFee) })
const GWEI = 10n ** 9n

test('the tip that a node proposes is believed up to the bound of the chain', async () => {
  const { reader } = openReader(faulty.httpUrl)
  for (const [proposed, tip] of [
    [3n * GWEI, 3n * GWEI],
    [BOUNDS.tip, BOUNDS.tip],
    [BOUNDS.tip + 1n, BOUNDS.tip],
    [10n ** 15n, BOUNDS.tip],
    [10n ** 30n, BOUNDS.tip],
  ] as const) {
    saying({ eth_maxPriorityFeePerGas: hex(proposed), eth_getBlockByNumber: block(7n * GWEI) })
    assert.deepEqual(await reader.fees(), {
      maxFeePerGas: 14n * GWEI + tip,
      maxPriorityFeePerGas: tip,
    })
  }
})

test('a node that leaves the base fee out gets no more than the tip', async () => {
  const { reader } = openReader(faulty.httpUrl)
  for (const [said, gasPrice] of [
    [3n * GWEI, 3n * GWEI],
    [10n ** 15n, BOUNDS.tip],
  ] as const) {
    saying({ eth_getBlockByNumber: {}, eth_gasPrice: hex(said) })
    assert.deepEqual(await reader.fees(), { gasPrice })
  }
})

test('the largest fee of a transaction is bounded, and a base fee beyond is an invalid answer', async () => {
  const most = BOUNDS.price - BOUNDS.tip
  const tip = { eth_maxPriorityFeePerGas: hex(GWEI) }
  saying({ ...tip, eth_getBlockByNumber: block(most) })
  assert.deepEqual(await openReader(faulty.httpUrl).reader.fees(), {
    maxFeePerGas: BOUNDS.price,
    maxPriorityFeePerGas: GWEI,
  })
  saying({ ...tip, eth_getBlockByNumber: block(most + 1n) })
  assert.equal(await outcomeOf(openReader(faulty.httpUrl).reader.fees()), 'CHAIN_CONNECTION_ERROR')
  const { rpc, reader } = openReader(faulty.httpUrl, anvil.httpUrl)
  const fees = await reader.fees()
  assert.ok('maxFeePerGas' in fees && fees.maxFeePerGas < BOUNDS.price, 'another node is asked')
  assert.equal(rpc.unavailable().length, 1)
})

test('more gas than a transaction can have is an invalid answer, of a build and of an estimate', async () => {
  saying({ eth_estimateGas: hex(BOUNDS.units) })
  const { rpc, reader } = openReader(faulty.httpUrl)
  const transaction = { from: OWNER, to: TOKEN, data: '0x00', value: 0n }
  const estimate = (pool: RpcPool) => estimateGasLimit(pool, transaction, BOUNDS.units)
  assert.equal(await reader.gasOf(call(TOKEN)), BOUNDS.units)
  assert.equal(await estimate(rpc), BOUNDS.units)
  saying({ eth_estimateGas: hex(BOUNDS.units + 1n) })
  const beyond = openReader(faulty.httpUrl)
  assert.equal(await outcomeOf(beyond.reader.gasOf(call(TOKEN))), 'CHAIN_CONNECTION_ERROR')
  assert.equal(await outcomeOf(estimate(openReader(faulty.httpUrl).rpc)), 'CHAIN_CONNECTION_ERROR')
})

test('fees that a caller names are not bounded', async () => {
  const fees = { maxFeePerGas: 10n ** 16n, maxPriorityFeePerGas: 10n ** 15n }
  const unsigned = { to: TOKEN, data: '0x00', valueRaw: 0n, nonce: 0, isRunnable: true } as const
  const { reader } = openReader(anvil.httpUrl)
  const order = { owner: OWNER, chainId: 1, fees }
  const built = await unsignedCall(reader, order, { ...unsigned, defaultGas: 9n })
  assert.deepEqual(built.transaction.fees, fees)
})
