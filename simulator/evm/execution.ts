import { type Hex, zeroAddress } from 'viem'
import type { State } from '../node/state.ts'
import { LOG_ENCODERS, type RawLog } from './event-logs.ts'
import { TAX_BASIS_POINTS } from './listings.ts'
import type { Account, Scenario, Token } from './scenario.ts'
import type { StateLayout } from './state-layout.ts'

/** What contracts run on: the state and the logs of the transaction that is running. */
export interface ExecutionContext {
  readonly scenario: Scenario
  readonly layout: StateLayout
  readonly state: State
  /** Height of the block being made. */
  readonly height: number
  logs: RawLog[]
}

/** A contract refused; the transaction leaves no trace but its fee. */
export class Reverted extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'Reverted'
  }
}

/** Balance of a token. */
export const balanceOf = (
  { layout, state }: ExecutionContext,
  token: Token,
  account: number,
): bigint => state.get(layout.balance(token.index, account))

/** Address of an account. */
export const accountAddress = ({ accounts }: Scenario, index: number): Hex => {
  const account = accounts[index]
  if (account === undefined) throw new RangeError(`no account ${index}`)
  return account.address
}

const moveTokens = (
  machine: ExecutionContext,
  token: Token,
  move: { readonly from: number; readonly to: number; readonly amount: bigint },
): void => {
  const { layout, state, scenario } = machine
  const { from, to, amount } = move
  const source = layout.balance(token.index, from)
  if (state.get(source) < amount) throw new Reverted('transfer amount exceeds balance')
  state.add(source, -amount)
  state.add(layout.balance(token.index, to), amount)
  machine.logs.push(
    LOG_ENCODERS.transfer(
      token.address,
      accountAddress(scenario, from),
      accountAddress(scenario, to),
      amount,
    ),
  )
}

/** ERC-20 transfer; a taxed token sends its part to its deployer. Throws Reverted without the balance. */
export const transfer = (
  machine: ExecutionContext,
  token: Token,
  move: { readonly from: number; readonly to: number; readonly amount: bigint },
): void => {
  const tax =
    token.quirk === 'taxed' && move.from !== token.deployer && move.to !== token.deployer
      ? (move.amount * TAX_BASIS_POINTS) / 10_000n
      : 0n
  moveTokens(machine, token, { ...move, amount: move.amount - tax })
  if (tax > 0n) moveTokens(machine, token, { ...move, to: token.deployer, amount: tax })
}

/** New tokens for an account, as a constructor does. */
export const mint = (machine: ExecutionContext, token: Token, to: number, amount: bigint): void => {
  const { layout, state, scenario } = machine
  state.add(layout.supply(token.index), amount)
  state.add(layout.balance(token.index, to), amount)
  machine.logs.push(
    LOG_ENCODERS.transfer(token.address, zeroAddress, accountAddress(scenario, to), amount),
  )
}

/** Native token from one account to another. */
export const transferNative = (
  { layout, state }: ExecutionContext,
  from: number,
  to: number,
  amount: bigint,
): void => {
  if (state.get(layout.ether(from)) < amount) throw new Reverted('insufficient funds')
  state.add(layout.ether(from), -amount)
  state.add(layout.ether(to), amount)
}

/** WETH `deposit()` by an account. */
export const wrap = (machine: ExecutionContext, by: number, amount: bigint): void => {
  const { layout, state, scenario } = machine
  const { weth } = scenario
  transferNative(machine, by, weth.account, amount)
  state.add(layout.supply(weth.index), amount)
  state.add(layout.balance(weth.index, by), amount)
  machine.logs.push(LOG_ENCODERS.deposit(weth.address, accountAddress(scenario, by), amount))
}

/** WETH `withdraw(amount)` by an account. Throws Reverted without the balance. */
export const unwrap = (machine: ExecutionContext, by: number, amount: bigint): void => {
  const { layout, state, scenario } = machine
  const { weth } = scenario
  const place = layout.balance(weth.index, by)
  if (state.get(place) < amount) throw new Reverted('withdraw exceeds balance')
  state.add(place, -amount)
  state.add(layout.supply(weth.index), -amount)
  transferNative(machine, weth.account, by, amount)
  machine.logs.push(LOG_ENCODERS.withdrawal(weth.address, accountAddress(scenario, by), amount))
}

/** First account of a role. */
export const firstAccount = (accounts: readonly Account[]): Account => {
  const [account] = accounts
  if (account === undefined) throw new RangeError('no account has this role')
  return account
}
