// Written by `npm run generate` from avro-notation.ts; do not edit.

export type Op = 'OP_UNSPECIFIED' | 'OP_APPLY' | 'OP_REVERT' | 'OP_FINALIZE'

export type Commitment =
  | 'COMMITMENT_UNSPECIFIED'
  | 'COMMITMENT_PROCESSED'
  | 'COMMITMENT_CONFIRMED'
  | 'COMMITMENT_SAFE'
  | 'COMMITMENT_FINALIZED'

export type Status = 'STATUS_UNSPECIFIED' | 'STATUS_SUCCESS' | 'STATUS_FAILED'

export type Chain =
  | 'CHAIN_UNSPECIFIED'
  | 'CHAIN_SOLANA'
  | 'CHAIN_ETHEREUM'
  | 'CHAIN_BSC'
  | 'CHAIN_BASE'
  | 'CHAIN_ALGEN'
  | 'CHAIN_TRON'
  | 'CHAIN_POLYGON'
  | 'CHAIN_ARBITRUM'
  | 'CHAIN_OPTIMISM'
  | 'CHAIN_AVALANCHE'
  | 'CHAIN_ZKSYNC'
  | 'CHAIN_SUI'

export type BundleSource =
  | 'BUNDLE_SOURCE_UNSPECIFIED'
  | 'BUNDLE_SOURCE_JITO'
  | 'BUNDLE_SOURCE_FLASHBOTS'

export type BundleHeuristic =
  | 'BUNDLE_HEURISTIC_UNSPECIFIED'
  | 'BUNDLE_HEURISTIC_TIP_IN_TX'
  | 'BUNDLE_HEURISTIC_JITODONTFRONT_SENTINEL'
  | 'BUNDLE_HEURISTIC_NEARBY_TIP_SAME_SIGNER'
  | 'BUNDLE_HEURISTIC_CLUSTERED_MEVCALLS'

/** `onchain.v1.common.EventMeta` */
export interface EventMeta {
  readonly chain: string
  readonly op: Op
  readonly seq: number
  readonly commitment: Commitment
  readonly height: number
  readonly slot: number
  readonly hash: string
  readonly parent_hash: string
  readonly block_time: number
  readonly part: number
  readonly parts: number
  readonly produced_at: number
}

/** `onchain.v1.common.Block` */
export interface Block {
  readonly timestamp: number
  readonly hash: string
  readonly height: number
  readonly slot: number
}

/** `onchain.v1.common.BundleTransaction` */
export interface BundleTransaction {
  readonly source: BundleSource
  readonly heuristic: BundleHeuristic
  readonly tip_tx_index: number
  readonly tip_inner_index: number
  readonly tip_account: string
}

/** `onchain.v1.common.Transaction` */
export interface Transaction {
  readonly fee: string
  readonly fee_payer: string
  readonly index: number
  readonly signature: string
  readonly signer: string
  readonly status: Status
  readonly bundles: readonly BundleTransaction[]
}

/** `onchain.v1.common.DApp` */
export interface DApp {
  readonly program_address: string
  readonly inner_program_address: string
  readonly chain: Chain
}

/** `onchain.v1.common.Instruction` */
export interface Instruction {
  readonly index: number
  readonly is_inner_instruction: boolean
  readonly inner_instruction_index: number
  readonly type: string
  readonly event_index: number
  readonly log_index: number
}

/** `onchain.v1.block.TopicSpan` */
export interface TopicSpan {
  readonly topic: string
  readonly partition: number
  readonly base_offset: number
  readonly records: number
  readonly events: number
}

/** `onchain.v1.block.QuotePrice` */
export interface QuotePrice {
  readonly token_address: string
  readonly quote_address: string
  readonly price: string
  readonly block_time: number
}

/** `onchain.v1.block.BlockEvent` */
export interface BlockEvent {
  readonly meta: EventMeta
  readonly quote_prices: readonly QuotePrice[]
  readonly parent_slot: number
  readonly tx_count: number
  readonly coinbase: string
  readonly gas_limit: string
  readonly gas_used: string
  readonly base_fee: string
  readonly difficulty: string
  readonly nonce: string
  readonly extra: Uint8Array
  readonly rewards_count: number
  readonly counts: Readonly<Record<string, number>>
  readonly spans: readonly TopicSpan[]
  readonly final_seq: number
  readonly final_height: number
  readonly cursor: string
  readonly priority_fee: string
}

export type TokenPriceSuspectReason =
  | 'TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED'
  | 'TOKEN_PRICE_SUSPECT_REASON_BY_LAST_CLOSE_PRICES'
  | 'TOKEN_PRICE_SUSPECT_REASON_BY_SMALL_AMOUNT_IN_USD'
  | 'TOKEN_PRICE_SUSPECT_REASON_BY_BIG_PRICE'
  | 'TOKEN_PRICE_SUSPECT_REASON_BY_CONSTANT_PRODUCT_FORMULA'
  | 'TOKEN_PRICE_SUSPECT_REASON_BY_POOL_PRICE_IMPACT'
  | 'TOKEN_PRICE_SUSPECT_REASON_BY_SMALL_AMOUNT_IN_USD_AND_POOL_PRICE_IMPACT'

/** `onchain.v1.dex.trade.Trade` */
export interface Trade {
  readonly token_a_address: string
  readonly token_b_address: string
  readonly user_a_token_account_address: string
  readonly user_a_account_owner_address: string
  readonly user_b_token_account_address: string
  readonly user_b_account_owner_address: string
  readonly user_a_amount: string
  readonly user_b_amount: string
  readonly user_a_pre_amount: string
  readonly user_a_post_amount: string
  readonly user_b_pre_amount: string
  readonly user_b_post_amount: string
  readonly was_original_direction: boolean
  readonly token_a_decimals: number | null
  readonly token_b_decimals: number | null
  readonly pool_address: string
  readonly vault_a: string
  readonly vault_b: string
  readonly vault_a_owner_address: string
  readonly vault_b_owner_address: string
  readonly vault_a_amount: string
  readonly vault_b_amount: string
  readonly vault_a_pre_amount: string
  readonly vault_b_pre_amount: string
  readonly vault_a_post_amount: string
  readonly vault_b_post_amount: string
  readonly pool_config_address: string
}

