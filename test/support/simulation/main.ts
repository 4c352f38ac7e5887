/**
 * `npm run drill -- schedules [COUNT [SEED]]`, `--seed SEED` for one alone: schedules of crashes, zombies, lost answers, reorgs
 * and redeliveries against the product's own code on a simulated bus, in simulated time. One process for each processor takes
 * every so manieth seed; what a schedule does follows from its seed alone.
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createScheduleRunner, type ScheduleReport } from './run-schedules.ts'

/** What the schedules of one process came to. */
interface ProcessResult {
  readonly failed: number
  readonly cpuMs: number
  readonly totals: Readonly<Record<string, number>>
}

const MAX_SHOWN = 10
const MAX_LINE_LENGTH = 600

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, step: { type: 'string', default: '1' } },
})
const [countText = '5000', firstText = '1'] = positionals
const count = values.seed === undefined ? Number(countText) : 1
const first = Number(values.seed ?? firstText)
const step = Number(values.step)
if (![count, first, step].every(Number.isSafeInteger) || count < 1 || step < 1) {
  console.error('npm run drill -- schedules [COUNT [SEED]] [--seed SEED]')
  process.exit(2)
}

const printReport = ({ seed, problems, fired }: ScheduleReport): void => {
  const lines = [
    `failed: npm run drill -- schedules --seed ${seed}`,
    ...problems.slice(0, MAX_SHOWN).map((problem) => `  ${problem.slice(0, MAX_LINE_LENGTH)}`),
    ...fired.map((fault) => `    ${fault}`),
  ]
  console.log(lines.join('\n'))
}

/** Runs so many seeds in this process, one after the other. */
const runInProcess = async (): Promise<ProcessResult> => {
  const { run, totals } = createScheduleRunner()
  let failed = 0
  for (let done = 0; done < count; done += 1) {
    const report = await run(first + done * step)
    if (values.seed !== undefined) console.log(JSON.stringify(report, null, 1))
    if (report.problems.length === 0) continue
    failed += 1
    if (failed <= MAX_SHOWN) printReport(report)
  }
  const { user, system } = process.cpuUsage()
  return { failed, cpuMs: (user + system) / 1e3, totals: totals() }
}

/** Gives every so manieth seed to a process of its own. */
const runInChildren = (processes: number): Promise<readonly ProcessResult[]> =>
  Promise.all(
    Array.from({ length: processes }, (_, index) => {
      const own = Math.ceil((count - index) / processes)
      const words = [own, first + index, '--step', processes].map(String)
      const child = fork(fileURLToPath(import.meta.url), words, { execArgv: process.execArgv })
      return new Promise<ProcessResult>((resolve, reject) => {
        child.once('message', (share) => resolve(share as ProcessResult))
        child.once('error', reject)
        child.once('exit', (code) => reject(new Error(`a process of the drill ended: ${code}`)))
      })
    }),
  )

const sumTotals = (shares: readonly ProcessResult[]): Readonly<Record<string, number>> => {
  const sums: Record<string, number> = {}
  for (const { totals } of shares) {
    for (const [name, number] of Object.entries(totals)) sums[name] = (sums[name] ?? 0) + number
  }
  return sums
}

const main = async (): Promise<boolean> => {
  const beganAt = process.hrtime.bigint()
  const processes = Math.min(count, availableParallelism())
  const shares = processes > 1 ? await runInChildren(processes) : [await runInProcess()]
  const ms = Number(process.hrtime.bigint() - beganAt) / 1e6
  const failed = shares.reduce((sum, share) => sum + share.failed, 0)
  const cpuMs = shares.reduce((sum, share) => sum + share.cpuMs, 0)
  const each = (sum: number): number => Math.round((10 * sum) / count) / 10
  const times = { seconds: Math.round(ms / 1e3), msEach: each(ms), cpuMsEach: each(cpuMs) }
  console.log(JSON.stringify({ schedules: count, failed, ...times, ...sumTotals(shares) }))
  return failed === 0
}

const end = (error: unknown): never => {
  console.error(error)
  process.exit(1)
}

const { send } = process
if (send === undefined) main().then((isGood) => process.exit(isGood ? 0 : 1), end)
else runInProcess().then((share) => send.call(process, share, () => process.exit(0)), end)
