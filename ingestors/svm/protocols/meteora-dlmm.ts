import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import { fieldOffsets, matchDiscriminator } from '../layout/borsh-layout.ts'
import { instructionPath, poolOrDrop, registerPool, type SvmTxContext } from './tx-context.ts'
import {
  EVENT_FIELDS_OFFSET,
  type EventType,
  emittedAlso,
  eventU64,
  type ProgramEvent,
  readCpiEvents,
  type SvmFamily,
} from './types.ts'
import { addVaultSwap, vaultBalancesAfter } from './vault-swap.ts'

/** Where every form of a swap names its accounts. */
const SWAP = {
  pool: 0,
  vaultX: 2,
  vaultY: 3,
  userIn: 4,
  userOut: 5,
  tokenX: 6,
  tokenY: 7,
  user: 10,
} as const

const isSwap = matchDiscriminator<true>({
  f8c69e91e17587c8: true, // swap
  '414b3f4ceb5b5b88': true, // swap2
  fa49652126cf4bb8: true, // swap_exact_out
  '2bd7f784893cf351': true, // swap_exact_out2
  '38ade6d0ade49ccd': true, // swap_with_price_impact
  '4a62c0d6b1334b33': true, // swap_with_price_impact2
})

const SWAP_EVENT = fieldOffsets({
  pool: 'key',
  from: 'key',
  startBin: 'i32',
  endBin: 'i32',
  amountIn: 'u64',
  amountOut: 'u64',
  paysX: 'bool',
})

/** Since 2026, beside the first layout or in its place. */
const SWAP_2_EVENT = fieldOffsets({
  pool: 'key',
  from: 'key',
  startBin: 'i32',
  endBin: 'i32',
  paysX: 'bool',
  feeBasisPoints: 'u128',
  amountIn: 'u64',
  amountLeft: 'u64',
  amountOut: 'u64',
})

const SWAP_2_DISCRIMINATOR = '2e7452d7941b544d'

const readSwap = (
  scope: SvmTxContext,
  event: ProgramEvent,
  layout: Readonly<Record<'amountIn' | 'amountOut' | 'paysX', number>>,
): DropReason | undefined => {
  const { accounts, data } = event.caller
  if (isSwap(data, 0) === undefined) return 'unknown-instruction'
  if (accounts.length <= SWAP.user) return 'missing-account'
  const named = (index: number): string => accounts[index] ?? ''
  return addVaultSwap(scope, event, {
    pool: named(SWAP.pool),
    trader: named(SWAP.user),
    tokens: [named(SWAP.tokenX), named(SWAP.tokenY)],
    vaults: [named(SWAP.vaultX), named(SWAP.vaultY)],
    firstTokenIn: event.view.getUint8(EVENT_FIELDS_OFFSET + layout.paysX) !== 0,
    userIn: named(SWAP.userIn),
    userOut: named(SWAP.userOut),
    reportedRaw: [eventU64(event, layout.amountIn), eventU64(event, layout.amountOut)],
  })
}

const readSwapEvent: EventType['read'] = (scope, event) =>
  emittedAlso(scope, event, SWAP_2_DISCRIMINATOR) ? undefined : readSwap(scope, event, SWAP_EVENT)
const readSwap2Event: EventType['read'] = (scope, event) => readSwap(scope, event, SWAP_2_EVENT)

/** Where an instruction that moves liquidity names its accounts; one-sided ones name one token and one vault. */
interface LiquidityAccountLayout {
  readonly pool: number
  readonly user: number
  readonly tokens: readonly [x: number, y: number] | null
  readonly vaults: readonly [x: number, y: number] | null
}

const LIQUIDITY_WITH_BIN_ARRAYS: LiquidityAccountLayout = {
  pool: 1,
  user: 11,
  tokens: [7, 8],
  vaults: [5, 6],
}
const LIQUIDITY_V2: LiquidityAccountLayout = { pool: 1, user: 9, tokens: [7, 8], vaults: [5, 6] }
const ONE_SIDE_WITH_BIN_ARRAYS: LiquidityAccountLayout = {
  pool: 1,
  user: 8,
  tokens: null,
  vaults: null,
}
const ONE_SIDE_V2: LiquidityAccountLayout = { pool: 1, user: 6, tokens: null, vaults: null }
const INITIALIZE_PAIR: LiquidityAccountLayout = { pool: 0, user: 8, tokens: [2, 3], vaults: null }
const INITIALIZE_PERMISSION_PAIR: LiquidityAccountLayout = {
  pool: 1,
  user: 8,
  tokens: [3, 4],
  vaults: null,
}

