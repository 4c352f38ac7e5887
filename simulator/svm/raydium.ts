import type { TokenAccount } from './accounts.ts'
import { raydiumAmountIn, raydiumAmountOut } from './amm-math.ts'
import { BorshWriter } from './borsh-writer.ts'
import type { InstructionCall, TransactionExecution } from './execution.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import type { RaydiumPool, Wallet } from './scenario.ts'
import { currentTokenBalance, transfer } from './spl-token.ts'

/** Error of the program: slippage. Source: raydium-amm program/src/error.rs. */
const EXCEEDS_SLIPPAGE = 30

/** A swap; `exact` says which amount stands. */
export interface RaydiumOrder {
  readonly pool: RaydiumPool
  readonly user: Wallet
  readonly from: TokenAccount
  readonly to: TokenAccount
  readonly exact: 'in' | 'out'
  readonly amount: bigint
  /** Fewest to get, or most to pay. */
  readonly limit: bigint
  /** True: the form without the order book's accounts. */
  readonly short: boolean
}

const swapInstruction = ({
  pool,
  user,
  from,
  to,
  short,
}: RaydiumOrder): Pick<InstructionCall, 'accounts' | 'flags'> => {
  const { account, coinVault, pcVault, openOrders, targetOrders, market } = pool
  const vaults = [coinVault, pcVault]
  const ends = [from, to, user.account]
  if (short)
    return {
      accounts: [
        KNOWN_ACCOUNTS.token,
        account,
        KNOWN_ACCOUNTS.raydiumAuthority,
        ...vaults,
        ...ends,
      ],
      flags: 'rwrwwwwS',
    }
  const head = [
    KNOWN_ACCOUNTS.token,
    account,
    KNOWN_ACCOUNTS.raydiumAuthority,
    openOrders,
    targetOrders,
  ]
  const book = [KNOWN_ACCOUNTS.openBook, ...market]
  return { accounts: [...head, ...vaults, ...book, ...ends], flags: 'rwrwwwwrwwwwwwrwwS' }
}

/** The line `ray_log`. Source: raydium-amm program/src/log.rs. */
const rayLogLine = (
  { exact, amount, limit }: RaydiumOrder,
  facts: {
    readonly direction: bigint
    readonly source: bigint
    readonly reserves: readonly [bigint, bigint]
    readonly other: bigint
  },
): string => {
  const line = new BorshWriter().u8(exact === 'in' ? 3 : 4)
  if (exact === 'in') line.u64(amount).u64(limit)
  else line.u64(limit).u64(amount)
  line.u64(facts.direction).u64(facts.source).u64(facts.reserves[0]).u64(facts.reserves[1])
  return `Program log: ray_log: ${Buffer.from(line.u64(facts.other).toBytes()).toString('base64')}`
}

/** Raydium AMM v4 swapBaseIn and swapBaseOut, in both forms. Throws Failed beyond the limit. */
export const raydiumSwap = (run: TransactionExecution, order: RaydiumOrder): void => {
  const { pool, user, from, to, exact, amount, limit, short } = order
  const tag = (exact === 'in' ? 9 : 11) + (short ? (exact === 'in' ? 7 : 6) : 0)
  const words = exact === 'in' ? [amount, limit] : [limit, amount]
  const data = () =>
    words.reduce((fields, word) => fields.u64(word), new BorshWriter().u8(tag)).toBytes()
  const call = { program: KNOWN_ACCOUNTS.raydium, ...swapInstruction(order), data, units: 22_000 }
  run.invoke(call, () => {
    const paysPc = from.mint === pool.pc
    const reserves = [
      currentTokenBalance(run, pool.coinVault),
      currentTokenBalance(run, pool.pcVault),
    ] as const
    const [reserveIn, reserveOut] = paysPc ? [reserves[1], reserves[0]] : reserves
    const other = (exact === 'in' ? raydiumAmountOut : raydiumAmountIn)(
      reserveIn,
      reserveOut,
      amount,
    )
    const source = currentTokenBalance(run, from)
    const direction = paysPc ? 1n : 2n
    run.log(() => rayLogLine(order, { direction, source, reserves, other }))
    if (exact === 'in' ? other < limit : other > limit)
      run.fail(EXCEEDS_SLIPPAGE, 'Error: exceeds desired slippage limit')
    const [paid, got] = exact === 'in' ? [amount, other] : [other, amount]
    const [vaultIn, vaultOut] = paysPc
      ? [pool.pcVault, pool.coinVault]
      : [pool.coinVault, pool.pcVault]
    transfer(run, { from, to: vaultIn, authority: user.account, amount: paid })
    transfer(run, { from: vaultOut, to, authority: KNOWN_ACCOUNTS.raydiumAuthority, amount: got })
  })
}
