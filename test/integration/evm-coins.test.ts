import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { InvalidInput } from '../../core/errors.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { type EvmSourceOptions, evmSource } from '../../ingestors/evm/source/evm-source.ts'
import { nativeBalanceDiffs } from '../../ingestors/evm/source/native-balances.ts'
import type { ChainOp } from '../../ingestors/follow/contract.ts'
import type { NativeBalanceChange } from '../../schemas/block-parts.ts'
import { CHAINS } from '../../schemas/chains.ts'
import type { EvmBlock } from '../../schemas/events.ts'
import type { Feed } from '../../schemas/feeds.ts'
import type { BalanceEvents } from '../../schemas/wire.ts'
import { startAppStack } from '../support/app-stack.ts'
import { collectOperations, reachedHeight } from '../support/follow-source.ts'
import { type Anvil, startAnvil } from '../support/nodes/anvil.ts'
import { type FaultyNode, startFaultyNode } from '../support/nodes/faulty.ts'
import {
  deployForwarder,
  deployReverter,
  RECEIVER,
  sendValue,
} from '../support/nodes/value-forwarder.ts'
import { until } from '../support/until.ts'

const FEEDS: readonly Feed[] = ['coin-balances']
const COIN = CHAINS.eth.nativeAddress
/** Who gets coins that no transaction moves. */
const PAID = `0x${'c'.repeat(40)}`
const PRESTATE = 'prestateTracer'

const optionsOf = (urls: readonly string[], stop: AbortController): EvmSourceOptions => ({
  chain: { ...CHAINS.eth, blockTimeMs: 200 },
  urls,
  concurrency: 8,
  timeoutMs: 1_000,
  from: 0,
  feeds: new Set(FEEDS),
  metrics: makeMetrics(),
  log: makeSilentLogger(),
  signal: stop.signal,
})

const blocksOf = (ops: readonly ChainOp[]): readonly EvmBlock[] =>
  ops.flatMap((op) => (op.op === 'apply' && op.block.vm === 'evm' ? [op.block] : []))

