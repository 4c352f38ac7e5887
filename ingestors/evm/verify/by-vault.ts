import type { PoolMetadata } from '../../../schemas/events.ts'
import type { CallResult } from '../abi/call.ts'
import { decodeAddresses, decodeWord } from '../abi/result.ts'
import type { PoolVerification, VerificationContext } from './contract.ts'

/**
 * Proof by the listed contract that holds the tokens of a pool and was told of it once. Sources: balancer/balancer-v2-monorepo
 * IVault.sol, IBasePool.sol; balancer/balancer-v3-monorepo IVaultExtension.sol.
 */

const GET_POOL_ID = '0x38fff2d0' // getPoolId()
const POOL_TOKENS_V2 = '0xf94d4668' // getPoolTokens(bytes32)
const POOL_TOKENS_V3 = '0xca4f2803' // getPoolTokens(address)

/** The metadata from the vaults' answers, one for each listed vault; undefined where none knows the pool. */
const poolOfVault = (
  { pool, listed }: VerificationContext,
  answers: readonly CallResult[],
): PoolMetadata | undefined => {
  for (const [index, { row, factory }] of listed.entries()) {
    const tokens = decodeAddresses(answers[index])
    const coins = [
      ...tokens.filter((each) => each !== pool),
      ...tokens.filter((each) => each === pool),
    ]
    const [tokenA, tokenB] = coins
    if (tokenA === undefined || tokenB === undefined) continue
    return {
      address: pool,
      tokenA,
      tokenB,
      ...(coins.length > 2 && { coins }),
      protocol: row.id,
      factory,
      feePips: null,
      verified: true,
    }
  }
  return undefined
}

/** The id that the pool says, if it is one that this pool may have: the Vault makes ids that begin with the pool's address. */
const idOf = ({ pool, results }: VerificationContext): string | undefined => {
  const id = decodeWord(results[0])
  return id?.startsWith(pool) ? id : undefined
}

/** Pools of Balancer V2: the pool tells its id, the Vault its tokens. */
export const vaultV2Verification: PoolVerification = {
  ask: (pool) => [{ to: pool, data: GET_POOL_ID }],
  confirm: (context) => {
    const id = idOf(context)
    return id === undefined
      ? []
      : context.listed.map(({ factory: to }) => ({ to, data: POOL_TOKENS_V2 + id.slice(2) }))
  },
  conclude: (context, answers) =>
    idOf(context) === undefined ? undefined : poolOfVault(context, answers),
}

/** Pools of Balancer V3: the Vault knows them by their address. */
export const vaultV3Verification: PoolVerification = {
  ask: (pool, listed) =>
    listed.map(({ factory: to }) => ({
      to,
      data: POOL_TOKENS_V3 + pool.slice(2).padStart(64, '0'),
    })),
  conclude: (context) => poolOfVault(context, context.results),
}
