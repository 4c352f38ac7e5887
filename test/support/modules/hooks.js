/** How Node resolves and loads modules in a test run. Runs in a thread of Node's own. */
import { readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { PACKAGES_FILE, ROOT, readPrepared } from './prepared.js'

const ROOT_URL = pathToFileURL(ROOT).href
const PACKAGES_URL = `${ROOT_URL}node_modules/`
const PREPARED_PACKAGES = JSON.parse(readFileSync(PACKAGES_FILE, 'utf8'))

/** tsx would load what is prepared once more. */
const TSX = new Set(['tsx', 'tsx/esm/api'])
const NO_TSX = 'data:text/javascript,export const register=()=>undefined'

const isOurs = (url) => url?.startsWith(ROOT_URL) === true && !url.startsWith(PACKAGES_URL)

export const resolve = (specifier, context, next) => {
  const { parentURL } = context
  if (!isOurs(parentURL)) return next(specifier, context)
  if (TSX.has(specifier)) return { url: NO_TSX, format: 'module', shortCircuit: true }
  const url = specifier.startsWith('.')
    ? specifier.endsWith('.ts') && new URL(specifier, parentURL).href
    : PREPARED_PACKAGES[specifier]
  return url ? { url, format: 'module', shortCircuit: true } : next(specifier, context)
}

export const load = async (url, context, next) => {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context)
  const path = fileURLToPath(url)
  const source =
    (isOurs(url) ? readPrepared(path) : undefined) ??
    (await (await import('./transform.js')).transformSource(path))
  return { format: 'module', source, shortCircuit: true }
}
