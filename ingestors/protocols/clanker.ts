import type { Log } from '../../schemas/events.ts'
import { textIn } from './dynamic.ts'
import type { EvmFamily, Said, SaidBirth } from './types.ts'
import { addressIn, topicAddress, wordAt } from './words.ts'

const MAX_NAME = 128
const MAX_SYMBOL = 64
const DECIMALS = 18
/** What every token of the fourth version starts with. Source: clanker-devco/v4-contracts src/Clanker.sol. */
const SUPPLY = 100_000_000_000_000_000_000_000_000_000n

interface Born extends Pick<SaidBirth, 'token' | 'dev' | 'pool'> {
  readonly totalSupplyRaw: bigint
  /** Word that points to the name; that of the symbol follows. */
  readonly nameAt: number
}

const birth = ({ data }: Log, { nameAt, totalSupplyRaw, ...born }: Born): Said => {
  const name = textIn(data, nameAt, MAX_NAME)
  const symbol = textIn(data, nameAt + 1, MAX_SYMBOL)
  if (name === undefined || symbol === undefined) return { kind: 'refused', reason: 'bad-array' }
  return { kind: 'birth', ...born, fact: { name, symbol, decimals: DECIMALS, totalSupplyRaw } }
}

const word = (data: string, index: number): string =>
  `0x${data.slice(2 + index * 64, 66 + index * 64)}`

/**
 * The Clanker launchpad: a token trades in a pool of Uniswap from its first block on, so there is no curve and nothing
 * migrates. Source: clanker-devco/v4-contracts, clanker-devco/contracts; contract/chains.md 3.11.
 */
export const clanker: EvmFamily = {
  family: 'clanker',
  events: {
    '0x9299d1d1a88d8e1abdc591ae7a167a6bc63a8f17d695804e9091ee33aa89fb67': {
      signature:
        'TokenCreated(address indexed tokenAddress, address indexed tokenAdmin, address msgSender, string tokenImage, string tokenName, string tokenSymbol, string tokenMetadata, string tokenContext, int24 startingTick, address poolHook, bytes32 poolId, address pairedToken, address locker, address mevModule, uint256 extensionsSupply, address[] extensions)',
      by: 'singleton',
      topics: 3,
      words: 14,
      read: (log) =>
        birth(log, {
          token: topicAddress(log.topics[1]),
          dev: topicAddress(log.topics[2]),
          pool: word(log.data, 8),
          totalSupplyRaw: SUPPLY,
          nameAt: 2,
        }),
    },
    '0x0e9d60e5c5597233717659e7b39411e0a61e7177252521b9c6f515f75f6fef01': {
      signature:
        'TokenCreated(address tokenAddress, uint256 positionId, address deployer, uint256 fid, string name, string symbol, uint256 supply, address lockerAddress, string castHash)',
      by: 'singleton',
      topics: 1,
      words: 9,
      read: (log) =>
        birth(log, {
          token: addressIn(log.data, 0),
          dev: addressIn(log.data, 2),
          pool: null,
          totalSupplyRaw: wordAt(log.data, 6),
          nameAt: 4,
        }),
    },
  },
}
