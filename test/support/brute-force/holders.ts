/**
 * Holders and balances the slow way: after every block all owners of a token are looked at again. Takes
 * the acts of the tape; imports nothing of the product.
 */
import { initialBalanceRaw, type WalletAction, type WalletBlock } from '../builders/wallet-tape.ts'

/** A share of a token's owners. */
export interface BruteShare {
  readonly owners: number
  readonly raw: bigint
}

/** Holders of a token at the end of an hour. */
export interface BruteHoldings {
  readonly holders: number
  readonly supply: bigint
  readonly top: Readonly<Record<10 | 50 | 100, BruteShare>>
  readonly groups: Readonly<Record<'creators' | 'dev' | 'sniper' | 'bundle', BruteShare>>
  readonly changedMs: number
}

const BURNED = '0x000000000000000000000000000000000000dead'
const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000'

interface TokenHistory {
  readonly birth: Extract<WalletAction, { kind: 'birth' }>
  readonly bornIn: string
  firstTrade: WalletBlock | null
  readonly held: Map<string, bigint>
  readonly vaults: Set<string>
  readonly groups: Readonly<Record<'creators' | 'dev' | 'sniper' | 'bundle', Set<string>>>
}

const ownerShare = (owners: readonly (readonly [string, bigint])[]): BruteShare => ({
  owners: owners.length,
  raw: owners.reduce((sum, [, raw]) => sum + raw, 0n),
})

const bruteHoldingsOf = (life: TokenHistory, changedMs: number): BruteHoldings => {
  const all = [...life.held]
  const positive = all.filter(([, raw]) => raw > 0n)
  const ranked = positive
    .filter(([owner]) => owner !== BURNED && !life.vaults.has(owner))
    .toSorted(([, one], [, other]) => (one > other ? -1 : one < other ? 1 : 0))
  const group = (members: ReadonlySet<string>) =>
    ownerShare(positive.filter(([owner]) => members.has(owner)))
  return {
    holders: positive.filter(([owner]) => owner !== BURNED).length,
    supply: ownerShare(all).raw,
    top: {
      10: ownerShare(ranked.slice(0, 10)),
      50: ownerShare(ranked.slice(0, 50)),
      100: ownerShare(ranked.slice(0, 100)),
    },
    groups: {
      creators: group(life.groups.creators),
      dev: group(life.groups.dev),
      sniper: group(life.groups.sniper),
      bundle: group(life.groups.bundle),
    },
    changedMs,
  }
}

const startHistory = (
  birth: Extract<WalletAction, { kind: 'birth' }>,
  block: WalletBlock,
): TokenHistory => ({
  birth,
  bornIn: `${block.hash}/${birth.tx}`,
  firstTrade: null,
  held: new Map(),
  vaults: new Set(birth.curve === '' ? [] : [birth.curve]),
  groups: {
    creators: new Set(birth.creators),
    dev: new Set(birth.dev === '' ? [] : [birth.dev]),
    sniper: new Set(),
    bundle: new Set(),
  },
})

const addIfNew = (set: Set<string>, item: string): boolean => {
  const fresh = !set.has(item)
  set.add(item)
  return fresh
}

/** Says whether the trade changed anything. */
const applyTrade = (
  life: TokenHistory,
  act: Extract<WalletAction, { kind: 'trade' }>,
  block: WalletBlock,
): boolean => {
  if (act.failed) return false
  let changed = life.firstTrade === null
  life.firstTrade ??= block
  if (!act.buy || life.groups.dev.has(act.wallet)) return changed
  const { firstTrade } = life
  const soon = block.timeMs - firstTrade.timeMs <= 10_000 || block.height - firstTrade.height <= 3
  if (soon) changed = addIfNew(life.groups.sniper, act.wallet) || changed
  if (`${block.hash}/${act.tx}` === life.bornIn) {
    changed = addIfNew(life.groups.bundle, act.wallet) || changed
  }
  return changed
}

/** Holders by `token|hour` over the canonical blocks, for tokens created in them; hours without a change are absent. */
export const bruteHoldings = (
  blocks: readonly WalletBlock[],
): ReadonlyMap<string, BruteHoldings> => {
  const lives = new Map<string, TokenHistory>()
  const accounts = new Map<string, bigint>()
  const hours = new Map<string, BruteHoldings>()
  for (const block of blocks) {
    const changed = new Set<string>()
    for (const act of block.acts) {
      if (act.kind !== 'birth' || lives.has(act.token)) continue
      lives.set(act.token, startHistory(act, block))
      changed.add(act.token)
    }
    for (const act of block.acts) {
      const life = lives.get(act.token)
      if (act.kind !== 'pool' || life === undefined) continue
      const [one, other] = [
        addIfNew(life.vaults, act.pool),
        addIfNew(life.vaults, `${act.pool}.owner`),
      ]
      if (one || other) changed.add(act.token)
    }
    for (const act of block.acts) {
      const life = lives.get(act.token)
      if (act.kind === 'trade' && life && applyTrade(life, act, block)) changed.add(act.token)
    }
    for (const act of block.acts) {
      if (act.kind !== 'balance') continue
      const key = `${act.token}|${act.account}`
      const delta = act.postRaw - (accounts.get(key) ?? initialBalanceRaw(act.token))
      accounts.set(key, act.postRaw)
      const life = lives.get(act.token)
      if (life === undefined || act.owner === ZERO_ADDRESS) continue
      const isVault = block.acts.some(
        (one) => one.kind === 'pool' && one.token === act.token && `${one.pool}.a` === act.account,
      )
      if (isVault && addIfNew(life.vaults, act.owner)) changed.add(act.token)
      if (delta === 0n) continue
      life.held.set(act.owner, (life.held.get(act.owner) ?? 0n) + delta)
      changed.add(act.token)
    }
    for (const name of changed) {
      const life = lives.get(name)
      const hour = Math.floor(block.timeMs / 3_600_000)
      if (life) hours.set(`${name}|${hour}`, bruteHoldingsOf(life, block.timeMs))
    }
  }
  return hours
}

/** An owner of a token: what its seen accounts hold, and when it was seen. */
export interface BruteOwner {
  readonly raw: bigint
  readonly firstMs: number
  readonly lastMs: number
}

/** Owners by `owner|token` over the canonical blocks. */
export const bruteOwners = (blocks: readonly WalletBlock[]): ReadonlyMap<string, BruteOwner> => {
  const changes = blocks.flatMap(({ acts, timeMs }) =>
    acts.flatMap((act) => (act.kind === 'balance' ? [{ ...act, timeMs }] : [])),
  )
  const keys = new Set(changes.map(({ owner, token }) => `${owner}|${token}`))
  return new Map(
    [...keys].map((key) => {
      const own = changes.filter(({ owner, token }) => `${owner}|${token}` === key)
      const newest = new Map(own.map(({ account, postRaw }) => [account, postRaw]))
      return [
        key,
        {
          raw: [...newest.values()].reduce((sum, raw) => sum + raw, 0n),
          firstMs: own[0]?.timeMs ?? 0,
          lastMs: own.at(-1)?.timeMs ?? 0,
        },
      ]
    }),
  )
}
