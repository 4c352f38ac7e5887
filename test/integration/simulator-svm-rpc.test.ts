import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import WebSocket from 'ws'
import { base58Encode } from '../../core/base58.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import type { AccountInfo } from '../../ingestors/svm/source/accounts.ts'
import { svmMetadataReader } from '../../ingestors/svm/source/metadata-reader.ts'
import { type Simulator, startSimulator } from '../../simulator/start.ts'
import { LISTED_TOKENS } from '../../simulator/svm/listings.ts'
import { createScenario } from '../../simulator/svm/scenario.ts'
import { slotAt } from '../../simulator/svm/slots.ts'
import { buildEvmBlock } from '../support/builders/evm-block.ts'
import { until } from '../support/until.ts'

const GENESIS_MS = 1_735_689_600_000
const SEED = 3
const FULL = { encoding: 'json', transactionDetails: 'full', maxSupportedTransactionVersion: 1 }
const CONFIRMED = { ...FULL, rewards: true, commitment: 'confirmed' }

let height = 150
let node: Simulator
const nowMs = (): number => GENESIS_MS + slotAt(SEED, height) * 400

before(async () => {
  node = await startSimulator({
    chain: 'sol',
    seed: SEED,
    ratePerSecond: 6,
    genesisMs: GENESIS_MS + 300,
    nowMs,
    log: makeSilentLogger(),
  })
})
after(() => node.stop())

interface Answer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}
interface Block {
  readonly blockhash: string
  readonly previousBlockhash: string
  readonly parentSlot: number
  readonly blockHeight: number
  readonly blockTime: number
  readonly rewards?: readonly Readonly<Record<string, unknown>>[]
  readonly transactions: readonly {
    readonly version: unknown
    readonly transaction: { readonly signatures: readonly string[] }
  }[]
}

const post = async (body: string): Promise<string> =>
  (await fetch(node.httpUrl, { method: 'POST', body })).text()
const ask = async (method: string, ...params: unknown[]): Promise<Answer> =>
  JSON.parse(await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })))
const result = async <T>(method: string, ...params: unknown[]): Promise<T> => {
  const answer = await ask(method, ...params)
  assert.equal(answer.error, undefined, `${method} ${JSON.stringify(params)}`)
  return answer.result as T
}
const slot = (): number => slotAt(SEED, height)

test('slots, heights and commitments', async () => {
  assert.equal(await result('getHealth'), 'ok')
  assert.equal(await result('getGenesisHash'), node.genesisHash)
  assert.equal(await result('getSlot', { commitment: 'processed' }), slot())
  assert.equal(await result('getSlot', { commitment: 'confirmed' }), slot())
  assert.equal(await result('getSlot'), slotAt(SEED, height - 64))
  assert.equal(await result('getBlockHeight', { commitment: 'confirmed' }), height)
  assert.equal(await result('getBlockHeight', { commitment: 'finalized' }), height - 64)
  assert.equal(await result('getFirstAvailableBlock'), 0)
  assert.equal(node.head().height, slot())
  const slots = await result<number[]>('getBlocks', 0, slot(), { commitment: 'confirmed' })
  assert.equal(slots.length, height + 1)
  assert.deepEqual(
    slots,
    slots.map((_, at) => slotAt(SEED, at)),
  )
  assert.deepEqual(
    await result('getBlocksWithLimit', 3, 4, { commitment: 'confirmed' }),
    slots.filter((one) => one >= 3).slice(0, 4),
  )
  assert.equal(
    await result('getBlockTime', slot()),
    Math.floor((GENESIS_MS + slot() * 400) / 1_000),
  )
})

