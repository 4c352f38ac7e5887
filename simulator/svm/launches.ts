import { hashToUint32 } from '../node/random.ts'
import {
  type Account,
  type FixedAccount,
  fixedAccount,
  type Mint,
  type RentedAccount,
  type StoredAccount,
  type TokenAccount,
} from './accounts.ts'
import { type Address, simulatedAddress, simulatedPumpMint } from './addresses.ts'
import { KNOWN_ACCOUNTS, RENT } from './known-accounts.ts'
import type { Scenario, Wallet } from './scenario.ts'
import type { LaunchField } from './state-layout.ts'

/** Layouts of pump.fun's events: the first one, that of 2025, that since spring 2026. */
export type EventLayout = 'first' | '2025' | '2026'

/** How much people want a token. */
type Popularity = 'dud' | 'steady' | 'hyped'

/** A token of pump.fun: everything about it that its serial number and the seed decide. */
export interface Launch {
  readonly serial: number
  /** Its index in the state. */
  readonly slot: number
  readonly popularity: Popularity
  /** `create_v2` makes Token-2022 mints. */
  readonly isToken2022: boolean
  readonly eventLayout: EventLayout
  readonly name: string
  readonly symbol: string
  readonly uri: string
  readonly creator: Wallet
  readonly mint: Mint & { readonly account: RentedAccount }
  readonly metadata: RentedAccount
  readonly curve: StoredAccount
  /** The curve's tokens. */
  readonly vault: TokenAccount
  readonly pool: RentedAccount
  readonly poolBase: TokenAccount
  readonly poolQuote: TokenAccount
  readonly lpMint: Mint & { readonly account: RentedAccount }
  /** Moves a complete curve to its pool; its accounts live for one transaction. */
  readonly authority: StoredAccount
  readonly authorityBase: TokenAccount
  readonly authorityQuote: TokenAccount
  readonly authorityLp: TokenAccount
  /** Accounts that only take part. */
  readonly extraAccounts: readonly FixedAccount[]
  holding(wallet: Wallet): TokenAccount
}

/** Launches by serial number, and by the addresses that people ask for. */
export interface LaunchRegistry {
  /** The launch with this number in this place. */
  at(serial: number, slot: number): Launch
  /** The launch with this mint, curve or pool among the first `count`, in whatever place. */
  byAddress(address: string, count: number): Launch | undefined
  /** An account of a launch made lately. */
  accountByAddress(
    address: string,
  ): { readonly launch: Launch; readonly account: Account } | undefined
}

const FIRST_WORDS = [
  ...['Turbo', 'Sleepy', 'Golden', 'Cosmic', 'Angry', 'Tiny', 'Royal', 'Salty', 'Neon', 'Lucky'],
  ...['Quantum', 'Frozen', 'Baby', 'Based', 'Lunar', 'Pixel'],
]
const LAST_WORDS = [
  ...['Otter', 'Capybara', 'Pigeon', 'Gecko', 'Walrus', 'Ferret', 'Llama', 'Moth', 'Badger'],
  ...['Axolotl', 'Shrimp', 'Toad', 'Raven', 'Yak', 'Narwhal', 'Café ☕', 'Hamster'],
]
/** Remembered launches; older ones are made again when asked for. */
const MAX_CACHED_LAUNCHES = 1_024
const EXTRA_ACCOUNTS = 2
/** The launch that everybody wants from the start, so that a migration is seen early. */
const FIRST_HYPED = 1

const popularityOf = (seed: number, serial: number): Popularity => {
  if (serial === FIRST_HYPED) return 'hyped'
  const roll = hashToUint32(seed, 61, serial) % 100
  return roll < 4 ? 'hyped' : roll < 32 ? 'steady' : 'dud'
}

const pickWord = (words: readonly string[], roll: number): string =>
  words[roll % words.length] ?? ''

const metadataOf = (seed: number, serial: number) => {
  const roll = hashToUint32(seed, 62, serial)
  const last = pickWord(LAST_WORDS, roll >>> 8)
  const digits = [1, 2, 3, 4, 5, 6].map((part) => hashToUint32(seed, 63, serial, part).toString(36))
  return {
    name: `${pickWord(FIRST_WORDS, roll)} ${last}`,
    symbol: last.slice(0, 10).toUpperCase().replace(/\W/gu, ''),
    uri: `https://ipfs.io/ipfs/bafkrei${digits.join('').slice(0, 40)}`,
  }
}

const eventLayoutFor = (serial: number, isV2: boolean): EventLayout => {
  if (isV2) return '2026'
  return serial % 4 === 3 ? 'first' : '2025'
}

/** Keeps what belongs to a launch findable by address. */
type Register = (account: Account) => void

