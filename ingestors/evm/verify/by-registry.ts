import type { ListedProtocol } from '../../decode/protocol-registry.ts'
import { decodeAddresses } from '../abi/result.ts'
import type { PoolVerification, VerificationContext } from './contract.ts'

/**
 * Proof by look-up of the pool in Curve's own contracts: every factory is the registry of what it made, older pools are in
 * registries of their own. All answer the same two calls, with lists of one length or of any. Source: curvefi/metaregistry,
 * curve-pool-registry, stableswap-ng.
 */

const GET_COINS = '0x9ac90d3d' // get_coins(address)
const GET_UNDERLYING_COINS = '0xa77576ef' // get_underlying_coins(address)

const about = (selector: string, pool: string): string => selector + pool.slice(2).padStart(64, '0')

/** Whom to ask: factories first, because they made the pool. */
const queriedRegistries = (listed: readonly ListedProtocol[]): readonly string[] => [
  ...new Set([
    ...listed.map(({ factory }) => factory),
    ...listed.flatMap(({ registries }) => registries),
  ]),
]

/** The first that knows the pool, and its coins. */
const registeredPool = ({ listed, results }: VerificationContext) => {
  for (const [index, factory] of queriedRegistries(listed).entries()) {
    const coins = decodeAddresses(results[index])
    const [tokenA, tokenB] = coins
    if (tokenA !== undefined && tokenB !== undefined) return { factory, coins, tokenA, tokenB }
  }
  return undefined
}

const rowOf = (listed: readonly ListedProtocol[], contract: string) =>
  listed.find(({ factory, registries }) => factory === contract || registries.includes(contract))
    ?.row

/** Proof of a Curve pool; a registry that does not know it answers with nothing, or is reverted. */
export const registryVerification: PoolVerification = {
  ask: (pool, listed) =>
    queriedRegistries(listed).map((to) => ({ to, data: about(GET_COINS, pool) })),
  confirm: (context) => {
    const found = registeredPool(context)
    return found === undefined
      ? []
      : [{ to: found.factory, data: about(GET_UNDERLYING_COINS, context.pool) }]
  },
  conclude: (context, [results]) => {
    const found = registeredPool(context)
    const row = found && rowOf(context.listed, found.factory)
    if (found === undefined || row === undefined) return undefined
    const { coins, tokenA, tokenB, factory } = found
    const underlying = decodeAddresses(results)
    return {
      address: context.pool,
      tokenA,
      tokenB,
      ...(coins.length > 2 && { coins }),
      ...(underlying.length > 1 && { underlying }),
      protocol: row.id,
      factory,
      feePips: null,
      verified: true,
    }
  },
}
