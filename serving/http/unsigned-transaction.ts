import type { UnsignedTransaction } from '../dex/evm-calls.ts'

/** A transaction before it is signed, with its RLP. */
export interface SerializedTransaction {
  readonly hex: `0x${string}`
  readonly transaction: UnsignedTransaction
}

/** The RLP of a transaction in base 64, as answers carry it. */
export const serializedText = ({ hex }: SerializedTransaction): string =>
  Buffer.from(hex.slice(2), 'hex').toString('base64')

/** Fields of a transaction, for wallets that make the RLP themselves. */
export const transactionFields = ({ transaction }: SerializedTransaction) => {
  const { chainId, nonce, to, data, value, gas, fees } = transaction
  return {
    chainId,
    nonce,
    to,
    data,
    value: value.toString(),
    gas: gas.toString(),
    ...('gasPrice' in fees
      ? { gasPrice: fees.gasPrice.toString() }
      : {
          maxFeePerGas: fees.maxFeePerGas.toString(),
          maxPriorityFeePerGas: fees.maxPriorityFeePerGas.toString(),
        }),
  }
}
