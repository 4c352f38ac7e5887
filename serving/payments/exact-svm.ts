import { base58Decode, base58Encode } from '../../core/base58.ts'
import { isEd25519Signature } from '../../core/ed25519.ts'
import { findProgramAddress } from '../../core/program-derived-address.ts'
import { PAYMENT_NETWORKS, type SvmPaymentNetwork } from '../../schemas/payment-networks.ts'
import { ASSOCIATED_TOKEN_PROGRAM } from '../dex/solana-calls.ts'
import type {
  PaymentCheck,
  PaymentProblem,
  PresentedPayment,
  SvmTerms,
  VerifiedPayment,
  WellFormedPayment,
} from './contract.ts'
import { readSvmTransaction, type SvmInstruction, type SvmTransaction } from './svm-transaction.ts'

const COMPUTE_BUDGET_PROGRAM = 'ComputeBudget111111111111111111111111111111'
const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'
/** Wallets add checks of accounts by this program. */
const LIGHTHOUSE_PROGRAM = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95'
/**
 * Checks that wallets add, by their first bytes: of an account and of a token account, each for one assertion and for several. What others read
 * changes by itself or by strangers (clock, mint, raw data), or they write. Source: Jac0xb/lighthouse, programs/lighthouse/src/instruction.rs.
 */
const LIGHTHOUSE_KINDS: readonly unknown[] = [5, 6, 9, 10]
/** Kind, level of logs and one short assertion; wallets were seen to write 16 to 52 bytes. Source: x402-foundation/x402, pull request 3318. */
const [MIN_CHECK_BYTES, MAX_CHECK_BYTES] = [5, 128]

/** First bytes and lengths of instructions. Source: solana-sdk compute_budget.rs, spl-token instruction.rs. */
const COMPUTE_LIMIT = { kind: 2, length: 5 } as const
const COMPUTE_PRICE = { kind: 3, length: 9 } as const
const TRANSFER_CHECKED = { kind: 12, length: 10, accounts: 4 } as const

/** Most millionths of a lamport for a unit of computation: 5 lamports. Source: x402, exact scheme on SVM. */
const MAX_UNIT_PRICE = 5_000_000n
const MICRO = 1_000_000n
/** Lamports of a signature. Source: Solana, fee structure. */
const SIGNATURE_LAMPORTS = 5_000n
/** The fee payer and the owner of the tokens sign; with more the fee would be higher. */
const SIGNATURES = 2
const [MIN_INSTRUCTIONS, MAX_INSTRUCTIONS] = [3, 6]
const UNKNOWN = [
  'invalid_exact_svm_payload_unknown_fourth_instruction',
  'invalid_exact_svm_payload_unknown_fifth_instruction',
  'invalid_exact_svm_payload_unknown_sixth_instruction',
] as const

/**
 * Seconds after which a transaction cannot come into a block any more: a blockhash lives 150 blocks, a minute when every slot has one.
 * Source: Solana, MAX_PROCESSING_AGE; twice that for slots without a block.
 */
const MAX_LIFETIME_SECONDS = 120

/**
 * Checks a payment of the exact scheme on Solana without a node: as `readExactSvm`, then the signature of the owner of the tokens, which
 * costs computing. Answers the first problem in this order. Throws what `limitCheck` throws.
 */
export const verifyExactSvm = async (
  presented: PresentedPayment,
  { nowMs, limitCheck = (check) => check() }: PaymentCheck,
): Promise<VerifiedPayment | PaymentProblem> => {
  const read = readTransfer(presented)
  if (typeof read === 'string') return read
  const { transaction, signature, owner } = read
  const isSigned = await limitCheck(async () => {
    const key = base58Decode(owner)
    return key !== undefined && isEd25519Signature(signature, transaction.message, key)
  })
  return isSigned
    ? (paymentOf(presented, read, nowMs) as VerifiedPayment)
    : 'invalid_exact_svm_payload_signature_invalid'
}

/**
 * Reads a payment whose signature is not checked: a transaction of nothing but the transfer of the amount to the recipient's token account,
 * with a bounded fee, and nothing in it that the fee payer does but pay it. Answers the first problem.
 */
export const readExactSvm = (
  presented: PresentedPayment,
  nowMs: number,
): WellFormedPayment | PaymentProblem => {
  const read = readTransfer(presented)
  return typeof read === 'string' ? read : paymentOf(presented, read, nowMs)
}

