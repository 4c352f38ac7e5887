/**
 * Messages of the optional feeds in the notation of `notation.ts`: flat, one field per column of the table that the feed fills.
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
]
