import { isExecutedTrade } from '../../core/executed-trade.ts'
import { EVM_ZERO_ADDRESS } from '../../schemas/burn-addresses.ts'
import type { BalanceEvents, DexPoolEvents, TokenEvents, TradeEvents } from '../../schemas/wire.ts'
import type { Operation } from '../runtime/stage.ts'
import { isBuy } from '../runtime/valuation.ts'
import { type BlockHolderChanges, GROUP_BITS, ownerKey, VAULT_BIT } from './block-changes.ts'

/** How long after the first trade a buyer is a sniper: whichever of the two is longer. */
const SNIPER_MS = 10_000
const SNIPER_BLOCKS = 3

/** Tokens that came to be: creators, and as `dev` the maker with the authorities that the token was created with. */
const applyCreations = (draft: BlockHolderChanges, { events }: TokenEvents): void => {
  for (const { type, token, transaction, created_tx, dev, launch_from } of events) {
    if (type !== 'EVENT_TYPE_CREATED' || token === null) continue
    if (draft.launchOf(token.address) !== undefined) continue
    const bornTx = created_tx === '' ? (transaction?.signature ?? '') : created_tx
    draft.setLaunch(token.address, { bornTx, firstTrade: null })
    const { mint_authority = '', update_authority = '' } = token.solana_extra ?? {}
    for (const owner of [dev, mint_authority, update_authority]) {
      draft.tag(token.address, owner, GROUP_BITS.dev)
    }
    for (const { address } of token.creators) draft.tag(token.address, address, GROUP_BITS.creators)
    draft.tag(token.address, launch_from?.pool_address ?? '', VAULT_BIT)
  }
}

/**
 * Pools of a token: who keeps its vault is not listed as a holder. The vault's own account is remembered for the block, because a
 * program may keep it under another owner than the wire names. Pools that count the token as their quote lie in other lanes.
 */
const applyPools = (
  draft: BlockHolderChanges,
  vaults: Set<string>,
  { events }: DexPoolEvents,
): void => {
  for (const { pool } of events) {
    if (pool === null || draft.launchOf(pool.token_a_address) === undefined) continue
    draft.tag(pool.token_a_address, pool.address, VAULT_BIT)
    draft.tag(pool.token_a_address, pool.token_a_vault_owner_address, VAULT_BIT)
    vaults.add(ownerKey(pool.token_a_address, pool.token_a_vault_address))
  }
}

/** Early buyers: snipers soon after the first trade, bundled ones in the creating transaction or in a builder's bundle. */
const applyTrades = (
  draft: BlockHolderChanges,
  { events }: TradeEvents,
  at: { readonly height: number; readonly timeMs: number },
): void => {
  for (const event of events) {
    const { trade, transaction } = event
    if (trade === null || !isExecutedTrade(event)) continue
    const { token_a_address: token, user_a_account_owner_address: wallet } = trade
    const launch = draft.launchOf(token)
    if (launch === undefined) continue
    const first = launch.firstTrade ?? at
    if (launch.firstTrade === null) draft.setLaunch(token, { ...launch, firstTrade: at })
    if (!isBuy(trade) || (draft.owner(token, wallet).tags & GROUP_BITS.dev) !== 0) continue
    const early = at.timeMs - first.timeMs <= SNIPER_MS || at.height - first.height <= SNIPER_BLOCKS
    const bundled =
      transaction !== null &&
      (transaction.signature === launch.bornTx || transaction.bundles.length > 0)
    const bits = (early ? GROUP_BITS.sniper : 0) | (bundled ? GROUP_BITS.bundle : 0)
    if (bits !== 0) draft.tag(token, wallet, bits)
  }
}

const applyBalanceChanges = (
  draft: BlockHolderChanges,
  vaults: ReadonlySet<string>,
  { events }: BalanceEvents,
): void => {
  for (const { balance } of events) {
    if (balance === null) continue
    const { account_owner_address: owner, token_address: token } = balance
    if (owner === '' || owner === EVM_ZERO_ADDRESS || draft.launchOf(token) === undefined) continue
    if (vaults.has(ownerKey(token, balance.token_account_address))) {
      draft.tag(token, owner, VAULT_BIT)
    }
    draft.move(token, owner, BigInt(balance.post_amount) - BigInt(balance.pre_amount))
  }
}

/** Writes a block's records into the draft: creations first, then who is what, then what moved. */
export const applyBlock = (draft: BlockHolderChanges, { block, records }: Operation): void => {
  const { height, block_time: timeMs } = block.meta
  const vaults = new Set<string>()
  for (const { topic, value } of records) if (topic === 'tokens') applyCreations(draft, value)
  for (const { topic, value } of records) if (topic === 'pools') applyPools(draft, vaults, value)
  for (const { topic, value } of records) {
    if (topic === 'trades') applyTrades(draft, value, { height, timeMs })
  }
  for (const { topic, value } of records)
    if (topic === 'holderDeltas') applyBalanceChanges(draft, vaults, value)
}
