import type { PoolChange } from '../../../schemas/events.ts'
import { byTag, offsetsOf, u64 } from '../layout/layout.ts'
import { knownPool, pathOf, type SvmScope, showPool } from './tx-context.ts'
import {
  alsoTold,
  type CpiEvent,
  EVENT_START,
  type EventRow,
  type SvmFamily,
  selfCalls,
} from './types.ts'
import { takeVaultSwap, vaultsAfter } from './vault-swap.ts'

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

const isSwap = byTag<true>({
  f8c69e91e17587c8: true, // swap
  '414b3f4ceb5b5b88': true, // swap2
  fa49652126cf4bb8: true, // swap_exact_out
  '2bd7f784893cf351': true, // swap_exact_out2
  '38ade6d0ade49ccd': true, // swap_with_price_impact
  '4a62c0d6b1334b33': true, // swap_with_price_impact2
})

const SWAPPED = offsetsOf({
  pool: 'key',
  from: 'key',
  startBin: 'i32',
  endBin: 'i32',
  amountIn: 'u64',
  amountOut: 'u64',
  paysX: 'bool',
})

/** Since 2026, beside the first layout or in its place. */
const SWAPPED_2 = offsetsOf({
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

const SWAPPED_2_TAG = '2e7452d7941b544d'

const amount = ({ view }: CpiEvent, offset: number): bigint => u64(view, EVENT_START + offset)

const readSwap = (
  scope: SvmScope,
  event: CpiEvent,
  layout: Readonly<Record<'amountIn' | 'amountOut' | 'paysX', number>>,
): string | undefined => {
  const { accounts, data } = event.caller
  if (isSwap(data, 0) === undefined) return 'unknown-instruction'
  if (accounts.length <= SWAP.user) return 'missing-account'
  const named = (index: number): string => accounts[index] ?? ''
  return takeVaultSwap(scope, event, {
    pool: named(SWAP.pool),
    trader: named(SWAP.user),
    tokens: [named(SWAP.tokenX), named(SWAP.tokenY)],
    vaults: [named(SWAP.vaultX), named(SWAP.vaultY)],
    paysFirst: event.view.getUint8(EVENT_START + layout.paysX) !== 0,
    userIn: named(SWAP.userIn),
    userOut: named(SWAP.userOut),
    toldRaw: [amount(event, layout.amountIn), amount(event, layout.amountOut)],
  })
}

const readFirst: EventRow['read'] = (scope, event) =>
  alsoTold(scope, event, SWAPPED_2_TAG) ? undefined : readSwap(scope, event, SWAPPED)
const readSecond: EventRow['read'] = (scope, event) => readSwap(scope, event, SWAPPED_2)

/** Where an instruction that moves liquidity names its accounts; one-sided ones name one token and one vault. */
interface Form {
  readonly pool: number
  readonly user: number
  readonly tokens: readonly [x: number, y: number] | null
  readonly vaults: readonly [x: number, y: number] | null
}

const WITH_BINS: Form = { pool: 1, user: 11, tokens: [7, 8], vaults: [5, 6] }
const BOTH: Form = { pool: 1, user: 9, tokens: [7, 8], vaults: [5, 6] }
const ONE_WITH_BINS: Form = { pool: 1, user: 8, tokens: null, vaults: null }
const ONE: Form = { pool: 1, user: 6, tokens: null, vaults: null }
const OPENS: Form = { pool: 0, user: 8, tokens: [2, 3], vaults: null }
const OPENS_PERMISSIONED: Form = { pool: 1, user: 8, tokens: [3, 4], vaults: null }

const formOf = byTag<Form>({
  b59d59438fb63448: WITH_BINS, // add_liquidity
  '0703967f94283dc8': WITH_BINS, // add_liquidity_by_strategy
  '1c8cee63e7a21595': WITH_BINS, // add_liquidity_by_weight
  e4a24e1c46db7473: BOTH, // add_liquidity2
  '03dd95da6f8d76d5': BOTH, // add_liquidity_by_strategy2
  d13b3f5b6fc899e4: BOTH, // add_liquidity_by_weight2
  '5e9b6797465fdca5': ONE_WITH_BINS, // add_liquidity_one_side
  '2905eeaf64e106cd': ONE_WITH_BINS, // add_liquidity_by_strategy_one_side
  a1c26754ab47fa9a: ONE_WITH_BINS, // add_liquidity_one_side_precise
  '2133a3c975627de7': ONE, // add_liquidity_one_side_precise2
  '5055d14818ceb16c': WITH_BINS, // remove_liquidity
  '0a333d2370691855': WITH_BINS, // remove_all_liquidity
  '1a526698f04a691a': WITH_BINS, // remove_liquidity_by_range
  e6d7527ff165e392: BOTH, // remove_liquidity2
  cc02c391359191cd: BOTH, // remove_liquidity_by_range2
  '5c04b0c177b95309': BOTH, // rebalance_liquidity
  '2d9aedd2dd0fa65c': OPENS, // initialize_lb_pair
  '493b2478ed536cc6': OPENS, // initialize_lb_pair2
  '2e2729876fb7c840': OPENS, // initialize_customizable_permissionless_lb_pair
  f349817e3313f16b: OPENS, // initialize_customizable_permissionless_lb_pair2
  '6c66d555fb033515': OPENS_PERMISSIONED, // initialize_permission_lb_pair
})

type Amounts = readonly [xRaw: bigint, yRaw: bigint]

interface Change {
  readonly kind: PoolChange['kind']
  readonly amounts: Amounts
  /** What the same instruction added after this change. */
  readonly later?: Amounts
}

/** Takes changes of a pool; those of nothing are left out but for its opening. */
const takeChanges = (
  scope: SvmScope,
  event: CpiEvent,
  changes: readonly Change[],
): string | undefined => {
  const { accounts, data } = event.caller
  const form = formOf(data, 0)
  if (form === undefined) return 'unknown-instruction'
  const pool = accounts[form.pool]
  const owner = accounts[form.user]
  if (pool === undefined || owner === undefined) return 'missing-account'
  const tokens = tokensOf(scope, accounts, form)
  if (tokens === undefined) return 'unknown-token'
  const [tokenA, tokenB] = tokens
  const vaults = form.vaults?.map((index) => accounts[index] ?? '')
  const reserves = vaults && vaultsAfter(scope, event, [vaults[0] ?? '', vaults[1] ?? ''])
  showPool(scope, event, { address: pool, tokenA, tokenB })
  for (const { kind, amounts, later = [0n, 0n] } of changes) {
    const [amountARaw, amountBRaw] = amounts
    const opens = kind === 'initialize'
    if (!opens && amountARaw === 0n && amountBRaw === 0n) continue
    const left: Amounts | undefined = opens
      ? amounts
      : reserves && [reserves[0] - later[0], reserves[1] - later[1]]
    scope.out.poolChanges.push({
      kind,
      txIndex: scope.tx.index,
      logIndex: event.callerAt,
      path: pathOf(event.caller),
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
const tokensOf = (
  scope: SvmScope,
  accounts: readonly string[],
  { pool, tokens }: Form,
): readonly [string, string] | undefined => {
  if (tokens !== null) {
    const [x, y] = [accounts[tokens[0]], accounts[tokens[1]]]
    return x === undefined || y === undefined ? undefined : [x, y]
  }
  const fact = knownPool(scope, accounts[pool] ?? '')
  return fact && [fact.tokenA, fact.tokenB]
}

const LIQUIDITY = offsetsOf({
  pool: 'key',
  from: 'key',
  position: 'key',
  amountX: 'u64',
  amountY: 'u64',
})

const readLiquidity =
  (kind: PoolChange['kind']): EventRow['read'] =>
  (scope, event) => {
    const amounts: Amounts = [amount(event, LIQUIDITY.amountX), amount(event, LIQUIDITY.amountY)]
    return takeChanges(scope, event, [{ kind, amounts }])
  }

const REBALANCED = offsetsOf({
  pool: 'key',
  position: 'key',
  owner: 'key',
  activeBin: 'i32',
  withdrawnX: 'u64',
  addedX: 'u64',
  withdrawnY: 'u64',
  addedY: 'u64',
})

const readRebalanced: EventRow['read'] = (scope, event) => {
  const { withdrawnX, withdrawnY, addedX, addedY } = REBALANCED
  const withdrawn: Amounts = [amount(event, withdrawnX), amount(event, withdrawnY)]
  const added: Amounts = [amount(event, addedX), amount(event, addedY)]
  return takeChanges(scope, event, [
    { kind: 'decrease', amounts: withdrawn, later: added },
    { kind: 'increase', amounts: added },
  ])
}

const CREATED = offsetsOf({ pool: 'key', binStep: 'u16', tokenX: 'key', tokenY: 'key' })

const readCreated: EventRow['read'] = (scope, event) =>
  takeChanges(scope, event, [{ kind: 'initialize', amounts: [0n, 0n] }])

/** Meteora's pools of price bins; contract/chains.md 4.6. Source: MeteoraAg/dlmm-sdk idls/dlmm.json. */
export const meteoraDlmm: SvmFamily = {
  family: 'meteora_dlmm',
  reader: selfCalls({
    '516ce3becdd00ac4': { bytes: SWAPPED.end, read: readFirst }, // Swap
    [SWAPPED_2_TAG]: { bytes: SWAPPED_2.end, read: readSecond }, // Swap2Evt
    '1f5e7d5ae3343dba': { bytes: LIQUIDITY.end, read: readLiquidity('increase') }, // AddLiquidity
    '74f461e8671f983a': { bytes: LIQUIDITY.end, read: readLiquidity('decrease') }, // RemoveLiquidity
    '006d75b33d5bc7c8': { bytes: REBALANCED.end, read: readRebalanced }, // Rebalancing
    b94afc7d1bd7bc6f: { bytes: CREATED.end, read: readCreated }, // LbPairCreate
  }),
}
