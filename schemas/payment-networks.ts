/** Networks that calls are paid on: facts of the networks and of the token that pays. */

import { CHAINS, type ChainRow } from './chains.ts'

/** Decimals of every token that pays: one price in base units holds on all networks. */
export const PAYMENT_DECIMALS = 6

/** A network of the EVM whose token moves by signed authorizations (EIP-3009). */
export interface EvmPaymentNetwork {
  readonly vm: 'evm'
  /** EIP-155 id; version 2 of x402 names the network `eip155:<id>`. */
  readonly chainId: number
  /** The token that pays, as its deployer writes it. */
  readonly asset: `0x${string}`
  readonly decimals: typeof PAYMENT_DECIMALS
  /** Domain under which authorizations of the token are signed. Source: `name()` and `version()` of the token (EIP-712, EIP-3009). */
  readonly domain: { readonly name: string; readonly version: string }
  /** Its tokens are worth nothing. */
  readonly isTest: boolean
}

/** A network of Solana, on which the payer signs the whole transaction and another account pays its fee. */
export interface SvmPaymentNetwork {
  readonly vm: 'svm'
  /** First 32 characters of the hash of its genesis; version 2 of x402 names the network `solana:<genesis>`. Source: CAIP-2. */
  readonly genesis: string
  /** Mint of the token that pays. */
  readonly asset: string
  readonly decimals: typeof PAYMENT_DECIMALS
  /** Program that the mint belongs to. */
  readonly tokenProgram: string
  readonly isTest: boolean
}

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'

/** By the name in version 1 of x402. Token: USDC as its issuer lists it (developers.circle.com, contract addresses). */
export const PAYMENT_NETWORKS = {
  base: {
    vm: 'evm',
    chainId: 8_453,
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    decimals: PAYMENT_DECIMALS,
    domain: { name: 'USD Coin', version: '2' },
    isTest: false,
  },
  'base-sepolia': {
    vm: 'evm',
    chainId: 84_532,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    decimals: PAYMENT_DECIMALS,
    domain: { name: 'USDC', version: '2' },
    isTest: true,
  },
  avalanche: {
    vm: 'evm',
    chainId: 43_114,
    asset: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
    decimals: PAYMENT_DECIMALS,
    domain: { name: 'USD Coin', version: '2' },
    isTest: false,
  },
  polygon: {
    vm: 'evm',
    chainId: 137,
    asset: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
    decimals: PAYMENT_DECIMALS,
    domain: { name: 'USD Coin', version: '2' },
    isTest: false,
  },
  solana: {
    vm: 'svm',
    genesis: '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    asset: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    decimals: PAYMENT_DECIMALS,
    tokenProgram: TOKEN_PROGRAM,
    isTest: false,
  },
  'solana-devnet': {
    vm: 'svm',
    genesis: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
    asset: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
    decimals: PAYMENT_DECIMALS,
    tokenProgram: TOKEN_PROGRAM,
    isTest: true,
  },
} as const satisfies Record<string, EvmPaymentNetwork | SvmPaymentNetwork>

/** A network by its name in version 1 of x402. */
export type PaymentNetworkName = keyof typeof PAYMENT_NETWORKS

/** A network of the EVM by its name. */
export type EvmPaymentNetworkName = {
  [Name in PaymentNetworkName]: (typeof PAYMENT_NETWORKS)[Name]['vm'] extends 'evm' ? Name : never
}[PaymentNetworkName]

/** A network of Solana by its name. */
export type SvmPaymentNetworkName = Exclude<PaymentNetworkName, EvmPaymentNetworkName>

/** Names of the networks. */
export const PAYMENT_NETWORK_NAMES = Object.keys(PAYMENT_NETWORKS) as PaymentNetworkName[]

/** Whether a network is one of Solana. */
export const isSvmNetwork = (network: PaymentNetworkName): network is SvmPaymentNetworkName =>
  PAYMENT_NETWORKS[network].vm === 'svm'

/** Chain of a network, of which this installation may hold nodes; undefined where no row is that chain. */
export const paymentChain = (network: PaymentNetworkName): string | undefined => {
  const row = PAYMENT_NETWORKS[network]
  return Object.values<ChainRow>(CHAINS).find(({ chainId, vm, signInNames }) =>
    row.vm === 'evm' ? chainId === row.chainId : vm === row.vm && signInNames.includes(row.genesis),
  )?.id
}

/** Name of a network in version 2 of x402. Source: CAIP-2. */
export const caip2Name = (network: PaymentNetworkName): `${string}:${string}` => {
  const row = PAYMENT_NETWORKS[network]
  return row.vm === 'evm' ? `eip155:${row.chainId}` : `solana:${row.genesis}`
}
