import type { PoolLiquidityChange } from '../../../schemas/events.ts'
import type { DecodedLiquidityChange, Leg } from '../protocols/types.ts'

/** What is known of the pool of a change. */
interface ChangedPool {
  readonly coins: readonly (string | null)[]
  readonly tokenOf: (leg: Leg) => string | null
  readonly reserves: readonly [bigint, bigint] | undefined
}

type Change = Pick<
  PoolLiquidityChange,
  | 'kind'
  | 'pool'
  | 'tokenA'
  | 'tokenB'
  | 'amountARaw'
  | 'amountBRaw'
  | 'reserves'
  | 'position'
  | 'opensAt'
  | 'bins'
>

interface ChangeAmounts {
  readonly token: string
  readonly amountRaw: bigint
}

/**
 * A change of liquidity as changes of pairs, which is how pools are reported: one for two tokens; for more, each further token
 * stands beside the first, whose amount is reported once. A single token stands beside another of its pool. Undefined where a
 * token is not known.
 */
export const changesOf = (
  { change, pool, amountsRaw, legs, position, opensAt, bins }: DecodedLiquidityChange,
  { coins, tokenOf, reserves }: ChangedPool,
): readonly Change[] | undefined => {
  const moved: ChangeAmounts[] = []
  for (const [index, amountRaw] of amountsRaw.entries()) {
    const leg = legs === undefined ? index : legs[index]
    const token = leg === undefined ? null : tokenOf(leg)
    if (token === null) return undefined
    moved.push({ token, amountRaw })
  }
  const [first, ...others] = moved
  if (first === undefined) return undefined
  const beside = others.length > 0 ? others : [partnerOf(first, coins, tokenOf)]
  const changes: Change[] = []
  for (const other of beside) {
    if (other === undefined) return undefined
    changes.push({
      kind: change,
      pool,
      tokenA: first.token,
      tokenB: other.token,
      amountARaw: changes.length === 0 ? first.amountRaw : 0n,
      amountBRaw: other.amountRaw,
      ...(reserves && moved.length === 2 && { reserves }),
      ...(position && { position }),
      ...(opensAt && { opensAt }),
      ...(bins && { bins }),
    })
  }
  return changes
}

const partnerOf = (
  { token }: ChangeAmounts,
  coins: readonly (string | null)[],
  tokenOf: (leg: Leg) => string | null,
): ChangeAmounts | undefined => {
  for (const index of coins.keys()) {
    const other = tokenOf(index)
    if (other !== null && other !== token) return { token: other, amountRaw: 0n }
  }
  return undefined
}
