import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { UWS_BINARIES } from '../../schemas/uws-binaries.ts'

/** File name of the binary that `uWebSockets.js` loads into a process of this kind. */
export const uwsBinaryName = ({ platform, arch, versions }: NodeJS.Process = process): string =>
  `uws_${platform}_${arch}_${versions.modules}.node`

const uwsPackageFolder = (): string =>
  dirname(createRequire(import.meta.url).resolve('uWebSockets.js'))

/**
 * Throws Error when the binary for this process is missing, or is not the one that this build was made with: native code is
 * checked before it runs.
 */
export const verifyUwsBinary = (
  name = uwsBinaryName(),
  folder = uwsPackageFolder(),
  known = UWS_BINARIES,
): void => {
  const expected = known[name]
  if (expected === undefined)
    throw new Error(`no known checksum for the uWebSockets.js binary ${name}`)
  const actual = createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('hex')
  if (actual !== expected) {
    throw new Error(`${name} has SHA-256 ${actual}, expected ${expected}: reinstall the packages`)
  }
}