test('blocks link by hash and by slot, over skipped slots too', async () => {
  const slots = await result<number[]>('getBlocks', slot() - 40, slot(), {
    commitment: 'confirmed',
  })
  let parent: readonly [string, number] | undefined
  for (const at of slots) {
    const block = await result<Block>('getBlock', at, CONFIRMED)
    if (parent !== undefined) assert.deepEqual([block.previousBlockhash, block.parentSlot], parent)
    parent = [block.blockhash, at]
    assert.equal(block.blockTime, Math.floor((GENESIS_MS + at * 400) / 1_000))
    assert.ok(block.transactions.length >= 2)
    assert.equal(block.rewards?.[0]?.rewardType, 'Fee')
  }
  const skipped = Array.from({ length: 40 }, (_, at) => slot() - at).find(
    (at) => !slots.includes(at),
  )
  assert.ok(skipped)
  assert.equal((await ask('getBlock', skipped, CONFIRMED)).error?.code, -32007)
  assert.equal((await ask('getBlock', slot() + 1, CONFIRMED)).error?.code, -32004)
  assert.equal((await ask('getBlock', slot(), FULL)).error?.code, -32004, 'not final yet')
})

test('the simulated Solana node validates parameters as a real node does', async () => {
  const versioned = await ask('getBlock', slot(), { commitment: 'confirmed' })
  assert.equal(versioned.error?.code, -32015)
  assert.match(versioned.error?.message ?? '', /"maxSupportedTransactionVersion": 0$/)
  const codes: readonly (readonly [number, string, readonly unknown[]])[] = [
    [-32602, 'getBlock', [slot(), { ...CONFIRMED, commitment: 'sure' }]],
    [-32602, 'getBlock', [slot(), { ...CONFIRMED, commitment: 'processed' }]],
    [-32602, 'getBlock', [slot(), { ...CONFIRMED, encoding: 'xml' }]],
    [-32602, 'getBlock', [slot(), { ...CONFIRMED, maxSupportedTransactionVersion: 'all' }]],
    [-32602, 'getBlock', []],
    [-32602, 'getBlock', [-1, CONFIRMED]],
    [-32602, 'getBlock', ['7', CONFIRMED]],
    [-32602, 'getSlot', [{ commitment: 'recent' }]],
    [-32602, 'getSlot', ['finalized']],
    [-32602, 'getTransaction', ['0']],
    [-32602, 'getAccountInfo', [7]],
    [-32602, 'getMultipleAccounts', [new Array(101).fill(base58Encode(new Uint8Array(32)))]],
    [-32004, 'getBlockTime', [slot() + 9]],
    [-32601, 'getEverything', []],
    [-32601, 'constructor', []],
    [-32601, 'slotSubscribe', []],
  ]
  for (const [code, method, params] of codes)
    assert.equal((await ask(method, ...params)).error?.code, code, `${method} ${params}`)
  assert.equal(JSON.parse(await post('{')).error.code, -32700)
  const batch = JSON.parse(
    await post(
      '[{"jsonrpc":"2.0","id":"a","method":"getHealth"},{"jsonrpc":"2.0","id":2,"method":"no"}]',
    ),
  )
  assert.deepEqual(batch[0], { jsonrpc: '2.0', id: 'a', result: 'ok' })
  assert.equal(batch[1].error.code, -32601)
})

test('a block without its transactions, and in base64', async () => {
  const none = await result<Block>('getBlock', slot(), {
    ...CONFIRMED,
    transactionDetails: 'none',
    rewards: false,
  })
  assert.deepEqual([none.transactions, none.rewards], [undefined, undefined])
  const full = await result<Block>('getBlock', slot(), CONFIRMED)
  const signed = await result<{ signatures: string[] }>('getBlock', slot(), {
    ...CONFIRMED,
    transactionDetails: 'signatures',
  })
  assert.deepEqual(
    signed.signatures,
    full.transactions.map(({ transaction }) => transaction.signatures[0]),
  )
  const wire = await result<Block>('getBlock', slot(), { ...CONFIRMED, encoding: 'base64' })
  assert.equal(wire.blockhash, full.blockhash)
  assert.deepEqual(
    wire.transactions.map(({ transaction }) => (transaction as unknown as string[])[1]),
    full.transactions.map(() => 'base64'),
  )
})