const accountLayoutOf = matchDiscriminator<LiquidityAccountLayout>({
  b59d59438fb63448: LIQUIDITY_WITH_BIN_ARRAYS, // add_liquidity
  '0703967f94283dc8': LIQUIDITY_WITH_BIN_ARRAYS, // add_liquidity_by_strategy
  '1c8cee63e7a21595': LIQUIDITY_WITH_BIN_ARRAYS, // add_liquidity_by_weight
  e4a24e1c46db7473: LIQUIDITY_V2, // add_liquidity2
  '03dd95da6f8d76d5': LIQUIDITY_V2, // add_liquidity_by_strategy2
  d13b3f5b6fc899e4: LIQUIDITY_V2, // add_liquidity_by_weight2
  '5e9b6797465fdca5': ONE_SIDE_WITH_BIN_ARRAYS, // add_liquidity_one_side
  '2905eeaf64e106cd': ONE_SIDE_WITH_BIN_ARRAYS, // add_liquidity_by_strategy_one_side
  a1c26754ab47fa9a: ONE_SIDE_WITH_BIN_ARRAYS, // add_liquidity_one_side_precise
  '2133a3c975627de7': ONE_SIDE_V2, // add_liquidity_one_side_precise2
  '5055d14818ceb16c': LIQUIDITY_WITH_BIN_ARRAYS, // remove_liquidity
  '0a333d2370691855': LIQUIDITY_WITH_BIN_ARRAYS, // remove_all_liquidity
  '1a526698f04a691a': LIQUIDITY_WITH_BIN_ARRAYS, // remove_liquidity_by_range
  e6d7527ff165e392: LIQUIDITY_V2, // remove_liquidity2
  cc02c391359191cd: LIQUIDITY_V2, // remove_liquidity_by_range2
  '5c04b0c177b95309': LIQUIDITY_V2, // rebalance_liquidity
  '2d9aedd2dd0fa65c': INITIALIZE_PAIR, // initialize_lb_pair
  '493b2478ed536cc6': INITIALIZE_PAIR, // initialize_lb_pair2
  '2e2729876fb7c840': INITIALIZE_PAIR, // initialize_customizable_permissionless_lb_pair
  f349817e3313f16b: INITIALIZE_PAIR, // initialize_customizable_permissionless_lb_pair2
  '6c66d555fb033515': INITIALIZE_PERMISSION_PAIR, // initialize_permission_lb_pair
})

type AmountsXY = readonly [xRaw: bigint, yRaw: bigint]

interface LiquidityChange {
  readonly kind: PoolLiquidityChange['kind']
  readonly amounts: AmountsXY
  /** What the same instruction added after this change. */
  readonly addedLater?: AmountsXY
}

/** Takes changes of a pool; those of nothing are left out but for its opening. */
const addPoolChanges = (
  scope: SvmTxContext,
  event: ProgramEvent,
  changes: readonly LiquidityChange[],
): DropReason | undefined => {
  const { accounts, data } = event.caller
  const form = accountLayoutOf(data, 0)
  if (form === undefined) return 'unknown-instruction'
  const pool = accounts[form.pool]
  const owner = accounts[form.user]
  if (pool === undefined || owner === undefined) return 'missing-account'
  const tokens = poolTokensOf(scope, accounts, form)
  if (tokens === undefined) return 'unknown-token'
  const [tokenA, tokenB] = tokens
  const vaults = form.vaults?.map((index) => accounts[index] ?? '')
  const reserves = vaults && vaultBalancesAfter(scope, event, [vaults[0] ?? '', vaults[1] ?? ''])
  registerPool(scope, event, { address: pool, tokenA, tokenB })
  for (const { kind, amounts, addedLater: later = [0n, 0n] } of changes) {
    const [amountARaw, amountBRaw] = amounts
    const opens = kind === 'initialize'
    if (!opens && amountARaw === 0n && amountBRaw === 0n) continue
    const left: AmountsXY | undefined = opens
      ? amounts
      : reserves && [reserves[0] - later[0], reserves[1] - later[1]]
    scope.out.poolChanges.push({
      kind,
      txIndex: scope.tx.index,
      logIndex: event.callerIndex,
      path: instructionPath(event.caller),
      pool,
      protocol: event.row.id,
      owner,
      tokenA,
      tokenB,
      amountARaw,
      amountBRaw,
      ...(left && { reserves: left }),
    })
  }
  return undefined
}

