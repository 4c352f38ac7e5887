import {
  accountFields,
  amountFields,
  BLOCK_FIELDS,
  currencyFields,
  ROW_LIMIT,
  TRANSACTION_FIELDS,
} from './fields.ts'
import type { Cube, Tree } from './types.ts'

const partyFields = (owner: 'sender' | 'receiver'): Tree => {
  const { Owner: wallet, Address: tokenAccount } = accountFields(owner, `${owner}_token_account`)
  return { ...(wallet && { Address: wallet }), ...(tokenAccount && { TokenAccount: tokenAccount }) }
}

/** One row per token that moved. */
export const TRANSFERS: Cube = {
  name: 'Transfers',
  about: 'One row per token movement. USD at the price of its token when it happened.',
  groups: ['EVM', 'Solana'],
  layer: 'DWD',
  baseCost: 600,
  source: '{chain}_transfers FINAL',
  time: 'block_time',
  lookups: { own: { key: 'token_address' } },
  dimensions: {
    Block: BLOCK_FIELDS,
    Transaction: TRANSACTION_FIELDS,
    Transfer: {
      Currency: currencyFields('own', 'token_address', 'decimals'),
      Sender: partyFields('sender'),
      Receiver: partyFields('receiver'),
      ...amountFields('amount', 'decimals'),
      AmountInUSD: { sql: 'amount_usd', type: 'Float', exact: true, about: 'USD at that time.' },
      PriceInUSD: { sql: 'price_usd', type: 'Float', about: 'USD per token at that time.' },
      Success: { sql: 'success = 1', type: 'Boolean', about: 'The movement took place.' },
      Index: { sql: 'event_index', type: 'Int', about: 'Event index in the block.' },
    },
  },
  selectors: {
    tokenAddress: ['Transfer.Currency.MintAddress'],
    senderAddress: ['Transfer.Sender.Address'],
    receiverAddress: ['Transfer.Receiver.Address'],
    walletAddress: ['Transfer.Sender.Address', 'Transfer.Receiver.Address'],
    date: ['Block.Time'],
  },
  defaults: {},
  order: ['block_slot', 'tx_index', 'event_index'],
  newest: 'Block.Time',
  joins: ['DEXTrades', 'BalanceUpdates'],
  limit: ROW_LIMIT,
  aliases: [],
}
