import type * as Wire from '../../schemas/wire.ts'
import {
  curveRecord,
  decimalsOf,
  type Head,
  type Keyed,
  type MappingContext,
  quotePriceText,
} from './context.ts'
import { accountsOf, keeperOf, type OrientedSwap, vaultMoves, vaults } from './oriented-swap.ts'

/** A swap as its trade. */
export const tradeEvent = (
  context: MappingContext,
  side: OrientedSwap,
  place: Head,
): Keyed<Wire.TradeEvent> => {
  const { swap, base, quote, sells, baseRaw, quoteRaw } = side
  const vault = vaults(side)
  const [vaultBaseRaw, vaultQuoteRaw] = vaultMoves(side)
  const account = accountsOf(side)
  return {
    key: base,
    event: {
      trade: {
        token_a_address: base,
        token_b_address: quote,
        user_a_token_account_address: account.userA,
        user_a_account_owner_address: swap.trader,
        user_b_token_account_address: account.userB,
        user_b_account_owner_address: swap.trader,
        user_a_amount: String(baseRaw),
        user_b_amount: String(quoteRaw),
        was_original_direction: sells,
        token_a_decimals: decimalsOf(context, base),
        token_b_decimals: decimalsOf(context, quote),
        pool_address: swap.pool,
        vault_a: account.vaultA,
        vault_b: account.vaultB,
        vault_a_owner_address: keeperOf(swap),
        vault_b_owner_address: keeperOf(swap),
        vault_a_amount: String(vaultBaseRaw),
        vault_b_amount: String(vaultQuoteRaw),
        vault_a_pre_amount: vault.basePre,
        vault_b_pre_amount: vault.quotePre,
        vault_a_post_amount: vault.basePost,
        vault_b_post_amount: vault.quotePost,
      },
      ...place,
      ...quotePriceText(context, quote),
      ...curveRecord(swap.curve),
    },
  }
}
