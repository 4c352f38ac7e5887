import { Type } from 'typebox'
import { ChainParam } from '../../schemas/api/common.ts'
import { SendTransactionInput, SendTransactionResponse } from '../../schemas/api/send.ts'
import { requirePrincipal } from './account.ts'
import { parseChain } from './chain-parameters.ts'
import type { RouteDeps } from './deps.ts'
import { pricedRoute, type RoutePlugin } from './routing.ts'
import type { TransactionSender } from './transaction-sender.ts'

/** What sending works with. */
export interface SendRouteDeps extends Pick<RouteDeps, 'chains' | 'nowMs'> {
  readonly send: TransactionSender
}

/** Hands signed transactions to the nodes of their chains. */
export const sendRoutes =
  ({ chains, nowMs, send }: SendRouteDeps): RoutePlugin =>
  async (app) => {
    app.post(
      '/transaction/:chain/send',
      {
        schema: {
          summary:
            'Sends a signed transaction, on Solana and EVM chains; its job tells what becomes of it',
          tags: ['transaction'],
          params: Type.Object({ chain: ChainParam }),
          body: SendTransactionInput,
          response: { 200: SendTransactionResponse },
        },
        config: pricedRoute('POST /transaction/:chain/send'),
      },
      async ({ params, body, principal }, reply) => {
        const startedMs = nowMs()
        const { orgId } = requirePrincipal(principal)
        const chain = parseChain(params.chain, chains)
        const isProtected = body.submitType === 'priority' || body.options?.isAntiMev === true
        const sent = await send({ orgId, chain, signedTx: body.signedTx, isProtected }, reply)
        return { ...sent, elapsedTime: Math.round(nowMs() - startedMs) }
      },
    )
  }