describe('native balance changes of a real node', () => {
  let anvil: Anvil
  let faulty: FaultyNode
  const stop = new AbortController()
  let forwarder: `0x${string}`
  let reverter: `0x${string}`
  /** Newest block of the set-up. */
  let last: number
  /** The block that pays `PAID` without a transaction. */
  let paying: number
  let sender: string

  const request = <T>(method: string, params: readonly unknown[]): Promise<T> =>
    anvil.client.request({ method: method as never, params: params as never })
  const heldAt = async (account: string, blockHash: string): Promise<bigint> =>
    BigInt(await request<string>('eth_getBalance', [account, { blockHash }]))

  before(async () => {
    anvil = await startAnvil()
    faulty = await startFaultyNode(anvil.httpUrl)
    sender = anvil.client.account.address.toLowerCase()
    forwarder = await deployForwarder(anvil.client)
    reverter = await deployReverter(anvil.client)
    await sendValue(anvil.client, forwarder, 77n)
    await sendValue(anvil.client, reverter, 5n)
    // Two transactions in one block; then code that destroys itself while it is made, with what it was given.
    await request('evm_setAutomine', [false])
    await anvil.client.sendTransaction({ to: RECEIVER, value: 1_000n, gas: 21_000n })
    await anvil.client.sendTransaction({ to: RECEIVER, value: 2_000n, gas: 21_000n })
    await anvil.client.mine({ blocks: 1 })
    await request('evm_setAutomine', [true])
    const hash = await anvil.client.sendTransaction({
      data: `0x73${RECEIVER.slice(2)}ff`,
      value: 9n,
      gas: 200_000n,
    })
    await anvil.client.waitForTransactionReceipt({ hash })
    // Belongs to the state of the newest block.
    await request('anvil_setBalance', [PAID, '0x77359400'])
    paying = Number(await anvil.client.getBlockNumber())
    await anvil.client.mine({ blocks: 1 })
    last = paying + 1
  })
  beforeEach(() => {
    faulty.asked.length = 0
    faulty.meddle = () => undefined
  })
  after(async () => {
    stop.abort()
    await faulty.stop()
    await anvil.stop()
  })

  const follow = async (): Promise<readonly EvmBlock[]> => {
    const source = await evmSource(optionsOf([faulty.httpUrl], stop))
    return blocksOf(await collectOperations(source, reachedHeight(last)))
  }

  const isPrestate = (method: string, [, config]: readonly unknown[]): boolean =>
    method === 'debug_traceBlockByHash' &&
    (config as { readonly tracer: string }).tracer === PRESTATE

  const refusal = (id: unknown, code: number) => ({
    raw: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'no' } }),
  })

  test('equal the balances that the node returns after each block, and before it', async () => {
    let told = 0
    for (const { hash, parentHash, coins, height } of await follow()) {
      if (height === 0) continue
      assert.ok(coins, `block ${height}`)
      assert.equal(new Set(coins.map(({ account }) => account)).size, coins.length)
      for (const { account, preRaw, postRaw } of coins) {
        assert.equal(postRaw, await heldAt(account, hash), `${account} after ${height}`)
        assert.equal(preRaw, await heldAt(account, parentHash), `${account} before ${height}`)
        told += 1
      }
    }
    assert.ok(told > 10)
  })

  test('count every transaction of a block once; an account that forwards its whole income is not listed', async () => {
    const blocks = await follow()
    const coinsAt = (height: number): readonly NativeBalanceChange[] => blocks[height]?.coins ?? []
    const receiverAt = (height: number) =>
      coinsAt(height).find(({ account }) => account === RECEIVER)
    const passed = coinsAt(3)
    assert.equal(receiverAt(3)?.postRaw, 77n)
    assert.ok(!passed.some(({ account }) => account === forwarder))
    const fee = blocks[3]?.transactions[0]?.feeRaw ?? 0n
    const paid = passed.find(({ account }) => account === sender)
    assert.equal((paid?.preRaw ?? 0n) - (paid?.postRaw ?? 0n), fee + 77n)
    assert.ok(!coinsAt(4).some(({ account }) => account === reverter), 'it failed')
    assert.deepEqual(receiverAt(5), {
      account: RECEIVER,
      txIndex: 1,
      preRaw: 77n,
      postRaw: 3_077n,
    })
    assert.equal(receiverAt(6)?.postRaw, 3_086n, 'of the contract that destroyed itself')
  })

  test('are read from the state where the block itself pays', async () => {
    const paysOut = (result: object) => ({
      result: { ...result, withdrawals: [{ address: PAID, amount: '0x2' }] },
    })
    const block = await request<Record<string, unknown>>('eth_getBlockByNumber', [
      ...[`0x${paying.toString(16)}`, true],
    ])
    faulty.meddle = ({ method, params: [at, whole] }) =>
      whole === true &&
      ((method === 'eth_getBlockByHash' && at === block.hash) ||
        (method === 'eth_getBlockByNumber' && at === block.number))
        ? paysOut(block)
        : undefined
    const coins = (await follow())[paying]?.coins
    assert.deepEqual(coins?.at(-1), {
      account: PAID,
      txIndex: 1,
      preRaw: 0n,
      postRaw: 2_000_000_000n,
    })
    assert.ok(coins.some(({ account }) => account === sender))
  })

  test('are left out where no node has the tracer', async () => {
    faulty.meddle = ({ id, method, params }) =>
      isPrestate(method, params) ? refusal(id, -32_601) : undefined
    const blocks = await follow()
    assert.ok(blocks.slice(1, -1).every(({ coins }) => coins === undefined))
    const asked = faulty.asked.filter(({ method, params }) => isPrestate(method, params))
    assert.ok(
      asked.length <= 8,
      'found out once; blocks that are read at the same time may ask too',
    )
  })

  test('are requested again after failures of a node that has returned them before', async () => {
    let failures = 3
    faulty.meddle = ({ id, method, params }) => {
      if (!isPrestate(method, params) || failures === 0) return undefined
      failures -= 1
      return refusal(id, -32_000)
    }
    const blocks = await follow()
    assert.equal(failures, 0)
    assert.ok(blocks.slice(1).every(({ coins }) => coins !== undefined))
  })

  test('are rejected when malformed, and requested again', async () => {
    // Blocks that are read at the same time each look for the tracer first.
    let odd = 9
    faulty.meddle = ({ method, params }) => {
      if (!isPrestate(method, params) || odd === 0) return undefined
      odd -= 1
      return { result: [{ txHash: `0x${'0'.repeat(64)}`, result: { pre: {}, post: {} } }] }
    }
    const source = await evmSource(optionsOf([faulty.httpUrl], stop))
    const blocks = blocksOf(await collectOperations(source, reachedHeight(last)))
    assert.ok(blocks.slice(1).every(({ coins }) => coins !== undefined))
    const reasons = new Set(source.takeRejectedResponses?.().map(({ reason }) => reason))
    assert.deepEqual([...reasons], ['foreign-call'])
  })

  test('are in topic, cube and table, and a reorg reverts them', async () => {
    const source = await evmSource(optionsOf([anvil.httpUrl], stop))
    const product = await startAppStack({
      chain: { row: CHAINS.eth, source },
      overrides: { feeds: [...FEEDS] },
    })
    const { app } = product
    try {
      const settled = (height: number) =>
        until(async () => {
          const [ingestor] = app.ingestors
          return ingestor?.status().height === height && (await app.isCaughtUp())
        }, `${height} is processed`)
      const held = async (): Promise<string | undefined> => {
        const sql = `SELECT toString(balance) AS balance FROM eth_wallet_balances FINAL
          WHERE holder = '${RECEIVER}' AND token_address = '${COIN}'`
        return (await app.warehouse.query<{ balance: string }>({ sql })).rows[0]?.balance
      }
      const updates = () =>
        product.cube<{ BalanceUpdate: { PreBalanceRaw: string; PostBalanceRaw: string } }>(
          `{ EVM(network: eth) { BalanceUpdates(ownerAddress: {is: "${RECEIVER}"}, tokenAddress: {is: "${COIN}"}, orderBy: {ascending: Block_Slot}) { BalanceUpdate { PreBalanceRaw PostBalanceRaw } } } }`,
        )
      const before = [
        { BalanceUpdate: { PreBalanceRaw: '0', PostBalanceRaw: '77' } },
        { BalanceUpdate: { PreBalanceRaw: '77', PostBalanceRaw: '3077' } },
        { BalanceUpdate: { PreBalanceRaw: '3077', PostBalanceRaw: '3086' } },
      ]
      await settled(last)
      assert.deepEqual(await updates(), before)
      assert.equal(await held(), '3086')
      await sendValue(anvil.client, RECEIVER, 14n)
      await settled(last + 1)
      assert.equal(await held(), '3100')
      await request('anvil_reorg', [1, []])
      await anvil.client.mine({ blocks: 1 })
      await settled(last + 2)
      assert.deepEqual(await updates(), before)
      assert.equal(await held(), '3086')
      const records = (await product.topic(
        'eth.balances',
        'balance.BalanceEvents',
      )) as BalanceEvents[]
      const reverted = records.filter(({ meta }) => meta?.op === 'OP_REVERT')
      const owners = reverted.flatMap(({ events }) =>
        events.map(({ balance }) => balance?.account_owner_address),
      )
      assert.ok(owners.includes(RECEIVER) && owners.includes(sender))
    } finally {
      await product.stop()
    }
  })
})

