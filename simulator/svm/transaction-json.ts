import { base58Encode } from '../../core/base58.ts'
import type { Account } from './accounts.ts'
import type { InvokedInstruction } from './execution.ts'
import { isInvocation } from './message.ts'
import { programLogsOf } from './program-logs.ts'
import type { SealedTransaction, TokenBalance } from './transactions.ts'
import { encodeTransaction } from './wire-format.ts'

/** How instructions and accounts of a transaction are written. */
export type Encoding = 'json' | 'base64'

const accountIndexes = ({ message }: SealedTransaction): ReadonlyMap<Account, number> =>
  new Map(message.keys.map((account, at) => [account, at]))

/** An instruction as nodes print it. */
const instructionToJson = (step: InvokedInstruction, places: ReadonlyMap<Account, number>) => ({
  programIdIndex: places.get(step.program),
  accounts: step.accounts.map((account) => places.get(account)),
  data: base58Encode(step.data()),
  stackHeight: step.height,
})

/** Whole tokens as text: no zeros at the end, no point without a fraction. */
const uiAmountText = (raw: bigint, decimals: number): string => {
  const digits = raw.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

const tokenBalanceToJson = ({ accountIndex: at, account, raw }: TokenBalance) => {
  const { mint, owner } = account
  const text = uiAmountText(raw, mint.decimals)
  return {
    accountIndex: at,
    mint: mint.account.address,
    owner: owner.address,
    programId: mint.program.address,
    uiTokenAmount: {
      amount: raw.toString(),
      decimals: mint.decimals,
      uiAmount: raw === 0n ? null : Number(text),
      uiAmountString: text,
    },
  }
}

/** Steps of the trace by the transaction's own instructions: each with what it called. */
const innerInstructionGroups = ({
  trace,
}: SealedTransaction): readonly (readonly InvokedInstruction[])[] => {
  const groups: InvokedInstruction[][] = []
  for (const item of trace) {
    if (!isInvocation(item)) continue
    if (item.height === 1) groups.push([item])
    else groups.at(-1)?.push(item)
  }
  return groups
}

/** The error of a failed transaction. */
const errorToJson = (tx: SealedTransaction) => {
  if (tx.failure === undefined) return null
  const index = innerInstructionGroups(tx).length - 1
  return { InstructionError: [index, { Custom: tx.failure.code }] }
}

const metaToJson = (tx: SealedTransaction, places: ReadonlyMap<Account, number>) => {
  const { message } = tx
  const { lines, units } = programLogsOf(tx)
  const err = errorToJson(tx)
  const loaded = message.keys.slice(message.staticCount).map(({ address }) => address)
  return {
    computeUnitsConsumed: units,
    err,
    fee: Number(tx.feeRaw),
    innerInstructions: innerInstructionGroups(tx).flatMap(([, ...inner], index) =>
      inner.length === 0
        ? []
        : [{ index, instructions: inner.map((step) => instructionToJson(step, places)) }],
    ),
    loadedAddresses: {
      readonly: loaded.slice(message.loadedWritable),
      writable: loaded.slice(0, message.loadedWritable),
    },
    logMessages: lines,
    postBalances: tx.post,
    postTokenBalances: tx.postTokens.map(tokenBalanceToJson),
    preBalances: tx.pre,
    preTokenBalances: tx.preTokens.map(tokenBalanceToJson),
    rewards: [],
    status: err === null ? { Ok: null } : { Err: err },
  }
}

const messageToJson = (tx: SealedTransaction, places: ReadonlyMap<Account, number>) => {
  const { message, signatures, recentBlockhash } = tx
  const [signers, readonlySigners, readonlyOthers] = message.header
  return {
    message: {
      accountKeys: message.keys.slice(0, message.staticCount).map(({ address }) => address),
      ...(message.version === 0 && {
        addressTableLookups: message.lookups.map(({ table, writable, readonly }) => ({
          accountKey: table.address,
          readonlyIndexes: readonly,
          writableIndexes: writable,
        })),
      }),
      header: {
        numReadonlySignedAccounts: readonlySigners,
        numReadonlyUnsignedAccounts: readonlyOthers,
        numRequiredSignatures: signers,
      },
      instructions: innerInstructionGroups(tx).flatMap(([step]) =>
        step === undefined ? [] : [instructionToJson(step, places)],
      ),
      recentBlockhash,
    },
    signatures: signatures.map((digits) => base58Encode(Buffer.from(digits, 'hex'))),
  }
}

/** A transaction as JSON-RPC shows it in a block. */
export const transactionToJson = (tx: SealedTransaction, encoding: Encoding) => {
  const places = accountIndexes(tx)
  const wire = (): readonly string[] => [
    Buffer.from(encodeTransaction(tx, places)).toString('base64'),
    'base64',
  ]
  return {
    meta: metaToJson(tx, places),
    transaction: encoding === 'json' ? messageToJson(tx, places) : wire(),
    version: tx.message.version,
  }
}
