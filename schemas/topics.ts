import type { Messages } from './wire.ts'

/** How Kafka cleans a topic: by age, by key, or both. */
export type CleanupPolicy = 'delete' | 'compact' | 'compact,delete'

/** One row per topic; `docs/kafka.md` lists those for consumers. */
export interface TopicRow {
  /** Name behind the chain prefix; the whole name where `scope` is `global`, the name before the chain where it is `internal`. */
  readonly suffix: string
  readonly scope: 'chain' | 'internal' | 'global'
  readonly message: keyof Messages | null
  /** What the record key is, in words. */
  readonly key: string
  /** `token`: co-partitioned lanes of the chain; `one`: a single partition; `light`: few. */
  readonly partitions: 'token' | 'one' | 'light'
  readonly cleanup: CleanupPolicy
  /** Role that writes it; the access rules of Kafka follow from that (`sluice init --acl`). */
  readonly writer: 'ingest' | 'process' | 'serve'
  /** Hours until deletion; null = never. */
  readonly retentionHours: number | null
  /** There only where an operator turned on the feed that it belongs to (`feeds.ts`). */
  readonly optional?: true
}

const defineTopic = <const Row extends TopicRow>(value: Row): Row => value
/** A row that keeps which message it is of: `TopicMessage` reads it. */
type RowOf<Message extends keyof Messages> = TopicRow & { readonly message: Message }

const tokenTopic = <const Message extends keyof Messages>(
  suffix: string,
  message: Message,
  retentionHours: number,
  writer: 'ingest' | 'process',
): RowOf<Message> => ({
  suffix,
  writer,
  scope: 'chain',
  message,
  key: 'base token',
  partitions: 'token',
  cleanup: 'delete',
  retentionHours,
})
const upsertTopic = <const Message extends keyof Messages>(
  suffix: string,
  message: Message,
): RowOf<Message> => ({
  ...tokenTopic(suffix, message, 168, 'process'),
  cleanup: 'compact,delete',
  key: 'token',
})
const controlTopic = <const Message extends keyof Messages>(
  suffix: string,
  message: Message,
  key: string,
): RowOf<Message> => ({
  suffix,
  scope: 'global',
  message,
  key,
  partitions: 'one',
  cleanup: 'compact',
  writer: 'serve',
  retentionHours: null,
})
const feedTopic = <const Message extends keyof Messages>(
  suffix: string,
  message: Message,
  key: string,
): RowOf<Message> => ({
  ...tokenTopic(suffix, message, 24, 'ingest'),
  key,
  optional: true,
})
const webhookTopic = <const Message extends keyof Messages>(
  suffix: string,
  message: Message,
  key: string,
): RowOf<Message> => ({
  suffix,
  scope: 'global',
  message,
  key,
  partitions: 'light',
  cleanup: 'delete',
  writer: 'serve',
  retentionHours: 168,
})

