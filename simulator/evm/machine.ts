import { type Hex, zeroAddress } from 'viem'
import type { State } from '../node/state.ts'
import type { Layout } from './layout.ts'
import { LOGS, type RawLog } from './logs.ts'
import type { Account, Token, World } from './scenario.ts'
import { TAX_BASIS_POINTS } from './tokens.ts'

/** What contracts run on: the state and the logs of the transaction that is running. */
export interface Machine {
  readonly world: World
  readonly layout: Layout
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
export const balanceOf = ({ layout, state }: Machine, token: Token, account: number): bigint =>
  state.get(layout.balance(token.index, account))

/** Address of an account. */
export const addressAt = ({ accounts }: World, index: number): Hex => {
  const account = accounts[index]
  if (account === undefined) throw new RangeError(`no account ${index}`)
  return account.address
}

const moveTokens = (
  machine: Machine,
  token: Token,
  move: { readonly from: number; readonly to: number; readonly amount: bigint },
): void => {
  const { layout, state, world } = machine
  const { from, to, amount } = move
  const source = layout.balance(token.index, from)
  if (state.get(source) < amount) throw new Reverted('transfer amount exceeds balance')
  state.add(source, -amount)
  state.add(layout.balance(token.index, to), amount)
  machine.logs.push(
    LOGS.transfer(token.address, addressAt(world, from), addressAt(world, to), amount),
  )
}

/** ERC-20 transfer; a taxed token sends its part to its deployer. Throws Reverted without the balance. */
export const transfer = (
  machine: Machine,
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
export const mint = (machine: Machine, token: Token, to: number, amount: bigint): void => {
  const { layout, state, world } = machine
  state.add(layout.supply(token.index), amount)
  state.add(layout.balance(token.index, to), amount)
  machine.logs.push(LOGS.transfer(token.address, zeroAddress, addressAt(world, to), amount))
}

/** Native coin from one account to another. */
export const pay = ({ layout, state }: Machine, from: number, to: number, amount: bigint): void => {
  if (state.get(layout.ether(from)) < amount) throw new Reverted('insufficient funds')
  state.add(layout.ether(from), -amount)
  state.add(layout.ether(to), amount)
}

/** WETH `deposit()` by an account. */
export const wrap = (machine: Machine, by: number, amount: bigint): void => {
  const { layout, state, world } = machine
  const { weth } = world
  pay(machine, by, weth.account, amount)
  state.add(layout.supply(weth.index), amount)
  state.add(layout.balance(weth.index, by), amount)
  machine.logs.push(LOGS.deposit(weth.address, addressAt(world, by), amount))
}

/** WETH `withdraw(amount)` by an account. Throws Reverted without the balance. */
export const unwrap = (machine: Machine, by: number, amount: bigint): void => {
  const { layout, state, world } = machine
  const { weth } = world
  const place = layout.balance(weth.index, by)
  if (state.get(place) < amount) throw new Reverted('withdraw exceeds balance')
  state.add(place, -amount)
  state.add(layout.supply(weth.index), -amount)
  pay(machine, weth.account, by, amount)
  machine.logs.push(LOGS.withdrawal(weth.address, addressAt(world, by), amount))
}

/** First account of a role. */
export const leader = (accounts: readonly Account[]): Account => {
  const [account] = accounts
  if (account === undefined) throw new RangeError('nobody has this role')
  return account
}
