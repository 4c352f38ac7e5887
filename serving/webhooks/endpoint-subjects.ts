import { storedAddress } from '../../core/addresses.ts'
import { Fault } from '../../core/errors.ts'
import type { UpdateWebhookById } from '../../schemas/api/webhook.ts'
import { channelChain, channelKind, kindRow } from '../../schemas/webhooks.ts'
import type { WebhookEndpoint } from '../../schemas/wire.ts'
import { type EndpointSelectors, endpointChannels } from './endpoint-index.ts'

/** Pools that share one contract have a 32-byte id in place of an address. */
const POOL_ID = /^0x[0-9a-fA-F]{64}$/

/** The writings of an address on the chains of an endpoint's channels; one text may be an address of several. */
const storedSubjects = (endpoint: EndpointSelectors, text: string): readonly string[] => {
  const chains = new Set(endpointChannels(endpoint).map(channelChain))
  const found = [...chains].flatMap((chain) => storedAddress(chain, text) ?? [])
  return [...new Set(POOL_ID.test(text) ? [...found, text.toLowerCase()] : found)]
}

const requireSubjects = (
  endpoint: EndpointSelectors,
  text: string,
  parameter: string,
): readonly string[] => {
  const found = storedSubjects(endpoint, text)
  if (found.length > 0) return found
  throw new Fault(
    'INVALID_PARAMETER',
    `${parameter} is not an address on a chain of the endpoint's chains`,
    {
      parameter,
      value: text.slice(0, 128),
    },
  )
}

/** Subjects as events name them. Throws `Fault` for a text that is not an address on a chain of the endpoint's channels. */
export const readSubjects = (
  endpoint: EndpointSelectors,
  subjects: UpdateWebhookById['subjects'],
): readonly string[] => [
  ...new Set((subjects ?? []).flatMap((text) => requireSubjects(endpoint, text, 'subjects'))),
]

/** Price levels as events name them, each once. Throws `Fault` as `readSubjects`. */
export const readPriceLevels = (
  endpoint: EndpointSelectors,
  levels: UpdateWebhookById['priceLevels'],
): WebhookEndpoint['price_levels'] => {
  const all = (levels ?? []).flatMap(({ token, priceInUsd: usd }) =>
    requireSubjects(endpoint, token, 'priceLevels').map((own) => ({ token: own, usd })),
  )
  return [...new Map(all.map((level) => [`${level.token}@${level.usd}`, level])).values()]
}

/** What each need asks for: the field, and whether the endpoint has it. */
const REQUIREMENTS = {
  nothing: undefined,
  subjects: { parameter: 'subjects', has: ({ subjects }: Named) => subjects.length > 0 },
  'subjects-or-filter': {
    parameter: 'subjects',
    has: ({ subjects, filter }: Named) => subjects.length > 0 || filter !== null,
  },
  'price-levels': {
    parameter: 'priceLevels',
    has: ({ price_levels }: Named) => price_levels.length > 0,
  },
} as const

type Named = Pick<WebhookEndpoint, 'subjects' | 'price_levels' | 'filter'>

/** Throws `Fault` MISSING_PARAMETER where an endpoint has a channel of many events and names nothing that narrows it. */
export const assertChannelsAreNamed = (endpoint: EndpointSelectors & Named): void => {
  for (const channel of endpointChannels(endpoint)) {
    const { needs } = kindRow(channelKind(channel))
    const required = REQUIREMENTS[needs]
    if (required === undefined || required.has(endpoint)) continue
    const { parameter } = required
    const alternative = needs === 'subjects-or-filter' ? ' or filter' : ''
    throw new Fault('MISSING_PARAMETER', `${parameter}${alternative} is required for ${channel}`, {
      parameter,
      channel,
    })
  }
}
