import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEmbeddedBus } from '../../core/bus/embedded/bus.ts'
import type { CommitStep } from '../../core/bus/embedded/commit-queue.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { type ConsistencyReport, checkConsistency } from '../support/bus/crash-suite.ts'
import { withTempFolder } from '../support/temp-folder.ts'

const CHILD = join(import.meta.dirname, '../support/bus/crash-child.ts')
/** Kills from outside, at a time of their own. */
const ROUNDS = Number(process.env.SLUICE_CRASH_ROUNDS ?? 5)
const STEPS: readonly CommitStep[] = [
  'records',
  'final-records',
  'state',
  'offsets',
  'written',
  'durable',
]
/** Steps after which part of a commit would be seen if its writes were not one transaction. */
const TEARING: readonly CommitStep[] = ['final-records', 'state', 'offsets']

interface Crash {
  readonly path: string
  readonly step: CommitStep
  readonly killAt: number
  readonly mode: 'whole' | 'torn'
}

/** Runs the writer until it kills itself; returns how many blocks it said were acknowledged, then looks at the log. */
const crash = async ({
  path,
  step,
  killAt,
  mode,
}: Crash): Promise<ConsistencyReport & { acked: number }> => {
  const { stdout, signal, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', CHILD, path, step, String(killAt), mode],
    { encoding: 'utf8', timeout: 60_000 },
  )
  assert.equal(signal, 'SIGKILL', stderr)
  return { ...(await consistencyOf(path)), acked: ackedIn(stdout) }
}

const ackedIn = (stdout: string): number => {
  const last = stdout.trim().split('\n').at(-1)
  return last ? Number(last) + 1 : 0
}

const consistencyOf = async (path: string): Promise<ConsistencyReport> => {
  const log = makeSilentLogger()
  const bus = await openEmbeddedBus({ path, mapSizeBytes: 67_108_864, log, retention: 'off' })
  try {
    return await checkConsistency(bus)
  } finally {
    await bus.close()
  }
}

for (const step of STEPS) {
  test(`killed at "${step}": the commit is there as a whole or not at all, and the next run continues`, () =>
    withTempFolder(async (path) => {
      const first = await crash({ path, step, killAt: 3, mode: 'whole' })
      assert.equal(first.fault, undefined)
      assert.equal(first.acked, 3)
      assert.equal(first.blocks, step === 'durable' ? 4 : 3)
      const second = await crash({ path, step, killAt: 7, mode: 'whole' })
      assert.equal(second.fault, undefined)
      assert.equal(second.acked, 7)
      assert.equal(second.blocks, step === 'durable' ? 8 : 7)
    }))
}

for (const step of TEARING) {
  test(`killed at "${step}" without the transaction: the same check sees the torn commit`, () =>
    withTempFolder(async (path) => {
      const { fault } = await crash({ path, step, killAt: 3, mode: 'torn' })
      assert.notEqual(fault, undefined)
    }))
}

/** Runs the writer, kills it from outside once it has said `lines` blocks, wherever it is then. */
const killAfter = async (path: string, lines: number): Promise<number> => {
  const child = spawn(process.execPath, ['--import', 'tsx', CHILD, path, 'none', '-1', 'whole'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
    if (stdout.split('\n').length > lines) child.kill('SIGKILL')
  })
  await new Promise((resolve) => child.once('close', resolve))
  return ackedIn(stdout)
}

test('killed by SIGKILL, again and again: every acknowledged block is in the log exactly once', () =>
  withTempFolder(async (path) => {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const acked = await killAfter(path, 20 * (1 + (round % 10)))
      const { blocks, fault } = await consistencyOf(path)
      assert.equal(fault, undefined)
      assert.ok(blocks === acked || blocks === acked + 1, `${blocks} blocks, ${acked} acknowledged`)
    }
  }))
