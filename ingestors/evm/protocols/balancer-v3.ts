import type { Log } from '../../../schemas/events.ts'
import { arrayAt } from '../abi/dynamic.ts'
import { addressIn, topicAddress, wordAt } from '../abi/words.ts'
import { vaultV3Verification } from '../verify/by-vault.ts'
import { swappedTokens, vaultSwap } from './balancer-vault.ts'
import {
  BAD_ARRAY,
  type DecodedEvent,
  type DecodedLiquidityChange,
  type EvmEvent,
  type EvmFamily,
  impossible,
} from './types.ts'

const defaultProtocol = 'balancer_v3'

const poolOf = ({ topics }: Log): string => topicAddress(topics[1])

/** Amounts of all the pool's tokens in its own order; which those are the pool's registration said. */
const change =
  (kind: DecodedLiquidityChange['change']) =>
  (log: Log): DecodedEvent | undefined => {
    const { address: vault, data } = log
    const items = arrayAt(data, 1)
    if (items === undefined) return BAD_ARRAY
    const amountsRaw = items.map((item) => wordAt(data, item))
    if (amountsRaw.every((amountRaw) => amountRaw === 0n)) return undefined
    return (
      impossible(amountsRaw) ?? {
        kind: 'change',
        pool: poolOf(log),
        vault,
        defaultProtocol,
        unordered: 'many',
        change: kind,
        amountsRaw,
      }
    )
  }

const liquidity = (
  name: string,
  amounts: string,
  kind: DecodedLiquidityChange['change'],
): Omit<EvmEvent, 'by'> & { readonly by: 'singleton' } => ({
  signature: `${name}(address indexed pool, address indexed liquidityProvider, uint8 indexed kind, uint256 totalSupply, uint256[] ${amounts}, uint256[] swapFeeAmountsRaw)`,
  by: 'singleton',
  topics: 4,
  words: 5,
  pool: poolOf,
  read: change(kind),
})

/** Words of one token's settings: token, type, rate provider, whether it pays yield fees. */
const TOKEN_CONFIG_WORDS = 4

const registered = (log: Log): DecodedEvent => {
  const items = arrayAt(log.data, 0, { wide: TOKEN_CONFIG_WORDS })
  if (items === undefined) return BAD_ARRAY
  return {
    kind: 'pool',
    pool: poolOf(log),
    factory: log.address,
    tokens: items.map((item) => addressIn(log.data, item)),
    feePips: null,
    opens: false,
  }
}

/**
 * Pools of Balancer V3, whose tokens all lie in one contract, the Vault. Source: balancer/balancer-v3-monorepo
 * pkg/interfaces/contracts/vault/IVaultEvents.sol, VaultTypes.sol. Boosted pools trade wrapped tokens;
 * the Vault's `Wrap` and `Unwrap` around such a trade convert what is paid and are not trades: they are not read.
 */
export const balancerV3: EvmFamily = {
  family: 'balancer_v3',
  verification: vaultV3Verification,
  events: {
    '0x0874b2d545cb271cdbda4e093020c452328b24af12382ed62c4d00f5c26709db': {
      signature:
        'Swap(address indexed pool, address indexed tokenIn, address indexed tokenOut, uint256 amountIn, uint256 amountOut, uint256 swapFeePercentage, uint256 swapFeeAmount)',
      by: 'singleton',
      topics: 4,
      words: 4,
      pool: poolOf,
      tokens: swappedTokens,
      read: vaultSwap(defaultProtocol, poolOf),
    },
    '0xa26a52d8d53702bba7f137907b8e1f99ff87f6d450144270ca25e72481cca871': liquidity(
      'LiquidityAdded',
      'amountsAddedRaw',
      'increase',
    ),
    '0xfbe5b0d79fb94f1e81c0a92bf86ae9d3a19e9d1bf6202c0d3e75120f65d5d8a5': liquidity(
      'LiquidityRemoved',
      'amountsRemovedRaw',
      'decrease',
    ),
    '0xcad8c9d32507393b6508ca4a888b81979919b477510585bde8488f153072d6f3': {
      signature: 'PoolInitialized(address indexed pool)',
      by: 'singleton',
      topics: 2,
      words: 0,
      pool: poolOf,
      read: (log) => ({
        kind: 'change',
        pool: poolOf(log),
        vault: log.address,
        defaultProtocol,
        unordered: 'many',
        change: 'initialize',
        amountsRaw: [0n, 0n],
      }),
    },
    '0xbc1561eeab9f40962e2fb827a7ff9c7cdb47a9d7c84caeefa4ed90e043842dad': {
      signature:
        'PoolRegistered(address indexed pool, address indexed factory, (address token, uint8 tokenType, address rateProvider, bool paysYieldFees)[] tokenConfig, uint256 swapFeePercentage, uint32 pauseWindowEndTime, (address pauseManager, address swapFeeManager, address poolCreator) roleAccounts, (bool enableHookAdjustedAmounts, bool shouldCallBeforeInitialize, bool shouldCallAfterInitialize, bool shouldCallComputeDynamicSwapFee, bool shouldCallBeforeSwap, bool shouldCallAfterSwap, bool shouldCallBeforeAddLiquidity, bool shouldCallAfterAddLiquidity, bool shouldCallBeforeRemoveLiquidity, bool shouldCallAfterRemoveLiquidity, address hooksContract) hooksConfig, (bool disableUnbalancedLiquidity, bool enableAddLiquidityCustom, bool enableRemoveLiquidityCustom, bool enableDonation) liquidityManagement)',
      by: 'factory',
      topics: 3,
      words: 22,
      read: registered,
    },
  },
}
