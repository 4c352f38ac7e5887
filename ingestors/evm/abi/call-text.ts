import { cleanText } from '../../input/text.ts'
import { bytesIn } from './dynamic.ts'
import { wordCount } from './words.ts'

/** Longest answer that a name may have. */
const MAX_TEXT = 16_384
/** Bytes of an answer's text that are looked at; names of megabytes exist. */
const MAX_BYTES = 1_024

/** Text that a contract returned, ABI `string` or, of old tokens, `bytes32`, cleaned; null for anything else and for nothing. */
export const callText = (data: string, limit: number): string | null => {
  const bytes = stringBytes(data) ?? wordBytes(data)
  if (bytes === undefined) return null
  return cleanText(bytes.toString('utf8'), limit)
}

/** True where a contract gave a text of which nothing can be shown, or one that is too long to be a name. */
export const isUnreadable = (data: string): boolean => {
  if (wordCount(data) === 0 || /^0x0*$/.test(data.slice(0, 2 * MAX_BYTES))) return false
  if (data.length > 2 * MAX_TEXT) return true
  const bytes = stringBytes(data) ?? wordBytes(data)
  return bytes === undefined || (bytes.length > 0 && callText(data, 1) === null)
}

const stringBytes = (data: string): Buffer | undefined =>
  wordCount(data) < 2 ? undefined : bytesIn(data, 0, MAX_BYTES)

const wordBytes = (data: string): Buffer | undefined => {
  if (data.length !== 66) return undefined
  const bytes = Buffer.from(data.slice(2), 'hex')
  const end = bytes.indexOf(0)
  return end === -1 ? bytes : bytes.subarray(0, end)
}
