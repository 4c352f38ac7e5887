import { Fault } from '../../core/errors.ts'

/**
 * Bytes of all lists within a transaction: access list and authorizations. Most wallets send none; some 700 addresses, 480 storage keys or 170
 * authorizations fit. Reading an address takes as long as reading hundreds of bytes of data.
 */
const MAX_LIST_BYTES = 16_384
/** Most fields of a transaction. Source: EIP-7702, with its signature. */
const MAX_FIELDS = 13
/** First bytes of strings and lists: short, and with a length of so many bytes. Source: Ethereum yellow paper, appendix B. */
const [SHORT_STRING, LONG_STRING, SHORT_LIST, LONG_LIST] = [0x80, 0xb7, 0xc0, 0xf7] as const

interface Item {
  readonly isList: boolean
  /** Of what follows the item. */
  readonly end: number
  /** Of its content. */
  readonly start: number
}

/** The item at a place; undefined where there is none, or its length exceeds the bytes that are left. */
const itemAt = (bytes: Buffer, at: number): Item | undefined => {
  const first = bytes[at]
  if (first === undefined) return undefined
  const isList = first >= SHORT_LIST
  if (first < SHORT_STRING) return { isList, start: at, end: at + 1 }
  const [short, long] = isList ? [SHORT_LIST, LONG_LIST] : [SHORT_STRING, LONG_STRING]
  const digits = Math.max(0, first - long)
  if (digits > 4 || at + 1 + digits > bytes.length) return undefined
  const start = at + 1 + digits
  const end = start + (digits === 0 ? first - short : bytes.readUIntBE(at + 1, digits))
  return end > bytes.length ? undefined : { isList, start, end }
}

/**
 * Whether bytes can be a transaction: a list of few fields, within which lists are short. It looks at the beginnings of the fields only.
 * Throws `Fault` TRANSACTION_SIZE_EXCEEDED where the lists are not short.
 */
export const hasTransactionShape = (bytes: Buffer): boolean => {
  const isTyped = (bytes[0] ?? 0) < SHORT_STRING
  const whole = itemAt(bytes, isTyped ? 1 : 0)
  if (!whole?.isList || whole.end !== bytes.length) return false
  let listBytes = 0
  let at = whole.start
  for (let fields = 0; at < whole.end; fields += 1) {
    const field = itemAt(bytes, at)
    if (field === undefined || fields >= MAX_FIELDS) return false
    if (field.isList) listBytes += field.end - field.start
    at = field.end
  }
  if (listBytes <= MAX_LIST_BYTES) return at === whole.end
  const details = { parameter: 'access_list', size: listBytes, max_allowed: MAX_LIST_BYTES }
  throw new Fault('TRANSACTION_SIZE_EXCEEDED', undefined, details)
}
