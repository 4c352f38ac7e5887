import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The repository, with a `/` at its end. */
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** What prepares: its version and its settings. Others leave what it made untouched. */
const MAKER = createHash('sha256')
  .update(readFileSync(new URL('transform.js', import.meta.url)))
  .update(readFileSync(new URL('prepare.ts', import.meta.url)))
  .update(readFileSync(`${ROOT}node_modules/esbuild/package.json`))
  .digest('hex')
  .slice(0, 16)

/** Where a test run keeps what it prepared; beneath the packages, because prepared packages import others from there. */
export const PREPARED = `${ROOT}node_modules/.cache/sluice-tests/${MAKER}/`

/** JSON: addresses of prepared packages by the name that they are imported with. */
export const PACKAGES_FILE = `${PREPARED}packages.json`

/** Times of files are written with less precision than they are read, milliseconds. */
const TIME_PRECISION_MS = 2

/** Where the JavaScript of a source lies. Takes and gives a path; the source's is absolute and within the repository. */
export const preparedPath = (source) => `${PREPARED}sources/${source.slice(ROOT.length)}.js`

/** The JavaScript of a source, undefined where it was not prepared or the source has changed since. */
export const readPrepared = (source) => {
  const prepared = preparedPath(source)
  const made = statSync(prepared, { throwIfNoEntry: false })
  if (made === undefined) return undefined
  const isCurrent = Math.abs(made.mtimeMs - statSync(source).mtimeMs) < TIME_PRECISION_MS
  return isCurrent ? readFileSync(prepared, 'utf8') : undefined
}
