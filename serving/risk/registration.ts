import { storedAddress } from '../../core/addresses.ts'
import { Fault } from '../../core/errors.ts'
import type { RegisterKytWithdrawal } from '../../schemas/api/risk.ts'
import { CHAIN_ID_BY_NAME, CHAINS, chainRow } from '../../schemas/chains.ts'
import { chainsOfAddress } from './address-chains.ts'
import type { AssessmentRequest } from './assessment.ts'

const invalid = (parameter: string, message: string): Fault =>
  new Fault('INVALID_PARAMETER', message, { parameter })

/**
 * Chain of a network's name in any case, with the name as answers write it. `parameter` holds the name. Throws `Fault`
 * INVALID_PARAMETER for an unknown one, NOT_IMPLEMENTED for bitcoin, CHAIN_NOT_SUPPORTED where the chain is not served here.
 */
const networkOf = (
  name: string,
  chains: readonly string[],
  parameter: 'network' | 'chain' = 'network',
): { readonly network: string; readonly chain: string } => {
  const word = name.toLowerCase()
  if (word === 'bitcoin')
    throw new Fault('NOT_IMPLEMENTED', 'This installation does not follow bitcoin')
  const chain = Object.hasOwn(CHAIN_ID_BY_NAME, word) ? CHAIN_ID_BY_NAME[word] : undefined
  if (chain === undefined) throw invalid(parameter, `${parameter} is not known`)
  if (!chains.includes(chain)) throw new Fault('CHAIN_NOT_SUPPORTED')
  return { network: CHAINS[chain].screeningNetwork, chain }
}

const addressOn = (chain: string, address: string): string => {
  const stored = storedAddress(chain, address)
  if (stored === undefined) throw new Fault('INVALID_ADDRESS')
  return stored
}

/** The request for an address: assessed on every chain here that has such addresses. Throws `Fault` INVALID_ADDRESS. */
export const addressRequest = (
  address: string,
  chains: readonly string[],
): AssessmentRequest & { readonly kind: 'address' } => {
  const fitting = chainsOfAddress(address, chains)
  const [first] = fitting
  if (first === undefined) throw new Fault('INVALID_ADDRESS')
  return { kind: 'address', address: addressOn(first, address), chains: fitting }
}

/**
 * The request for an address that is named with its chain: the same as without, so that both are one record. Throws `Fault`
 * INVALID_ADDRESS for an address of another chain, and those of a network.
 */
export const verificationRequest = (
  { address, chain: name }: { readonly address: string; readonly chain: string },
  chains: readonly string[],
): AssessmentRequest & { readonly kind: 'address' } => {
  const { chain } = networkOf(name, chains, 'chain')
  return addressRequest(addressOn(chain, address), chains)
}

const TX_PATTERNS = {
  evm: /^0x[0-9a-fA-F]{64}$/,
  svm: /^[1-9A-HJ-NP-Za-km-z]{64,90}$/,
  move: /^[1-9A-HJ-NP-Za-km-z]{32,90}$/,
}

/** Texts that are meant as addresses: of any virtual machine, whole or not. Symbols are shorter. */
const MEANT_AS_ADDRESS = /^0x[0-9a-f]{16,}$|^[1-9A-HJ-NP-Za-km-z]{32,44}$|::/i

/** An asset as it was named. Throws `Fault` INVALID_TOKEN_ADDRESS for the address of no token of the chain. */
const assetOn = (chain: string, asset: string): string => {
  if (MEANT_AS_ADDRESS.test(asset) && storedAddress(chain, asset) === undefined) {
    throw new Fault('INVALID_TOKEN_ADDRESS', undefined, { parameter: 'asset', value: asset })
  }
  return asset
}

/** The request for a transfer. Throws `Fault` INVALID_PARAMETER, INVALID_ADDRESS, INVALID_TOKEN_ADDRESS and those of its network. */
export const transferRequest = (
  body: {
    readonly network: string
    readonly asset: string
    readonly transferReference: string
    readonly direction: 'sent' | 'received'
  },
  chains: readonly string[],
): AssessmentRequest => {
  const { network, chain } = networkOf(body.network, chains)
  const [tx = '', ...outputs] = body.transferReference.split(':')
  const vm = chainRow(chain)?.vm ?? 'evm'
  if (!TX_PATTERNS[vm].test(tx) || outputs.length > 1) {
    throw invalid(
      'transferReference',
      'transferReference is <transaction hash>:<receiving address>',
    )
  }
  const hash = vm === 'evm' ? tx.toLowerCase() : tx
  const [output] = outputs
  const transferReference = output === undefined ? hash : `${hash}:${addressOn(chain, output)}`
  const { direction } = body
  const asset = assetOn(chain, body.asset)
  return { kind: 'transfer', network, chain, asset, transferReference, direction }
}

/** ISO 8601 with a zone or as a date, or epoch seconds or ms. */
const isTimestamp = (text: string): boolean =>
  /^\d{9,13}$/.test(text) ||
  (/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text) &&
    Number.isFinite(Date.parse(text)))

/** The request for a withdrawal. Throws `Fault` INVALID_TIMESTAMP, INVALID_ADDRESS, INVALID_TOKEN_ADDRESS and those of its network. */
export const withdrawalRequest = (
  body: RegisterKytWithdrawal,
  chains: readonly string[],
): AssessmentRequest => {
  const { network, chain } = networkOf(body.network, chains)
  if (!isTimestamp(body.attemptTimestamp)) throw new Fault('INVALID_TIMESTAMP')
  const { assetAmount, attemptTimestamp } = body
  const asset = assetOn(chain, body.asset)
  const { assetPrice = null, assetDenomination = null, assetId = null, memo = null } = body
  const address = addressOn(chain, body.address)
  const details = { assetPrice, assetDenomination, assetId, memo }
  return {
    kind: 'withdrawal',
    network,
    chain,
    asset,
    address,
    assetAmount,
    attemptTimestamp,
    ...details,
  }
}
