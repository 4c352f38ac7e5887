import {
  encodeAbiParameters,
  type Hex,
  keccak256,
  stringToHex,
  toFunctionSelector,
  zeroAddress,
} from 'viem'
import type { StateReader } from '../node/state.ts'
import type { Pool, Scenario, Token, Venue } from './scenario.ts'
import { type StateLayout, TICK_OFFSET } from './state-layout.ts'

/** What a contract answered; `undefined` data = it reverted. */
export type CallResult = { readonly data: Hex | undefined }

/** What a call may read: the scenario and its state at one block. */
interface CallContext {
  readonly scenario: Scenario
  readonly layout: StateLayout
  readonly read: StateReader
}

/** Answers a function of a contract; `words` are the 32-byte words of the arguments. Undefined = reverts. */
type ContractFunction<Subject> = (
  view: CallContext,
  subject: Subject,
  words: readonly string[],
) => Hex | undefined
type ContractFunctions<Subject> = Readonly<Record<string, ContractFunction<Subject>>>

const bySelector = <Subject>(functions: ContractFunctions<Subject>): ContractFunctions<Subject> =>
  Object.fromEntries(
    Object.entries(functions).map(([signature, handler]) => [
      toFunctionSelector(signature),
      handler,
    ]),
  )

const encodeUint = (value: bigint | number): Hex =>
  encodeAbiParameters([{ type: 'uint256' }], [BigInt(value)])
const encodeAddress = (value: Hex): Hex => encodeAbiParameters([{ type: 'address' }], [value])
const encodeString = (value: string): Hex => encodeAbiParameters([{ type: 'string' }], [value])
const encodeBytes32 = (value: string): Hex => stringToHex(value, { size: 32 })

const decodeAddress = (word: string | undefined): Hex => `0x${(word ?? '').slice(24)}`
const ZERO_WORDS = [encodeUint(0), encodeAddress(zeroAddress)] as const

const TOKEN: ContractFunctions<Token> = {
  'name()': (_, { name, quirk }) =>
    quirk === 'bytes32' ? encodeBytes32(name) : encodeString(name),
  'symbol()': (_, { symbol, quirk }) =>
    quirk === 'bytes32' ? encodeBytes32(symbol) : encodeString(symbol),
  'decimals()': (_, { decimals, quirk }) =>
    quirk === 'no-decimals' ? undefined : encodeUint(decimals),
  'totalSupply()': ({ layout, read }, { index }) => encodeUint(read(layout.supply(index))),
  'balanceOf(address)': ({ scenario, layout, read }, token, [word]) => {
    const account = scenario.accountOf.get(decodeAddress(word))
    return account === undefined
      ? ZERO_WORDS[0]
      : encodeUint(read(layout.balance(token.index, account.index)))
  },
  'allowance(address,address)': () => encodeUint((1n << 256n) - 1n),
}

const factoryOf = ({ scenario }: CallContext, pool: Pool): Hex =>
  scenario.venues[pool.venue].factory.address

const POOL: ContractFunctions<Pool> = {
  'token0()': (_, { token0 }) => encodeAddress(token0.address),
  'token1()': (_, { token1 }) => encodeAddress(token1.address),
  'factory()': (view, pool) => encodeAddress(factoryOf(view, pool)),
}

const PAIR: ContractFunctions<Pool> = {
  ...POOL,
  'getReserves()': ({ layout, read }, { index }) =>
    encodeAbiParameters(
      [{ type: 'uint112' }, { type: 'uint112' }, { type: 'uint32' }],
      [read(layout.pool(index, 'reserve0')), read(layout.pool(index, 'reserve1')), 0],
    ),
  'name()': () => encodeString('Uniswap V2'),
  'symbol()': () => encodeString('UNI-V2'),
  'decimals()': () => encodeUint(18),
  'totalSupply()': ({ layout, read }, { index }) =>
    encodeUint(read(layout.pool(index, 'liquidity'))),
  'balanceOf(address)': ({ scenario, layout, read }, { index }, [word]) => {
    const account = scenario.accountOf.get(decodeAddress(word))
    return account?.role === 'liquidity'
      ? encodeUint(read(layout.share(index, account.index)))
      : encodeUint(0)
  },
}

