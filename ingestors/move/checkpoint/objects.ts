import { normalizeCoinType } from '../../../core/move-type.ts'
import type { Fields } from '../../input/json.ts'
import { dataViewOf } from '../../svm/layout/borsh-layout.ts'
import { readOwner } from './effects.ts'
import { type BcsReader, createBcsReader } from './reader.ts'

/** What counts of an object's state. */
export interface ObjectState {
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
const SUI_TYPE = `${FRAMEWORK}::sui::SUI`
const COIN_TYPE_PREFIX = `${FRAMEWORK}::coin::Coin<`
const COIN_METADATA_TYPE_PREFIX = `${FRAMEWORK}::coin::CoinMetadata<`
/** An address's balance as an object: a type of many arguments that is not read here. */
const UNKNOWN_TYPE = ''
const STAKED_SUI_TYPE = `0x${'3'.padStart(64, '0')}::staking_pool::StakedSui`

/** An `Object`. Source: MystenLabs/sui sui-types object.rs, base_types.rs, move_package.rs. Throws as the reader. */
export const readObject = (read: BcsReader): ObjectState => {
  const reported = read.variant('object', [() => readMoveObject(read), () => readPackage(read)])
  const owner = readOwner(read)
  read.digest()
  read.u64()
  return { ...reported, owner }
}

type UnownedObject = Omit<ObjectState, 'owner'>

const readMoveObject = (read: BcsReader): UnownedObject => {
  const type = read.variant('object type', [
    () => read.structTag(),
    () => `${COIN_TYPE_PREFIX}${SUI_TYPE}>`,
    () => STAKED_SUI_TYPE,
    () => `${COIN_TYPE_PREFIX}${read.typeTag()}>`,
    () => UNKNOWN_TYPE,
  ])
  read.bool()
  const version = read.u64()
  const contents = read.byteVector()
  const id = `0x${Buffer.from(contents.subarray(0, 32)).toString('hex')}`
  return {
    id,
    version,
    type,
    coin: coinBalanceOf(type, contents),
    fields: coinMetadataOf(type, contents),
  }
}

/** A coin is its id and its amount. */
const coinBalanceOf = (type: string, contents: Uint8Array): ObjectState['coin'] => {
  if (!type.startsWith(COIN_TYPE_PREFIX) || contents.length !== 40) return null
  const name = normalizeCoinType(type.slice(COIN_TYPE_PREFIX.length, -1))
  return name === undefined
    ? null
    : { type: name, amountRaw: dataViewOf(contents).getBigUint64(32, true) }
}

/** Id, decimals, name, symbol, and more that is not read here. */
const coinMetadataOf = (type: string, contents: Uint8Array): Fields | null => {
  if (!type.startsWith(COIN_METADATA_TYPE_PREFIX)) return null
  const read = createBcsReader(contents)
  read.id()
  return { decimals: read.u8(), name: read.text(), symbol: read.text() }
}

const readPackage = (read: BcsReader): UnownedObject => {
  const id = read.id()
  const version = read.u64()
  read.list(() => read.skip(read.text, read.byteVector))
  read.list(() => read.skip(read.text, read.text, read.id))
  read.list(() => read.skip(read.id, read.id, read.u64))
  return { id, version, type: '', coin: null, fields: null }
}
