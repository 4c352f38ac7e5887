import { createHash, randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import pLimit from 'p-limit'
import { PACKAGES_FILE, PREPARED, preparedPath, ROOT, readPrepared } from './prepared.js'
import { transformSource } from './transform.js'

const SOURCE_FOLDERS = [
  'schemas',
  'core',
  'ingestors',
  'processors',
  'serving',
  'simulator',
  'cli',
  'bench',
  'test',
]
/** Packages of hundreds of small modules, and those that share them: `typebox` has 683, of which every process would load each. */
const PACKAGES = [
  '@fastify/type-provider-typebox',
  '@marcbachmann/cel-js',
  '@x402/evm',
  'jose',
  'typebox',
  'viem',
]
/** Loaded as they are: others than these packages load them too, and none may be there twice. */
const SHARED_PACKAGES = ['@x402/core', '@x402/core/*', 'fastify', 'ws']
const SIDE_BY_SIDE = 32

const PRELOAD = new URL('./register.js', import.meta.url).href
const IMPORT = /(?:from|import\()\s*'([^'.][^']*)'/g

/** For NODE_OPTIONS of a process that is to load what was prepared. */
export const PREPARED_MODULES_OPTION = `--import=${PRELOAD}`

const writeAtomically = (path: string, text: string, modifiedMs = Date.now()): void => {
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${randomUUID()}`
  writeFileSync(draft, text)
  utimesSync(draft, modifiedMs / 1_000, modifiedMs / 1_000)
  renameSync(draft, path)
}

const prepareSource = async (path: string): Promise<void> => {
  const { mtimeMs } = statSync(path)
  if (readPrepared(path) === undefined)
    writeAtomically(preparedPath(path), await transformSource(path), mtimeMs)
}

const isOfPackages = (specifier: string): boolean =>
  PACKAGES.some((name) => specifier === name || specifier.startsWith(`${name}/`))

/** The names that sources import of the packages. */
const importedNames = (sources: readonly string[]): readonly string[] => {
  const names = sources.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(IMPORT)].map((match) => match[1] ?? ''),
  )
  return [...new Set(names.filter(isOfPackages))].toSorted()
}

/** One file for each name, and files for what they share, in a folder that is named by what they are made of. */
const preparePackages = async (names: readonly string[]): Promise<void> => {
  const lock = readFileSync(join(ROOT, 'package-lock.json'))
  const settings = JSON.stringify([names, SHARED_PACKAGES])
  const key = createHash('sha256').update(lock).update(settings).digest('hex').slice(0, 16)
  const folder = join(PREPARED, `packages-${key}`)
  const fileName = (name: string): string => name.replaceAll('/', '+')
  if (!existsSync(folder)) {
    const draft = `${folder}.${randomUUID()}`
    await build({
      entryPoints: Object.fromEntries(names.map((name) => [fileName(name), name])),
      outdir: draft,
      outExtension: { '.js': '.mjs' },
      absWorkingDir: ROOT,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'esnext',
      minifyWhitespace: true,
      legalComments: 'none',
      external: SHARED_PACKAGES,
      logLevel: 'warning',
    })
    try {
      renameSync(draft, folder)
    } catch (error) {
      if (!existsSync(folder)) throw error
    }
  }
  const url = (name: string): string => pathToFileURL(join(folder, `${fileName(name)}.mjs`)).href
  const urls = Object.fromEntries(names.map((name) => [name, url(name)]))
  writeAtomically(PACKAGES_FILE, JSON.stringify(urls))
}

/**
 * Prepares what the processes of a test run load: JavaScript of every source, and large packages as few files. What has not
 * changed since the last run stays. Throws where a source cannot be parsed.
 */
export const prepareModules = async (): Promise<void> => {
  const sources = SOURCE_FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!\.d)\.ts$/.test(name) && !name.includes('node_modules'))
      .map((name) => join(ROOT, folder, name)),
  )
  const limit = pLimit(SIDE_BY_SIDE)
  await Promise.all(sources.map((path) => limit(() => prepareSource(path))))
  await preparePackages(importedNames(sources))
}
