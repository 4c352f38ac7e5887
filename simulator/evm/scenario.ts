import {
  concatHex,
  encodeAbiParameters,
  getContractAddress,
  type Hex,
  keccak256,
  numberToHex,
  stringToHex,
} from 'viem'
import { MAX_TICK, sqrtPriceAtTick } from '../../core/prices/tick-math.ts'
import {
  POOLS,
  type PoolListing,
  TOKENS,
  type TokenListing,
  VENUES,
  type VenueId,
} from './listings.ts'

/** How an account behaves. */
type Role =
  | 'exchange'
  | 'deployer'
  | 'liquidity'
  | 'market-maker'
  | 'arbitrageur'
  | 'whale'
  | 'forger'
  | 'retail'
  | 'holder'
  | 'validator'
  | 'contract'
  | 'token'
  | 'pool'

/** An address that can hold something; its index is its place in the state. */
export interface Account {
  readonly index: number
  readonly address: Hex
  readonly role: Role
}

/** A token of this scenario. */
export interface Token extends TokenListing {
  readonly index: number
  readonly address: Hex
  readonly account: number
  readonly deployer: number
}

/** A pool of this scenario; token0 has the lower address. */
export interface Pool extends PoolListing {
  readonly index: number
  readonly address: Hex
  readonly account: number
  readonly version: 2 | 3
  readonly token0: Token
  readonly token1: Token
  readonly baseToken: Token
  readonly quoteToken: Token
  readonly tickSpacing: number
  /** Lowest and highest usable tick: every position of this scenario is full range, so no swap crosses a tick. */
  readonly range: readonly [number, number]
  /** Square root prices in Q96 at both ends of the range. */
  readonly limits: readonly [bigint, bigint]
}

/** Contracts of one venue. */
export interface Venue {
  readonly id: VenueId
  readonly version: 2 | 3
  readonly listed: boolean
  readonly factory: Account
  readonly router: Account
}

/** Everything that is fixed by the seed: who and what exists, and where. Whether it exists yet is state. */
export interface Scenario {
  readonly seed: number
  readonly accounts: readonly Account[]
  readonly tokens: readonly Token[]
  readonly pools: readonly Pool[]
  readonly venues: Readonly<Record<VenueId, Venue>>
  readonly byRole: Readonly<Record<Role, readonly Account[]>>
  /** Holds V3 positions. */
  readonly positionManager: Account
  readonly disperser: Account
  readonly arbitrageContract: Account
  readonly flashContract: Account
  /** Emits swap events without being a pool. */
  readonly forgery: Account
  /** Claims the listed V2 factory, which does not know it; tokens of `fakePool`. */
  readonly fakePair: Account
  readonly fakePool: Pool
  readonly accountOf: ReadonlyMap<string, Account>
  readonly tokenOf: ReadonlyMap<string, Token>
  readonly poolOf: ReadonlyMap<string, Pool>
  readonly weth: Token
}

const ROLE_COUNTS: readonly (readonly [Role, number])[] = [
  ['exchange', 1],
  ['deployer', 8],
  ['liquidity', 4],
  ['market-maker', 4],
  ['arbitrageur', 4],
  ['whale', 3],
  ['forger', 1],
  ['retail', 180],
  ['holder', 100],
  ['validator', 12],
]

/** Init code hashes of the original pairs and pools. */
const INIT_CODE_HASH = {
  2: '0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f',
  3: '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54',
} as const

const TICK_SPACINGS: Readonly<Record<number, number>> = { 100: 1, 500: 10, 3000: 60, 10000: 200 }

const toLowerCase = (address: Hex): Hex => `0x${address.slice(2).toLowerCase()}`

/** Address without a known key. */
const derivedAddress = (seed: number, label: string): Hex =>
  `0x${keccak256(concatHex([numberToHex(seed), stringToHex(label)])).slice(26)}`

const poolAddress = (row: PoolListing, factory: Hex, tokens: readonly [Hex, Hex]): Hex => {
  const version = VENUES[row.venue].version
  const salt =
    version === 2
      ? keccak256(concatHex([...tokens]))
      : keccak256(
          encodeAbiParameters(
            [{ type: 'address' }, { type: 'address' }, { type: 'uint24' }],
            [...tokens, row.feePips],
          ),
        )
  const bytecodeHash = INIT_CODE_HASH[version]
  return toLowerCase(getContractAddress({ opcode: 'CREATE2', from: factory, salt, bytecodeHash }))
}

