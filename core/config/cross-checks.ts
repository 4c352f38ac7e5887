import {
  PAYMENT_NETWORKS,
  type PaymentNetworkName,
  paymentChain,
} from '../../schemas/payment-networks.ts'
import { bindScope, isCidrRange } from '../http/network-address.ts'
import type { ConfigProblem } from './errors.ts'
import { environmentVariableOf } from './settings.ts'

const PRIVATE_KEY = /^0x[0-9a-fA-F]{64}$/

/** Mistakes that only show when settings are looked at together. */
export const checkAcrossSettings = (
  value: Readonly<Record<string, unknown>>,
): readonly ConfigProblem[] => {
  if ((value.kafkaTlsCert === '') !== (value.kafkaTlsKey === '')) {
    const variable = value.kafkaTlsCert === '' ? 'KAFKA_TLS_CERT' : 'KAFKA_TLS_KEY'
    return [
      {
        variable,
        message:
          'is needed and is not set: KAFKA_TLS_CERT and KAFKA_TLS_KEY go together; set both or neither',
      },
    ]
  }
  const brokers = value.kafkaBrokers
  const problems: ConfigProblem[] = []
  if (Array.isArray(brokers) && brokers.length > 0 && value.schemaRegistryUrl === '') {
    problems.push({
      variable: 'SCHEMA_REGISTRY_URL',
      message:
        'is needed together with KAFKA_BROKERS and is not set; set it to the URL of the schema registry',
    })
  }
  return [
    ...problems,
    ...checkListeners(value),
    ...checkCidrRanges(value),
    ...checkPayments(value),
    ...checkUploads(value),
  ]
}

/** A storage for uploads has an address and credentials, or there is none. */
const checkUploads = (value: Readonly<Record<string, unknown>>): readonly ConfigProblem[] => {
  const keys = ['ipfsUploadUrl', 'ipfsUploadKeyId', 'ipfsUploadSecret'] as const
  const missing = keys.find((key) => value[key] === '')
  return missing === undefined || keys.every((key) => value[key] === '')
    ? []
    : [
        {
          variable: environmentVariableOf(missing),
          message:
            'is not set: IPFS_UPLOAD_URL, IPFS_UPLOAD_KEY_ID and IPFS_UPLOAD_SECRET go together; set all or none',
        },
      ]
}

/** Payments have a payee and a network, or are off; whoever settles has what it takes. */
const checkPayments = ({
  x402PayTo,
  x402Networks,
  x402Facilitator,
  x402FacilitatorUrl,
  x402GasKey,
  x402RpcUrl,
  x402Plans,
  chainRpcUrls,
}: Readonly<Record<string, unknown>>): readonly ConfigProblem[] => {
  const networks = Array.isArray(x402Networks) ? x402Networks.map(String) : []
  if ((x402PayTo === '') !== (networks.length === 0)) {
    const variable = x402PayTo === '' ? 'X402_PAY_TO' : 'X402_NETWORKS'
    return [
      {
        variable,
        message: 'is not set: X402_PAY_TO and X402_NETWORKS go together; set both or neither',
      },
    ]
  }
  const plans = Array.isArray(x402Plans) ? x402Plans.map((text) => String(text).split(':')[0]) : []
  if (plans.length > 0 && networks.length === 0)
    return [
      {
        variable: 'X402_PLANS',
        message:
          'needs X402_PAY_TO and X402_NETWORKS, which are not set; set them, or leave X402_PLANS out',
      },
    ]
  const repeated = plans.find((plan, index) => plans.indexOf(plan) < index)
  if (repeated !== undefined)
    return [
      { variable: 'X402_PLANS', message: `names ${repeated} twice; give each plan one price` },
    ]
  if (networks.length === 0) return []
  if (x402Facilitator === 'remote' && x402FacilitatorUrl === '')
    return [
      {
        variable: 'X402_FACILITATOR_URL',
        message:
          'is needed with X402_FACILITATOR=remote and is not set; set it to the URL of the facilitator',
      },
    ]
  if (x402Facilitator === 'embedded' && !PRIVATE_KEY.test(String(x402GasKey)))
    return [
      {
        variable: 'X402_GAS_KEY',
        message:
          'is needed to settle payments here; expected a private key of 0x and 64 hex digits. Set it, or use X402_FACILITATOR=remote',
      },
    ]
  const nodes = (typeof chainRpcUrls === 'object' ? chainRpcUrls : {}) as object
  const alone = networks.find((name) => {
    const chain = Object.hasOwn(PAYMENT_NETWORKS, name)
      ? paymentChain(name as PaymentNetworkName)
      : undefined
    return x402RpcUrl === '' && (chain === undefined || !Object.hasOwn(nodes, chain))
  })
  if (x402Facilitator === 'embedded' && alone !== undefined)
    return [
      {
        variable: 'X402_RPC_URL',
        message: `is needed: there is no node of ${alone}. Set it, or RPC_URLS_ of that chain`,
      },
    ]
  const real = networks.find((name) => !PAYMENT_NETWORKS[name as PaymentNetworkName]?.isTest)
  return x402Facilitator === 'mock' && real !== undefined
    ? [
        {
          variable: 'X402_FACILITATOR',
          message: `mock takes no money: ${real} is not a test network. Use a test network, or another facilitator`,
        },
      ]
    : []
}

