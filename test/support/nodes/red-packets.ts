import { readFileSync } from 'node:fs'
import { type Address, type Hex, parseAbi } from 'viem'
import { until } from '../until.ts'
import type { AnvilClient } from './anvil.ts'

/** Creation code of `red-packets.sol`: solc 0.8.30, optimizer runs 200, viaIR, evm paris, no metadata. */
const CODE = readFileSync(new URL('./red-packets.hex', import.meta.url), 'utf8').trim() as Hex

/** What tests ask of the contract itself. */
export const RED_PACKETS_ABI = parseAbi([
  'function create(bytes32 salt, address token, uint256 total, uint16 maxClaims, bool isRandom, uint64 duration, address authority, string memo) payable returns (bytes32)',
  'function claim(bytes32 id, bytes signature) returns (uint256)',
  'function refund(bytes32 id) returns (uint256)',
  'function packetId(address creator, bytes32 salt) view returns (bytes32)',
  'function packets(bytes32) view returns (address creator, uint64 expiresAt, uint16 maxClaims, uint16 claimed, bool isRandom, address token, address authority, uint256 remaining)',
])

/** Puts the contract on a local node. */
export const deployRedPackets = async (client: AnvilClient): Promise<Address> => {
  const hash = await client.sendTransaction({ data: CODE })
  const receipt = await until(
    () => client.getTransactionReceipt({ hash }),
    'the contract of packets is there',
  )
  if (!receipt.contractAddress) throw new Error('the contract of packets was not deployed')
  return receipt.contractAddress
}
