import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { SupplyChange, TokenCreation, Transaction, Transfer } from '../../../schemas/events.ts'
import type { DecodeContext } from '../../decode/contract.ts'

/** What a transfer from or to the zero address does to its token's supply; undefined for all others. */
export const supplyChange = (transfer: Transfer): SupplyChange | undefined => {
  const { txIndex, logIndex, token, from, to, amountRaw } = transfer
  const mints = from === EVM_ZERO_ADDRESS
  if (mints === (to === EVM_ZERO_ADDRESS) || amountRaw === 0n) return undefined
  return { kind: 'supply', txIndex, logIndex, type: mints ? 'mint' : 'burn', token, amountRaw }
}

/**
 * The token that a transaction made: its new contract moved tokens of its own at once. `transfers` are the transaction's.
 * Tokens made by a contract for another account are not distinguished from others.
 */
export const tokenCreation = (
  { contractAddress, from }: Transaction,
  transfers: readonly Transfer[],
  context: DecodeContext,
): TokenCreation | undefined => {
  const first =
    contractAddress === null
      ? undefined
      : transfers.find(({ token, wrap }) => token === contractAddress && !wrap)
  if (first === undefined) return undefined
  const { token: address, txIndex, logIndex } = first
  return {
    kind: 'token-created',
    txIndex,
    logIndex,
    metadata: context.token?.(address) ?? {
      address,
      decimals: null,
      name: null,
      symbol: null,
      totalSupplyRaw: null,
    },
    dev: from,
    creators: [from],
    launch: null,
  }
}
