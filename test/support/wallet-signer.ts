import { ed25519 } from '@noble/curves/ed25519'
import { privateKeyToAccount } from 'viem/accounts'
import { base58Encode } from '../../core/base58.ts'

/** A wallet whose key is known. */
export interface TestWallet {
  readonly kind: 'evm' | 'solana'
  /** As a client writes it. */
  readonly address: string
  sign(message: string): Promise<string>
}

/** An EVM wallet with the private key of 32 equal bytes. */
export const evmWallet = (byte: number): TestWallet => {
  const account = privateKeyToAccount(`0x${byte.toString(16).padStart(2, '0').repeat(32)}`)
  return {
    kind: 'evm',
    address: account.address,
    sign: (message) => account.signMessage({ message }),
  }
}

/** A Solana wallet with the seed of 32 equal bytes; signatures in base 58. */
export const solanaWallet = (byte: number): TestWallet => {
  const seed = new Uint8Array(32).fill(byte)
  return {
    kind: 'solana',
    address: base58Encode(ed25519.getPublicKey(seed)),
    sign: async (message) => base58Encode(ed25519.sign(Buffer.from(message), seed)),
  }
}

/** What a test says in a message beside its wallet. */
export interface MessageFields {
  readonly domain: string
  readonly uri: string
  readonly version?: string
  readonly chainId?: string
  readonly nonce?: string
  readonly issuedAt: string
  readonly expiresAt: string
  /** Lines behind the last one. */
  readonly more?: readonly string[]
}

/** A sign-in message as the clients of the interface write it. */
export const signInMessage = (
  { kind, address }: Pick<TestWallet, 'kind' | 'address'>,
  {
    domain,
    uri,
    version = '1',
    chainId = kind === 'evm' ? '8453' : 'mainnet',
    nonce = '00112233445566778899aabbccddeeff',
    issuedAt,
    expiresAt,
    more = [],
  }: MessageFields,
): string =>
  [
    `${domain} wants you to sign in with your ${kind === 'evm' ? 'Ethereum' : 'Solana'} account:`,
    address,
    '',
    'Sign in to ChainStream API',
    '',
    `URI: ${uri}`,
    `Version: ${version}`,
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    `Expiration Time: ${expiresAt}`,
    ...more,
  ].join('\n')

/** A token as it stands behind `SIWX `. */
export const signInToken = async (wallet: TestWallet, message: string): Promise<string> =>
  `${Buffer.from(message).toString('base64')}.${await wallet.sign(message)}`
