import type { Warehouse } from '../core/warehouse.ts'
import type { ChainRow } from '../schemas/chains.ts'
import type { Demo } from './data-folder.ts'

/** Things that exist and have trades: what a newcomer's first commands are about. */
export interface DemoExamples {
  readonly chain: string
  readonly token: string
  readonly pool: string
  readonly wallet: string
  readonly txHash: string
}

/** The proposed examples, or the busiest token's own, as soon as the warehouse holds a trade of them; null before. */
export const findExamples = async (
  warehouse: Warehouse,
  { id, apiName }: ChainRow,
  proposed: DemoExamples | undefined,
): Promise<DemoExamples | null> => {
  const { rows } = await warehouse.query<Omit<DemoExamples, 'chain'>>({
    sql: `SELECT token_address AS token, pool_address AS pool, owner AS wallet, tx_hash AS txHash
      FROM ${id}_dex_trades_enriched FINAL
      WHERE price_usd > 0 AND is_suspect = 0 AND is_base = 1
        AND ({token:String} = '' OR token_address = {token:String})
      ORDER BY block_slot DESC, event_index DESC LIMIT 1`,
    params: { token: proposed?.token ?? '' },
  })
  const [row] = rows
  return row ? { chain: apiName, ...row } : null
}

/** What the welcome shows. */
export interface Welcome extends Demo {
  readonly origin: string
  readonly dataDir: string
  readonly chain: ChainRow
  readonly examples: DemoExamples | null
}

/** Prints where the product serves, the demo key and commands to paste. */
export const printWelcome = (welcome: Welcome): void => {
  process.stdout.write(`${welcomeText(welcome)}\n`)
}

/** The welcome as text; commands are whole lines, ready to paste. */
export const welcomeText = (welcome: Welcome): string => {
  const { baseUrl, graphqlUrl, wsUrl, apiKey, origin, dataDir, chain, examples } = welcome
  const token = examples?.token ?? 'TOKEN'
  const group = chain.network === null ? 'Solana' : `EVM(network: ${chain.network})`
  const query = `{"query":"{ ${group} { DEXTrades(limit: {count: 3}) { Block { Time } Trade { Buy { Amount PriceInUSD Currency { Symbol } } } } } }"}`
  return [
    '',
    `  Sluice is running on ${origin}`,
    '',
    `  REST       ${baseUrl}        (OpenAPI: ${baseUrl}/openapi.json)`,
    `  GraphQL    ${graphqlUrl}`,
    `  Streams    ${wsUrl}`,
    `  API key    ${apiKey}`,
    `  Tokens     ${welcome.tokenUrl}`,
    `  Admin      ${welcome.adminUrl}`,
    `  Data       ${dataDir}/        (these lines as JSON: ${dataDir}/demo.json)`,
    '',
    '  Candles of a token:',
    `curl -s -H 'X-API-KEY: ${apiKey}' '${baseUrl}/v2/token/${chain.apiName}/${token}/candles?resolution=1m&limit=3'`,
    '',
    '  Search:',
    `curl -s -H 'X-API-KEY: ${apiKey}' '${baseUrl}/v2/token/search?chain=${chain.apiName}&keyword=${token}'`,
    '',
    '  The newest trades by GraphQL:',
    `curl -s -H 'X-API-KEY: ${apiKey}' -H 'Content-Type: application/json' '${graphqlUrl}' -d '${query}'`,
    '',
    '  Live trades of that token (any Centrifuge client works; this is a plain socket):',
    `npx --no sluice listen 'dex-trade:${chain.id}_${token}' --data '${dataDir}'`,
    '',
    '  The topic itself, as JSON lines:',
    `npx --no sluice tail ${chain.id}.dex.trades.processed --data '${dataDir}'`,
    '',
    '  Ctrl-C stops; the next start goes on where this one ended.',
    '',
  ].join('\n')
}
