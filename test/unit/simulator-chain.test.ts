import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type EvmChain, FINAL_DEPTH, openChain } from '../../simulator/evm/chain.ts'
import { orphanedRangeAt } from '../../simulator/node/schedule.ts'
import { buildSimulatedEvmBlocks } from '../support/builders/simulated-evm-blocks.ts'
import { until } from '../support/until.ts'

const GENESIS_MS = 1_735_689_600_000
const SPEC = { seed: 5, ratePerSecond: 0.25, genesisMs: GENESIS_MS }

/** A chain with a clock that stands until it is moved. */
const open = async (
  height: number,
  options: { readonly reorgEvery?: number; readonly checkpointDir?: string } = {},
) => {
  const clock = { height }
  const chain = await openChain({
    spec: SPEC,
    nowMs: () => GENESIS_MS + clock.height * 12_000,
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

const hashesOf = async (chain: EvmChain): Promise<readonly string[]> => {
  const hashes: string[] = []
  for (let height = 0; height <= chain.head().height; height += 1)
    hashes.push((await chain.block(height))?.hash ?? '')
  return hashes
}

const folder = (): Promise<string> => mkdtemp(join(tmpdir(), 'chain-'))

test('simulated EVM chain: the same seed gives the same blocks, another seed others', () => {
  const text = (seed: number): string =>
    JSON.stringify(buildSimulatedEvmBlocks({ ...SPEC, seed }, 30).blocks, (_, value) =>
      typeof value === 'bigint' ? value.toString() : value,
    )
  const once = text(5)
  assert.ok(once.length > 100_000)
  assert.equal(text(5), once)
  assert.notEqual(text(6), once)
})

test('simulated EVM chain: a restart from a checkpoint gives the same chain as an uninterrupted run', async () => {
  const dir = await folder()
  const first = await open(300, { checkpointDir: dir })
  await first.chain.stop()
  assert.ok((await readdir(dir)).includes('state-256'))
  const second = await open(330, { checkpointDir: dir })
  const whole = await open(330)
  assert.deepEqual(await hashesOf(second.chain), await hashesOf(whole.chain))
  const old = await second.chain.block(40)
  assert.deepEqual(await second.chain.byHash(old?.hash ?? ''), old)
  const place = second.chain.producer.layout.ether(0)
  const [read, readWhole] = await Promise.all(
    [second, whole].map(async ({ chain }) => chain.read((await chain.block(40)) ?? chain.head())),
  )
  assert.equal(read?.(place), readWhole?.(place))
  await second.chain.stop()
  await whole.chain.stop()
  await rm(dir, { recursive: true })
})

test('simulated EVM chain: a damaged or foreign checkpoint is ignored', async () => {
  const dir = await folder()
  const first = await open(270, { checkpointDir: dir })
  const hash = first.chain.head().hash
  await first.chain.stop()
  const path = join(dir, 'state-256')
  const whole = await readFile(path, 'utf8')
  for (const broken of ['', whole.slice(0, -100), whole.replace('"seed":5', '"seed":6')]) {
    await writeFile(path, broken)
    const again = await open(270, { checkpointDir: dir })
    assert.equal(again.chain.head().hash, hash)
    await again.chain.stop()
  }
  await rm(dir, { recursive: true })
})

test('simulated EVM chain: scheduled reorgs are published and leave the canonical chain unchanged', async () => {
  const watched = await open(5, { reorgEvery: 6 })
  const seen: { height: number; hash: string; parentHash: string }[] = []
  watched.chain.onHead(({ height, hash, parentHash }) => seen.push({ height, hash, parentHash }))
  for (let height = 6; height <= 60; height += 1) await watched.moveTo(height)
  const calm = await open(60)
  const canonical = await hashesOf(calm.chain)
  const orphaned = seen.filter(({ height, hash }) => canonical[height] !== hash)
  assert.ok(orphaned.length >= 8, `${orphaned.length} orphaned blocks`)
  for (let height = 6; height <= 60; height += 1) {
    const due = orphanedRangeAt(SPEC.seed, 6, height) !== undefined
    assert.equal(
      orphaned.some((block) => block.height === height),
      due,
    )
  }
  const byHash = new Set([...canonical, ...seen.map(({ hash }) => hash)])
  for (const { parentHash } of seen) assert.ok(byHash.has(parentHash))
  const isDue = orphanedRangeAt(SPEC.seed, 6, 60) !== undefined
  if (!isDue) assert.deepEqual(await hashesOf(watched.chain), canonical)
  await watched.chain.stop()
  await calm.chain.stop()
})

test('simulated EVM chain: a requested reorg lasts until the next block', async () => {
  const { chain, moveTo } = await open(80)
  const before = await hashesOf(chain)
  const heads: number[] = []
  chain.onHead(({ height }) => heads.push(height))
  chain.reorg(7)
  await until(() => heads.length === 7, 'seven other blocks')
  const during = await hashesOf(chain)
  assert.deepEqual(during.slice(0, 74), before.slice(0, 74))
  for (let height = 74; height <= 80; height += 1) assert.notEqual(during[height], before[height])
  const lost = await chain.byHash(before[80] ?? '')
  assert.equal(lost?.height, 80)
  assert.equal(lost !== undefined && chain.isOnShow(lost), false)
  const other = chain.head()
  const place = chain.producer.layout.surplus
  assert.equal((await chain.read(other))(place), other.writes.get(place))
  await moveTo(81)
  assert.deepEqual((await hashesOf(chain)).slice(0, 81), before)
  assert.deepEqual(heads, [74, 75, 76, 77, 78, 79, 80, 74, 75, 76, 77, 78, 79, 80, 81])
  for (const depth of [0, -1, 1.5, FINAL_DEPTH, Number.NaN])
    assert.throws(() => chain.reorg(depth), RangeError)
  await chain.stop()
})

test('scheduled forks never overlap and are at most five blocks deep', () => {
  for (const every of [1, 2, 3, 7, 50]) {
    let count = 0
    for (let height = 0; height < 2_000; height += 1) {
      const due = orphanedRangeAt(9, every, height)
      if (due === undefined) continue
      assert.ok(due.to - due.from < 5 && due.from <= height && height <= due.to)
      if (height === due.to) count += 1
      const after = orphanedRangeAt(9, every, due.to + 1)
      assert.ok(after === undefined || after.from === due.to + 1)
    }
    assert.ok(Math.abs(count - 1_990 / every) <= 1, `${count} forks for one in ${every}`)
  }
})
