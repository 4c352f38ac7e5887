import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/kit'
import { privateKeyToAccount } from 'viem/accounts'
import type { Random } from '../../../simulator/node/random.ts'
import { signPayment } from '../payments.ts'
import { FEE_PAYER, svmHeader, svmTransaction } from '../svm-payments.ts'
import { mutateJson, mutateText, randomDeepJson, randomText } from './random-values.ts'

const PAYEE = '0x00000000000000000000000000000000000000aa'
const SOLANA_PAYEE = 'AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9'

/** Settings with which an instance takes payments of single calls, without a node. */
export const PAYMENT_ENVIRONMENT = {
  X402_PAY_TO: PAYEE,
  X402_NETWORKS: 'base-sepolia,solana-devnet',
  X402_SOLANA_PAY_TO: SOLANA_PAYEE,
  X402_SOLANA_FEE_PAYER: FEE_PAYER,
  X402_FACILITATOR: 'mock',
  // Payers are limited by address: each case comes from another one.
  TRUSTED_PROXIES: '127.0.0.1/32',
} as const

const toHeader = (text: string): string => Buffer.from(text).toString('base64')

const headerText = (random: Random): string => randomText(random).replace(/[^ -~]/g, '')

/** Any key, since nothing moves; of each a new one, because payers are limited too. */
const signedText = async (random: Random): Promise<string> => {
  const seed = `${'11'.repeat(16)}${random.hex(32)}`
  if (random.chance(0.5)) {
    const account = privateKeyToAccount(`0x${seed}`)
    return signPayment(account, PAYEE, { nonce: `0x${random.hex(64)}` })
  }
  const signer = await createKeyPairSignerFromPrivateKeyBytes(Buffer.from(seed, 'hex'))
  const transaction = await svmTransaction(signer, SOLANA_PAYEE, { memo: random.hex(16) })
  if (random.chance(0.5)) return svmHeader(transaction)
  const bytes = Buffer.from(transaction, 'base64')
  bytes.writeUInt8(random.below(256), random.below(bytes.length))
  return svmHeader(bytes.toString('base64'))
}

const paymentText = async (random: Random): Promise<string> => {
  const how = random.below(8)
  if (how === 0) return headerText(random)
  if (how === 1) return toHeader(randomDeepJson(random).slice(0, 6_000))
  const signed = await signedText(random)
  if (how < 5) return signed
  if (how === 5) return mutateText(signed, random).replace(/[^ -~]/g, '')
  const payment: unknown = JSON.parse(Buffer.from(signed, 'base64').toString())
  const changed = mutateJson(payment, random)
  try {
    return toHeader(JSON.stringify(changed))
  } catch {
    // Nested deeper than this side can write.
    return signed
  }
}

/** Headers of a caller without an account that pays, badly or well, in either version of the protocol or both. */
export const paymentHeaders = async (random: Random): Promise<Record<string, string>> => {
  const text = await paymentText(random)
  const names = random.pick([['x-payment'], ['x-payment'], ['payment-signature'], []] as const)
  const both = random.chance(0.05) ? ['x-payment', 'payment-signature'] : names
  const address = [10, random.below(256), random.below(256), random.below(256)].join('.')
  return { ...Object.fromEntries(both.map((name) => [name, text])), 'x-forwarded-for': address }
}
