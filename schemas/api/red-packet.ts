import { type Static, Type } from 'typebox'
import { closedObject, namedObject, nullable, PAGE_QUERY } from './common.ts'
import { UnsignedEvmTransaction } from './swap.ts'

/** Path parameter of one red packet. */
export const RED_PACKET_PARAM = {
  id: Type.String({
    maxLength: 128,
    description: 'Address of the packet, its id in its contract, or its share id',
    examples: ['7TqVxm3Kfa'],
  }),
}

/** Path parameter of a wallet on any chain. */
export const RED_PACKET_WALLET_PARAM = {
  address: Type.String({ maxLength: 128, description: 'Address of a wallet' }),
}

/** Query of every list of packets or claims: unlike other lists these take the words of version 1 too, under every version. */
export const RED_PACKET_PAGE_QUERY = {
  ...PAGE_QUERY,
  direction: Type.Optional(
    Type.String({
      pattern: '^([nN][eE][xX][tT]|[pP][rR][eE][vV]|[aA][sS][cC]|[dD][eE][sS][cC])$',
      default: 'next',
      description:
        'next or desc: newest first; prev: the page before the cursor; asc: oldest first. In upper or lower case',
    }),
  ),
}

/** What narrows the list of all packets. */
export const RED_PACKETS_QUERY = {
  ...RED_PACKET_PAGE_QUERY,
  creator: Type.Optional(Type.String({ maxLength: 128, description: 'Who created it' })),
  chain: Type.Optional(Type.String({ maxLength: 64, description: 'Chain id or name' })),
}

/** States of a packet, as the chain's newest block has them. */
const RED_PACKET_STATUSES = ['active', 'exhausted', 'expired', 'withdrawn'] as const
export type RedPacketStatus = (typeof RED_PACKET_STATUSES)[number]

const BASE_UNITS = Type.String({ description: 'Base units' })

const PACKET_FIELDS = {
  chain: Type.String(),
  id: Type.String({ description: 'Address of the packet, or its id in its contract' }),
  creator: Type.String(),
  mint: Type.String({ description: "Token; the chain's native token under its wrapped address" }),
  totalAmount: BASE_UNITS,
  maxClaims: Type.Integer(),
  shareId: Type.String({ description: 'Short public code' }),
  txHash: Type.String({ description: 'Transaction that created it' }),
  expired: Type.Boolean({ description: 'Past its end, or withdrawn' }),
  expiration: Type.Integer({ description: 'Seconds from its creation to its end' }),
  createdAt: Type.Integer({ description: 'Epoch ms' }),
  expiredAt: Type.Integer({ description: 'Epoch ms' }),
  claimedCount: Type.Integer(),
  refundedAmount: BASE_UNITS,
  status: Type.Enum(RED_PACKET_STATUSES),
  mode: Type.Enum(['equal', 'random']),
}

/** A gift that several addresses share. */
export const RedPacket = namedObject('RedPacket', {
  ...PACKET_FIELDS,
  memo: nullable(Type.String()),
  claimAuthority: nullable(
    Type.String({ description: 'Whose signature a claim needs; null: none, or not known' }),
  ),
  claimedAmount: BASE_UNITS,
})
export type RedPacket = Static<typeof RedPacket>

/** The same as the paths without version and of version 1 answer it. */
export const RedPacketV1 = namedObject('RedPacketV1', {
  ...PACKET_FIELDS,
  memo: Type.String(),
  claimAuthority: Type.String(),
  claimedAmount: Type.Integer({ description: 'Base units, every digit' }),
})

/** One share that was taken. */
export const RedPacketClaim = namedObject('RedPacketClaim', {
  packetId: Type.String(),
  chain: Type.String(),
  claimer: Type.String(),
  creator: nullable(Type.String({ description: 'null: the creation was not seen' })),
  mint: Type.String(),
  amount: BASE_UNITS,
  claimedAt: Type.Integer({ description: 'Epoch ms' }),
  txHash: Type.String(),
})
export type RedPacketClaim = Static<typeof RedPacketClaim>

const pageFields = {
  total: Type.Integer({ description: 'Rows of the whole list' }),
  hasNextPage: Type.Boolean(),
  startCursor: nullable(Type.String()),
  endCursor: nullable(Type.String()),
  nextCursor: Type.String({ description: 'Empty at the end' }),
  hasMore: Type.Boolean(),
}

