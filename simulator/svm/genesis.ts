import { State } from '../node/state.ts'
import type { ExecutionContext } from './execution.ts'
import { rawForUsd, setInitialPrices } from './fair-prices.ts'
import type { Scenario, Wallet } from './scenario.ts'

/** Lamports of the first block by role. Below 2^53 each: nodes print lamports as JSON numbers. */
const GENESIS_LAMPORTS: Readonly<Record<Wallet['role'], bigint>> = {
  exchange: 4_000_000_000_000_000n,
  migrator: 50_000_000_000n,
  maker: 900_000_000_000n,
  whale: 600_000_000_000n,
  creator: 15_000_000_000n,
  retail: 6_000_000_000n,
}
const VALIDATOR_LAMPORTS = 90_000_000_000n
const FEE_LAMPORTS = 323_027_935_000n
/** Rent of an account without data. */
const BARE_RENT = 890_880n

/** USD that makers, and every third of the others, hold of each older token. */
const HOLDINGS_USD = { maker: 1_500_000, retail: 900 } as const

/** The wallet's older tokens; only market makers keep wSOL. */
const fundTokenAccounts = (
  machine: Pick<ExecutionContext, 'state' | 'scenario'>,
  { index, role, wsol, usdc, coins }: Wallet,
): void => {
  const { state, scenario } = machine
  const isMaker = role === 'maker'
  if (isMaker) state.set(wsol.stateIndex, 1n + rawForUsd(machine, scenario.sol, HOLDINGS_USD.maker))
  if (!isMaker && (role !== 'retail' || index % 3 > 0)) return
  const usd = isMaker ? HOLDINGS_USD.maker : HOLDINGS_USD.retail + 13 * index
  state.set(usdc.stateIndex, 1n + rawForUsd(machine, scenario.usdc, usd))
  for (const account of coins)
    state.set(account.stateIndex, 1n + rawForUsd(machine, account.mint, usd))
}

/** State of a chain before its first block: people, older tokens and their pools have been there for long. */
export const genesisState = (scenario: Scenario): State => {
  const { layout, wallets, validators, pools } = scenario
  const state = new State(new Array<bigint>(layout.size).fill(0n))
  setInitialPrices({ state, scenario })
  const machine = { state, scenario }
  for (const wallet of wallets) {
    state.set(wallet.account.stateIndex, GENESIS_LAMPORTS[wallet.role])
    state.set(wallet.creatorVault.stateIndex, BARE_RENT)
    state.set(wallet.ammVault.stateIndex, 1n)
    fundTokenAccounts(machine, wallet)
  }
  for (const { identity } of validators) state.set(identity.stateIndex, VALIDATOR_LAMPORTS)
  for (const { coin, pc, coinVault, pcVault, usd } of pools) {
    state.set(coinVault.stateIndex, 1n + rawForUsd(machine, coin, usd))
    state.set(pcVault.stateIndex, 1n + rawForUsd(machine, pc, usd))
  }
  for (const account of [scenario.feeRecipient, scenario.buyback, scenario.withdrawAuthority])
    state.set(account.stateIndex, FEE_LAMPORTS)
  state.set(scenario.ammFeeVault.stateIndex, 1n)
  state.commit()
  return state
}
