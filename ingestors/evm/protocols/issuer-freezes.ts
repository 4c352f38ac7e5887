import { EVM_ZERO_ADDRESS } from '../../../schemas/burn-addresses.ts'
import type { Log } from '../../../schemas/events.ts'
import type { LabelAction } from '../../../schemas/label-changes.ts'
import { hexWordAt } from '../abi/words.ts'
import { BAD_ADDRESS, type EvmEvent, type EvmFamily } from './types.ts'

/** What the twelve bytes before an address are. */
const PADDING = `0x${'0'.repeat(24)}`

/** An event about one account, which is its first word: of the topics behind the signature, else of the data. */
const accountEvent = (
  signature: string,
  action: LabelAction,
  {
    topics,
    words,
    account,
  }: Pick<EvmEvent, 'topics' | 'words'> & { account: (log: Log) => string },
): EvmEvent => ({
  signature,
  by: 'listed',
  topics,
  words,
  read: (log) => {
    const word = account(log)
    const address = `0x${word.slice(PADDING.length)}`
    if (!word.startsWith(PADDING) || address === EVM_ZERO_ADDRESS) return BAD_ADDRESS
    return { kind: 'addresses-labelled', action, addresses: [address] }
  },
})

const fromData = (words: number) => ({
  topics: 1,
  words,
  account: ({ data }: Log) => hexWordAt(data, 0),
})
const fromTopic = (words: number) => ({
  topics: 2,
  words,
  account: ({ topics }: Log) => topics[1] ?? '',
})

/**
 * Tokens whose issuer freezes accounts. Destroying funds needs an account that is frozen, and leaves it so. Sources: Tether's TetherToken
 * (its part BlackList), its later contracts (their part WithBlockedList), circlefin/stablecoin-evm contracts/v1/Blacklistable.sol.
 */
export const issuerFreezes: EvmFamily = {
  family: 'issuer_freezes',
  events: {
    '0x42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc': accountEvent(
      'AddedBlackList(address _user)',
      'added',
      fromData(1),
    ),
    '0xd7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c': accountEvent(
      'RemovedBlackList(address _user)',
      'removed',
      fromData(1),
    ),
    '0x61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6': accountEvent(
      'DestroyedBlackFunds(address _blackListedUser, uint256 _balance)',
      'seized',
      fromData(2),
    ),
    '0x406bbf2d8d145125adf1198d2cf8a67c66cc4bb0ab01c37dccd4f7c0aae1e7c7': accountEvent(
      'BlockPlaced(address indexed _user)',
      'added',
      fromTopic(0),
    ),
    '0x665918c9e02eb2fd85acca3969cb054fc84c138e60ec4af22ab6ef2fd4c93c27': accountEvent(
      'BlockReleased(address indexed _user)',
      'removed',
      fromTopic(0),
    ),
    '0x6a2859ae7902313752498feb80a014e6e7275fe964c79aa965db815db1c7f1e9': accountEvent(
      'DestroyedBlockedFunds(address indexed _blockedUser, uint256 _balance)',
      'seized',
      fromTopic(1),
    ),
    '0xffa4e6181777692565cf28528fc88fd1516ea86b56da075235fa575af6a4b855': accountEvent(
      'Blacklisted(address indexed _account)',
      'added',
      fromTopic(0),
    ),
    '0x117e3210bb9aa7d9baff172026820255c6f6c30ba8999d1c2fd88e2848137c4e': accountEvent(
      'UnBlacklisted(address indexed _account)',
      'removed',
      fromTopic(0),
    ),
  },
}
