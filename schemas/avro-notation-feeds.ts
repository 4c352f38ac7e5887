/**
 * Messages of the optional feeds in the notation of `avro-notation.ts`: flat, one field per column of the table that the feed fills.
 * What is the same for all events of a record stands in its `meta`.
 */
const POSITION_FIELDS = 'block_height:l event_index:i'
const TRANSACTION_FIELDS = 'tx_hash:s tx_index:i tx_signer:s tx_fee:u tx_status:common.Status'
const MARKET_FIELDS = [
  'marketplace:s protocol_family:s condition_id:s question_id:s market_id:s outcomes:s[]',
  'collateral_token:s',
].join(' ')

const eventsRecord = (event: string): string =>
  `record ${event}s = meta:common.EventMeta? events:${event}[]`

export const FEED_AVRO_NOTATION: readonly string[] = [
  [
    `record evm.call.CallEvent = ${POSITION_FIELDS} ${TRANSACTION_FIELDS} call_index:i depth:i from_address:s`,
    'to_address:s opcode:s gas:l gas_used:l input:s output:s value:u sig_name:s? signature:s?',
    'success:b error:s?',
  ].join(' '),
  eventsRecord('evm.call.CallEvent'),
  [
    `record evm.log.LogEvent = ${POSITION_FIELDS} tx_hash:s tx_index:i tx_from:s tx_to:s log_index:i`,
    'contract:s topic0:s topics:s[] data:s sig_name:s? signature:s?',
  ].join(' '),
  eventsRecord('evm.log.LogEvent'),
  [
    `record evm.reward.MinerRewardEvent = ${POSITION_FIELDS} miner:s total_reward:u burnt_fees:u`,
    'dynamic_reward:u static_reward:u tx_fees:u uncle_reward:u',
  ].join(' '),
  eventsRecord('evm.reward.MinerRewardEvent'),
  [
    `record evm.uncle.UncleEvent = ${POSITION_FIELDS} uncle_index:i uncle_hash:s uncle_parent_hash:s`,
    'miner:s difficulty:u uncle_number:l gas_limit:l gas_used:l uncle_time:ts',
  ].join(' '),
  eventsRecord('evm.uncle.UncleEvent'),
  [
    `record svm.instruction.InstructionEvent = ${POSITION_FIELDS} ${TRANSACTION_FIELDS} ix_index:i depth:i`,
    'internal_seq:i program_address:s program_name:s? method:s? accounts:s[] data:s',
    'call_path:i[] logs:s[]',
  ].join(' '),
  eventsRecord('svm.instruction.InstructionEvent'),
  [
    `record svm.reward.RewardEvent = ${POSITION_FIELDS} address:s amount:d post_balance:u reward_type:s`,
    'commission:i?',
  ].join(' '),
  eventsRecord('svm.reward.RewardEvent'),
  [
    `record dex.order.OrderEvent = ${POSITION_FIELDS} ${TRANSACTION_FIELDS} ix_index:i event_type:s`,
    'market_address:s order_id:s buy_side:b limit_price:d limit_amount:d mint:s owner:s',
    'account:s payer:s program_address:s protocol_name:s protocol_family:s price_ticks:u',
    'size_lots:u',
  ].join(' '),
  eventsRecord('dex.order.OrderEvent'),
  [
    `record transaction.TransactionEvent = ${POSITION_FIELDS} ${TRANSACTION_FIELDS} fee_payer:s to_address:s`,
    'contract_address:s value:u gas_limit:u gas_used:u cumulative_gas_used:u gas_price:u max_fee:u',
    'max_priority_fee:u priority_fee:u burnt:u nonce:u tx_type:i? instructions_count:i? programs:s[]',
  ].join(' '),
  eventsRecord('transaction.TransactionEvent'),
  [
    `record risk.AddressLabelEvent = ${POSITION_FIELDS} tx_hash:s tx_index:i log_index:i`,
    'contract:s protocol:s action:s address:s',
  ].join(' '),
  eventsRecord('risk.AddressLabelEvent'),
  [
    `record prediction.PredictionTradeEvent = ${POSITION_FIELDS} ${TRANSACTION_FIELDS} log_index:i ${MARKET_FIELDS}`,
    'buyer:s seller:s is_outcome_buy:b amount:u collateral_amount:u price:d fee:u fee_in:s',
    'outcome:s outcome_token:s order_id:s exchange:s',
  ].join(' '),
  eventsRecord('prediction.PredictionTradeEvent'),
  [
    `record prediction.PredictionManagementEvent = ${POSITION_FIELDS} ${TRANSACTION_FIELDS} log_index:i ${MARKET_FIELDS}`,
    'event_type:s description:s group_id:s oracle:s outcome_count:i payouts:s[]',
    'outcome_token_ids:s[]',
  ].join(' '),
  eventsRecord('prediction.PredictionManagementEvent'),
  [
    `record prediction.PredictionSettlementEvent = ${POSITION_FIELDS} ${TRANSACTION_FIELDS} log_index:i ${MARKET_FIELDS}`,
    'event_type:s holder:s collateral_amount:u outcome_token_ids:s[] amounts:u[]',
  ].join(' '),
  eventsRecord('prediction.PredictionSettlementEvent'),
  [
    'record prediction.PredictionPosition = quantity:u known_quantity:u cost:u bought:u paid:u sold:u',
    'received:u redeemed:u volume:u realized:s entries:l first_paid:u changes:l first_time:ts',
    'last_time:ts',
  ].join(' '),
  'record prediction.PredictionTotals = realized:s volume:u changes:l last_time:ts',
  [
    `record prediction.PredictionPositionEvent = ${POSITION_FIELDS} ${TRANSACTION_FIELDS} log_index:i`,
    'protocol_family:s condition_id:s outcome:s outcome_token:s wallet:s change_type:s quantity:s',
    'collateral_amount:u cost:s realized:s traded_amount:u price:u price_before:u',
    'position:prediction.PredictionPosition? position_before:prediction.PredictionPosition?',
    'wallet_totals:prediction.PredictionTotals? wallet_totals_before:prediction.PredictionTotals?',
    'day_totals:prediction.PredictionTotals? day_totals_before:prediction.PredictionTotals?',
  ].join(' '),
  eventsRecord('prediction.PredictionPositionEvent'),
]
