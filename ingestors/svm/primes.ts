import type { PriceEntry } from '../../core/quote-state.ts'
import { orient, type QuoteBook, rankOf } from '../../core/quotes.ts'
import type { ReferencePool } from '../../schemas/chains.ts'
import { protocolRow } from '../../schemas/protocols.ts'
import type { PrimeAt } from '../prime.ts'
import type { Account, AccountReader } from './accounts.ts'
import { keyAt, u64, viewOf } from './layout.ts'

/** Layout of a Raydium AMM v4 pool. Source: raydium-io/raydium-amm state.rs, AmmInfo. */
const POOL = {
  /** Profit of the pool's owner that still lies in the vaults. */
  takenCoin: 192,
  takenPc: 200,
  coinVault: 336,
  pcVault: 368,
  coinMint: 400,
  pcMint: 432,
  end: 752,
} as const
/** Layout of a token account. Source: solana-program/token state.rs. */
const TOKEN_ACCOUNT = { mint: 0, amount: 64, end: 165 } as const

/** What a pool says of its sides; the quote's second. */
interface Sides {
  readonly pool: ReferencePool
  readonly vaults: readonly [string, string]
  readonly mints: readonly [string, string]
  readonly takenRaw: readonly [bigint, bigint]
}

/**
 * Prices of quote assets from the vaults of their reference pools, as they are now (R45). The first pool of a pair that
 * answers counts; one of another kind, that is not there or is empty, is passed over.
 */
export const primesFromVaults = async (
  accounts: AccountReader,
  pools: readonly ReferencePool[],
  book: QuoteBook,
  { timeMs, signal }: PrimeAt,
): Promise<readonly PriceEntry[]> => {
  const usable = pools.filter(
    ({ token, quote, protocol }) =>
      protocolRow(protocol)?.family === 'raydium_amm_v4' &&
      rankOf(token, book) > 0 &&
      orient(token, quote, book).quote === quote,
  )
  if (usable.length === 0) return []
  const found = await accounts(
    usable.map(({ pool }) => pool),
    signal,
  )
  const sides = usable.flatMap((pool, index) => sidesOf(pool, found[index] ?? null) ?? [])
  if (sides.length === 0) return []
  const vaults = await accounts(
    sides.flatMap((each) => each.vaults),
    signal,
  )
  const entries = new Map<string, PriceEntry>()
  sides.forEach((each, index) => {
    const { token, quote } = each.pool
    const price = priceOf(each, [vaults[2 * index] ?? null, vaults[2 * index + 1] ?? null], book)
    const key = `${token}/${quote}`
    if (price !== undefined && !entries.has(key)) entries.set(key, { token, quote, price, timeMs })
  })
  return [...entries.values()]
}

const sidesOf = (pool: ReferencePool, account: Account | null): Sides | undefined => {
  const programs = protocolRow(pool.protocol)?.factories
  const isOwn =
    account !== null &&
    Object.values(programs ?? {})
      .flat()
      .includes(account.owner)
  if (!isOwn || account.data.length < POOL.end) return undefined
  const { data } = account
  const view = viewOf(data)
  const coin = {
    mint: keyAt(data, POOL.coinMint),
    vault: keyAt(data, POOL.coinVault),
    takenRaw: u64(view, POOL.takenCoin),
  }
  const pc = {
    mint: keyAt(data, POOL.pcMint),
    vault: keyAt(data, POOL.pcVault),
    takenRaw: u64(view, POOL.takenPc),
  }
  const [token, quote] = coin.mint === pool.token ? [coin, pc] : [pc, coin]
  if (token.mint !== pool.token || quote.mint !== pool.quote) return undefined
  return {
    pool,
    vaults: [token.vault, quote.vault],
    mints: [token.mint, quote.mint],
    takenRaw: [token.takenRaw, quote.takenRaw],
  }
}

/** Whole quote units for one whole token. */
const priceOf = (
  { mints, takenRaw }: Sides,
  vaults: readonly [Account | null, Account | null],
  book: QuoteBook,
): number | undefined => {
  const [token, quote] = mints.map((mint, side) => {
    const heldRaw = heldIn(vaults[side] ?? null, mint)
    const decimals = book.assets.get(mint)?.decimals
    if (heldRaw === undefined || decimals === undefined) return undefined
    return Number(heldRaw - (takenRaw[side] ?? 0n)) / 10 ** decimals
  })
  if (token === undefined || quote === undefined) return undefined
  const price = quote / token
  return Number.isFinite(price) && price > 0 ? price : undefined
}

const heldIn = (account: Account | null, mint: string): bigint | undefined => {
  if (account === null || account.data.length < TOKEN_ACCOUNT.end) return undefined
  if (keyAt(account.data, TOKEN_ACCOUNT.mint) !== mint) return undefined
  return u64(viewOf(account.data), TOKEN_ACCOUNT.amount)
}
