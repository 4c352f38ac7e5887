import { smaller } from '../../core/bigint-math.ts'
import type { Mint, TokenAccount } from './accounts.ts'
import { raydiumOut } from './curve.ts'
import type { Desk } from './desk.ts'
import { correctionOf, rawForUsd } from './prices.ts'
import { raydiumSwap } from './raydium.ts'
import type { Run } from './run.ts'
import { openAccount, tokensNow } from './spl.ts'
import { partOf, routed, unwrap, wrap } from './stage.ts'
import type { RaydiumPool, Wallet, World } from './world.ts'

const UNITS = 160_000

/** Account of a wallet for a mint that is older than the chain. */
export const accountFor = (world: World, wallet: Wallet, mint: Mint): TokenAccount => {
  if (mint === world.sol) return wallet.wsol
  if (mint === world.usdc) return wallet.usdc
  const account = wallet.coins[world.coins.indexOf(mint)]
  if (account === undefined) throw new RangeError('no account for this mint')
  return account
}

/** A wish to trade in a Raydium pool. */
interface Wish {
  readonly pool: RaydiumPool
  readonly user: Wallet
  readonly paysPc: boolean
  readonly amount: bigint
}

const outputOf = ({ machine: { state } }: Desk, { pool, paysPc, amount }: Wish): bigint => {
  const coin = state.get(pool.coinVault.place) - 1n
  const pc = state.get(pool.pcVault.place) - 1n
  return paysPc ? raydiumOut(pc, coin, amount) : raydiumOut(coin, pc, amount)
}

/** Market makers keep a wSOL account; others open and close one in the transaction. */
const prepare = (run: Run, { user }: Wish, from: TokenAccount, amount: bigint): void => {
  if (from !== user.wsol) return
  const held = user.role === 'maker' ? tokensNow(run, user.wsol) : 0n
  if (held < amount) wrap(run, user, amount - held)
}

/** Swaps in a Raydium pool. Returns the trades made. */
const trade = (desk: Desk, wish: Wish): number => {
  const { machine, random } = desk
  const { world, state } = machine
  const { pool, user, paysPc } = wish
  const from = accountFor(world, user, paysPc ? pool.pc : pool.coin)
  const to = accountFor(world, user, paysPc ? pool.coin : pool.pc)
  const isSol = from === user.wsol
  const held = state.get(from.place) === 0n ? 0n : state.get(from.place) - 1n
  const amount = isSol ? wish.amount : smaller(wish.amount, held)
  const out = outputOf(desk, { ...wish, amount })
  if (amount === 0n || out < 2n || !desk.fund(user, isSol ? amount : 0n)) return 0
  const exact = random.chance(0.85) ? 'in' : 'out'
  const limit = exact === 'in' ? partOf(out, 950 + random.below(45)) : amount
  const order = { pool, user, from, to, exact, limit, short: random.chance(0.6) } as const
  const isRouted = random.chance(0.2)
  const sent = desk.submit({
    ...{ payer: user.account, units: UNITS },
    run: (run) => {
      prepare(run, wish, from, amount)
      openAccount(run, to, { payer: user.account })
      const swapped = exact === 'in' ? amount : partOf(out, 985)
      routed(run, user, isRouted, () => raydiumSwap(run, { ...order, amount: swapped }))
      if (user.role !== 'maker' && (isSol || to === user.wsol)) unwrap(run, user)
    },
  })
  return sent ? 1 : 0
}

export const popularPool = ({ machine, random }: Desk): RaydiumPool => {
  const { pools } = machine.world
  let at = random.unit() * pools.reduce((sum, { weight }) => sum + weight, 0)
  for (const pool of pools) {
    at -= pool.weight
    if (at < 0) return pool
  }
  return random.pick(pools)
}

/** Off by more than this, a pool is corrected by a market maker. */
const TOLERANCE = 0.002_8

/** A trade in a Raydium pool: a correction towards the fair price, or somebody who just wants the other token. Returns the trades made. */
export const raydiumTrade = (desk: Desk): number => {
  const { machine, random } = desk
  const { world } = machine
  const pool = popularPool(desk)
  const { deviation, paysPc, amount } = correctionOf(machine, pool, 0.4 + 0.5 * random.unit())
  if (Math.abs(deviation) > TOLERANCE && random.chance(0.8))
    return trade(desk, { pool, user: random.pick(world.byRole.maker), paysPc, amount })
  const user = random.pick(world.byRole.retail)
  const roll = random.unit()
  const usd = 5 + roll * roll * Math.min(3_000, pool.usd * 0.004)
  const buysCoin = random.chance(0.5)
  const mint = buysCoin ? pool.pc : pool.coin
  return trade(desk, { pool, user, paysPc: buysCoin, amount: rawForUsd(machine, mint, usd) })
}
