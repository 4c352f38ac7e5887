import type { Hash, Hex } from 'viem'
import type { AnvilClient } from './anvil.ts'

/** Who gets what the forwarder is sent. */
export const RECEIVER = `0x${'0'.repeat(37)}b0b` as const

/** Passes the value of its call on to `RECEIVER` with all gas, then stops. */
const FORWARDER_CODE = `5f5f5f5f3473${RECEIVER.slice(2)}5af100`
const sizeHex = (FORWARDER_CODE.length / 2).toString(16).padStart(2, '0')
/** Copies what stands behind it and leaves that as the contract. */
const FORWARDER_INIT_CODE = `0x60${sizeHex}600c60003960${sizeHex}6000f3${FORWARDER_CODE}` as Hex

/** Takes what it is sent and reverts. */
const REVERTER_INIT_CODE = '0x600480600b6000396000f35f5ffd00' as Hex

const deployCode = async (client: AnvilClient, data: Hex): Promise<Hex> => {
  const hash = await client.sendTransaction({ data })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  if (!contractAddress) throw new Error('nothing was made')
  return contractAddress
}

/** A contract that passes on what it is sent. */
export const deployForwarder = (client: AnvilClient): Promise<Hex> =>
  deployCode(client, FORWARDER_INIT_CODE)

/** A contract that refuses what it is sent. */
export const deployReverter = (client: AnvilClient): Promise<Hex> =>
  deployCode(client, REVERTER_INIT_CODE)

/** Sends value; the transaction may fail. Its hash and block. */
export const sendValue = async (
  client: AnvilClient,
  to: Hex,
  value: bigint,
): Promise<{ readonly hash: Hash; readonly height: number }> => {
  const hash = await client.sendTransaction({ to, value, gas: 200_000n })
  const { blockNumber } = await client.waitForTransactionReceipt({ hash })
  return { hash, height: Number(blockNumber) }
}
