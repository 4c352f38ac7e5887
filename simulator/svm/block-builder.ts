import type { Random } from '../node/random.ts'
import type { StoredAccount } from './accounts.ts'
import { BorshWriter } from './borsh-writer.ts'
import { type ExecutionContext, ProgramError, TransactionExecution } from './execution.ts'
import { KNOWN_ACCOUNTS } from './known-accounts.ts'
import type { Wallet } from './scenario.ts'
import { moveLamports, transferLamports } from './system-program.ts'
import { type SealedTransaction, sealTransaction, type TradeSubject } from './transactions.ts'

/** One transaction that an account wants to send. */
interface TransactionRequest {
  readonly payer: StoredAccount
  /** Signatures: the payer's, and that of a fresh mint. */
  readonly signatures?: number
  /** Compute units asked for; 0 = a plain transaction without a budget. */
  readonly units: number
  readonly messageForm?: 'legacy' | 'v0' | 'lookup'
  /** True: it is included as failed when a program refuses; else it is not sent at all. */
  readonly sendAnyway?: boolean
  readonly isVote?: boolean
  readonly about?: TradeSubject
  /** What it does. Throws Failed to fail. */
  readonly run: (run: TransactionExecution) => void
}

/** Where transactions of the block under construction are handed in. */
export interface BlockBuilder {
  readonly context: ExecutionContext
  readonly random: Random
  readonly transactions: SealedTransaction[]
  /** What the leader gets: half of the base fees, and what was paid for priority. */
  rewardRaw: bigint
  /** True when the transaction is in the block and succeeded. */
  submit(order: TransactionRequest): boolean
  /** Makes sure that a wallet has so many lamports: the exchange sends it what it lacks, and more. */
  fund(wallet: Wallet, lamports: bigint): boolean
}

const BASE_FEE = 5_000n
/** Lamports that a wallet keeps for fees and rent. */
const MIN_WALLET_LAMPORTS = 60_000_000n
const MICRO_LAMPORTS = 1_000_000n

const addComputeBudget = (
  run: TransactionExecution,
  units: number,
  microLamports: bigint,
): void => {
  const call = { program: KNOWN_ACCOUNTS.computeBudget, accounts: [], flags: '', units: 150 }
  run.invoke({ data: () => new BorshWriter().u8(2).u32(units).toBytes(), ...call })
  run.invoke({ data: () => new BorshWriter().u8(3).u64(microLamports).toBytes(), ...call })
}

/** A desk for one block on a parent. */
export const createBlockBuilder = (
  machine: ExecutionContext,
  random: Random,
  parentHash: string,
): BlockBuilder => {
  const { state, scenario } = machine
  const execute = (
    run: TransactionExecution,
    order: TransactionRequest,
    price: bigint,
  ): ProgramError | undefined => {
    try {
      if (order.units > 0) addComputeBudget(run, order.units, price)
      order.run(run)
      return undefined
    } catch (error) {
      if (error instanceof ProgramError) return error
      throw error
    }
  }
  const formFor = (order: TransactionRequest): 'legacy' | 'v0' | 'lookup' => {
    const roll = random.unit()
    if (order.messageForm !== undefined) return order.messageForm
    return roll < 0.35 ? 'legacy' : roll < 0.5 ? 'v0' : 'lookup'
  }
  const blockBuilder: BlockBuilder = {
    submit: (order) => {
      const { payer, units, signatures = 1, isVote = false, about } = order
      const form = formFor(order)
      const price = units === 0 ? 0n : BigInt(random.below(400_000))
      const priorityRaw = (BigInt(units) * price + MICRO_LAMPORTS - 1n) / MICRO_LAMPORTS
      const baseRaw = BASE_FEE * BigInt(signatures)
      const feeRaw = baseRaw + priorityRaw
      const run = new TransactionExecution(machine)
      moveLamports(run, payer, undefined, feeRaw)
      const failure = execute(run, order, price)
      if (failure !== undefined) {
        state.rollback()
        if (order.sendAnyway !== true) return false
        moveLamports(run, payer, undefined, feeRaw)
      }
      const ran = { run, payer, form, recentBlockhash: parentHash, failure }
      const facts = { feeRaw, unitLimit: units || 200_000, isVote, about }
      blockBuilder.transactions.push(sealTransaction({ ...ran, ...facts }, state, random))
      blockBuilder.rewardRaw += baseRaw / 2n + priorityRaw
      state.commit()
      return failure === undefined
    },
    context: machine,
    random,
    transactions: [],
    rewardRaw: 0n,
    fund: (wallet, lamports) => {
      const wanted = lamports + MIN_WALLET_LAMPORTS
      const held = state.get(wallet.account.stateIndex)
      if (held >= wanted) return true
      const [exchange] = scenario.byRole.exchange
      if (exchange === undefined) return false
      const amount = (wanted - held) * 2n + BigInt(1 + random.below(2_000)) * 10_000_000n
      return blockBuilder.submit({
        run: (run) => transferLamports(run, exchange.account, wallet.account, amount),
        payer: exchange.account,
        units: 0,
        messageForm: 'legacy',
      })
    },
  }
  return blockBuilder
}
