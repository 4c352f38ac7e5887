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
  // Each waits for a file that another one writes while both run.
  ...Object.fromEntries(
    ['first', 'second', 'third'].map((name, index, all) => [
      name,
      `import { existsSync, writeFileSync } from 'node:fs'
       const { FOLDER } = process.env
       writeFileSync(FOLDER + '/${name}', '')
       test('${name}', { timeout: 60_000 }, async () => {
         while (!existsSync(FOLDER + '/${all[(index + 1) % all.length]}'))
           await new Promise((resolve) => setTimeout(resolve, 20))
       })`,
    ]),
  ),
  'is-alone': `import { existsSync, readdirSync } from 'node:fs'
       test('alone', () => {
         if (readdirSync(process.env.FOLDER).filter((name) => name.startsWith('runs-')).length > 0)
           throw new Error('another file runs')
       })`,
  runs: `import { rmSync, writeFileSync } from 'node:fs'
       const mark = process.env.FOLDER + '/runs-' + process.pid
       writeFileSync(mark, '')
       test('runs', () => new Promise((resolve) => setTimeout(resolve, 1_000)))
       process.once('exit', () => rmSync(mark))`,
  'prints-much': "process.stdout.write('x'.repeat(5_000_000)); test('five', () => undefined)",
}

/** Names of files by when they are run. */
interface Names {
  readonly together?: readonly string[]
  readonly waiting?: readonly string[]
  readonly alone?: readonly string[]
}

const runNames = async ({ together = [], waiting = [], alone = [] }: Names, limitMs?: number) => {
  let printed = ''
  let isPassed = false
  await withTempFolder(async (folder) => {
    const write = (names: readonly string[]) =>
      names.map((name) => {
        const path = join(folder, `${name}.test.mjs`)
        writeFileSync(path, `import { test } from 'node:test'\n${FILES[name]}\n`)
        return { path, words: ['--test-force-exit'], environment: { FOLDER: folder } }
      })
    const print = (text: string): void => {
      printed += text
    }
    const files = { together: write(together), waiting: write(waiting), alone: write(alone) }
    const options = { width: 2, cwd: process.cwd(), print }
    const failed = await runFiles(files, limitMs === undefined ? options : { ...options, limitMs })
    isPassed = failed.length === 0
  })
  return { isPassed, printed }
}

test('the file runner passes files that pass, also one that prints half a message of the runner, and counts their tests', async () => {
  const { isPassed, printed } = await runNames({ together: ['passes', 'prints-half', 'passes'] })
  assert.ok(isPassed, printed)
  assert.match(printed, /tests [2-3], pass [2-3], fail 0/)
})

test('a file that fails is reported once more at the end', async () => {
  const { isPassed, printed } = await runNames({ together: ['fails', 'passes'] })
  assert.ok(!isPassed)
  assert.match(printed, /pass 1, fail 1/)
  assert.match(printed, /fail 1,.*fails\.test\.mjs\n✖ failing tests:.*it broke/s)
})

test('the file runner fails a file that is killed or does not end in time, and prints the reason', async () => {
  const killed = await runNames({ together: ['is-killed'] })
  assert.ok(!killed.isPassed)
  assert.match(killed.printed, /is-killed\.test\.mjs was ended by SIGKILL/)
  const late = await runNames({ alone: ['hangs'] }, 2_000)
  assert.ok(!late.isPassed)
  assert.match(late.printed, /has not ended within 2 s and was killed/)
})

test('the file runner keeps the first and the last part of a long output', async () => {
  const { isPassed, printed } = await runNames({ together: ['prints-much'] })
  assert.ok(isPassed)
  assert.match(printed, /\d+ bytes left out/)
  assert.ok(printed.length < 4_000_000)
  assert.match(printed, /✔ five/)
})

test('a file that waits much runs beside as many others as there are cores', async () => {
  const { isPassed, printed } = await runNames({
    together: ['first', 'second'],
    waiting: ['third'],
  })
  assert.ok(isPassed, printed)
})

test('a file that runs alone runs when all others have ended', async () => {
  const { isPassed, printed } = await runNames({
    together: ['runs'],
    waiting: ['runs', 'passes'],
    alone: ['is-alone'],
  })
  assert.ok(isPassed, printed)
  assert.match(printed, /alone/)
})
