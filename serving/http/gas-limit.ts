import { Type } from 'typebox'
import { Fault } from '../../core/errors.ts'
import { GasLimit, GasLimitQuestion } from '../../schemas/api/chain.ts'
import { ChainParam } from '../../schemas/api/common.ts'
import { chainRow, gasBoundsOf } from '../../schemas/chains.ts'
import { estimateGasLimit } from '../dex/gas-limit.ts'
import type { CallerNodes } from '../dex/node-turns.ts'
import { parseChain, parseWalletAddress } from './chain-parameters.ts'
import { createConcurrencyLimit } from './concurrency-limit.ts'
import type { RouteDeps } from './deps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'

/** Gas that a transaction needs, from a node of the chain. */
export const gasLimitRoutes =
  ({
    chains,
    nodeReads,
  }: Pick<RouteDeps, 'chains'> & { readonly nodeReads: CallerNodes }): RoutePlugin =>
  async (app) => {
    const takeSlot = createConcurrencyLimit()
    app.post(
      '/transaction/:chain/estimate-gas-limit',
      {
        schema: {
          summary: 'Gas that a transaction needs by a node of the chain, on EVM chains',
          tags: ['transaction'],
          params: Type.Object({ chain: ChainParam }),
          body: GasLimitQuestion,
          response: { 200: GasLimit },
        },
        config: pricedRoute('POST /transaction/:chain/estimate-gas-limit'),
      },
      async ({ params, body, principal }, reply) => {
        const chain = parseChain(params.chain, chains)
        if (!chain.enabled || chainRow(chain.id)?.vm !== 'evm')
          throw new Fault('CHAIN_NOT_SUPPORTED')
        const [from, to] = (['from', 'to'] as const).map((name) =>
          parseWalletAddress(chain.id, body[name], name),
        ) as [string, string]
        const pool = nodeReads.of(chain.id)
        if (pool === undefined) throw new Fault('PROVIDER_NOT_INITIALIZED')
        takeSlot(principal, reply)
        const { units } = gasBoundsOf(chain.id)
        const value = BigInt(body.value ?? '0x0')
        const gas = await estimateGasLimit(pool, { from, to, data: body.data, value }, units)
        return { gasLimit: `0x${gas.toString(16)}`, chain: chain.word }
      },
    )
  }
