import type { LogRecord } from '../../core/bus/contract.ts'
import type { Codec } from '../../core/codec/contract.ts'
import { InvalidInput } from '../../core/errors.ts'
import type { Logger } from '../../core/ops/logger.ts'
import type { Messages } from '../../schemas/wire.ts'

/** A record of a control topic; null = it ends its row, undefined = cannot be read and is logged: the value before it stays in force. */
export const decodeControlRecord = <Name extends keyof Messages & `control.${string}`>(
  { codec, log }: { readonly codec: Codec; readonly log: Logger },
  name: Name,
  { topic, key, value, offset }: LogRecord,
): Messages[Name] | null | undefined => {
  if (value === null) return null
  try {
    return codec.decode(name, value)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    log.error({ err: error, topic, key, offset }, 'skipped invalid control record')
    return undefined
  }
}
