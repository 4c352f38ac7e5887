import { formatDecimal } from '../../core/amounts.ts'
import { chainRow } from '../../schemas/chains.ts'
import type { TokenHoldingEvent } from '../../schemas/wire.ts'
import { divide } from '../runtime/valuation.ts'
import { GROUP_NAMES, type TokenHolders } from './block-changes.ts'

/** Owners that the largest list has. */
export const TOP_HOLDERS = 100

const UNKNOWN_GROUPS = [
  ...['fresh', 'sandwich', 'pro', 'insider', 'smart', 'kol', 'phishing', 'bluechip', 'rat'],
] as const

type Field = readonly [name: string, value: string | number]

const ratioText = (raw: bigint, supply: bigint): string =>
  formatDecimal(raw < 0n || supply <= 0n ? null : divide(Number(raw), Number(supply)))

const topFields = (raws: readonly bigint[], supply: bigint): readonly Field[] =>
  [10, 50, TOP_HOLDERS].flatMap((count) => {
    const part = raws.slice(0, count)
    const amount = part.reduce((sum, raw) => sum + raw, 0n)
    return [
      [`top${count}_holders`, part.length],
      [`top${count}_amount`, String(amount)],
      [`top${count}_ratio`, ratioText(amount, supply)],
    ] as const
  })

const groupFields = ({ groups }: Pick<TokenHolders, 'groups'>, supply: bigint): readonly Field[] =>
  GROUP_NAMES.flatMap((name) => {
    const [owners, raw] = groups[name]
    return [
      [`${name}_count`, owners],
      [`${name}_amount`, raw],
      [`${name}_ratio`, ratioText(BigInt(raw), supply)],
    ] as const
  })

const UNKNOWN_FIELDS: readonly Field[] = UNKNOWN_GROUPS.flatMap(
  (name) =>
    [
      [`${name}_count`, 0],
      [`${name}_amount`, ''],
      [`${name}_ratio`, ''],
    ] as const,
)

const NO_HOLDERS: Pick<TokenHolders, 'holders' | 'supply' | 'groups'> = {
  holders: 0,
  supply: '0',
  groups: { creators: [0, '0'], dev: [0, '0'], sniper: [0, '0'], bundle: [0, '0'] },
}

/** Where a state of holders belongs. */
export interface HoldingKey {
  readonly chain: string
  readonly token: string
  readonly timeMs: number
  readonly version: number
}

/**
 * Holders of a token on the wire; `top`: largest holdings first. Unknown groups have amount and ratio "".
 * Without a token: the state of an hour that a reorg emptied, all zero.
 */
export const holdingEvent = (
  { chain, token, timeMs, version }: HoldingKey,
  held: Pick<TokenHolders, 'holders' | 'supply' | 'groups'> = NO_HOLDERS,
  top: readonly bigint[] = [],
): TokenHoldingEvent => {
  const supply = BigInt(held.supply)
  const fields = Object.fromEntries([
    ...topFields(top, supply),
    ...groupFields(held, supply),
    ...UNKNOWN_FIELDS,
  ])
  return {
    chain: chainRow(chain)?.wire ?? 'CHAIN_UNSPECIFIED',
    token_address: token,
    holders: held.holders,
    ...(fields as Omit<
      TokenHoldingEvent,
      'chain' | 'token_address' | 'holders' | 'timestamp' | 'version'
    >),
    timestamp: timeMs,
    version,
  }
}
