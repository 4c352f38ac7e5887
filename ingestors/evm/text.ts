import { bytesIn } from '../protocols/dynamic.ts'
import { wordCount } from '../protocols/words.ts'
import { cleanText } from '../text.ts'

/** Bytes of an answer's text that are looked at; names of megabytes exist. */
const MAX_BYTES = 1_024

/** Text that a contract returned, ABI `string` or, of old tokens, `bytes32`, cleaned; null for anything else and for nothing. */
export const callText = (data: string, limit: number): string | null => {
  const bytes = stringBytes(data) ?? wordBytes(data)
  if (bytes === undefined) return null
  return cleanText(bytes.toString('utf8'), limit)
}

const stringBytes = (data: string): Buffer | undefined =>
  wordCount(data) < 2 ? undefined : bytesIn(data, 0, MAX_BYTES)

const wordBytes = (data: string): Buffer | undefined => {
  if (data.length !== 66) return undefined
  const bytes = Buffer.from(data.slice(2), 'hex')
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}
