import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { test } from 'node:test'
import { replayConfig } from '../../cli/commands/replay.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { parseMetadataTable } from '../../ingestors/decode/metadata-table.ts'
import type { ChainOp, Position } from '../../ingestors/follow/contract.ts'
import { type Recordings, recordedSource } from '../../ingestors/recorded/replay.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { TOKEN, TOKEN_POOL, USDC, WETH } from '../support/builders/evm-block.ts'
import { recordingNames, recordingPath } from '../support/recordings/ethereum.ts'
import {
  solanaRecordingJson,
  solanaRecordingNames,
  solanaRecordingPath,
} from '../support/recordings/solana.ts'

const { signal } = new AbortController()
const FILES = recordingNames().map(recordingPath)

const open = (more: Partial<Recordings> = {}) =>
  recordedSource({ chain: CHAINS.eth, files: FILES, log: makeSilentLogger(), ...more })

const all = async (
  source: Awaited<ReturnType<typeof open>>,
  position: Position | null = null,
): Promise<ChainOp[]> => {
  const ops: ChainOp[] = []
  for await (const op of source.operations(position, signal)) ops.push(op)
  return ops
}

const header = (height: number, mark = 'aa') => ({
  number: `0x${height.toString(16)}`,
  hash: `0x${mark.repeat(32)}`,
  parentHash: `0x${'bb'.repeat(32)}`,
  timestamp: '0x64ea4e00',
  miner: `0x${'00'.repeat(20)}`,
  gasLimit: '0x1',
  gasUsed: '0x0',
  difficulty: '0x0',
  extraData: '0x',
  transactions: [],
})
const blockFile = (height: number, mark?: string): string =>
  JSON.stringify({ eth_getBlockByNumber: header(height, mark), eth_getBlockReceipts: [] })

test('recordings are ordered by height and end with a FINALIZE', async () => {
  const source = await open({ files: FILES.toReversed() })
  const ops = await all(source)
  const heights = ops.flatMap((op) => (op.op === 'apply' ? [op.block.height] : []))
  assert.ok(heights.length >= 20)
  assert.deepEqual(
    heights,
    heights.toSorted((a, b) => a - b),
  )
  const last = ops.at(-1)
  assert.ok(last?.op === 'finalize' && last.ref.height === heights.at(-1))
  assert.equal(source.gaps, true)
  assert.equal(source.head()?.height, heights.at(-1))
})

test('a recording has the commitment of its chain', async () => {
  const [slot = ''] = solanaRecordingNames().map(solanaRecordingPath)
  const sol = await open({ chain: CHAINS.sol, files: [slot] })
  assert.equal(sol.commitment, 'confirmed')
  assert.equal((await open()).commitment, 'processed')
})

test('a replay continues after its position', async () => {
  const source = await open()
  const ops = await all(source)
  const [, second] = ops.flatMap((op) => (op.op === 'apply' ? [op.block] : []))
  assert.ok(second)
  const rest = await all(source, { stack: [second], final: null })
  assert.deepEqual(
    rest.flatMap((op) => (op.op === 'apply' ? [op.block.height] : [])),
    ops.flatMap((op) => (op.op === 'apply' ? [op.block.height] : [])).slice(2),
  )
})

test('files of one block are merged, two blocks of one height are rejected', async () => {
  const texts: Readonly<Record<string, string>> = {
    a: blockFile(5),
    b: blockFile(5),
    c: blockFile(5, 'cc'),
  }
  const readFile = async (file: string) => texts[file] ?? ''
  const ops = await all(await open({ files: ['a', 'b'], readFile }))
  assert.deepEqual(
    ops.map(({ op }) => op),
    ['apply', 'finalize'],
  )
  await assert.rejects(open({ files: ['a', 'c'], readFile }), { reason: 'mixed-blocks' })
})

test('a long recording is finalized every 32 blocks', async () => {
  const files = Array.from({ length: 70 }, (_, height) => String(height + 1))
  const readFile = async (file: string) =>
    blockFile(Number(file), Number(file).toString(16).padStart(2, '0'))
  const ops = await all(await open({ files, readFile }))
  assert.deepEqual(
    ops.flatMap((op) => (op.op === 'finalize' ? [op.ref.height] : [])),
    [32, 64, 70],
  )
})

test('an invalid recording is rejected with its file name', async () => {
  for (const [text, reason] of [
    ['{', 'not-json'],
    ['{}', 'unknown-shape'],
    ['{"chain": "base", "eth_getBlockReceipts": []}', 'wrong-chain'],
  ] as const) {
    const opened = open({ files: ['odd.json'], readFile: async () => text })
    await assert.rejects(opened, (error: Error & { reason?: string }) => {
      assert.equal(error.reason, reason)
      assert.match(error.message, /odd\.json/)
      return true
    })
  }
})

