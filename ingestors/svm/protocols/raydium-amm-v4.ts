import { isFeeOnInputSwap } from '../../../core/prices/fee-on-input.ts'
import type { DropReason } from '../../../schemas/drop-reasons.ts'
import type { PoolLiquidityChange, SvmInstruction, Swap } from '../../../schemas/events.ts'
import type { ProtocolRow } from '../../../schemas/protocols.ts'
import { dataViewOf, fieldOffsets, u64 } from '../layout/borsh-layout.ts'
import { burnAuthorityBelow, innerTransfers, type TokenTransfer } from './spl-token.ts'
import { instructionPath, registerPool, type SvmTxContext, tokenAccountOf } from './tx-context.ts'
import type { InstructionWithData, SvmFamily } from './types.ts'
import { mintOfTransfer } from './vault-hops.ts'

/** `Program log: ray_log: <base64>`; the first byte is the type. Source: raydium-io/raydium-amm program/src/log.rs. */
const RAY_LOG_PREFIX = 'Program log: ray_log: '

const LOG_TYPE = { deposit: 1, withdraw: 2, swapBaseIn: 3, swapBaseOut: 4 } as const

/** Both directions of a swap have this layout; `direction` 1 pays pc, 2 pays coin. */
const SWAP_LOG = fieldOffsets({
  type: 'u8',
  amount: 'u64',
  limit: 'u64',
  direction: 'u64',
  userSource: 'u64',
  poolCoin: 'u64',
  poolPc: 'u64',
  counterAmount: 'u64',
})

const DEPOSIT_LOG = fieldOffsets({
  type: 'u8',
  maxCoin: 'u64',
  maxPc: 'u64',
  base: 'u64',
  poolCoin: 'u64',
  poolPc: 'u64',
})

const WITHDRAW_LOG = fieldOffsets({
  type: 'u8',
  withdrawLp: 'u64',
  userLp: 'u64',
  poolCoin: 'u64',
  poolPc: 'u64',
})

const LOG_LAYOUTS: Readonly<
  Record<number, { readonly poolCoin: number; readonly poolPc: number; readonly end: number }>
> = {
  [LOG_TYPE.deposit]: DEPOSIT_LOG,
  [LOG_TYPE.withdraw]: WITHDRAW_LOG,
  [LOG_TYPE.swapBaseIn]: SWAP_LOG,
  [LOG_TYPE.swapBaseOut]: SWAP_LOG,
}

/** Pool amounts before the instruction, as [coin, pc]; undefined where its log was cut off. */
const reservesBefore = (
  { logs }: SvmInstruction,
  wanted: readonly number[],
): readonly [bigint, bigint] | undefined => {
  for (const line of logs) {
    if (!line.startsWith(RAY_LOG_PREFIX)) continue
    const data = Buffer.from(line.slice(RAY_LOG_PREFIX.length), 'base64')
    const type = data[0] ?? -1
    const layout = LOG_LAYOUTS[type]
    if (layout === undefined || !wanted.includes(type) || data.length < layout.end) continue
    const view = dataViewOf(data)
    return [u64(view, layout.poolCoin), u64(view, layout.poolPc)]
  }
  return undefined
}

/** Where a swap names its accounts; they grew shorter over time. */
interface SwapAccountLayout {
  readonly coinVault: number
  readonly pcVault: number
  readonly user: number
}

const SWAP_V2_ACCOUNTS: SwapAccountLayout = { coinVault: 3, pcVault: 4, user: 7 }
const SWAP_ACCOUNTS_NO_TARGET_ORDERS: SwapAccountLayout = { coinVault: 4, pcVault: 5, user: 16 }
const SWAP_ACCOUNTS_WITH_TARGET_ORDERS: SwapAccountLayout = { coinVault: 5, pcVault: 6, user: 17 }

const POOL_ACCOUNT = 1

interface InstructionContext {
  readonly scope: SvmTxContext
  readonly row: ProtocolRow
  readonly program: string
  readonly instruction: InstructionWithData
  readonly at: number
}