/** What names a transaction that is not checked, and who pays its fee; undefined where it cannot be read. */
export const identifySvm = (
  payload: PresentedPayment['payload'],
): { readonly from: string; readonly nonce: string; readonly feePayer: string } | undefined => {
  const transaction = readSvmTransaction(payload.transaction)
  if (typeof transaction === 'string') return undefined
  const { feePayer, nonce } = transaction
  const [from] = transaction.signers
  return from === undefined ? undefined : { from, nonce, feePayer }
}

/** The token account that a transaction which fits its offer pays from; undefined where it does not fit. */
export const sourceAccountOf = (payload: PresentedPayment['payload']): string | undefined => {
  const transaction = readSvmTransaction(payload.transaction)
  return typeof transaction === 'string' ? undefined : transaction.instructions[2]?.accounts[0]
}

/** What a transaction that fits its offer costs the account that pays its fee, in lamports; 0 where it does not fit. */
export const feeLamportsOf = (payload: PresentedPayment['payload']): bigint => {
  const transaction = readSvmTransaction(payload.transaction)
  if (typeof transaction === 'string') return 0n
  const [limit, price] = transaction.instructions
  const limitData = limit && dataOf(limit, COMPUTE_BUDGET_PROGRAM, COMPUTE_LIMIT)
  const priceData = price && dataOf(price, COMPUTE_BUDGET_PROGRAM, COMPUTE_PRICE)
  return limitData && priceData ? feeOf(limitData, priceData) : 0n
}

interface SignedTransfer {
  readonly transaction: SvmTransaction
  readonly owner: string
  readonly signature: Uint8Array
}

const paymentOf = (
  presented: PresentedPayment,
  { transaction: { nonce }, owner, signature }: SignedTransfer,
  nowMs: number,
): WellFormedPayment => ({
  ...presented,
  from: owner,
  to: presented.offer.payTo,
  valueRaw: presented.offer.amountRaw,
  validAfter: 0n,
  validBefore: BigInt(Math.floor(nowMs / 1_000) + MAX_LIFETIME_SECONDS),
  nonce,
  signature: base58Encode(signature),
})

const readTransfer = ({ offer, payload }: PresentedPayment): SignedTransfer | PaymentProblem => {
  const row = PAYMENT_NETWORKS[offer.network]
  const terms = offer.svm
  if (row.vm !== 'svm' || terms === undefined) return 'invalid_network'
  const transaction = readSvmTransaction(payload.transaction)
  if (typeof transaction === 'string') return transaction
  const [owner] = transaction.signers
  const problem =
    problemOfFrame(transaction, terms) ??
    problemOfTransfer(transaction, { row, amountRaw: offer.amountRaw, owner }) ??
    problemOfRest(transaction, terms)
  if (problem !== undefined) return problem
  // Deriving the account costs the most: what is wrong elsewhere is found before.
  if (transaction.instructions[2]?.accounts[2] !== tokenAccountOf(offer.payTo, row))
    return 'invalid_exact_svm_payload_recipient_mismatch'
  const signature = owner === undefined ? undefined : transaction.signatures[owner]
  return owner === undefined || !signature
    ? 'invalid_exact_svm_payload_signature_invalid'
    : { transaction, owner, signature: Uint8Array.from(signature) }
}

/** What is wrong with the signers, the number of instructions, the fee, and what the fee payer would do beside paying it. */
const problemOfFrame = (
  { feePayer, signers, instructions }: SvmTransaction,
  terms: SvmTerms,
): PaymentProblem | undefined => {
  if (feePayer !== terms.feePayer) return 'invalid_exact_svm_fee_payer_mismatch'
  if (signers.length >= SIGNATURES) return 'invalid_exact_svm_payload_excessive_signers'
  const { length } = instructions
  if (length < MIN_INSTRUCTIONS || length > MAX_INSTRUCTIONS)
    return 'invalid_exact_svm_payload_transaction_instructions_length'
  const problem = problemOfFee(instructions, terms)
  if (problem !== undefined) return problem
  const [source, , , owner] = instructions[2]?.accounts ?? []
  if (owner === feePayer || source === feePayer)
    return 'invalid_exact_svm_payload_transaction_fee_payer_transferring_funds'
  return instructions.some(
    ({ program, accounts }) => program === feePayer || accounts.includes(feePayer),
  )
    ? 'invalid_exact_svm_payload_transaction_fee_payer_included_in_instruction_accounts'
    : undefined
}

