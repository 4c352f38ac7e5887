import type { DecodeContext } from '../../../ingestors/decode/contract.ts'
import { decodeBlock } from '../../../ingestors/vm/decode-block.ts'
import type {
  DecodedBlock,
  MoveBlock,
  MoveEvent,
  MoveObject,
  MoveTransaction,
} from '../../../schemas/events.ts'
import { PROTOCOLS } from '../../../schemas/protocols.ts'
import { suiDecodeContext } from '../recordings/sui.ts'

/** A synthetic address or object id. */
export const objectIdFor = (name: string): string => `0x${Buffer.alloc(32, name).toString('hex')}`

export const SUI = '0x2::sui::SUI'
export const USDC = '0xdba34672e30cb065b1f93e3ab55318768fd6fef66c15942c9f7cb846e2f900e7::usdc::USDC'
export const TEST_COIN = `${objectIdFor('coin')}::coin::COIN`

/** A coin as `std::type_name` writes it. */
export const typeNameOf = (coin: string): string => {
  const [address = '', ...rest] = coin.slice(2).split('::')
  return [address.padStart(64, '0'), ...rest].join('::')
}

/** The package of a protocol that is listed first. */
export const protocolPackage = (protocol: string): string => {
  const row = PROTOCOLS.find((each) => each.id === protocol)
  const factories: Readonly<Record<string, readonly string[]>> = row?.factories ?? {}
  return factories.sui?.[0] ?? ''
}

/** BCS of fields that follow each other: bigint u64, number u32, text an address or a text, list a vector. */
export type BcsValue = bigint | number | boolean | string | null | Buffer | readonly BcsValue[]

/** A number of 16 bytes. */
export const u128 = (value: bigint): Buffer =>
  Buffer.concat([encodeBcs(value & (2n ** 64n - 1n)), encodeBcs(value >> 64n)])

/** A number of one byte. */
export const u8 = (value: number): Buffer => Buffer.from([value])

const length = (count: number): Buffer =>
  count < 128 ? Buffer.from([count]) : Buffer.from([(count & 127) | 128, count >> 7])

export const encodeBcs = (...values: readonly BcsValue[]): Buffer =>
  Buffer.concat(values.map(encodeBcsValue))

const encodeBcsValue = (value: BcsValue): Buffer => {
  if (Buffer.isBuffer(value)) return value
  if (typeof value === 'boolean') return u8(value ? 1 : 0)
  if (value === null) return u8(0)
  if (typeof value === 'bigint') {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(value)
    return bytes
  }
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(value)
    return bytes
  }
  if (typeof value !== 'string') {
    const items = value as readonly BcsValue[]
    return Buffer.concat([length(items.length), ...items.map(encodeBcsValue)])
  }
  if (/^0x[0-9a-f]{64}$/.test(value)) return Buffer.from(value.slice(2), 'hex')
  const text = Buffer.from(value)
  return Buffer.concat([length(text.length), text])
}

/** An event of a protocol's package, by name or as bytes. */
export const buildMoveEvent = (
  protocol: string,
  name: string,
  said: Readonly<Record<string, unknown>> | Buffer,
  typeArguments: readonly string[] = [],
): Omit<MoveEvent, 'index'> => ({
  package: protocolPackage(protocol),
  name,
  typeArguments,
  sender: objectIdFor('sender'),
  fields: Buffer.isBuffer(said) ? null : said,
  bytes: Buffer.isBuffer(said) ? said : null,
})

/** A pool as an object that the transaction changed. */
export const buildPoolObject = (
  protocol: string,
  pool: string,
  types: readonly string[],
): MoveObject => ({
  id: pool,
  type: `${protocolPackage(protocol)}::pool::Pool<${types.join(', ')}>`,
  change: 'changed',
  fields: null,
})

/** A transaction that succeeded. */
export const buildMoveTransaction = (
  events: readonly Omit<MoveEvent, 'index'>[],
  more: Partial<MoveTransaction> = {},
): MoveTransaction => ({
  hash: `tx${more.index ?? 0}`,
  index: 0,
  from: objectIdFor('sender'),
  gasOwner: objectIdFor('sender'),
  gas: { budgetRaw: null, priceRaw: null, computationRaw: null },
  feeRaw: 1_000n,
  success: true,
  deltas: [],
  calls: [],
  objects: [],
  ...more,
  events: events.map((each, index) => ({ ...each, index })),
})

/** A checkpoint of such transactions. */
export const buildMoveBlock = (transactions: readonly MoveTransaction[]): MoveBlock => ({
  vm: 'move',
  chain: 'sui',
  height: 7,
  hash: 'h',
  parentHash: 'p',
  timeMs: 1,
  transactions: transactions.map((tx, index) => ({ ...tx, index })),
})

/** Everything that such transactions decode to. */
export const decodeMoveTransactions = (
  transactions: readonly MoveTransaction[],
  books: DecodeContext = suiDecodeContext(),
): DecodedBlock => decodeBlock(buildMoveBlock(transactions), books)
