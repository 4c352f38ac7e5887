import { type Logger, pino } from 'pino'

export type { Logger }

/** The root logger: JSON lines on stderr, secrets redacted. Bind `role`, `chain` and the like once per part. */
export const rootLogger = (level: string): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: ['token', 'authorization', 'apiKey', '["x-api-key"]', 'headers.authorization'],
        censor: '[redacted]',
      },
    },
    pino.destination({ fd: 2, sync: false }),
  )

/** A logger that says nothing: tests of parts whose lines are not the subject. */
export const silentLogger = (): Logger => pino({ level: 'silent' })
