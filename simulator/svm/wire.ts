import { base58Decode } from '../../core/base58.ts'
import type { Account } from './accounts.ts'
import { isStep } from './message.ts'
import type { SealedTransaction } from './transactions.ts'

/** A length in seven-bit groups, lowest first. Source: solana `short_vec`. */
const shortLength = (length: number): readonly number[] =>
  length < 0x80 ? [length] : [(length & 0x7f) | 0x80, ...shortLength(length >> 7)]

const list = (values: readonly number[]): readonly number[] => [
  ...shortLength(values.length),
  ...values,
]

/** A transaction as it travels: signatures, then its message. Source: solana message formats legacy and v0. */
export const wireBytes = (
  { message, signatures, recentBlockhash, trace }: SealedTransaction,
  places: ReadonlyMap<Account, number>,
): Uint8Array => {
  const place = (account: Account): number => places.get(account) ?? 0
  const keys = message.keys.slice(0, message.staticCount)
  const steps = trace.filter(isStep).filter(({ height }) => height === 1)
  const parts: (Uint8Array | readonly number[])[] = [
    shortLength(signatures.length),
    ...signatures.map((digits) => Buffer.from(digits, 'hex')),
    message.version === 0 ? [0x80] : [],
    message.header,
    shortLength(keys.length),
    ...keys.map(({ key }) => key),
    base58Decode(recentBlockhash) ?? new Uint8Array(32),
    shortLength(steps.length),
  ]
  for (const step of steps) {
    const data = step.data()
    parts.push([place(step.program), ...list(step.accounts.map(place))])
    parts.push(shortLength(data.length), data)
  }
  if (message.version === 0) {
    parts.push(shortLength(message.lookups.length))
    for (const { table, writable, readonly } of message.lookups)
      parts.push(table.key, list(writable), list(readonly))
  }
  return Buffer.concat(parts.map((part) => Uint8Array.from(part)))
}