/** `onchain.v1.dex.trade.BondingCurve` */
export interface BondingCurve {
  readonly virtual_quote_reserves: string
  readonly virtual_token_reserves: string
  readonly real_quote_reserves: string
  readonly real_token_reserves: string
}

/** `onchain.v1.dex.trade.TradeProcessed` */
export interface TradeProcessed {
  readonly token_a_price_in_quote: string
  readonly token_a_price_in_usd: string
  readonly token_a_price_in_native: string
  readonly token_b_price_in_base: string
  readonly token_b_price_in_usd: string
  readonly token_b_price_in_native: string
  readonly is_token_a_price_in_usd_suspect: boolean
  readonly is_token_a_price_in_usd_suspect_reason: TokenPriceSuspectReason
  readonly token_a_price_in_usd_lasted: string
  readonly token_a_price_in_native_lasted: string
  readonly token_b_price_in_usd_lasted: string
  readonly token_b_price_in_native_lasted: string
}

/** `onchain.v1.dex.trade.TradeEvent` */
export interface TradeEvent {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
  readonly quote_price_in_usd: string
  readonly quote_price_in_native: string
  readonly trade: Trade | null
  readonly bonding_curve: BondingCurve | null
  readonly trade_processed: TradeProcessed | null
}

/** `onchain.v1.dex.trade.TradeEvents` */
export interface TradeEvents {
  readonly meta: EventMeta | null
  readonly events: readonly TradeEvent[]
}

export type DexPoolEventType =
  | 'DEX_POOL_EVENT_TYPE_UNSPECIFIED'
  | 'DEX_POOL_EVENT_TYPE_INITIALIZE'
  | 'DEX_POOL_EVENT_TYPE_INCREASE_LIQUIDITY'
  | 'DEX_POOL_EVENT_TYPE_DECREASE_LIQUIDITY'
  | 'DEX_POOL_EVENT_TYPE_SWAP'

/** `onchain.v1.dex.pool.DexPool` */
export interface DexPool {
  readonly address: string
  readonly token_a_vault_address: string
  readonly token_a_vault_owner_address: string
  readonly token_a_address: string
  readonly token_a_amount: string
  readonly token_a_vault_pre_amount: string
  readonly token_a_vault_post_amount: string
  readonly token_a_decimals: number | null
  readonly token_b_vault_address: string
  readonly token_b_vault_owner_address: string
  readonly token_b_address: string
  readonly token_b_amount: string
  readonly token_b_vault_pre_amount: string
  readonly token_b_vault_post_amount: string
  readonly token_b_decimals: number | null
  readonly lp_wallet: string
}

/** `onchain.v1.dex.pool.TokenLiquidity` */
export interface TokenLiquidity {
  readonly token_address: string
  readonly amount: string
  readonly liquidity_in_native: string
  readonly liquidity_in_usd: string
  readonly pool_address: string
  readonly pool_count: number
}

/** `onchain.v1.dex.pool.ConcentratedChange` */
export interface ConcentratedChange {
  readonly sqrt_price_x96: string
  readonly liquidity: string
  readonly tick: number | null
  readonly tick_lower: number | null
  readonly tick_upper: number | null
  readonly position_liquidity: string
  readonly fee_pips: number | null
}

/** `onchain.v1.dex.pool.ConcentratedState` */
export interface ConcentratedState {
  readonly sqrt_price_x96: string
  readonly liquidity: string
  readonly tick: number
  readonly fee_pips: number | null
  readonly is_complete: boolean
  readonly depth_in_usd: string
}

/** `onchain.v1.dex.pool.ReservePricing` */
export interface ReservePricing {
  readonly reserve_a: string
  readonly reserve_b: string
  readonly found_a: string
  readonly found_b: string
  readonly fees: readonly number[]
  readonly fee_token: string
  readonly is_doubted: boolean
}

export type BinReferences =
  | 'BIN_REFERENCES_UNSPECIFIED'
  | 'BIN_REFERENCES_BY_TIME'
  | 'BIN_REFERENCES_FORCED'

/** `onchain.v1.dex.pool.BinMove` */
export interface BinMove {
  readonly bin: number
  readonly amount_x: string
  readonly amount_y: string
}

/** `onchain.v1.dex.pool.BinChange` */
export interface BinChange {
  readonly token_x: string
  readonly bin_step: number | null
  readonly active_bin: number | null
  readonly volatility: number | null
  readonly fee_terms: readonly number[]
  readonly references: BinReferences
  readonly moves: readonly BinMove[]
}

/** `onchain.v1.dex.pool.BinState` */
export interface BinState {
  readonly token_x: string
  readonly bin_step: number | null
  readonly active_bin: number | null
  readonly fee_terms: readonly number[]
  readonly volatility: number
  readonly volatility_reference: number
  readonly bin_reference: number | null
  readonly updated_at: number
  readonly amount_x: string
  readonly amount_y: string
  readonly is_complete: boolean
  readonly depth_in_usd: string
}

/** `onchain.v1.dex.pool.PoolState` */
export interface PoolState {
  readonly token_a_vault_amount: string
  readonly token_b_vault_amount: string
  readonly liquidity_in_usd: string
  readonly liquidity_in_native: string
  readonly price: string
  readonly curve_progress: string
  readonly time: number
  readonly concentrated: ConcentratedState | null
  readonly pricing: ReservePricing | null
  readonly bins: BinState | null
}

/** `onchain.v1.dex.pool.DexPoolProcessed` */
export interface DexPoolProcessed {
  readonly token_a_amount_in_native: string
  readonly token_a_amount_in_usd: string
  readonly token_a_vault_pre_amount_in_native: string
  readonly token_a_vault_pre_amount_in_usd: string
  readonly token_a_vault_post_amount_in_native: string
  readonly token_a_vault_post_amount_in_usd: string
  readonly token_a_liquidity: TokenLiquidity | null
  readonly token_a_max_liquidity: TokenLiquidity | null
  readonly token_b_amount_in_native: string
  readonly token_b_amount_in_usd: string
  readonly token_b_vault_pre_amount_in_native: string
  readonly token_b_vault_pre_amount_in_usd: string
  readonly token_b_vault_post_amount_in_native: string
  readonly token_b_vault_post_amount_in_usd: string
  readonly token_b_liquidity: TokenLiquidity | null
  readonly token_b_max_liquidity: TokenLiquidity | null
  readonly owner_dapp_program: string
  readonly curve_progress: string
  readonly before: PoolState | null
  readonly token_a_liquidity_before: TokenLiquidity | null
  readonly token_a_max_liquidity_before: TokenLiquidity | null
}