const V3_POOL: ContractFunctions<Pool> = {
  ...POOL,
  'fee()': (_, { feePips }) => encodeUint(feePips),
  'tickSpacing()': (_, { tickSpacing }) => encodeUint(tickSpacing),
  'liquidity()': ({ layout, read }, { index }) => encodeUint(read(layout.pool(index, 'liquidity'))),
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

const isPoolCreated = ({ layout, read }: CallContext, { index }: Pool): boolean =>
  read(layout.pool(index, 'number')) > 0n

const poolBetween = (view: CallContext, venue: Venue, words: readonly string[]): Hex => {
  const pair = [decodeAddress(words[0]), decodeAddress(words[1])].sort()
  const fee = venue.version === 3 ? Number(BigInt(`0x${words[2] ?? '0'}`)) : undefined
  const found = view.scenario.pools.find(
    (pool) =>
      pool.venue === venue.id &&
      pool.token0.address === pair[0] &&
      pool.token1.address === pair[1] &&
      (fee === undefined || fee === pool.feePips) &&
      isPoolCreated(view, pool),
  )
  return encodeAddress(found?.address ?? zeroAddress)
}

const createdPoolCount = (view: CallContext, venue: Venue): bigint =>
  BigInt(
    view.scenario.pools.filter((pool) => pool.venue === venue.id && isPoolCreated(view, pool))
      .length,
  )

const FACTORY: ContractFunctions<Venue> = {
  'getPair(address,address)': poolBetween,
  'allPairsLength()': (view, venue) => encodeUint(createdPoolCount(view, venue)),
  'feeTo()': () => ZERO_WORDS[1],
}

const V3_FACTORY: ContractFunctions<Venue> = {
  'getPool(address,address,uint24)': poolBetween,
  'owner()': () => ZERO_WORDS[1],
}

const FUNCTIONS_BY_CONTRACT = {
  token: bySelector(TOKEN),
  pair: bySelector(PAIR),
  pool: bySelector(V3_POOL),
  factory: bySelector(FACTORY),
  factoryV3: bySelector(V3_FACTORY),
} as const

const callFunction = <Subject>(
  functions: ContractFunctions<Subject>,
  {
    view,
    subject,
    data,
  }: { readonly view: CallContext; readonly subject: Subject; readonly data: string },
): CallResult => {
  const handler = functions[data.slice(0, 10)]
  const words = data.slice(10).match(/.{64}/g) ?? []
  return { data: handler?.(view, subject, words) }
}

/** A token that was deployed by this block; its deployer's nonce tells. */
const isDeployed = ({ layout, read }: CallContext, token: Token): boolean =>
  read(layout.fairPrice(token.index)) > 0n && read(layout.nonce(token.deployer)) > 0n

/** Calls a contract by address with lower-case call data. Accounts without code answer `0x`, unknown functions revert. */
export const callContract = (view: CallContext, to: string, data: string): CallResult => {
  const { scenario } = view
  const token = scenario.tokenOf.get(to)
  if (token !== undefined)
    return isDeployed(view, token)
      ? callFunction(FUNCTIONS_BY_CONTRACT.token, { view, subject: token, data })
      : { data: '0x' }
  const pool = scenario.poolOf.get(to)
  if (pool !== undefined) {
    const functions = pool.version === 2 ? FUNCTIONS_BY_CONTRACT.pair : FUNCTIONS_BY_CONTRACT.pool
    return isPoolCreated(view, pool)
      ? callFunction(functions, { view, subject: pool, data })
      : { data: '0x' }
  }
  if (to === scenario.fakePair.address)
    return callFunction(FUNCTIONS_BY_CONTRACT.pair, { view, subject: scenario.fakePool, data })
  const venue = Object.values(scenario.venues).find(({ factory }) => factory.address === to)
  if (venue !== undefined) {
    const functions =
      venue.version === 2 ? FUNCTIONS_BY_CONTRACT.factory : FUNCTIONS_BY_CONTRACT.factoryV3
    return callFunction(functions, { view, subject: venue, data })
  }
  return { data: scenario.accountOf.get(to)?.role === 'contract' ? undefined : '0x' }
}

/** Code at an address: `0x` for wallets and for what is not deployed yet. */
export const codeAt = (view: CallContext, of: string): Hex => {
  const { scenario } = view
  const account = scenario.accountOf.get(of)
  if (account === undefined) return '0x'
  const token = scenario.tokenOf.get(of)
  const pool = scenario.poolOf.get(of)
  const deployed =
    (token !== undefined && isDeployed(view, token)) ||
    (pool !== undefined && isPoolCreated(view, pool)) ||
    account.role === 'contract'
  if (!deployed) return '0x'
  const body = keccak256(stringToHex(token === undefined ? account.role : token.symbol)).slice(2)
  return `0x608060405234801561001057600080fd5b50${body.repeat(8)}`
}
