import { readFileSync } from 'node:fs'
import { type Address, concatHex, encodeAbiParameters, type Hex, parseAbi } from 'viem'
import { until } from '../until.ts'
import type { AnvilClient } from './anvil.ts'

/** Creation code of `odd-token.sol`: solc 0.8.30, optimizer runs 200, viaIR, evm paris, no metadata. */
const CODE = readFileSync(new URL('./odd-token.hex', import.meta.url), 'utf8').trim() as Hex
const SUPPLY = 10n ** 27n

const ODD_TOKEN = parseAbi([
  'function addPool(address pool)',
  'function addSeller(address seller)',
  'function setTerms(uint256 buyFee, uint256 sellFee, uint256 closed)',
  'function seize(address from, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function approve(address spender, uint256 value) returns (bool)',
])

/** How a token treats purchases from its pools and sales to them. */
export interface OddTerms {
  /** Parts that are taken, in hundredths of a percent; default 0. */
  readonly buyFee?: number
  readonly sellFee?: number
  /** Sales of others than its sellers revert, or say false and move nothing; default: all may sell. */
  readonly closed?: 'reverts' | 'says false'
}

/** A token on a local node, and what its maker does with it; every step is mined when it resolves. */
export interface OddToken {
  readonly address: Address
  setTerms(terms: OddTerms): Promise<void>
  addPool(pool: Address): Promise<void>
  addSeller(seller: Address): Promise<void>
  /** Takes so much from an address. */
  seize(from: Address, amount: bigint): Promise<void>
  transfer(to: Address, amount: bigint): Promise<void>
}

/** Puts a token on a local node; the first account has a billion of it, and the spenders may take it. */
export const deployOddToken = async (
  client: AnvilClient,
  spenders: readonly Address[],
): Promise<OddToken> => {
  const supply = encodeAbiParameters([{ type: 'uint256' }], [SUPPLY])
  const made = await client.sendTransaction({ data: concatHex([CODE, supply]) })
  const { contractAddress: address } = await until(
    () => client.getTransactionReceipt({ hash: made }),
    'the receipt of the token',
  )
  if (!address) throw new Error('the token was not deployed')
  const mined = async (sent: Promise<Hex>): Promise<void> => {
    const hash = await sent
    const receipt = await until(() => client.getTransactionReceipt({ hash }), 'a receipt')
    if (receipt.status !== 'success') throw new Error('a call of the token reverted')
  }
  const token = { address, abi: ODD_TOKEN, gas: 200_000n } as const
  for (const spender of spenders) {
    const args = [spender, 2n ** 255n] as const
    await mined(client.writeContract({ ...token, functionName: 'approve', args }))
  }
  return {
    address,
    setTerms: ({ buyFee = 0, sellFee = 0, closed }) => {
      const sales = closed === undefined ? 0n : closed === 'reverts' ? 1n : 2n
      const args = [BigInt(buyFee), BigInt(sellFee), sales] as const
      return mined(client.writeContract({ ...token, functionName: 'setTerms', args }))
    },
    addPool: (pool) =>
      mined(client.writeContract({ ...token, functionName: 'addPool', args: [pool] })),
    addSeller: (seller) =>
      mined(client.writeContract({ ...token, functionName: 'addSeller', args: [seller] })),
    seize: (from, amount) =>
      mined(client.writeContract({ ...token, functionName: 'seize', args: [from, amount] })),
    transfer: (to, amount) =>
      mined(client.writeContract({ ...token, functionName: 'transfer', args: [to, amount] })),
  }
}
