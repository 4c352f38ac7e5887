import {
  encodeAbiParameters,
  type Hex,
  keccak256,
  stringToHex,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import type { Read } from '../node/state.ts'
import { type Layout, TICK_OFFSET } from './layout.ts'
import type { Pool, Token, Venue, World } from './scenario.ts'

/** What a contract answered; `undefined` data = it reverted. */
export type Answer = { readonly data: Hex | undefined }

/** What a call may read: the world and its state at one block. */
interface View {
  readonly world: World
  readonly layout: Layout
  readonly read: Read
}

/** Answers a function of a contract; `words` are the 32-byte words of the arguments. Undefined = reverts. */
type Handler<Subject> = (view: View, subject: Subject, words: readonly string[]) => Hex | undefined
type Functions<Subject> = Readonly<Record<string, Handler<Subject>>>

const bySelector = <Subject>(functions: Functions<Subject>): Functions<Subject> =>
  Object.fromEntries(
    Object.entries(functions).map(([signature, handler]) => [
      toFunctionSelector(signature),
      handler,
    ]),
  )

const uint = (value: bigint | number): Hex =>
  encodeAbiParameters([{ type: 'uint256' }], [BigInt(value)])
const address = (value: Hex): Hex => encodeAbiParameters([{ type: 'address' }], [value])
const text = (value: string): Hex => encodeAbiParameters([{ type: 'string' }], [value])
const bytes32 = (value: string): Hex => stringToHex(value, { size: 32 })

const addressIn = (word: string | undefined): Hex => `0x${(word ?? '').slice(24)}`
const ZERO_WORDS = [uint(0), address(zeroAddress)] as const

const TOKEN: Functions<Token> = {
  'name()': (_, { name, quirk }) => (quirk === 'bytes32' ? bytes32(name) : text(name)),
  'symbol()': (_, { symbol, quirk }) => (quirk === 'bytes32' ? bytes32(symbol) : text(symbol)),
  'decimals()': (_, { decimals, quirk }) => (quirk === 'no-decimals' ? undefined : uint(decimals)),
  'totalSupply()': ({ layout, read }, { index }) => uint(read(layout.supply(index))),
  'balanceOf(address)': ({ world, layout, read }, token, [word]) => {
    const account = world.accountOf.get(addressIn(word))
    return account === undefined
      ? ZERO_WORDS[0]
      : uint(read(layout.balance(token.index, account.index)))
  },
  'allowance(address,address)': () => uint((1n << 256n) - 1n),
}

const factoryOf = ({ world }: View, pool: Pool): Hex => world.venues[pool.venue].factory.address

const POOL: Functions<Pool> = {
  'token0()': (_, { token0 }) => address(token0.address),
  'token1()': (_, { token1 }) => address(token1.address),
  'factory()': (view, pool) => address(factoryOf(view, pool)),
}

const PAIR: Functions<Pool> = {
  ...POOL,
  'getReserves()': ({ layout, read }, { index }) =>
    encodeAbiParameters(
      [{ type: 'uint112' }, { type: 'uint112' }, { type: 'uint32' }],
      [read(layout.pool(index, 'reserve0')), read(layout.pool(index, 'reserve1')), 0],
    ),
  'name()': () => text('Uniswap V2'),
  'symbol()': () => text('UNI-V2'),
  'decimals()': () => uint(18),
  'totalSupply()': ({ layout, read }, { index }) => uint(read(layout.pool(index, 'liquidity'))),
  'balanceOf(address)': ({ world, layout, read }, { index }, [word]) => {
    const account = world.accountOf.get(addressIn(word))
    return account?.role === 'liquidity' ? uint(read(layout.share(index, account.index))) : uint(0)
  },
}

const POOL_V3: Functions<Pool> = {
  ...POOL,
  'fee()': (_, { feePips }) => uint(feePips),
  'tickSpacing()': (_, { tickSpacing }) => uint(tickSpacing),
  'liquidity()': ({ layout, read }, { index }) => uint(read(layout.pool(index, 'liquidity'))),
  'slot0()': ({ layout, read }, { index }) =>
    encodeAbiParameters(
      ['uint160', 'int24', 'uint16', 'uint16', 'uint16', 'uint8', 'bool'].map((type) => ({ type })),
      [
        read(layout.pool(index, 'sqrtPrice')),
        Number(read(layout.pool(index, 'tick')) - TICK_OFFSET),
        0,
        1,
        1,
        0,
        true,
      ],
    ),
}

const exists = ({ layout, read }: View, { index }: Pool): boolean =>
  read(layout.pool(index, 'number')) > 0n

const poolBetween = (view: View, venue: Venue, words: readonly string[]): Hex => {
  const pair = [addressIn(words[0]), addressIn(words[1])].sort()
  const fee = venue.version === 3 ? Number(BigInt(`0x${words[2] ?? '0'}`)) : undefined
  const found = view.world.pools.find(
    (pool) =>
      pool.venue === venue.id &&
      pool.token0.address === pair[0] &&
      pool.token1.address === pair[1] &&
      (fee === undefined || fee === pool.feePips) &&
      exists(view, pool),
  )
  return address(found?.address ?? zeroAddress)
}

const countOf = (view: View, venue: Venue): bigint =>
  BigInt(view.world.pools.filter((pool) => pool.venue === venue.id && exists(view, pool)).length)

const FACTORY: Functions<Venue> = {
  'getPair(address,address)': poolBetween,
  'allPairsLength()': (view, venue) => uint(countOf(view, venue)),
  'feeTo()': () => ZERO_WORDS[1],
}

const FACTORY_V3: Functions<Venue> = {
  'getPool(address,address,uint24)': poolBetween,
  'owner()': () => ZERO_WORDS[1],
}

const SELECTED = {
  token: bySelector(TOKEN),
  pair: bySelector(PAIR),
  pool: bySelector(POOL_V3),
  factory: bySelector(FACTORY),
  factoryV3: bySelector(FACTORY_V3),
} as const

const ask = <Subject>(
  functions: Functions<Subject>,
  {
    view,
    subject,
    data,
  }: { readonly view: View; readonly subject: Subject; readonly data: string },
): Answer => {
  const handler = functions[data.slice(0, 10)]
  const words = data.slice(10).match(/.{64}/g) ?? []
  return { data: handler?.(view, subject, words) }
}

/** A token that was deployed by this block; its deployer's nonce tells. */
const isDeployed = ({ layout, read }: View, token: Token): boolean =>
  read(layout.fair(token.index)) > 0n && read(layout.nonce(token.deployer)) > 0n

/** Calls a contract by address with lower-case call data. Accounts without code answer `0x`, unknown functions revert. */
export const callContract = (view: View, to: string, data: string): Answer => {
  const { world } = view
  const token = world.tokenOf.get(to)
  if (token !== undefined)
    return isDeployed(view, token)
      ? ask(SELECTED.token, { view, subject: token, data })
      : { data: '0x' }
  const pool = world.poolOf.get(to)
  if (pool !== undefined) {
    const functions = pool.version === 2 ? SELECTED.pair : SELECTED.pool
    return exists(view, pool) ? ask(functions, { view, subject: pool, data }) : { data: '0x' }
  }
  if (to === world.fakePair.address)
    return ask(SELECTED.pair, { view, subject: world.fakePool, data })
  const venue = Object.values(world.venues).find(({ factory }) => factory.address === to)
  if (venue !== undefined) {
    const functions = venue.version === 2 ? SELECTED.factory : SELECTED.factoryV3
    return ask(functions, { view, subject: venue, data })
  }
  return { data: world.accountOf.get(to)?.role === 'contract' ? undefined : '0x' }
}

/** Code at an address: `0x` for wallets and for what is not deployed yet. */
export const codeAt = (view: View, of: string): Hex => {
  const { world } = view
  const account = world.accountOf.get(of)
  if (account === undefined) return '0x'
  const token = world.tokenOf.get(of)
  const pool = world.poolOf.get(of)
  const deployed =
    (token !== undefined && isDeployed(view, token)) ||
    (pool !== undefined && exists(view, pool)) ||
    account.role === 'contract'
  if (!deployed) return '0x'
  const body = keccak256(stringToHex(token === undefined ? account.role : token.symbol)).slice(2)
  return `0x608060405234801561001057600080fd5b50${body.repeat(8)}`
}