/** `onchain.v1.dex.pool.DexPoolEvent` */
export interface DexPoolEvent {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
  readonly quote_price_in_usd: string
  readonly quote_price_in_native: string
  readonly type: DexPoolEventType
  readonly pool: DexPool | null
  readonly pool_processed: DexPoolProcessed | null
  readonly bonding_curve: BondingCurve | null
  readonly concentrated: ConcentratedChange | null
  readonly pricing: ReservePricing | null
  readonly bins: BinChange | null
}

export type TokenStandard =
  | 'TOKEN_STANDARD_UNSPECIFIED'
  | 'TOKEN_STANDARD_NATIVE'
  | 'TOKEN_STANDARD_ERC20'
  | 'TOKEN_STANDARD_ERC721'
  | 'TOKEN_STANDARD_ERC1155'

export type EventType =
  | 'EVENT_TYPE_UNSPECIFIED'
  | 'EVENT_TYPE_CREATED'
  | 'EVENT_TYPE_UPDATED'
  | 'EVENT_TYPE_MIGRATED'

/** `onchain.v1.token.Creator` */
export interface Creator {
  readonly address: string
  readonly verified: boolean
  readonly share: number
}

/** `onchain.v1.token.SolanaExtra` */
export interface SolanaExtra {
  readonly collection_address: string
  readonly edition_nonce: number
  readonly fungible: boolean
  readonly is_mutable: boolean
  readonly key: string
  readonly is_native: boolean
  readonly primary_sale_happened: boolean
  readonly program_address: string
  readonly seller_fee_basis_points: number
  readonly token_standard: string
  readonly mint_authority: string
  readonly freeze_authority: string
  readonly update_authority: string
  readonly is_verified_collection: boolean
  readonly is_wrapped: boolean
  readonly outer_program_address: string
}

/** `onchain.v1.token.EvmExtra` */
export interface EvmExtra {
  readonly token_standard: TokenStandard
}

/** `onchain.v1.token.Token` */
export interface Token {
  readonly address: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly uri: string
  readonly metadata_address: string
  readonly creators: readonly Creator[]
  readonly additional_metadata: Readonly<Record<string, string>>
  readonly solana_extra: SolanaExtra | null
  readonly evm_extra: EvmExtra | null
}

/** `onchain.v1.token.TokenProcessed` */
export interface TokenProcessed {
  readonly uri_data: string
  readonly description: string
  readonly image_url: string
  readonly social_medias: Readonly<Record<string, string>>
  readonly thumb_url: string
}

/** `onchain.v1.token.Launch` */
export interface Launch {
  readonly program_address: string
  readonly protocol_family: string
  readonly protocol_name: string
  readonly pool_address: string
}

/** `onchain.v1.token.TokenEvent` */
export interface TokenEvent {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
  readonly type: EventType
  readonly token: Token | null
  readonly token_processed: TokenProcessed | null
  readonly launch_from: Launch | null
  readonly migrated_to: Launch | null
  readonly created_at: number
  readonly created_slot: number
  readonly created_tx: string
  readonly dev: string
  readonly migrated_at: number
}

export type AccountLifecycle =
  | 'ACCOUNT_LIFECYCLE_UNSPECIFIED'
  | 'ACCOUNT_LIFECYCLE_NEW'
  | 'ACCOUNT_LIFECYCLE_EXISTING'
  | 'ACCOUNT_LIFECYCLE_CLOSED'

/** `onchain.v1.balance.Balance` */
export interface Balance {
  readonly token_account_address: string
  readonly account_owner_address: string
  readonly token_address: string
  readonly pre_amount: string
  readonly post_amount: string
  readonly decimals: number | null
  readonly lifecycle: AccountLifecycle
}

/** `onchain.v1.balance.BalanceProcessed` */
export interface BalanceProcessed {
  readonly pre_amount_in_native: string
  readonly pre_amount_in_usd: string
  readonly post_amount_in_native: string
  readonly post_amount_in_usd: string
  readonly token_price_in_usd: string
  readonly owner_post_amount: string
  readonly owner_pre_amount: string
  readonly owner_first_time: number
  readonly owner_pre_time: number
}

/** `onchain.v1.balance.BalanceEvent` */
export interface BalanceEvent {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
  readonly balance: Balance | null
  readonly balance_processed: BalanceProcessed | null
}

/** `onchain.v1.transfer.Transfer` */
export interface Transfer {
  readonly sender_token_account_address: string
  readonly sender_account_owner_address: string
  readonly receiver_token_account_address: string
  readonly receiver_account_owner_address: string
  readonly token_address: string
  readonly token_amount: string
  readonly token_decimals: number | null
  readonly token_id: string | null
  readonly uri: string
  readonly call_index: number | null
  readonly success: boolean
}

/** `onchain.v1.transfer.TransferProcessed` */
export interface TransferProcessed {
  readonly token_amount_in_native: string
  readonly token_amount_in_usd: string
  readonly token_price_in_native: string
  readonly token_price_in_usd: string
}

/** `onchain.v1.transfer.TransferEvent` */
export interface TransferEvent {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
  readonly transfer: Transfer | null
  readonly transfer_processed: TransferProcessed | null
}

export type TokenSupplyEventType =
  | 'TOKEN_SUPPLY_EVENT_TYPE_UNSPECIFIED'
  | 'TOKEN_SUPPLY_EVENT_TYPE_INITIALIZE_MINT'
  | 'TOKEN_SUPPLY_EVENT_TYPE_MINT'
  | 'TOKEN_SUPPLY_EVENT_TYPE_BURN'
  | 'TOKEN_SUPPLY_EVENT_TYPE_INITIALIZE_MINT_FROM_RPC'

