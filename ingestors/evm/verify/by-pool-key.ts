import type { ListedProtocol } from '../../decode/protocol-registry.ts'
import type { CallResult } from '../abi/call.ts'
import { keccak } from '../abi/keccak.ts'
import { addressIn, wordAt, wordCount } from '../abi/words.ts'
import type { PoolVerification } from './contract.ts'

/**
 * Proof by the preimage of a pool's id, which is the hash of its key: who gives the key need not be believed. The PositionManager
 * keeps the keys of pools in which it opened a position; others stay unknown until it does. Source: Uniswap/v4-core
 * src/types/PoolId.sol, v4-periphery src/PositionManager.sol.
 */

const POOL_KEYS = '0x86b6be7d' // poolKeys(bytes25)
const BYTES_25 = 2 + 2 * 25
/** Currencies, fee, tick spacing, hooks. */
const KEY_WORDS = 5
const KEY_CHARS = 2 + KEY_WORDS * 64

/** A fee from here on is a flag: hooks set it trade by trade. Source: Uniswap/v4-core src/libraries/LPFeeLibrary.sol. */
const DYNAMIC_FEE = 0x800000n

/** Fee of a key in hundredths of a basis point; null: not fixed. */
export const keyFee = (fee: bigint): number | null => (fee < DYNAMIC_FEE ? Number(fee) : null)

/** Those whose pool ids exist: the pool's own contract and the keepers of its keys. */
const queriedManagers = (listed: readonly ListedProtocol[]) =>
  listed.flatMap(({ row, factory, registries }) =>
    registries.map((registry) => ({ row, factory, registry })),
  )

const isKeyOf = (id: string, results: CallResult): results is string =>
  results !== undefined &&
  wordCount(results) >= KEY_WORDS &&
  keccak(results.slice(2, KEY_CHARS)) === id

/** Proof of a Uniswap V4 pool by its key. */
export const poolKeyVerification: PoolVerification = {
  later: true,
  ask: (pool, listed) =>
    queriedManagers(listed).map(({ registry: to }) => ({
      to,
      data: POOL_KEYS + pool.slice(2, BYTES_25).padEnd(64, '0'),
    })),
  conclude: ({ pool, listed, results }) => {
    for (const [index, { row, factory }] of queriedManagers(listed).entries()) {
      const key = results[index]
      if (!isKeyOf(pool, key)) continue
      return {
        address: pool,
        tokenA: addressIn(key, 0).toLowerCase(),
        tokenB: addressIn(key, 1).toLowerCase(),
        protocol: row.id,
        factory,
        feePips: keyFee(wordAt(key, 2)),
        verified: true,
      }
    }
    return undefined
  },
}
