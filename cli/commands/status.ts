import { loadConfig } from '../../core/config/load.ts'
import type { Config } from '../../core/config/settings.ts'
import { pause } from '../../core/retry.ts'
import { fetchOps, findOpsUrl, noProcessError } from '../app/ops-client.ts'
import { type StatusReport, statusLines, statusReport } from '../app/status-report.ts'
import { withInfra } from '../app/with-infra.ts'

/** Options that every command for operators has. */
export interface OperatorOptions {
  readonly data?: string
  /** Address of a process' operators' port. */
  readonly ops?: string
  readonly json?: boolean
}

/** Options of `sluice status`. */
export interface StatusOptions extends OperatorOptions {
  readonly watch?: boolean
}

/** What a command works with beside its words. */
export interface CommandContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly write: (text: string) => void
  /** Shows a text in place of what was shown before; default: as `write`. */
  readonly show?: (text: string) => void
  readonly signal: AbortSignal
}

const WATCH_MS = 2_000

/** Prints how far every chain and lane is, of the process that runs or else of what lies in the folder. Returns the exit code. */
export const status = async (words: StatusOptions, context: CommandContext): Promise<number> => {
  const { environment, write, signal, show = write } = context
  const config = loadConfig(environment, { dataDir: words.data })
  for (;;) {
    const report = await readReport(words, config)
    const text = words.json ? JSON.stringify(report) : statusLines(report).join('\n')
    if (words.watch && !words.json) show(text)
    else write(text)
    if (!words.watch) return 0
    await pause(WATCH_MS, signal).catch(() => undefined)
    if (signal.aborted) return 0
  }
}

const readReport = async (words: StatusOptions, config: Config): Promise<StatusReport> => {
  const url = findOpsUrl(words.ops, config.dataDir)
  const answer =
    url === undefined ? undefined : await fetchOps<StatusReport>(url, '/status', config)
  if (answer !== undefined) return answer
  if (words.ops !== undefined) throw noProcessError(words.ops)
  return withInfra(config, async (parts) =>
    statusReport({ ...parts, warehouse: await parts.warehouse(), nowMs: Date.now }),
  )
}
