import { type Hex, keccak256, stringToHex } from 'viem'
import type { BlockBuilder } from './block-builder.ts'
import { LOG_ENCODERS } from './event-logs.ts'
import { accountAddress, balanceOf, firstAccount, mint, transfer, wrap } from './execution.ts'
import { rawForUsd } from './fair-prices.ts'
import type { Pool, Token } from './scenario.ts'
import { callDataEncoder } from './transactions.ts'
import { pairMint, writePoolField } from './v2-pair.ts'
import { poolInitialize, poolMint } from './v3-pool.ts'

const CALL_DATA = {
  deposit: callDataEncoder('deposit()'),
  createPair: callDataEncoder('createPair(address,address)'),
  createPool: callDataEncoder('createAndInitializePoolIfNecessary(address,address,uint24,uint160)'),
  addLiquidity: callDataEncoder(
    'addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)',
  ),
  mint: callDataEncoder(
    'mint(address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256)',
  ),
  disperse: callDataEncoder('disperseToken(address,address[],uint256[])'),
} as const

/** USD of the whole supply at birth. */
const INITIAL_SUPPLY_USD = { quote: 20e9, token: 400e6, launch: 1e6 } as const
const EXCHANGE_WETH_DEPOSIT_RAW = 2_000_000n * 10n ** 18n
const DISPERSE_RECIPIENTS = 60

/** Init code of a token: its length and its bytes are those of no real contract. */
const initCode = (token: Token): Hex => {
  const seed = keccak256(stringToHex(token.symbol)).slice(2)
  return `0x60806040523480156200001157600080fd5b50${seed.repeat(12)}`
}

const initialSupplyOf = (builder: BlockBuilder, token: Token): bigint => {
  if (token.kind !== undefined) return rawForUsd(builder.context, token, INITIAL_SUPPLY_USD.quote)
  return rawForUsd(
    builder.context,
    token,
    token.born > 1 ? INITIAL_SUPPLY_USD.launch : INITIAL_SUPPLY_USD.token,
  )
}

const deploy = (builder: BlockBuilder, token: Token): void => {
  const { context } = builder
  builder.submit({
    from: token.deployer,
    to: null,
    input: () => initCode(token),
    gas: 1_400_000,
    contractAddress: token.address,
    run: () => {
      if (token.quirk !== 'wrapped-native')
        mint(context, token, token.deployer, initialSupplyOf(builder, token))
    },
  })
}

const fundExchange = (builder: BlockBuilder, token: Token): void => {
  const { context } = builder
  const exchange = firstAccount(context.scenario.byRole.exchange)
  if (token.quirk === 'wrapped-native') {
    builder.submit({
      from: exchange.index,
      to: token.address,
      valueRaw: EXCHANGE_WETH_DEPOSIT_RAW,
      input: CALL_DATA.deposit(),
      gas: 45_000,
      run: () => wrap(context, exchange.index, EXCHANGE_WETH_DEPOSIT_RAW),
    })
    return
  }
  const amount = (balanceOf(context, token, token.deployer) * 19n) / 20n
  builder.send(token.deployer, token, { to: exchange.index, amount })
}

/** Many transfers in one transaction: the first dollars of some wallets. */
const disperseTokens = (builder: BlockBuilder): void => {
  const { context } = builder
  const { byRole, disperser, tokens } = context.scenario
  const token = tokens.find(({ symbol }) => symbol === 'USDC')
  if (token === undefined) return
  const exchange = firstAccount(byRole.exchange)
  const wallets = byRole.retail.slice(0, DISPERSE_RECIPIENTS)
  const amounts = wallets.map((_, at) => rawForUsd(context, token, 500 + 37 * at))
  const total = amounts.reduce((sum, amount) => sum + amount, 0n)
  builder.submit({
    from: exchange.index,
    to: disperser.address,
    input: CALL_DATA.disperse(
      token.address,
      wallets.map(({ address }) => address),
      amounts,
    ),
    gas: 60_000 + 30_000 * wallets.length,
    run: () => {
      transfer(context, token, { from: exchange.index, to: disperser.index, amount: total })
      wallets.forEach((wallet, at) => {
        const amount = amounts[at] ?? 0n
        transfer(context, token, { from: disperser.index, to: wallet.index, amount })
      })
    },
  })
}

