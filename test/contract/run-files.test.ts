import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runFiles } from '../support/run-files.ts'
import { withTempFolder } from '../support/temp-folder.ts'

const FILES: Readonly<Record<string, string>> = {
  passes: "test('one', () => undefined)",
  fails: "test('two', () => { throw new Error('it broke') })",
  hangs: "test('three', () => new Promise((resolve) => setTimeout(resolve, 60_000)))",
  'is-killed': "test('four', () => process.kill(process.pid, 'SIGKILL'))",
  // The header of a message of the runner's own format, and less than it says that follows.
  'prints-half': 'process.stdout.write(Buffer.from([0xff, 0x0f, 0, 0, 1, 0, 1, 2]))',
  'prints-much': "process.stdout.write('x'.repeat(5_000_000)); test('five', () => undefined)",
}

const runNames = async (names: readonly string[], limitMs?: number) => {
  let printed = ''
  let isPassed = false
  await withTempFolder(async (folder) => {
    const files = names.map((name) => {
      const file = join(folder, `${name}.test.mjs`)
      writeFileSync(file, `import { test } from 'node:test'\n${FILES[name]}\n`)
      return file
    })
    const print = (text: string): void => {
      printed += text
    }
    const words = ['--test-force-exit']
    const options = { width: 2, cwd: process.cwd(), words, print }
    isPassed = await runFiles(files, limitMs === undefined ? options : { ...options, limitMs })
  })
  return { isPassed, printed }
}

test('the file runner passes files that pass, also one that prints half a message of the runner, and counts their tests', async () => {
  const { isPassed, printed } = await runNames(['passes', 'prints-half', 'passes'])
  assert.ok(isPassed, printed)
  assert.match(printed, /tests [2-3], pass [2-3], fail 0/)
})

test('a file that fails is reported once more at the end', async () => {
  const { isPassed, printed } = await runNames(['fails', 'passes'])
  assert.ok(!isPassed)
  assert.match(printed, /pass 1, fail 1/)
  assert.match(printed, /fail 1,.*fails\.test\.mjs\n✖ failing tests:.*it broke/s)
})

test('the file runner fails a file that is killed or does not end in time, and prints the reason', async () => {
  const killed = await runNames(['is-killed'])
  assert.ok(!killed.isPassed)
  assert.match(killed.printed, /is-killed\.test\.mjs was ended by SIGKILL/)
  const late = await runNames(['hangs'], 2_000)
  assert.ok(!late.isPassed)
  assert.match(late.printed, /has not ended within 2 s and was killed/)
})

test('the file runner keeps the first and the last part of a long output', async () => {
  const { isPassed, printed } = await runNames(['prints-much'])
  assert.ok(isPassed)
  assert.match(printed, /\d+ bytes left out/)
  assert.ok(printed.length < 4_000_000)
  assert.match(printed, /✔ five/)
})
