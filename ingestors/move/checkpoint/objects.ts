import { coinType } from '../../../core/move-type.ts'
import type { Fields } from '../../input/json.ts'
import { viewOf } from '../../svm/layout/layout.ts'
import { chkOwner } from './effects.ts'
import { type ChkReader, chkReader } from './reader.ts'

/** What counts of an object's state. */
export interface ChkObject {
  readonly id: string
  readonly version: bigint
  /** As nodes print it; empty for packages and for balances of addresses. */
  readonly type: string
  /** Address that owns it; null where none does. */
  readonly owner: string | null
  /** Of a coin its type and how much there is. */
  readonly coin: { readonly type: string; readonly amountRaw: bigint } | null
  /** Names and decimals, of a coin's metadata. */
  readonly fields: Fields | null
}

const FRAMEWORK = `0x${'2'.padStart(64, '0')}`
const SUI = `${FRAMEWORK}::sui::SUI`
const COIN = `${FRAMEWORK}::coin::Coin<`
const METADATA = `${FRAMEWORK}::coin::CoinMetadata<`
/** An address's balance as an object: a type of many arguments that nobody here reads. */
const UNNAMED = ''
const STAKED = `0x${'3'.padStart(64, '0')}::staking_pool::StakedSui`

/** An `Object`. Source: MystenLabs/sui sui-types object.rs, base_types.rs, move_package.rs. Throws as the reader. */
export const chkObject = (read: ChkReader): ChkObject => {
  const told = read.variant('object', [() => moveObject(read), () => packageObject(read)])
  const owner = chkOwner(read)
  read.digest()
  read.u64()
  return { ...told, owner }
}

type Told = Omit<ChkObject, 'owner'>

const moveObject = (read: ChkReader): Told => {
  const type = read.variant('object type', [
    () => read.struct(),
    () => `${COIN}${SUI}>`,
    () => STAKED,
    () => `${COIN}${read.type()}>`,
    () => UNNAMED,
  ])
  read.bool()
  const version = read.u64()
  const contents = read.blob()
  const id = `0x${Buffer.from(contents.subarray(0, 32)).toString('hex')}`
  return { id, version, type, coin: coinOf(type, contents), fields: metadataOf(type, contents) }
}

/** A coin is its id and its amount. */
const coinOf = (type: string, contents: Uint8Array): ChkObject['coin'] => {
  if (!type.startsWith(COIN) || contents.length !== 40) return null
  const name = coinType(type.slice(COIN.length, -1))
  return name === undefined
    ? null
    : { type: name, amountRaw: viewOf(contents).getBigUint64(32, true) }
}

/** Id, decimals, name, symbol, and more that nobody here reads. */
const metadataOf = (type: string, contents: Uint8Array): Fields | null => {
  if (!type.startsWith(METADATA)) return null
  const read = chkReader(contents)
  read.id()
  return { decimals: read.u8(), name: read.text(), symbol: read.text() }
}

const packageObject = (read: ChkReader): Told => {
  const id = read.id()
  const version = read.u64()
  read.list(() => read.skip(read.text, read.blob))
  read.list(() => read.skip(read.text, read.text, read.id))
  read.list(() => read.skip(read.id, read.id, read.u64))
  return { id, version, type: '', coin: null, fields: null }
}
