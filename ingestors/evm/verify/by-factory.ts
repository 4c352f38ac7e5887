import type { PoolMetadata } from '../../../schemas/events.ts'
import type { PoolLookup, ProtocolRow } from '../../../schemas/protocols.ts'
import type { ListedProtocol } from '../../decode/protocol-registry.ts'
import type { Call, CallResult } from '../abi/call.ts'
import { decodeAddress, decodeUint } from '../abi/result.ts'
import { wordOf } from '../abi/words.ts'
import type { PoolVerification, VerificationContext } from './contract.ts'

/** A pool names its factory and tokens; the factory, if it is listed, names this very pool or it does not count. */

const FACTORY = '0xc45a0155' // factory()
const MASTER = '0xee97f7f3' // master()
const TOKEN0 = '0x0dfe1681' // token0()
const TOKEN1 = '0xd21220a7' // token1()
const FEE = '0xddca3f43' // fee()
const TICK_SPACING = '0xd0c93a7c' // tickSpacing()
const STABLE = '0x22be3de1' // stable()

const MAX_UINT24 = (1n << 24n) - 1n

/** What a pool says of itself; worth nothing until its factory agrees. */
interface Claim {
  readonly pool: string
  readonly factory: string
  readonly tokenA: string
  readonly tokenB: string
  readonly resultOf: (view: string) => CallResult
}

interface Lookup {
  /** What it asks the pool, beside its factory and tokens. */
  readonly views: readonly string[]
  /** The call to the factory; undefined where the pool did not say enough. */
  readonly data: (claim: Claim) => string | undefined
}

const byTokens =
  (selector: string) =>
  ({ tokenA, tokenB }: Claim): string =>
    selector + wordOf(tokenA) + wordOf(tokenB)

const byTokensAnd =
  (selector: string, view: string, max: bigint) =>
  (claim: Claim): string | undefined => {
    const more = decodeUint(claim.resultOf(view), max)
    return more === null ? undefined : byTokens(selector)(claim) + wordOf(more)
  }

const LOOKUPS: Readonly<Record<PoolLookup, Lookup>> = {
  // getPair(address,address)
  pair: { views: [], data: byTokens('0xe6a43905') },
  // getPool(address,address,uint24)
  pool_fee: { views: [FEE], data: byTokensAnd('0x1698ee82', FEE, MAX_UINT24) },
  // getPool(address,address,int24)
  pool_tick_spacing: {
    views: [TICK_SPACING],
    data: byTokensAnd('0x28af8d0b', TICK_SPACING, MAX_UINT24),
  },
  // getPool(address,address,bool)
  pool_stable: { views: [STABLE], data: byTokensAnd('0x79bc57d5', STABLE, 1n) },
  // getPair(address,address,bool)
  pair_stable: { views: [STABLE], data: byTokensAnd('0x6801cc30', STABLE, 1n) },
  // poolByPair(address,address)
  pool_by_pair: { views: [], data: byTokens('0xd9a641e1') },
  // isPool(address)
  is_pool: { views: [MASTER], data: ({ pool }) => `0x5b16ebb7${wordOf(pool)}` },
}

const CUSTOM_POOL = '0x23da36cc' // customPoolByPair(address,address,address)

/** Algebra keeps the pools of each deployer apart from its own. */
const customPools = ({ deployers = [] }: ProtocolRow, claim: Claim): readonly Call[] =>
  deployers.map((deployer) => ({
    to: claim.factory,
    data: CUSTOM_POOL + wordOf(deployer) + wordOf(claim.tokenA) + wordOf(claim.tokenB),
  }))

const lookupOf = ({ lookup }: ProtocolRow, defaultProtocol: PoolLookup): PoolLookup =>
  lookup ?? defaultProtocol

/** What is asked of a pool that any of the listed protocols may have made. */
const viewsOf = (
  listed: readonly ListedProtocol[],
  defaultProtocol: PoolLookup,
): readonly string[] => [
  ...new Set([
    ...[FACTORY, TOKEN0, TOKEN1],
    ...listed.flatMap(({ row }) => LOOKUPS[lookupOf(row, defaultProtocol)].views),
  ]),
]

const claimOf = (
  { pool, listed, results }: VerificationContext,
  defaultProtocol: PoolLookup,
): Claim | undefined => {
  const views = viewsOf(listed, defaultProtocol)
  const resultOf = (view: string): CallResult => results[views.indexOf(view)]
  const factory =
    decodeAddress(resultOf(FACTORY)) ??
    decodeAddress(resultOf(MASTER)) ??
    byUnlistedFactory(listed, defaultProtocol)
  const tokenA = decodeAddress(resultOf(TOKEN0))
  const tokenB = decodeAddress(resultOf(TOKEN1))
  if (!factory || !tokenA || !tokenB || tokenA >= tokenB) return undefined
  return { pool, factory, tokenA, tokenB, resultOf }
}

/** The factory whose pools do not say which it is: it is asked all the same. */
const byUnlistedFactory = (
  listed: readonly ListedProtocol[],
  defaultProtocol: PoolLookup,
): string | undefined =>
  listed.find(({ row }) => lookupOf(row, defaultProtocol) === 'pair_stable')?.factory

const rowOf = ({ listed }: VerificationContext, { factory }: Claim): ProtocolRow | undefined =>
  listed.find((each) => each.factory === factory)?.row

/** The lookup names the pool, or says that it is one. */
const agrees = (lookup: PoolLookup, pool: string, results: CallResult): boolean =>
  lookup === 'is_pool' ? decodeUint(results, 1n) === 1n : decodeAddress(results) === pool

/** Proof by the factory's own look-up; `usual` is that of the family's first protocol. */
export const factoryVerification = (defaultProtocol: PoolLookup): PoolVerification => ({
  ask: (pool, listed) => viewsOf(listed, defaultProtocol).map((data) => ({ to: pool, data })),
  confirm: (context): readonly Call[] => {
    const claim = claimOf(context, defaultProtocol)
    const row = claim && rowOf(context, claim)
    const data = row && LOOKUPS[lookupOf(row, defaultProtocol)].data(claim)
    if (claim === undefined || row === undefined || data === undefined) return []
    return [{ to: claim.factory, data }, ...customPools(row, claim)]
  },
  conclude: (context, confirmed): PoolMetadata | undefined => {
    const claim = claimOf(context, defaultProtocol)
    if (claim === undefined) return undefined
    const { pool, factory, tokenA, tokenB, resultOf } = claim
    const row = rowOf(context, claim)
    const verified =
      row !== undefined &&
      confirmed.some((results) => agrees(lookupOf(row, defaultProtocol), pool, results))
    const fee = decodeUint(resultOf(FEE), MAX_UINT24)
    return {
      address: pool,
      tokenA,
      tokenB,
      protocol: verified ? row.id : null,
      factory,
      feePips: fee === null ? (verified ? (row.feePips ?? null) : null) : Number(fee),
      verified,
    }
  },
})
