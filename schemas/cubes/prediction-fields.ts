import { optionalAddressLeaf, tokenNameFields, unitsLeaf, unknownLeaf } from './fields.ts'
import type { Leaf, Tree } from './types.ts'

/** Decimal places of outcome tokens and of what they are bought with, in every market that is decoded. */
export const OUTCOME_PLACES = '6'

/** Leaf of base units of outcome tokens or of what they are bought with. */
export const outcomeAmountLeaf = (column: string, about: string): Leaf =>
  unitsLeaf(column, OUTCOME_PLACES, about)

/** Condition of a market with the labels of its outcomes. */
export const CONDITION_FIELDS: Tree = {
  Id: optionalAddressLeaf('condition_id', 'Condition; null where it is not known.'),
  Outcomes: {
    sql: 'outcomes',
    type: 'StringList',
    about: 'Labels of the outcomes; none is on the chain.',
  },
}

/** Question of a market. */
export const QUESTION_FIELDS: Tree = {
  Id: optionalAddressLeaf('question_id', 'Question; null where it is not known.'),
  Title: unknownLeaf('String', 'Titles are not on the chain.'),
  MarketId: optionalAddressLeaf('market_id', 'Group of questions of which one comes true.'),
  Image: unknownLeaf('String', 'Images are not on the chain.'),
}

/** «Dex» of a marketplace; `contract` is what it traded on. */
export const marketplaceFields = (contract: Leaf): Tree => ({
  ProgramAddress: contract,
  SmartContract: contract,
  ProtocolName: {
    sql: 'marketplace',
    type: 'String',
    folds: true,
    about: 'Name of the marketplace.',
  },
  ProtocolFamily: {
    sql: 'protocol_family',
    type: 'String',
    folds: true,
    about: 'Family whose contracts it uses.',
  },
  ProtocolVersion: unknownLeaf('String', 'A marketplace names no version.'),
})

/** Marketplace of an event that names no contract of it. */
export const UNNAMED_MARKETPLACE_FIELDS: Tree = marketplaceFields(
  unknownLeaf('String', 'The event names no contract.'),
)

const collateralLeaf = optionalAddressLeaf(
  'collateral_token',
  'Token; null where the event names none.',
)

/** «PCur» of what outcome tokens are bought with; needs the lookup `collateral`. */
export const COLLATERAL_FIELDS: Tree = {
  ...tokenNameFields('collateral'),
  SmartContract: collateralLeaf,
  MintAddress: collateralLeaf,
  AssetId: unknownLeaf('String', 'Only outcome tokens have one.'),
}

/** Type of an event; equality ignores case, `_` and spaces. */
export const eventTypeLeaf = (about: string): Leaf => ({
  sql: 'event_type',
  type: 'String',
  folds: true,
  about,
})

/** Whether the transaction succeeded. */
export const TRANSACTION_STATUS_FIELDS: Tree = {
  Success: { sql: `tx_status = 'SUCCESS'`, type: 'Boolean', about: 'Transaction succeeded.' },
}