test('a malformed prestate trace is rejected with its reason', () => {
  const hash = `0x${'a'.repeat(64)}`
  const block = {
    hash,
    transactions: [
      {
        hash,
        index: 0,
        from: PAID,
        to: null,
        valueRaw: 0n,
        feeRaw: 0n,
        success: true,
        contractAddress: null,
        logs: [],
      },
    ],
  }
  const traced = (result: unknown) => [{ txHash: hash, result }]
  const post = (balance: unknown) => traced({ pre: {}, post: { [PAID]: { balance } } })
  const cases: readonly (readonly [string, unknown])[] = [
    ['taken', post('0x1')],
    ['not-a-list', {}],
    ['call-count', []],
    ['no-trace', [{ txHash: hash, error: 'timeout' }]],
    ['foreign-call', [{ txHash: `0x${'b'.repeat(64)}`, result: { pre: {}, post: {} } }]],
    ['not-an-object', traced({ [PAID]: { balance: '0x1' } })],
    ['not-an-object', traced({ pre: {}, post: { [PAID]: '0x1' } })],
    ['bad-hex', post('12')],
    ['bad-hex', post(12)],
    ['bad-hex', post(`0x1${'0'.repeat(64)}`)],
    ['bad-hex', traced({ pre: {}, post: { someone: { balance: '0x1' } } })],
  ]
  for (const [reason, answer] of cases) {
    const said = (): string => {
      try {
        nativeBalanceDiffs(block, answer)
        return 'taken'
      } catch (error) {
        return error instanceof InvalidInput ? error.reason : String(error)
      }
    }
    assert.equal(said(), reason, JSON.stringify(answer))
  }
})

test('a destroyed account has no balance after its transaction, and the last change of an account counts', () => {
  const [one, other] = [`0x${'1'.repeat(64)}`, `0x${'2'.repeat(64)}`]
  const transaction = {
    from: PAID,
    to: null,
    valueRaw: 0n,
    feeRaw: 0n,
    success: true,
    contractAddress: null,
    logs: [],
  }
  const block = {
    hash: one,
    transactions: [
      { ...transaction, hash: one, index: 0 },
      { ...transaction, hash: other, index: 1 },
    ],
  }
  const account = (digit: string): string => `0x${digit.repeat(40)}`
  const touched = nativeBalanceDiffs(block, [
    {
      txHash: one,
      result: {
        pre: {
          [account('1')]: { balance: '0x5' },
          [account('2')]: { balance: '0x6' },
          [account('3')]: { nonce: 1 },
        },
        post: { [account('1')]: { balance: '0x4' }, [account('3')]: { nonce: 2 } },
      },
    },
    {
      txHash: other,
      result: {
        pre: { [account('1')]: { balance: '0x4' } },
        post: { [account('1')]: { balance: '0x7' } },
      },
    },
  ])
  assert.deepEqual(
    [...touched],
    [
      [account('1'), { preRaw: 5n, postRaw: 7n, txIndex: 1 }],
      [account('2'), { preRaw: 6n, postRaw: null, txIndex: 0 }],
    ],
  )
})
