import type { SvmInstruction } from '../../../schemas/events.ts'

const DATA = 'Program data: '
const RETURN = 'Program return: '

/** Bytes that an instruction logged itself, in the order in which it logged them. */
export const loggedData = ({ logs }: SvmInstruction): readonly Buffer[] =>
  logs.flatMap((line) =>
    line.startsWith(DATA) ? [Buffer.from(line.slice(DATA.length), 'base64')] : [],
  )

/** Bytes that an instruction answered its caller, as the log has them; undefined where there is no answer or the log was cut. */
export const returnedData = ({ logs, program }: SvmInstruction): Buffer | undefined => {
  const start = `${RETURN}${program} `
  const line = logs.findLast((each) => each.startsWith(start))
  return line === undefined ? undefined : Buffer.from(line.slice(start.length), 'base64')
}
