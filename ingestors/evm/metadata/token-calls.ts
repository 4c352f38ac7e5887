import type { TokenMetadata } from '../../../schemas/events.ts'
import type { UnreadName } from '../../decode/contract.ts'
import type { Call, CallAnswer } from '../abi/call.ts'
import { callText, isUnreadable } from '../abi/call-text.ts'
import { decodeUint } from '../abi/result.ts'

const NAME = '0x06fdde03' // name()
const SYMBOL = '0x95d89b41' // symbol()
const DECIMALS = '0x313ce567' // decimals()
const TOTAL_SUPPLY = '0x18160ddd' // totalSupply()

const MAX_NAME = 128
const MAX_SYMBOL = 64

/** What to ask a token. */
export const tokenCalls = (token: string): readonly Call[] =>
  [NAME, SYMBOL, DECIMALS, TOTAL_SUPPLY].map((data) => ({ to: token, data }))

/** The answers to `tokenCalls`, in their order. What was not answered in shape is null. */
export const tokenMetadata = (
  address: string,
  [name, symbol, decimals, totalSupply]: readonly CallAnswer[],
): TokenMetadata => {
  const decimalCount = decodeUint(dataOf(decimals), 255n)
  return {
    address,
    decimals: decimalCount === null ? null : Number(decimalCount),
    name: name?.kind === 'value' ? callText(name.data, MAX_NAME) : null,
    symbol: symbol?.kind === 'value' ? callText(symbol.data, MAX_SYMBOL) : null,
    totalSupplyRaw: decodeUint(dataOf(totalSupply), (1n << 256n) - 1n),
  }
}

/** What is kept of an answer that cannot be shown, in characters of hex. */
const MAX_SAID = 2_048

/** The names among the answers to `tokenCalls` that cannot be displayed. */
export const unreadNames = (
  address: string,
  [name, symbol]: readonly CallAnswer[],
): readonly UnreadName[] =>
  [name, symbol].flatMap((answer) => {
    const data = dataOf(answer)
    if (data === undefined || !isUnreadable(data)) return []
    return [{ address, reason: 'bad-name', said: data.slice(0, MAX_SAID) }]
  })

const dataOf = (answer: CallAnswer | undefined): string | undefined =>
  answer?.kind === 'value' ? answer.data : undefined