/** `onchain.v1.token.supply.TokenSupply` */
export interface TokenSupply {
  readonly token_address: string
  readonly amount: string
  readonly decimals: number
  readonly amount_without_decimals: string
  readonly amount_with_decimals: string
  readonly post_amount_with_decimals: string
}

/** `onchain.v1.token.supply.MarketCap` */
export interface MarketCap {
  readonly token_address: string
  readonly total_supply_amount: string
  readonly market_cap_in_native: string
  readonly market_cap_in_usd: string
}

/** `onchain.v1.token.supply.TokenSupplyEvent` */
export interface TokenSupplyEvent {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
  readonly type: TokenSupplyEventType
  readonly token_supply: TokenSupply | null
  readonly market_cap: MarketCap | null
}

/** `onchain.v1.token.market_cap.TokenMarketCapEvent` */
export interface TokenMarketCapEvent {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
  readonly market_cap: MarketCap | null
}

/** `onchain.v1.token.price.TokenPrice` */
export interface TokenPrice {
  readonly token_address: string
  readonly price_in_usd: string
  readonly price_in_native: string
}

/** `onchain.v1.token.price.TokenPriceEvent` */
export interface TokenPriceEvent {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
  readonly token_price: TokenPrice | null
}

export type CandlestickDimension =
  | 'CANDLESTICK_DIMENSION_UNSPECIFIED'
  | 'CANDLESTICK_DIMENSION_TOKEN_ADDRESS'
  | 'CANDLESTICK_DIMENSION_POOL_ADDRESS'
  | 'CANDLESTICK_DIMENSION_PAIR'

/** `onchain.v1.candlestick.CandlestickSeries` */
export interface CandlestickSeries {
  readonly dimension: CandlestickDimension
  readonly address: string
}

/** `onchain.v1.candlestick.CoarserCandle` */
export interface CoarserCandle {
  readonly resolutions: readonly string[]
  readonly open: number | null
  readonly high: number | null
  readonly low: number | null
  readonly close: number | null
  readonly open_in_native: number | null
  readonly high_in_native: number | null
  readonly low_in_native: number | null
  readonly close_in_native: number | null
  readonly volume: string | null
  readonly trades: number
  readonly buys: number
  readonly version: number | null
}

/** `onchain.v1.candlestick.CandlestickEvent` */
export interface CandlestickEvent {
  readonly token_address: string
  readonly resolution: string
  readonly timestamp: string
  readonly open: string
  readonly open_in_native: string
  readonly high: string
  readonly high_in_native: string
  readonly low: string
  readonly low_in_native: string
  readonly close: string
  readonly close_in_native: string
  readonly average_price: string
  readonly average_price_in_native: string
  readonly volume: string
  readonly volume_in_usd: string
  readonly volume_in_native: string
  readonly trades: number
  readonly dimension: CandlestickDimension
  readonly dimension_address: string
  readonly buys: number
  readonly sells: number
  readonly version: number
  readonly is_final: boolean
  readonly coarser: readonly CoarserCandle[]
  readonly also: readonly CandlestickSeries[]
}

/** `onchain.v1.trade.stat.TradeStatEvent` */
export interface TradeStatEvent {
  readonly token_address: string
  readonly resolution: string
  readonly timestamp: string
  readonly open_in_usd: string
  readonly open_in_native: string
  readonly close_in_usd: string
  readonly close_in_native: string
  readonly buys: number
  readonly sells: number
  readonly buyers: number
  readonly sellers: number
  readonly buy_volume: string
  readonly buy_volume_in_usd: string
  readonly buy_volume_in_native: string
  readonly sell_volume: string
  readonly sell_volume_in_usd: string
  readonly sell_volume_in_native: string
  readonly high_in_usd: string
  readonly high_in_native: string
  readonly low_in_usd: string
  readonly low_in_native: string
  readonly traders: number
  readonly pools: number
  readonly programs: number
  readonly volume_change_ratio: string
  readonly liquidity_in_usd: string
  readonly liquidity_change_ratio: string
  readonly version: number
  readonly is_final: boolean
  readonly prev_open_in_usd: string
  readonly prev_open_in_native: string
  readonly prev_close_in_usd: string
  readonly prev_close_in_native: string
  readonly prev_high_in_usd: string
  readonly prev_high_in_native: string
  readonly prev_low_in_usd: string
  readonly prev_low_in_native: string
  readonly prev_buys: number
  readonly prev_sells: number
  readonly prev_buyers: number
  readonly prev_sellers: number
  readonly prev_pools: number
  readonly prev_programs: number
  readonly prev_buy_volume: string
  readonly prev_buy_volume_in_usd: string
  readonly prev_buy_volume_in_native: string
  readonly prev_sell_volume: string
  readonly prev_sell_volume_in_usd: string
  readonly prev_sell_volume_in_native: string
  readonly prev_liquidity_in_usd: string
}

/** `onchain.v1.token.holding.TokenHoldingEvent` */
export interface TokenHoldingEvent {
  readonly chain: Chain
  readonly token_address: string
  readonly holders: number
  readonly top10_holders: number
  readonly top10_amount: string
  readonly top10_ratio: string
  readonly top50_holders: number
  readonly top50_amount: string
  readonly top50_ratio: string
  readonly top100_holders: number
  readonly top100_amount: string
  readonly top100_ratio: string
  readonly creators_count: number
  readonly creators_amount: string
  readonly creators_ratio: string
  readonly fresh_count: number
  readonly fresh_amount: string
  readonly fresh_ratio: string
  readonly sandwich_count: number
  readonly sandwich_amount: string
  readonly sandwich_ratio: string
  readonly bundle_count: number
  readonly bundle_amount: string
  readonly bundle_ratio: string
  readonly sniper_count: number
  readonly sniper_amount: string
  readonly sniper_ratio: string
  readonly dev_count: number
  readonly dev_amount: string
  readonly dev_ratio: string
  readonly pro_count: number
  readonly pro_amount: string
  readonly pro_ratio: string
  readonly insider_count: number
  readonly insider_amount: string
  readonly insider_ratio: string
  readonly smart_count: number
  readonly smart_amount: string
  readonly smart_ratio: string
  readonly kol_count: number
  readonly kol_amount: string
  readonly kol_ratio: string
  readonly phishing_count: number
  readonly phishing_amount: string
  readonly phishing_ratio: string
  readonly bluechip_count: number
  readonly bluechip_amount: string
  readonly bluechip_ratio: string
  readonly rat_count: number
  readonly rat_amount: string
  readonly rat_ratio: string
  readonly timestamp: number
  readonly version: number
}

