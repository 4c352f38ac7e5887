import type { Log } from '../../../schemas/events.ts'
import { arrayAt } from '../abi/dynamic.ts'
import { addressIn, signedAt } from '../abi/words.ts'
import { vaultV2Verification } from '../verify/by-vault.ts'
import { swappedTokens, vaultSwap } from './balancer-vault.ts'
import { BAD_ARRAY, type DecodedEvent, type EvmFamily, impossible } from './types.ts'

const defaultProtocol = 'balancer_v2'

/** The pool's contract, with which its id begins; also the address of its shares. */
const poolOf = ({ topics }: Log): string => (topics[1] ?? '').slice(0, 42)

/** Above zero joined, below zero left, never both. A pool's own shares, which some keep as one of their tokens, are left out. */
const balance = (log: Log): DecodedEvent | undefined => {
  const { address: vault, data } = log
  const tokens = arrayAt(data, 0)
  const deltas = arrayAt(data, 1)
  if (tokens === undefined || deltas?.length !== tokens.length) return BAD_ARRAY
  const pool = poolOf(log)
  const moved = tokens
    .map((item, at) => ({
      token: addressIn(data, item),
      deltaRaw: signedAt(data, deltas[at] ?? item),
    }))
    .filter(({ token }) => token !== pool)
  const left = moved.some(({ deltaRaw }) => deltaRaw < 0n)
  if (moved.every(({ deltaRaw }) => deltaRaw === 0n)) return undefined
  if (left && moved.some(({ deltaRaw }) => deltaRaw > 0n)) return BAD_ARRAY
  const amountsRaw = moved.map(({ deltaRaw }) => (left ? -deltaRaw : deltaRaw))
  return (
    impossible(amountsRaw) ?? {
      kind: 'change',
      pool,
      vault,
      defaultProtocol,
      unordered: 'many',
      change: left ? 'decrease' : 'increase',
      amountsRaw,
      legs: moved.map(({ token }) => token),
    }
  )
}

/** A pool with its tokens; its own shares, where it keeps them as one, stand last. */
const registered = (log: Log): DecodedEvent => {
  const items = arrayAt(log.data, 0)
  if (items === undefined) return BAD_ARRAY
  const pool = poolOf(log)
  const tokens = items.map((item) => addressIn(log.data, item))
  return {
    kind: 'pool',
    pool,
    factory: log.address,
    vault: log.address,
    tokens: [...tokens.filter((each) => each !== pool), ...tokens.filter((each) => each === pool)],
    feePips: null,
    opens: true,
  }
}

/**
 * Pools of Balancer V2, whose tokens all lie in one contract, the Vault. Source: balancer/balancer-v2-monorepo
 * pkg/interfaces/contracts/vault/IVault.sol. A swap against the pool's own shares is a hop like any
 * other: what goes through the pools that hold shares of others is reported by nothing else.
 */
export const balancerV2: EvmFamily = {
  family: 'balancer_v2',
  verification: vaultV2Verification,
  events: {
    '0x2170c741c41531aec20e7c107c24eecfdd15e69c9bb0a8dd37b1840b9e0b207b': {
      signature:
        'Swap(bytes32 indexed poolId, address indexed tokenIn, address indexed tokenOut, uint256 amountIn, uint256 amountOut)',
      by: 'singleton',
      topics: 4,
      words: 2,
      pool: poolOf,
      tokens: swappedTokens,
      read: vaultSwap(defaultProtocol, poolOf),
    },
    '0xe5ce249087ce04f05a957192435400fd97868dba0e6a4b4c049abf8af80dae78': {
      signature:
        'PoolBalanceChanged(bytes32 indexed poolId, address indexed liquidityProvider, address[] tokens, int256[] deltas, uint256[] protocolFeeAmounts)',
      by: 'singleton',
      topics: 3,
      words: 6,
      pool: poolOf,
      read: balance,
    },
    '0xf5847d3f2197b16cdcd2098ec95d0905cd1abdaf415f07bb7cef2bba8ac5dec4': {
      signature:
        'TokensRegistered(bytes32 indexed poolId, address[] tokens, address[] assetManagers)',
      by: 'factory',
      topics: 2,
      words: 4,
      read: registered,
    },
  },
}
