import {
  type Account,
  type FixedAccount,
  fixedAccount,
  type Mint,
  type StoredAccount,
  type TokenAccount,
} from './accounts.ts'
import { simulatedAddress } from './addresses.ts'
import { KNOWN_ACCOUNTS, RENT } from './known-accounts.ts'
import { LISTED_POOLS, LISTED_TOKENS, type TokenName, USDC_NAME } from './listings.ts'
import { type StateLayout, stateLayoutOf } from './state-layout.ts'

/** How a wallet behaves. */
type Role = 'exchange' | 'migrator' | 'maker' | 'whale' | 'creator' | 'retail'

/** A wallet and the accounts that belong to it. */
export interface Wallet {
  readonly index: number
  readonly role: Role
  readonly account: StoredAccount
  readonly wsol: TokenAccount
  readonly usdc: TokenAccount
  /** By index of the older coin. */
  readonly coins: readonly TokenAccount[]
  /** Where pump.fun collects what it owes this wallet as a creator. */
  readonly creatorVault: StoredAccount
  /** The same at PumpSwap: its authority and its wSOL account. */
  readonly ammAuthority: FixedAccount
  readonly ammVault: TokenAccount
  readonly curveVolume: FixedAccount
  readonly ammVolume: FixedAccount
}

/** A Raydium AMM v4 pool. */
export interface RaydiumPool {
  readonly index: number
  readonly weight: number
  readonly reference: boolean
  readonly usd: number
  readonly account: FixedAccount
  readonly coin: Mint
  readonly pc: Mint
  readonly coinVault: TokenAccount
  readonly pcVault: TokenAccount
  readonly openOrders: FixedAccount
  readonly targetOrders: FixedAccount
  /** Market, bids, asks, event queue, coin vault, pc vault, vault signer of the order book. */
  readonly market: readonly FixedAccount[]
}

interface Validator {
  readonly identity: StoredAccount
  readonly vote: FixedAccount
}

/** A look-up table; the place of an account in it is its index. */
interface LookupTable {
  readonly account: FixedAccount
  readonly entries: readonly Account[]
}

/** Everything that is fixed by the seed. Launched tokens are not: see launches.ts. */
export interface Scenario {
  readonly seed: number
  readonly layout: StateLayout
  readonly wallets: readonly Wallet[]
  readonly byRole: Readonly<Record<Role, readonly Wallet[]>>
  readonly validators: readonly Validator[]
  readonly sol: Mint
  readonly usdc: Mint
  readonly coins: readonly Mint[]
  /** Mints that have a Metaplex account. */
  readonly names: ReadonlyMap<Mint, TokenName>
  readonly pools: readonly RaydiumPool[]
  readonly feeRecipient: StoredAccount
  readonly buyback: StoredAccount
  readonly withdrawAuthority: StoredAccount
  readonly ammFeeOwner: FixedAccount
  readonly ammFeeVault: TokenAccount
  /** A program through which some people trade: it calls the others. */
  readonly router: FixedAccount
  readonly tables: readonly LookupTable[]
}

const ROLE_COUNTS: readonly (readonly [Role, number])[] = [
  ['exchange', 1],
  ['migrator', 1],
  ['maker', 4],
  ['whale', 4],
  ['creator', 22],
  ['retail', 134],
]
const VALIDATORS = 8
const WALLETS = ROLE_COUNTS.reduce((sum, [, count]) => sum + count, 0)

const MARKET_ACCOUNTS = 7

interface AccountFactories {
  readonly fixed: (label: string, lamports?: bigint) => FixedAccount
  readonly stored: (label: string, place: number) => StoredAccount
  readonly token: (label: string, place: number, of: { mint: Mint; owner: Account }) => TokenAccount
}

const accountFactories = (seed: number): AccountFactories => ({
  fixed: (label, lamports) => fixedAccount(simulatedAddress(seed, label), lamports),
  stored: (label, place) => ({
    kind: 'stored',
    ...simulatedAddress(seed, label),
    stateIndex: place,
  }),
  token: (label, place, { mint, owner }) => ({
    kind: 'token',
    ...simulatedAddress(seed, label),
    stateIndex: place,
    rentRaw: RENT.tokenAccount,
    mint,
    owner,
  }),
})

const fixedSupplyMint = (
  account: FixedAccount,
  decimals: number,
  raw: bigint,
  native = false,
): Mint => ({
  account,
  decimals,
  program: KNOWN_ACCOUNTS.token,
  native,
  supply: { raw },
})

const createWallets = (
  { fixed, stored, token }: AccountFactories,
  layout: StateLayout,
  mints: { readonly sol: Mint; readonly usdc: Mint; readonly coins: readonly Mint[] },
): readonly Wallet[] => {
  const roles = ROLE_COUNTS.flatMap(([role, count]) => new Array<Role>(count).fill(role))
  return roles.map((role, index) => {
    const at = (field: Parameters<StateLayout['wallet']>[1]): number => layout.wallet(index, field)
    const account = stored(`wallet ${index}`, at('lamports'))
    const own = (label: string, place: number, mint: Mint): TokenAccount =>
      token(`wallet ${index} ${label}`, place, { mint, owner: account })
    const ammAuthority = fixed(`wallet ${index} amm creator`, 0n)
    return {
      index,
      role,
      account,
      ammAuthority,
      wsol: own('wsol', at('wsol'), mints.sol),
      usdc: own('usdc', at('usdc'), mints.usdc),
      coins: mints.coins.map((mint, coin) =>
        own(`coin ${coin}`, layout.tokenAccount(coin, index), mint),
      ),
      creatorVault: stored(`wallet ${index} curve creator`, at('creatorVault')),
      ammVault: token(`wallet ${index} amm vault`, at('ammVault'), {
        mint: mints.sol,
        owner: ammAuthority,
      }),
      curveVolume: fixed(`wallet ${index} curve volume`, 1_844_400n),
      ammVolume: fixed(`wallet ${index} amm volume`, 1_844_400n),
    }
  })
}

