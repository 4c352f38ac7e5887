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

/** One item of the encoding, by its places in the bytes. */
interface Item {
  readonly isList: boolean
  /** Of its first byte. */
  readonly at: number
  /** Of its content. */
  readonly start: number
  /** Of what follows the item. */
  readonly end: number
}

/** The item at a place; undefined where there is none, or its length exceeds the bytes that are left. */
const itemAt = (bytes: Buffer, at: number): Item | undefined => {
  const first = bytes[at]
  if (first === undefined) return undefined
  const isList = first >= SHORT_LIST
  if (first < SHORT_STRING) return { isList, at, start: at, end: at + 1 }
  const [short, long] = isList ? [SHORT_LIST, LONG_LIST] : [SHORT_STRING, LONG_STRING]
  const digits = Math.max(0, first - long)
  if (digits > 4 || at + 1 + digits > bytes.length) return undefined
  const start = at + 1 + digits
  const end = start + (digits === 0 ? first - short : bytes.readUIntBE(at + 1, digits))
  return end > bytes.length ? undefined : { isList, at, start, end }
}

/**
 * Fields of a transaction: of a list of few fields, within which lists are short; undefined where bytes cannot be one. It looks at the
 * beginnings of the fields only. Throws `Fault` TRANSACTION_SIZE_EXCEEDED where the lists are not short.
 */
export const transactionFields = (bytes: Buffer): readonly Item[] | undefined => {
  const whole = itemAt(bytes, isTyped(bytes) ? 1 : 0)
  if (!whole?.isList || whole.end !== bytes.length) return undefined
  const fields: Item[] = []
  let listBytes = 0
  let at = whole.start
  while (at < whole.end) {
    const field = itemAt(bytes, at)
    if (field === undefined || fields.length >= MAX_FIELDS) return undefined
    if (field.isList) listBytes += field.end - field.start
    fields.push(field)
    at = field.end
  }
  if (listBytes <= MAX_LIST_BYTES) return at === whole.end ? fields : undefined
  const details = { parameter: 'access_list', size: listBytes, max_allowed: MAX_LIST_BYTES }
  throw new Fault('TRANSACTION_SIZE_EXCEEDED', undefined, details)
}

/** One with a type in its first byte. Source: EIP-2718. */
const isTyped = (bytes: Buffer): boolean => (bytes[0] ?? 0) < SHORT_STRING

/** Fields of a signature, the last ones of a transaction. */
const SIGNATURE_FIELDS = 3

/**
 * What the signer of a transaction signed, in parts one after the other: its fields without the signature; in one without a type the
 * chain and two empty fields stand for it. Source: EIP-155, EIP-2718.
 */
export const signedParts = (
  bytes: Buffer,
  fields: readonly Item[],
  chainId: number,
): readonly Buffer[] => {
  const [first, last] = [fields[0], fields.at(-1 - SIGNATURE_FIELDS)]
  if (first === undefined || last === undefined) return []
  const signed = bytes.subarray(first.at, last.end)
  if (isTyped(bytes)) return [bytes.subarray(0, 1), listHeader(signed.length), signed]
  const chain = numberItem(chainId)
  const empty = Buffer.of(SHORT_STRING, SHORT_STRING)
  return [listHeader(signed.length + chain.length + empty.length), signed, chain, empty]
}

const bigEndian = (value: number): Buffer => {
  const hex = value.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

/** Beginning of a list whose content has so many bytes. */
const listHeader = (length: number): Buffer => {
  if (length <= LONG_LIST - SHORT_LIST) return Buffer.of(SHORT_LIST + length)
  const digits = bigEndian(length)
  return Buffer.concat([Buffer.of(LONG_LIST + digits.length), digits])
}

/** A positive number as an item. */
const numberItem = (value: number): Buffer => {
  const digits = bigEndian(value)
  return value < SHORT_STRING
    ? digits
    : Buffer.concat([Buffer.of(SHORT_STRING + digits.length), digits])
}
