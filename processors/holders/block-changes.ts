/** Groups that our own events give, and the bit of an owner's tags that stands for each. */
export const GROUP_BITS = { creators: 2, dev: 4, sniper: 8, bundle: 16 } as const
/** The owner keeps the vaults of a pool or a curve of the token. */
export const VAULT_BIT = 1

/** A group of a token's owners. */
export type HolderGroup = keyof typeof GROUP_BITS

export const GROUP_NAMES = Object.keys(GROUP_BITS) as readonly HolderGroup[]

/** What an owner holds of a token, and what it is to it (bits). Survives JSON. */
export interface HolderEntry {
  readonly raw: string
  readonly tags: number
}

/** A token that was created within the run, with sums over its owners. Survives JSON. */
export interface TokenHolders {
  /** Transaction that created it. */
  readonly bornTx: string
  readonly firstTrade: { readonly height: number; readonly timeMs: number } | null
  /** Time of the newest block that changed it. */
  readonly changedMs: number
  /** Owners with a balance, burn addresses left out. */
  readonly holders: number
  /** Everything that its owners hold. */
  readonly supply: string
  readonly groups: Readonly<Record<HolderGroup, readonly [owners: number, raw: string]>>
}

const NO_HOLDER: HolderEntry = { raw: '0', tags: 0 }
const EMPTY_GROUP = [0, '0'] as const

interface TokenTotals {
  holders: number
  supply: bigint
  readonly groups: Map<HolderGroup, { owners: number; raw: bigint }>
}

const tokenTotals = (token: TokenHolders | undefined): TokenTotals => ({
  holders: token?.holders ?? 0,
  supply: BigInt(token?.supply ?? 0),
  groups: new Map(
    GROUP_NAMES.map((name) => {
      const [owners, raw] = token?.groups[name] ?? EMPTY_GROUP
      return [name, { owners, raw: BigInt(raw) }]
    }),
  ),
})

interface CommittedHolders {
  token(token: string): TokenHolders | undefined
  owner(key: string): HolderEntry | undefined
}

/** Key of an owner of a token; those of one token share a prefix. */
export const ownerKey = (token: string, owner: string): string => `${token}|${owner}`

/** Token and owner of a key. */
export const splitOwnerKey = (key: string): readonly [token: string, owner: string] => {
  const cut = key.indexOf('|')
  return [key.slice(0, cut), key.slice(cut + 1)]
}

/** What one block does to holders, on top of what was committed before it. */
export class BlockHolderChanges {
  readonly owners = new Map<string, HolderEntry | null>()
  readonly #committed: CommittedHolders
  readonly #burned: ReadonlySet<string>
  readonly #timeMs: number
  readonly #launches = new Map<string, Pick<TokenHolders, 'bornTx' | 'firstTrade'>>()
  readonly #sums = new Map<string, TokenTotals>()

  constructor(committed: CommittedHolders, burned: ReadonlySet<string>, timeMs: number) {
    this.#committed = committed
    this.#burned = burned
    this.#timeMs = timeMs
  }

  /** Creation and first trade of a token; undefined: it was not created within the run. */
  launchOf(token: string): Pick<TokenHolders, 'bornTx' | 'firstTrade'> | undefined {
    return this.#launches.get(token) ?? this.#committed.token(token)
  }

  setLaunch(
    token: string,
    { bornTx, firstTrade }: Pick<TokenHolders, 'bornTx' | 'firstTrade'>,
  ): void {
    this.#launches.set(token, { bornTx, firstTrade })
  }

  owner(token: string, owner: string): HolderEntry {
    const key = ownerKey(token, owner)
    const own = this.owners.get(key)
    return (own === undefined ? this.#committed.owner(key) : own) ?? NO_HOLDER
  }

  /** Adds tags to an owner. */
  tag(token: string, owner: string, bits: number): void {
    const before = this.owner(token, owner)
    if (owner !== '' && (before.tags & bits) !== bits) {
      this.#set(token, owner, before, { ...before, tags: before.tags | bits })
    }
  }

  /** Moves what an owner holds by `delta` base units. */
  move(token: string, owner: string, delta: bigint): void {
    if (delta === 0n) return
    const before = this.owner(token, owner)
    this.#set(token, owner, before, { ...before, raw: String(BigInt(before.raw) + delta) })
  }

  /** Tokens that the block changed. */
  tokens(): ReadonlyMap<string, TokenHolders> {
    const changed = new Set([...this.#launches.keys(), ...this.#sums.keys()])
    return new Map([...changed].map((token) => [token, this.#tokenOf(token)]))
  }

  #tokenOf(token: string): TokenHolders {
    const { bornTx = '', firstTrade = null } = this.launchOf(token) ?? {}
    const { holders, supply, groups } = this.#sumsAt(token)
    const group = (name: HolderGroup): readonly [number, string] => {
      const sum = groups.get(name)
      return [sum?.owners ?? 0, String(sum?.raw ?? 0n)]
    }
    return {
      bornTx,
      firstTrade,
      holders,
      supply: String(supply),
      changedMs: this.#timeMs,
      groups: {
        creators: group('creators'),
        dev: group('dev'),
        sniper: group('sniper'),
        bundle: group('bundle'),
      },
    }
  }

  #sumsAt(token: string): TokenTotals {
    const known = this.#sums.get(token)
    if (known !== undefined) return known
    const sums = tokenTotals(this.#committed.token(token))
    this.#sums.set(token, sums)
    return sums
  }

  #set(token: string, owner: string, before: HolderEntry, after: HolderEntry): void {
    const sums = this.#sumsAt(token)
    this.#count(sums, owner, before, -1)
    this.#count(sums, owner, after, 1)
    const nothing = after.raw === '0' && after.tags === 0
    this.owners.set(ownerKey(token, owner), nothing ? null : after)
  }

  #count(sums: TokenTotals, owner: string, { raw: text, tags }: HolderEntry, sign: 1 | -1): void {
    const raw = BigInt(text)
    sums.supply += BigInt(sign) * raw
    if (raw <= 0n) return
    if (!this.#burned.has(owner)) sums.holders += sign
    for (const [name, sum] of sums.groups) {
      if ((tags & GROUP_BITS[name]) === 0) continue
      sum.owners += sign
      sum.raw += BigInt(sign) * raw
    }
  }
}
