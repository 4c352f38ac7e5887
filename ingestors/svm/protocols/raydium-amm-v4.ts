import type { PoolChange, SvmInstruction } from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import { offsetsOf, u64, viewOf } from '../layout/layout.ts'
import { burnerBelow, type Moved, movedBelow } from './spl-token.ts'
import { holderOf, pathOf, type SvmScope, showPool } from './tx-context.ts'
import type { ReadInstruction, SvmFamily } from './types.ts'

/** `Program log: ray_log: <base64>`; the first byte is the type. Source: raydium-io/raydium-amm program/src/log.rs. */
const LOG_START = 'Program log: ray_log: '

const LOG = { deposit: 1, withdraw: 2, swapBaseIn: 3, swapBaseOut: 4 } as const

/** Both directions of a swap have this layout; `direction` 1 pays pc, 2 pays coin. */
const SWAP_LOG = offsetsOf({
  type: 'u8',
  amount: 'u64',
  limit: 'u64',
  direction: 'u64',
  userSource: 'u64',
  poolCoin: 'u64',
  poolPc: 'u64',
  counterAmount: 'u64',
})

const DEPOSIT_LOG = offsetsOf({
  type: 'u8',
  maxCoin: 'u64',
  maxPc: 'u64',
  base: 'u64',
  poolCoin: 'u64',
  poolPc: 'u64',
})

const WITHDRAW_LOG = offsetsOf({
  type: 'u8',
  withdrawLp: 'u64',
  userLp: 'u64',
  poolCoin: 'u64',
  poolPc: 'u64',
})

const LOGS: Readonly<
  Record<number, { readonly poolCoin: number; readonly poolPc: number; readonly end: number }>
> = {
  [LOG.deposit]: DEPOSIT_LOG,
  [LOG.withdraw]: WITHDRAW_LOG,
  [LOG.swapBaseIn]: SWAP_LOG,
  [LOG.swapBaseOut]: SWAP_LOG,
}

/** Pool amounts before the instruction, as [coin, pc]; undefined where its log was cut off. */
const poolBefore = (
  { logs }: SvmInstruction,
  wanted: readonly number[],
): readonly [bigint, bigint] | undefined => {
  for (const line of logs) {
    if (!line.startsWith(LOG_START)) continue
    const data = Buffer.from(line.slice(LOG_START.length), 'base64')
    const type = data[0] ?? -1
    const layout = LOGS[type]
    if (layout === undefined || !wanted.includes(type) || data.length < layout.end) continue
    const view = viewOf(data)
    return [u64(view, layout.poolCoin), u64(view, layout.poolPc)]
  }
  return undefined
}

/** Where a swap names its accounts; they grew shorter over time. */
interface Form {
  readonly coinVault: number
  readonly pcVault: number
  readonly user: number
}

const SHORT: Form = { coinVault: 3, pcVault: 4, user: 7 }
const WITHOUT_TARGET_ORDERS: Form = { coinVault: 4, pcVault: 5, user: 16 }
const WHOLE: Form = { coinVault: 5, pcVault: 6, user: 17 }

const POOL = 1

interface Context {
  readonly scope: SvmScope
  readonly row: ProtocolRow
  readonly program: string
  readonly instruction: ReadInstruction
  readonly at: number
}

const readSwap = (
  { scope, row, program, instruction, at }: Context,
  form: Form,
): string | undefined => {
  const { accounts } = instruction
  const pool = accounts[POOL]
  const coinVault = accounts[form.coinVault]
  const pcVault = accounts[form.pcVault]
  const trader = accounts[form.user]
  if (!pool || !coinVault || !pcVault || !trader) return 'missing-account'
  const [paid, got] = movedBelow(scope, at)
  if (paid === undefined || got === undefined) return 'no-transfers'
  const paysPc = paid.to === pcVault
  if (!paysPc && paid.to !== coinVault) return 'foreign-vault'
  if (got.from !== (paysPc ? coinVault : pcVault)) return 'foreign-vault'
  if (paid.amountRaw === 0n && got.amountRaw === 0n) return 'zero-amount'
  const tokenIn = mintOf(scope, paid)
  const tokenOut = mintOf(scope, got)
  if (tokenIn === undefined || tokenOut === undefined) return 'unknown-token'
  const before = poolBefore(instruction, [LOG.swapBaseIn, LOG.swapBaseOut])
  const reserves = before && reservesAfter(paysPc ? [before[1], before[0]] : before, paid, got)
  const [coin, pc] = paysPc ? [tokenOut, tokenIn] : [tokenIn, tokenOut]
  showPool(scope, { row, program }, { address: pool, tokenA: coin, tokenB: pc })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: at,
    path: pathOf(instruction),
    pool,
    protocol: row.id,
    trader,
    tokenIn,
    tokenOut,
    amountInRaw: paid.amountRaw,
    amountOutRaw: got.amountRaw,
    ...(reserves && { reservesInOut: reserves }),
    accounts: { userIn: paid.from, userOut: got.to, vaultIn: paid.to, vaultOut: got.from },
  })
  return undefined
}

