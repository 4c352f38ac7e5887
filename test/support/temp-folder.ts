import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Runs a test in a temporary folder of its own and removes it, however the test ends. */
export const withTempFolder = async (work: (path: string) => Promise<void>): Promise<void> => {
  const path = mkdtempSync(join(tmpdir(), 'sluice-test-'))
  try {
    await work(path)
  } finally {
    rmSync(path, { recursive: true, force: true })
  }
}
