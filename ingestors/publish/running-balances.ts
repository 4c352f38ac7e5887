import type {
  BalanceChange,
  Block,
  DecodedBlock,
  SupplyChange,
  TokenCreation,
  TokenMetadata,
  Transfer,
} from '../../schemas/events.ts'

/** A supply change with the supply after it; null where it is not known. */
export interface SuppliedChange extends SupplyChange {
  readonly postRaw: bigint | null
}

/** Running amounts that are kept from block to block; undefined = nothing is kept under that name. */
export type StoredAmounts = (key: string) => bigint | undefined

/** What running amounts add to a block: supplies with their sums, balances that the chain does not log. */
export interface Tracked {
  readonly balances: readonly BalanceChange[]
  readonly supplies: readonly SuppliedChange[]
  /** Amounts to keep; null = forget. */
  readonly amounts: ReadonlyMap<string, bigint | null>
}

const supplyKey = (token: string): string => `supply/${token}`
/** There for tokens whose creation was seen: everything they ever did is known. */
const bornKey = (token: string): string => `born/${token}`
const ownerKey = (token: string, owner: string): string => `held/${token}/${owner}`

const ZERO = '0x0000000000000000000000000000000000000000'

interface Amounts {
  readonly get: StoredAmounts
  readonly set: (key: string, value: bigint | null) => void
  readonly changed: ReadonlyMap<string, bigint | null>
}

const amountsOver = (kept: StoredAmounts): Amounts => {
  const changed = new Map<string, bigint | null>()
  return {
    get: (key) => (changed.has(key) ? (changed.get(key) ?? undefined) : kept(key)),
    set: (key, value) => changed.set(key, value),
    changed,
  }
}

/**
 * Folds a block's decoded events into running amounts. Supplies: from zero for tokens that were born in this run, else from
 * the supply that a node reported (`learned`, as of the end of this block, so what happened in it is inside). Balances: Solana
 * says them; on EVM they are the sums of the transfers of tokens that were born in this run; on Sui transfers are not all that
 * moves coins, so nothing is summed. Pure.
 */
export const track = (
  block: Block,
  decoded: DecodedBlock,
  learned: readonly TokenMetadata[],
  kept: StoredAmounts,
): Tracked => {
  const { tokenCreations: births, supplies, transfers, balances } = decoded
  const amounts = amountsOver(kept)
  for (const { metadata: fact } of births) amounts.set(bornKey(fact.address), 1n)
  const supplied = trackSupplies(births, supplies, learned, amounts)
  return {
    supplies: supplied,
    balances: block.vm === 'evm' ? trackOwners(transfers, amounts) : balances,
    amounts: amounts.changed,
  }
}

const trackSupplies = (
  births: readonly TokenCreation[],
  supplies: readonly SupplyChange[],
  learned: readonly TokenMetadata[],
  amounts: Amounts,
): readonly SuppliedChange[] => {
  for (const { metadata: fact } of births) amounts.set(supplyKey(fact.address), 0n)
  const fetched = new Map(
    learned.flatMap(({ address, totalSupplyRaw }) =>
      totalSupplyRaw === null || amounts.get(bornKey(address)) !== undefined
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
  for (const [token, raw] of fetched) amounts.set(supplyKey(token), raw)
  return list
}

interface Held {
  readonly first: bigint | undefined
  readonly last: Transfer
  readonly now: bigint
}

/** One change per (transaction, owner, token), at the transfer that ended it. */
const trackOwners = (
  transfers: readonly Transfer[],
  amounts: Amounts,
): readonly BalanceChange[] => {
  const list: BalanceChange[] = []
  let open = new Map<string, Held & { readonly owner: string }>()
  let txIndex = -1
  const close = (): void => {
    for (const { first, last, now, owner } of open.values()) {
      if ((first ?? 0n) === now) continue
      list.push({
        kind: 'balance',
        txIndex: last.txIndex,
        logIndex: last.logIndex,
        account: owner,
        owner,
        token: last.token,
        decimals: null,
        preRaw: first ?? 0n,
        postRaw: now,
        lifecycle: first === undefined ? 'new' : 'existing',
      })
    }
    open = new Map()
  }
  const move = (transfer: Transfer, owner: string, by: bigint): void => {
    if (owner === ZERO) return
    const key = ownerKey(transfer.token, owner)
    const before = amounts.get(key)
    const sum = (before ?? 0n) + by
    const now = sum < 0n ? 0n : sum
    amounts.set(key, now === 0n ? null : now)
    const held = open.get(key)
    open.set(key, { first: held ? held.first : before, last: transfer, now, owner })
  }
  for (const transfer of transfers) {
    if (amounts.get(bornKey(transfer.token)) === undefined) continue
    if (transfer.txIndex !== txIndex) close()
    txIndex = transfer.txIndex
    move(transfer, transfer.from, -transfer.amountRaw)
    move(transfer, transfer.to, transfer.amountRaw)
  }
  close()
  return list
}
