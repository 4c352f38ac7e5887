import { topicAddress } from '../abi/words.ts'
import type { EvmFamily } from './types.ts'

/** EntryPoint contracts v0.6, v0.7 and v0.8, the same on every chain. Source: eth-infinitism/account-abstraction releases. */
const ENTRY_POINTS: ReadonlySet<string> = new Set([
  '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789',
  '0x0000000071727de22e5e9d8baf0edac6f37da032',
  '0x4337084d9e255ff0702461cf8895ce9e9b5ff108',
])

/** Account abstraction: who trades inside a bundle. Logged after everything that the operation did. Source: EIP-4337. */
export const erc4337: EvmFamily = {
  family: 'erc4337',
  events: {
    '0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f': {
      signature:
        'UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed)',
      by: 'other',
      topics: 4,
      words: 4,
      read: ({ address, topics }) =>
        ENTRY_POINTS.has(address)
          ? { kind: 'operation', sender: topicAddress(topics[2]) }
          : undefined,
    },
  },
}
