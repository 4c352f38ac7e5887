import { Fault } from '../../core/errors.ts'
import type { FeeOnQuotePool } from './fee-on-quote.ts'
import type { SolanaAccount } from './solana-node.ts'
import { PUMP, PUMP_FEES } from './solana-venues.ts'

/** What pump.fun's own accounts say of a curve that was just made. Source: pump-fun/pump-public-docs idl/pump.json, idl/pump_fees.json. */

/** First bytes of both accounts, and the shortest that hold every field that is read here or named by a purchase. */
const GLOBAL = {
  head: 'a7e8e8b1c86c727f',
  bytes: 773,
  tokens: 73,
  sol: 81,
  forSale: 89,
  supply: 97,
}
const FEES = { head: '8f3492bbdb7b4c9b', bytes: 69, tierCount: 65 }
/** A tier: the least market capitalization in lamports, then the parts of the fee in basis points. */
const TIER = { bytes: 40, protocol: 24, creator: 32 }
const MAX_TIERS = 256
const MAX_FEE_BPS = 5_000n
const PIPS_PER_BASIS_POINT = 100

const unreadable = (reason: string): Fault =>
  new Fault('DEX_ROUTE_BUILD_FAILED', undefined, { reason })

const dataOfAccount = (
  account: SolanaAccount | undefined,
  { head, bytes, owner }: { readonly head: string; readonly bytes: number; readonly owner: string },
): Buffer => {
  const data = Buffer.from(account?.data ?? [])
  const isValid = account?.owner === owner && data.length >= bytes
  if (isValid && data.toString('hex', 0, 8) === head) return data
  throw unreadable('the settings of the launchpad are not its own')
}

interface Tier {
  readonly fromMarketCap: bigint
  /** Hundredths of a basis point. */
  readonly feePips: readonly number[]
}

const readTiers = (data: Buffer): readonly Tier[] => {
  const count = data.readUInt32LE(FEES.tierCount)
  const isWhole = data.length >= FEES.bytes + count * TIER.bytes
  if (count === 0 || count > MAX_TIERS || !isWhole) {
    throw unreadable('the fees of the launchpad cannot be read')
  }
  return Array.from({ length: count }, (_, index) => {
    const at = FEES.bytes + index * TIER.bytes
    const parts = [TIER.protocol, TIER.creator].map((part) => data.readBigUInt64LE(at + part))
    if (parts.some((part) => part > MAX_FEE_BPS)) {
      throw unreadable('the fees of the launchpad are larger than half')
    }
    return {
      fromMarketCap: data.readBigUInt64LE(at) + (data.readBigUInt64LE(at + 8) << 64n),
      feePips: parts.map((part) => Number(part) * PIPS_PER_BASIS_POINT),
    }
  })
}

/**
 * A curve as it is before its first trade. Throws `Fault` DEX_ROUTE_BUILD_FAILED where the accounts do not have the layout that is
 * known here.
 */
export const newCurve = (
  global: SolanaAccount | undefined,
  fees: SolanaAccount | undefined,
): FeeOnQuotePool => {
  const settings = dataOfAccount(global, { ...GLOBAL, owner: PUMP })
  const tiers = readTiers(dataOfAccount(fees, { ...FEES, owner: PUMP_FEES }))
  const [base = 0n, quote = 0n, forSale = 0n, supply = 0n] = [
    ...[GLOBAL.tokens, GLOBAL.sol, GLOBAL.forSale, GLOBAL.supply],
  ].map((at) => settings.readBigUInt64LE(at))
  if (base === 0n || quote === 0n || forSale === 0n || forSale >= base) {
    throw unreadable('the launchpad begins curves that cannot be priced')
  }
  const marketCap = (quote * supply) / base
  const tier = tiers.findLast(({ fromMarketCap }) => marketCap >= fromMarketCap) ?? tiers[0]
  return {
    kind: 'curve',
    quote,
    base,
    heldQuote: 0n,
    heldBase: forSale,
    feePips: tier?.feePips ?? [],
  }
}