const createPools = (
  { fixed, token }: AccountFactories,
  layout: StateLayout,
  mintOf: (symbol: string) => Mint,
): readonly RaydiumPool[] =>
  LISTED_POOLS.map(({ coin, pc, usd, weight, reference }, index) => {
    const [coinMint, pcMint] = [mintOf(coin), mintOf(pc)]
    const owner = KNOWN_ACCOUNTS.raydiumAuthority
    const vault = (side: 'coin' | 'pc', mint: Mint): TokenAccount =>
      token(`pool ${index} ${side}`, layout.pool(index, side), { mint, owner })
    return {
      index,
      usd,
      weight,
      reference,
      coin: coinMint,
      pc: pcMint,
      account: fixed(`pool ${index}`, 6_124_800n),
      coinVault: vault('coin', coinMint),
      pcVault: vault('pc', pcMint),
      openOrders: fixed(`pool ${index} open orders`, 23_357_760n),
      targetOrders: fixed(`pool ${index} target orders`, 16_258_560n),
      market: Array.from({ length: MARKET_ACCOUNTS }, (_, part) =>
        fixed(`pool ${index} market ${part}`, 3_591_360n),
      ),
    }
  })

/** Look-up tables as trading front ends keep them: what does not change, and the pools. */
const createLookupTables = (
  { fixed }: AccountFactories,
  scenario: Pick<Scenario, 'pools' | 'feeRecipient' | 'buyback' | 'ammFeeOwner' | 'ammFeeVault'>,
): readonly LookupTable[] => [
  {
    account: fixed('table 0', 3_000_000n),
    entries: [...Object.values(KNOWN_ACCOUNTS), ...[scenario.feeRecipient, scenario.buyback]],
  },
  {
    account: fixed('table 1', 5_000_000n),
    entries: [
      ...[scenario.ammFeeOwner, scenario.ammFeeVault],
      ...scenario.pools.flatMap(({ account, coinVault, pcVault, openOrders, market }) => [
        ...[account, coinVault, pcVault, openOrders],
        ...market,
      ]),
    ],
  },
]

/** Builds the scenario of a seed. */
export const createScenario = (seed: number, ratePerSecond: number): Scenario => {
  const make = accountFactories(seed)
  const layout = stateLayoutOf(ratePerSecond, { wallets: WALLETS, validators: VALIDATORS })
  const sol = fixedSupplyMint(KNOWN_ACCOUNTS.wsol, 9, 0n, true)
  const usdc = fixedSupplyMint(KNOWN_ACCOUNTS.usdc, 6, 7_942_617_223_551_208n)
  const coins = LISTED_TOKENS.map(({ symbol, decimals, supply }) =>
    fixedSupplyMint(
      make.fixed(`coin ${symbol}`),
      decimals,
      BigInt(supply) * 10n ** BigInt(decimals),
    ),
  )
  const mintOf = (symbol: string): Mint => {
    const known = symbol === 'SOL' ? sol : symbol === 'USDC' ? usdc : undefined
    const mint = known ?? coins[LISTED_TOKENS.findIndex((coin) => coin.symbol === symbol)]
    if (mint === undefined) throw new RangeError(`no coin ${symbol}`)
    return mint
  }
  const wallets = createWallets(make, layout, { sol, usdc, coins })
  const pools = createPools(make, layout, mintOf)
  const ammFeeOwner = make.fixed('amm fees', 1_003_177_328n)
  const common = {
    feeRecipient: make.stored('curve fees', layout.common('feeRecipient')),
    buyback: make.stored('buyback', layout.common('buyback')),
    ammFeeOwner,
    ammFeeVault: make.token('amm fee vault', layout.common('ammFeeVault'), {
      mint: sol,
      owner: ammFeeOwner,
    }),
  }
  const byRole = (role: Role): readonly Wallet[] => wallets.filter((one) => one.role === role)
  return {
    seed,
    layout,
    wallets,
    sol,
    usdc,
    coins,
    names: new Map([
      [usdc, USDC_NAME],
      ...LISTED_TOKENS.map((listed) => [mintOf(listed.symbol), listed] as const),
    ]),
    pools,
    ...common,
    byRole: Object.fromEntries(
      ROLE_COUNTS.map(([role]) => [role, byRole(role)]),
    ) as Scenario['byRole'],
    validators: Array.from({ length: VALIDATORS }, (_, at) => ({
      identity: make.stored(`validator ${at}`, layout.validator(at)),
      vote: make.fixed(`validator ${at} vote`, 26_858_640n),
    })),
    withdrawAuthority: make.stored('withdraw authority', layout.common('withdrawAuthority')),
    router: make.fixed('router', 1_141_440n),
    tables: createLookupTables(make, { pools, ...common }),
  }
}
