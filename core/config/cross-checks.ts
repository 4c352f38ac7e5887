import { bindScope, isCidrRange } from '../http/network-address.ts'
import type { ConfigProblem } from './errors.ts'
import { checkPayments } from './payment-checks.ts'
import { environmentVariableOf } from './settings.ts'

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
