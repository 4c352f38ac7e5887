import { type Static, Type } from 'typebox'
import { decimalOrNull, namedObject, nullable, queryTime } from './common.ts'

const tokenAddress = Type.Optional(Type.String({ maxLength: 256, description: 'Only this token' }))
const amount = (about: string) =>
  Type.Optional(Type.String({ pattern: '^\\d{1,40}(\\.\\d{1,18})?$', description: about }))

/** Parameters of changes of a wallet's balances; times inclusive. */
export const BALANCE_UPDATE_QUERY = {
  tokenAddress,
  timeFrom: queryTime('Only changes at or after'),
  timeTo: queryTime('Only changes at or before'),
  type: Type.Optional(
    Type.Enum(['SOL', 'SPL'], { description: 'SOL: the native token; SPL: tokens' }),
  ),
  changeType: Type.Optional(Type.Enum(['INCREASE', 'DECREASE'])),
}

const value = (about: string) =>
  Type.String({ description: `${about}; "0" when the price or the decimals are not known` })

/** A change of a balance, in token units; USD and native values at its time. */
export const BalanceUpdate = namedObject('BalanceUpdate', {
  accountOwnerAddress: Type.String(),
  tokenAccountAddress: Type.String(),
  tokenAddress: Type.String(),
  type: Type.Enum(['SOL', 'SPL']),
  changeType: Type.Enum(['INCREASE', 'DECREASE']),
  index: Type.Integer({ description: 'Instruction' }),
  transactionSignature: Type.String(),
  blockHash: Type.String(),
  blockHeight: Type.Integer(),
  blockSlot: nullable(Type.Integer()),
  blockTimestamp: Type.Integer({ description: 'Epoch ms' }),
  preBalance: value('Before'),
  preBalanceInUsd: value('Before'),
  preBalanceInNative: value('Before'),
  postBalance: value('After'),
  postBalanceInUsd: value('After'),
  postBalanceInNative: value('After'),
  balanceChange: value('Signed'),
  balanceChangeInUsd: value('Signed'),
  balanceChangeInNative: value('Signed'),
})
export type BalanceUpdate = Static<typeof BalanceUpdate>

/** Parameters of a wallet's transfers; bounds inclusive, amounts in token units and USD. */
export const WALLET_TRANSFER_QUERY = {
  tokenAddress,
  fromTimestamp: queryTime('Only transfers at or after'),
  toTimestamp: queryTime('Only transfers at or before'),
  minTokenAmount: amount('Token units'),
  maxTokenAmount: amount('Token units'),
  minTokenAmountInUsd: amount('USD'),
  maxTokenAmountInUsd: amount('USD'),
}

/** A transfer that a wallet made or got. */
export const WalletTransfer = namedObject('WalletTransfer', {
  id: Type.String({ description: 'Transaction and place in it' }),
  fromAddress: Type.String(),
  toAddress: Type.String(),
  tokenAddress: Type.String(),
  transactionSignature: Type.String(),
  transferType: Type.Enum(['SEND', 'RECEIVE']),
  amount: Type.String({ description: 'Token units; "0" when the decimals are not known' }),
  amountInUsd: decimalOrNull('At the time of the transfer'),
  blockTimestamp: Type.Integer({ description: 'Epoch ms' }),
})
export type WalletTransfer = Static<typeof WalletTransfer>

/** The first transaction that gave each wallet native tokens; wallets without one are missing. */
export const WalletFirstTransactions = namedObject('WalletsMapResponse', {
  wallets: Type.Record(
    Type.String(),
    namedObject('WalletFirstTx', {
      txHash: Type.String(),
      blockNumber: Type.Integer(),
      blockTime: Type.Integer({ description: 'Epoch ms' }),
      tokenAddress: Type.String({ description: 'The native token' }),
      decimals: Type.Integer(),
      balanceChange: Type.String({ description: 'Native tokens' }),
    }),
  ),
})

/** How many transfers of a wallet fit. */
export const TransferTotalResponse = namedObject('TransferTotalResponse', {
  total: Type.Integer(),
})
