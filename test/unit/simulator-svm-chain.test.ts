import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import type { SealedBlock } from '../../simulator/svm/blocks.ts'
import { FINAL_DEPTH, openChain, type SolanaChain } from '../../simulator/svm/chain.ts'
import { programLogsOf } from '../../simulator/svm/program-logs.ts'
import { SLOT_MS, slotAt } from '../../simulator/svm/slots.ts'
import {
  buildSimulatedSvmBlocks,
  toRpcTransactions,
} from '../support/builders/simulated-svm-blocks.ts'
import { until } from '../support/until.ts'

const GENESIS_MS = 1_735_689_600_000
const SPEC = { seed: 5, ratePerSecond: 0.5, genesisMs: GENESIS_MS }

/** A chain with a clock that stands until it is moved. */
const open = async (
  height: number,
  options: { readonly reorgEvery?: number; readonly checkpointDir?: string } = {},
) => {
  const clock = { height }
  const chain = await openChain({
    spec: SPEC,
    nowMs: () => GENESIS_MS + slotAt(SPEC.seed, clock.height) * SLOT_MS,
    reorgEvery: options.reorgEvery ?? 0,
    checkpointDir: options.checkpointDir,
    log: makeSilentLogger(),
  })
  const moveTo = async (to: number): Promise<void> => {
    clock.height = to
    await until(() => chain.head().height === to, `head ${to}`)
  }
  return { chain, moveTo }
}

const blocksOf = async (chain: SolanaChain): Promise<readonly SealedBlock[]> => {
  const blocks: SealedBlock[] = []
  for (let height = 0; height <= chain.head().height; height += 1) {
    const block = await chain.block(height)
    assert.ok(block)
    blocks.push(block)
  }
  return blocks
}

const linked = (blocks: readonly SealedBlock[]): void => {
  blocks.forEach((block, at) => {
    const parent = blocks[at - 1]
    if (parent === undefined) return
    assert.equal(block.parentHash, parent.hash)
    assert.equal(block.parentSlot, parent.slot)
    assert.ok(block.slot > parent.slot)
    assert.equal(block.timeMs, GENESIS_MS + block.slot * SLOT_MS)
  })
}

test('simulated Solana: the same seed gives the same blocks, another seed others', () => {
  const text = (seed: number): string => {
    const { blocks } = buildSimulatedSvmBlocks({ ...SPEC, seed }, 60)
    return JSON.stringify(blocks.map((block) => [block.hash, block.slot, toRpcTransactions(block)]))
  }
  const once = text(5)
  assert.ok(once.length > 200_000)
  assert.equal(text(5), once)
  assert.notEqual(text(6), once)
})

test('simulated Solana: a restart from a checkpoint gives the same chain as an uninterrupted run', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'chain-'))
  const first = await open(515, { checkpointDir: dir })
  await first.chain.stop()
  assert.ok((await readdir(dir)).includes('state-512'))
  const second = await open(530, { checkpointDir: dir })
  const whole = await open(530)
  const hashes = async (chain: SolanaChain) => (await blocksOf(chain)).map(({ hash }) => hash)
  assert.deepEqual(await hashes(second.chain), await hashes(whole.chain))
  const old = await second.chain.block(40)
  assert.deepEqual(
    toRpcTransactions(old ?? second.chain.head()),
    toRpcTransactions((await whole.chain.block(40)) ?? whole.chain.head()),
  )
  linked(await blocksOf(second.chain))
  await second.chain.stop()
  await whole.chain.stop()
  await rm(dir, { recursive: true })
})

test('simulated Solana: a reorg shows a branch whose slots continue from its parent, until the next block', async () => {
  const { chain, moveTo } = await open(80)
  const before = await blocksOf(chain)
  const slots: number[] = []
  chain.onHead(({ slot }) => slots.push(slot))
  chain.reorg(60)
  await until(() => slots.length === 60, 'sixty other blocks')
  const during = await blocksOf(chain)
  linked(during)
  assert.deepEqual(during.slice(0, 21), before.slice(0, 21))
  for (let height = 21; height <= 80; height += 1)
    assert.notEqual(during[height]?.hash, before[height]?.hash)
  assert.ok(
    during.some(({ slot }, height) => slot !== before[height]?.slot),
    'other slots too',
  )
  await moveTo(81)
  const after = await blocksOf(chain)
  linked(after)
  assert.deepEqual(
    after.slice(0, 81).map(({ hash }) => hash),
    before.map(({ hash }) => hash),
  )
  assert.equal(slots.length, 60 + 61)
  for (const depth of [0, -1, 1.5, FINAL_DEPTH, Number.NaN])
    assert.throws(() => chain.reorg(depth), RangeError)
  await chain.stop()
})

test('simulated Solana: scheduled reorgs leave the canonical chain unchanged', async () => {
  const watched = await open(5, { reorgEvery: 7 })
  const seen = new Set<string>()
  watched.chain.onHead(({ hash }) => seen.add(hash))
  for (let height = 6; height <= 40; height += 1) await watched.moveTo(height)
  const canonical = buildSimulatedSvmBlocks(SPEC, 40).blocks.map(({ hash }) => hash)
  const orphaned = [...seen].filter((hash) => !canonical.includes(hash))
  assert.ok(orphaned.length >= 4, `${orphaned.length} orphaned blocks`)
  linked(await blocksOf(watched.chain))
  await watched.chain.stop()
})

test('simulated Solana: trades follow the configured rate, and curves complete', () => {
  for (const [ratePerSecond, blocks] of [
    [2, 900],
    [40, 80],
  ] as const) {
    const made = buildSimulatedSvmBlocks({ ...SPEC, ratePerSecond }, blocks).blocks
    const lines = made
      .flatMap(({ transactions }) => transactions)
      .filter(({ failure }) => failure === undefined)
      .flatMap((tx) => programLogsOf(tx).lines)
    const trades = lines.filter((line) => /Instruction: (Buy|Sell)$|ray_log/.test(line)).length
    assert.ok(
      lines.includes('Program log: Instruction: Migrate'),
      `no migration at ${ratePerSecond}`,
    )
    const seconds = ((made.at(-1)?.slot ?? 0) * SLOT_MS) / 1_000
    const rate = trades / seconds
    assert.ok(Math.abs(rate / ratePerSecond - 1) < 0.1, `${rate} for ${ratePerSecond}`)
  }
})