test('the example transaction, token and pool of the simulated chain exist', async () => {
  const { token, pool, wallet, txHash, chain } = node.examples
  assert.equal(chain, 'sol')
  const options = { maxSupportedTransactionVersion: 0, commitment: 'confirmed' }
  const tx = await result<{
    slot: number
    meta: { err: unknown }
    transaction: { message: { accountKeys: string[] } }
  }>('getTransaction', txHash, options)
  assert.equal(tx.meta.err, null)
  assert.equal(tx.transaction.message.accountKeys[0], wallet)
  const block = await result<Block>('getBlock', tx.slot, CONFIRMED)
  assert.ok(block.transactions.some(({ transaction }) => transaction.signatures[0] === txHash))
  const { value } = await result<{ value: ({ data: string[]; owner: string } | null)[] }>(
    'getMultipleAccounts',
    [token, pool, node.extra.referencePools[0]?.pool, base58Encode(new Uint8Array(32).fill(9))],
    { encoding: 'base64', commitment: 'confirmed' },
  )
  const [mint, , reserve, nothing] = value.map(
    (one) => one && Buffer.from(one.data[0] ?? '', 'base64'),
  )
  assert.ok(mint && reserve)
  assert.ok(mint.readBigUInt64LE(36) <= 10n ** 15n && mint.readBigUInt64LE(36) > 9n * 10n ** 14n)
  assert.deepEqual([mint[44], mint[45]], [6, 1])
  assert.equal(reserve.length, 752)
  assert.equal(
    base58Encode(reserve.subarray(400, 432)),
    'So11111111111111111111111111111111111111112',
  )
  assert.equal(nothing, null)
  const vault = base58Encode(reserve.subarray(368, 400))
  const held = await result<{ value: { data: string[] } }>('getAccountInfo', vault, {
    encoding: 'base64',
  })
  const account = Buffer.from(held.value.data[0] ?? '', 'base64')
  assert.equal(account.length, 165)
  assert.equal(
    base58Encode(account.subarray(0, 32)),
    'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
  )
  assert.ok(account.readBigUInt64LE(64) > 10n ** 12n)
  assert.equal(
    await result('getTransaction', base58Encode(new Uint8Array(64).fill(1)), options),
    null,
  )
  const statuses = await result<{ value: ({ confirmationStatus: string } | null)[] }>(
    'getSignatureStatuses',
    [txHash],
  )
  assert.equal(statuses.value[0]?.confirmationStatus, 'finalized')
})

test('USDC and the older coins of the simulated chain have names in Metaplex accounts, as on mainnet', async () => {
  const { usdc, coins } = createScenario(SEED, 6)
  const accounts = async (
    addresses: readonly string[],
  ): Promise<readonly (AccountInfo | null)[]> => {
    const { value } = await result<{ value: ({ data: string[]; owner: string } | null)[] }>(
      'getMultipleAccounts',
      addresses,
      { encoding: 'base64' },
    )
    return value.map(
      (one) => one && { owner: one.owner, data: Buffer.from(one.data[0] ?? '', 'base64') },
    )
  }
  const { tokens } = await svmMetadataReader(accounts).read(
    { pools: [], tokens: [usdc, ...coins].map((mint) => mint.account.address) },
    buildEvmBlock({ height: 9 }, []),
    new AbortController().signal,
  )
  assert.deepEqual(
    tokens.map(({ symbol, name }) => [symbol, name]),
    [['USDC', 'USD Coin'], ...LISTED_TOKENS.map(({ symbol, name }) => [symbol, name])],
  )
})

/** A socket that keeps what it was told. */
const openSocket = async () => {
  const socket = new WebSocket(node.wsUrl)
  const told: { id?: number; method?: string; params?: { result: never; subscription: number } }[] =
    []
  socket.on('message', (data) => told.push(JSON.parse(data.toString())))
  await new Promise((done) => socket.once('open', done))
  let calls = 0
  const call = async (method: string, ...params: unknown[]): Promise<Answer> => {
    calls += 1
    const id = calls
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return until(() => told.find((one) => one.id === id) as Answer | undefined, method)
  }
  const notices = <T>(method: string): readonly T[] =>
    told.flatMap((one) => (one.method === method && one.params ? [one.params.result as T] : []))
  return { socket, call, notices }
}

