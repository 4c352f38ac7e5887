/** The product on a simulated chain with a fixed clock, and what it answers to the operations of its document. */
import { nodeSource } from '../../cli/app/node-source.ts'
import { loadConfig } from '../../core/config/load.ts'
import { makeSilentLogger } from '../../core/ops/logger.ts'
import { makeMetrics } from '../../core/ops/metrics.ts'
import { CHAINS } from '../../schemas/chains.ts'
import { startSimulator } from '../../simulator/start.ts'
import { type AppStack, startAppStack } from './app-stack.ts'
import { until } from './until.ts'

/** On Solana tokens are launched and migrate; the clock is set to where several have. */
const CHAIN = {
  ...({ chain: 'sol', seed: 20, ratePerSecond: 2 } as const),
  genesisMs: Date.UTC(2026, 0, 5, 12),
}
const LENGTH_MS = 15 * 60_000
const LIMIT_MS = 180_000

/** What the run has answers about: addresses by the parameter that they are examples of, and its times in epoch ms. */
export type ExampleSubjects = Readonly<Record<string, string | number>>

/** Runs `use` on the product once it has processed the whole chain. */
export const withExampleProduct = async <T>(
  use: (product: AppStack, subjects: ExampleSubjects) => Promise<T>,
): Promise<T> => {
  const nowMs = CHAIN.genesisMs + LENGTH_MS
  const log = makeSilentLogger()
  const simulator = await startSimulator({ ...CHAIN, nowMs: () => nowMs, log })
  const closing = new AbortController()
  let product: AppStack | undefined
  try {
    const { extra } = simulator
    const config = { ...loadConfig({}), chainExtra: { sol: extra } }
    const source = await nodeSource({
      chain: CHAINS.sol,
      urls: [simulator.wsUrl],
      from: 0,
      config,
      log,
      metrics: makeMetrics(),
      signal: closing.signal,
    })
    product = await startAppStack({ chain: { row: CHAINS.sol, source, extra } })
    const { app } = product
    const { hash } = simulator.head()
    await until(() => app.ingestors[0]?.status().hash === hash, 'all is ingested', LIMIT_MS)
    await until(() => app.isCaughtUp(), 'all is processed', LIMIT_MS)
    const times = { startMs: CHAIN.genesisMs, endMs: nowMs, height: simulator.head().height }
    return await use(product, { ...(await subjectsOf(product)), ...times })
  } finally {
    await product?.stop()
    closing.abort()
    await simulator.stop()
  }
}

/** A launched token that trades on, its maker, its largest pool, and the wallet that trades it most. */
const subjectsOf = async (product: AppStack): Promise<Readonly<Record<string, string>>> => {
  const { warehouse } = product.app
  const first = async (sql: string): Promise<Readonly<Record<string, string>>> => {
    const { rows } = await warehouse.query<Readonly<Record<string, string>>>({ sql })
    return rows[0] ?? {}
  }
  const { token = '', symbol = '' } = await first(
    `SELECT token_address AS token, any(symbol) AS symbol FROM sol_tokens FINAL
     WHERE token_address LIKE '%pump' AND token_address IN
       (SELECT token_address FROM sol_dex_trades_enriched FINAL WHERE protocol_family != 'pump_fun')
     GROUP BY token ORDER BY token LIMIT 1`,
  )
  const trades = `FROM sol_dex_trades_enriched FINAL WHERE token_address = '${token}'`
  const { wallet = '' } = await first(
    `SELECT owner AS wallet ${trades} GROUP BY wallet ORDER BY count() DESC, wallet LIMIT 1`,
  )
  const { signature = '', program = '' } = await first(
    `SELECT tx_hash AS signature, program_address AS program ${trades} AND owner = '${wallet}'
     ORDER BY block_time DESC, signature LIMIT 1`,
  )
  const { pool = '', quote = '' } = await first(
    `SELECT pool_address AS pool, if(token_a = '${token}', token_b, token_a) AS quote
     FROM sol_dex_pools FINAL WHERE token_a = '${token}' OR token_b = '${token}'
     ORDER BY liquidity_usd DESC, pool LIMIT 1`,
  )
  const { dev = '' } = await first(
    `SELECT creators[1].address AS dev FROM sol_tokens FINAL WHERE token_address = '${token}'`,
  )
  return {
    tokenAddress: token,
    tokenAddresses: token,
    poolAddress: pool,
    devAddress: dev,
    walletAddress: wallet,
    walletAddresses: wallet,
    maker: wallet,
    dexProgram: program,
    pair: `${token}-${quote}`,
    transactionsSignature: signature,
    keyword: symbol,
  }
}
