import { type Logger, pino } from 'pino'
import { makeRedactor } from './redact.ts'
import { escapeUnsafe } from './terminal.ts'

export type { Logger }

/**
 * The root logger: JSON lines on stderr. `secrets`: texts that are replaced wherever they appear in a line, also inside messages
 * and causes of other people's errors. Bind `role`, `chain` and the like once per part.
 */
export const makeRootLogger = (level: string, secrets: readonly string[] = []): Logger => {
  const scrub = makeRedactor(secrets)
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: ['token', 'authorization', 'apiKey', '["x-api-key"]', 'headers.authorization'],
        censor: '[redacted]',
      },
      hooks: { streamWrite: (line) => escapeUnsafe(scrub(line)) },
    },
    pino.destination({ fd: 2, sync: false }),
  )
}

/** A logger that says nothing: tests of parts whose lines are not the subject. */
export const makeSilentLogger = (): Logger => pino({ level: 'silent' })