/** A one-sided instruction names one token: which side that is, and the other one, only the pool knows. */
const poolTokensOf = (
  scope: SvmTxContext,
  accounts: readonly string[],
  { pool, tokens }: LiquidityAccountLayout,
): readonly [string, string] | undefined => {
  if (tokens !== null) {
    const [x, y] = [accounts[tokens[0]], accounts[tokens[1]]]
    return x === undefined || y === undefined ? undefined : [x, y]
  }
  const metadata = poolOrDrop(scope, accounts[pool] ?? '')
  return metadata && [metadata.tokenA, metadata.tokenB]
}

const LIQUIDITY = fieldOffsets({
  pool: 'key',
  from: 'key',
  position: 'key',
  amountX: 'u64',
  amountY: 'u64',
})

const readLiquidity =
  (kind: PoolLiquidityChange['kind']): EventType['read'] =>
  (scope, event) => {
    const amounts: AmountsXY = [
      eventU64(event, LIQUIDITY.amountX),
      eventU64(event, LIQUIDITY.amountY),
    ]
    return addPoolChanges(scope, event, [{ kind, amounts }])
  }

const REBALANCE_EVENT = fieldOffsets({
  pool: 'key',
  position: 'key',
  owner: 'key',
  activeBin: 'i32',
  withdrawnX: 'u64',
  addedX: 'u64',
  withdrawnY: 'u64',
  addedY: 'u64',
})

const readRebalance: EventType['read'] = (scope, event) => {
  const { withdrawnX, withdrawnY, addedX, addedY } = REBALANCE_EVENT
  const withdrawn: AmountsXY = [eventU64(event, withdrawnX), eventU64(event, withdrawnY)]
  const added: AmountsXY = [eventU64(event, addedX), eventU64(event, addedY)]
  return addPoolChanges(scope, event, [
    { kind: 'decrease', amounts: withdrawn, addedLater: added },
    { kind: 'increase', amounts: added },
  ])
}

const PAIR_CREATED_EVENT = fieldOffsets({
  pool: 'key',
  binStep: 'u16',
  tokenX: 'key',
  tokenY: 'key',
})

const readPairCreated: EventType['read'] = (scope, event) =>
  addPoolChanges(scope, event, [{ kind: 'initialize', amounts: [0n, 0n] }])

/** Meteora's pools of price bins. Source: MeteoraAg/dlmm-sdk idls/dlmm.json. */
export const meteoraDlmm: SvmFamily = {
  family: 'meteora_dlmm',
  reader: readCpiEvents({
    '516ce3becdd00ac4': { bytes: SWAP_EVENT.end, read: readSwapEvent }, // Swap
    [SWAP_2_DISCRIMINATOR]: { bytes: SWAP_2_EVENT.end, read: readSwap2Event }, // Swap2Evt
    '1f5e7d5ae3343dba': { bytes: LIQUIDITY.end, read: readLiquidity('increase') }, // AddLiquidity
    '74f461e8671f983a': { bytes: LIQUIDITY.end, read: readLiquidity('decrease') }, // RemoveLiquidity
    '006d75b33d5bc7c8': { bytes: REBALANCE_EVENT.end, read: readRebalance }, // Rebalancing
    b94afc7d1bd7bc6f: { bytes: PAIR_CREATED_EVENT.end, read: readPairCreated }, // LbPairCreate
  }),
}