test('facts files give tokens and verified pools, a plain list gives tokens', async () => {
  const tokens = [{ token: TOKEN.toUpperCase().replace('0X', '0x'), decimals: 9, origin: 'docs' }]
  const pools = [{ pool: TOKEN_POOL, token0: TOKEN, token1: WETH, protocol: 'uniswap_v2' }]
  const table = parseMetadataTable({ tokens, pools })
  assert.deepEqual(table.tokens, [
    { address: TOKEN, decimals: 9, name: null, symbol: null, totalSupplyRaw: null },
  ])
  assert.deepEqual(
    table.pools.map(({ address, verified }) => [address, verified]),
    [[TOKEN_POOL, true]],
  )
  assert.deepEqual(parseMetadataTable(tokens), { tokens: table.tokens, pools: [] })
  const { metadata: facts } = await open({ files: [], metadata: table })
  const [reference] = CHAINS.eth.referencePools
  const asked = [TOKEN_POOL, reference.pool].map((address) => ({ address, family: 'uniswap_v2' }))
  const [block] = (await all(await open())).flatMap((op) => (op.op === 'apply' ? [op.block] : []))
  assert.ok(block)
  const learned = await facts.read({ pools: asked, tokens: [TOKEN, USDC] }, block, signal)
  assert.deepEqual(
    learned.tokens.map(({ address }) => address),
    [TOKEN],
  )
  assert.deepEqual(
    learned.pools.map(({ address, verified }) => [address, verified]),
    [
      [TOKEN_POOL, true],
      [reference.pool, true],
    ],
  )
})

test('an invalid facts file is rejected with the path of the error', () => {
  for (const [json, message] of [
    [{ tokens: [{ token: 'x' }] }, /\/tokens\/0\/token/],
    [[{ token: TOKEN, decimals: 300 }], /\/tokens\/0\/decimals/],
    ['text', /metadata file/],
    [
      { pools: [{ pool: TOKEN_POOL, token0: TOKEN, token1: WETH, protocol: 'nodex' }] },
      /the protocol of pool/,
    ],
  ] as const) {
    assert.throws(() => parseMetadataTable(json), { reason: 'bad-facts', message })
  }
})

test('Solana transactions of one slot make one block, in one order whatever the files', async () => {
  const files = solanaRecordingNames().map(solanaRecordingPath)
  const open = (names: readonly string[]) =>
    recordedSource({ chain: CHAINS.sol, files: names, log: makeSilentLogger() })
  const source = await open(files)
  const ops = await all(source)
  const blocks = ops.flatMap((op) => (op.op === 'apply' ? [op.block] : []))
  const heights = blocks.map(({ height }) => height)
  assert.deepEqual(
    heights,
    heights.toSorted((a, b) => a - b),
  )
  const several = blocks.find(({ height }) => height === 415_623_442)
  const names = several?.transactions.map(({ hash }) => hash) ?? []
  assert.ok(names.length >= 2)
  assert.deepEqual(
    several?.transactions.map(({ index }) => index),
    names.map((_, index) => index),
  )
  assert.deepEqual(await all(await open(files.toReversed())), ops)
  assert.deepEqual(source.skipped.map((file) => basename(file)).sort(), [
    'jupiter_route_7.json',
    'pumpfun_create_from_blocksubscribe.json',
  ])
})

test('a whole Solana block supplies the block of a separately recorded transaction', async () => {
  const alone = solanaRecordingJson('buy_token_pumpfun_1.json').getTransaction as { slot: number }
  const block = {
    slot: alone.slot,
    blockhash: `${'5'.repeat(43)}`,
    previousBlockhash: '6'.repeat(43),
    parentSlot: alone.slot - 3,
    blockTime: 1_777_143_237,
    transactions: [alone],
  }
  const texts: Readonly<Record<string, string>> = {
    alone: JSON.stringify({ getTransaction: alone }),
    block: JSON.stringify(block),
  }
  const source = await recordedSource({
    chain: CHAINS.sol,
    files: ['alone', 'block'],
    log: makeSilentLogger(),
    readFile: async (file) => texts[file] ?? '',
  })
  const [first, ...rest] = await all(source)
  assert.ok(first?.op === 'apply')
  assert.deepEqual(
    rest.map(({ op }) => op),
    ['finalize'],
  )
  assert.equal(first.block.hash, block.blockhash)
  assert.equal(first.block.transactions.length, 1)
})

test('a replay delivers webhooks for blocks of every age, unless the operator sets one', () => {
  assert.equal(replayConfig({}, {}).webhookMaxEventAgeSeconds, 0)
  const set = { WEBHOOK_MAX_EVENT_AGE_SECONDS: '60' }
  assert.equal(replayConfig({}, set).webhookMaxEventAgeSeconds, 60)
  const { port, dataDir } = replayConfig({ port: '9000', data: 'd' }, {})
  assert.deepEqual([port, dataDir], [9_000, 'd'])
})
