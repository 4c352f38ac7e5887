import { readFileSync } from 'node:fs'
import { SCOPES } from '../../schemas/scopes.ts'
import type { SdkReading } from './python-clients.ts'
import { rustArguments } from './rust-arguments.ts'
import { type RustAnswer, type RustDriver, type RustSdk, startRustSdk } from './rust-client.ts'
import type { RustOperation } from './rust-operations.ts'

/** What `demo.json` names of one chain. */
export interface ChainExample {
  readonly token: string
  readonly pool: string
  readonly wallet: string
}

interface Demo {
  readonly baseUrl: string
  readonly wsUrl: string
  readonly tokenUrl: string
  readonly audience: string
  readonly clientId: string
  readonly clientSecret: string
  readonly examplesByChain: Readonly<Record<string, ChainExample>>
}

export interface RustReading extends SdkReading {
  /** Whether a connection is open after `SECONDS_OF_PINGS`. */
  readonly staysOpen: boolean
}

/** The names of the demo's chains as the SDK writes them. */
const CHAINS: Readonly<Record<string, string>> = { sol: 'sol', ethereum: 'eth' }
/** Groups as the SDK for Python names them, by the first word of a path. */
const GROUPS: Readonly<Record<string, string>> = {
  prediction: 'Prediction',
  blockchain: 'Blockchain',
  dex: 'Dex',
  dexpools: 'DexPool',
  dexscr: 'DexScreener',
  ipfs: 'IPFS',
  job: 'Job',
  kyt: 'KYT',
  ranking: 'Ranking',
  'ranking-pools': 'Ranking',
  redpacket: 'RedPacket',
  token: 'Token',
  trade: 'Trade',
  transaction: 'Transaction',
  wallet: 'Wallet',
  watchlist: 'Watchlist',
  webhook: 'Webhook',
}
/** The error of a chain that is still catching up. */
const CHAIN_SYNC_ERROR = 50003
/** The crate names fewer chains for gas. */
const UNKNOWN_CHAIN = /^argument chain: unknown variant/
const TRIES = 60
/** Longer than a connection lives that answers no ping. */
const SECONDS_OF_PINGS = 100

const LISTEN_SECONDS = 120
const OF_TOKENS = [
  ...['token_candles', 'token_stats', 'token_trade', 'token_holders', 'token_supply'],
  ...['token_max_liquidity', 'token_total_liquidity'],
]
/** What a demo makes in every run, and the time that it gets: wallets trade more on its Solana, pools of its Ethereum do not end. */
export const RUST_SUBSCRIPTIONS = {
  seconds: LISTEN_SECONDS,
  wanted: [
    ...OF_TOKENS.flatMap((name) => [`sol ${name}`, `eth ${name}`]),
    ...['sol new_token', 'sol new_tokens', 'sol ranking_tokens_list'],
    ...['sol wallet_balance', 'sol wallet_pnl'],
    ...['eth pool_candles', 'eth pair_candles', 'eth dex_pool_balance'],
  ],
}

const groupOf = ({ path }: RustOperation): string => GROUPS[path.split('/')[2] ?? ''] ?? path

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const tokenOf = async (demo: Demo): Promise<string> => {
  const response = await fetch(demo.tokenUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      grant_type: 'client_credentials',
      client_id: demo.clientId,
      client_secret: demo.clientSecret,
      audience: demo.audience,
      scope: SCOPES.join(' '),
    }),
  })
  const { access_token: token } = (await response.json()) as { readonly access_token: string }
  return token
}

/** Whether an answer holds nothing: an empty list or map, or a page without rows. */
const isEmpty = (answer: unknown): boolean => {
  const rows = (answer as { readonly data?: unknown } | null)?.data ?? answer
  return typeof rows === 'object' && rows !== null && Object.keys(rows).length === 0
}

/** The object of an answer where a later call depends on it, as it came where the crate could not take it. */
const mustHave = (name: string, answer: RustAnswer): Readonly<Record<string, never>> => {
  if ('answered' in answer) return answer.answered as Readonly<Record<string, never>>
  if ('unread' in answer && answer.text !== '') return JSON.parse(answer.text)
  throw new Error(`${name}: ${JSON.stringify(answer).slice(0, 2_000)}`)
}

/** Calls operations and notes what became of each. */
class Notes {
  readonly answered: Record<string, { readonly text: string; readonly empty: boolean }> = {}
  readonly failed: Record<string, { readonly status: number; readonly text: string }> = {}
  readonly #driver: RustDriver

  constructor(driver: RustDriver) {
    this.#driver = driver
  }

  async call(
    label: string,
    operation: string,
    given: Readonly<Record<string, unknown>>,
  ): Promise<RustAnswer> {
    for (let left = TRIES; ; left -= 1) {
      const answer = await this.#driver.call(operation, given)
      // A loaded machine is still catching up with the newest blocks.
      const isBehind = 'status' in answer && answer.text.includes(String(CHAIN_SYNC_ERROR))
      if (isBehind && left > 0) {
        await pause(2_000)
        continue
      }
      this.#note(label, answer)
      return answer
    }
  }

  #note(label: string, answer: RustAnswer): void {
    if ('answered' in answer) {
      const text = JSON.stringify(answer.answered)
      this.answered[label] = { text, empty: isEmpty(answer.answered) }
    } else if ('status' in answer) this.failed[label] = answer
    else if ('unread' in answer) {
      this.failed[label] = { status: 0, text: `${answer.unread}: ${answer.text}` }
    } else if (!UNKNOWN_CHAIN.test(answer.refused))
      this.failed[label] = { status: 0, text: `not sent: ${answer.refused}` }
  }
}

