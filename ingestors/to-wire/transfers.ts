import { formatUnits } from '../../core/amounts.ts'
import type { BalanceChange, Transfer } from '../../schemas/events.ts'
import type * as Wire from '../../schemas/wire.ts'
import type { SuppliedChange } from './context.ts'
import { decimalsOf, type Head, type Keyed, type MappingContext } from './context.ts'
import { UNKNOWN_DECIMALS } from './tokens.ts'

/** A token that moved, keyed by the token. */
export const transferEvent = (
  context: MappingContext,
  { token, from, to, fromAccount, toAccount, amountRaw, callIndex }: Transfer,
  place: Head,
): Keyed<Wire.TransferEvent> => ({
  key: token,
  event: {
    transfer: {
      sender_token_account_address: fromAccount ?? '',
      sender_account_owner_address: from,
      receiver_token_account_address: toAccount ?? '',
      receiver_account_owner_address: to,
      token_address: token,
      token_amount: String(amountRaw),
      token_decimals: decimalsOf(context, token),
      ...(callIndex !== undefined && { call_index: callIndex }),
      success: true,
    },
    ...place,
  },
})

const LIFECYCLES = {
  new: 'ACCOUNT_LIFECYCLE_NEW',
  existing: 'ACCOUNT_LIFECYCLE_EXISTING',
  closed: 'ACCOUNT_LIFECYCLE_CLOSED',
} as const

/** What an account holds after a transaction, keyed by its owner. */
export const balanceEvent = (
  context: MappingContext,
  { account, owner, token, decimals, preRaw, postRaw, lifecycle }: BalanceChange,
  place: Head,
): Keyed<Wire.BalanceEvent> => ({
  key: owner,
  event: {
    balance: {
      token_account_address: account,
      account_owner_address: owner,
      token_address: token,
      pre_amount: String(preRaw),
      post_amount: String(postRaw),
      decimals: decimals ?? decimalsOf(context, token),
      lifecycle: LIFECYCLES[lifecycle],
    },
    ...place,
  },
})

const SUPPLY_TYPES = {
  initialize: 'TOKEN_SUPPLY_EVENT_TYPE_INITIALIZE_MINT',
  mint: 'TOKEN_SUPPLY_EVENT_TYPE_MINT',
  burn: 'TOKEN_SUPPLY_EVENT_TYPE_BURN',
} as const

/** A supply that changed, keyed by the token; what it is afterwards only where that is known. */
export const supplyEvent = (
  context: MappingContext,
  { token, type, amountRaw, postRaw }: SuppliedChange,
  place: Head,
): Keyed<Wire.TokenSupplyEvent> => {
  const decimals = decimalsOf(context, token)
  const units = (raw: bigint | null): string =>
    raw === null || decimals === null ? '' : formatUnits(raw, decimals)
  return {
    key: token,
    event: {
      type: SUPPLY_TYPES[type],
      ...place,
      token_supply: {
        token_address: token,
        amount: String(amountRaw),
        decimals: decimals ?? UNKNOWN_DECIMALS,
        amount_without_decimals: String(amountRaw),
        amount_with_decimals: units(amountRaw),
        post_amount_with_decimals: units(postRaw),
      },
    },
  }
}
