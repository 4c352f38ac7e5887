import type { SvmInstruction } from '../../../schemas/events.ts'

const DATA_PREFIX = 'Program data: '
const RETURN_PREFIX = 'Program return: '

/** Bytes that an instruction logged itself, in the order in which it logged them. */
export const programData = ({ logs }: SvmInstruction): readonly Buffer[] =>
  logs.flatMap((line) =>
    line.startsWith(DATA_PREFIX) ? [Buffer.from(line.slice(DATA_PREFIX.length), 'base64')] : [],
  )

/** Bytes that an instruction answered its caller, as the log has them; undefined where there is no answer or the log was cut. */
export const programReturnData = ({ logs, program }: SvmInstruction): Buffer | undefined => {
  const start = `${RETURN_PREFIX}${program} `
  const line = logs.findLast((each) => each.startsWith(start))
  return line === undefined ? undefined : Buffer.from(line.slice(start.length), 'base64')
}