/** `onchain.v1.wallet.pnl.WalletTokenPnlEvent` */
export interface WalletTokenPnlEvent {
  readonly wallet_address: string
  readonly token_address: string
  readonly token_price_in_usd: string
  readonly open_time: number
  readonly close_time: number
  readonly last_time: number
  readonly balance: string
  readonly buy_amount: string
  readonly buy_amount_in_usd: string
  readonly buys: number
  readonly buys_7d: number
  readonly buys_30d: number
  readonly sell_amount: string
  readonly sell_amount_in_usd: string
  readonly sells: number
  readonly sells_7d: number
  readonly sells_30d: number
  readonly held_duration_ms: number
  readonly average_buy_price_in_usd: string
  readonly average_sell_price_in_usd: string
  readonly unrealized_profit_in_usd: string
  readonly unrealized_profit_ratio: string
  readonly realized_profit_in_usd: string
  readonly realized_profit_ratio: string
  readonly total_realized_profit_in_usd: string
  readonly total_realized_profit_ratio: string
  readonly position_amount: string
  readonly position_cost_in_usd: string
  readonly first_time: number
  readonly wins: number
  readonly losses: number
  readonly version: number
  readonly valued_buy_amount: string
  readonly valued_sell_amount: string
}

/** `onchain.v1.wallet.pnl.WalletTradePnlEvent` */
export interface WalletTradePnlEvent {
  readonly wallet_address: string
  readonly token_address: string
  readonly time: number
  readonly tx: string
  readonly event_index: number
  readonly side: string
  readonly amount: string
  readonly amount_in_usd: string
  readonly realized_profit_in_usd: string
  readonly cost_in_usd: string
  readonly unknown_amount: string
  readonly position_amount: string
  readonly position_cost_in_usd: string
}

/** `onchain.v1.redpacket.RedPacketEvent` */
export interface RedPacketEvent {
  readonly instruction: Instruction | null
  readonly block: Block | null
  readonly transaction: Transaction | null
  readonly d_app: DApp | null
  readonly kind: string
  readonly id: string
  readonly creator: string
  readonly claimer: string
  readonly mint: string
  readonly amount: string
  readonly total_amount: string
  readonly max_claims: number
  readonly memo: string
  readonly claim_authority: string
  readonly created_at: number
  readonly expiration_seconds: number
  readonly index: number
  readonly share_id: string
  readonly random: boolean
}

/** `onchain.v1.dex.pool.DexPoolEvents` */
export interface DexPoolEvents {
  readonly meta: EventMeta | null
  readonly events: readonly DexPoolEvent[]
}

/** `onchain.v1.token.TokenEvents` */
export interface TokenEvents {
  readonly meta: EventMeta | null
  readonly events: readonly TokenEvent[]
}

/** `onchain.v1.balance.BalanceEvents` */
export interface BalanceEvents {
  readonly meta: EventMeta | null
  readonly events: readonly BalanceEvent[]
}

/** `onchain.v1.transfer.TransferEvents` */
export interface TransferEvents {
  readonly meta: EventMeta | null
  readonly events: readonly TransferEvent[]
}

/** `onchain.v1.token.supply.TokenSupplyEvents` */
export interface TokenSupplyEvents {
  readonly meta: EventMeta | null
  readonly events: readonly TokenSupplyEvent[]
}

/** `onchain.v1.token.market_cap.TokenMarketCapEvents` */
export interface TokenMarketCapEvents {
  readonly meta: EventMeta | null
  readonly events: readonly TokenMarketCapEvent[]
}

/** `onchain.v1.token.price.TokenPriceEvents` */
export interface TokenPriceEvents {
  readonly meta: EventMeta | null
  readonly events: readonly TokenPriceEvent[]
}

/** `onchain.v1.candlestick.CandlestickEvents` */
export interface CandlestickEvents {
  readonly meta: EventMeta | null
  readonly events: readonly CandlestickEvent[]
}

/** `onchain.v1.trade.stat.TradeStatEvents` */
export interface TradeStatEvents {
  readonly meta: EventMeta | null
  readonly events: readonly TradeStatEvent[]
}

/** `onchain.v1.token.holding.TokenHoldingEvents` */
export interface TokenHoldingEvents {
  readonly meta: EventMeta | null
  readonly events: readonly TokenHoldingEvent[]
}

/** `onchain.v1.wallet.pnl.WalletTokenPnlEvents` */
export interface WalletTokenPnlEvents {
  readonly meta: EventMeta | null
  readonly events: readonly WalletTokenPnlEvent[]
  readonly trades: readonly WalletTradePnlEvent[]
}

/** `onchain.v1.redpacket.RedPacketEvents` */
export interface RedPacketEvents {
  readonly meta: EventMeta | null
  readonly events: readonly RedPacketEvent[]
}

/** `onchain.v1.control.Org` */
export interface Org {
  readonly org_id: string
  readonly name: string
  readonly plan: string
  readonly suspended: boolean
  readonly created_at: number
  readonly version: number
}

/** `onchain.v1.control.Application` */
export interface Application {
  readonly client_id: string
  readonly app_id: string
  readonly org_id: string
  readonly name: string
  readonly secret_hashes: readonly string[]
  readonly scopes: readonly string[]
  readonly disabled: boolean
  readonly tokens_valid_after: number
  readonly created_at: number
  readonly updated_at: number
  readonly version: number
  readonly previous_secret_until: number
}

/** `onchain.v1.control.ApiKey` */
export interface ApiKey {
  readonly key_id: string
  readonly prefix: string
  readonly hash: string
  readonly app_id: string
  readonly org_id: string
  readonly scopes: readonly string[]
  readonly expires_at: number
  readonly created_at: number
  readonly version: number
  readonly name: string
}

