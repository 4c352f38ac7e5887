import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { storedAddress } from '../../core/addresses.ts'
import type { ChainExtra } from '../../core/config/settings.ts'
import { Fault } from '../../core/errors.ts'
import { rateLimitAddress } from '../../core/http/network-address.ts'
import { nativeFormOf } from '../../core/prices/native-token.ts'
import { shareIdOf } from '../../core/share-id.ts'
import { ChainParam } from '../../schemas/api/common.ts'
import {
  ClaimRedPacketInput,
  ClaimRedPacketResponse,
  CreateRedPacketInput,
  CreateRedPacketResponse,
  SendRedPacketInput,
  SendRedPacketResponse,
} from '../../schemas/api/red-packet.ts'
import { chainRow, gasBoundsOf } from '../../schemas/chains.ts'
import { createEvmAccountReader, type EvmAccountReader } from '../dex/evm-account.ts'
import type { CallerNodes } from '../dex/node-turns.ts'
import { parseAmount } from '../dex/swap-terms.ts'
import { redPacketClaimOf } from '../queries/red-packets.ts'
import { buildClaim, buildCreation } from '../red-packets/build.ts'
import { statusOf } from '../red-packets/packet-body.ts'
import { claimMessage, type PacketContract, packetIdOf } from '../red-packets/packet-calls.ts'
import { packetState, storedPacketId } from '../red-packets/packet-reader.ts'
import type { PasswordAttempts } from '../red-packets/password-attempts.ts'
import { type PasswordAuthority, signerOfMessage } from '../red-packets/password-authority.ts'
import { requirePrincipal } from './account.ts'
import {
  parseChain,
  parseTokenAddress,
  parseWalletAddress,
  type RequestedChain,
} from './chain-parameters.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import type { RouteDeps } from './deps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'
import type { TransactionSender } from './transaction-sender.ts'
import {
  type SerializedTransaction,
  serializedText,
  transactionFields,
} from './unsigned-transaction.ts'

type Hex = `0x${string}`

/** What transactions of packets work with. */
export interface RedPacketTransactionDeps extends RouteDeps {
  readonly nodeReads: CallerNodes
  readonly send: TransactionSender
  readonly config: { readonly chainExtra: Readonly<Record<string, ChainExtra>> }
  readonly authorities: PasswordAuthority
  readonly attempts: PasswordAttempts
}

/** Row id of the protocol whose transactions are built. */
const BUILT_PROTOCOL = 'red_packets'
const TAGS = ['red packet']
const DEFAULT_SECONDS = 86_400
const MAX_MEMO_BYTES = 256
const ORIGIN = { params: Type.Object({ chain: ChainParam }), tags: TAGS }

interface PacketChain {
  readonly chain: RequestedChain
  readonly contract: PacketContract
  readonly reader: EvmAccountReader
}

/**
 * The chain of a request with the contract of its packets and a node. Throws `Fault` NOT_IMPLEMENTED where no contract is listed,
 * CHAIN_NOT_SUPPORTED, PROVIDER_NOT_INITIALIZED.
 */
