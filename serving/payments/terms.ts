import {
  caip2Name,
  PAYMENT_NETWORKS,
  type PaymentNetworkName,
} from '../../schemas/payment-networks.ts'
import { MILLI_UNITS_PER_UNIT } from '../../schemas/plans.ts'
import type { Offer, PaymentProblem, Resource } from './contract.ts'
import type { PaymentHeader, TermsV1, TermsV2 } from './wire.ts'

/** What an installation asks for its calls. */
export interface PaymentPrices {
  readonly payTo: `0x${string}`
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

/** Price of a call in base units of a token with six decimals, rounded up, never below the least price. */
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
  { networks, payTo }: Pick<PaymentPrices, 'networks' | 'payTo'>,
): readonly Offer[] =>
  networks.map((network) => ({
    network,
    amountRaw,
    asset: PAYMENT_NETWORKS[network].asset,
    payTo,
  }))

/** Name of a network in a version of the protocol. */
export const networkName = (version: 1 | 2, network: PaymentNetworkName): string =>
  version === 1 ? network : caip2Name(network)

/** An offer as version 1 writes it. */
export const requirementsV1 = (
  { network, amountRaw, asset, payTo }: Offer,
  { url, description }: Resource,
): TermsV1['accepts'][number] => ({
  scheme: SCHEME,
  network,
  maxAmountRequired: `${amountRaw}`,
  resource: url,
  description,
  mimeType: MIME_TYPE,
  outputSchema: null,
  payTo,
  maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
  asset,
  extra: PAYMENT_NETWORKS[network].domain,
})

/** An offer as version 2 writes it. */
export const requirementsV2 = ({
  network,
  amountRaw,
  asset,
  payTo,
}: Offer): TermsV2['accepts'][number] => ({
  scheme: SCHEME,
  network: caip2Name(network),
  amount: `${amountRaw}`,
  asset,
  payTo,
  maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
  extra: PAYMENT_NETWORKS[network].domain,
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
  if (accepted.payTo.toLowerCase() !== offer.payTo.toLowerCase())
    return 'invalid_exact_evm_payload_recipient_mismatch'
  if (accepted.amount !== `${offer.amountRaw}`)
    return 'invalid_exact_evm_payload_authorization_value_mismatch'
  return accepted.asset.toLowerCase() === offer.asset.toLowerCase()
    ? offer
    : 'invalid_payment_requirements'
}

/** Scheme, host and path: the order of a query must not break a payment. */
const placeOf = (url: string): string => {
  if (!URL.canParse(url)) return ''
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
