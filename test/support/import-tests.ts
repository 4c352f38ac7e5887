import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const TESTS = fileURLToPath(new URL('../', import.meta.url))

/** Tiers whose files need no process of their own. */
const TIERS = (process.env.SLUICE_TIERS ?? 'unit').split(',')

/**
 * Imports every second test file of the pure tiers, from `first` on, into this process: loading the product once for all of
 * them takes a fraction of loading it for each.
 */
export const importTests = async (first: 0 | 1): Promise<void> => {
  const files = TIERS.flatMap((tier) =>
    readdirSync(`${TESTS}${tier}`)
      .filter((name) => name.endsWith('.test.ts'))
      .sort()
      .map((name) => `../${tier}/${name}`),
  )
  const mine = files.filter((_, index) => index % 2 === first)
  let imported = 0
  process.once('exit', () => {
    if (imported === mine.length) return
    console.error(`only ${imported} of ${mine.length} test files were run`)
    process.exitCode = 1
  })
  for (const file of mine) {
    await import(file)
    imported += 1
  }
}