const problemOfFee = (
  [limit, price]: readonly SvmInstruction[],
  { maxFeeLamports }: SvmTerms,
): PaymentProblem | undefined => {
  const limitData = limit && dataOf(limit, COMPUTE_BUDGET_PROGRAM, COMPUTE_LIMIT)
  if (limitData === undefined)
    return 'invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction'
  const priceData = price && dataOf(price, COMPUTE_BUDGET_PROGRAM, COMPUTE_PRICE)
  if (priceData === undefined)
    return 'invalid_exact_svm_payload_transaction_instructions_compute_price_instruction'
  if (priceData.readBigUInt64LE(1) > MAX_UNIT_PRICE)
    return 'invalid_exact_svm_payload_transaction_instructions_compute_price_instruction_too_high'
  return feeOf(limitData, priceData) > BigInt(maxFeeLamports)
    ? 'invalid_exact_svm_payload_transaction_instructions_compute_limit_instruction_too_high'
    : undefined
}

/** Lamports of the signatures and the computation. */
const feeOf = (limitData: Buffer, priceData: Buffer): bigint => {
  const units = BigInt(limitData.readUInt32LE(1))
  const priorityLamports = (units * priceData.readBigUInt64LE(1) + MICRO - 1n) / MICRO
  return priorityLamports + BigInt(SIGNATURES) * SIGNATURE_LAMPORTS
}

const problemOfTransfer = (
  { instructions: [, , transfer] }: SvmTransaction,
  {
    row,
    amountRaw,
    owner,
  }: {
    readonly row: SvmPaymentNetwork
    readonly amountRaw: bigint
    readonly owner: string | undefined
  },
): PaymentProblem | undefined => {
  const data = transfer && dataOf(transfer, row.tokenProgram, TRANSFER_CHECKED)
  // More accounts would be signers of a shared wallet.
  if (data === undefined || transfer?.accounts.length !== TRANSFER_CHECKED.accounts)
    return 'invalid_exact_svm_payload_no_transfer_instruction'
  const [, mint, , authority] = transfer.accounts
  if (mint !== row.asset || data.readUInt8(9) !== row.decimals)
    return 'invalid_exact_svm_payload_mint_mismatch'
  if (data.readBigUInt64LE(1) !== amountRaw) return 'invalid_exact_svm_payload_amount_mismatch'
  return authority === owner ? undefined : 'invalid_exact_svm_payload_signature_invalid'
}

/** Behind the transfer stand memos and checks of the payer's own accounts, and nothing else. */
const problemOfRest = (
  { instructions: [, , transfer, ...rest], signers: [owner] }: SvmTransaction,
  { memo }: SvmTerms,
): PaymentProblem | undefined => {
  const own = [owner, transfer?.accounts[0]]
  const strange = rest.findIndex(
    (each) => each.program !== MEMO_PROGRAM && !isWalletCheck(each, own),
  )
  if (strange >= 0) return UNKNOWN[strange]
  if (memo === undefined) return undefined
  const [only, ...more] = rest.filter(({ program }) => program === MEMO_PROGRAM)
  if (only === undefined || more.length > 0) return 'invalid_exact_svm_payload_memo_count'
  return Buffer.from(memo).equals(only.data) ? undefined : 'invalid_exact_svm_payload_memo_mismatch'
}

/**
 * A check that fails in the block after it held in the simulation costs the fee payer: so it reads accounts only whose change costs the
 * payer a transaction as well.
 */
const isWalletCheck = (
  { program, accounts: [account, ...others], data }: SvmInstruction,
  own: readonly (string | undefined)[],
): boolean =>
  program === LIGHTHOUSE_PROGRAM &&
  LIGHTHOUSE_KINDS.includes(data[0]) &&
  data.length >= MIN_CHECK_BYTES &&
  data.length <= MAX_CHECK_BYTES &&
  account !== undefined &&
  others.length === 0 &&
  own.includes(account)

const dataOf = (
  { program, data }: SvmInstruction,
  wanted: string,
  { kind, length }: { readonly kind: number; readonly length: number },
): Buffer | undefined =>
  program === wanted && data.length === length && data[0] === kind ? Buffer.from(data) : undefined

/** Token account of a wallet; undefined where the owner is not an address. Source: spl-associated-token-account. */
export const tokenAccountOf = (
  owner: string,
  { asset, tokenProgram }: Pick<SvmPaymentNetwork, 'asset' | 'tokenProgram'>,
): string | undefined => {
  const seeds = [owner, tokenProgram, asset].map((key) => base58Decode(key) ?? new Uint8Array())
  return findProgramAddress(ASSOCIATED_TOKEN_PROGRAM, seeds)
}
