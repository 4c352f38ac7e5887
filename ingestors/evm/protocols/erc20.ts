import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { Log } from '../../../schemas/events.ts'
import { addressIn, topicAddress, wordAt } from '../abi/words.ts'
import type { DecodedEvent, EvmEvent, EvmFamily } from './types.ts'

const transfer = {
  signature: 'Transfer(address indexed from, address indexed to, uint256 value)',
  by: 'token',
  topics: 3,
  words: 1,
  read: ({ address: token, topics, data }: Log): DecodedEvent => ({
    kind: 'transfer',
    token,
    from: topicAddress(topics[1]),
    to: topicAddress(topics[2]),
    amountRaw: wordAt(data, 0),
    wrap: false,
  }),
} as const satisfies EvmEvent

/** Tokens older than the standard's final text index nothing. Four topics are an ERC-721 and not listed. */
const unindexedTransfer = {
  signature: 'Transfer(address from, address to, uint256 value)',
  by: 'token',
  topics: 1,
  words: 3,
  read: ({ address: token, data }: Log): DecodedEvent => ({
    kind: 'transfer',
    token,
    from: addressIn(data, 0),
    to: addressIn(data, 1),
    amountRaw: wordAt(data, 2),
    wrap: false,
  }),
} as const satisfies EvmEvent

const wrap =
  (made: boolean) =>
  ({ address: token, topics, data }: Log): DecodedEvent => ({
    kind: 'transfer',
    token,
    from: made ? EVM_ZERO_ADDRESS : topicAddress(topics[1]),
    to: made ? topicAddress(topics[1]) : EVM_ZERO_ADDRESS,
    amountRaw: wordAt(data, 0),
    wrap: true,
  })

/** Its moves into the contract are logged beside it; what it adds is who gets the native token on the other chain. */
const leaves = ({ address: token, topics, data }: Log): DecodedEvent => ({
  kind: 'transfer',
  token,
  from: topicAddress(topics[1]),
  to: topicAddress(topics[2]),
  amountRaw: wordAt(data, 0),
  wrap: false,
  leaves: true,
})

/**
 * Fungible tokens: EIP-20, the wrapped native token's deposits and withdrawals as mint and burn, and the native token that ZKsync's own contract
 * lets go to Ethereum. Source: matter-labs/era-contracts system-contracts/contracts/interfaces/IBaseToken.sol.
 */
export const erc20: EvmFamily = {
  family: 'erc20',
  events: {
    '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef': [
      transfer,
      unindexedTransfer,
    ],
    '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c': {
      signature: 'Deposit(address indexed dst, uint256 wad)',
      by: 'other',
      topics: 2,
      words: 1,
      read: wrap(true),
    },
    '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65': {
      signature: 'Withdrawal(address indexed src, uint256 wad)',
      by: 'other',
      topics: 2,
      words: 1,
      read: wrap(false),
    },
    '0x2717ead6b9200dd235aad468c9809ea400fe33ac69b5bfaa6d3e90fc922b6398': {
      signature:
        'Withdrawal(address indexed _l2Sender, address indexed _l1Receiver, uint256 _amount)',
      by: 'other',
      topics: 3,
      words: 1,
      read: leaves,
    },
    '0xc405fe8958410bbaf0c73b7a0c3e20859e86ca168a4c9b0def9c54d2555a306b': {
      signature:
        'WithdrawalWithMessage(address indexed _l2Sender, address indexed _l1Receiver, uint256 _amount, bytes _additionalData)',
      by: 'other',
      topics: 3,
      words: 1,
      read: leaves,
    },
  },
}