/** Topics that this build creates. */
export const TOPICS = {
  blocks: defineTopic({
    suffix: 'blocks',
    scope: 'chain',
    message: 'block.BlockEvent',
    key: 'chain',
    partitions: 'one',
    cleanup: 'delete',
    writer: 'ingest',
    retentionHours: null,
  }),
  trades: tokenTopic('dex.trades', 'dex.trade.TradeEvents', 72, 'ingest'),
  /** Trades of pre-confirmed blocks; there only where such are followed (`core/bus/topic-specs.ts`). */
  tradesPending: {
    ...tokenTopic('dex.trades.pending', 'dex.trade.TradeEvents', 1, 'ingest'),
    optional: true,
  },
  tradesProcessed: tokenTopic('dex.trades.processed', 'dex.trade.TradeEvents', 72, 'process'),
  pools: tokenTopic('dex.pools', 'dex.pool.DexPoolEvents', 72, 'ingest'),
  poolsProcessed: tokenTopic('dex.pools.processed', 'dex.pool.DexPoolEvents', 72, 'process'),
  transfers: tokenTopic('transfers', 'transfer.TransferEvents', 72, 'ingest'),
  transfersProcessed: tokenTopic('transfers.processed', 'transfer.TransferEvents', 72, 'process'),
  balances: {
    ...tokenTopic('balances', 'balance.BalanceEvents', 72, 'ingest'),
    key: 'owner wallet',
  },
  balancesProcessed: {
    ...tokenTopic('balances.processed', 'balance.BalanceEvents', 72, 'process'),
    key: 'owner wallet',
  },
  holderDeltas: {
    ...tokenTopic('_repart.holder-deltas', 'balance.BalanceEvents', 24, 'ingest'),
    scope: 'internal',
    key: 'token',
  },
  tokenSupplies: tokenTopic('token-supplies', 'token.supply.TokenSupplyEvents', 72, 'ingest'),
  tokenSuppliesProcessed: tokenTopic(
    'token-supplies.processed',
    'token.supply.TokenSupplyEvents',
    72,
    'process',
  ),
  tokenPrices: upsertTopic('token-prices', 'token.price.TokenPriceEvents'),
  tokenMarketCaps: upsertTopic(
    'token-market-caps.processed',
    'token.market_cap.TokenMarketCapEvents',
  ),
  // Not compacted, although it is an upsert: a token has a state for each hour, and those of hours that are over would go.
  tokenHoldings: {
    ...upsertTopic('token-holdings', 'token.holding.TokenHoldingEvents'),
    cleanup: 'delete',
  },
  tradeStats: tokenTopic('trade-stats', 'trade.stat.TradeStatEvents', 24, 'process'),
  walletTokenPnls: {
    ...tokenTopic('wallet-token-pnls', 'wallet.pnl.WalletTokenPnlEvents', 24, 'process'),
    key: 'wallet',
  },
  tokens: tokenTopic('tokens', 'token.TokenEvents', 168, 'ingest'),
  tokensCreated: tokenTopic('tokens.created', 'token.TokenEvents', 168, 'process'),
  tokensMigrated: tokenTopic('tokens.migrated', 'token.TokenEvents', 168, 'process'),
  tokenMetadata: tokenTopic('token-metadata', 'token.TokenEvents', 168, 'ingest'),
  tokenDocuments: {
    ...upsertTopic('token-documents', 'token.TokenEvents'),
    writer: 'ingest',
    cleanup: 'compact',
    retentionHours: null,
  },
  tokensProcessed: {
    ...tokenTopic('tokens.processed', 'token.TokenEvents', 168, 'process'),
    cleanup: 'compact',
    retentionHours: null,
    key: 'token',
  },
  candlesticks: tokenTopic('candlesticks', 'candlestick.CandlestickEvents', 24, 'process'),
  calls: feedTopic('calls', 'evm.call.CallEvents', 'address that is called'),
  events: feedTopic('events', 'evm.log.LogEvents', 'contract'),
  minerRewards: feedTopic('miner-rewards', 'evm.reward.MinerRewardEvents', 'miner'),
  uncles: feedTopic('uncles', 'evm.uncle.UncleEvents', 'miner'),
  instructions: feedTopic('instructions', 'svm.instruction.InstructionEvents', 'program'),
  rewards: feedTopic('rewards', 'svm.reward.RewardEvents', 'address'),
  orders: feedTopic('dex.orders', 'dex.order.OrderEvents', 'market'),
  transactions: feedTopic('transactions', 'transaction.TransactionEvents', 'signer'),
  predictionTrades: feedTopic(
    'prediction.trades',
    'prediction.PredictionTradeEvents',
    'outcome token',
  ),
  predictionManagements: feedTopic(
    'prediction.managements',
    'prediction.PredictionManagementEvents',
    'condition or group',
  ),
  predictionSettlements: feedTopic(
    'prediction.settlements',
    'prediction.PredictionSettlementEvents',
    'condition or group',
  ),
  predictionPositions: feedTopic(
    'prediction.positions',
    'prediction.PredictionPositionEvents',
    'wallet',
  ),
  redpackets: {
    ...feedTopic('redpackets', 'redpacket.RedPacketEvents', 'packet'),
    partitions: 'light',
    retentionHours: 168,
  },
  addressLabels: {
    ...feedTopic('address-labels', 'risk.AddressLabelEvents', 'contract'),
    partitions: 'light',
    retentionHours: 168,
  },
  controlOrgs: controlTopic('_control.orgs', 'control.Org', 'org id'),
  controlApplications: controlTopic('_control.applications', 'control.Application', 'client id'),
  controlApiKeys: controlTopic('_control.api-keys', 'control.ApiKey', 'key id'),
  controlSigningKeys: controlTopic('_control.signing-keys', 'control.SigningKey', 'kid'),
  controlAdminTokens: controlTopic('_control.admin-tokens', 'control.AdminToken', 'token id'),
  controlWalletLinks: controlTopic(
    '_control.wallet-links',
    'control.WalletLink',
    'address kind and address',
  ),
  controlPlanPurchases: controlTopic(
    '_control.plan-purchases',
    'control.PlanPurchase',
    'network, payer and nonce',
  ),
  controlPayments: {
    ...controlTopic('_control.payments', 'control.Payment', 'network, payer and nonce'),
    cleanup: 'compact,delete',
    retentionHours: 72,
  },
  controlAudit: {
    ...controlTopic('_control.audit', 'control.AuditEvent', 'event id'),
    cleanup: 'delete',
  },
  usageEvents: {
    ...controlTopic('_usage.events', 'usage.UsageEvents', 'org id, day and process'),
    cleanup: 'compact,delete',
    retentionHours: 62 * 24,
  },
  controlWebhooks: controlTopic(
    '_control.webhook-endpoints',
    'control.WebhookEndpoint',
    'endpoint id',
  ),
  controlWebhookRequests: {
    ...controlTopic('_control.webhook-requests', 'control.WebhookRequest', 'org id and key hash'),
    cleanup: 'compact,delete',
    retentionHours: 48,
  },
  controlWebhookTasks: {
    ...controlTopic('_control.webhook-tasks', 'control.WebhookTask', 'endpoint and task'),
    cleanup: 'compact,delete',
    retentionHours: 14 * 24,
  },
  controlJobs: {
    ...controlTopic('_control.jobs', 'control.Job', 'org and job'),
    cleanup: 'compact,delete',
    retentionHours: 48,
  },
  riskAssessments: controlTopic(
    '_risk.assessments',
    'control.RiskAssessment',
    'org id and assessment id',
  ),
  webhookMessages: webhookTopic('_webhooks.messages', 'webhook.Message', 'message id'),
  webhookOutbox: webhookTopic('_webhooks.outbox', 'webhook.Delivery', 'endpoint id'),
  webhookDue: {
    ...webhookTopic('_webhooks.due', 'webhook.Delivery', 'endpoint and message'),
    cleanup: 'compact',
    retentionHours: null,
  },
  webhookAttempts: webhookTopic('_webhooks.attempts', 'webhook.Attempt', 'endpoint id'),
  webhookOps: webhookTopic('_webhooks.ops', 'webhook.Operation', 'endpoint id'),
} as const satisfies Record<string, TopicRow>

