import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import { textIn } from '../abi/dynamic.ts'
import { addressIn, topicAddress, wordAt } from '../abi/words.ts'
import { packetNumber } from './packet-values.ts'
import { BAD_ARRAY, type EvmFamily, impossible } from './types.ts'

/** Most characters of a memo that the contract takes. */
const MAX_MEMO = 256

/**
 * The contract of this project for gifts that several addresses share. Source: test/support/nodes/red-packets.sol.
 */
export const redPackets: EvmFamily = {
  family: 'red_packets',
  events: {
    '0xc97bcb84b94b1d16e30d3ffd1be8ed1067a5b48d491ec9f2061144b2e4fcb53f': {
      signature:
        'PacketCreated(bytes32 indexed id, address indexed creator, address token, uint256 total, uint16 maxClaims, bool isRandom, uint64 expiresAt, address authority, string memo)',
      by: 'listed',
      topics: 3,
      words: 7,
      read: ({ topics, data }) => {
        const totalRaw = wordAt(data, 1)
        const maxClaims = packetNumber(wordAt(data, 2))
        const expiresAt = packetNumber(wordAt(data, 4))
        const memo = textIn(data, 6, MAX_MEMO)
        const wrong = impossible([totalRaw])
        if (wrong || maxClaims === undefined || expiresAt === undefined)
          return wrong ?? { kind: 'invalid', reason: 'impossible-amount' }
        if (memo === undefined) return BAD_ARRAY
        const authority = addressIn(data, 5)
        return {
          kind: 'packet-created',
          packetId: topics[1] ?? '',
          creator: topicAddress(topics[2]),
          token: addressIn(data, 0),
          totalRaw,
          maxClaims,
          isRandom: wordAt(data, 3) !== 0n,
          createdAtMs: null,
          ends: { atMs: expiresAt * 1_000 },
          authority: authority === EVM_ZERO_ADDRESS ? null : authority,
          memo: memo ?? '',
        }
      },
    },
    '0x2e42adf44275ad95123d0eb3b4baea5e4affa014a8d90c6a33dc385f2266ccdf': {
      signature:
        'PacketClaimed(bytes32 indexed id, address indexed claimer, uint256 amount, uint16 index)',
      by: 'listed',
      topics: 3,
      words: 2,
      read: ({ topics, data }) =>
        impossible([wordAt(data, 0)]) ?? {
          kind: 'packet-claimed',
          packetId: topics[1] ?? '',
          claimer: topicAddress(topics[2]),
          token: null,
          amountRaw: wordAt(data, 0),
          index: packetNumber(wordAt(data, 1)) ?? null,
        },
    },
    '0xc257b5a0361f307692fad7add3edc30e219c7922058fd93583dada5d347095be': {
      signature: 'PacketRefunded(bytes32 indexed id, uint256 amount)',
      by: 'listed',
      topics: 2,
      words: 1,
      read: ({ topics, data }) =>
        impossible([wordAt(data, 0)]) ?? {
          kind: 'packet-refunded',
          packetId: topics[1] ?? '',
          token: null,
          amountRaw: wordAt(data, 0),
        },
    },
  },
}
