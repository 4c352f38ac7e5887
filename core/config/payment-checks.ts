import {
  isSvmNetwork,
  PAYMENT_NETWORKS,
  type PaymentNetworkName,
  paymentChain,
} from '../../schemas/payment-networks.ts'
import { isSolanaAddress, readSolanaKey } from '../solana-key.ts'
import type { ConfigProblem } from './errors.ts'

type Settings = Readonly<Record<string, unknown>>

const PRIVATE_KEY = /^0x[0-9a-fA-F]{64}$/

/** Payments have a payee and a network, or are off; whoever settles has what it takes. Answers the first problem. */
export const checkPayments = (settings: Settings): readonly ConfigProblem[] => {
  const networks = networksOf(settings)
  const problem =
    payeeProblem(settings, networks) ??
    plansProblem(settings, networks) ??
    (networks.length === 0
      ? undefined
      : (settlingProblem(settings, networks) ??
        solanaProblem(settings, networks) ??
        nodeProblem(settings, networks)))
  return problem === undefined ? [] : [problem]
}

const networksOf = ({ x402Networks }: Settings): readonly PaymentNetworkName[] =>
  (Array.isArray(x402Networks) ? x402Networks : []).filter((name) =>
    Object.hasOwn(PAYMENT_NETWORKS, String(name)),
  )

/** A payee of one kind and networks of that kind go together. */
const payeeProblem = (
  { x402PayTo, x402SolanaPayTo }: Settings,
  networks: readonly PaymentNetworkName[],
): ConfigProblem | undefined => {
  for (const [variable, payTo, isOffered, which] of [
    ['X402_PAY_TO', x402PayTo, networks.some((name) => !isSvmNetwork(name)), 'networks of the EVM'],
    ['X402_SOLANA_PAY_TO', x402SolanaPayTo, networks.some(isSvmNetwork), 'networks of Solana'],
  ] as const) {
    if ((payTo === '') !== isOffered) continue
    return {
      variable: payTo === '' ? variable : 'X402_NETWORKS',
      message: `is not set: ${variable} and X402_NETWORKS go together for ${which}; set both or neither`,
    }
  }
  return undefined
}

const plansProblem = (
  { x402Plans }: Settings,
  networks: readonly PaymentNetworkName[],
): ConfigProblem | undefined => {
  const plans = Array.isArray(x402Plans) ? x402Plans.map((text) => String(text).split(':')[0]) : []
  if (plans.length > 0 && networks.length === 0)
    return {
      variable: 'X402_PLANS',
      message:
        'needs X402_PAY_TO and X402_NETWORKS, which are not set; set them, or leave X402_PLANS out',
    }
  const repeated = plans.find((plan, index) => plans.indexOf(plan) < index)
  return repeated === undefined
    ? undefined
    : { variable: 'X402_PLANS', message: `names ${repeated} twice; give each plan one price` }
}

const settlingProblem = (
  { x402Facilitator, x402FacilitatorUrl, x402GasKey }: Settings,
  networks: readonly PaymentNetworkName[],
): ConfigProblem | undefined => {
  if (x402Facilitator === 'remote' && x402FacilitatorUrl === '')
    return {
      variable: 'X402_FACILITATOR_URL',
      message:
        'is needed with X402_FACILITATOR=remote and is not set; set it to the URL of the facilitator',
    }
  const isGasPaid = networks.some((name) => !isSvmNetwork(name))
  if (x402Facilitator === 'embedded' && isGasPaid && !PRIVATE_KEY.test(String(x402GasKey)))
    return {
      variable: 'X402_GAS_KEY',
      message:
        'is needed to settle payments here; expected a private key of 0x and 64 hex digits. Set it, or use X402_FACILITATOR=remote',
    }
  const real = networks.find((name) => !PAYMENT_NETWORKS[name].isTest)
  return x402Facilitator === 'mock' && real !== undefined
    ? {
        variable: 'X402_FACILITATOR',
        message: `mock takes no money: ${real} is not a test network. Use a test network, or another facilitator`,
      }
    : undefined
}

const solanaProblem = (
  { x402Facilitator, x402SolanaPayTo, x402SolanaFeeKey, x402SolanaFeePayer }: Settings,
  networks: readonly PaymentNetworkName[],
): ConfigProblem | undefined => {
  if (!networks.some(isSvmNetwork)) return undefined
  if (!isSolanaAddress(String(x402SolanaPayTo)))
    return {
      variable: 'X402_SOLANA_PAY_TO',
      message: 'is not an address of Solana; expected 32 bytes in base 58',
    }
  if (x402Facilitator === 'embedded')
    return readSolanaKey(String(x402SolanaFeeKey)) === undefined
      ? {
          variable: 'X402_SOLANA_FEE_KEY',
          message:
            'is needed to settle payments here; expected the 64 bytes of a key pair in base 58, or as the list that solana-keygen writes. Set it, or use X402_FACILITATOR=remote',
        }
      : undefined
  return isSolanaAddress(String(x402SolanaFeePayer))
    ? undefined
    : {
        variable: 'X402_SOLANA_FEE_PAYER',
        message:
          'is needed: terms name the account that pays the fee. Set it to an account of the facilitator (GET /supported of the facilitator names it)',
      }
}

const nodeProblem = (
  { x402Facilitator, x402RpcUrl, x402SolanaRpcUrl, chainRpcUrls }: Settings,
  networks: readonly PaymentNetworkName[],
): ConfigProblem | undefined => {
  if (x402Facilitator !== 'embedded') return undefined
  const nodes = (typeof chainRpcUrls === 'object' ? chainRpcUrls : {}) as object
  const alone = networks.find((name) => {
    const chain = paymentChain(name)
    const named = isSvmNetwork(name) ? x402SolanaRpcUrl : x402RpcUrl
    return named === '' && (chain === undefined || !Object.hasOwn(nodes, chain))
  })
  return alone === undefined
    ? undefined
    : {
        variable: isSvmNetwork(alone) ? 'X402_SOLANA_RPC_URL' : 'X402_RPC_URL',
        message: `is needed: there is no node of ${alone}. Set it, or RPC_URLS_ of that chain`,
      }
}
