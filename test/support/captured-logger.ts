import { type Logger, makeSilentLogger } from '../../core/ops/logger.ts'

/** One line of a log: its message and facts. */
export interface LogLine {
  readonly message: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** A logger whose lines of level info and above are kept; children write to the same list. */
export const createCapturedLogger = (): {
  readonly log: Logger
  readonly lines: readonly LogLine[]
} => {
  const lines: LogLine[] = []
  const keep = (facts: object, message: string): void => {
    lines.push({ message, facts: { ...facts } })
  }
  const log: Logger = Object.assign(Object.create(makeSilentLogger()) as Logger, {
    info: keep,
    warn: keep,
    error: keep,
    fatal: keep,
    child: () => log,
  })
  return { log, lines }
}
