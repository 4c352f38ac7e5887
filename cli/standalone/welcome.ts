import type { Warehouse } from '../../core/clickhouse/client.ts'
import { printLine } from '../../core/ops/terminal.ts'
import type { ChainRow } from '../../schemas/chains.ts'
import type { DemoFile } from '../app/data-folder.ts'

/** Things that exist and have trades: what a newcomer's first commands are about. */
export interface DemoExamples {
  readonly chain: string
  readonly token: string
  /** What the pool trades the token against. */
  readonly quote: string
  readonly pool: string
  readonly wallet: string
  readonly txHash: string
}

/** Examples by the name of their chain; chains without a trade are missing. */
export type ExamplesByChain = Readonly<Record<string, DemoExamples>>

/** The newest trades that are looked through. */
const MAX_TRADES_SCANNED = 20_000

/**
 * The proposed token, or the one last traded, with a trade of it; null until there is one that every command of the
 * welcome answers about: each table is written at a pace of its own, and a start that catches up has some behind others.
 * A trade of a wallet that holds the token goes first: one that trades through a contract of its own has no balance itself.
 * Then one in a pool with liquidity: a curve whose token has migrated has none.
 */
export const findExamples = async (
  warehouse: Warehouse,
  { id, apiName }: ChainRow,
  proposed: Pick<DemoExamples, 'token'> | undefined,
): Promise<DemoExamples | null> => {
  const trades = `${id}_dex_trades_enriched`
  const among = proposed
    ? 'token_address = {token:String}'
    : `block_time >= (SELECT max(block_time) FROM ${trades}) - INTERVAL 1 DAY`
  const { rows } = await warehouse.query<Omit<DemoExamples, 'chain'>>({
    sql: `WITH newest AS (
        SELECT token_address, side_token, pool_address, owner, tx_hash, block_slot, event_index FROM ${trades} FINAL
        WHERE price_usd > 0 AND is_suspect = 0 AND is_base = 1 AND ${among}
        ORDER BY block_slot DESC, event_index DESC LIMIT ${MAX_TRADES_SCANNED})
      SELECT token_address AS token, side_token AS quote, pool_address AS pool, owner AS wallet, tx_hash AS txHash FROM newest
      WHERE (wallet, token) IN (SELECT wallet, token_address FROM ${id}_wallet_token_pnl FINAL
          WHERE wallet IN (SELECT owner FROM newest))
        AND token IN (SELECT token_address FROM ${id}_tokens FINAL WHERE token_address IN (SELECT token_address FROM newest))
        AND pool IN (SELECT pool_address FROM ${id}_dex_pools FINAL WHERE pool_address IN (SELECT pool_address FROM newest))
        AND txHash IN (SELECT tx_hash FROM ${id}_dex_trades WHERE tx_hash IN (SELECT tx_hash FROM newest))
      ORDER BY ((wallet, token) IN (SELECT holder, token_address FROM ${id}_wallet_balances FINAL
          WHERE holder IN (SELECT owner FROM newest) AND balance > 0)) DESC,
        (pool IN (SELECT pool_address FROM ${id}_dex_pools FINAL
          WHERE pool_address IN (SELECT pool_address FROM newest) AND liquidity_usd > 0)) DESC, block_slot DESC, event_index DESC LIMIT 1`,
    params: { token: proposed?.token ?? '' },
  })
  const [row] = rows
  return row ? { chain: apiName, ...row } : null
}

/** What the welcome shows. */
export interface Welcome extends DemoFile {
  readonly origin: string
  readonly dataDir: string
  readonly chains: readonly ChainRow[]
  /** True: webhooks of the shown key may go to this machine. */
  readonly webhooksToHere: boolean
  readonly examples: ExamplesByChain
}

/** Prints where the product serves, the demo key and commands to paste. */
export const printWelcome = (welcome: Welcome): void => {
  printLine(welcomeText(welcome))
}

/** Commands of a chain that had nothing to show when the welcome was printed. */
export const lateCommandsText = (welcome: Welcome, chain: ChainRow): string =>
  ['', ...chainCommands(welcome, chain)].join('\n')

/** The welcome as text; commands are whole lines, ready to paste. */
export const welcomeText = (welcome: Welcome): string => {
  const { baseUrl, graphqlUrl, wsUrl, apiKey, origin, dataDir, chains } = welcome
  return [
    '',
    `  Sluice is running on ${origin}`,
    '',
    `  REST       ${baseUrl}        (OpenAPI: ${baseUrl}/openapi.json)`,
    `  GraphQL    ${graphqlUrl}        (subscriptions: ${welcome.subscriptionsUrl})`,
    `  Streams    ${wsUrl}`,
    `  API key    ${apiKey}`,
    `  Tokens     ${welcome.tokenUrl}        (client id and secret: ${dataDir}/demo.json)`,
    `  Admin      ${welcome.adminUrl}`,
    `  Data       ${dataDir}/        (these lines as JSON: ${dataDir}/demo.json)`,
    ...(welcome.webhooksToHere
      ? ['  Webhooks   of this key may go to this machine, because this is a demo']
      : []),
    '',
    ...chains.flatMap((chain) => chainCommands(welcome, chain)),
    '  Ctrl-C stops; the next start resumes where this one ended.',
    '',
  ].join('\n')
}

const chainCommands = (
  { baseUrl, graphqlUrl, apiKey, dataDir, examples }: Welcome,
  chain: ChainRow,
): readonly string[] => {
  const example = examples[chain.apiName]
  if (example === undefined) {
    return [
      `  ${chain.name}: has no trade to show yet. Its commands are printed with the first one.`,
      '',
    ]
  }
  const { token, wallet } = example
  const group = chain.vm === 'evm' ? `EVM(network: ${chain.networks[0]})` : chain.name
  const query = `{"query":"{ ${group} { DEXTrades(limit: {count: 3}) { Block { Time } Trade { Buy { Amount PriceInUSD Currency { Symbol } } } } } }"}`
  return [
    `  ${chain.name}: candles of a token, search, what a wallet made, the newest trades by GraphQL:`,
    `curl -s -H 'X-API-KEY: ${apiKey}' '${baseUrl}/v2/token/${chain.apiName}/${token}/candles?resolution=1m&limit=3'`,
    `curl -s -H 'X-API-KEY: ${apiKey}' '${baseUrl}/v2/token/search?chain=${chain.apiName}&keyword=${token}'`,
    `curl -s -H 'X-API-KEY: ${apiKey}' '${baseUrl}/v2/wallet/${chain.apiName}/${wallet}/stats'`,
    `curl -s -H 'X-API-KEY: ${apiKey}' -H 'Content-Type: application/json' '${graphqlUrl}' -d '${query}'`,
    '',
    '  Live trades of that token (any Centrifuge client works; this is a plain socket), and the topic itself:',
    `npx --no sluice listen 'dex-trade:${chain.id}_${token}' --data '${dataDir}'`,
    `npx --no sluice tail ${chain.id}.dex.trades.processed --data '${dataDir}'`,
    '',
  ]
}