interface BlockNotice {
  readonly context: { readonly slot: number }
  readonly value: { readonly slot: number; readonly err: unknown; readonly block: Block | null }
}

test('a watcher is notified of slots and blocks, of a fork and of the way back', async () => {
  const { socket, call, notices } = await openSocket()
  const first = height
  assert.equal(typeof (await call('slotSubscribe')).result, 'number')
  assert.equal(
    (await call('blockSubscribe', 'all', { ...CONFIRMED, commitment: 'processed' })).error?.code,
    -32602,
  )
  const id = (await call('blockSubscribe', 'all', { ...CONFIRMED, showRewards: true })).result
  assert.equal(typeof id, 'number')
  height = first + 3
  await until(() => notices('blockNotification').length === 3, 'three blocks')
  node.reorg(3)
  await until(() => notices('blockNotification').length === 6, 'three other blocks')
  const shown = await result<Block>('getBlock', node.head().height, CONFIRMED)
  height = first + 4
  await until(() => notices('blockNotification').length === 10, 'the canonical blocks again')
  const seen = notices<BlockNotice>('blockNotification').map(({ value }) => value)
  const blocks = seen.map(({ block }) => block)
  assert.deepEqual(
    blocks.map((block) => (block?.blockHeight ?? 0) - first),
    [1, 2, 3, 1, 2, 3, 1, 2, 3, 4],
  )
  assert.equal(blocks[5]?.blockhash, shown.blockhash)
  assert.deepEqual(blocks.slice(6, 9), blocks.slice(0, 3))
  assert.notEqual(blocks[3]?.blockhash, blocks[0]?.blockhash)
  for (const at of [1, 2, 4, 5, 7, 8, 9]) {
    assert.equal(blocks[at]?.previousBlockhash, blocks[at - 1]?.blockhash)
    assert.equal(blocks[at]?.parentSlot, seen[at - 1]?.slot)
  }
  assert.equal(blocks[3]?.previousBlockhash, blocks[0]?.previousBlockhash)
  assert.deepEqual(
    notices<{ slot: number }>('slotNotification').map((one) => one.slot),
    seen.map((one) => one.slot),
  )
  assert.equal((await call('blockUnsubscribe', id)).result, true)
  assert.equal((await call('blockUnsubscribe', id)).error?.code, -32602)
  socket.terminate()
})

test('a watcher of final blocks gets them once, one that names no version gets the error', async () => {
  const { socket, call, notices } = await openSocket()
  const first = height
  await call('blockSubscribe', 'all', FULL)
  height = first + 5
  await until(() => notices('blockNotification').length === 5, 'five final blocks')
  const finals = notices<BlockNotice>('blockNotification').map(
    ({ value }) => value.block?.blockHeight,
  )
  assert.deepEqual(
    finals,
    [1, 2, 3, 4, 5].map((at) => first - 64 + at),
  )
  const old = await openSocket()
  await old.call('blockSubscribe', 'all', { commitment: 'confirmed' })
  height = first + 12
  await until(() => old.notices('blockNotification').length === 7, 'seven blocks')
  const refused = old
    .notices<BlockNotice>('blockNotification')
    .filter(({ value }) => value.err !== null)
  assert.ok(refused.length > 0)
  assert.ok(
    refused.every(
      ({ value }) => value.block === null && value.err === 'UnsupportedTransactionVersion(0)',
    ),
  )
  socket.terminate()
  old.socket.terminate()
})

test('no response of the simulated Solana node names it as simulated', async () => {
  const said = await Promise.all([
    ask('getVersion'),
    ask('getBlock', slot(), CONFIRMED),
    ask('getFoo'),
  ])
  assert.doesNotMatch(JSON.stringify(said), /simulat/i)
})
