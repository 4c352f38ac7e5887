import { type Fields, fieldsOf, listOf } from '../../input/json.ts'

/** Fields of receipts that are quantities; ethers prints them as numbers, texts or objects. */
const QUANTITIES = [
  'blockNumber',
  'transactionIndex',
  'gasUsed',
  'cumulativeGasUsed',
  'effectiveGasPrice',
  'status',
  'type',
] as const

/** A quantity as nodes write it, from a number, a decimal text or a `BigNumber` object; anything else as it is. */
const quantity = (value: unknown): unknown => {
  if (typeof value === 'object' && value !== null) {
    const { hex, _hex } = value as Fields
    return hex ?? _hex ?? value
  }
  if (typeof value === 'string' && /^[0-9]{1,78}$/.test(value)) return hexOf(BigInt(value))
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? hexOf(BigInt(value))
    : value
}

const hexOf = (value: bigint): string => `0x${value.toString(16)}`

const withQuantities = (raw: Fields): Record<string, unknown> => {
  const plain: Record<string, unknown> = { ...raw }
  for (const key of QUANTITIES) if (key in raw) plain[key] = quantity(raw[key])
  return plain
}

/**
 * A receipt as ethers.js prints it, in the form of nodes: `index` of its logs is their `logIndex`, in its version 6 `hash`, `index`
 * and `gasPrice` are the receipt's. One that is in that form already stays as it is. Throws `InvalidInput`; reasons `not-an-object`,
 * `not-a-list`.
 */
export const nodeReceipt = (value: unknown): Fields => {
  const raw = fieldsOf(value, 'receipt')
  const logs = listOf(raw.logs, 'receipt.logs').map((log) => {
    const each = fieldsOf(log, 'log')
    return { ...withQuantities(each), logIndex: quantity(each.logIndex ?? each.index) }
  })
  return {
    ...withQuantities(raw),
    transactionHash: raw.transactionHash ?? raw.hash,
    transactionIndex: quantity(raw.transactionIndex ?? raw.index),
    effectiveGasPrice: quantity(raw.effectiveGasPrice ?? raw.gasPrice),
    logs,
  }
}
