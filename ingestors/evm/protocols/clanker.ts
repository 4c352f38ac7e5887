import type { Log } from '../../../schemas/events.ts'
import { textIn } from '../abi/dynamic.ts'
import { addressIn, hexWordAt, topicAddress, wordAt } from '../abi/words.ts'
import type { DecodedEvent, DecodedTokenLaunch, EvmEvent, EvmFamily } from './types.ts'

const MAX_NAME = 128
const MAX_SYMBOL = 64
const DECIMALS = 18
/**
 * What every token starts with from version 3.1 on. Sources: clanker-devco/v3.1-contracts src/Clanker.sol `TOKEN_SUPPLY`,
 * clanker-devco/v4-contracts src/Clanker.sol.
 */
const SUPPLY = 100_000_000_000_000_000_000_000_000_000n

interface LaunchFields extends Pick<DecodedTokenLaunch, 'token' | 'dev' | 'pool'> {
  readonly totalSupplyRaw: bigint
  /** Word that points to the name; that of the symbol follows. */
  readonly nameAt: number
}

const tokenLaunch = (
  { data }: Log,
  { nameAt, totalSupplyRaw, ...fields }: LaunchFields,
): DecodedEvent => {
  const name = textIn(data, nameAt, MAX_NAME)
  const symbol = textIn(data, nameAt + 1, MAX_SYMBOL)
  if (name === undefined || symbol === undefined) return { kind: 'invalid', reason: 'bad-array' }
  return {
    kind: 'token-created',
    ...fields,
    metadata: { name, symbol, decimals: DECIMALS, totalSupplyRaw },
  }
}

/** Up to version 3.0 nothing is indexed: the token comes first, its deployer third; name, symbol and supply follow each other. */
const unindexed = (signature: string, words: number, nameAt: number): EvmEvent => ({
  signature,
  by: 'singleton',
  topics: 1,
  words,
  read: (log) =>
    tokenLaunch(log, {
      token: addressIn(log.data, 0),
      dev: addressIn(log.data, 2),
      pool: null,
      totalSupplyRaw: wordAt(log.data, nameAt + 2),
      nameAt,
    }),
})

/**
 * The Clanker launchpad: a token trades in a pool of Uniswap from its first block on, V4 from the fourth version, V3 before, so
 * there is no curve and nothing migrates. Sources: clanker-devco/v4-contracts, clanker-devco/v3.1-contracts
 * src/interfaces/IClanker.sol, clanker-devco/clanker-sdk src/abi/v0 to v3.1.
 */
export const clanker: EvmFamily = {
  family: 'clanker',
  events: {
    // Version 4.
    '0x9299d1d1a88d8e1abdc591ae7a167a6bc63a8f17d695804e9091ee33aa89fb67': {
      signature:
        'TokenCreated(address indexed tokenAddress, address indexed tokenAdmin, address msgSender, string tokenImage, string tokenName, string tokenSymbol, string tokenMetadata, string tokenContext, int24 startingTick, address poolHook, bytes32 poolId, address pairedToken, address locker, address mevModule, uint256 extensionsSupply, address[] extensions)',
      by: 'singleton',
      topics: 3,
      words: 14,
      read: (log) =>
        tokenLaunch(log, {
          token: topicAddress(log.topics[1]),
          dev: topicAddress(log.topics[2]),
          pool: hexWordAt(log.data, 8),
          totalSupplyRaw: SUPPLY,
          nameAt: 2,
        }),
    },
    // Version 3.1.
    '0x6b04d68ca5c822b9c981d731c83ecb1356b96c8596c7659d397d234856a4537b': {
      signature:
        'TokenCreated(address indexed tokenAddress, address indexed creatorAdmin, address indexed interfaceAdmin, address creatorRewardRecipient, address interfaceRewardRecipient, uint256 positionId, string name, string symbol, int24 startingTickIfToken0IsNewToken, string metadata, uint256 amountTokensBought, uint256 vaultDuration, uint8 vaultPercentage, address msgSender)',
      by: 'singleton',
      topics: 4,
      words: 11,
      read: (log) =>
        tokenLaunch(log, {
          token: topicAddress(log.topics[1]),
          dev: topicAddress(log.topics[2]),
          pool: null,
          totalSupplyRaw: SUPPLY,
          nameAt: 3,
        }),
    },
    // Version 3.0.
    '0x8df367d10c042c43a79f6842addf298c4b250b4cb2145cae311c9ba110ff8e17': unindexed(
      'TokenCreated(address tokenAddress, uint256 positionId, address deployer, uint256 fid, string name, string symbol, uint256 supply, string castHash)',
      8,
      4,
    ),
    // Versions 1 and 2.
    '0x0e9d60e5c5597233717659e7b39411e0a61e7177252521b9c6f515f75f6fef01': unindexed(
      'TokenCreated(address tokenAddress, uint256 positionId, address deployer, uint256 fid, string name, string symbol, uint256 supply, address lockerAddress, string castHash)',
      9,
      4,
    ),
    // Version 0, which tells its supply twice.
    '0xcd465acec733178787a0c3bc8cd8f6eae657c45b61c6a3e15d13c176c9c536ad': unindexed(
      'TokenCreated(address tokenAddress, uint256 lpNftId, address deployer, string name, string symbol, uint256 supply, uint256 _supply, address lockerAddress)',
      8,
      3,
    ),
  },
}
