import { randomBytes } from 'node:crypto'
import { JsonRpcError } from '../node/rpc.ts'
import type { NodeEndpoint, SocketSession } from '../node/server.ts'
import { headerToJson } from './blocks.ts'
import type { EvmChain } from './chain.ts'
import { RPC_METHODS } from './rpc-methods.ts'

const MAX_SUBSCRIPTIONS = 128

/** Subscriptions of one socket. */
const openSession = (chain: EvmChain, send: (text: string) => void): SocketSession => {
  const subscriptions = new Set<string>()
  const close = chain.onHead((block) => {
    const result = subscriptions.size > 0 ? headerToJson(block) : undefined
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
          throw new JsonRpcError(
            -32602,
            `no "${String(first).slice(0, 40)}" subscription in eth namespace`,
          )
        if (subscriptions.size >= MAX_SUBSCRIPTIONS)
          throw new JsonRpcError(-32005, 'too many subscriptions')
        const id = `0x${randomBytes(16).toString('hex')}`
        subscriptions.add(id)
        return id
      }
      if (method === 'eth_unsubscribe') {
        if (typeof first !== 'string' || !subscriptions.delete(first))
          throw new JsonRpcError(-32000, 'subscription not found')
        return true
      }
      return undefined
    },
  }
}

/** The node of an EVM chain. */
export const evmEndpoint = (chain: EvmChain): NodeEndpoint => ({
  call: (method, params) =>
    Object.hasOwn(RPC_METHODS, method) ? RPC_METHODS[method]?.(chain, params) : undefined,
  connect: (send) => openSession(chain, send),
  unknownMethod: (method) =>
    new JsonRpcError(-32601, `the method ${method} does not exist/is not available`),
})
