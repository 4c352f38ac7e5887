import {
  createKeyPairSignerFromPrivateKeyBytes,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getTransactionDecoder,
  type KeyPairSigner,
  partiallySignTransaction,
} from '@solana/kit'
import { x402Client } from '@x402/core/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm'
import { ExactSvmSchemeV1 } from '@x402/svm/v1'
import { base58Decode, base58Encode } from '../../core/base58.ts'
import { ed25519PublicKey } from '../../core/ed25519.ts'
import { caip2Name, PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import { computeLimit, computePrice, dataOf, used } from '../../serving/dex/solana-calls.ts'
import { type SolanaInstruction, unsignedTransaction } from '../../serving/dex/solana-message.ts'
import { tokenAccountOf } from '../../serving/payments/exact-svm.ts'
import { fundedWallet, type LocalSvm, putAccount, startLocalSvm } from './nodes/local-svm.ts'
import { withoutHeadersOfVersion2 } from './payments.ts'

const NETWORK = 'solana-devnet'
const ROW = PAYMENT_NETWORKS[NETWORK]
export const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'
const SOL = 1_000_000_000n

/** Key of the account that pays fees: seed of ones. */
const FEE_SEED = new Uint8Array(32).fill(1)
const FEE_KEY_BYTES = Buffer.concat([FEE_SEED, ed25519PublicKey(FEE_SEED)])
export const FEE_KEY = base58Encode(FEE_KEY_BYTES)
export const FEE_PAYER = base58Encode(FEE_KEY_BYTES.subarray(32))

/** Solana's runtime that stands for devnet, with the token that pays where its USDC is. */
export interface SvmPaymentChain {
  readonly node: LocalSvm
  /** Sets the balance of a wallet; its token account is made. */
  hold(owner: string, amountRaw: bigint): void
  balanceOf(owner: string): bigint
}

const accountOf = (owner: string): string => tokenAccountOf(owner, ROW) ?? ''

const key = (text: string): Buffer => Buffer.from(base58Decode(text) ?? [])

/** Source of both layouts: spl-token state.rs. */
const mintData = (): Buffer => {
  const data = Buffer.alloc(82)
  data.writeBigUInt64LE(10n ** 15n, 36)
  data.writeUInt8(ROW.decimals, 44)
  data.writeUInt8(1, 45)
  return data
}
const tokenData = (owner: string, amountRaw: bigint): Buffer => {
  const data = Buffer.alloc(165)
  key(ROW.asset).copy(data, 0)
  key(owner).copy(data, 32)
  data.writeBigUInt64LE(amountRaw, 64)
  data.writeUInt8(1, 108)
  return data
}

/** Starts one; the fee payer has SOL. */
export const startSvmPaymentChain = async (): Promise<SvmPaymentChain> => {
  const node = await startLocalSvm(`${ROW.genesis}wcaWoxPkrZBG`)
  putAccount(node, ROW.asset, { owner: ROW.tokenProgram, data: mintData() })
  await fundedWallet(node, 1, 100n * SOL)
  return {
    node,
    hold: (owner, amountRaw) =>
      putAccount(node, accountOf(owner), {
        owner: ROW.tokenProgram,
        data: tokenData(owner, amountRaw),
      }),
    balanceOf: (owner) => {
      const account = node.svm.getAccount(accountOf(owner) as KeyPairSigner['address'])
      return account.exists ? Buffer.from(account.data).readBigUInt64LE(64) : 0n
    },
  }
}

/** A wallet of a new key. */
export const newSvmWallet = (): Promise<KeyPairSigner> =>
  createKeyPairSignerFromPrivateKeyBytes(crypto.getRandomValues(new Uint8Array(32)))

/** The official client: `fetch` that pays on the chain when it is asked to. `most`: what it pays at once. */
export const svmPayingFetch = (
  signer: KeyPairSigner,
  version: 1 | 2,
  { rpcUrl, most }: { readonly rpcUrl: string; readonly most?: `$${number}` },
): typeof fetch => {
  const client = new x402Client()
  if (most !== undefined) client.setSpendControls({ maxAmountPerPayment: most })
  if (version === 2) {
    client.register(caip2Name(NETWORK), new ExactSvmScheme(signer, { rpcUrl }))
    return wrapFetchWithPayment(fetch, client) as typeof fetch
  }
  client.registerV1(NETWORK, new ExactSvmSchemeV1(signer, { rpcUrl }))
  return wrapFetchWithPayment(withoutHeadersOfVersion2, client) as typeof fetch
}

/** What a payer may write differently from what is asked. */
export interface SvmPaymentChanges {
  readonly amountRaw?: bigint
  readonly feePayer?: string
  readonly blockhash?: string
  readonly memo?: string
  /** Instructions in place of those of a payment. */
  readonly change?: (instructions: readonly SolanaInstruction[]) => readonly SolanaInstruction[]
  /** Leaves the payer's signature out. */
  readonly isUnsigned?: boolean
}

/** The instruction that moves the token. */
export const transferChecked = (
  owner: string,
  payTo: string,
  {
    amountRaw = 1_000n,
    mint = ROW.asset as string,
    source = accountOf(owner),
    destination = accountOf(payTo),
    decimals = 6,
  } = {},
): SolanaInstruction => ({
  program: ROW.tokenProgram,
  accounts: [
    used(source, 'write'),
    used(mint, 'read'),
    used(destination, 'write'),
    used(owner, 'sign'),
  ],
  data: Buffer.concat([dataOf('0c', amountRaw), Buffer.of(decimals)]),
})

/** A memo. */
export const memo = (text: string): SolanaInstruction => ({
  program: MEMO_PROGRAM,
  accounts: [],
  data: Buffer.from(text),
})

/** A partially signed transaction in base 64, written by hand. */
export const svmTransaction = async (
  signer: KeyPairSigner,
  payTo: string,
  changes: SvmPaymentChanges = {},
): Promise<string> => {
  const { amountRaw = 1_000n, feePayer = FEE_PAYER, change = (all) => all, isUnsigned } = changes
  const text =
    changes.memo ?? Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex')
  const instructions = change([
    computeLimit(20_000),
    computePrice(1n),
    transferChecked(signer.address, payTo, { amountRaw }),
    memo(text),
  ])
  const blockhash = changes.blockhash ?? base58Encode(new Uint8Array(32).fill(9))
  const unsigned = unsignedTransaction(
    feePayer,
    { blockhash, lastValidBlockHeight: 1_000 },
    instructions,
  )
  const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(unsigned))
  if (isUnsigned || !Object.hasOwn(transaction.signatures, signer.address)) return unsigned
  const signed = await partiallySignTransaction([signer.keyPair], transaction)
  return getBase64EncodedWireTransaction(signed)
}

/** A header of version 1 that pays with one transaction on the chain. */
export const signSvmPayment = async (
  { node: { svm } }: Pick<SvmPaymentChain, 'node'>,
  signer: KeyPairSigner,
  payTo: string,
  changes: SvmPaymentChanges = {},
): Promise<string> => {
  const blockhash = changes.blockhash ?? svm.latestBlockhash()
  const transaction = await svmTransaction(signer, payTo, { ...changes, blockhash })
  return svmHeader(transaction)
}

/** A header of version 1 with a transaction. */
export const svmHeader = (transaction: unknown): string =>
  Buffer.from(
    JSON.stringify({
      x402Version: 1,
      scheme: 'exact',
      network: NETWORK,
      payload: { transaction },
    }),
  ).toString('base64')
