import type { Log } from '../../../schemas/events.ts'
import { arrayAt } from '../abi/dynamic.ts'
import { addressIn, wordAt } from '../abi/words.ts'
import { registryVerification } from '../verify/by-registry.ts'
import {
  BAD_ARRAY,
  type DecodedEvent,
  type DecodedLiquidityChange,
  type EvmEvent,
  type EvmFamily,
  impossible,
  invalidAmounts,
  type Leg,
} from './types.ts'

const defaultProtocol = 'curve'

/** Coins of the pools with the most of them; what is below may be the place of one. Source: curvefi/curve-pool-registry. */
const MAX_COINS = 8n

type Indexed = (index: number) => Leg
type Change = Extract<DecodedLiquidityChange['change'], 'increase' | 'decrease'>

const coin: Indexed = (index) => index
const underlyingCoin: Indexed = (index) => ({ underlying: index })

/** Words: place of what was sold, its amount, place of what was bought, its amount. */
const swap =
  (leg: Indexed) =>
  ({ address: pool, data }: Log): DecodedEvent => {
    const amountInRaw = wordAt(data, 1)
    const amountOutRaw = wordAt(data, 3)
    return (
      invalidAmounts(amountInRaw, amountOutRaw) ?? {
        kind: 'swap',
        pool,
        defaultProtocol,
        tokenIn: leg(Number(wordAt(data, 0))),
        tokenOut: leg(Number(wordAt(data, 2))),
        unordered: 'many',
        amountInRaw,
        amountOutRaw,
      }
    )
  }

interface CurveExchange {
  readonly pool: string
  readonly change: Change
  readonly amountsRaw: readonly bigint[]
  readonly legs?: readonly Leg[]
}

const decodeExchange = (decoded: CurveExchange): DecodedEvent | undefined => {
  if (decoded.amountsRaw.every((amountRaw) => amountRaw === 0n)) return undefined
  return (
    impossible(decoded.amountsRaw) ?? {
      kind: 'change',
      defaultProtocol,
      unordered: 'many',
      ...decoded,
    }
  )
}

/** The words from `first` on are the amounts of all coins. */
const coins =
  (change: Change, count: number, first = 0) =>
  ({ address: pool, data }: Log): DecodedEvent | undefined => {
    const amountsRaw = Array.from({ length: count }, (_, index) => wordAt(data, first + index))
    return decodeExchange({ pool, change, amountsRaw })
  }

/** The first word says where the amounts of all coins are. */
const coinList =
  (change: Change) =>
  ({ address: pool, data }: Log): DecodedEvent | undefined => {
    const items = arrayAt(data, 0)
    if (items === undefined) return BAD_ARRAY
    return decodeExchange({ pool, change, amountsRaw: items.map((item) => wordAt(data, item)) })
  }

/** One coin, which words `index` and `amount` tell. */
const coinByAddress =
  (index: number, amount: number) =>
  ({ address: pool, data }: Log): DecodedEvent | undefined =>
    decodeExchange({
      pool,
      change: 'decrease',
      amountsRaw: [wordAt(data, amount)],
      legs: [Number(wordAt(data, index))],
    })

/** One coin, and nothing says which. */
const namelessCoin = (pool: string, amountRaw: bigint): DecodedEvent | undefined =>
  decodeExchange({
    pool,
    change: 'decrease',
    amountsRaw: [amountRaw],
    legs: [{ paidOutRaw: amountRaw }],
  })

/**
 * One event for two layouts: stable pools say (shares, amount, supply), crypto pools (shares, place of the coin, amount). A
 * number below eight is taken as a place; only the very amount leaving the pool makes either reading count.
 */
const coinByAddressOrIndex = ({ address: pool, data }: Log): DecodedEvent | undefined => {
  const second = wordAt(data, 1)
  return namelessCoin(pool, second < MAX_COINS ? wordAt(data, 2) : second)
}

const event = (signature: string, words: number, read: EvmEvent['read'], topics = 2): EvmEvent => ({
  signature,
  by: 'pool',
  topics,
  words,
  read,
})

/** A factory that says all: the pool is word 0, its coins stand from word `first` on. */
const deployed = (
  signature: string,
  shape: { readonly words: number; readonly first: number; readonly count: number },
): EvmEvent => ({
  signature,
  by: 'factory',
  topics: 1,
  words: shape.words,
  read: ({ address: factory, data }) => ({
    kind: 'pool',
    pool: addressIn(data, 0),
    factory,
    tokens: Array.from({ length: shape.count }, (_, at) => addressIn(data, shape.first + at)),
    feePips: null,
    opens: true,
  }),
})

const STABLE = 'address indexed provider, uint256[N] token_amounts, uint256[N] fees'
const stable = (name: string, count: number | '', tail: string): string =>
  `${name}(${STABLE.replaceAll('[N]', `[${count}]`)}, ${tail})`
