import { base58Encode } from '../../core/base58.ts'
import type { Account } from './accounts.ts'
import { logsOf } from './logs.ts'
import { isStep } from './message.ts'
import type { Step } from './run.ts'
import type { SealedTransaction, TokenBalance } from './transactions.ts'
import { wireBytes } from './wire.ts'

/** How instructions and accounts of a transaction are written. */
export type Encoding = 'json' | 'base64'

const placesOf = ({ message }: SealedTransaction): ReadonlyMap<Account, number> =>
  new Map(message.keys.map((account, at) => [account, at]))

/** An instruction as nodes print it. */
const instructionJson = (step: Step, places: ReadonlyMap<Account, number>) => ({
  programIdIndex: places.get(step.program),
  accounts: step.accounts.map((account) => places.get(account)),
  data: base58Encode(step.data()),
  stackHeight: step.height,
})

/** Whole tokens as text: no zeros at the end, no point without a fraction. */
const wholeTokens = (raw: bigint, decimals: number): string => {
  const digits = raw.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

const tokenJson = ({ at, account, raw }: TokenBalance) => {
  const { mint, owner } = account
  const text = wholeTokens(raw, mint.decimals)
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
const groupsOf = ({ trace }: SealedTransaction): readonly (readonly Step[])[] => {
  const groups: Step[][] = []
  for (const item of trace) {
    if (!isStep(item)) continue
    if (item.height === 1) groups.push([item])
    else groups.at(-1)?.push(item)
  }
  return groups
}

/** The error of a failed transaction. */
const errorJson = (tx: SealedTransaction) => {
  if (tx.failure === undefined) return null
  const index = groupsOf(tx).length - 1
  return { InstructionError: [index, { Custom: tx.failure.code }] }
}

const metaJson = (tx: SealedTransaction, places: ReadonlyMap<Account, number>) => {
  const { message } = tx
  const { lines, units } = logsOf(tx)
  const err = errorJson(tx)
  const loaded = message.keys.slice(message.staticCount).map(({ address }) => address)
  return {
    computeUnitsConsumed: units,
    err,
    fee: Number(tx.feeRaw),
    innerInstructions: groupsOf(tx).flatMap(([, ...inner], index) =>
      inner.length === 0
        ? []
        : [{ index, instructions: inner.map((step) => instructionJson(step, places)) }],
    ),
    loadedAddresses: {
      readonly: loaded.slice(message.loadedWritable),
      writable: loaded.slice(0, message.loadedWritable),
    },
    logMessages: lines,
    postBalances: tx.post,
    postTokenBalances: tx.postTokens.map(tokenJson),
    preBalances: tx.pre,
    preTokenBalances: tx.preTokens.map(tokenJson),
    rewards: [],
    status: err === null ? { Ok: null } : { Err: err },
  }
}

const messageJson = (tx: SealedTransaction, places: ReadonlyMap<Account, number>) => {
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
      instructions: groupsOf(tx).flatMap(([step]) =>
        step === undefined ? [] : [instructionJson(step, places)],
      ),
      recentBlockhash,
    },
    signatures: signatures.map((digits) => base58Encode(Buffer.from(digits, 'hex'))),
  }
}

/** A transaction as JSON-RPC shows it in a block. */
export const transactionJson = (tx: SealedTransaction, encoding: Encoding) => {
  const places = placesOf(tx)
  const wire = (): readonly string[] => [
    Buffer.from(wireBytes(tx, places)).toString('base64'),
    'base64',
  ]
  return {
    meta: metaJson(tx, places),
    transaction: encoding === 'json' ? messageJson(tx, places) : wire(),
    version: tx.message.version,
  }
}
