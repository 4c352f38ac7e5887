import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  keccak256,
  parseAbi,
  parseAbiParameters,
} from 'viem'
import { EVM_ZERO_ADDRESS } from '../../schemas/burn-addresses.ts'

/** Calls of the contract of packets. Source: test/support/nodes/red-packets.sol. */
const CONTRACT = parseAbi([
  'function create(bytes32 salt, address token, uint256 total, uint16 maxClaims, bool isRandom, uint64 duration, address authority, string memo) payable',
  'function claim(bytes32 id, bytes signature)',
])

/** How the contract names the chain's native token, and that no signature is needed. */
const NO_ADDRESS: Address = EVM_ZERO_ADDRESS

/** Where packets of a chain are. */
export interface PacketContract {
  /** EIP-155 id. */
  readonly chainId: number
  readonly address: string
}

/** A packet as its creator wants it. */
export interface PacketTerms {
  readonly salt: Hex
  /** null: the chain's native token. */
  readonly token: string | null
  readonly totalRaw: bigint
  readonly maxClaims: number
  readonly isRandom: boolean
  readonly seconds: number
  /** null: every address may claim. */
  readonly authority: string | null
  readonly memo: string
}

/** The id that a packet will have: known before its transaction is sent. */
export const packetIdOf = ({ chainId, address }: PacketContract, creator: string, salt: Hex): Hex =>
  keccak256(
    encodeAbiParameters(parseAbiParameters('uint256, address, address, bytes32'), [
      ...([BigInt(chainId), address as Address, creator as Address, salt] as const),
    ]),
  )

/** What an authority signs (EIP-191) to let an address claim. */
export const claimMessage = (
  { chainId, address }: PacketContract,
  packetId: string,
  claimer: string,
): Hex =>
  keccak256(
    encodeAbiParameters(parseAbiParameters('uint256, address, bytes32, address'), [
      ...([BigInt(chainId), address as Address, packetId as Hex, claimer as Address] as const),
    ]),
  )

/** The call that creates a packet. */
export const createPacketData = (terms: PacketTerms): Hex => {
  const { salt, token, totalRaw, maxClaims, isRandom, seconds, authority, memo } = terms
  return encodeFunctionData({
    abi: CONTRACT,
    functionName: 'create',
    args: [
      ...([salt, (token ?? NO_ADDRESS) as Address, totalRaw, maxClaims, isRandom] as const),
      ...([BigInt(seconds), (authority ?? NO_ADDRESS) as Address, memo] as const),
    ],
  })
}

/** The call that claims; `signature` is empty where the packet has no authority. */
export const claimPacketData = (packetId: string, signature: Hex): Hex =>
  encodeFunctionData({
    abi: CONTRACT,
    functionName: 'claim',
    args: [packetId as Hex, signature],
  })