/** TLS is a pair of files; the admin API shows its tokens to no intermediary; clients cannot dial a wildcard. */
const checkListeners = ({
  publicUrl,
  publicStreamsUrl,
  authUrl,
  tlsCertFile,
  tlsKeyFile,
  adminHost,
  adminAllowPlain,
}: Readonly<Record<string, unknown>>): readonly ConfigProblem[] => {
  const problems: ConfigProblem[] = []
  if ((tlsCertFile === '') !== (tlsKeyFile === '')) {
    const variable = tlsCertFile === '' ? 'TLS_CERT_FILE' : 'TLS_KEY_FILE'
    problems.push({
      variable,
      message: 'is not set: TLS_CERT_FILE and TLS_KEY_FILE go together; set both or neither',
    })
  }
  for (const [variable, url] of Object.entries({
    PUBLIC_URL: publicUrl,
    PUBLIC_STREAMS_URL: publicStreamsUrl,
    AUTH_URL: authUrl,
  })) {
    if (typeof url !== 'string' || url === '') continue
    if (!URL.canParse(url) || bindScope(new URL(url).hostname) === 'wildcard') {
      problems.push({
        variable,
        message: `${url} names no host that clients can connect to; expected a URL such as https://api.example.com`,
      })
    }
  }
  const isInside = typeof adminHost !== 'string' || bindScope(adminHost) === 'loopback'
  if (!isInside && tlsCertFile === '' && adminAllowPlain !== true) {
    problems.push({
      variable: 'ADMIN_HOST',
      message:
        'the admin API leaves this machine only with TLS (TLS_CERT_FILE, TLS_KEY_FILE); ADMIN_ALLOW_PLAIN=true allows it without',
    })
  }
  return problems
}

/** Lists of ranges: each one is one, and `none` stands alone. */
const checkCidrRanges = (value: Readonly<Record<string, unknown>>): readonly ConfigProblem[] => {
  const problems: ConfigProblem[] = []
  for (const key of ['trustedProxies', 'webhookAllow', 'metadataAllow'] as const) {
    const ranges = value[key]
    if (!Array.isArray(ranges)) continue
    const isNone = key === 'webhookAllow' && ranges.length === 1 && ranges[0] === 'none'
    const wrong = ranges.find((range) => typeof range === 'string' && !isCidrRange(range))
    if (wrong === undefined || isNone) continue
    problems.push({
      variable: environmentVariableOf(key),
      message: `${wrong} is not a CIDR range; expected ranges such as 10.0.0.0/8, separated by commas`,
    })
  }
  return problems
}
