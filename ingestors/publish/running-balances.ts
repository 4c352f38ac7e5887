import type {
  Block,
  DecodedBlock,
  SupplyChange,
  TokenCreation,
  TokenMetadata,
} from '../../schemas/events.ts'
import type { RunningAmounts, StoredAmounts } from '../decode/contract.ts'
import type { SuppliedChange, Tracked } from '../to-wire/context.ts'
import { runningBalances } from '../vm/block-findings.ts'

const supplyKey = (token: string): string => `supply/${token}`
/** There for tokens whose creation was seen: everything they ever did is known. */
const createdKey = (token: string): string => `born/${token}`

interface Amounts extends RunningAmounts {
  readonly changed: ReadonlyMap<string, bigint | null>
}

const amountsOver = (stored: StoredAmounts): Amounts => {
  const changed = new Map<string, bigint | null>()
  return {
    get: (key) => (changed.has(key) ? (changed.get(key) ?? undefined) : stored(key)),
    set: (key, value) => changed.set(key, value),
    changed,
  }
}

/**
 * Folds a block's decoded events into running amounts. Supplies: from zero for tokens that were created in this run, else from
 * the supply that a node reported (`fetchedTokens`, as of the end of this block, so what happened in it is inside). Pure.
 */
export const updateRunningTotals = (
  block: Block,
  decoded: DecodedBlock,
  fetchedTokens: readonly TokenMetadata[],
  stored: StoredAmounts,
): Tracked => {
  const { tokenCreations: creations, supplies } = decoded
  const amounts = amountsOver(stored)
  for (const { metadata } of creations) amounts.set(createdKey(metadata.address), 1n)
  const supplied = trackSupplies(creations, supplies, fetchedTokens, amounts)
  return {
    supplies: supplied,
    balances: runningBalances(block, decoded, {
      get: amounts.get,
      set: amounts.set,
      isWhole: (token) => amounts.get(createdKey(token)) !== undefined,
    }),
    amounts: amounts.changed,
  }
}

const trackSupplies = (
  creations: readonly TokenCreation[],
  supplies: readonly SupplyChange[],
  fetchedTokens: readonly TokenMetadata[],
  amounts: Amounts,
): readonly SuppliedChange[] => {
  for (const { metadata } of creations) amounts.set(supplyKey(metadata.address), 0n)
  const reportedSupplies = new Map(
    fetchedTokens.flatMap(({ address, totalSupplyRaw }) =>
      totalSupplyRaw === null || amounts.get(createdKey(address)) !== undefined
        ? []
        : [[address, totalSupplyRaw] as const],
    ),
  )
  const list = supplies.map((change) => {
    const { token, type, amountRaw } = change
    const before = amounts.get(supplyKey(token))
    if (before === undefined) return { ...change, postRaw: null }
    const after =
      type === 'mint' ? before + amountRaw : type === 'burn' ? before - amountRaw : before
    const postRaw = after < 0n ? 0n : after
    amounts.set(supplyKey(token), postRaw)
    return { ...change, postRaw }
  })
  for (const [token, raw] of reportedSupplies) amounts.set(supplyKey(token), raw)
  return list
}
