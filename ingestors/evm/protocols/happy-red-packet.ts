import { textIn } from '../abi/dynamic.ts'
import { addressIn, hexWordAt, wordAt } from '../abi/words.ts'
import { packetNumber } from './packet-values.ts'
import { BAD_ARRAY, type EvmFamily, impossible } from './types.ts'

const MAX_MEMO = 256

/**
 * Gifts of a token or of the chain's native token (token 0) that several addresses share. No event names the key whose signature a claim
 * needs. Source: DimensionDev/RedPacket contracts/redpacket.sol.
 */
export const happyRedPacket: EvmFamily = {
  family: 'happy_red_packet',
  events: {
    '0x86af556fd7cfab9462285ad44f2d5913527c539ff549f74731ca9997ca534018': {
      signature:
        'CreationSuccess(uint256 total, bytes32 id, string name, string message, address creator, uint256 creation_time, address token_address, uint256 number, bool ifrandom, uint256 duration)',
      by: 'listed',
      topics: 1,
      words: 10,
      read: ({ data }) => {
        const totalRaw = wordAt(data, 0)
        const createdAt = packetNumber(wordAt(data, 5))
        const maxClaims = packetNumber(wordAt(data, 7))
        const afterSeconds = packetNumber(wordAt(data, 9))
        const memo = textIn(data, 3, MAX_MEMO)
        const wrong = impossible([totalRaw])
        if (
          wrong ||
          createdAt === undefined ||
          maxClaims === undefined ||
          afterSeconds === undefined
        ) {
          return wrong ?? { kind: 'invalid', reason: 'impossible-amount' }
        }
        if (memo === undefined) return BAD_ARRAY
        return {
          kind: 'packet-created',
          packetId: hexWordAt(data, 1),
          creator: addressIn(data, 4),
          token: addressIn(data, 6),
          totalRaw,
          maxClaims,
          isRandom: wordAt(data, 8) !== 0n,
          createdAtMs: createdAt * 1_000,
          ends: { afterSeconds },
          authority: null,
          memo: memo ?? '',
        }
      },
    },
    '0x358ddd686a5ca3ef6f8aee9b8d2dc3c642ecc278657c3802f8802b1a44c10e44': {
      signature:
        'ClaimSuccess(bytes32 id, address claimer, uint256 claimed_value, address token_address)',
      by: 'listed',
      topics: 1,
      words: 4,
      read: ({ data }) =>
        impossible([wordAt(data, 2)]) ?? {
          kind: 'packet-claimed',
          packetId: hexWordAt(data, 0),
          claimer: addressIn(data, 1),
          token: addressIn(data, 3),
          amountRaw: wordAt(data, 2),
          index: null,
        },
    },
    '0x66c304c539e0bc7c8070207c09b9f6a5a9591b434dfed1867cc57fde7fb60093': {
      signature: 'RefundSuccess(bytes32 id, address token_address, uint256 remaining_balance)',
      by: 'listed',
      topics: 1,
      words: 3,
      read: ({ data }) =>
        impossible([wordAt(data, 2)]) ?? {
          kind: 'packet-refunded',
          packetId: hexWordAt(data, 0),
          token: addressIn(data, 1),
          amountRaw: wordAt(data, 2),
        },
    },
  },
}
