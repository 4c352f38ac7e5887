import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { x402Client } from '@x402/core/client'
import { ExactEvmScheme } from '@x402/evm'
import { ExactEvmSchemeV1 } from '@x402/evm/v1'
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch'
import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { PAYMENT_NETWORKS } from '../../schemas/payment-networks.ts'
import type { VerifiedPayment } from '../../serving/payments/contract.ts'
import { verifyExactEvm } from '../../serving/payments/exact-evm.ts'
import { type Anvil, devAccount, startAnvil } from './nodes/anvil.ts'

/** The fourth development account of the node: it pays the gas. */
export const GAS_KEY = '0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6'

/** The message that a payer signs. Source: EIP-3009. */
export const TRANSFER_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

const { asset: TOKEN, chainId: CHAIN_ID, domain: DOMAIN } = PAYMENT_NETWORKS['base-sepolia']
const TOKEN_ABI = parseAbi([
  'function mint(address to, uint256 value)',
  'function setPaused(bool value)',
  'function balanceOf(address account) view returns (uint256)',
])
/** Runtime code of `payment-token.sol`: solc 0.8.30, optimizer runs 1, viaIR, evm paris, no metadata. */
const TOKEN_CODE = readFileSync(new URL('./nodes/payment-token.hex', import.meta.url), 'utf8')

/** A local node that stands for Base Sepolia, with a token that moves by authorizations where its USDC is. */
export interface PaymentChain {
  readonly anvil: Anvil
  mint(to: Hex, valueRaw: bigint): Promise<void>
  setPaused(paused: boolean): Promise<void>
  balanceOf(account: Hex): Promise<bigint>
}

/** Starts one; a transaction is a block. */
export const startPaymentChain = async (): Promise<PaymentChain> => {
  const anvil = await startAnvil(['--chain-id', `${CHAIN_ID}`])
  const { client } = anvil
  await client.setCode({ address: TOKEN, bytecode: `0x${TOKEN_CODE.trim()}` })
  const send = async (data: Hex): Promise<void> => {
    const from = devAccount(9).address
    const hash = await client.sendUnsignedTransaction({ from, to: TOKEN, data })
    await client.waitForTransactionReceipt({ hash })
  }
  return {
    anvil,
    mint: (to, valueRaw) =>
      send(encodeFunctionData({ abi: TOKEN_ABI, functionName: 'mint', args: [to, valueRaw] })),
    setPaused: (paused) =>
      send(encodeFunctionData({ abi: TOKEN_ABI, functionName: 'setPaused', args: [paused] })),
    balanceOf: (account) =>
      client.readContract({
        address: TOKEN,
        abi: TOKEN_ABI,
        functionName: 'balanceOf',
        args: [account],
      }),
  }
}

/**
 * The official client: `fetch` that pays when it is asked to, in one version of the protocol. `most`: what it pays at once; of itself it
 * pays up to a dollar.
 */
export const payingFetch = (
  account: PrivateKeyAccount,
  version: 1 | 2,
  most?: `$${number}`,
): typeof fetch => {
  const client = new x402Client()
  if (most !== undefined) client.setSpendControls({ maxAmountPerPayment: most })
  if (version === 2) {
    client.register(`eip155:${CHAIN_ID}`, new ExactEvmScheme(account))
    return wrapFetchWithPayment(fetch, client) as typeof fetch
  }
  client.registerV1('base-sepolia', new ExactEvmSchemeV1(account))
  return wrapFetchWithPayment(withoutHeadersOfVersion2, client) as typeof fetch
}

/** A client of version 1 reads the body and knows no header of version 2. */
export const withoutHeadersOfVersion2: typeof fetch = async (input, init) => {
  const answer = await fetch(input, init)
  const headers = new Headers(answer.headers)
  headers.delete('PAYMENT-REQUIRED')
  return new Response(answer.body, { status: answer.status, headers })
}

/** What an answer says of its payment. */
export const receiptOf = (answer: Response) => {
  const header =
    answer.headers.get('payment-response') ?? answer.headers.get('x-payment-response') ?? ''
  return decodePaymentResponseHeader(header)
}

/** What a payer may write differently from what is asked. */
export interface PaymentChanges {
  readonly valueRaw?: bigint
  readonly nonce?: Hex
  readonly validBefore?: bigint
  readonly validAfter?: bigint
  /** Signs for another network than the header names. */
  readonly chainId?: number
  readonly network?: string
}

/** A header of version 1 that pays with one authorization, written by hand. */
export const signPayment = async (
  account: PrivateKeyAccount,
  payTo: Hex,
  {
    valueRaw = 1_000n,
    nonce = randomNonce(),
    validBefore,
    validAfter = 0n,
    chainId = CHAIN_ID,
    network = 'base-sepolia',
  }: PaymentChanges = {},
): Promise<string> => {
  const now = BigInt(Math.floor(Date.now() / 1_000))
  const message = {
    from: account.address,
    to: payTo,
    value: valueRaw,
    validAfter,
    validBefore: validBefore ?? now + 60n,
    nonce,
  }
  const signature = await account.signTypedData({
    domain: { ...DOMAIN, chainId, verifyingContract: TOKEN },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const authorization = Object.fromEntries(
    Object.entries(message).map(([key, value]) => [key, String(value)]),
  )
  const payment = {
    x402Version: 1,
    scheme: 'exact',
    network,
    payload: { authorization, signature },
  }
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}

const randomNonce = (): Hex =>
  `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`

const RESOURCE = { url: 'https://api.example.com/v2/token/search', description: 'search' }

/** A signed payment of 1,000 base units whose form, times and signature are checked. */
export const signedAndVerified = async (
  account: PrivateKeyAccount,
  payTo: Hex,
  version: 1 | 2 = 1,
): Promise<VerifiedPayment> => {
  const header = JSON.parse(Buffer.from(await signPayment(account, payTo), 'base64').toString())
  const offer = { network: 'base-sepolia', amountRaw: 1_000n, asset: TOKEN, payTo } as const
  const shown = { offer, payload: header.payload, version, resource: RESOURCE }
  const verified = await verifyExactEvm(shown, { nowMs: Date.now() })
  assert.ok(typeof verified !== 'string')
  return verified
}
