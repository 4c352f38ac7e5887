import type { MoveBalanceChange, MoveTransaction, Transfer } from '../../../schemas/events.ts'
import { SUI_COIN_TYPE } from '../protocols/tx-context.ts'

/**
 * Transfers that the changes of holdings tell: what one owner lost went to all who gained of the same coin, or what one
 * gained came from all who lost. Where several lost and several gained, or the many moved more than the one, nothing says
 * who paid whom. Coins that went into pools or came out of them have no second owner. They stand behind all events.
 */
export const addTransfers = (tx: MoveTransaction, out: Transfer[]): void => {
  if (!tx.success || tx.deltas.length < 2) return
  for (const [coin, deltas] of groupByCoin(withoutFee(tx))) {
    const lost = deltas.filter(({ deltaRaw }) => deltaRaw < 0n)
    const gained = deltas.filter(({ deltaRaw }) => deltaRaw > 0n)
    const [from] = lost
    const [to] = gained
    if (from === undefined || to === undefined) continue
    const one = lost.length === 1 ? from : gained.length === 1 ? to : undefined
    if (one === undefined) continue
    const many = one === from ? gained : lost
    if (totalAbsolute(...many) > totalAbsolute(one)) continue
    for (const other of many) {
      out.push({
        kind: 'transfer',
        txIndex: tx.index,
        logIndex: (tx.events.at(-1)?.index ?? -1) + 1,
        token: coin,
        from: one === from ? one.owner : other.owner,
        to: one === from ? other.owner : one.owner,
        amountRaw: totalAbsolute(other),
        wrap: false,
      })
    }
  }
}

const totalAbsolute = (...deltas: readonly MoveBalanceChange[]): bigint =>
  deltas.reduce((sum, { deltaRaw }) => sum + (deltaRaw < 0n ? -deltaRaw : deltaRaw), 0n)

/** Changes without what the payer paid for the transaction. */
const withoutFee = ({ deltas, gasOwner, feeRaw }: MoveTransaction): readonly MoveBalanceChange[] =>
  deltas.map((delta) =>
    delta.coin === SUI_COIN_TYPE && delta.owner === gasOwner
      ? { ...delta, deltaRaw: delta.deltaRaw + feeRaw }
      : delta,
  )

const groupByCoin = (
  deltas: readonly MoveBalanceChange[],
): ReadonlyMap<string, readonly MoveBalanceChange[]> => {
  const coins = new Map<string, MoveBalanceChange[]>()
  for (const delta of deltas) {
    const list = coins.get(delta.coin)
    if (list === undefined) coins.set(delta.coin, [delta])
    else list.push(delta)
  }
  return coins
}