const createLaunch = (
  scenario: Scenario,
  { serial, slot }: { readonly serial: number; readonly slot: number },
  register: Register,
): Launch => {
  const { seed, layout, byRole } = scenario
  const place = (field: LaunchField): number => layout.launch(slot, field)
  const named = (label: string): Address => simulatedAddress(seed, `launch ${serial} ${label}`)
  const isV2 = hashToUint32(seed, 64, serial) % 10 < 6
  const creator = byRole.creator[hashToUint32(seed, 65, serial) % byRole.creator.length]
  if (creator === undefined) throw new RangeError('no creator wallet')
  const rented = (at: Address, field: LaunchField, rentRaw: bigint): RentedAccount => ({
    kind: 'rented',
    ...at,
    stateIndex: place(field),
    rentRaw,
  })
  const mintOf = (account: RentedAccount, decimals: number, is2022: boolean) => ({
    account,
    decimals,
    native: false,
    supply: account.stateIndex,
    program: is2022 ? KNOWN_ACCOUNTS.token2022 : KNOWN_ACCOUNTS.token,
  })
  const token = (at: Address, where: number, mint: Mint, owner: Account): TokenAccount => ({
    kind: 'token',
    ...at,
    stateIndex: where,
    mint,
    owner,
    rentRaw: mint.program === KNOWN_ACCOUNTS.token2022 ? RENT.tokenAccount2022 : RENT.tokenAccount,
  })
  const own = (field: LaunchField, mint: Mint, owner: Account): TokenAccount =>
    token(named(field), place(field), mint, owner)
  const rent = isV2 ? RENT.mint2022 : RENT.mint
  const mint = mintOf(rented(simulatedPumpMint(seed, `mint ${serial}`), 'supply', rent), 6, isV2)
  const lpMint = mintOf(rented(named('lp mint'), 'lpSupply', RENT.mint), 9, true)
  const stored = (field: 'curve' | 'authority'): StoredAccount => ({
    kind: 'stored',
    ...named(field),
    stateIndex: place(field),
  })
  const [curve, authority] = [stored('curve'), stored('authority')]
  const pool = rented(named('pool'), 'pool', RENT.pool)
  const holdings = new Map<number, TokenAccount>()
  return {
    serial,
    slot,
    isToken2022: isV2,
    creator,
    mint,
    lpMint,
    curve,
    authority,
    pool,
    ...metadataOf(seed, serial),
    popularity: popularityOf(seed, serial),
    eventLayout: eventLayoutFor(serial, isV2),
    metadata: rented(named('metadata'), 'metadata', RENT.metadata),
    vault: own('vault', mint, curve),
    poolBase: own('poolBase', mint, pool),
    poolQuote: own('poolQuote', scenario.sol, pool),
    authorityBase: own('authorityBase', mint, authority),
    authorityQuote: own('authorityQuote', scenario.sol, authority),
    authorityLp: own('authorityLp', lpMint, authority),
    extraAccounts: Array.from({ length: EXTRA_ACCOUNTS }, (_, at) =>
      fixedAccount(named(`extra ${at}`), 0n),
    ),
    holding: (wallet) => {
      const held = holdings.get(wallet.index)
      if (held !== undefined) return held
      const where = layout.holding(slot, wallet.index)
      const made = token(named(`holder ${wallet.index}`), where, mint, wallet.account)
      holdings.set(wallet.index, made)
      register(made)
      return made
    },
  }
}

const accountsOf = (launch: Launch): readonly Account[] => [
  ...[launch.mint.account, launch.lpMint.account, launch.curve, launch.vault, launch.metadata],
  ...[launch.pool, launch.poolBase, launch.poolQuote],
]

/** The launches of a scenario. */
export const createLaunchRegistry = (scenario: Scenario): LaunchRegistry => {
  const made = new Map<number, Launch>()
  const accounts = new Map<string, { readonly serial: number; readonly account: Account }>()
  const serials = new Map<string, number>()
  let indexed = 0

  const forget = (serial: number): void => {
    made.delete(serial)
    for (const [address, found] of accounts) if (found.serial === serial) accounts.delete(address)
  }
  const at = (serial: number, slot: number): Launch => {
    const held = made.get(serial)
    if (held?.slot === slot) return held
    const register: Register = (account) => accounts.set(account.address, { serial, account })
    const launch = createLaunch(scenario, { serial, slot }, register)
    accountsOf(launch).forEach(register)
    made.set(serial, launch)
    const oldest = made.keys().next().value
    if (made.size > MAX_CACHED_LAUNCHES && oldest !== undefined) forget(oldest)
    return launch
  }
  return {
    at,
    byAddress: (address, count) => {
      for (; indexed < count; indexed += 1) {
        const { mint, pool, curve } = createLaunch(scenario, { serial: indexed, slot: 0 }, () => {})
        for (const { address: own } of [mint.account, pool, curve]) serials.set(own, indexed)
      }
      const serial = serials.get(address)
      return serial === undefined || serial >= count
        ? undefined
        : createLaunch(scenario, { serial, slot: 0 }, () => {})
    },
    accountByAddress: (address) => {
      const found = accounts.get(address)
      const launch = found && made.get(found.serial)
      return found && launch && { launch, account: found.account }
    },
  }
}
