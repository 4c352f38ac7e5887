import { base58Encode } from '../../core/base58.ts'
import type { SolanaAccount } from './solana-node.ts'

/** Program of look-up tables. Source: solana-program/address-lookup-table. */
const LOOKUP_TABLES = 'AddressLookupTab1e1111111111111111111111111'
/** Kind of an account that is a table, where the slot of its deactivation stands, and where its addresses begin. Source: the same, state.rs. */
const TABLE = { kind: 1, deactivated: 4, addresses: 56 } as const
const NEVER = (1n << 64n) - 1n
const KEY_BYTES = 32
/** Most addresses of a table. Source: LOOKUP_TABLE_MAX_ADDRESSES. */
const MAX_ADDRESSES = 256

/** Addresses of a look-up table in their order; none for another account, and for a table that is deactivated. */
export const addressesOfTable = (account: SolanaAccount | undefined): readonly string[] => {
  if (account?.owner !== LOOKUP_TABLES) return []
  const data = Buffer.from(account.data)
  if (data.length < TABLE.addresses || data.readUInt32LE(0) !== TABLE.kind) return []
  if (data.readBigUInt64LE(TABLE.deactivated) !== NEVER) return []
  const count = Math.min(Math.floor((data.length - TABLE.addresses) / KEY_BYTES), MAX_ADDRESSES)
  return Array.from({ length: count }, (_, index) => {
    const at = TABLE.addresses + index * KEY_BYTES
    return base58Encode(data.subarray(at, at + KEY_BYTES))
  })
}
