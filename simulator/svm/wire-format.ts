import { base58Decode } from '../../core/base58.ts'
import type { Account } from './accounts.ts'
import { isInvocation } from './message.ts'
import type { SealedTransaction } from './transactions.ts'

/** A length in seven-bit groups, lowest first. Source: solana `short_vec`. */
const encodeCompactU16 = (length: number): readonly number[] =>
  length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...encodeCompactU16(length >> 7)]

const encodeShortVec = (values: readonly number[]): readonly number[] => [
  ...encodeCompactU16(values.length),
  ...values,
]

/** A transaction as it travels: signatures, then its message. Source: solana message formats legacy and v0. */
export const encodeTransaction = (
  { message, signatures, recentBlockhash, trace }: SealedTransaction,
  places: ReadonlyMap<Account, number>,
): Uint8Array => {
  const place = (account: Account): number => places.get(account) ?? 0
  const keys = message.keys.slice(0, message.staticCount)
  const steps = trace.filter(isInvocation).filter(({ height }) => height === 1)
  const parts: (Uint8Array | readonly number[])[] = [
    encodeCompactU16(signatures.length),
    ...signatures.map((digits) => Buffer.from(digits, 'hex')),
    message.version === 0 ? [0x80] : [],
    message.header,
    encodeCompactU16(keys.length),
    ...keys.map(({ key }) => key),
    base58Decode(recentBlockhash) ?? new Uint8Array(32),
    encodeCompactU16(steps.length),
  ]
  for (const step of steps) {
    const data = step.data()
    parts.push([place(step.program), ...encodeShortVec(step.accounts.map(place))])
    parts.push(encodeCompactU16(data.length), data)
  }
  if (message.version === 0) {
    parts.push(encodeCompactU16(message.lookups.length))
    for (const { table, writable, readonly } of message.lookups)
      parts.push(table.key, encodeShortVec(writable), encodeShortVec(readonly))
  }
  return Buffer.concat(parts.map((part) => Uint8Array.from(part)))
}