const packetChainOf = (
  { chains, nodeReads, config }: RedPacketTransactionDeps,
  word: string,
): PacketChain => {
  const chain = parseChain(word, chains)
  const { chainId } = chainRow(chain.id) ?? {}
  if (chainId === undefined) throw new Fault('NOT_IMPLEMENTED')
  if (!chain.enabled) throw new Fault('CHAIN_NOT_SUPPORTED')
  const listed = config.chainExtra[chain.id]?.factories ?? []
  const address = listed.find(({ protocol }) => protocol === BUILT_PROTOCOL)?.factory
  if (address === undefined) {
    const reason = 'no contract of red packets is listed for the chain (CHAIN_EXTRA)'
    throw new Fault('NOT_IMPLEMENTED', undefined, { reason })
  }
  const pool = nodeReads.of(chain.id)
  if (pool === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
  return {
    chain,
    contract: { chainId, address },
    reader: createEvmAccountReader(pool, gasBoundsOf(chain.id)),
  }
}

const transactionBody = (built: SerializedTransaction) => ({
  txSerialize: serializedText(built),
  txHex: built.hex,
  tx: transactionFields(built),
})

const invalid = (parameter: string, reason: string): Fault =>
  new Fault('INVALID_PARAMETER', undefined, { parameter, reason })

/** What a packet holds in all, and how it is split. Throws `Fault` PARAMETER_ERROR and those of amounts. */
const splitOf = ({ totalAmount, fixedAmount, maxClaims }: CreateRedPacketInput) => {
  if ((totalAmount === undefined) === (fixedAmount === undefined)) {
    throw new Fault('PARAMETER_ERROR')
  }
  const isRandom = totalAmount !== undefined
  const each = parseAmount(totalAmount ?? fixedAmount ?? '')
  const totalRaw = isRandom ? each : parseAmount((each * BigInt(maxClaims)).toString())
  if (totalRaw < BigInt(maxClaims)) {
    const details = { parameter: 'totalAmount', minimum: maxClaims }
    throw new Fault('AMOUNT_TOO_SMALL', 'Each claim needs a unit of the amount', details)
  }
  return { totalRaw, isRandom }
}

/**
 * The token that a packet is paid in; null: the chain's native token, under whatever address or name. Throws `Fault`
 * INVALID_TOKEN_ADDRESS.
 */
export const packetToken = (id: string, text: string, extra?: ChainExtra): string | null => {
  const row = chainRow(id)
  const isNative = row && nativeFormOf(row, storedAddress(id, text) ?? text, extra) !== undefined
  return isNative ? null : parseTokenAddress(id, text, 'mint')
}

const createPacket = async (
  deps: RedPacketTransactionDeps,
  { chain, contract, reader }: PacketChain,
  { body, orgId }: { readonly body: CreateRedPacketInput; readonly orgId: string },
) => {
  const split = splitOf(body)
  const creator = parseWalletAddress(chain.id, body.creator, 'creator')
  const token = packetToken(chain.id, body.mint, deps.config.chainExtra[chain.id])
  const memo = body.memo ?? ''
  if (Buffer.byteLength(memo) > MAX_MEMO_BYTES) throw invalid('memo', 'longer than 256 bytes')
  if (body.password !== undefined && body.claimAuthority !== undefined)
    throw invalid('claimAuthority', 'not together with a password')
  const salt: Hex = `0x${randomBytes(32).toString('hex')}`
  const packetId = packetIdOf(contract, creator, salt)
  const { password, claimAuthority } = body
  const authority =
    claimAuthority === undefined
      ? null
      : parseWalletAddress(chain.id, claimAuthority, 'claimAuthority')
  const terms = {
    ...split,
    salt,
    token,
    authority,
    memo,
    maxClaims: body.maxClaims,
    seconds: body.expiration ?? DEFAULT_SECONDS,
    ...(password !== undefined && {
      authorityOf: async () =>
        (await deps.authorities(packetId, password, orgId)).address.toLowerCase(),
    }),
  }
  const built = await buildCreation(reader, contract, creator, terms)
  return {
    ...transactionBody(built),
    packetId,
    shareId: shareIdOf(chain.id, packetId),
    simulated: built.simulated,
    ...(built.approval && { approval: built.approval }),
  }
}

/** A packet that can be claimed from. Throws `Fault` RED_PACKET_NOT_FOUND, NOT_IMPLEMENTED, RED_PACKET_WITHDRAWN. */
const claimablePacket = async (
  deps: RedPacketTransactionDeps,
  { chain, contract }: PacketChain,
  id: string,
) => {
  const state = await packetState(deps, { chains: [chain.id], id: storedPacketId(id) })
  const { row } = state
  if (row.protocol !== BUILT_PROTOCOL || row.contract !== contract.address)
    throw new Fault('NOT_IMPLEMENTED')
  const status = statusOf(state)
  if (status !== 'active') throw new Fault('RED_PACKET_WITHDRAWN', undefined, { status })
  return row
}

interface Claim {
  /** Internal id. */
  readonly chain: string
  readonly claimer: string
  readonly packetId: string
  readonly authority: string
  readonly message: Hex
}

/**
 * The signature that a claim needs: made for the right password, or the caller's own where it is the authority's. The same error
 * for everything else.
 */
const claimSignature = async (
  deps: RedPacketTransactionDeps,
  { chain, authority, message, packetId }: Claim,
  {
    body,
    callers,
    orgId,
  }: {
    readonly body: ClaimRedPacketInput
    readonly callers: readonly string[]
    readonly orgId: string
  },
): Promise<Hex> => {
  if (authority === '') return '0x'
  const denied = new Fault('FORBIDDEN', 'The packet needs its password or a signature', {
    authority,
    message,
  })
  if (body.signature !== undefined) {
    const signature = body.signature as Hex
    if ((await signerOfMessage(message, signature)) !== authority) throw denied
    return signature
  }
  const { password } = body
  if (password === undefined) throw denied
  let signature: Hex | undefined
  await deps.attempts.attempt({ packet: `${chain} ${packetId}`, callers }, async () => {
    const account = await deps.authorities(packetId, password, orgId)
    if (account.address.toLowerCase() !== authority) return false
    signature = await account.signMessage({ message: { raw: message } })
    return true
  })
  if (signature === undefined) throw denied
  return signature
}

const claimPacket = async (
  deps: RedPacketTransactionDeps,
  packetChain: PacketChain,
  request: FastifyRequest,
  body: ClaimRedPacketInput,
) => {
  const { chain, contract, reader } = packetChain
  const id = body.packetId ?? body.shareId
  if (id === undefined) throw new Fault('RED_PACKET_INVALID_PARAMETER')
  const claimer = parseWalletAddress(chain.id, body.claimer, 'claimer')
  const row = await claimablePacket(deps, packetChain, id)
  const packetId = row.packet_id
  const { rows } = await deps.warehouse.query<{ readonly total: string }>(
    redPacketClaimOf(row, claimer),
  )
  if (Number(rows[0]?.total ?? 0) > 0) throw new Fault('RED_PACKET_ALREADY_CLAIMED')
  const { orgId } = requirePrincipal(request.principal)
  const message = claimMessage(contract, packetId, claimer)
  const claim = { chain: chain.id, claimer, packetId, authority: row.authority, message }
  const address = rateLimitAddress(request.caller)
  const callers = [`org ${orgId}`, `address ${address}`]
  const signature = await claimSignature(deps, claim, { body, callers, orgId })
  return transactionBody(await buildClaim(reader, contract, { claimer, packetId, signature }))
}

/** Unsigned transactions of packets, and their way to the chain. */
export const redPacketTransactionRoutes =
  (deps: RedPacketTransactionDeps): RoutePlugin =>
  async (app) => {
    const takeSlot = createConcurrencyLimit()
    app.post(
      '/redpacket/:chain/create',
      {
        schema: {
          ...ORIGIN,
          summary: 'The unsigned transaction that creates a red packet',
          body: CreateRedPacketInput,
          response: { 200: CreateRedPacketResponse },
        },
        config: pricedRoute('POST /redpacket/:chain/create'),
      },
      async ({ params, body, principal }, reply) => {
        takeSlot(principal, reply)
        const { orgId } = requirePrincipal(principal)
        return createPacket(deps, packetChainOf(deps, params.chain), { body, orgId })
      },
    )
    app.post(
      '/redpacket/:chain/claim',
      {
        schema: {
          ...ORIGIN,
          summary: 'The unsigned transaction that claims a share of a red packet',
          body: ClaimRedPacketInput,
          response: { 200: ClaimRedPacketResponse },
        },
        config: pricedRoute('POST /redpacket/:chain/claim'),
      },
      async (request, reply) => {
        const { params, body, principal } = request
        takeSlot(principal, reply)
        return claimPacket(deps, packetChainOf(deps, params.chain), request as FastifyRequest, body)
      },
    )
    app.post(
      '/redpacket/:chain/send',
      {
        schema: {
          ...ORIGIN,
          summary: 'Sends a signed transaction of a red packet',
          body: SendRedPacketInput,
          response: { 200: SendRedPacketResponse },
        },
        config: pricedRoute('POST /redpacket/:chain/send'),
      },
      async ({ params, body, principal }, reply) => {
        const { orgId } = requirePrincipal(principal)
        const chain = parseChain(params.chain, deps.chains)
        try {
          const request = { orgId, chain, signedTx: body.signedTx, isProtected: false }
          return await deps.send(request, reply)
        } catch (error) {
          if (!(error instanceof Fault) || error.faultName !== 'TRANSACTION_FAILED') throw error
          throw new Fault('RED_PACKET_TRANSACTION_ERROR', undefined, error.details)
        }
      },
    )
  }
