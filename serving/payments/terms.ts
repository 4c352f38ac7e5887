import {
  caip2Name,
  isSvmNetwork,
  PAYMENT_NETWORKS,
  type PaymentNetworkName,
} from '../../schemas/payment-networks.ts'
import { MILLI_UNITS_PER_UNIT } from '../../schemas/plans.ts'
import type { Offer, PaymentProblem, Resource, SvmTerms } from './contract.ts'
import type { PaymentHeader, TermsV1, TermsV2 } from './wire.ts'

/** What an installation asks for its calls. */
export interface PaymentPrices {
  /** Who is paid on networks of the EVM; `''` where none is offered. */
  readonly payTo: string
  /** Who is paid on networks of Solana, and what transactions have to be there. */
  readonly svm?: SvmTerms & { readonly payTo: string }
  readonly networks: readonly PaymentNetworkName[]
  /** Least price of a call, base units. */
  readonly minRaw: bigint
  /** Base units of one compute unit. */
  readonly perUnitRaw: bigint
}

/** How long a payer's signature has to be good when it is made. */
const MAX_TIMEOUT_SECONDS = 60
const SCHEME = 'exact'
const MIME_TYPE = 'application/json'

/** Price of a call in base units of a token with `PAYMENT_DECIMALS` decimals, rounded up, never below the least price. */
export const priceRaw = (
  milliUnits: number,
  { minRaw, perUnitRaw }: Pick<PaymentPrices, 'minRaw' | 'perUnitRaw'>,
): bigint => {
  const perThousand = BigInt(MILLI_UNITS_PER_UNIT)
  const exact = (BigInt(milliUnits) * perUnitRaw + perThousand - 1n) / perThousand
  return exact < minRaw ? minRaw : exact
}

/** One offer per network. */
export const makeOffers = (
  amountRaw: bigint,
  { networks, payTo, svm }: Pick<PaymentPrices, 'networks' | 'payTo' | 'svm'>,
): readonly Offer[] =>
  networks.map((network) => {
    const { asset } = PAYMENT_NETWORKS[network]
    if (!isSvmNetwork(network) || svm === undefined) return { network, amountRaw, asset, payTo }
    const { payTo: payee, ...terms } = svm
    return { network, amountRaw, asset, payTo: payee, svm: terms }
  })

/** Name of a network in a version of the protocol. */
export const networkName = (version: 1 | 2, network: PaymentNetworkName): string =>
  version === 1 ? network : caip2Name(network)

/** What a client needs beside token, recipient and amount: the domain that it signs under, or the account that pays the fee. */
const extraOf = ({ network, svm }: Offer): Readonly<Record<string, string>> => {
  const row = PAYMENT_NETWORKS[network]
  if (row.vm === 'evm') return row.domain
  const { feePayer = '', memo } = svm ?? {}
  return { feePayer, ...(memo !== undefined && { memo }) }
}

/** An offer as version 1 writes it. */
export const requirementsV1 = (
  offer: Offer,
  { url, description }: Resource,
): TermsV1['accepts'][number] => ({
  scheme: SCHEME,
  network: offer.network,
  maxAmountRequired: `${offer.amountRaw}`,
  resource: url,
  description,
  mimeType: MIME_TYPE,
  outputSchema: null,
  payTo: offer.payTo,
  maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
  asset: offer.asset,
  extra: extraOf(offer),
})

/** An offer as version 2 writes it. */
export const requirementsV2 = (offer: Offer): TermsV2['accepts'][number] => ({
  scheme: SCHEME,
  network: caip2Name(offer.network),
  amount: `${offer.amountRaw}`,
  asset: offer.asset,
  payTo: offer.payTo,
  maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
  extra: extraOf(offer),
})

/** The terms of a call in both versions of the protocol; `error` says why they are sent. */
export const makeTerms = (
  offers: readonly Offer[],
  resource: Resource,
  error?: string,
): { readonly v1: TermsV1; readonly v2: TermsV2 } => ({
  v1: {
    x402Version: 1,
    error: error ?? 'X-PAYMENT header is required',
    accepts: offers.map((offer) => requirementsV1(offer, resource)),
  },
  v2: {
    x402Version: 2,
    error: error ?? 'PAYMENT-SIGNATURE header is required',
    resource: { ...resource, mimeType: MIME_TYPE },
    accepts: offers.map(requirementsV2),
  },
})

/** The offer that a header says it pays, among those of today, or why there is none. */
export const matchOffer = (
  header: PaymentHeader,
  offers: readonly Offer[],
  resourceUrl: string,
): Offer | PaymentProblem => {
  const { scheme, network } = header.version === 1 ? header : header.accepted
  if (scheme !== SCHEME) return 'unsupported_scheme'
  const offer = offers.find((each) => network === networkName(header.version, each.network))
  if (offer === undefined) return 'invalid_network'
  if (header.version === 1) return offer
  const { accepted, resource } = header
  if (resource !== undefined && placeOf(resource.url) !== placeOf(resourceUrl))
    return 'invalid_payment_requirements'
  const isSvm = isSvmNetwork(offer.network)
  // Case is a part of an address of Solana, and not of one of the EVM.
  const plain = (account: string) => (isSvm ? account : account.toLowerCase())
  if (plain(accepted.payTo) !== plain(offer.payTo))
    return `invalid_exact_${isSvm ? 'svm' : 'evm'}_payload_recipient_mismatch`
  if (accepted.amount !== `${offer.amountRaw}`)
    return isSvm
      ? 'invalid_exact_svm_payload_amount_mismatch'
      : 'invalid_exact_evm_payload_authorization_value_mismatch'
  return plain(accepted.asset) === plain(offer.asset) ? offer : 'invalid_payment_requirements'
}

/** Scheme, host and path: the order of a query must not break a payment. */
const placeOf = (url: string): string => {
  if (!URL.canParse(url)) return ''
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