const readSwap = (
  { scope, row, program, instruction, at }: InstructionContext,
  form: SwapAccountLayout,
): DropReason | undefined => {
  const { accounts } = instruction
  const pool = accounts[POOL_ACCOUNT]
  const coinVault = accounts[form.coinVault]
  const pcVault = accounts[form.pcVault]
  const trader = accounts[form.user]
  if (!pool || !coinVault || !pcVault || !trader) return 'missing-account'
  const [paid, got] = innerTransfers(scope, at)
  if (paid === undefined || got === undefined) return 'no-transfers'
  const paysPc = paid.to === pcVault
  if (!paysPc && paid.to !== coinVault) return 'unexpected-vault'
  if (got.from !== (paysPc ? coinVault : pcVault)) return 'unexpected-vault'
  if (paid.amountRaw === 0n && got.amountRaw === 0n) return 'zero-amount'
  const tokenIn = mintOfTransfer(scope, paid)
  const tokenOut = mintOfTransfer(scope, got)
  if (tokenIn === undefined || tokenOut === undefined) return 'unknown-token'
  const before = reservesBefore(instruction, [LOG_TYPE.swapBaseIn, LOG_TYPE.swapBaseOut])
  const reserves = before && reservesAfter(paysPc ? [before[1], before[0]] : before, paid, got)
  const [coin, pc] = paysPc ? [tokenOut, tokenIn] : [tokenIn, tokenOut]
  registerPool(scope, { row, program }, { address: pool, tokenA: coin, tokenB: pc })
  scope.out.swaps.push({
    kind: 'swap',
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
    pool,
    protocol: row.id,
    trader,
    tokenIn,
    tokenOut,
    amountInRaw: paid.amountRaw,
    amountOutRaw: got.amountRaw,
    ...(reserves && { reservesInOut: reserves }),
    ...pricingField(before && (paysPc ? [before[1], before[0]] : before), paid, got),
    accounts: { userIn: paid.from, userOut: got.to, vaultIn: paid.to, vaultOut: got.from },
  })
  return undefined
}

/** Reserves as [of what was paid, of what was got]. */
const reservesAfter = (
  [inRaw, outRaw]: readonly [bigint, bigint],
  paid: TokenTransfer,
  got: TokenTransfer,
): readonly [bigint, bigint] => [inRaw + paid.amountRaw, outRaw - got.amountRaw]

/** Fee of every pool as the program opens it, hundredths of a basis point. */
const FEE_PIPS = 2_500

/** What a swap proves of the pool: nothing where another fee than the usual one explains its amounts. */
const pricingField = (
  found: readonly [bigint, bigint] | undefined,
  paid: TokenTransfer,
  got: TokenTransfer,
): Pick<Swap, 'pricing'> | undefined => {
  if (found === undefined) return undefined
  const pool = { in: found[0], out: found[1], feePips: FEE_PIPS }
  if (!isFeeOnInputSwap(pool, paid.amountRaw, got.amountRaw)) return undefined
  const reserves = reservesAfter(found, paid, got)
  return { pricing: { reserves, found, feePips: [FEE_PIPS], feeToken: null } }
}

/** Accounts of deposits and withdrawals, the same in all their forms. */
const LIQUIDITY_ACCOUNTS = { coinVault: 6, pcVault: 7 } as const