/** An example with the other token of its pool, and who made the token. */
const completed = async (driver: RustDriver, chain: string, example: ChainExample) => {
  const { token, pool, wallet } = example
  const found = mustHave(
    'get_dexpool',
    await driver.call('get_dexpool', { chain, pool_address: pool }),
  )
  const facts = mustHave(
    'get_token',
    await driver.call('get_token', { chain, token_address: token }),
  )
  const sides: readonly string[] = [found.tokenAAddress ?? '', found.tokenBAddress ?? '']
  const creators: readonly { readonly address?: string }[] = facts.tokenCreators ?? []
  return {
    ...example,
    chain,
    quote: sides.find((side) => side !== token) ?? '',
    creator: creators.find(({ address }) => address !== undefined)?.address ?? wallet,
  }
}

/** The life of an endpoint, by every operation on webhooks. */
const askWebhooks = async (notes: Notes): Promise<void> => {
  const call = (name: string, given: Readonly<Record<string, unknown>> = {}): Promise<RustAnswer> =>
    notes.call(`Webhook ${name}`, name, given)
  const url = 'http://127.0.0.1:39999/hook'
  const body = { url, channels: ['sol.token.created'] }
  const made = mustHave('create_endpoint', await call('create_endpoint', { body }))
  await call('list_endpoints')
  await call('get_endpoint', { id: made.id })
  await call('get_endpoint_secret', { id: made.id })
  await call('rotate_endpoint_secret', { id: made.id })
  await call('update_endpoint', { body: { endpointId: made.id, url } })
  await call('delete_endpoint', { id: made.id })
}

/** Registrations and their results, by every operation on risk. */
const askRisk = async (notes: Notes, wallet: string): Promise<void> => {
  const call = async (
    name: string,
    given: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>> =>
    mustHave(name, await notes.call(`KYT ${name}`, name, given))
  const callUntil = async (
    name: string,
    given: Readonly<Record<string, unknown>>,
    isDone: (answer: Readonly<Record<string, unknown>>) => boolean,
  ): Promise<void> => {
    for (let left = TRIES; left > 0 && !isDone(await call(name, given)); left -= 1) await pause(500)
  }
  await call('register_address', { body: { address: wallet } })
  await callUntil('get_address_risk', { address: wallet }, ({ status }) => status === 'COMPLETE')
  const ofAll = { network: 'ethereum', asset: 'ETH' }
  const transferReference = `0x${'1'.repeat(64)}:${wallet}`
  const transfer = await call('register_transfer', {
    body: { ...ofAll, transferReference, direction: 'received' },
  })
  for (const name of ['summary', 'alerts', 'direct_exposure', 'network_identifications']) {
    await call(`get_transfer_${name}`, { transfer_id: transfer.externalId })
  }
  const attempt = { assetAmount: '1.5', attemptTimestamp: '2026-01-01T00:00:00Z' }
  const body = { ...ofAll, ...attempt, address: wallet }
  const given = { withdrawal_id: (await call('register_withdrawal', { body })).externalId }
  await callUntil(
    'get_withdrawal_fraud_assessment',
    given,
    (answer) => !isEmpty(answer.alteryaIdentifications ?? []),
  )
  const parts = ['summary', 'alerts', 'direct_exposure', 'network_identifications']
  for (const name of [...parts, 'address_identifications']) {
    await call(`get_withdrawal_${name}`, given)
  }
}

/** Reads a demo with the SDK, by the file that names it: the subscriptions until all of `wanted` called back, then every operation. */
export const readWithRustSdk = async (
  sdk: RustSdk,
  demoFile: string,
  { seconds, wanted }: { readonly seconds: number; readonly wanted: readonly string[] },
): Promise<RustReading> => {
  const demo: Demo = JSON.parse(readFileSync(demoFile, 'utf8'))
  const token = await tokenOf(demo)
  const start = (): RustDriver => startRustSdk(sdk.program, demo.baseUrl, token)
  const [driver, staying] = [start(), start()]
  try {
    const examples = []
    for (const [chain, example] of Object.entries(demo.examplesByChain)) {
      examples.push(await completed(driver, CHAINS[chain] ?? chain, example))
    }
    const stay = { url: demo.wsUrl, examples, wanted: [], seconds: SECONDS_OF_PINGS }
    const stayed = staying.listen(stay)
    const { heard } = await driver.listen({ url: demo.wsUrl, examples, wanted, seconds })
    const notes = new Notes(driver)
    for (const example of examples) {
      for (const operation of sdk.operations) {
        const group = groupOf(operation)
        if (group === 'Webhook' || group === 'KYT') continue
        // The crate names venues of Solana only for a quote.
        if (operation.name === 'quote' && example.chain !== 'sol') continue
        const label = `${example.chain} ${group} ${operation.name}`
        await notes.call(label, operation.name, rustArguments(operation, example))
      }
    }
    await askWebhooks(notes)
    await askRisk(notes, demo.examplesByChain.ethereum?.wallet ?? '')
    const { open: staysOpen } = await stayed
    return { heard, staysOpen, answered: notes.answered, failed: notes.failed }
  } finally {
    await Promise.all([driver, staying].map((one) => one.close()))
  }
}
