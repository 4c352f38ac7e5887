import type { Leaf, LeafType, Tree } from './types.ts'

/** Row limits of every cube. */
export const ROW_LIMIT = { default: 25, max: 10_000 } as const

/** A leaf that this installation cannot know: null in every row. */
export const unknownLeaf = (type: LeafType, about: string): Leaf => {
  const column = { Int: 'Int64', Float: 'Float64', Boolean: 'Bool', String: 'String' } as const
  const name = type === 'DateTime' || type === 'Date' ? 'DateTime' : column[type]
  return { sql: `CAST(NULL, 'Nullable(${name})')`, type, about }
}

const slotLeaf: Leaf = {
  sql: 'block_slot',
  type: 'Int',
  about: 'Block number, on Solana the slot.',
}

/** «Blk» of a table with the block columns. */
export const BLOCK_FIELDS: Tree = {
  Time: {
    sql: 'block_time',
    rank: 'block_slot',
    type: 'DateTime',
    bucket: 'start',
    about: 'Block time, UTC. `interval` gives the start of its bucket.',
  },
  Date: {
    sql: 'toDate(block_time)',
    type: 'Date',
    bucket: 'start',
    about: 'Day of the block, UTC.',
  },
  Slot: slotLeaf,
  Number: slotLeaf,
  Height: { sql: 'block_height', type: 'Int', about: 'Block height; on EVM equal to Number.' },
  Hash: { sql: 'block_hash', type: 'String', address: true, about: 'Block hash.' },
}

const hashLeaf: Leaf = {
  sql: 'tx_hash',
  type: 'String',
  address: true,
  about: 'Transaction hash or signature.',
}
const signerLeaf: Leaf = {
  sql: 'tx_signer',
  type: 'String',
  address: true,
  about: 'First signer; on EVM the sender.',
}
const feeLeaf: Leaf = {
  sql: 'tx_fee_native',
  type: 'Float',
  exact: true,
  about: 'Fee in whole native coins.',
}

/** «Tx» of a table with the transaction columns. */
export const TRANSACTION_FIELDS: Tree = {
  Hash: hashLeaf,
  Signature: hashLeaf,
  Signer: signerLeaf,
  From: signerLeaf,
  To: unknownLeaf('String', 'Called address; not stored with trades.'),
  FeePayer: signerLeaf,
  Fee: feeLeaf,
  FeeInNative: feeLeaf,
  FeeInUSD: { sql: 'tx_fee_usd', type: 'Float', exact: true, about: 'Fee in USD.' },
  Index: { sql: 'tx_index', type: 'Int', about: 'Index of the transaction in its block.' },
  Result: {
    Success: { sql: `tx_status = 'SUCCESS'`, type: 'Boolean', about: 'Transaction succeeded.' },
  },
}

/** «Cur»: a token by its address column, with name and symbol from the token table. */
export const currencyFields = (lookup: string, address: string, decimals: string): Tree => {
  const mint: Leaf = { sql: address, type: 'String', address: true, about: 'Token address.' }
  return {
    MintAddress: mint,
    SmartContract: mint,
    Symbol: {
      sql: `nullIf(${lookup}_symbol, '')`,
      needs: lookup,
      type: 'String',
      about: 'Token symbol.',
    },
    Name: {
      sql: `nullIf(${lookup}_name, '')`,
      needs: lookup,
      type: 'String',
      about: 'Token name.',
    },
    Decimals: { sql: decimals, type: 'Int', about: 'Decimal places of the token.' },
  }
}

const programLeaf: Leaf = {
  sql: 'program_address',
  type: 'String',
  address: true,
  about: 'Program or factory of the DEX.',
}

/** «Dex» of a table with the protocol columns. */
export const DEX_FIELDS: Tree = {
  ProgramAddress: programLeaf,
  SmartContract: programLeaf,
  ProtocolName: {
    sql: 'protocol_name',
    type: 'String',
    folds: true,
    about: 'Name of the DEX, such as Uniswap V3.',
  },
  ProtocolFamily: {
    sql: 'protocol_family',
    type: 'String',
    folds: true,
    about: 'Family whose contracts it uses.',
  },
  ProtocolVersion: {
    sql: `nullIf(extract(protocol_name, '[Vv]([0-9]+)$'), '')`,
    type: 'String',
    about: 'Version, where the name ends in one.',
  },
}

/** «Acct»: wallet, and the token account where the chain has such. */
export const accountFields = (owner: string, tokenAccount?: string): Tree => ({
  Owner: { sql: owner, type: 'String', address: true, about: 'Wallet.' },
  Address: {
    sql: tokenAccount ? `if(${tokenAccount} = '', ${owner}, ${tokenAccount})` : owner,
    type: 'String',
    address: true,
    about: 'Token account on Solana, elsewhere the wallet.',
  },
})

/** Base units and decimals as token units, right to the last digit of a double; null where the decimals are unknown. */
export const unitsSql = (raw: string, decimals: string): string =>
  `toFloat64(concat(toString(${raw}), 'e-', toString(${decimals})))`

/** The same by division: much cheaper, and the last digit may differ. */
export const approximateUnitsSql = (raw: string, decimals: string): string =>
  `toFloat64(${raw}) / exp10(${decimals})`

/** Amount leaf in token units with its exact twin in base units. */
export const amountFields = (raw: string, decimals: string): Tree => ({
  Amount: {
    sql: unitsSql(raw, decimals),
    fast: approximateUnitsSql(raw, decimals),
    exactUnits: { raw, places: decimals },
    type: 'Float',
    about: 'Token units.',
  },
  AmountRaw: { sql: `toString(${raw})`, type: 'String', about: 'Base units, every digit.' },
})

/** Suspect flag of a trade. */
export const SUSPECT_LEAF: Leaf = {
  sql: 'is_suspect',
  type: 'Boolean',
  about: 'The price failed a sanity check.',
}

/** Place of the swap in its block: with Block.Slot and Transaction.Index the order key of trades. */
export const TRADE_INDEX_LEAF: Leaf = {
  sql: 'event_index',
  type: 'Int',
  about: 'Event index: (Block.Slot, Transaction.Index, Trade.Index) orders trades.',
}