/** A page of packets, newest first. */
export const RedPacketsPage = namedObject('RedPacketsPage', {
  records: Type.Array(RedPacket),
  ...pageFields,
})

/** A page of packets as version 1 answers it. */
export const RedPacketsPageV1 = namedObject('RedPacketsPageV1', {
  records: Type.Array(RedPacketV1),
  ...pageFields,
})

/** A page of claims, newest first. */
export const RedPacketClaimsPage = namedObject('RedPacketClaimsPage', {
  records: Type.Array(RedPacketClaim),
  ...pageFields,
})

const ADDRESS = (about: string) => Type.String({ maxLength: 128, description: about })
const AMOUNT = (about: string) => Type.Optional(Type.String({ maxLength: 100, description: about }))
const PASSWORD = Type.Optional(Type.String({ minLength: 1, maxLength: 256 }))

/** Body of POST `/redpacket/{chain}/create`. */
export const CreateRedPacketInput = closedObject('CreateRedPacketInput', {
  creator: ADDRESS('Who pays it in and signs'),
  mint: ADDRESS(
    "Token; the chain's native token by its symbol, its wrapped or zero address, or another usual one",
  ),
  maxClaims: Type.Integer({ minimum: 1, maximum: 100 }),
  totalAmount: AMOUNT('Base units that are split at random; or fixedAmount'),
  fixedAmount: AMOUNT('Base units of each claim; or totalAmount'),
  memo: Type.Optional(Type.String({ maxLength: 256, description: 'At most 256 bytes' })),
  password: PASSWORD,
  claimAuthority: Type.Optional(ADDRESS('Whose signature each claim needs; not with a password')),
  expiration: Type.Optional(
    Type.Integer({ minimum: 60, maximum: 2_592_000, description: 'Seconds; default: 86400' }),
  ),
})
export type CreateRedPacketInput = Static<typeof CreateRedPacketInput>

const TRANSACTION_FIELDS = {
  txSerialize: Type.String({ description: 'The unsigned transaction, RLP in base 64' }),
  txHex: Type.String({ description: 'The same in hex' }),
  tx: UnsignedEvmTransaction,
}

/** Answer of POST `/redpacket/{chain}/create`. */
export const CreateRedPacketResponse = namedObject('CreateRedPacketResponse', {
  ...TRANSACTION_FIELDS,
  shareId: Type.String({ description: 'Short public code of the packet' }),
  packetId: Type.String({ description: 'Its id in the contract' }),
  simulated: Type.Boolean({
    description: 'It was run against the newest block; not while its approval is missing',
  }),
  approval: Type.Optional(
    namedObject('RedPacketApproval', {
      token: Type.String({ description: 'Whom to call' }),
      spender: Type.String({ description: 'The contract of packets' }),
      data: Type.String({ description: 'The call that lets it take what is paid in' }),
    }),
  ),
})

/** Body of POST `/redpacket/{chain}/claim`. */
export const ClaimRedPacketInput = closedObject('ClaimRedPacketInput', {
  claimer: ADDRESS('Who takes a share and signs'),
  packetId: Type.Optional(Type.String({ maxLength: 128 })),
  shareId: Type.Optional(Type.String({ maxLength: 64 })),
  password: PASSWORD,
  signature: Type.Optional(
    Type.String({
      pattern: '^0x[0-9a-fA-F]{130}$',
      maxLength: 132,
      description: "The authority's signature, where it is not a password's",
    }),
  ),
})

export type ClaimRedPacketInput = Static<typeof ClaimRedPacketInput>

/** Answer of POST `/redpacket/{chain}/claim`. */
export const ClaimRedPacketResponse = namedObject('ClaimRedPacketResponse', TRANSACTION_FIELDS)

/** Body of POST `/redpacket/{chain}/send`. */
export const SendRedPacketInput = closedObject('SendRedPacketInput', {
  signedTx: Type.String({
    minLength: 1,
    maxLength: 262_146,
    description: 'The signed transaction: base 64, or hexadecimal with 0x',
  }),
})

/** Answer of POST `/redpacket/{chain}/send`. */
export const SendRedPacketResponse = namedObject('SendRedPacketResponse', {
  signature: Type.String({ description: 'Hash of the transaction' }),
  jobId: Type.String({ description: 'Job that tells what becomes of it: GET /job/{id}' }),
})