const crypto = (name: string, count: number, tail: string): string =>
  `${name}(address indexed provider, uint256[${count}] token_amounts, ${tail})`

const ADDED = 'uint256 invariant, uint256 token_supply'
const ADDED_CRYPTO = 'uint256 fee, uint256 token_supply'
const ADDED_NG = `${ADDED_CRYPTO}, uint256 packed_price_scale`
const REMOVED = 'uint256 token_supply'

/**
 * All amounts are told. Fees stay in the pool: they are not part of what moved. A pool that takes a donation logs it as
 * `AddLiquidity` too: `Donation` itself is not read.
 */
const ALL_COINS: EvmFamily['events'] = {
  '0x26f55a85081d24974e85c6c00045d0f0453991e95873f52bff0d21af4079a768': event(
    stable('AddLiquidity', 2, ADDED),
    6,
    coins('increase', 2),
  ),
  '0x423f6495a08fc652425cf4ed0d1f9e37e571d9b9529b1c1c23cce780b2e7df0d': event(
    stable('AddLiquidity', 3, ADDED),
    8,
    coins('increase', 3),
  ),
  '0x3f1915775e0c9a38a57a7bb7f1f9005f486fb904e1f84aa215364d567319a58d': event(
    stable('AddLiquidity', 4, ADDED),
    10,
    coins('increase', 4),
  ),
  '0x189c623b666b1b45b83d7178f39b8c087cb09774317ca2f53c2d3c3726f222a2': event(
    stable('AddLiquidity', '', ADDED),
    6,
    coinList('increase'),
  ),
  '0x540ab385f9b5d450a27404172caade516b3ba3f4be88239ac56a2ad1de2a1f5a': event(
    crypto('AddLiquidity', 2, ADDED_CRYPTO),
    4,
    coins('increase', 2),
  ),
  '0x96b486485420b963edd3fdec0b0195730035600feb7de6f544383d7950fa97ee': event(
    crypto('AddLiquidity', 3, ADDED_CRYPTO),
    5,
    coins('increase', 3),
  ),
  '0x7196cbf63df1f2ec20638e683ebe51d18260be510592ee1e2efe3f3cfd4c33e9': event(
    crypto('AddLiquidity', 2, ADDED_NG),
    5,
    coins('increase', 2),
  ),
  '0xe1b60455bd9e33720b547f60e4e0cfbf1252d0f2ee0147d53029945f39fe3c1a': event(
    crypto('AddLiquidity', 3, ADDED_NG),
    6,
    coins('increase', 3),
  ),
  '0x0e1f3c59f25a027e14a3f55c68245d22089c42b1dcd09f123a11d4af3c0d6f72': event(
    'AddLiquidity(address indexed provider, address indexed receiver, uint256[2] token_amounts, uint256 fee, uint256 token_supply, uint256 price_scale)',
    5,
    coins('increase', 2),
    3,
  ),
  '0x7c363854ccf79623411f8995b362bce5eddff18c927edc6f5dbbb5e05819a82c': event(
    stable('RemoveLiquidity', 2, REMOVED),
    5,
    coins('decrease', 2),
  ),
  '0xa49d4cf02656aebf8c771f5a8585638a2a15ee6c97cf7205d4208ed7c1df252d': event(
    stable('RemoveLiquidity', 3, REMOVED),
    7,
    coins('decrease', 3),
  ),
  '0x9878ca375e106f2a43c3b599fc624568131c4c9a4ba66a14563715763be9d59d': event(
    stable('RemoveLiquidity', 4, REMOVED),
    9,
    coins('decrease', 4),
  ),
  '0x347ad828e58cbe534d8f6b67985d791360756b18f0d95fd9f197a66cc46480ea': event(
    stable('RemoveLiquidity', '', REMOVED),
    5,
    coinList('decrease'),
  ),
  '0xdd3c0336a16f1b64f172b7bb0dad5b2b3c7c76f91e8c4aafd6aae60dce800153': event(
    crypto('RemoveLiquidity', 2, REMOVED),
    3,
    coins('decrease', 2),
  ),
  '0xd6cc314a0b1e3b2579f8e64248e82434072e8271290eef8ad0886709304195f5': event(
    crypto('RemoveLiquidity', 3, REMOVED),
    4,
    coins('decrease', 3),
  ),
  '0x2b5508378d7e19e0d5fa338419034731416c4f5b219a10379956f764317fd47e': event(
    stable('RemoveLiquidityImbalance', 2, ADDED),
    6,
    coins('decrease', 2),
  ),
  '0x173599dbf9c6ca6f7c3b590df07ae98a45d74ff54065505141e7de6c46a624c2': event(
    stable('RemoveLiquidityImbalance', 3, ADDED),
    8,
    coins('decrease', 3),
  ),
  '0xb964b72f73f5ef5bf0fdc559b2fab9a7b12a39e47817a547f1f0aee47febd602': event(
    stable('RemoveLiquidityImbalance', 4, ADDED),
    10,
    coins('decrease', 4),
  ),
  '0x3631c28b1f9dd213e0319fb167b554d76b6c283a41143eb400a0d1adb1af1755': event(
    stable('RemoveLiquidityImbalance', '', ADDED),
    6,
    coinList('decrease'),
  ),
  '0x22f9ea3e7d7b113cb423896d2e121f96a66c17814ac7f63d69096769fa3e2a55': event(
    'RemoveLiquidityImbalance(address indexed provider, uint256 lp_token_amount, uint256[2] token_amounts, uint256 approx_fee, uint256 price_scale)',
    5,
    coins('decrease', 2, 1),
  ),
}