/** `onchain.v1.control.SigningKey` */
export interface SigningKey {
  readonly kid: string
  readonly public_jwk: string
  readonly private_enc: string
  readonly active_from: number
  readonly created_at: number
  readonly version: number
}

/** `onchain.v1.control.AuditEvent` */
export interface AuditEvent {
  readonly id: string
  readonly at: number
  readonly action: string
  readonly subject: string
  readonly org_id: string
  readonly detail: string
  readonly request_id: string
  readonly actor: string
  readonly address: string
}

/** `onchain.v1.control.AdminToken` */
export interface AdminToken {
  readonly token_id: string
  readonly name: string
  readonly hash: string
  readonly role: string
  readonly expires_at: number
  readonly created_at: number
  readonly version: number
}

/** `onchain.v1.control.WalletLink` */
export interface WalletLink {
  readonly chain: string
  readonly address: string
  readonly org_id: string
  readonly app_id: string
  readonly linked_at: number
  readonly proofs_after: number
  readonly version: number
}

/** `onchain.v1.control.Payment` */
export interface Payment {
  readonly payment_id: string
  readonly network: string
  readonly asset: string
  readonly payer: string
  readonly nonce: string
  readonly amount_raw: string
  readonly pay_to: string
  readonly call: string
  readonly route: string
  readonly state: string
  readonly attempt: string
  readonly transaction: string
  readonly valid_before: number
  readonly status: number
  readonly content_type: string
  readonly body: Uint8Array
  readonly updated_at: number
  readonly version: number
}

/** `onchain.v1.control.PlanPurchase` */
export interface PlanPurchase {
  readonly payment_id: string
  readonly state: string
  readonly plan: string
  readonly chain: string
  readonly address: string
  readonly org_id: string
  readonly network: string
  readonly asset: string
  readonly nonce: string
  readonly pay_to: string
  readonly amount_raw: string
  readonly transaction: string
  readonly valid_before: number
  readonly ordered_at: number
  readonly starts_at: number
  readonly ends_at: number
  readonly used_before: number
  readonly version: number
}

/** `onchain.v1.usage.UsageLine` */
export interface UsageLine {
  readonly route: string
  readonly calls: number
  readonly milli_units: number
}

/** `onchain.v1.usage.KeyUse` */
export interface KeyUse {
  readonly key_id: string
  readonly last_used_at: number
}

/** `onchain.v1.usage.UsageEvents` */
export interface UsageEvents {
  readonly org_id: string
  readonly node: string
  readonly day: number
  readonly lines: readonly UsageLine[]
  readonly updated_at: number
  readonly version: number
  readonly requests: number
  readonly key_uses: readonly KeyUse[]
}

/** `onchain.v1.common.SealedKey` */
export interface SealedKey {
  readonly sealed: string
  readonly created_at: number
  readonly expires_at: number
}

/** `onchain.v1.common.PriceLevel` */
export interface PriceLevel {
  readonly token: string
  readonly usd: number
}

/** `onchain.v1.control.WebhookEndpoint` */
export interface WebhookEndpoint {
  readonly endpoint_id: string
  readonly org_id: string
  readonly app_id: string
  readonly uid: string
  readonly url: string
  readonly user_enc: string
  readonly channels: readonly string[] | null
  readonly description: string | null
  readonly disabled: boolean
  readonly disabled_reason: string
  readonly disabled_at: number
  readonly filter: string | null
  readonly filter_types: readonly string[] | null
  readonly metadata: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly rate_limit: number | null
  readonly secrets: readonly SealedKey[]
  readonly first_failure_at: number
  readonly enabled_at: number
  readonly created_at: number
  readonly updated_at: number
  readonly version: number
  readonly subjects: readonly string[]
  readonly price_levels: readonly PriceLevel[]
}

/** `onchain.v1.control.WebhookTask` */
export interface WebhookTask {
  readonly task_id: string
  readonly endpoint_id: string
  readonly org_id: string
  readonly kind: string
  readonly status: string
  readonly since: number
  readonly until: number
  readonly channels: readonly string[] | null
  readonly cursor: string
  readonly queued: number
  readonly looked_at: number
  readonly error: string
  readonly created_at: number
  readonly updated_at: number
}

/** `onchain.v1.control.Job` */
export interface Job {
  readonly job_id: string
  readonly org_id: string
  readonly kind: string
  readonly status: string
  readonly hash: string
  readonly result: string
  readonly error: string
  readonly message: string
  readonly revision: number
  readonly created_at: number
  readonly updated_at: number
}

/** `onchain.v1.control.RiskAssessment` */
export interface RiskAssessment {
  readonly id: string
  readonly org_id: string
  readonly kind: string
  readonly status: string
  readonly request: string
  readonly result: string | null
  readonly labels_version: number
  readonly created_at: number
  readonly updated_at: number
  readonly next_at: number
}

/** `onchain.v1.control.WebhookRequest` */
export interface WebhookRequest {
  readonly org_id: string
  readonly key_hash: string
  readonly body_hash: string
  readonly response: string
  readonly created_at: number
}

/** `onchain.v1.webhook.Message` */
export interface Message {
  readonly id: string
  readonly channel: string
  readonly body: string
  readonly event_time: number
  readonly created_at: number
  readonly chain: string
  readonly token_address: string
  readonly tx: string
  readonly slot: number
  readonly seq: number
  readonly lane: number
}

/** `onchain.v1.webhook.Delivery` */
export interface Delivery {
  readonly message_id: string
  readonly endpoint_id: string
  readonly org_id: string
  readonly channel: string
  readonly body: string
  readonly event_time: number
  readonly queued_at: number
  readonly enabled_at: number
  readonly trigger: string
  readonly attempt: number
  readonly due_at: number
}

/** `onchain.v1.webhook.Health` */
export interface Health {
  readonly first_failed_at: number
  readonly last_failed_at: number
  readonly failed_attempts: number
}

