/**
 * Writes the generated files: `npm run generate`, in seconds. `npm run generate -- all` also starts the product, for the examples of
 * the API document and for `docs/compatibility.md`: minutes, and the latter needs Python and its package index.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MODULE_TABLES } from './module-tables.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FROM_RUNS = ['write-examples.ts', 'write-compatibility.ts']

const [word, ...others] = process.argv.slice(2)
if (others.length > 0 || (word !== undefined && word !== 'all')) {
  console.error(`npm run generate [-- all]: unknown argument ${JSON.stringify(word)}`)
  process.exit(2)
}
const write = async (files: Readonly<Record<string, () => string | Promise<string>>>) => {
  for (const [path, content] of Object.entries(files)) {
    writeFileSync(join(ROOT, path), await content())
  }
}
await write(MODULE_TABLES)
// After the tables of modules: the pages are made of what these list.
const { GENERATED_FILES } = await import('./generated-files.ts')
await write(GENERATED_FILES)
for (const script of word === 'all' ? FROM_RUNS : []) {
  const path = join(ROOT, 'test/support', script)
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', path], { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}
