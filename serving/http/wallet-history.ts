import { formatUnits } from '../../core/amounts.ts'
import { WALLETS_QUERY } from '../../schemas/api/net-worth.ts'
import {
  BALANCE_UPDATE_QUERY,
  BalanceUpdate,
  TransferTotalResponse,
  WALLET_TRANSFER_QUERY,
  WalletFirstTransactions,
  WalletTransfer,
} from '../../schemas/api/wallet-history.ts'
import { WALLET_PARAM } from '../../schemas/api/wallet-pnl.ts'
import { chainRow } from '../../schemas/chains.ts'
import {
  type BalanceUpdateRow,
  balanceUpdateList,
  type FirstTransactionRow,
  firstTransactionsQuery,
  type WalletTransferRow,
  walletTransferList,
  walletTransferTotalQuery,
} from '../queries/wallet-history.ts'
import { numberOrNull, numberTextOrNull, requiredText, unitsOrNull } from './body-values.ts'
import { type ChainRoute, definePageRoute, defineReadRoute } from './chain-route.ts'

/** The difference of two exact texts; null when either is unknown. */
const differenceOrNull = (after: string | null, before: string | null): string | null => {
  const [one, other] = [numberOrNull(after), numberOrNull(before)]
  return one === null || other === null ? null : numberTextOrNull(one - other)
}

const balanceUpdateBody = (
  row: BalanceUpdateRow,
  wallet: string,
  nativeToken: string,
): BalanceUpdate => {
  const [pre, post] = [BigInt(row.pre_raw), BigInt(row.post_raw)]
  const units = (raw: bigint): string => requiredText(unitsOrNull(String(raw), row.decimals))
  return {
    accountOwnerAddress: wallet,
    tokenAccountAddress: row.account,
    tokenAddress: row.token,
    type: row.token === nativeToken ? 'SOL' : 'SPL',
    changeType: post >= pre ? 'INCREASE' : 'DECREASE',
    index: row.instruction,
    transactionSignature: row.tx_hash,
    blockHash: row.block_hash,
    blockHeight: Number(row.height),
    blockSlot: Number(row.slot),
    blockTimestamp: Number(row.time_ms),
    preBalance: units(pre),
    preBalanceInUsd: requiredText(row.pre_usd),
    preBalanceInNative: requiredText(row.pre_native),
    postBalance: units(post),
    postBalanceInUsd: requiredText(row.post_usd),
    postBalanceInNative: requiredText(row.post_native),
    balanceChange: units(post - pre),
    balanceChangeInUsd: requiredText(differenceOrNull(row.post_usd, row.pre_usd)),
    balanceChangeInNative: requiredText(differenceOrNull(row.post_native, row.pre_native)),
  }
}

const balanceUpdates = definePageRoute({
  path: '/wallet/:chain/:walletAddress/balance-updates',
  summary: 'Changes of what a wallet holds, newest first',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: BALANCE_UPDATE_QUERY,
  item: BalanceUpdate,
  list: ({ chain, params, query }) => balanceUpdateList(chain.id, params.walletAddress, query),
  bodies: (rows: readonly BalanceUpdateRow[], { chain, params }) => {
    const nativeToken = chainRow(chain.id)?.nativeAddress ?? ''
    return rows.map((row) => balanceUpdateBody(row, params.walletAddress, nativeToken))
  },
})

const transferBody = (row: WalletTransferRow, wallet: string): WalletTransfer => ({
  id: `${row.tx_hash}:${row.event_index}`,
  fromAddress: row.sender,
  toAddress: row.receiver,
  tokenAddress: row.token,
  transactionSignature: row.tx_hash,
  transferType: row.sender === wallet ? 'SEND' : 'RECEIVE',
  amount: requiredText(unitsOrNull(row.amount_raw, row.decimals)),
  amountInUsd: row.amount_usd,
  blockTimestamp: Number(row.time_ms),
})

const walletTransfers = definePageRoute({
  path: '/wallet/:chain/:walletAddress/transfers',
  summary: 'Transfers that a wallet made or got, newest first',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: WALLET_TRANSFER_QUERY,
  item: WalletTransfer,
  list: ({ chain, params, query }) => walletTransferList(chain.id, params.walletAddress, query),
  bodies: (rows: readonly WalletTransferRow[], { params }) =>
    rows.map((row) => transferBody(row, params.walletAddress)),
})

const walletTransferTotal = defineReadRoute({
  path: '/wallet/:chain/:walletAddress/transfer-total',
  summary: 'How many transfers a wallet made or got',
  tag: 'wallet',
  params: WALLET_PARAM,
  query: WALLET_TRANSFER_QUERY,
  response: TransferTotalResponse,
  absent: 'empty',
  answer: async ({ chain, params, query, rows }) => {
    if (!chain.enabled) return { total: 0 }
    const [row] = await rows<{ readonly total: string }>(
      walletTransferTotalQuery(chain.id, params.walletAddress, query),
    )
    return { total: Number(row?.total ?? 0) }
  },
})

const firstTransactions = defineReadRoute({
  path: '/wallet/:chain/first-tx',
  summary: 'The transactions that first gave wallets native tokens',
  tag: 'wallet',
  params: {},
  query: WALLETS_QUERY,
  response: WalletFirstTransactions,
  absent: 'empty',
  answer: async (request) => {
    const { chain } = request
    const wallets = request.addresses('walletAddresses')
    const rows = chain.enabled
      ? await request.rows<FirstTransactionRow>(firstTransactionsQuery(chain.id, wallets))
      : []
    const nativeToken = chainRow(chain.id)
    return {
      wallets: Object.fromEntries(
        rows.map((row) => {
          const decimals = row.decimals ?? nativeToken?.nativeDecimals ?? 0
          return [
            row.wallet,
            {
              txHash: row.tx_hash,
              blockNumber: Number(row.height),
              blockTime: Number(row.time_ms),
              tokenAddress: nativeToken?.nativeAddress ?? '',
              decimals,
              balanceChange: formatUnits(BigInt(row.change_raw), decimals),
            },
          ]
        }),
      ),
    }
  },
})

/** What happened to what wallets hold. */
export const walletHistoryRoutes: readonly ChainRoute[] = [
  ...[balanceUpdates, walletTransfers, walletTransferTotal, firstTransactions],
]