/** How many pools the factory has made, this one included. */
const nextPoolNumber = ({ context }: BlockBuilder, pool: Pool): bigint => {
  const { layout, state, scenario } = context
  const siblings = scenario.pools.filter(({ venue }) => venue === pool.venue)
  const made = siblings.filter(({ index }) => state.get(layout.pool(index, 'number')) > 0n)
  return BigInt(made.length + 1)
}

const createPool = (
  builder: BlockBuilder,
  pool: Pool,
  amounts: readonly [bigint, bigint],
): void => {
  const { context } = builder
  const { scenario } = context
  const factory = scenario.venues[pool.venue].factory
  const { token0, token1, feePips, tickSpacing } = pool
  const provider = firstAccount(scenario.byRole.liquidity).index
  const number = nextPoolNumber(builder, pool)
  const isPair = pool.version === 2
  builder.submit({
    from: provider,
    to: isPair ? factory.address : scenario.positionManager.address,
    input: isPair
      ? CALL_DATA.createPair(token0.address, token1.address)
      : CALL_DATA.createPool(token0.address, token1.address, feePips, 1n << 96n),
    gas: isPair ? 2_500_000 : 4_700_000,
    run: () => {
      writePoolField(context, pool, 'number', number)
      const pair = [token0.address, token1.address] as const
      context.logs.push(
        isPair
          ? LOG_ENCODERS.pairCreated(factory.address, ...pair, pool.address, number)
          : LOG_ENCODERS.poolCreated(factory.address, ...pair, feePips, tickSpacing, pool.address),
      )
      if (!isPair) poolInitialize(context, pool, amounts)
    },
  })
}

/** Puts two amounts into a pool for a liquidity provider. Returns whether it was done. */
export const addLiquidity = (
  builder: BlockBuilder,
  pool: Pool,
  deposit: { readonly provider: number; readonly amounts: readonly [bigint, bigint] },
): boolean => {
  const { context } = builder
  const { provider, amounts } = deposit
  const { token0, token1 } = pool
  const { venues, positionManager } = context.scenario
  const to = accountAddress(context.scenario, provider)
  const margin = (amount: bigint): bigint => amount + amount / 50n + 1n
  if (!builder.fund(provider, token0, margin(amounts[0]))) return false
  if (!builder.fund(provider, token1, margin(amounts[1]))) return false
  const pair = [token0.address, token1.address] as const
  if (pool.version === 3) {
    return builder.submit({
      from: provider,
      to: positionManager.address,
      input: CALL_DATA.mint(
        ...pair,
        pool.feePips,
        -887_200,
        887_200,
        ...amounts,
        0n,
        0n,
        to,
        2n ** 40n,
      ),
      gas: 420_000,
      run: () => poolMint(context, pool, provider, amounts),
    })
  }
  const router = venues[pool.venue].router
  return builder.submit({
    from: provider,
    to: router.address,
    input: CALL_DATA.addLiquidity(...pair, ...amounts, 0n, 0n, to, 2n ** 40n),
    gas: 190_000,
    run: () => {
      transfer(context, token0, { from: provider, to: pool.account, amount: amounts[0] })
      transfer(context, token1, { from: provider, to: pool.account, amount: amounts[1] })
      pairMint(context, pool, router.index, provider)
    },
  })
}

/** Deploys what is born at this height: tokens with their first holders, pools with their first liquidity. */
export const runDeployments = (builder: BlockBuilder): void => {
  const { context } = builder
  const { pools, tokens, byRole } = context.scenario
  const born = tokens.filter((token) => token.born === context.height)
  for (const token of born) deploy(builder, token)
  for (const token of born) fundExchange(builder, token)
  if (context.height === 2) disperseTokens(builder)
  for (const pool of pools) {
    if (pool.born !== context.height) continue
    const amounts = [
      rawForUsd(context, pool.token0, pool.usd / 2),
      rawForUsd(context, pool.token1, pool.usd / 2),
    ] as const
    createPool(builder, pool, amounts)
    addLiquidity(builder, pool, { provider: firstAccount(byRole.liquidity).index, amounts })
  }
}
