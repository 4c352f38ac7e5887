import { Fault } from '../../core/errors.ts'
import type { EvmAccountReader } from '../dex/evm-account.ts'
import { approveData, type UnsignedTransaction, unsignedHex } from '../dex/evm-calls.ts'
import { withGasMargin } from '../dex/evm-swap.ts'
import {
  claimPacketData,
  createPacketData,
  type PacketContract,
  type PacketTerms,
} from './packet-calls.ts'

/** A transaction that is ready to be signed. */
interface BuiltTransaction {
  readonly hex: `0x${string}`
  readonly transaction: UnsignedTransaction
}

/** A packet to be created. */
interface CreationTerms extends PacketTerms {
  /** Makes the authority, with much work; instead of the given one. */
  readonly authorityOf?: () => Promise<string>
}

/** One that pays a packet in. */
interface BuiltCreation extends BuiltTransaction {
  /** It was run against the newest block; false: what is paid in may not be taken yet, and the gas is a fixed one. */
  readonly simulated: boolean
  /** What must be signed first: the contract may not yet take what is paid in. */
  readonly approval: {
    readonly token: string
    readonly spender: string
    readonly data: string
  } | null
}

/** Gas of a creation that cannot be run yet, because its approval is missing. */
const CREATION_GAS = 350_000n

/** What the contract says where a claim has failed, and which error that is. Source: test/support/nodes/red-packets.sol. */
const REVERTS = [
  [/claimed already/, 'RED_PACKET_ALREADY_CLAIMED'],
  [/packet has expired|packet is claimed out/, 'RED_PACKET_WITHDRAWN'],
  [/no such packet/, 'RED_PACKET_NOT_FOUND'],
] as const

/** Throws the `Fault` of what a simulated call has failed with. */
const gasOf = async (
  reader: EvmAccountReader,
  call: Parameters<EvmAccountReader['gasOf']>[0],
): Promise<bigint> => {
  try {
    return withGasMargin(await reader.gasOf(call))
  } catch (error) {
    if (!(error instanceof Fault) || error.faultName !== 'DEX_SWAP_SIMULATED_FAILED') throw error
    const details = JSON.stringify(error.details ?? {})
    const [, name] = REVERTS.find(([pattern]) => pattern.test(details)) ?? []
    throw new Fault(name ?? 'TRANSACTION_FAILED', undefined, error.details)
  }
}

/**
 * The unsigned transaction that pays a packet in. Throws `Fault` INSUFFICIENT_BALANCE, TRANSACTION_FAILED where it would revert at the
 * newest block, CHAIN_CONNECTION_ERROR, and what `authorityOf` throws, which is asked only for what can be paid.
 */
export const buildCreation = async (
  reader: EvmAccountReader,
  contract: PacketContract,
  creator: string,
  { authorityOf, ...given }: CreationTerms,
): Promise<BuiltCreation> => {
  const { token, totalRaw } = given
  const account = await reader.account(creator, token, contract.address)
  if (account.balanceRaw < totalRaw) {
    throw new Fault('INSUFFICIENT_BALANCE', undefined, {
      required: totalRaw.toString(),
      available: account.balanceRaw.toString(),
    })
  }
  const authority = authorityOf ? await authorityOf() : given.authority
  const data = createPacketData({ ...given, authority })
  const valueRaw = token === null ? totalRaw : 0n
  const isAllowed = account.allowanceRaw >= totalRaw
  const call = { from: creator, to: contract.address, data, valueRaw }
  const gas = isAllowed ? await gasOf(reader, call) : CREATION_GAS
  const transaction = {
    chainId: contract.chainId,
    nonce: account.nonce,
    gas,
    to: contract.address,
    value: valueRaw,
    data,
    fees: await reader.fees(),
  }
  return {
    hex: unsignedHex(transaction),
    transaction,
    simulated: isAllowed,
    approval:
      isAllowed || token === null
        ? null
        : { token, spender: contract.address, data: approveData(contract.address, totalRaw) },
  }
}

/**
 * The unsigned transaction of a claim. Throws `Fault` RED_PACKET_ALREADY_CLAIMED, RED_PACKET_WITHDRAWN and TRANSACTION_FAILED where it
 * would revert at the newest block, CHAIN_CONNECTION_ERROR.
 */
export const buildClaim = async (
  reader: EvmAccountReader,
  contract: PacketContract,
  {
    claimer,
    packetId,
    signature,
  }: {
    readonly claimer: string
    readonly packetId: string
    readonly signature: `0x${string}`
  },
): Promise<BuiltTransaction> => {
  const account = await reader.account(claimer, null, contract.address)
  const data = claimPacketData(packetId, signature)
  const gas = await gasOf(reader, { from: claimer, to: contract.address, data, valueRaw: 0n })
  const transaction = {
    chainId: contract.chainId,
    nonce: account.nonce,
    gas,
    to: contract.address,
    value: 0n,
    data,
    fees: await reader.fees(),
  }
  return { hex: unsignedHex(transaction), transaction }
}
