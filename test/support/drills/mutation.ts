/**
 * Mutation testing. `mutation.json` says which files and tests; it names no tsconfig on purpose: Stryker rewrites one through the
 * API of the compiler, which this version of the compiler does not have, and nothing here needs it rewritten.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { exceededSurvivors, type KnownSurvivors, type MutationReport } from './survivors.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const STRYKER = ['@stryker-mutator/core@8.7.1', '@stryker-mutator/tap-runner@8.7.1']

const readJson = <Content>(path: string): Content =>
  JSON.parse(readFileSync(new URL(path, `file://${ROOT}`), 'utf8')) as Content

const succeeds = (command: string, words: readonly string[]): boolean =>
  spawnSync(command, words, { cwd: ROOT, stdio: 'inherit' }).status === 0

/** Runs Stryker over the files, or over all of `mutation.json`. 1 where more mutants survive than `known-survivors.json` explains. */
export const runMutation = (files: readonly string[]): number => {
  // Two hundred packages that nothing else needs: they are not installed with the others.
  const install = ['install', '--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
  if (!succeeds('npm', [...install, ...STRYKER])) return 1
  const mutate = files.length === 0 ? [] : ['--mutate', files.join(',')]
  const stryker = ['node_modules/@stryker-mutator/core/bin/stryker.js', 'run']
  const config = 'test/support/drills/mutation.json'
  if (!succeeds(process.execPath, [...stryker, config, ...mutate])) return 1
  const known = readJson<KnownSurvivors>('test/support/drills/known-survivors.json')
  const exceeded = exceededSurvivors(readJson<MutationReport>('.data/mutation/report.json'), known)
  for (const line of exceeded) console.error(line)
  return exceeded.length === 0 ? 0 : 1
}
