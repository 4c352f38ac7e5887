import { existsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A program of Solana's network in the folder that SLUICE_SOLANA_PROGRAMS names (`npm run drill -- solana-programs FOLDER`); undefined: it is
 * not there, and what needs it is not run.
 */
export const programFile = (name: string): string | undefined => {
  const folder = process.env.SLUICE_SOLANA_PROGRAMS ?? ''
  const path = join(folder, name)
  return folder !== '' && existsSync(path) ? path : undefined
}