/** `onchain.v1.webhook.Attempt` */
export interface Attempt {
  readonly id: string
  readonly message_id: string
  readonly endpoint_id: string
  readonly org_id: string
  readonly channel: string
  readonly url: string
  readonly status: string
  readonly response_status: number
  readonly response: string
  readonly duration_ms: number
  readonly error_kind: string
  readonly error: string
  readonly trigger: string
  readonly attempt: number
  readonly at: number
  readonly next_at: number
}

/** `onchain.v1.webhook.Operation` */
export interface Operation {
  readonly type: string
  readonly org_id: string
  readonly endpoint_id: string
  readonly message_id: string
  readonly at: number
  readonly detail: Readonly<Record<string, string>>
}

/** `onchain.v1.evm.call.CallEvent` */
export interface CallEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
  readonly call_index: number
  readonly depth: number
  readonly from_address: string
  readonly to_address: string
  readonly opcode: string
  readonly gas: number
  readonly gas_used: number
  readonly input: string
  readonly output: string
  readonly value: string
  readonly sig_name: string | null
  readonly signature: string | null
  readonly success: boolean
  readonly error: string | null
}

/** `onchain.v1.evm.call.CallEvents` */
export interface CallEvents {
  readonly meta: EventMeta | null
  readonly events: readonly CallEvent[]
}

/** `onchain.v1.evm.log.LogEvent` */
export interface LogEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_from: string
  readonly tx_to: string
  readonly log_index: number
  readonly contract: string
  readonly topic0: string
  readonly topics: readonly string[]
  readonly data: string
  readonly sig_name: string | null
  readonly signature: string | null
}

/** `onchain.v1.evm.log.LogEvents` */
export interface LogEvents {
  readonly meta: EventMeta | null
  readonly events: readonly LogEvent[]
}

/** `onchain.v1.evm.reward.MinerRewardEvent` */
export interface MinerRewardEvent {
  readonly block_height: number
  readonly event_index: number
  readonly miner: string
  readonly total_reward: string
  readonly burnt_fees: string
  readonly dynamic_reward: string
  readonly static_reward: string
  readonly tx_fees: string
  readonly uncle_reward: string
}

/** `onchain.v1.evm.reward.MinerRewardEvents` */
export interface MinerRewardEvents {
  readonly meta: EventMeta | null
  readonly events: readonly MinerRewardEvent[]
}

/** `onchain.v1.evm.uncle.UncleEvent` */
export interface UncleEvent {
  readonly block_height: number
  readonly event_index: number
  readonly uncle_index: number
  readonly uncle_hash: string
  readonly uncle_parent_hash: string
  readonly miner: string
  readonly difficulty: string
  readonly uncle_number: number
  readonly gas_limit: number
  readonly gas_used: number
  readonly uncle_time: number
}

/** `onchain.v1.evm.uncle.UncleEvents` */
export interface UncleEvents {
  readonly meta: EventMeta | null
  readonly events: readonly UncleEvent[]
}

/** `onchain.v1.svm.instruction.InstructionEvent` */
export interface InstructionEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
  readonly ix_index: number
  readonly depth: number
  readonly internal_seq: number
  readonly program_address: string
  readonly program_name: string | null
  readonly method: string | null
  readonly accounts: readonly string[]
  readonly data: string
  readonly call_path: readonly number[]
  readonly logs: readonly string[]
}

/** `onchain.v1.svm.instruction.InstructionEvents` */
export interface InstructionEvents {
  readonly meta: EventMeta | null
  readonly events: readonly InstructionEvent[]
}

/** `onchain.v1.svm.reward.RewardEvent` */
export interface RewardEvent {
  readonly block_height: number
  readonly event_index: number
  readonly address: string
  readonly amount: string
  readonly post_balance: string
  readonly reward_type: string
  readonly commission: number | null
}

/** `onchain.v1.svm.reward.RewardEvents` */
export interface RewardEvents {
  readonly meta: EventMeta | null
  readonly events: readonly RewardEvent[]
}

/** `onchain.v1.dex.order.OrderEvent` */
export interface OrderEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
  readonly ix_index: number
  readonly event_type: string
  readonly market_address: string
  readonly order_id: string
  readonly buy_side: boolean
  readonly limit_price: string
  readonly limit_amount: string
  readonly mint: string
  readonly owner: string
  readonly account: string
  readonly payer: string
  readonly program_address: string
  readonly protocol_name: string
  readonly protocol_family: string
  readonly price_ticks: string
  readonly size_lots: string
}

/** `onchain.v1.dex.order.OrderEvents` */
export interface OrderEvents {
  readonly meta: EventMeta | null
  readonly events: readonly OrderEvent[]
}

/** `onchain.v1.transaction.TransactionEvent` */
export interface TransactionEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
  readonly fee_payer: string
  readonly to_address: string
  readonly contract_address: string
  readonly value: string
  readonly gas_limit: string
  readonly gas_used: string
  readonly cumulative_gas_used: string
  readonly gas_price: string
  readonly max_fee: string
  readonly max_priority_fee: string
  readonly priority_fee: string
  readonly burnt: string
  readonly nonce: string
  readonly tx_type: number | null
  readonly instructions_count: number | null
  readonly programs: readonly string[]
}

/** `onchain.v1.transaction.TransactionEvents` */
export interface TransactionEvents {
  readonly meta: EventMeta | null
  readonly events: readonly TransactionEvent[]
}

/** `onchain.v1.risk.AddressLabelEvent` */
export interface AddressLabelEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly log_index: number
  readonly contract: string
  readonly protocol: string
  readonly action: string
  readonly address: string
}

/** `onchain.v1.risk.AddressLabelEvents` */
export interface AddressLabelEvents {
  readonly meta: EventMeta | null
  readonly events: readonly AddressLabelEvent[]
}

/** `onchain.v1.prediction.PredictionTradeEvent` */
export interface PredictionTradeEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
  readonly log_index: number
  readonly marketplace: string
  readonly protocol_family: string
  readonly condition_id: string
  readonly question_id: string
  readonly market_id: string
  readonly outcomes: readonly string[]
  readonly collateral_token: string
  readonly buyer: string
  readonly seller: string
  readonly is_outcome_buy: boolean
  readonly amount: string
  readonly collateral_amount: string
  readonly price: string
  readonly fee: string
  readonly fee_in: string
  readonly outcome: string
  readonly outcome_token: string
  readonly order_id: string
  readonly exchange: string
}