const ONE_COIN: EvmFamily['events'] = {
  '0x9e96dd3b997a2a257eec4df9bb6eaf626e206df5f543bd963682d143300be310': event(
    'RemoveLiquidityOne(address indexed provider, uint256 token_amount, uint256 coin_amount)',
    2,
    ({ address: pool, data }) => namelessCoin(pool, wordAt(data, 1)),
  ),
  '0x5ad056f2e28a8cec232015406b843668c1e36cda598127ec3b8c59b8c72773a0': event(
    'RemoveLiquidityOne(address indexed provider, uint256 token_amount, uint256 coin_amount, uint256 token_supply)',
    3,
    coinByAddressOrIndex,
  ),
  '0x6f48129db1f37ccb9cc5dd7e119cb32750cabdf75b48375d730d26ce3659bbe1': event(
    'RemoveLiquidityOne(address indexed provider, int128 token_id, uint256 token_amount, uint256 coin_amount, uint256 token_supply)',
    4,
    coinByAddress(0, 2),
  ),
  '0xe200e24d4a4c7cd367dd9befe394dc8a14e6d58c88ff5e2f512d65a9e0aa9c5c': event(
    'RemoveLiquidityOne(address indexed provider, uint256 token_amount, uint256 coin_index, uint256 coin_amount, uint256 approx_fee, uint256 packed_price_scale)',
    5,
    coinByAddress(1, 2),
  ),
}

/**
 * Pools of Curve: coins by their place, in an order of their own, the chain's coin under a name of its own. Sources:
 * curvefi/curve-contract, curve-crypto-contract, stableswap-ng, twocrypto-ng, tricrypto-ng. Factories
 * of stable and of older crypto pools do not say which pool they made: those are verified when they are first needed.
 */
export const curve: EvmFamily = {
  family: 'curve',
  verification: registryVerification,
  events: {
    '0x8b3e96f2b889fa771c53c981b40daf005f63f637f1869f707052d15a3dd97140': event(
      'TokenExchange(address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought)',
      4,
      swap(coin),
    ),
    '0xd013ca23e77a65003c2c659c5442c00c805371b7fc1ebd4c206c41d1536bd90b': event(
      'TokenExchangeUnderlying(address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought)',
      4,
      swap(underlyingCoin),
    ),
    '0xb2e76ae99761dc136e598d4a629bb347eccb9532a5f8bbd72e18467c3c34cc98': event(
      'TokenExchange(address indexed buyer, uint256 sold_id, uint256 tokens_sold, uint256 bought_id, uint256 tokens_bought)',
      4,
      swap(coin),
    ),
    '0x143f1f8e861fbdeddd5b46e844b7d3ac7b86a122f36e8c463859ee6811b1f29c': event(
      'TokenExchange(address indexed buyer, uint256 sold_id, uint256 tokens_sold, uint256 bought_id, uint256 tokens_bought, uint256 fee, uint256 packed_price_scale)',
      6,
      swap(coin),
    ),
    ...ALL_COINS,
    ...ONE_COIN,
    '0x8152a3037e3dc54154ad0d2cadb1cf7e1d1b9e2b625faa3dfb4fe03d609102ca': deployed(
      'TwocryptoPoolDeployed(address pool, string name, string symbol, address[2] coins, address math, bytes32 salt, uint256[2] precisions, uint256 packed_A_gamma, uint256 packed_fee_params, uint256 packed_rebalancing_params, uint256 packed_prices, address deployer)',
      { words: 14, first: 3, count: 2 },
    ),
    '0xa307f5d0802489baddec443058a63ce115756de9020e2b07d3e2cd2f21269e2a': deployed(
      'TricryptoPoolDeployed(address pool, string name, string symbol, address weth, address[3] coins, address math, bytes32 salt, uint256 packed_precisions, uint256 packed_A_gamma, uint256 packed_fee_params, uint256 packed_rebalancing_params, uint256 packed_prices, address deployer)',
      { words: 15, first: 4, count: 3 },
    ),
  },
}
