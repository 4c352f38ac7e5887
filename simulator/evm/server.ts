import { randomBytes } from 'node:crypto'
import { RpcError } from '../node/rpc.ts'
import type { Endpoint, Session } from '../node/server.ts'
import { headerJson } from './blocks.ts'
import type { Chain } from './chain.ts'
import { METHODS } from './methods.ts'

const SUBSCRIPTIONS = 128

/** Subscriptions of one socket. */
const connect = (chain: Chain, send: (text: string) => void): Session => {
  const subscriptions = new Set<string>()
  const close = chain.onHead((block) => {
    const result = subscriptions.size > 0 ? headerJson(block) : undefined
    for (const subscription of subscriptions)
      send(
        JSON.stringify({
          jsonrpc: '2.0',
          method: 'eth_subscription',
          params: { subscription, result },
        }),
      )
  })
  return {
    close,
    call: (method, [first]) => {
      if (method === 'eth_subscribe') {
        if (first !== 'newHeads')
          throw new RpcError(
            -32602,
            `no "${String(first).slice(0, 40)}" subscription in eth namespace`,
          )
        if (subscriptions.size >= SUBSCRIPTIONS)
          throw new RpcError(-32005, 'too many subscriptions')
        const id = `0x${randomBytes(16).toString('hex')}`
        subscriptions.add(id)
        return id
      }
      if (method === 'eth_unsubscribe') {
        if (typeof first !== 'string' || !subscriptions.delete(first))
          throw new RpcError(-32000, 'subscription not found')
        return true
      }
      return undefined
    },
  }
}

/** The node of an EVM chain. */
export const evmEndpoint = (chain: Chain): Endpoint => ({
  call: (method, params) =>
    Object.hasOwn(METHODS, method) ? METHODS[method]?.(chain, params) : undefined,
  connect: (send) => connect(chain, send),
  unknownMethod: (method) =>
    new RpcError(-32601, `the method ${method} does not exist/is not available`),
})