export type Topic = keyof typeof TOPICS

/** Message of a topic: the one place that says which records a topic holds. */
export type TopicMessage<Name extends Topic> = (typeof TOPICS)[Name]['message']

/** Full name of a chain's topic, e.g. `eth.dex.trades`. */
export const topicName = (topic: Topic, chain: string): string => {
  const { scope, suffix } = TOPICS[topic]
  if (scope === 'global') return suffix
  return scope === 'internal' ? `${suffix}.${chain}` : `${chain}.${suffix}`
}

/** Full name of a topic that belongs to no chain. */
export const globalTopic = (topic: GlobalTopic): string => TOPICS[topic].suffix

/** A topic of the whole installation. */
export type GlobalTopic = Extract<
  Topic,
  `${'control' | 'webhook' | 'risk'}${string}` | 'usageEvents'
>

/** Name of the compacted changelog of one stage's state. */
export const stateTopic = (app: string, chain: string): string => `_state.${app}.${chain}`

/** Name of the dead-letter topic of a consumer group. */
export const deadLetterTopic = (group: string): string => `dlq.${group}`

const rowsBySuffix = (scope: TopicRow['scope']): ReadonlyMap<string, TopicRow> =>
  new Map(
    Object.values<TopicRow>(TOPICS).flatMap((row) =>
      row.scope === scope ? [[row.suffix, row]] : [],
    ),
  )
const ROWS_BY_SUFFIX: Readonly<Record<TopicRow['scope'], ReadonlyMap<string, TopicRow>>> = {
  chain: rowsBySuffix('chain'),
  internal: rowsBySuffix('internal'),
  global: rowsBySuffix('global'),
}

/** Row of a topic by its full name; undefined for names that are not ours. */
export const topicRow = (name: string): TopicRow | undefined => {
  // Names of the installation's own topics begin with `_`: what stands before their dot is not a chain.
  if (!name.startsWith('_')) {
    const row = ROWS_BY_SUFFIX.chain.get(name.slice(name.indexOf('.') + 1))
    if (row !== undefined) return row
  }
  return (
    ROWS_BY_SUFFIX.global.get(name) ??
    ROWS_BY_SUFFIX.internal.get(name.slice(0, name.lastIndexOf('.')))
  )
}