/** Reserves as [of what was paid, of what was got]. */
const reservesAfter = (
  [inRaw, outRaw]: readonly [bigint, bigint],
  paid: Moved,
  got: Moved,
): readonly [bigint, bigint] => [inRaw + paid.amountRaw, outRaw - got.amountRaw]

const mintOf = (scope: SvmScope, { from, to, mint }: Moved): string | undefined =>
  mint ?? holderOf(scope, from)?.mint ?? holderOf(scope, to)?.mint

/** Accounts of deposits and withdrawals, the same in all their forms. */
const LIQUIDITY = { coinVault: 6, pcVault: 7 } as const

const readLiquidity = (
  { scope, row, program, instruction, at }: Context,
  kind: 'increase' | 'decrease',
): string | undefined => {
  const { accounts } = instruction
  const [pool, coinVault, pcVault] = [
    accounts[POOL],
    accounts[LIQUIDITY.coinVault],
    accounts[LIQUIDITY.pcVault],
  ]
  if (!pool || !coinVault || !pcVault) return 'missing-account'
  const adds = kind === 'increase'
  const moved = movedBelow(scope, at)
  const ofVault = (vault: string) =>
    moved.find(({ from, to }) => (adds ? to === vault : from === vault))
  const [coinMoved, pcMoved] = [ofVault(coinVault), ofVault(pcVault)]
  const coin = holderOf(scope, coinVault)?.mint
  const pc = holderOf(scope, pcVault)?.mint
  if (coin === undefined || pc === undefined) return 'unknown-token'
  const owner = adds ? (coinMoved ?? pcMoved)?.authority : burnerBelow(scope, at)
  if (owner === undefined) return 'no-transfers'
  const amountARaw = coinMoved?.amountRaw ?? 0n
  const amountBRaw = pcMoved?.amountRaw ?? 0n
  const before = poolBefore(instruction, [adds ? LOG.deposit : LOG.withdraw])
  const sign = adds ? 1n : -1n
  showPool(scope, { row, program }, { address: pool, tokenA: coin, tokenB: pc })
  scope.out.poolChanges.push({
    kind,
    txIndex: scope.tx.index,
    logIndex: at,
    path: pathOf(instruction),
    pool,
    protocol: row.id,
    owner,
    tokenA: coin,
    tokenB: pc,
    amountARaw,
    amountBRaw,
    ...(before && {
      reserves: [before[0] + sign * amountARaw, before[1] + sign * amountBRaw] as const,
    }),
  })
  return undefined
}

const INITIALIZE = offsetsOf({ tag: 'u8', nonce: 'u8', openTime: 'u64', pc: 'u64', coin: 'u64' })
const INITIALIZE_ACCOUNTS = { pool: 4, coin: 8, pc: 9, user: 17 } as const

const readInitialize = ({ scope, row, program, instruction, at }: Context): string | undefined => {
  const { accounts, data } = instruction
  const { pool: poolAt, coin: coinAt, pc: pcAt, user } = INITIALIZE_ACCOUNTS
  const [pool, coin, pc, owner] = [
    accounts[poolAt],
    accounts[coinAt],
    accounts[pcAt],
    accounts[user],
  ]
  if (!pool || !coin || !pc || !owner) return 'missing-account'
  if (data.length < INITIALIZE.end) return 'short-data'
  const view = viewOf(data)
  const reserves: PoolChange['reserves'] = [u64(view, INITIALIZE.coin), u64(view, INITIALIZE.pc)]
  showPool(scope, { row, program }, { address: pool, tokenA: coin, tokenB: pc })
  scope.out.poolChanges.push({
    kind: 'initialize',
    txIndex: scope.tx.index,
    logIndex: at,
    path: pathOf(instruction),
    pool,
    protocol: row.id,
    owner,
    tokenA: coin,
    tokenB: pc,
    amountARaw: reserves[0],
    amountBRaw: reserves[1],
    reserves,
  })
  return undefined
}

const longForm = (accounts: readonly string[]): Form =>
  accounts.length > WITHOUT_TARGET_ORDERS.user + 1 ? WHOLE : WITHOUT_TARGET_ORDERS

const swapLong = (context: Context) => readSwap(context, longForm(context.instruction.accounts))
const swapShort = (context: Context) => readSwap(context, SHORT)

/** Instructions by their first byte. Source: raydium-io/raydium-amm program/src/instruction.rs. */
const INSTRUCTIONS: Readonly<Record<number, (context: Context) => string | undefined>> = {
  1: readInitialize, // initialize2
  3: (context) => readLiquidity(context, 'increase'), // deposit
  4: (context) => readLiquidity(context, 'decrease'), // withdraw
  9: swapLong, // swapBaseIn
  11: swapLong, // swapBaseOut
  16: swapShort, // swapBaseInV2
  17: swapShort, // swapBaseOutV2
}

/** Raydium's first AMM, no Anchor program: amounts are its own token transfers, reserves its log; contract/chains.md 4.4. */
export const raydiumAmmV4: SvmFamily = {
  family: 'raydium_amm_v4',
  reader: (row, program) => (scope, instruction, at) => {
    const read = INSTRUCTIONS[instruction.data[0] ?? -1]
    return read?.({ scope, row, program, instruction, at })
  },
}
