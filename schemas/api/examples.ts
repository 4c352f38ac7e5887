import { PAYMENT_EXAMPLES } from './payment-examples.ts'
import { PREDICTION_EXAMPLES, PREDICTION_PARAMETERS } from './prediction-examples.ts'
import recorded from './recorded-examples.json' with { type: 'json' }
import { RED_PACKET_EXAMPLES, RED_PACKET_PARAMETERS } from './red-packet-examples.ts'
import { RISK_EXAMPLES, RISK_PARAMETERS } from './risk-examples.ts'
import { TOKEN_CREATION_EXAMPLES } from './token-creation-examples.ts'
import { QUERY, WRITTEN_EXAMPLES } from './written-examples.ts'

const { parameters } = recorded

/** Examples of parameters by name, `min` for every bound of a list: addresses of the recorded chain, and what goes with them. */
export const PARAMETER_EXAMPLES: Readonly<Record<string, unknown>> = {
  ...parameters,
  ...RISK_PARAMETERS,
  chain: 'sol',
  chains: ['sol'],
  protocols: ['pump_fun'],
  min: '1',
  duration: '1h',
  resolution: '1m',
  tag: 'pump_fun',
  traderTags: ['dev'],
  filters: ['has_twitter'],
  launchpadPlatform: ['pump_fun'],
  searchKeywords: [parameters.keyword],
  excludeKeywords: ['test'],
  q: parameters.keyword,
  rangeFilters: ['{"field":"marketData.holders","min":"10"}'],
  filterBy: ['{"field":"marketData.holders","operator":"gte","value":"10"}'],
  ...Object.fromEntries(
    ['timestamp', 'time', 'to', 'toTimestamp', 'timeTo', 'beforeTimestamp'].map((name) => [
      name,
      parameters.endMs,
    ]),
  ),
  ...Object.fromEntries(
    ['from', 'fromTimestamp', 'timeFrom', 'afterTimestamp'].map((name) => [
      name,
      parameters.startMs,
    ]),
  ),
  afterBlockHeight: 1,
  beforeBlockHeight: parameters.height,
  keyId: 'key_01JD0000000000000000000000',
  wallet: '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a',
  ...PREDICTION_PARAMETERS,
  ...RED_PACKET_PARAMETERS,
  plan: 'nano',
  address: '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a',
  id: 'ep_01JD0000000000000000000000',
  msgId: 'msg_01JD0000000000000000000000',
  since: '2026-01-05T00:00:00Z',
  until: '2026-01-06T00:00:00Z',
  taskId: 'task_01JD0000000000000000000000',
  inputMint: 'So11111111111111111111111111111111111111112',
  outputMint: parameters.tokenAddress,
  isSuspect: false,
  iterator: parameters.cursor,
  query: QUERY,
  variables: '{}',
  operationName: 'Trades',
  'Idempotency-Key': 'endpoint-2026-01-05',
  'If-None-Match': 'W/"N2Y4YWQxZmE0ZDQ5NjUxNz"',
}

/** Examples of named schemas: what an installation with the recorded chain answers, and what is sent to it. */
export const SCHEMA_EXAMPLES: Readonly<Record<string, unknown>> = {
  ...recorded.schemas,
  ...WRITTEN_EXAMPLES,
  ...RISK_EXAMPLES,
  ...PREDICTION_EXAMPLES,
  ...RED_PACKET_EXAMPLES,
  ...TOKEN_CREATION_EXAMPLES,
  ...PAYMENT_EXAMPLES,
}
