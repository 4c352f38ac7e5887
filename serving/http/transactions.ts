import { Fault } from '../../core/errors.ts'
import { GasPrice } from '../../schemas/api/chain.ts'
import { chainRow } from '../../schemas/chains.ts'
import { type BlockFeeRow, blockFeesQuery, gasPriceOf } from '../queries/gas-price.ts'
import { type ChainRoute, defineReadRoute } from './chain-route.ts'

const gasPrice = defineReadRoute({
  path: '/transaction/:chain/gas-price',
  summary: 'The newest base fee and the median priority fee of recent blocks, on EVM chains',
  tag: 'transaction',
  params: {},
  query: {},
  response: GasPrice,
  absent: 'CHAIN_NOT_SUPPORTED',
  answer: async ({ chain, rows }) => {
    const row = chainRow(chain.id)
    if (row?.vm !== 'evm')
      throw new Fault('CHAIN_NOT_SUPPORTED', 'Only EVM chains have a gas price')
    const price = gasPriceOf(await rows<BlockFeeRow>(blockFeesQuery(row)))
    if (price === undefined)
      throw new Fault('NOT_FOUND', 'No fees of recent blocks are recorded yet')
    return { gasPrice: `0x${price.toString(16)}`, chain: chain.word }
  },
})

/** What is known before a transaction is sent. */
export const transactionRoutes: readonly ChainRoute[] = [gasPrice]
