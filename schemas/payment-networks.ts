/** Networks that calls are paid on: facts of the networks and of the token that pays. */

import { CHAINS, type ChainRow } from './chains.ts'

/** A network of the EVM whose token moves by signed authorizations (EIP-3009). */
export interface PaymentNetworkRow {
  /** EIP-155 id; version 2 of x402 names the network `eip155:<id>`. */
  readonly chainId: number
  /** The token that pays, as its deployer writes it. Six decimals: a thousand base units are a tenth of a cent. */
  readonly asset: `0x${string}`
  /** Domain under which authorizations of the token are signed. Source: `name()` and `version()` of the token (EIP-712, EIP-3009). */
  readonly domain: { readonly name: string; readonly version: string }
  /** Its tokens are worth nothing. */
  readonly isTest: boolean
}

/** By the name in version 1 of x402. Token: USDC as its issuer lists it (developers.circle.com, contract addresses). */
export const PAYMENT_NETWORKS = {
  base: {
    chainId: 8_453,
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    domain: { name: 'USD Coin', version: '2' },
    isTest: false,
  },
  'base-sepolia': {
    chainId: 84_532,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    domain: { name: 'USDC', version: '2' },
    isTest: true,
  },
  avalanche: {
    chainId: 43_114,
    asset: '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E',
    domain: { name: 'USD Coin', version: '2' },
    isTest: false,
  },
  polygon: {
    chainId: 137,
    asset: '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359',
    domain: { name: 'USD Coin', version: '2' },
    isTest: false,
  },
} as const satisfies Record<string, PaymentNetworkRow>

/** A network by its name in version 1 of x402. */
export type PaymentNetworkName = keyof typeof PAYMENT_NETWORKS

/** Names of the networks. */
export const PAYMENT_NETWORK_NAMES = Object.keys(PAYMENT_NETWORKS) as PaymentNetworkName[]

/** Chain of a network, of which this installation may hold nodes; undefined where no row is that chain. */
export const paymentChain = (network: PaymentNetworkName): string | undefined =>
  Object.values<ChainRow>(CHAINS).find(
    ({ chainId }) => chainId === PAYMENT_NETWORKS[network].chainId,
  )?.id

/** Name of a network in version 2 of x402. Source: CAIP-2. */
export const caip2Name = (network: PaymentNetworkName): `eip155:${number}` =>
  `eip155:${PAYMENT_NETWORKS[network].chainId}`