const createTokens = (
  deployers: readonly Account[],
  add: (address: Hex, role: Role) => Account,
) => {
  const nonces = new Map<number, number>()
  return TOKENS.map((row, index): Token => {
    const deployer = deployers[row.born > 1 ? 1 + (index % (deployers.length - 1)) : 0]
    if (deployer === undefined) throw new RangeError('no deployer')
    const nonce = nonces.get(deployer.index) ?? 0
    nonces.set(deployer.index, nonce + 1)
    const address = toLowerCase(
      getContractAddress({ from: deployer.address, nonce: BigInt(nonce) }),
    )
    const account = add(address, 'token').index
    return { ...row, index, address, account, deployer: deployer.index }
  })
}

const createPools = (
  tokens: readonly Token[],
  factories: Readonly<Record<VenueId, Venue>>,
  add: (address: Hex, role: Role) => Account,
): readonly Pool[] =>
  POOLS.map((row, index) => {
    const baseToken = tokens.find(({ symbol }) => symbol === row.base)
    const quoteToken = tokens.find(({ symbol }) => symbol === row.quote)
    if (!baseToken || !quoteToken) throw new RangeError(`no token for ${row.base}/${row.quote}`)
    const sorted = baseToken.address < quoteToken.address
    const [token0, token1] = sorted ? [baseToken, quoteToken] : [quoteToken, baseToken]
    const factory = factories[row.venue].factory.address
    const address = poolAddress(row, factory, [token0.address, token1.address])
    const tickSpacing = TICK_SPACINGS[row.feePips] ?? 60
    const last = Math.floor(MAX_TICK / tickSpacing) * tickSpacing
    return {
      ...row,
      index,
      address,
      account: add(address, 'pool').index,
      version: VENUES[row.venue].version,
      token0,
      token1,
      baseToken,
      quoteToken,
      tickSpacing,
      range: [-last, last],
      limits: [sqrtPriceAtTick(-last), sqrtPriceAtTick(last)],
    }
  })

const firstOf = <T>(list: readonly T[]): T => {
  const [item] = list
  if (item === undefined) throw new RangeError('empty list')
  return item
}

/** Builds the scenario of a seed. */
export const createScenario = (seed: number): Scenario => {
  const accounts: Account[] = []
  const add = (address: Hex, role: Role): Account => {
    const account: Account = { index: accounts.length, address, role }
    accounts.push(account)
    return account
  }
  const contract = (label: string): Account => add(derivedAddress(seed, label), 'contract')
  for (const [role, count] of ROLE_COUNTS) {
    for (let i = 0; i < count; i += 1) add(derivedAddress(seed, `${role} ${i}`), role)
  }
  const venue = (id: VenueId): Venue => ({
    id,
    ...VENUES[id],
    factory: contract(`${id} factory`),
    router: contract(`${id} router`),
  })
  const venues = {
    uniswap_v2: venue('uniswap_v2'),
    sushiswap_v2: venue('sushiswap_v2'),
    fork_v2: venue('fork_v2'),
    uniswap_v3: venue('uniswap_v3'),
  }
  const contracts = {
    positionManager: contract('position manager'),
    disperser: contract('disperser'),
    arbitrageContract: contract('arbitrage'),
    flashContract: contract('flash'),
    forgery: contract('forgery'),
    fakePair: contract('fake pair'),
  }
  const byRole = (role: Role): readonly Account[] => accounts.filter((a) => a.role === role)
  const tokens = createTokens(byRole('deployer'), add)
  const pools = createPools(tokens, venues, add)
  const roles = [...new Set(accounts.map(({ role }) => role))]
  return {
    seed,
    accounts,
    tokens,
    pools,
    venues,
    ...contracts,
    fakePool: firstOf(pools.filter(({ base }) => base === 'BORK')),
    byRole: Object.fromEntries(roles.map((role) => [role, byRole(role)])) as Scenario['byRole'],
    accountOf: new Map(accounts.map((account) => [account.address, account])),
    tokenOf: new Map(tokens.map((token) => [token.address, token])),
    poolOf: new Map(pools.map((made) => [made.address, made])),
    weth: firstOf(tokens),
  }
}
