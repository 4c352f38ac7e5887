import { minBigint } from '../../core/bigint-math.ts'
import type { Mint, TokenAccount } from './accounts.ts'
import { raydiumAmountOut } from './amm-math.ts'
import type { BlockBuilder } from './block-builder.ts'
import type { TransactionExecution } from './execution.ts'
import { correctionOf, rawForUsd } from './fair-prices.ts'
import { perMille, unwrapSol, viaRouter, wrapSol } from './launch-traders.ts'
import { raydiumSwap } from './raydium.ts'
import type { RaydiumPool, Scenario, Wallet } from './scenario.ts'
import { createAssociatedTokenAccount, currentTokenBalance } from './spl-token.ts'

const COMPUTE_UNITS = 160_000

/** Account of a wallet for a mint that is older than the chain. */
export const tokenAccountFor = (scenario: Scenario, wallet: Wallet, mint: Mint): TokenAccount => {
  if (mint === scenario.sol) return wallet.wsol
  if (mint === scenario.usdc) return wallet.usdc
  const account = wallet.coins[scenario.coins.indexOf(mint)]
  if (account === undefined) throw new RangeError('no account for this mint')
  return account
}

/** A wish to trade in a Raydium pool. */
interface TradeIntent {
  readonly pool: RaydiumPool
  readonly user: Wallet
  readonly paysPc: boolean
  readonly amount: bigint
}

const quotedOutput = (
  { context: { state } }: BlockBuilder,
  { pool, paysPc, amount }: TradeIntent,
): bigint => {
  const coin = state.get(pool.coinVault.stateIndex) - 1n
  const pc = state.get(pool.pcVault.stateIndex) - 1n
  return paysPc ? raydiumAmountOut(pc, coin, amount) : raydiumAmountOut(coin, pc, amount)
}

/** Market makers keep a wSOL account; others open and close one in the transaction. */
const prepareAccounts = (
  run: TransactionExecution,
  { user }: TradeIntent,
  from: TokenAccount,
  amount: bigint,
): void => {
  if (from !== user.wsol) return
  const held = user.role === 'maker' ? currentTokenBalance(run, user.wsol) : 0n
  if (held < amount) wrapSol(run, user, amount - held)
}

/** Swaps in a Raydium pool. Returns the trades made. */
const submitTrade = (blockBuilder: BlockBuilder, wish: TradeIntent): number => {
  const { context, random } = blockBuilder
  const { scenario, state } = context
  const { pool, user, paysPc } = wish
  const from = tokenAccountFor(scenario, user, paysPc ? pool.pc : pool.coin)
  const to = tokenAccountFor(scenario, user, paysPc ? pool.coin : pool.pc)
  const isSol = from === user.wsol
  const held = state.get(from.stateIndex) === 0n ? 0n : state.get(from.stateIndex) - 1n
  const amount = isSol ? wish.amount : minBigint(wish.amount, held)
  const out = quotedOutput(blockBuilder, { ...wish, amount })
  if (amount === 0n || out < 2n || !blockBuilder.fund(user, isSol ? amount : 0n)) return 0
  const exact = random.chance(0.85) ? 'in' : 'out'
  const limit = exact === 'in' ? perMille(out, 950 + random.below(45)) : amount
  const order = { pool, user, from, to, exact, limit, short: random.chance(0.6) } as const
  const isRouted = random.chance(0.2)
  const sent = blockBuilder.submit({
    payer: user.account,
    units: COMPUTE_UNITS,
    run: (run) => {
      prepareAccounts(run, wish, from, amount)
      createAssociatedTokenAccount(run, to, { payer: user.account })
      const swapped = exact === 'in' ? amount : perMille(out, 985)
      viaRouter(run, user, isRouted, () => raydiumSwap(run, { ...order, amount: swapped }))
      if (user.role !== 'maker' && (isSol || to === user.wsol)) unwrapSol(run, user)
    },
  })
  return sent ? 1 : 0
}

export const popularPool = ({ context, random }: BlockBuilder): RaydiumPool => {
  const { pools } = context.scenario
  let at = random.unit() * pools.reduce((sum, { weight }) => sum + weight, 0)
  for (const pool of pools) {
    at -= pool.weight
    if (at < 0) return pool
  }
  return random.pick(pools)
}

/** Off by more than this, a pool is corrected by a market maker. */
const PRICE_TOLERANCE = 0.002_8

/** A trade in a Raydium pool: a correction towards the fair price, or a trader who wants the other token. Returns the trades made. */
export const raydiumTrade = (blockBuilder: BlockBuilder): number => {
  const { context, random } = blockBuilder
  const { scenario } = context
  const pool = popularPool(blockBuilder)
  const { deviation, paysPc, amount } = correctionOf(context, pool, 0.4 + 0.5 * random.unit())
  if (Math.abs(deviation) > PRICE_TOLERANCE && random.chance(0.8))
    return submitTrade(blockBuilder, {
      pool,
      user: random.pick(scenario.byRole.maker),
      paysPc,
      amount,
    })
  const user = random.pick(scenario.byRole.retail)
  const roll = random.unit()
  const usd = 5 + roll * roll * Math.min(3_000, pool.usd * 0.004)
  const buysCoin = random.chance(0.5)
  const mint = buysCoin ? pool.pc : pool.coin
  return submitTrade(blockBuilder, {
    pool,
    user,
    paysPc: buysCoin,
    amount: rawForUsd(context, mint, usd),
  })
}
