import { CHAINS } from './chains.ts'

/** Symbols of chains as the first versions of the wire have them, two without a row among them. Their order stays. */
const FIRST_CHAIN_SYMBOLS = [
  ...['CHAIN_UNSPECIFIED', 'CHAIN_SOLANA', 'CHAIN_ETHEREUM', 'CHAIN_BSC', 'CHAIN_BASE'],
  ...['CHAIN_ALGEN', 'CHAIN_TRON', 'CHAIN_POLYGON', 'CHAIN_ARBITRUM', 'CHAIN_OPTIMISM'],
  ...['CHAIN_AVALANCHE', 'CHAIN_ZKSYNC', 'CHAIN_SUI'],
]

/** The same with those of chains that were added since, in the order of their rows. */
const CHAIN_SYMBOLS: readonly string[] = [
  ...new Set([...FIRST_CHAIN_SYMBOLS, ...Object.values(CHAINS).map(({ wire }) => wire)]),
]

/**
 * The wire contract with Kafka consumers in one line per type: the `.avsc` files and `wire.ts`
 * are written from this table by `npm run generate`, and a test holds them to it.
 *
 * Field types: `s` string, `u` base units as a base-10 string, `d` plain decimal as a string ("" = unknown), `i` int,
 * `l` long, `ts` long in epoch milliseconds, `f` double, `b` boolean, `y` bytes, `map<s>`; `X?` = null or X, `X[]` = array of X,
 * `!` = no default. An enum's first symbol is its default.
 *
 * Events of one record share their block, transactions and programs, so a record carries each of them once: `...heads` in a record
 * stands for its tables, and a field `X:&common.Block`, `&common.Transaction` or `&common.DApp` of an event is, on the wire, a place
 * in them, named `X_index` (core/codec/event-headers.ts). In memory the field is the object itself.
 */
