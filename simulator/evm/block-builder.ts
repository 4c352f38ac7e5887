import type { Hex } from 'viem'
import type { Random } from '../node/random.ts'
import {
  accountAddress,
  balanceOf,
  type ExecutionContext,
  firstAccount,
  Reverted,
  transfer,
  transferNative,
} from './execution.ts'
import type { Token } from './scenario.ts'
import {
  callDataEncoder,
  EMPTY_CALL_DATA,
  type LazyCallData,
  type SealedTransaction,
  sealTransaction,
} from './transactions.ts'

/** One transaction that an account wants to send. */
interface TransactionRequest {
  readonly from: number
  readonly to: Hex | null
  readonly valueRaw?: bigint
  readonly input: LazyCallData
  /** Usual gas of this kind of transaction. */
  readonly gas: number
  readonly contractAddress?: Hex
  /** True: it is included as failed when a contract refuses; else it is not sent at all. */
  readonly sendAnyway?: boolean
  /** What it does. Throws Reverted to fail. */
  readonly run: () => void
}

/** Where transactions of the block under construction are handed in. */
export interface BlockBuilder {
  readonly context: ExecutionContext
  readonly random: Random
  readonly transactions: SealedTransaction[]
  gasUsed: number
  /** True when the transaction is in the block and succeeded. */
  submit(order: TransactionRequest): boolean
  /** Makes sure that an account has this much of a token: the exchange sends it what it lacks, and more. */
  fund(account: number, token: Token, amount: bigint): boolean
  /** An ERC-20 transfer by its owner. */
  send(from: number, token: Token, move: { readonly to: number; readonly amount: bigint }): boolean
}

const erc20Transfer = callDataEncoder('transfer(address,uint256)')
const GWEI = 1_000_000_000n

/** Smallest native balance with which an account still sends; below, the exchange sends it some. */
const MIN_ETHER_BALANCE = 10n ** 18n
const ETHER_REFILL = 10n * 10n ** 18n

const executes = (machine: ExecutionContext, order: TransactionRequest): boolean => {
  try {
    order.run()
    machine.state.commit()
    return true
  } catch (error) {
    if (!(error instanceof Reverted)) throw error
    machine.state.rollback()
    machine.logs = []
    return false
  }
}

const includeTransaction = (
  builder: BlockBuilder,
  order: TransactionRequest,
  facts: { readonly success: boolean; readonly coinbase: number },
) => {
  const { context, random } = builder
  const { layout, state, scenario } = context
  const { success, coinbase } = facts
  const baseFeeRaw = state.get(layout.baseFee)
  const noncePlace = layout.nonce(order.from)
  const nonce = Number(state.get(noncePlace))
  const priorityFeeRaw = BigInt(10 + random.below(2_000)) * (GWEI / 1_000n)
  const spread = order.gas * (0.9 + 0.2 * random.unit())
  const gasUsed = order.gas === 21_000 ? 21_000 : Math.floor(success ? spread : spread * 0.6)
  const tx = sealTransaction(
    {
      from: accountAddress(scenario, order.from),
      to: order.to,
      nonce,
      valueRaw: order.valueRaw ?? 0n,
      gasUsed,
      gasLimit: order.gas === 21_000 ? 21_000 : Math.ceil((order.gas * 1.4) / 1_000) * 1_000,
      maxFeeRaw: baseFeeRaw * 2n + priorityFeeRaw,
      priorityFeeRaw,
      success,
      contractAddress: success ? (order.contractAddress ?? null) : null,
      logs: context.logs,
    },
    order.input,
    random,
  )
  const tip = priorityFeeRaw * BigInt(gasUsed)
  state.set(noncePlace, BigInt(nonce + 1))
  state.add(layout.ether(order.from), -(tip + baseFeeRaw * BigInt(gasUsed)))
  state.add(layout.ether(coinbase), tip)
  state.commit()
  context.logs = []
  builder.transactions.push(tx)
  builder.gasUsed += gasUsed
}

/** A desk for one block; tips go to `coinbase`. */
export const createBlockBuilder = (
  machine: ExecutionContext,
  random: Random,
  coinbase: number,
): BlockBuilder => {
  const { layout, state, scenario } = machine
  const exchange = firstAccount(scenario.byRole.exchange).index
  const refill = (account: number, enough: bigint): void => {
    if (account === exchange || state.get(layout.ether(account)) >= enough) return
    const valueRaw = enough - MIN_ETHER_BALANCE + ETHER_REFILL
    const to = accountAddress(scenario, account)
    const run = (): void => transferNative(machine, exchange, account, valueRaw)
    builder.submit({ from: exchange, to, valueRaw, input: EMPTY_CALL_DATA, gas: 21_000, run })
  }
  const builder: BlockBuilder = {
    context: machine,
    random,
    transactions: [],
    gasUsed: 0,
    submit: (order) => {
      refill(order.from, MIN_ETHER_BALANCE + (order.valueRaw ?? 0n))
      const success = executes(machine, order)
      if (!success && order.sendAnyway !== true) return false
      includeTransaction(builder, order, { success, coinbase })
      return success
    },
    fund: (account, token, amount) => {
      const held = balanceOf(machine, token, account)
      if (held >= amount) return true
      const sent = builder.send(exchange, token, { to: account, amount: (amount - held) * 3n })
      return sent && balanceOf(machine, token, account) >= amount
    },
    send: (from, token, { to, amount }) => {
      const input = erc20Transfer(accountAddress(scenario, to), amount)
      const run = (): void => transfer(machine, token, { from, to, amount })
      return builder.submit({ from, to: token.address, input, gas: 52_000, run })
    },
  }
  return builder
}
