import type { World } from './world.ts'

/** Places of the numbers that a chain remembers; every place is an index into one flat list. */
export interface Layout {
  readonly size: number
  readonly balance: (token: number, account: number) => number
  readonly ether: (account: number) => number
  readonly nonce: (account: number) => number
  readonly supply: (token: number) => number
  /** Fair USD price of a whole token times 10^18: what the market believes, not on any contract. */
  readonly fair: (token: number) => number
  readonly pool: (pool: number, field: PoolField) => number
  /** Liquidity tokens of a V2 pool, by account of a liquidity provider. */
  readonly share: (pool: number, account: number) => number
  /** Swaps that earlier blocks made beyond their quota, times 1,000. */
  readonly surplus: number
  readonly baseFee: number
}

/**
 * V2: reserves and `liquidity` = supply of liquidity tokens. V3: `sqrtPrice`, `tick` (plus 2^24), `liquidity`, fees owed.
 * `number`: 1 + how many pools the factory had made before; 0 = this pool does not exist yet.
 */
const POOL_FIELDS = [
  'number',
  'reserve0',
  'reserve1',
  'liquidity',
  'sqrtPrice',
  'tick',
  'fee0',
  'fee1',
] as const
export type PoolField = (typeof POOL_FIELDS)[number]

const FIELD_AT = Object.fromEntries(POOL_FIELDS.map((field, at) => [field, at])) as Readonly<
  Record<PoolField, number>
>

/** Added to a tick so that it can be kept as a natural number. */
export const TICK_OFFSET = 1n << 24n

/** The layout of a world. */
export const layoutOf = (world: World): Layout => {
  const accounts = world.accounts.length
  const tokens = world.tokens.length
  const providers = world.byRole.liquidity
  const firstProvider = providers[0]?.index ?? 0
  const etherAt = tokens * accounts
  const nonceAt = etherAt + accounts
  const supplyAt = nonceAt + accounts
  const fairAt = supplyAt + tokens
  const poolAt = fairAt + tokens
  const shareAt = poolAt + world.pools.length * POOL_FIELDS.length
  const surplus = shareAt + world.pools.length * providers.length
  return {
    size: surplus + 2,
    balance: (token, account) => token * accounts + account,
    ether: (account) => etherAt + account,
    nonce: (account) => nonceAt + account,
    supply: (token) => supplyAt + token,
    fair: (token) => fairAt + token,
    pool: (pool, field) => poolAt + pool * POOL_FIELDS.length + FIELD_AT[field],
    share: (pool, account) => shareAt + pool * providers.length + (account - firstProvider),
    surplus,
    baseFee: surplus + 1,
  }
}

/** Reads one place of a state, of now or of some block. */
export type Read = (place: number) => bigint

/** The state that the generator writes. Writes of a transaction can be taken back, those of a block are listed. */
export class State {
  readonly values: bigint[]
  #touched = new Set<number>()
  #undo: (readonly [number, bigint])[] = []

  constructor(values: bigint[]) {
    this.values = values
  }

  get(place: number): bigint {
    return this.values[place] ?? 0n
  }

  set(place: number, value: bigint): void {
    this.#undo.push([place, this.values[place] ?? 0n])
    this.values[place] = value
    this.#touched.add(place)
  }

  add(place: number, amount: bigint): void {
    this.set(place, this.get(place) + amount)
  }

  /** Keeps what was written since the last commit or rollback. */
  commit(): void {
    this.#undo = []
  }

  /** Takes back what was written since the last commit. */
  rollback(): void {
    for (const [place, before] of this.#undo.toReversed()) this.values[place] = before
    this.#undo = []
  }

  /** Every place written since the last call, with its value now. */
  takeWrites(): ReadonlyMap<number, bigint> {
    const writes = new Map<number, bigint>()
    for (const place of this.#touched) writes.set(place, this.get(place))
    this.#touched = new Set()
    return writes
  }
}