export const AVRO_NOTATION: readonly string[] = [
  'enum common.Op = OP_UNSPECIFIED OP_APPLY OP_REVERT OP_FINALIZE',
  [
    'enum common.Commitment = COMMITMENT_UNSPECIFIED COMMITMENT_PROCESSED',
    'COMMITMENT_CONFIRMED COMMITMENT_SAFE COMMITMENT_FINALIZED',
  ].join(' '),
  'enum common.Status = STATUS_UNSPECIFIED STATUS_SUCCESS STATUS_FAILED',
  `enum common.Chain = ${CHAIN_SYMBOLS.join(' ')}`,
  [
    'enum common.BundleSource = BUNDLE_SOURCE_UNSPECIFIED BUNDLE_SOURCE_JITO',
    'BUNDLE_SOURCE_FLASHBOTS',
  ].join(' '),
  [
    'enum common.BundleHeuristic = BUNDLE_HEURISTIC_UNSPECIFIED BUNDLE_HEURISTIC_TIP_IN_TX',
    'BUNDLE_HEURISTIC_JITODONTFRONT_SENTINEL BUNDLE_HEURISTIC_NEARBY_TIP_SAME_SIGNER',
    'BUNDLE_HEURISTIC_CLUSTERED_MEVCALLS',
  ].join(' '),
  [
    'record common.EventMeta = chain:s! op:common.Op! seq:l! commitment:common.Commitment',
    'height:l slot:l hash:s parent_hash:s block_time:ts part:i parts:i produced_at:ts',
  ].join(' '),
  'record common.Block = timestamp:ts hash:s height:l slot:l',
  [
    'record common.BundleTransaction = source:common.BundleSource',
    'heuristic:common.BundleHeuristic tip_tx_index:i tip_inner_index:i tip_account:s',
  ].join(' '),
  [
    'record common.Transaction = fee:u fee_payer:s index:i signature:s signer:s',
    'status:common.Status bundles:common.BundleTransaction[]',
  ].join(' '),
  'record common.DApp = program_address:s inner_program_address:s chain:common.Chain',
  [
    'record common.Instruction = index:i is_inner_instruction:b inner_instruction_index:i',
    'type:s event_index:i log_index:i',
  ].join(' '),
  'record block.TopicSpan = topic:s partition:i base_offset:l records:i events:i',
  'record block.QuotePrice = token_address:s quote_address:s price:d block_time:ts',
  [
    'record block.BlockEvent = meta:common.EventMeta! quote_prices:block.QuotePrice[]',
    'parent_slot:l tx_count:i coinbase:s gas_limit:u gas_used:u base_fee:u difficulty:u',
    'nonce:u extra:y rewards_count:i counts:map<l> spans:block.TopicSpan[] final_seq:l',
    'final_height:l cursor:s priority_fee:u',
  ].join(' '),
  [
    'enum dex.trade.TokenPriceSuspectReason = TOKEN_PRICE_SUSPECT_REASON_UNSPECIFIED',
    'TOKEN_PRICE_SUSPECT_REASON_BY_LAST_CLOSE_PRICES',
    'TOKEN_PRICE_SUSPECT_REASON_BY_SMALL_AMOUNT_IN_USD',
    'TOKEN_PRICE_SUSPECT_REASON_BY_BIG_PRICE',
    'TOKEN_PRICE_SUSPECT_REASON_BY_CONSTANT_PRODUCT_FORMULA',
    'TOKEN_PRICE_SUSPECT_REASON_BY_POOL_PRICE_IMPACT',
    'TOKEN_PRICE_SUSPECT_REASON_BY_SMALL_AMOUNT_IN_USD_AND_POOL_PRICE_IMPACT',
  ].join(' '),
  [
    'record dex.trade.Trade = token_a_address:s token_b_address:s',
    'user_a_token_account_address:s user_a_account_owner_address:s',
    'user_b_token_account_address:s user_b_account_owner_address:s user_a_amount:u',
    'user_b_amount:u user_a_pre_amount:u user_a_post_amount:u user_b_pre_amount:u',
    'user_b_post_amount:u was_original_direction:b token_a_decimals:i? token_b_decimals:i?',
    'pool_address:s vault_a:s vault_b:s vault_a_owner_address:s vault_b_owner_address:s',
    'vault_a_amount:u vault_b_amount:u vault_a_pre_amount:u vault_b_pre_amount:u',
    'vault_a_post_amount:u vault_b_post_amount:u pool_config_address:s',
  ].join(' '),
  [
    'record dex.trade.BondingCurve = virtual_quote_reserves:u virtual_token_reserves:u',
    'real_quote_reserves:u real_token_reserves:u',
  ].join(' '),
  [
    'record dex.trade.TradeProcessed = token_a_price_in_quote:d token_a_price_in_usd:d',
    'token_a_price_in_native:d token_b_price_in_base:d token_b_price_in_usd:d',
    'token_b_price_in_native:d is_token_a_price_in_usd_suspect:b',
    'is_token_a_price_in_usd_suspect_reason:dex.trade.TokenPriceSuspectReason',
    'token_a_price_in_usd_lasted:d token_a_price_in_native_lasted:d',
    'token_b_price_in_usd_lasted:d token_b_price_in_native_lasted:d',
  ].join(' '),
  [
    'record dex.trade.TradeEvent = instruction:common.Instruction? block:&common.Block',
    'transaction:&common.Transaction d_app:&common.DApp quote_price_in_usd:d',
    'quote_price_in_native:d trade:dex.trade.Trade? bonding_curve:dex.trade.BondingCurve?',
    'trade_processed:dex.trade.TradeProcessed?',
  ].join(' '),
  [
    'record dex.trade.TradeEvents = meta:common.EventMeta? ...heads',
    'events:dex.trade.TradeEvent[]',
  ].join(' '),
  [
    'enum dex.pool.DexPoolEventType = DEX_POOL_EVENT_TYPE_UNSPECIFIED',
    'DEX_POOL_EVENT_TYPE_INITIALIZE DEX_POOL_EVENT_TYPE_INCREASE_LIQUIDITY',
    'DEX_POOL_EVENT_TYPE_DECREASE_LIQUIDITY DEX_POOL_EVENT_TYPE_SWAP',
  ].join(' '),
  [
    'record dex.pool.DexPool = address:s token_a_vault_address:s',
    'token_a_vault_owner_address:s token_a_address:s token_a_amount:u',
    'token_a_vault_pre_amount:u token_a_vault_post_amount:u token_a_decimals:i?',
    'token_b_vault_address:s token_b_vault_owner_address:s token_b_address:s token_b_amount:u',
    'token_b_vault_pre_amount:u token_b_vault_post_amount:u token_b_decimals:i? lp_wallet:s',
  ].join(' '),
  [
    'record dex.pool.TokenLiquidity = token_address:s amount:u liquidity_in_native:d',
    'liquidity_in_usd:d pool_address:s pool_count:i',
  ].join(' '),
  [
    'record dex.pool.ConcentratedChange = sqrt_price_x96:u liquidity:u tick:i? tick_lower:i?',
    'tick_upper:i? position_liquidity:u fee_pips:i?',
  ].join(' '),
  [
    'record dex.pool.ConcentratedState = sqrt_price_x96:u liquidity:u tick:i fee_pips:i?',
    'is_complete:b depth_in_usd:d',
  ].join(' '),
  [
    'record dex.pool.ReservePricing = reserve_a:u reserve_b:u found_a:u found_b:u fees:i[]',
    'fee_token:s is_doubted:b',
  ].join(' '),
  [
    'enum dex.pool.BinReferences = BIN_REFERENCES_UNSPECIFIED BIN_REFERENCES_BY_TIME',
    'BIN_REFERENCES_FORCED',
  ].join(' '),
  'record dex.pool.BinMove = bin:i amount_x:d amount_y:d',
  [
    'record dex.pool.BinChange = token_x:s bin_step:i? active_bin:i? volatility:i? fee_terms:i[]',
    'references:dex.pool.BinReferences moves:dex.pool.BinMove[]',
  ].join(' '),
  [
    'record dex.pool.BinState = token_x:s bin_step:i? active_bin:i? fee_terms:i[] volatility:i',
    'volatility_reference:i bin_reference:i? updated_at:l amount_x:d amount_y:d is_complete:b',
    'depth_in_usd:d',
  ].join(' '),
  [
    'record dex.pool.PoolState = token_a_vault_amount:u token_b_vault_amount:u',
    'liquidity_in_usd:d liquidity_in_native:d price:d curve_progress:d time:ts',
    'concentrated:dex.pool.ConcentratedState? pricing:dex.pool.ReservePricing?',
    'bins:dex.pool.BinState?',
  ].join(' '),
  [
    'record dex.pool.DexPoolProcessed = token_a_amount_in_native:d token_a_amount_in_usd:d',
    'token_a_vault_pre_amount_in_native:d token_a_vault_pre_amount_in_usd:d',
    'token_a_vault_post_amount_in_native:d token_a_vault_post_amount_in_usd:d',
    'token_a_liquidity:dex.pool.TokenLiquidity?',
    'token_a_max_liquidity:dex.pool.TokenLiquidity? token_b_amount_in_native:d',
    'token_b_amount_in_usd:d token_b_vault_pre_amount_in_native:d',
    'token_b_vault_pre_amount_in_usd:d token_b_vault_post_amount_in_native:d',
    'token_b_vault_post_amount_in_usd:d token_b_liquidity:dex.pool.TokenLiquidity?',
    'token_b_max_liquidity:dex.pool.TokenLiquidity? owner_dapp_program:s curve_progress:d',
    'before:dex.pool.PoolState? token_a_liquidity_before:dex.pool.TokenLiquidity?',
    'token_a_max_liquidity_before:dex.pool.TokenLiquidity?',
  ].join(' '),
  [
    'record dex.pool.DexPoolEvent = instruction:common.Instruction? block:&common.Block',
    'transaction:&common.Transaction d_app:&common.DApp quote_price_in_usd:d',
    'quote_price_in_native:d type:dex.pool.DexPoolEventType pool:dex.pool.DexPool?',
    'pool_processed:dex.pool.DexPoolProcessed? bonding_curve:dex.trade.BondingCurve?',
    'concentrated:dex.pool.ConcentratedChange? pricing:dex.pool.ReservePricing?',
    'bins:dex.pool.BinChange?',
  ].join(' '),
  [
    'enum token.TokenStandard = TOKEN_STANDARD_UNSPECIFIED TOKEN_STANDARD_NATIVE',
    'TOKEN_STANDARD_ERC20 TOKEN_STANDARD_ERC721 TOKEN_STANDARD_ERC1155',
  ].join(' '),
  [
    'enum token.EventType = EVENT_TYPE_UNSPECIFIED EVENT_TYPE_CREATED EVENT_TYPE_UPDATED',
    'EVENT_TYPE_MIGRATED',
  ].join(' '),
  'record token.Creator = address:s verified:b share:i',
  [
    'record token.SolanaExtra = collection_address:s edition_nonce:l fungible:b is_mutable:b',
    'key:s is_native:b primary_sale_happened:b program_address:s seller_fee_basis_points:i',
    'token_standard:s mint_authority:s freeze_authority:s update_authority:s',
    'is_verified_collection:b is_wrapped:b outer_program_address:s',
  ].join(' '),
  'record token.EvmExtra = token_standard:token.TokenStandard',
  [
    'record token.Token = address:s name:s symbol:s decimals:i uri:s metadata_address:s',
    'creators:token.Creator[] additional_metadata:map<s> solana_extra:token.SolanaExtra?',
    'evm_extra:token.EvmExtra?',
  ].join(' '),
  [
    'record token.TokenProcessed = uri_data:s description:s image_url:s social_medias:map<s>',
    'thumb_url:s',
  ].join(' '),
  'record token.Launch = program_address:s protocol_family:s protocol_name:s pool_address:s',
  [
    'record token.TokenEvent = instruction:common.Instruction? block:&common.Block',
    'transaction:&common.Transaction d_app:&common.DApp type:token.EventType',
    'token:token.Token? token_processed:token.TokenProcessed? launch_from:token.Launch?',
    'migrated_to:token.Launch? created_at:ts created_slot:l created_tx:s dev:s migrated_at:ts',
  ].join(' '),
  [
    'enum balance.AccountLifecycle = ACCOUNT_LIFECYCLE_UNSPECIFIED ACCOUNT_LIFECYCLE_NEW',
    'ACCOUNT_LIFECYCLE_EXISTING ACCOUNT_LIFECYCLE_CLOSED',
  ].join(' '),
  [
    'record balance.Balance = token_account_address:s account_owner_address:s token_address:s',
    'pre_amount:u post_amount:u decimals:i? lifecycle:balance.AccountLifecycle',
  ].join(' '),
  [
    'record balance.BalanceProcessed = pre_amount_in_native:d pre_amount_in_usd:d',
    'post_amount_in_native:d post_amount_in_usd:d token_price_in_usd:d owner_post_amount:u',
    'owner_pre_amount:u owner_first_time:ts owner_pre_time:ts',
  ].join(' '),
  [
    'record balance.BalanceEvent = instruction:common.Instruction? block:&common.Block',
    'transaction:&common.Transaction d_app:&common.DApp balance:balance.Balance?',
    'balance_processed:balance.BalanceProcessed?',
  ].join(' '),
  [
    'record transfer.Transfer = sender_token_account_address:s sender_account_owner_address:s',
    'receiver_token_account_address:s receiver_account_owner_address:s token_address:s',
    'token_amount:u token_decimals:i? token_id:u? uri:s call_index:i? success:b',
  ].join(' '),
  [
    'record transfer.TransferProcessed = token_amount_in_native:d token_amount_in_usd:d',
    'token_price_in_native:d token_price_in_usd:d',
  ].join(' '),
  [
    'record transfer.TransferEvent = instruction:common.Instruction? block:&common.Block',
    'transaction:&common.Transaction d_app:&common.DApp transfer:transfer.Transfer?',
    'transfer_processed:transfer.TransferProcessed?',
  ].join(' '),
  [
    'enum token.supply.TokenSupplyEventType = TOKEN_SUPPLY_EVENT_TYPE_UNSPECIFIED',
    'TOKEN_SUPPLY_EVENT_TYPE_INITIALIZE_MINT TOKEN_SUPPLY_EVENT_TYPE_MINT',
    'TOKEN_SUPPLY_EVENT_TYPE_BURN TOKEN_SUPPLY_EVENT_TYPE_INITIALIZE_MINT_FROM_RPC',
  ].join(' '),
  [
    'record token.supply.TokenSupply = token_address:s amount:u decimals:i',
    'amount_without_decimals:u amount_with_decimals:d post_amount_with_decimals:d',
  ].join(' '),
  [
    'record token.supply.MarketCap = token_address:s total_supply_amount:d',
    'market_cap_in_native:d market_cap_in_usd:d',
  ].join(' '),
  [
    'record token.supply.TokenSupplyEvent = instruction:common.Instruction?',
    'block:&common.Block transaction:&common.Transaction d_app:&common.DApp',
    'type:token.supply.TokenSupplyEventType token_supply:token.supply.TokenSupply?',
    'market_cap:token.supply.MarketCap?',
  ].join(' '),
  [
    'record token.market_cap.TokenMarketCapEvent = instruction:common.Instruction?',
    'block:&common.Block transaction:&common.Transaction d_app:&common.DApp',
    'market_cap:token.supply.MarketCap?',
  ].join(' '),
  'record token.price.TokenPrice = token_address:s price_in_usd:d price_in_native:d',
  [
    'record token.price.TokenPriceEvent = instruction:common.Instruction? block:&common.Block',
    'transaction:&common.Transaction d_app:&common.DApp token_price:token.price.TokenPrice?',
  ].join(' '),
  [
    'enum candlestick.CandlestickDimension = CANDLESTICK_DIMENSION_UNSPECIFIED',
    'CANDLESTICK_DIMENSION_TOKEN_ADDRESS CANDLESTICK_DIMENSION_POOL_ADDRESS',
    'CANDLESTICK_DIMENSION_PAIR',
  ].join(' '),
  'record candlestick.CandlestickSeries = dimension:candlestick.CandlestickDimension address:s',
  [
    'record candlestick.CoarserCandle = resolutions:s[] open:f? high:f? low:f? close:f?',
    'open_in_native:f? high_in_native:f? low_in_native:f? close_in_native:f? volume:d?',
    'trades:l buys:l version:l?',
  ].join(' '),
  [
    'record candlestick.CandlestickEvent = token_address:s resolution:s timestamp:s open:d',
    'open_in_native:d high:d high_in_native:d low:d low_in_native:d close:d close_in_native:d',
    'average_price:d average_price_in_native:d volume:d volume_in_usd:d volume_in_native:d',
    'trades:l dimension:candlestick.CandlestickDimension dimension_address:s buys:l sells:l',
    'version:l is_final:b coarser:candlestick.CoarserCandle[] also:candlestick.CandlestickSeries[]',
  ].join(' '),
  [
    'record trade.stat.TradeStatEvent = token_address:s resolution:s timestamp:s',
    'open_in_usd:d open_in_native:d close_in_usd:d close_in_native:d buys:l sells:l buyers:l',
    'sellers:l buy_volume:d buy_volume_in_usd:d buy_volume_in_native:d sell_volume:d',
    'sell_volume_in_usd:d sell_volume_in_native:d high_in_usd:d high_in_native:d low_in_usd:d',
    'low_in_native:d traders:l pools:l programs:l volume_change_ratio:d liquidity_in_usd:d',
    'liquidity_change_ratio:d version:l is_final:b prev_open_in_usd:d prev_open_in_native:d',
    'prev_close_in_usd:d prev_close_in_native:d prev_high_in_usd:d prev_high_in_native:d',
    'prev_low_in_usd:d prev_low_in_native:d prev_buys:l prev_sells:l prev_buyers:l prev_sellers:l',
    'prev_pools:l prev_programs:l prev_buy_volume:d prev_buy_volume_in_usd:d',
    'prev_buy_volume_in_native:d prev_sell_volume:d prev_sell_volume_in_usd:d',
    'prev_sell_volume_in_native:d prev_liquidity_in_usd:d',
  ].join(' '),
  [
    'record token.holding.TokenHoldingEvent = chain:common.Chain token_address:s holders:l',
    'top10_holders:l top10_amount:u top10_ratio:d top50_holders:l top50_amount:u',
    'top50_ratio:d top100_holders:l top100_amount:u top100_ratio:d creators_count:l',
    'creators_amount:u creators_ratio:d fresh_count:l fresh_amount:u fresh_ratio:d',
    'sandwich_count:l sandwich_amount:u sandwich_ratio:d bundle_count:l bundle_amount:u',
    'bundle_ratio:d sniper_count:l sniper_amount:u sniper_ratio:d dev_count:l dev_amount:u',
    'dev_ratio:d pro_count:l pro_amount:u pro_ratio:d insider_count:l insider_amount:u',
    'insider_ratio:d smart_count:l smart_amount:u smart_ratio:d kol_count:l kol_amount:u',
    'kol_ratio:d phishing_count:l phishing_amount:u phishing_ratio:d bluechip_count:l',
    'bluechip_amount:u bluechip_ratio:d rat_count:l rat_amount:u rat_ratio:d timestamp:ts',
    'version:l',
  ].join(' '),
  [
    'record wallet.pnl.WalletTokenPnlEvent = wallet_address:s token_address:s',
    'token_price_in_usd:d open_time:ts close_time:ts last_time:ts balance:d buy_amount:d',
    'buy_amount_in_usd:d buys:l buys_7d:l buys_30d:l sell_amount:d sell_amount_in_usd:d',
    'sells:l sells_7d:l sells_30d:l held_duration_ms:l average_buy_price_in_usd:d',
    'average_sell_price_in_usd:d unrealized_profit_in_usd:d unrealized_profit_ratio:d',
    'realized_profit_in_usd:d realized_profit_ratio:d total_realized_profit_in_usd:d',
    'total_realized_profit_ratio:d position_amount:d position_cost_in_usd:d first_time:ts',
    'wins:l losses:l version:l valued_buy_amount:d valued_sell_amount:d',
  ].join(' '),
  [
    'record wallet.pnl.WalletTradePnlEvent = wallet_address:s token_address:s time:ts tx:s',
    'event_index:i side:s amount:d amount_in_usd:d realized_profit_in_usd:d cost_in_usd:d',
    'unknown_amount:d position_amount:d position_cost_in_usd:d',
  ].join(' '),
  [
    'record redpacket.RedPacketEvent = instruction:common.Instruction? block:&common.Block',
    'transaction:&common.Transaction d_app:&common.DApp kind:s id:s creator:s claimer:s',
    'mint:s amount:u total_amount:u max_claims:i memo:s claim_authority:s created_at:ts',
    'expiration_seconds:l index:i share_id:s random:b',
  ].join(' '),
  [
    'record dex.pool.DexPoolEvents = meta:common.EventMeta? ...heads',
    'events:dex.pool.DexPoolEvent[]',
  ].join(' '),
  ['record token.TokenEvents = meta:common.EventMeta? ...heads', 'events:token.TokenEvent[]'].join(
    ' ',
  ),
  [
    'record balance.BalanceEvents = meta:common.EventMeta? ...heads',
    'events:balance.BalanceEvent[]',
  ].join(' '),
  [
    'record transfer.TransferEvents = meta:common.EventMeta? ...heads',
    'events:transfer.TransferEvent[]',
  ].join(' '),
  [
    'record token.supply.TokenSupplyEvents = meta:common.EventMeta? ...heads',
    'events:token.supply.TokenSupplyEvent[]',
  ].join(' '),
  [
    'record token.market_cap.TokenMarketCapEvents = meta:common.EventMeta? ...heads',
    'events:token.market_cap.TokenMarketCapEvent[]',
  ].join(' '),
  [
    'record token.price.TokenPriceEvents = meta:common.EventMeta? ...heads',
    'events:token.price.TokenPriceEvent[]',
  ].join(' '),
  [
    'record candlestick.CandlestickEvents = meta:common.EventMeta?',
    'events:candlestick.CandlestickEvent[]',
  ].join(' '),
  [
    'record trade.stat.TradeStatEvents = meta:common.EventMeta?',
    'events:trade.stat.TradeStatEvent[]',
  ].join(' '),
  [
    'record token.holding.TokenHoldingEvents = meta:common.EventMeta?',
    'events:token.holding.TokenHoldingEvent[]',
  ].join(' '),
  [
    'record wallet.pnl.WalletTokenPnlEvents = meta:common.EventMeta?',
    'events:wallet.pnl.WalletTokenPnlEvent[] trades:wallet.pnl.WalletTradePnlEvent[]',
  ].join(' '),
  [
    'record redpacket.RedPacketEvents = meta:common.EventMeta? ...heads',
    'events:redpacket.RedPacketEvent[]',
  ].join(' '),
  'record control.Org = org_id:s name:s plan:s suspended:b created_at:ts version:l',
  [
    'record control.Application = client_id:s app_id:s org_id:s name:s secret_hashes:s[]',
    'scopes:s[] disabled:b tokens_valid_after:ts created_at:ts updated_at:ts version:l',
    'previous_secret_until:ts',
  ].join(' '),
  [
    'record control.ApiKey = key_id:s prefix:s hash:s app_id:s org_id:s scopes:s[]',
    'expires_at:ts created_at:ts version:l name:s',
  ].join(' '),
  [
    'record control.SigningKey = kid:s public_jwk:s private_enc:s active_from:ts created_at:ts',
    'version:l',
  ].join(' '),
  [
    'record control.AuditEvent = id:s at:ts action:s subject:s org_id:s detail:s',
    'request_id:s actor:s address:s',
  ].join(' '),
  [
    'record control.AdminToken = token_id:s name:s hash:s role:s expires_at:ts created_at:ts',
    'version:l',
  ].join(' '),
  [
    'record control.WalletLink = chain:s address:s org_id:s app_id:s linked_at:ts',
    'proofs_after:ts version:l',
  ].join(' '),
  [
    'record control.Payment = payment_id:s network:s asset:s payer:s nonce:s amount_raw:u pay_to:s',
    'call:s route:s state:s attempt:s transaction:s valid_before:ts status:i content_type:s',
    'body:y updated_at:ts version:l',
  ].join(' '),
  [
    'record control.PlanPurchase = payment_id:s state:s plan:s chain:s address:s org_id:s',
    'network:s asset:s nonce:s pay_to:s amount_raw:u transaction:s valid_before:ts',
    'ordered_at:ts starts_at:ts ends_at:ts used_before:l version:l',
  ].join(' '),
  'record usage.UsageLine = route:s calls:l milli_units:l',
  'record usage.KeyUse = key_id:s last_used_at:ts',
  [
    'record usage.UsageEvents = org_id:s node:s day:ts lines:usage.UsageLine[] updated_at:ts',
    'version:l requests:l key_uses:usage.KeyUse[]',
  ].join(' '),
  'record common.SealedKey = sealed:s created_at:ts expires_at:ts',
  'record common.PriceLevel = token:s usd:f',
  [
    'record control.WebhookEndpoint = endpoint_id:s org_id:s app_id:s uid:s url:s user_enc:s',
    'channels:s[]? description:s? disabled:b disabled_reason:s disabled_at:ts filter:s?',
    'filter_types:s[]? metadata:s? headers:map<s> rate_limit:i? secrets:common.SealedKey[]',
    'first_failure_at:ts enabled_at:ts created_at:ts updated_at:ts version:l',
    'subjects:s[] price_levels:common.PriceLevel[]',
  ].join(' '),
  [
    'record control.WebhookTask = task_id:s endpoint_id:s org_id:s kind:s status:s since:ts',
    'until:ts channels:s[]? cursor:s queued:l looked_at:l error:s created_at:ts updated_at:ts',
  ].join(' '),
  [
    'record control.Job = job_id:s org_id:s kind:s status:s hash:s result:s error:s message:s',
    'revision:l created_at:ts updated_at:ts',
  ].join(' '),
  [
    'record control.RiskAssessment = id:s org_id:s kind:s status:s request:s result:s?',
    'labels_version:l created_at:ts updated_at:ts next_at:ts',
  ].join(' '),
  'record control.WebhookRequest = org_id:s key_hash:s body_hash:s response:s created_at:ts',
  [
    'record webhook.Message = id:s channel:s body:s event_time:ts created_at:ts chain:s',
    'token_address:s tx:s slot:l seq:l lane:i',
  ].join(' '),
  [
    'record webhook.Delivery = message_id:s endpoint_id:s org_id:s channel:s body:s',
    'event_time:ts queued_at:ts enabled_at:ts trigger:s attempt:i due_at:ts',
  ].join(' '),
  'record webhook.Health = first_failed_at:ts last_failed_at:ts failed_attempts:i',
  [
    'record webhook.Attempt = id:s message_id:s endpoint_id:s org_id:s channel:s url:s status:s',
    'response_status:i response:s duration_ms:i error_kind:s error:s trigger:s attempt:i',
    'at:ts next_at:ts',
  ].join(' '),
  'record webhook.Operation = type:s org_id:s endpoint_id:s message_id:s at:ts detail:map<s>',
]
