import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const PROCESS = new URL('../../cli/app/process.ts', import.meta.url).href
const LOG = new URL('../../core/ops/logger.ts', import.meta.url).href

/** Exit status of a process in which that error is thrown where no node listens; it ends by itself with 7. */
const statusAfter = (error: string): number | null => {
  const script = `
    import { runProcess } from '${PROCESS}'
    import { makeSilentLogger } from '${LOG}'
    process.exitCode = await runProcess({ log: makeSilentLogger(), scrub: (text) => text }, ({ signal }) => new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(signal.reason.status))
      setImmediate(() => { setImmediate(() => resolve(7)); throw ${error} })
    }))`
  const words = ['--import', 'tsx', '--input-type=module', '--eval', script]
  return spawnSync(process.execPath, words, { encoding: 'utf8' }).status
}

test('a connection error without a listener does not end the process; any other error does', () => {
  for (const code of ['ECONNRESET', 'EPIPE']) {
    assert.equal(statusAfter(`Object.assign(new Error('gone'), { code: '${code}' })`), 7, code)
  }
  assert.equal(statusAfter(`new Error('a bug')`), 1)
  assert.equal(statusAfter(`Object.assign(new Error('full'), { code: 'ENOSPC' })`), 1)
})

test('a start that throws the reason of its aborted signal exits with the status of that reason', () => {
  const script = `
    import { runProcess } from '${PROCESS}'
    import { makeSilentLogger } from '${LOG}'
    process.exitCode = await runProcess({ log: makeSilentLogger(), scrub: (text) => text }, async ({ signal, end }) => {
      end(5, 'a reason')
      signal.throwIfAborted()
      return 7
    })`
  const words = ['--import', 'tsx', '--input-type=module', '--eval', script]
  assert.equal(spawnSync(process.execPath, words, { encoding: 'utf8' }).status, 5)
})