/** `onchain.v1.prediction.PredictionTradeEvents` */
export interface PredictionTradeEvents {
  readonly meta: EventMeta | null
  readonly events: readonly PredictionTradeEvent[]
}

/** `onchain.v1.prediction.PredictionManagementEvent` */
export interface PredictionManagementEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
  readonly log_index: number
  readonly marketplace: string
  readonly protocol_family: string
  readonly condition_id: string
  readonly question_id: string
  readonly market_id: string
  readonly outcomes: readonly string[]
  readonly collateral_token: string
  readonly event_type: string
  readonly description: string
  readonly group_id: string
  readonly oracle: string
  readonly outcome_count: number
  readonly payouts: readonly string[]
  readonly outcome_token_ids: readonly string[]
}

/** `onchain.v1.prediction.PredictionManagementEvents` */
export interface PredictionManagementEvents {
  readonly meta: EventMeta | null
  readonly events: readonly PredictionManagementEvent[]
}

/** `onchain.v1.prediction.PredictionSettlementEvent` */
export interface PredictionSettlementEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
  readonly log_index: number
  readonly marketplace: string
  readonly protocol_family: string
  readonly condition_id: string
  readonly question_id: string
  readonly market_id: string
  readonly outcomes: readonly string[]
  readonly collateral_token: string
  readonly event_type: string
  readonly holder: string
  readonly collateral_amount: string
  readonly outcome_token_ids: readonly string[]
  readonly amounts: readonly string[]
}

/** `onchain.v1.prediction.PredictionSettlementEvents` */
export interface PredictionSettlementEvents {
  readonly meta: EventMeta | null
  readonly events: readonly PredictionSettlementEvent[]
}

/** `onchain.v1.prediction.PredictionPosition` */
export interface PredictionPosition {
  readonly quantity: string
  readonly known_quantity: string
  readonly cost: string
  readonly bought: string
  readonly paid: string
  readonly sold: string
  readonly received: string
  readonly redeemed: string
  readonly volume: string
  readonly realized: string
  readonly entries: number
  readonly first_paid: string
  readonly changes: number
  readonly first_time: number
  readonly last_time: number
}

/** `onchain.v1.prediction.PredictionTotals` */
export interface PredictionTotals {
  readonly realized: string
  readonly volume: string
  readonly changes: number
  readonly last_time: number
}

/** `onchain.v1.prediction.PredictionPositionEvent` */
export interface PredictionPositionEvent {
  readonly block_height: number
  readonly event_index: number
  readonly tx_hash: string
  readonly tx_index: number
  readonly tx_signer: string
  readonly tx_fee: string
  readonly tx_status: Status
  readonly log_index: number
  readonly protocol_family: string
  readonly condition_id: string
  readonly outcome: string
  readonly outcome_token: string
  readonly wallet: string
  readonly change_type: string
  readonly quantity: string
  readonly collateral_amount: string
  readonly cost: string
  readonly realized: string
  readonly traded_amount: string
  readonly price: string
  readonly price_before: string
  readonly position: PredictionPosition | null
  readonly position_before: PredictionPosition | null
  readonly wallet_totals: PredictionTotals | null
  readonly wallet_totals_before: PredictionTotals | null
  readonly day_totals: PredictionTotals | null
  readonly day_totals_before: PredictionTotals | null
}

/** `onchain.v1.prediction.PredictionPositionEvents` */
export interface PredictionPositionEvents {
  readonly meta: EventMeta | null
  readonly events: readonly PredictionPositionEvent[]
}

/** Message name, as in topics.ts, to the decoded record. */
export interface Messages {
  'block.BlockEvent': BlockEvent
  'dex.trade.TradeEvents': TradeEvents
  'dex.pool.DexPoolEvents': DexPoolEvents
  'token.TokenEvents': TokenEvents
  'balance.BalanceEvents': BalanceEvents
  'transfer.TransferEvents': TransferEvents
  'token.supply.TokenSupplyEvents': TokenSupplyEvents
  'token.market_cap.TokenMarketCapEvents': TokenMarketCapEvents
  'token.price.TokenPriceEvents': TokenPriceEvents
  'candlestick.CandlestickEvents': CandlestickEvents
  'trade.stat.TradeStatEvents': TradeStatEvents
  'token.holding.TokenHoldingEvents': TokenHoldingEvents
  'wallet.pnl.WalletTokenPnlEvents': WalletTokenPnlEvents
  'redpacket.RedPacketEvents': RedPacketEvents
  'control.Org': Org
  'control.Application': Application
  'control.ApiKey': ApiKey
  'control.SigningKey': SigningKey
  'control.AuditEvent': AuditEvent
  'control.AdminToken': AdminToken
  'control.WalletLink': WalletLink
  'control.Payment': Payment
  'control.PlanPurchase': PlanPurchase
  'usage.UsageEvents': UsageEvents
  'control.WebhookEndpoint': WebhookEndpoint
  'control.WebhookTask': WebhookTask
  'control.Job': Job
  'control.RiskAssessment': RiskAssessment
  'control.WebhookRequest': WebhookRequest
  'webhook.Message': Message
  'webhook.Delivery': Delivery
  'webhook.Health': Health
  'webhook.Attempt': Attempt
  'webhook.Operation': Operation
  'evm.call.CallEvents': CallEvents
  'evm.log.LogEvents': LogEvents
  'evm.reward.MinerRewardEvents': MinerRewardEvents
  'evm.uncle.UncleEvents': UncleEvents
  'svm.instruction.InstructionEvents': InstructionEvents
  'svm.reward.RewardEvents': RewardEvents
  'dex.order.OrderEvents': OrderEvents
  'transaction.TransactionEvents': TransactionEvents
  'risk.AddressLabelEvents': AddressLabelEvents
  'prediction.PredictionTradeEvents': PredictionTradeEvents
  'prediction.PredictionManagementEvents': PredictionManagementEvents
  'prediction.PredictionSettlementEvents': PredictionSettlementEvents
  'prediction.PredictionPositionEvents': PredictionPositionEvents
}
