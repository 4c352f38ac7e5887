import type { DocumentedContent } from './content.ts'

const count = (rows: number): readonly object[] => [{ count: rows }]
const required = { name: null }
const metrics = ['count', 'uniq', 'sum', 'avg', 'min', 'max', 'quantile', 'calculate']

/** What asks over all of the other content, or for the schema. */
export const WHOLE: DocumentedContent = {
  rows: [],
  answers: {
    Q45: {
      __schema: {
        queryType: {
          name: 'ChainStream',
          fields: [
            {
              name: 'EVM',
              args: [
                { name: 'network', type: required },
                { name: 'dataset', type: { name: 'Dataset' } },
                { name: 'aggregates', type: { name: 'Aggregates' } },
              ],
            },
            {
              name: 'Solana',
              args: [
                { name: 'network', type: { name: 'SolanaNetwork' } },
                { name: 'dataset', type: { name: 'Dataset' } },
                { name: 'aggregates', type: { name: 'Aggregates' } },
              ],
            },
            {
              name: 'Trading',
              args: [
                { name: 'dataset', type: { name: 'Dataset' } },
                { name: 'aggregates', type: { name: 'Aggregates' } },
              ],
            },
          ],
        },
      },
      r: {
        fields: [
          ...['Block', 'Transaction', 'Trade', 'Pool', 'IsSuspect'],
          ...metrics,
          ...['joinTransfers', 'joinBalanceUpdates', 'joinDEXPoolEvents'],
        ].map((name) => ({ name })),
      },
      f: {
        inputFields: [
          ...['is', 'not', 'like', 'notLike', 'includes', 'notIncludes', 'startsWith', 'endsWith'],
          ...['likeCaseInsensitive', 'notLikeCaseInsensitive', 'includesCaseInsensitive'],
          ...['notIncludesCaseInsensitive', 'startsWithCaseInsensitive', 'in', 'notIn', 'isNull'],
        ].map((name) => ({ name })),
      },
    },
    Q47: {
      EVM: {
        PredictionTrades: count(7),
        PredictionManagements: count(1),
        PredictionSettlements: count(1),
      },
      e: {
        Calls: count(1),
        Events: count(2),
        MinerRewards: count(1),
        // The mean of the six levels of one event.
        DEXPoolSlippages: [{ avg: (10 + 50 + 100 + 200 + 500 + 1_000) / 6 }],
        Uncles: count(1),
        Transfers: count(1),
        BalanceUpdates: count(1),
        Transactions: count(1),
        DEXPools: count(1),
        WalletTokenPnL: count(1),
      },
      Solana: { Rewards: count(2), DEXOrders: count(5), InstructionBalanceUpdates: count(2 * 9) },
      Trading: {
        // Two tokens per pair and minute with a trade: 7 of Solana, 5 of BSC, 15 of Ethereum, one of Polygon.
        Tokens: count(2 * (7 + 5 + 15 + 1)),
        Trades: count(48),
        Currencies: count(0),
      },
    },
  },
}