const readLiquidity = (
  { scope, row, program, instruction, at }: InstructionContext,
  kind: 'increase' | 'decrease',
): DropReason | undefined => {
  const { accounts } = instruction
  const [pool, coinVault, pcVault] = [
    accounts[POOL_ACCOUNT],
    accounts[LIQUIDITY_ACCOUNTS.coinVault],
    accounts[LIQUIDITY_ACCOUNTS.pcVault],
  ]
  if (!pool || !coinVault || !pcVault) return 'missing-account'
  const adds = kind === 'increase'
  const moved = innerTransfers(scope, at)
  const ofVault = (vault: string) =>
    moved.find(({ from, to }) => (adds ? to === vault : from === vault))
  const [coinMoved, pcMoved] = [ofVault(coinVault), ofVault(pcVault)]
  const coin = tokenAccountOf(scope, coinVault)?.mint
  const pc = tokenAccountOf(scope, pcVault)?.mint
  if (coin === undefined || pc === undefined) return 'unknown-token'
  const owner = adds ? (coinMoved ?? pcMoved)?.authority : burnAuthorityBelow(scope, at)
  if (owner === undefined) return 'no-transfers'
  const amountARaw = coinMoved?.amountRaw ?? 0n
  const amountBRaw = pcMoved?.amountRaw ?? 0n
  const before = reservesBefore(instruction, [adds ? LOG_TYPE.deposit : LOG_TYPE.withdraw])
  const sign = adds ? 1n : -1n
  const reserves =
    before && ([before[0] + sign * amountARaw, before[1] + sign * amountBRaw] as const)
  registerPool(scope, { row, program }, { address: pool, tokenA: coin, tokenB: pc })
  scope.out.poolChanges.push({
    kind,
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
    pool,
    protocol: row.id,
    owner,
    tokenA: coin,
    tokenB: pc,
    amountARaw,
    amountBRaw,
    ...(before &&
      reserves && {
        reserves,
        pricing: { reserves, found: before, feePips: [], feeToken: null },
      }),
  })
  return undefined
}

const INITIALIZE = fieldOffsets({ tag: 'u8', nonce: 'u8', openTime: 'u64', pc: 'u64', coin: 'u64' })
const INITIALIZE_ACCOUNTS = { pool: 4, coin: 8, pc: 9, user: 17 } as const

const readInitialize = ({
  scope,
  row,
  program,
  instruction,
  at,
}: InstructionContext): DropReason | undefined => {
  const { accounts, data } = instruction
  const { pool: poolAt, coin: coinAt, pc: pcAt, user } = INITIALIZE_ACCOUNTS
  const [pool, coin, pc, owner] = [
    accounts[poolAt],
    accounts[coinAt],
    accounts[pcAt],
    accounts[user],
  ]
  if (!pool || !coin || !pc || !owner) return 'missing-account'
  if (data.length < INITIALIZE.end) return 'truncated-data'
  const view = dataViewOf(data)
  const reserves: PoolLiquidityChange['reserves'] = [
    u64(view, INITIALIZE.coin),
    u64(view, INITIALIZE.pc),
  ]
  registerPool(scope, { row, program }, { address: pool, tokenA: coin, tokenB: pc })
  scope.out.poolChanges.push({
    kind: 'initialize',
    txIndex: scope.tx.index,
    logIndex: at,
    path: instructionPath(instruction),
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

const swapAccountLayoutOf = (accounts: readonly string[]): SwapAccountLayout =>
  accounts.length > SWAP_ACCOUNTS_NO_TARGET_ORDERS.user + 1
    ? SWAP_ACCOUNTS_WITH_TARGET_ORDERS
    : SWAP_ACCOUNTS_NO_TARGET_ORDERS

const readSwapV1 = (context: InstructionContext) =>
  readSwap(context, swapAccountLayoutOf(context.instruction.accounts))
const readSwapV2 = (context: InstructionContext) => readSwap(context, SWAP_V2_ACCOUNTS)

/** Instructions by their first byte. Source: raydium-io/raydium-amm program/src/instruction.rs. */
const INSTRUCTIONS: Readonly<
  Record<number, (context: InstructionContext) => DropReason | undefined>
> = {
  1: readInitialize, // initialize2
  3: (context) => readLiquidity(context, 'increase'), // deposit
  4: (context) => readLiquidity(context, 'decrease'), // withdraw
  9: readSwapV1, // swapBaseIn
  11: readSwapV1, // swapBaseOut
  16: readSwapV2, // swapBaseInV2
  17: readSwapV2, // swapBaseOutV2
}

/** Raydium's first AMM, no Anchor program: amounts are its own token transfers, reserves its log. */
export const raydiumAmmV4: SvmFamily = {
  family: 'raydium_amm_v4',
  reader: (row, program) => (scope, instruction, at) => {
    const read = INSTRUCTIONS[instruction.data[0] ?? -1]
    return read?.({ scope, row, program, instruction, at })
  },
}
