/** What the processes of this benchmark tell each other. */

/** Who serves the sockets. */
export type SideName = 'sluice' | 'centrifugo'

/** To a process of readers. */
export type ReaderOrder =
  | {
      readonly kind: 'open'
      readonly side: SideName
      readonly port: number
      readonly token: string
      /** The one channel of each socket. */
      readonly channels: readonly string[]
    }
  /** Counts from now on, and says when so many messages have come. */
  | { readonly kind: 'expect'; readonly side: SideName; readonly count: number }

/** From a process of readers. */
export type ReaderWord =
  /** Every socket is connected and subscribed. */
  | { readonly kind: 'opened'; readonly side: SideName }
  /** What comes from now on is counted. */
  | { readonly kind: 'expecting'; readonly side: SideName }
  | {
      readonly kind: 'received'
      readonly side: SideName
      /** When the last message came, nanoseconds of the monotonic clock, which all processes share. */
      readonly atNs: number
      /** From the stamp of a message until it was read, of every so many sockets. */
      readonly latenciesMs: readonly number[]
      /** One message as it came. */
      readonly sample: string
    }
  | { readonly kind: 'failed'; readonly why: string }

/** To the process of the product: publish one trade of each token in one block. */
export interface PublishOrder {
  readonly id: number
  readonly stampNs: number
  /** Numbers of tokens, see `tokenAddress`. */
  readonly tokens: readonly number[]
}

/** From the process of the product. */
export type ServerWord =
  | {
      readonly kind: 'ready'
      readonly port: number
      /** An access token that both servers accept. */
      readonly token: string
      /** The key that it is signed with, PEM. */
      readonly publicKeyPem: string
    }
  | { readonly kind: 'published'; readonly id: number }

/** Nanoseconds of the monotonic clock: exact to the nanosecond for 104 days after the machine started. */
export const monotonicNs = (): number => Number(process.hrtime.bigint())

/** "stamp" in ASCII: no address of the benchmark begins like it. */
const STAMP = '0x7374616d70'
const HASH_LENGTH = 66
const DIGITS = 16

/** A transaction's hash that says when the trade was published. */
export const stampedHash = (ns: number): string =>
  STAMP + ns.toString(16).padStart(HASH_LENGTH - STAMP.length, '0')

/** The time in the stamped hash of a message; undefined where it has none. */
export const stampIn = (bytes: Buffer, from: number, to: number): number | undefined => {
  const at = bytes.subarray(from, to).indexOf(STAMP)
  if (at === -1) return undefined
  const end = from + at + HASH_LENGTH
  return Number.parseInt(bytes.toString('latin1', end - DIGITS, end), 16)
}

/** Address of the token with a number. */
export const tokenAddress = (index: number): string =>
  `0x${(0xa0_0000 + index).toString(16).padStart(40, '0')}`

/** The channel of a token's trades: both servers have it under the same name. */
export const tokenChannel = (index: number): string => `dex-trade:eth_${tokenAddress(index)}`
