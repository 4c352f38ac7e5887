/**
 * Columns `valued_bought` and `valued_sold` of a row of `wallet_token_pnl`: the part of what was bought and sold whose value is
 * known, in token units. Rows of before it was counted have everything.
 */
export const valuedAmountsSql = (row = ''): string => {
  const from = row === '' ? '' : `${row}.`
  return `ifNull(${from}valued_buy_amount, ${from}buy_amount) AS valued_bought, ifNull(${from}valued_sell_amount, ${from}sell_amount) AS valued_sold`
}

/** Money that is summed, in 256 bits: a sum of 128 bits turns to the other sign beyond 1.7e26, which two absurd prices reach. */
export const wideMoney = (sql: string): string => `toDecimal256(${sql}, 12)`
